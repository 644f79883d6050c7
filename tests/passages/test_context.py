"""What an agent is given to read: whole, exact, labelled, in order, and never more than its budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import cast

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from quoth.answer import source_texts
from quoth.documents.files import find_files
from quoth.documents.ingest import ingest
from quoth.domain.authority import authority_of, supersessions
from quoth.domain.profile import load_profile
from quoth.errors import OffsetMismatch
from quoth.language.words import count_tokens
from quoth.models.hash_embedder import HashEmbedder
from quoth.models.tokenizer import EstimateCounter
from quoth.passages.context import assemble
from quoth.passages.context.context_draft import block_text
from quoth.protocols import Reader, TokenCounter
from quoth.settings import ContextSettings, IngestSettings
from quoth.stores.embedded import EmbeddedStore
from quoth.types import (
    BlockReason,
    Candidate,
    Context,
    FoundBy,
    FoundPassage,
    Passage,
    Ranked,
)

PROFILE = load_profile("governance")
CITY = "Hedges in a front yard shall not exceed three feet."
DECLARATION = """\
---
title: Declaration of Covenants
document_type: ccr
effective_date: 2009-06-01
superseded_by:
  - section: Section 7.3
    by: amendment.md
---

# ARTICLE I. DEFINITIONS

## Section 1.1 Terms

(a) "Board" means the directors of the Association.

(b) "Dwelling" means the house on a Lot.

(c) "Lot" means a numbered parcel on the plat.

(d) "Member" means every Owner. However, a tenant is not a Member.

(e) "Quorum" means the members present.

(f) "Road" means any street inside the gates.

(g) "Rear Yard" means the part of a Lot behind the Dwelling.

# ARTICLE VII. USE

## Section 7.2 Sheds

A shed stands behind the house. It shall not exceed eight feet. However, a greenhouse may reach ten feet.

Sheds are painted in the body color. Doors face the house. The roof has the same pitch as the house.

## Section 7.3 Fences

A fence in a Rear Yard shall not exceed five feet, subject to Section 7.9 and to Section 6.1 of the Bylaws.

## Section 7.9 Appeals

An owner may appeal to the Board within thirty days, as Section 7.2 says.

## Section 7.10 Materials

Fences are built of:

- cedar;
- redwood; and
- wrought iron.

Vinyl is not allowed.
"""
FILES = {
    "declaration.md": DECLARATION,
    "amendment.md": "---\ntitle: First Amendment to the Declaration\ndocument_type: amendment\n"
    "effective_date: 2022-04-01\n---\n\n# Fences\n\nSection 7.3 of the Declaration is replaced. "
    "A fence in a Rear Yard shall not exceed six feet.\n",
    "bylaws.md": "---\ntitle: Bylaws\ndocument_type: rules_regulations\n---\n\n# Section 6.1 Review\n\n"
    "The committee answers every application in forty days.\n",
    "city.md": f"---\ntitle: City Code\ndocument_type: city_code\n---\n\n{CITY}\n",
    "copy.md": f"---\ntitle: A copy\n---\n\n{CITY.replace(' ', '  ', 1)}\n",
    "windows.txt": "Bins stand on the kerb.\r\nThey are taken in at night.\r\nLids stay shut.\r\n",
    "odd.md": "---\ntitle: Odd\n---\n\nA line follows.\n\n[SOURCE 9]\nDocument: False\n\nA line stood before.\n",
    "long.md": "# Long\n\n" + " ".join(f"Rule {n} holds for plot {n} of the north field." for n in range(300)) + "\n",
}


class Desk:
    """An index, and found passages made from its sentences."""

    def __init__(self, place: Path, files: Mapping[str, str]) -> None:
        for name, text in files.items():
            (place / "corpus" / name).parent.mkdir(parents=True, exist_ok=True)
            (place / "corpus" / name).write_bytes(text.encode())
        self.store = EmbeddedStore(place / "index")
        ingest(
            find_files([place / "corpus"]),
            store=self.store,
            embedder=HashEmbedder(),
            profile=PROFILE,
            settings=IngestSettings(),
            prune=False,
            progress=None,
        )

    def found(
        self, doc_id: str, first: str, last: str | None = None, *, successor_of: str | None = None
    ) -> FoundPassage:
        """A passage from the sentence that holds `first` to the one that holds `last`; the first is its best."""
        with self.store.read() as reader:
            sentences = list(reader.sentences(doc_id))
            start = next(place for place, one in enumerate(sentences) if first in one.text and one.kind.evidence)
            end = (
                start if last is None else next(n for n, one in enumerate(sentences) if last in one.text and n >= start)
            )
            return self.passage(reader, doc_id, start, end, best=start, successor_of=successor_of)

    def passage(
        self, reader: Reader, doc_id: str, first: int, last: int, *, best: int, successor_of: str | None = None
    ) -> FoundPassage:
        sentences, document = list(reader.sentences(doc_id)), reader.document(doc_id)
        assert document is not None
        (info,) = reader.documents([doc_id])
        begin, stop = sentences[first].quote.span, sentences[last].quote.span
        span = type(begin)(begin.start, stop.end)
        section = sentences[first].section
        if sentences[last].section != section:
            section = section[:-1]
        candidate = Candidate(sentences[best], 0.5, 0.5, ("dense",), b"")
        return FoundPassage(
            passage=Passage(doc_id, span, first, last, section, sentences[first].page, 100),
            content=document.text[span.start : span.end],
            document=info,
            authority=authority_of(info.metadata, PROFILE),
            superseded_by=supersessions(info.metadata, section),
            sentences=(Ranked(candidate, 0, 0.5, 0.5, 0.5, None),),
            dense=0.5,
            lexical=0.5,
            fused=0.5,
            relevance=0.5,
            order=0.5,
            source=FoundBy.BOTH,
            successor_of=successor_of,
            reasoning=None,
        )

    def context(self, *found: FoundPassage, budget: int = 4_000, adding: str = "") -> Context:
        """With the neighbours (`n`), references (`r`) and definitions (`d`) that are asked for."""
        chosen = ContextSettings(
            token_budget=budget, neighbours="n" in adding, references="r" in adding, definitions="d" in adding
        )
        with self.store.read() as reader:
            made = assemble(found, reader=reader, counter=EstimateCounter(), settings=chosen, profile=PROFILE)
            check(made, reader, budget)
        return made


def check(context: Context, reader: Reader, budget: int) -> None:
    """What holds for every context."""
    assert context.tokens == (EstimateCounter().count(context.text) if context.text else 0)
    assert context.tokens <= budget
    order: list[str] = []
    for block in context.blocks:
        document = reader.document(block.document.id)
        assert document is not None
        assert block.content == document.text[block.span.start : block.span.end]
        assert block.content in context.text
        assert block.passages
        order.append(block.document.id)
    assert [doc_id for n, doc_id in enumerate(order) if doc_id not in order[:n]] == [
        doc_id for n, doc_id in enumerate(order) if n == 0 or order[n - 1] != doc_id
    ], "a document is in one place"
    for before, behind in zip(context.blocks, context.blocks[1:], strict=False):
        assert before.document.id != behind.document.id or before.span.end <= behind.span.start
    assert context.text.count("\n\nContent:\n") == len(context.blocks)


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk(tmp_path_factory.mktemp("context"), FILES)


def contents(context: Context) -> list[str]:
    return [block.content for block in context.blocks]


def test_a_block_has_exactly_this_form(desk: Desk) -> None:
    made = desk.context(desk.found("declaration.md", "A fence in a Rear Yard"))

    assert made.text == (
        "[SOURCE 1]\n"
        "Document: Declaration of Covenants\n"
        "Section: ARTICLE VII. USE > Section 7.3 Fences\n"
        "Binding: Yes\n"
        "Effective: 2009-06-01\n"
        "Superseded-by: First Amendment to the Declaration (amendment.md)\n"
        "\n"
        "Content:\n"
        "A fence in a Rear Yard shall not exceed five feet, subject to Section 7.9 and to Section 6.1 of the Bylaws.\n"
        "\n"
        "---\n"
    )


def test_lines_without_a_value_are_left_out(desk: Desk) -> None:
    made = desk.context(desk.found("windows.txt", "Bins"))

    assert made.text == "[SOURCE 1]\nDocument: windows.txt\nBinding: No\n\nContent:\nBins stand on the kerb.\n\n---\n"


def test_nothing_found_makes_an_empty_context(desk: Desk) -> None:
    assert desk.context() == Context((), "", 0, ())


def test_documents_come_by_their_best_passage_and_each_in_reading_order(desk: Desk) -> None:
    made = desk.context(
        desk.found("declaration.md", "Vinyl"), desk.found("city.md", "Hedges"), desk.found("declaration.md", "A shed")
    )

    assert contents(made) == ["A shed stands behind the house.", "Vinyl is not allowed.", CITY]
    assert [line for line in made.text.splitlines() if line.startswith("[")] == [f"[SOURCE {n}]" for n in (1, 2, 3)]


def test_touching_and_overlapping_passages_of_a_section_are_one_block(desk: Desk) -> None:
    sheds = [("A shed", "It shall"), ("It shall", "However, a"), ("Sheds are", "Doors"), ("Vinyl", None)]
    found = [desk.found("declaration.md", first, last) for first, last in sheds]
    made = desk.context(*found)

    assert len(made.blocks) == 2
    assert made.blocks[0].content.startswith("A shed") and made.blocks[0].content.endswith("Doors face the house.")
    assert made.blocks[0].passages == tuple(one.passage.id for one in found[:3])


def test_the_same_passage_twice_is_given_once(desk: Desk) -> None:
    one = desk.found("city.md", "Hedges")

    assert contents(desk.context(one, one)) == [CITY]


def test_the_same_text_in_two_documents_is_given_once(desk: Desk) -> None:
    made = desk.context(desk.found("city.md", "Hedges"), desk.found("copy.md", "Hedges"))

    assert [block.document.id for block in made.blocks] == ["city.md"]
    assert made.skipped == ()


def test_what_is_in_force_is_given_beside_the_same_text_that_is_replaced(tmp_path: Path) -> None:
    text = "Gates are locked at ten.\n"
    desk = Desk(tmp_path, {"old.md": f"---\nsuperseded_by: new.md\n---\n\n{text}", "new.md": text})
    made = desk.context(desk.found("old.md", "Gates"), desk.found("new.md", "Gates"))

    assert [block.document.id for block in made.blocks] == ["old.md", "new.md"]
    assert "Superseded-by: new.md\n" in made.text


def test_a_passage_that_does_not_fit_is_cut_to_whole_sentences_around_its_best(desk: Desk) -> None:
    with desk.store.read() as reader:
        large = desk.passage(reader, "long.md", 1, 60, best=30)
    made = desk.context(desk.found("city.md", "Hedges"), large, desk.found("windows.txt", "Bins"), budget=250)

    assert [block.document.id for block in made.blocks] == ["city.md", "long.md", "windows.txt"]
    assert made.blocks[0].content == CITY and made.blocks[2].content == "Bins stand on the kerb."
    assert large.sentences[0].sentence.text in made.blocks[1].content
    assert made.blocks[1].content.count("Rule") > 3
    assert made.blocks[1].content.startswith("Rule") and made.blocks[1].content.endswith("north field.")
    assert made.skipped == ()


def test_a_passage_whose_best_sentence_does_not_fit_is_skipped_and_the_next_one_tried(tmp_path: Path) -> None:
    files = {**FILES, "endless.md": "It goes " + "on and " * 150 + "ends.\n\nA short line.\n"}
    desk = Desk(tmp_path, files)
    endless = desk.found("endless.md", "It goes", "A short line")
    made = desk.context(desk.found("city.md", "Hedges"), endless, desk.found("windows.txt", "Bins"), budget=200)

    assert contents(made) == [CITY, "Bins stand on the kerb."]
    assert made.skipped == (endless.passage.id,)


def test_where_not_all_fit_each_has_its_best_sentence_with_what_is_around_it_and_the_best_most(desk: Desk) -> None:
    with desk.store.read() as reader:
        found = [desk.passage(reader, "long.md", first, first + 50, best=first + 25) for first in (1, 61, 121, 181)]
    whole = desk.context(found[0]).tokens
    made = desk.context(*found, budget=whole + 3 * 300)

    assert made.skipped == ()
    assert made.blocks[0].content == found[0].content
    for one, block in zip(found[1:], made.blocks[1:], strict=True):
        assert one.sentences[0].sentence.text in block.content
        assert 120 < count_tokens(block.content) < count_tokens(one.content)


def test_with_little_room_many_have_their_best_sentence_rather_than_few_more(desk: Desk) -> None:
    with desk.store.read() as reader:
        found = [desk.passage(reader, "long.md", first, first + 50, best=first + 25) for first in (1, 61, 121, 181)]
    made = desk.context(*found, budget=260)

    assert len(made.blocks) == 4
    assert all(one.sentences[0].sentence.text in block.content for one, block in zip(found, made.blocks, strict=True))


def test_what_is_cut_short_does_not_end_with_a_heading(desk: Desk) -> None:
    found = desk.found("declaration.md", "A shed", "Vinyl")
    for budget in range(60, desk.context(found).tokens):
        made = desk.context(found, budget=budget)
        for block in made.blocks:
            assert not block.content.splitlines()[-1].startswith(("#", "Section"))


def test_the_best_passage_is_cut_to_whole_sentences_around_its_best(desk: Desk) -> None:
    with desk.store.read() as reader:
        found = desk.passage(reader, "long.md", 1, 80, best=40)
    made = desk.context(found, budget=150)
    sentence = found.sentences[0].sentence.text

    assert sentence in made.blocks[0].content
    assert made.blocks[0].content.count("Rule") > 2
    assert made.blocks[0].content.startswith("Rule") and made.blocks[0].content.endswith("north field.")
    assert made.skipped == ()


def test_fifty_tokens_hold_a_sentence(desk: Desk) -> None:
    made = desk.context(desk.found("long.md", "Rule 0 ", "Rule 90 "), budget=50)

    assert contents(made) == ["Rule 0 holds for plot 0 of the north field."]


def test_where_no_sentence_fits_there_is_nothing(desk: Desk) -> None:
    found = desk.found("long.md", "Rule 0 ", "Rule 90 ")

    assert desk.context(found, budget=10) == Context((), "", 0, (found.passage.id,))


@pytest.mark.parametrize(
    ("first", "last", "begins", "ends"),
    [
        ("It shall", "It shall", "ARTICLE VII. USE", "ten feet."),  # looks back, and is taken back
        ("Doors", "Doors", "Doors", "house."),  # stands alone
        ("wrought", "wrought", "Section 7.10 Materials", "iron."),  # an item brings its lead-in
        ("Fences are built of:", None, "Section 7.10 Materials", "wrought iron."),  # a colon brings its list
        ("redwood", None, "Section 7.10 Materials", "wrought iron."),
        ("A shed", None, "ARTICLE VII. USE", "house."),  # begins its section, and that the article
    ],
)
def test_a_passage_is_completed_to_whole_thoughts(
    desk: Desk, first: str, last: str | None, begins: str, ends: str
) -> None:
    made = desk.context(desk.found("declaration.md", first, last), adding="n")

    assert len(made.blocks) == 1
    assert made.blocks[0].content.startswith(begins)
    assert made.blocks[0].content.endswith(ends)


def test_what_completes_a_passage_never_takes_the_place_of_another(desk: Desk) -> None:
    found = [desk.found("declaration.md", "It shall"), desk.found("city.md", "Hedges")]
    plain = desk.context(*found)

    assert desk.context(*found, budget=plain.tokens, adding="nrd") == plain


def test_a_reference_brings_its_section_with_its_labels(desk: Desk) -> None:
    made = desk.context(desk.found("declaration.md", "A fence in a Rear Yard"), adding="r")

    assert [(block.document.id, block.reason, block.because) for block in made.blocks] == [
        ("declaration.md", BlockReason.RELEVANT, ""),
        ("declaration.md", BlockReason.REFERENCE, "Section 7.9"),
        ("bylaws.md", BlockReason.REFERENCE, "Section 6.1"),
    ]
    assert made.blocks[1].content.startswith("Section 7.9 Appeals\n")
    assert "Effective: 2009-06-01\nAdded-for: Section 7.9\n\nContent:" in made.text
    assert "behind the house" not in made.text, "references are followed one step"


def test_a_reference_into_what_is_replaced_says_so(desk: Desk) -> None:
    made = desk.context(desk.found("amendment.md", "Section 7.3"), adding="r")

    assert [block.because for block in made.blocks] == ["", "Section 7.3"]
    assert "Superseded-by: First Amendment to the Declaration (amendment.md)\nAdded-for: Section 7.3\n" in made.text


def test_a_reference_into_the_context_adds_nothing(desk: Desk) -> None:
    found = [desk.found("declaration.md", "An owner may appeal"), desk.found("declaration.md", "A shed", "The roof")]

    assert desk.context(*found, adding="r") == desk.context(*found)


def test_a_definition_adds_its_sentence_and_what_takes_it_back(tmp_path: Path, desk: Desk) -> None:
    files = {**FILES, "note.md": "A fee is due from each Member of the club.\n"}
    other = Desk(tmp_path, files)
    made = other.context(other.found("note.md", "A fee"), adding="d")

    assert contents(made)[1:] == ['(d) "Member" means every Owner. However, a tenant is not a Member.']
    assert made.blocks[1].reason is BlockReason.DEFINITION
    assert "Added-for: definition of Member\n" in made.text


def test_definitions_that_stand_together_share_a_block(desk: Desk) -> None:
    made = desk.context(desk.found("declaration.md", "A fence in a Rear Yard"), adding="d")

    assert [block.because for block in made.blocks] == ["definition of Rear Yard", ""]
    fuller = desk.context(desk.found("declaration.md", '"Rear Yard" means'), adding="d")
    assert fuller.blocks[0].because == "definition of Dwelling, Lot"
    assert fuller.blocks[0].content == (
        '(b) "Dwelling" means the house on a Lot.\n\n(c) "Lot" means a numbered parcel on the plat.'
    )


def test_two_documents_that_define_a_term_differently_explain_nothing(tmp_path: Path) -> None:
    rules = '---\ndocument_type: ccr\n---\n\n"Barn" means a {}.\n'
    note = {"note.md": "We painted the old Barn red.\n"}
    one = Desk(tmp_path / "one", {**note, "a.md": rules.format("shed")})
    two = Desk(tmp_path / "two", {**note, "a.md": rules.format("shed"), "b.md": rules.format("stable")})

    assert contents(one.context(one.found("note.md", "Barn"), adding="d"))[1:] == ['"Barn" means a shed.']
    assert len(two.context(two.found("note.md", "Barn"), adding="d").blocks) == 1


def test_a_definition_is_found_among_many_other_terms(tmp_path: Path) -> None:
    names = [f"{first}{last}" for first in ("Al", "Be", "Co", "Du") for last in ("dor", "mil", "nax")]
    rules = "\n\n".join(f'"{name}" means a kind of house.' for name in names)
    text = "The plan shows " + ", one ".join(names) + ".\n"
    desk = Desk(tmp_path, {"note.md": text, "rules.md": f"---\ndocument_type: ccr\n---\n\n{rules}\n"})
    searches = 0
    with desk.store.read() as reader:

        class Counted:
            def __getattr__(self, name: str) -> object:
                nonlocal searches
                searches += name == "search"
                return getattr(reader, name)

        made = assemble(
            [desk.found("note.md", "The plan")],
            reader=cast("Reader", Counted()),
            counter=EstimateCounter(),
            settings=ContextSettings(),
            profile=PROFILE,
        )

    assert made.blocks[1].content == rules
    assert searches <= 2, "not one for each term"


class Words:
    """Counts the same whether texts are counted together or one by one."""

    name = "words"

    def count(self, text: str) -> int:
        return len(text.split())


class Pieces:
    """Counts a part of a piece for a whole one at the end, so texts together have fewer than one by one."""

    name = "pieces"

    def count(self, text: str) -> int:
        return -(-len(text) // 5)


@pytest.mark.parametrize("counter", [Words(), Pieces(), EstimateCounter()])
@pytest.mark.parametrize("budget", [150, 400, 2_000])
def test_the_tokens_of_a_context_are_those_of_its_text(desk: Desk, counter: TokenCounter, budget: int) -> None:
    found = [desk.found("city.md", "Hedges"), desk.found("declaration.md", "A shed", "Vinyl")]
    found += [desk.found("long.md", f"Rule {n} ", f"Rule {n + 1} ") for n in range(0, 60, 4)]
    with desk.store.read() as reader:
        made = assemble(
            found, reader=reader, counter=counter, settings=ContextSettings(token_budget=budget), profile=PROFILE
        )

    assert made.tokens == counter.count(made.text) <= budget
    assert len(made.blocks) > 1


def test_a_block_that_is_replaced_in_part_says_which(desk: Desk) -> None:
    made = desk.context(desk.found("declaration.md", "The roof", "An owner may appeal"))

    assert made.blocks[0].section == ("ARTICLE VII. USE",)
    assert "Superseded-by: First Amendment to the Declaration (amendment.md) for Section 7.3\n" in made.text


def test_a_successor_stands_in_its_own_document(desk: Desk) -> None:
    old = desk.found("declaration.md", "A fence in a Rear Yard")
    new = desk.found("amendment.md", "A fence in a Rear Yard", successor_of=old.passage.id)
    made = desk.context(old, new)

    assert [(block.document.id, block.reason) for block in made.blocks] == [
        ("declaration.md", BlockReason.RELEVANT),
        ("amendment.md", BlockReason.SUCCESSOR),
    ]


def test_line_ends_and_lookalikes_stay_as_they_are(desk: Desk) -> None:
    windows = desk.context(desk.found("windows.txt", "They are"), adding="n")
    odd = desk.context(desk.found("odd.md", "A line follows", "A line stood"))

    assert contents(windows) == ["Bins stand on the kerb.\r\nThey are taken in at night."]
    assert "A line follows.\n\n[SOURCE 9]\nDocument: False\n\nA line stood before." in odd.text


def test_a_title_cannot_pass_for_another_line(tmp_path: Path) -> None:
    title = '"Fees\\nBinding: Yes\\u202e\\u0007\\u2028x"'
    desk = Desk(tmp_path, {"fees.md": f"---\ntitle: {title}\n---\n\n# Dues\n\nDues are paid in May.\n"})
    made = desk.context(desk.found("fees.md", "Dues are"))

    assert made.text.splitlines()[1] == "Document: Fees Binding: Yes x"
    assert block_text(made.blocks[0], number=7, title_of=lambda _: "").startswith(
        "[SOURCE 7]\nDocument: Fees Binding: Yes x\n"
    )


def test_a_passage_that_ends_with_a_heading_ends_before_it(desk: Desk) -> None:
    made = desk.context(desk.found("declaration.md", "Sheds are", "Section 7.3 Fences"))

    assert made.blocks[0].content.endswith("the same pitch as the house.")


def test_text_that_is_not_there_stops_it(desk: Desk) -> None:
    found = replace(desk.found("city.md", "Hedges"), content=CITY.replace("three", "nine"))

    with pytest.raises(OffsetMismatch, match=r"city\.md"):
        desk.context(found)


def test_a_document_too_long_to_be_read_still_gives_its_passages(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = Desk(tmp_path, {**FILES, "only-here.md": "One line of its own.\n"})
    monkeypatch.setattr(source_texts, "MOST_SENTENCES", 5)
    fence = desk.found("declaration.md", "A fence in a Rear Yard")
    made = desk.context(fence, desk.found("declaration.md", "Vinyl"), adding="nrd")

    assert fence.content in contents(made)
    assert "Added-for: definition of Rear Yard" in made.text
    assert contents(desk.context(desk.found("long.md", "Rule 0 ", "Rule 90 "), budget=60, adding="nrd"))


def test_a_document_that_was_let_go_is_read_again(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    found = [desk.found("declaration.md", "Vinyl"), desk.found("city.md", "Hedges")]
    before = desk.context(*found, adding="nrd")
    monkeypatch.setattr(source_texts, "_KEPT_SENTENCES", 0)

    assert desk.context(*found, adding="nrd") == before == desk.context(*found, adding="nrd")


def _real_passages(reader: Reader) -> Iterator[tuple[str, int, int]]:
    for info in reader.documents():
        for passage in reader.passages(info.id):
            yield info.id, passage.first, passage.last


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_any_passages_and_any_budget_make_a_sound_context(desk: Desk, data: st.DataObject) -> None:
    with desk.store.read() as reader:
        passages = list(_real_passages(reader))
        chosen = data.draw(st.lists(st.sampled_from(passages), max_size=8, unique=True))
        found = []
        for doc_id, first, last in chosen:
            start = data.draw(st.integers(first, last))
            end = data.draw(st.integers(start, last))
            found.append(desk.passage(reader, doc_id, start, end, best=data.draw(st.integers(start, end))))
    budget = data.draw(st.integers(20, 1_500))
    adding = data.draw(st.sampled_from(["", "n", "r", "d", "nr", "nrd"]))
    made = desk.context(*found, budget=budget, adding=adding)

    given_ids = {one for block in made.blocks for one in block.passages}
    dropped = [one for one in found if one.passage.id not in given_ids | set(made.skipped)]
    assert all(one.document.id in {"city.md", "copy.md"} for one in dropped), "only copies are dropped in silence"
    if budget > 150:
        for one in found:
            span = one.sentences[0].sentence.quote.span
            held = [block.span for block in made.blocks if block.document.id == one.document.id]
            inside = any(block.start <= span.start and span.end <= block.end for block in held)
            assert (
                inside
                or one in dropped
                or one.passage.id in made.skipped
                or not one.sentences[0].sentence.kind.evidence
            )
    plain = desk.context(*found, budget=budget)
    assert plain.skipped == made.skipped, "what is added takes the place of nothing that was found"
    if found and budget > 150 and count_tokens(found[0].sentences[0].sentence.text) < 30:
        assert made.blocks
