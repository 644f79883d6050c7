"""Cross-references: what a text points to, and which section and document that is."""

from __future__ import annotations

import pytest

from quoth.language.references import Reference, references
from quoth.language.resolve_reference import SectionIndex, Target, find_document, resolve
from quoth.types import DocumentInfo, Metadata


def names(text: str) -> list[str]:
    return [one.name for one in references(text)]


def one(text: str) -> Reference:
    (found,) = references(text)
    return found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("See Section 7.3 for fences.", ["Section 7.3"]),
        ("Sections 7.3 and 7.5(c) apply here.", ["Section 7.3", "Section 7.5(c)"]),
        ("It is allowed under Article VII and nowhere else.", ["Article VII"]),
        ("as Sec. 17.40.030(B) says", ["Section 17.40.030(B)"]),
        ("Subject to § 8.3, the Association may enter.", ["Section 8.3"]),
        ("as §§ 4-6 say", ["Section 4", "Section 6"]),
        ("as set out in Paragraph 3", ["Paragraph 3"]),
        ("the drawing in Appendix A.", ["Appendix A"]),
        ("listed in Schedule 2, Exhibit B and Annex I", ["Schedule 2", "Exhibit B", "Annex I"]),
        ("in Chapter 4 or Clause 12.1", ["Chapter 4", "Clause 12.1"]),
        ("as defined in Section 1.4", ["Section 1.4"]),
        ("Sections 4.1 through 4.3 remain.", ["Section 4.1", "Section 4.3"]),
        ("in Sections 4.1–4.3.", ["Section 4.1", "Section 4.3"]),
        ("under Section 7.5(c) and (d)", ["Section 7.5(c)", "Section 7.5(d)"]),
        ("in Articles II, IV and VI", ["Article II", "Article IV", "Article VI"]),
        ("pursuant to\nSection 7.3, the owner", ["Section 7.3"]),
        ("A rule. Section 7.3 applies to all.", ["Section 7.3"]),
        ("in Article VII, Section 3", ["Article VII, Section 3"]),
        ("by Section 3 of Article VII", ["Article VII, Section 3"]),
        ("a breach of Rule 4.1", ["Rule 4.1"]),
        ("under section 4.2 and clause 9", ["Section 4.2", "Clause 9"]),
    ],
)
def test_what_a_text_points_to(text: str, expected: list[str]) -> None:
    assert names(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Section 7.3 Fences",
        "## Section 7.3 Fences\n\nNo fence shall be higher.",
        "ARTICLE VII. USE RESTRICTIONS",
        "under 42 U.S.C. § 1983 and 24 C.F.R. § 5",
        "nach § 55 BGB",
        "the Code of Federal Regulations Title 15, Part 760 and Title 15, § 78",
        "Nev. Rev. Stat. § 116.31",
        "We schedule 2 visits for part B of the work and rule 3 of them out.",
        "on 7 March in 3.5 hours",
        "Sectional sofas cost 4 dollars.",
    ],
)
def test_what_is_no_reference(text: str) -> None:
    assert references(text) == ()


@pytest.mark.parametrize("text", ["in Section 7.3 and 30 days later", "by Section 7.3 and 2.5 feet of it"])
def test_a_quantity_behind_a_reference_is_not_listed_with_it(text: str) -> None:
    assert names(text) == ["Section 7.3"]


@pytest.mark.parametrize(
    ("text", "document"),
    [
        ("pursuant to Section 6.1 of the Declaration", "Declaration"),
        ("in Section 3 of the Rules and Regulations of 2020", "Rules and Regulations"),
        ("by Section 3 of Article VII of the Bylaws", "Bylaws"),
        ("the Brackford Municipal Code Section 17.40 says", "Brackford Municipal Code"),
        ("Section 5 of the Clean Water Act applies", "Clean Water Act"),
        ("in Section 4 of the lease", "lease"),
        ("and Section 3 thereof", "thereof"),
        ("in Section 4.2 of this Agreement", None),
        ("Under Section 4.2 the owner pays", None),
        ("(See Section 4.2 in the event of a fire)", None),
    ],
)
def test_the_document_that_is_named(text: str, document: str | None) -> None:
    assert one(text).document == document


def test_a_span_is_the_place_of_the_reference() -> None:
    text = "Fences follow Sections 7.3 and 7.5(c)."

    assert [text[found.span.start : found.span.end] for found in references(text)] == ["Sections 7.3", "7.5(c)"]


SECTIONS = [
    (),
    ("ARTICLE I. DEFINITIONS",),
    ("ARTICLE I. DEFINITIONS", "Section 1 Terms"),
    ("ARTICLE VII",),
    ("ARTICLE VII", "Section 1 Scope"),
    ("ARTICLE VII", "Section 7.3 Fences"),
    ("ARTICLE VII", "Section 7.31 Gates"),
    ("ARTICLE VII", "7.4 Hedges"),
    ("VIII. NOTICES",),
    ("Chapter 4: Fencing",),
    ("A. Materials",),
    ("Appendix A", "Drawings"),
    ("Appendix A",),
]
OUTLINE = SectionIndex(SECTIONS, [""] * len(SECTIONS))


@pytest.mark.parametrize(
    ("text", "section"),
    [
        ("see Section 7.3", ("ARTICLE VII", "Section 7.3 Fences")),
        ("see Section 7.31", ("ARTICLE VII", "Section 7.31 Gates")),
        ("see Section 7.4", ("ARTICLE VII", "7.4 Hedges")),
        ("see Section 7.5", None),
        ("see Article 7", ("ARTICLE VII",)),
        ("see Article VIII", ("VIII. NOTICES",)),
        ("see Chapter IV", ("Chapter 4: Fencing",)),
        ("see Appendix A", ("Appendix A",)),
        ("see Appendix B", None),
        ("see Section 1 of Article VII", ("ARTICLE VII", "Section 1 Scope")),
        ("see Section 1", None),
    ],
)
def test_the_section_that_is_meant(text: str, section: tuple[str, ...] | None) -> None:
    target = resolve(one(text), OUTLINE, near=())

    assert (target and target.section) == section


def test_of_two_sections_of_one_number_the_nearer_is_meant() -> None:
    target = resolve(one("see Section 1"), OUTLINE, near=("ARTICLE VII", "Section 7.3 Fences"))

    assert target == Target(("ARTICLE VII", "Section 1 Scope"), range(4, 5))


def test_a_section_lies_where_its_parts_do() -> None:
    assert resolve(one("see Article VII"), OUTLINE, near=()) == Target(("ARTICLE VII",), range(3, 8))
    assert resolve(one("see Appendix A"), OUTLINE, near=()) == Target(("Appendix A",), range(11, 13))


def test_a_clause_without_a_heading_is_found_by_its_number() -> None:
    openings = [
        "",
        "4.8 The price is fixed",
        "It holds a year",
        "4.8.1 It rises",
        "4.9 The term",
        "2.5 cm of rain",
        "5. End",
    ]
    outline = SectionIndex([("Terms",)] * 6 + [("Last",)], openings)

    assert resolve(one("see Section 4.8"), outline, near=()) == Target(("Terms",), range(1, 4))
    assert resolve(one("see Clause 4.9"), outline, near=()) == Target(("Terms",), range(4, 6))
    assert resolve(one("see Paragraph 5"), outline, near=()) == Target(("Last",), range(6, 7))
    assert resolve(one("see Section 2.5"), outline, near=()) is None
    assert resolve(one("see Exhibit 5"), outline, near=()) is None


def info(doc_id: str, title: str, kind: str | None = None) -> DocumentInfo:
    about = Metadata(title, kind, None, None, (), None, {}, False, (), None, None)
    return DocumentInfo(doc_id, "", "", "utf-8", "markdown", "", 1, 1, 0, about)


DECLARATION = info("ccr.md", "Declaration of Covenants", "ccr")
AMENDMENT = info("amendment.md", "First Amendment to the Declaration", "amendment")
RULES = info("rules.md", "Rules and Regulations")
CODE = info("code.md", "Wexmoor Zoning Code")
EVERY = (DECLARATION, AMENDMENT, RULES, CODE)
SYNONYMS = (("CC&Rs", "covenants", "declaration"),)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("Declaration", "ccr.md"),
        ("declaration", "ccr.md"),
        ("CC&Rs", "ccr.md"),
        ("covenants", "ccr.md"),
        ("Rules", "rules.md"),
        ("Zoning Code", "code.md"),
        ("Amendment", "amendment.md"),
        ("Clean Water Act", None),
        ("thereof", None),
    ],
)
def test_the_document_that_a_name_means(name: str, meant: str | None) -> None:
    found = find_document(name, own=AMENDMENT, documents=EVERY, synonyms=SYNONYMS)

    assert (found and found.id) == meant


def test_a_name_for_several_documents_means_none_unless_it_is_the_own() -> None:
    other = info("other.md", "Declaration of Easements")

    assert find_document("Declaration", own=RULES, documents=(*EVERY, other), synonyms=()) is None
    assert find_document("Declaration", own=other, documents=(*EVERY, other), synonyms=()) == other


@pytest.mark.parametrize(
    ("text", "count", "is_its_heading"),
    [
        ("Section 1, " * 3000, 3000, False),
        ("Sections 1" + ", 1" * 6000, 6, False),
        ("Section 1" + "(a)" * 6000, 0, False),
        ("Aa " * 6000 + "Section 1", 1, False),
        ("Section 1 of the " + "Aa of the " * 3000, 1, True),
        ("Section 1\n" * 2000, 1999, True),
        ("1." * 10000, 0, False),
    ],
    ids=lambda value: str(value)[:12],
)
def test_a_text_made_to_be_slow_is_read_to_its_end(text: str, count: int, *, is_its_heading: bool) -> None:
    assert len(references(text)) == count
    target = resolve(one("see Section 1"), SectionIndex([(text,)], [text]), near=())
    assert target == (Target((text,), range(1)) if is_its_heading else None)
