"""Which pieces of a document are a bibliography or back matter, and which only look like it."""

from __future__ import annotations

import pytest

from quoth.documents.named_parts import Piece, is_reference, named_parts
from quoth.documents.sentences import split
from quoth.types import RegionKind

BODY = "We sowed canola at 2.5 cm and counted the plants after three weeks, as others did before us."
ENTRIES = [
    "1. Lee S, Badieyan S, Bevan DR, et al. (2010) Volatiles of maize. Plant J 59: 149–155.",
    "2. Glick, B. R. (2005). Modulation of plant ethylene. FEMS Microbiol. Lett. 251, 1–7. doi: 10.1016/j.femsle",
    "[3] S. K. Das and D. M. Vasudevan, “Tulsi,” Indian Journal of Natural Products, vol. 5, no. 4, pp. 279–283, 2006.",
    "Nottingham, S.F., Hardie, J. and Dawson, G.W. (1991) Responses of aphids. J. Chem. Ecol. 17, 1231–1242.",
    "5. Haunstetter A, Izumo S: Apoptosis: basic mechanisms. Circ Res 1998, 82:1111-1129.",
]


def kinds(*texts: str, kind: RegionKind = RegionKind.PARAGRAPH) -> list[str]:
    pieces = [Piece(RegionKind.HEADING if len(text) < 40 else kind, text) for text in texts]
    return [found.value for found in named_parts(pieces)]


@pytest.mark.parametrize("entry", ENTRIES)
def test_an_entry_is_told_by_its_signs(entry: str) -> None:
    assert is_reference(entry)


@pytest.mark.parametrize(
    "text",
    [
        BODY,
        "The rate doubled between 2001 and 2004 (Lee et al., 2010; Glick, 2005).",
        "1. The Buyer shall pay within 30 days of the invoice.",
        "4.2 Setbacks. No building shall stand within 7-10 feet of a lot line.",
        "",
    ],
)
def test_prose_that_cites_and_clauses_are_no_entries(text: str) -> None:
    assert not is_reference(text)


def test_what_stands_below_the_title_of_a_bibliography_is_named() -> None:
    found = kinds("Results", BODY, "References", *ENTRIES, "Acknowledgements", BODY)

    assert found == ["heading", "paragraph", "heading", *["references"] * 5, "heading", "paragraph"]


@pytest.mark.parametrize("title", ["REFERENCES", "7. References", "Literature Cited", "Bibliography:", "Works cited"])
def test_a_bibliography_has_many_titles(title: str) -> None:
    assert kinds(BODY, title, *ENTRIES[:2]) == ["paragraph", "heading", "references", "references"]


def test_a_paragraph_can_be_the_title() -> None:
    pieces = [Piece(RegionKind.PARAGRAPH, text) for text in (BODY, "References", *ENTRIES)]

    assert named_parts(pieces)[:3] == [RegionKind.PARAGRAPH, RegionKind.HEADING, RegionKind.REFERENCES]


def test_text_between_the_entries_stays_text() -> None:
    found = kinds("References", *ENTRIES[:3], f"{BODY} {BODY} {BODY} {BODY}", *ENTRIES[3:])

    assert found == ["heading", *["references"] * 3, "paragraph", *["references"] * 2]


def test_scraps_among_entries_belong_to_them() -> None:
    assert (
        kinds("References", *ENTRIES[:2], "New York, NY: Academic Press, second printing.", *ENTRIES[2:])[1:]
        == ["references"] * 6
    )


def test_a_section_on_references_without_entries_is_text() -> None:
    clause = "The Contractor shall give three references on request, from projects of the last five years."

    assert kinds("References", clause, "Termination of contract", clause) == [
        "heading",
        "paragraph",
        "heading",
        "paragraph",
    ]


def test_a_table_between_the_entries_stays_a_table() -> None:
    caption, row = Piece(RegionKind.CAPTION, "Table 2. Yields by year"), Piece(RegionKind.TABLE_ROW, "Canola | 2.1")
    entries = [Piece(RegionKind.PARAGRAPH, text) for text in ENTRIES]
    pieces = [Piece(RegionKind.HEADING, "References"), *entries[:2], caption, row, *entries[2:]]

    assert named_parts(pieces)[3:5] == [RegionKind.CAPTION, RegionKind.TABLE_ROW]


def test_a_long_run_of_entries_needs_no_title() -> None:
    assert kinds(BODY, *ENTRIES) == ["paragraph", *["references"] * 5]
    assert kinds(BODY, *ENTRIES[:3]) == ["paragraph"] * 4


@pytest.mark.parametrize("title", ["Funding", "Conflicts of Interest", "Authors’ contributions", "Competing interests"])
def test_who_paid_and_wrote_is_back_matter_until_the_next_heading(title: str) -> None:
    assert kinds(title, BODY, BODY, "Acknowledgements", BODY, "References", *ENTRIES)[:5] == [
        "heading",
        "back_matter",
        "back_matter",
        "heading",
        "paragraph",
    ]


def test_a_paper_is_told_by_two_such_titles_too() -> None:
    assert kinds("Funding", BODY, "Conflict of interest", BODY)[1::2] == ["back_matter", "back_matter"]


def test_a_clause_of_a_contract_is_no_back_matter() -> None:
    assert kinds("Disclosure", BODY, "Termination", BODY)[1::2] == ["paragraph", "paragraph"]


def test_a_label_makes_one_paragraph_back_matter() -> None:
    funding = "Funding: This work was supported by the Ministry of Agriculture under grant 42."

    assert kinds(funding, BODY, "References", *ENTRIES)[:2] == ["back_matter", "paragraph"]


def test_no_kind_of_these_is_evidence_and_none_is_skipped() -> None:
    for kind in (RegionKind.REFERENCES, RegionKind.BACK_MATTER, RegionKind.MASTHEAD):
        assert (kind.aside, kind.evidence, kind.skipped) == (True, False, False)


def test_a_reference_list_in_markdown_is_named_too() -> None:
    text = "# Canola\n\nSow at 2.5 cm.\n\n## References\n\n" + "\n".join(f"- {entry}" for entry in ENTRIES) + "\n"
    regions = [(region, spans) for region, spans in split(text, format="markdown") if spans]

    assert [region.kind.value for region, _ in regions] == ["heading", "paragraph", "heading", *["references"] * 5]
    assert [len(spans) for _, spans in regions] == [1] * 8
