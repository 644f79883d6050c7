"""A quote is found again where its very words stand, and nowhere else."""

from __future__ import annotations

import importlib.util
import time
from importlib.machinery import ModuleSpec
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.citations.anchoring import Anchor, AnchorOutcome, QuotedPlace, anchor
from quoth.citations.word_matching import PreparedText, folded, same_words
from quoth.errors import MissingExtra
from quoth.language.word_edits import word_edits
from quoth.types import Span

OLD = "Sow canola early.\n\nSow at 2 cm in moist soil.\n\nRoll the field after rain.\n"


def place(text: str, quote: str) -> QuotedPlace:
    start = text.index(quote)
    end = start + len(quote)
    return QuotedPlace(Span(start, end), quote, text[max(0, start - 32) : start], text[end : end + 32])


def found(quote: str, new: str, old: str = OLD) -> Anchor:
    return anchor(place(old, quote), new)


def slices(result: Anchor, text: str) -> list[str]:
    return [text[found.span.start : found.span.end] for found in result.places]


def test_the_same_words_in_the_same_place_are_exact() -> None:
    result = found("Sow at 2 cm in moist soil.", OLD)

    assert result.outcome is AnchorOutcome.EXACT
    assert result.places[0].span == Span(19, 45)
    assert not result.places[0].normalised


def test_text_inserted_before_a_quote_moves_it() -> None:
    new = "Read this first.\n\n" + OLD
    result = found("Sow at 2 cm in moist soil.", new)

    assert result.outcome is AnchorOutcome.MOVED
    assert slices(result, new) == ["Sow at 2 cm in moist soil."]


@pytest.mark.parametrize(
    "edited",
    [
        "Sow at 3 cm in moist soil.",
        "Sow at -2 cm in moist soil.",
        "Sow at 2 mm in moist soil.",
        "Sow at 2 cm in dry soil.",
        "Sow at 2 cm in moist soil",
        "Sow at 2.5 cm in moist soil.",
        "Sow at 2 cm in moist soils.",
    ],
)
def test_a_digit_a_sign_a_unit_or_a_word_makes_it_changed(edited: str) -> None:
    new = "New.\n\n" + OLD.replace("Sow at 2 cm in moist soil.", edited)
    result = found("Sow at 2 cm in moist soil.", new)

    assert result.outcome is AnchorOutcome.CHANGED
    assert slices(result, new) == [edited]
    assert " ".join(edit.b for edit in result.edits if edit.b) == edited


@pytest.mark.parametrize(
    ("new", "outcome"),
    [
        ("- Depth: 2\n- Width: 5\n", AnchorOutcome.EXACT),
        ("- Depth: 25\n- Width: 5\n", AnchorOutcome.CHANGED),
        ("- Depth: 2.5\n- Width: 5\n", AnchorOutcome.CHANGED),
        ("- Depth: 2 km\n- Width: 5\n", AnchorOutcome.CHANGED),
        ("- Depth: 2%\n- Width: 5\n", AnchorOutcome.CHANGED),
    ],
)
def test_a_number_that_goes_on_is_another_number(new: str, outcome: AnchorOutcome) -> None:
    assert found("Depth: 2", new, "- Depth: 2\n- Width: 5\n").outcome is outcome


def test_a_number_that_got_a_sign_is_not_moved() -> None:
    old, new = "At night:\n5 degrees is usual.\n", "Now, at night:\n-5 degrees is usual.\n"

    assert found("5 degrees is usual.", new, old).outcome is AnchorOutcome.CHANGED


def test_a_letter_that_got_an_accent_is_another_letter() -> None:
    assert found("the cafe", "In the cafe\u0301\n", "In the cafe\n").outcome is not AnchorOutcome.EXACT
    assert found("family 👩", "A family 👩\u200d👧\n", "A family 👩\n").outcome is not AnchorOutcome.EXACT


@pytest.mark.parametrize(
    ("new", "there"),
    [
        ("Sow at 2 cm\r\nin moist\r\nsoil.", "Sow at 2 cm\r\nin moist\r\nsoil."),
        ("Sow at 2 cm in moi-\nst soil.", "Sow at 2 cm in moi-\nst soil."),
        ("Sow at 2 cm in mo\xadist soil.", "Sow at 2 cm in mo\xadist soil."),
        ("Sow  at\t2 cm\n\nin moist soil.", "Sow  at\t2 cm\n\nin moist soil."),
    ],
)
def test_other_line_breaks_are_said_and_the_real_slice_is_given(new: str, there: str) -> None:
    text = f"New. \n{new}\nMore."
    result = found("Sow at 2 cm in moist soil.", text)

    assert result.outcome is AnchorOutcome.MOVED
    assert result.places[0].normalised
    assert slices(result, text) == [there] == [result.places[0].text]


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("well-known", "well-\nknown", True),
        ("wellknown", "well-\nknown", True),
        ("well-known", "wellknown", False),
        ("5-10", "5-\n10", False),
        ("510", "5\xad10", False),
        ("a b", "a \r\n b", True),
        ("“a”", '"a"', False),
        ("e\u0301", "é", False),
        ("5\N{NO-BREAK SPACE}cm", "5\ncm", True),
    ],
)
def test_the_normalisation_concerns_line_breaks_only(a: str, b: str, same: bool) -> None:
    assert same_words(folded(a), folded(b)) is same
    assert same_words(folded(b), folded(a)) is same


def test_context_decides_between_equal_places() -> None:
    old = "North field.\nSow early.\n\nSouth field.\nSow early.\n"
    new = "Changed.\n\nSouth field.\nSow early.\n\nNorth field.\nSow early.\n"
    result = anchor(QuotedPlace(Span(13, 23), "Sow early.", old[:13], old[23:55]), new)

    assert result.outcome is AnchorOutcome.MOVED
    assert result.places[0].span.start == new.rindex("Sow early.")


def test_without_context_all_equal_places_are_listed() -> None:
    new = "One. Sow early. Two. Sow early. Three."
    result = anchor(QuotedPlace(Span(50, 60), "Sow early.", "Nothing like it. ", " Nor this."), new)

    assert result.outcome is AnchorOutcome.AMBIGUOUS
    assert slices(result, new) == ["Sow early.", "Sow early."]


def test_a_sentence_that_is_not_there_any_more_is_gone() -> None:
    assert found("Sow at 2 cm in moist soil.", "Nothing about that here.\n").outcome is AnchorOutcome.GONE
    assert found("Sow at 2 cm in moist soil.", "").outcome is AnchorOutcome.GONE


def test_rapidfuzz_is_needed_for_edited_sentences_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    def without(name: str, package: str | None = None) -> ModuleSpec | None:
        return None if name == "rapidfuzz" else importlib.util.find_spec(name, package)

    monkeypatch.setattr("quoth.citations.anchoring.find_spec", without)

    assert found("Sow at 2 cm in moist soil.", "x\n" + OLD).outcome is AnchorOutcome.MOVED
    with pytest.raises(MissingExtra, match="'anchor'"):
        found("Sow at 2 cm in moist soil.", "x\n" + OLD.replace("moist", "wet"))


TEXTS = st.text(alphabet=st.sampled_from("ab1 .-\n\r\xad\u0301é👩\u200d5,"), max_size=60)


@st.composite
def quoted(draw: Any) -> tuple[str, QuotedPlace]:  # noqa: ANN401 - hypothesis has no type for it
    text = draw(TEXTS.filter(lambda text: text.strip()))
    start = draw(st.integers(0, len(text) - 1))
    end = draw(st.integers(start + 1, len(text)))
    return text, QuotedPlace(Span(start, end), text[start:end], text[max(0, start - 32) : start], text[end : end + 32])


@given(quoted(), TEXTS)
def test_what_is_exact_or_moved_is_the_quote(given_: tuple[str, QuotedPlace], new: str) -> None:
    _, quote = given_
    for text in (new, new + quote.text + new, quote.text.replace("\n", "\r\n") + new):
        result = anchor(quote, text)
        for there in result.places if result.outcome is not AnchorOutcome.CHANGED else ():
            assert text[there.span.start : there.span.end] == there.text
            assert there.normalised is (there.text != quote.text)
            assert same_words(folded(there.text), folded(quote.text))
        if result.outcome is AnchorOutcome.EXACT:
            assert result.places[0].span == quote.span
            assert result.places[0].text == quote.text


@given(quoted(), TEXTS)
def test_an_insertion_before_it_shifts_a_quote_exactly(given_: tuple[str, QuotedPlace], inserted: str) -> None:
    text, quote = given_
    before = f"{inserted}zz\n\n"
    result = anchor(quote, before + text)

    if quote.text.strip() and quote.before.strip() and result.outcome is not AnchorOutcome.EXACT:
        shifted = Span(quote.span.start + len(before), quote.span.end + len(before))
        assert shifted in [there.span for there in result.places]


@given(quoted())
def test_an_unchanged_text_keeps_every_quote(given_: tuple[str, QuotedPlace]) -> None:
    text, quote = given_

    assert anchor(quote, text).outcome is AnchorOutcome.EXACT


def test_emoji_and_marks_count_as_their_code_points() -> None:
    old = "Café 👩\u200d🌾 e\u0301.\nSow at 2 cm. 👍\n"
    new = "👩\u200d🌾\n" + old
    result = found("Sow at 2 cm.", new, old)

    assert result.places[0].span.start == old.index("Sow") + 4
    assert slices(result, new) == ["Sow at 2 cm."]


def test_a_text_is_prepared_once_for_many_quotes() -> None:
    prepared = PreparedText(f"New.\n{OLD}", doc_id="guide.md")
    results = [anchor(place(OLD, quote), prepared) for quote in OLD.strip().split("\n\n")]

    assert [result.outcome for result in results] == [AnchorOutcome.MOVED] * 3
    assert {result.places[0].doc_id for result in results} == {"guide.md"}


def test_many_equal_places_are_counted_and_the_first_are_listed() -> None:
    quote = QuotedPlace(Span(50, 60), "Sow early.", "Nothing like it. ", " Nor this.")
    several, too_many = (anchor(quote, "Sow early. Now. " * count) for count in (250, 5_000))

    assert [len(several.places), len(too_many.places)] == [100, 100]
    assert "at 250 places" in (several.why or "")
    assert "at least 1,000 places" in (too_many.why or "")


def test_a_search_in_a_long_text_can_be_ended() -> None:
    def tick() -> None:
        raise TimeoutError

    prepared = PreparedText("the cat sat on the mat. " * 1_000, tick=tick)
    with pytest.raises(TimeoutError):
        anchor(QuotedPlace(Span(3, 6), "the", "", ""), prepared)


CROPS = ("Crop list", "Oats: sow 3 cm deep", "Soybeans: sow 3 cm deep", "Barley: sow 4 cm deep")


@pytest.mark.parametrize("mark", ["- ", "| "])
def test_a_neighbour_of_a_deleted_row_is_not_what_it_became(mark: str) -> None:
    old = f"\n{mark}".join(CROPS) + "\n"

    assert found(CROPS[2], old.replace(f"{mark}{CROPS[2]}\n", ""), old).outcome is AnchorOutcome.GONE


def test_a_long_neighbour_that_the_context_cuts_off_is_not_what_it_became() -> None:
    canola, mustard = (f"Sow {crop} in moist soil when the frost is over." for crop in ("canola", "mustard"))
    old = f"First.\n\n{canola}\n\n{mustard}\n"

    assert found(mustard, old.replace(mustard, ""), old).outcome is AnchorOutcome.GONE


def test_a_row_that_became_like_its_neighbour_is_changed() -> None:
    old = "Depths\n\n- Depth: 3\n- Depth: 2\n- Width: 5\n"
    result = found("Depth: 2", old.replace("2", "3"), old)

    assert result.outcome is AnchorOutcome.CHANGED
    assert result.places[0].span == Span(21, 29)


def test_text_that_repeats_itself_takes_no_quadratic_time() -> None:
    text, quote = "a  b " * 8_000, ("a b " * 4_000).strip()
    started = time.process_time()
    places = list(PreparedText(text).places(quote))
    edits = word_edits("a b c " * 1_000, "a b " * 1_500)

    assert [places[0], len(places)] == [Span(0, 4_000 * 5 - 1), 4_001]
    assert [edit.op for edit in edits] == ["equal", "replace"]
    assert time.process_time() - started < 5


def test_the_edits_of_long_texts_lead_from_one_to_the_other() -> None:
    old, new = (" ".join(["same"] * 9 + [word] * 900 + ["end"]) for word in ("old", "new"))

    assert [(edit.op, len(edit.a.split())) for edit in word_edits(old, new)] == [
        ("equal", 9),
        ("replace", 900),
        ("equal", 1),
    ]


def test_a_letter_that_grows_in_lower_case_hides_no_sentence() -> None:
    old = "SOW AT 2 CM IN MOIST SOIL.\n"
    new = "Made in İzmir.\n\n" + old.replace("2", "3")

    assert found(old.strip(), new, old).outcome is AnchorOutcome.CHANGED
