"""What is shown of a quote: one line, and only the hyphens that the words have by themselves."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.language.display import Vocabulary, display_parts, displayed, displayed_lead, displayed_sentence
from quoth.types import Quote, RegionKind, Sentence, Span


def shown(quote: str, *, elsewhere: str = "") -> str:
    """Return how a quote is shown whose document says something else, too."""
    return displayed(quote, Vocabulary(f"{elsewhere}\n\n{quote}"))


def test_a_word_is_joined_that_the_document_writes_as_one() -> None:
    assert shown("The infor-\nmation is new.", elsewhere="Some information.") == "The information is new."


def test_a_word_is_joined_when_neither_half_is_a_word() -> None:
    assert shown("The infor-\nmation is new.") == "The information is new."


def test_a_word_is_joined_when_only_one_half_is_a_word() -> None:
    assert shown("The high-\nest yield.", elsewhere="A high yield.") == "The highest yield."


def test_another_form_of_the_word_is_enough() -> None:
    assert shown("Water-\nlogged fields.", elsewhere="Water was logged. Waterlogging hurts.") == "Waterlogged fields."


def test_the_hyphen_stays_where_the_document_writes_it_on_one_line() -> None:
    assert shown("A well-\nknown crop.", elsewhere="It is well-known.") == "A well-known crop."


def test_the_hyphen_stays_where_another_form_is_written_with_it() -> None:
    assert shown("A no-\ntilled field.", elsewhere="Use no-till here.") == "A no-tilled field."


def test_the_hyphen_stays_between_two_words() -> None:
    assert shown("A two-\ncarbon chain.", elsewhere="Two chains of carbon.") == "A two-carbon chain."


def test_the_hyphen_stays_before_the_end_of_other_compounds() -> None:
    assert shown("An intensity-\nbased rate.", elsewhere="A plant-based diet.") == "An intensity-based rate."


def test_the_more_common_form_decides() -> None:
    assert shown("An over-\nall view.", elsewhere="Overall, over-all and overall.") == "An overall view."
    assert shown("An over-\nall view.", elsewhere="Overall, over-all and over-all.") == "An over-all view."


@pytest.mark.parametrize(
    ("quote", "line"),
    [
        ("An X-\nray of it.", "An X-ray of it."),
        ("The DNA-\nbinding site.", "The DNA-binding site."),
        ("About Spider-\nMan.", "About Spider-Man."),
        ("The COVID-\n19 wave.", "The COVID-19 wave."),
        ("At pH 6.0-\n7.0 it grows.", "At pH 6.0-7.0 it grows."),
        ("A CO2-\nrich gas.", "A CO2-rich gas."),
        ("Then (E)-\nnerolidol.", "Then (E)-nerolidol."),
        ("In 2010–\n2015.", "In 2010–2015."),
        ("Sun and/\nor shade.", "Sun and/or shade."),
        ("See https://a.example/infor-\nmation now.", "See https://a.example/infor-mation now."),
        ("The doi is 10.1000/infor-\nmation.", "The doi is 10.1000/infor-mation."),
    ],
)
def test_a_sign_that_is_no_hyphenation_stays(quote: str, line: str) -> None:
    assert shown(quote) == line


def test_a_name_in_capitals_is_joined_only_by_evidence() -> None:
    assert shown("INFOR-\nMATION", elsewhere="Our information.") == "INFORMATION"
    assert shown("INFOR-\nMATION") == "INFOR-MATION"


def test_an_x_ray_stays_however_often_both_letters_stand_together() -> None:
    assert shown("The I-\nR injury.", elsewhere="IR, IR and IR, once I-R.") == "The I-R injury."


@pytest.mark.parametrize("link", ["and", "or", "to", "und", "et"])
def test_a_first_half_that_waits_for_its_second_keeps_its_space(link: str) -> None:
    assert shown(f"The pre-\n{link} postharvest rot.") == f"The pre- {link} postharvest rot."


@pytest.mark.parametrize("broken", ["infor\u00admation", "infor\u00ad\nmation", "infor\u00ad \r\n mation"])
def test_a_soft_hyphen_always_joins(broken: str) -> None:
    assert shown(f"The {broken}.", elsewhere="An infor-mation, the infor and the mation.") == "The information."


def test_a_soft_hyphen_between_digits_is_a_range_and_at_the_end_of_a_word_it_is_nothing() -> None:
    assert shown("Pages 6\u00ad7 and pre\u00ad\u00ad harvest.") == "Pages 6-7 and preharvest."
    assert shown("The end\u00ad.") == "The end."


@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r", " \n", "\n\n  ", "\n\t"])
def test_every_kind_of_line_end_breaks_words(line_end: str) -> None:
    assert shown(f"The infor-{line_end}mation.") == "The information."


def test_the_unicode_hyphen_is_a_hyphen() -> None:
    assert shown("The infor\u2010\nmation.") == "The information."
    assert shown("A well\u2010\nknown crop.", elsewhere="It is well-known.") == "A well\u2010known crop."


def test_halves_of_other_broken_words_are_no_words() -> None:
    elsewhere = "An infor-\ngraphic. The for-\nmation. In a cell: infor- and so- mation."

    assert shown("The infor-\nmation.", elsewhere=elsewhere) == "The information."


def test_a_dash_between_spaces_stays_a_dash() -> None:
    assert shown("One thing -\nthe other.") == "One thing - the other."


def test_line_ends_and_runs_of_spaces_become_one_space() -> None:
    assert shown("Sow  at\n2.5\t cm\u00a0 deep.") == "Sow at 2.5 cm deep."


def test_words_that_end_with_a_hyphen_on_their_line_stay() -> None:
    assert shown("A well-known infor-mation.") == "A well-known infor-mation."


def sentence(text: str, kind: RegionKind, lead: str | None = None) -> Sentence:
    before = Quote(Span(0, len(lead)), lead) if lead else None
    return Sentence("a.md", Quote(Span(100, 100 + len(text)), text), kind, (), before, page=None, ocr=None, tags={})


def test_code_keeps_its_lines() -> None:
    code = sentence("if a-\n  b:", RegionKind.CODE)

    assert displayed_sentence(code, Vocabulary(code.text)) == "if a-\n  b:"


def test_a_lead_is_shown_like_a_sentence() -> None:
    item = sentence("spring", RegionKind.LIST_ITEM, lead="Sow the seed-\nlings  in:")

    assert displayed_lead(item, Vocabulary("Seedlings.")) == "Sow the seedlings in:"
    assert displayed_lead(sentence("spring", RegionKind.PARAGRAPH), Vocabulary("")) is None


@given(st.text(alphabet="abAB-\u00ad\u2010 \n\r2(),.é", max_size=60), st.text(alphabet="abAB- \n", max_size=60))
def test_no_letter_is_lost_or_added_and_nothing_changes_twice(quote: str, elsewhere: str) -> None:
    vocabulary = Vocabulary(elsewhere)
    line = displayed(quote, vocabulary)

    assert [c for c in line if c.isalnum()] == [c for c in quote if c.isalnum()]
    assert line == " ".join(line.split())
    assert displayed(line, vocabulary) == line


def _parts(text: str, *marked: str) -> tuple[str, ...]:
    span = Span(7, 7 + len(text))
    sentence = Sentence("a.md", Quote(span, text), RegionKind.PARAGRAPH, (), None, None, None, {})
    starts = [7 + text.index(words) for words in marked]
    spans = [Span(start, start + len(words)) for start, words in zip(starts, marked, strict=True)]
    return display_parts(sentence, displayed(text, Vocabulary(text + " information")), spans)


def test_words_that_stand_out_are_parts_of_what_is_shown() -> None:
    assert _parts("Sow at 2.5 cm.") == ("Sow at 2.5 cm.",)
    assert _parts("Sow at 2.5 cm.", "2.5 cm") == ("Sow at ", "2.5 cm", ".")
    assert _parts("Sow  at\n2.5\n  cm, in May", "Sow", "2.5\n  cm", "May") == (
        *("", "Sow", " at ", "2.5 cm", ", in ", "May", ""),
    )
    assert _parts("More infor-\nmation is there", "infor-\nmation") == ("More ", "information", " is there")
    assert _parts("Of 2\u00ad3 so\u00adme", "2\u00ad3") == ("Of ", "2-3", " some")


def test_the_marks_of_a_quotation_are_not_shown_and_signs_in_it_are() -> None:
    text = "I agree\n> that 2 > 1\r\n> > here."

    def shown(kind: RegionKind) -> tuple[str, ...]:
        sentence = Sentence("a.md", Quote(Span(0, len(text)), text), kind, (), None, None, None, {})
        return display_parts(sentence, displayed_sentence(sentence, Vocabulary(text)), [Span(10, 14)])

    assert shown(RegionKind.QUOTE) == ("I agree ", "that", " 2 > 1 here.")
    assert shown(RegionKind.PARAGRAPH) == ("I agree > ", "that", " 2 > 1 > > here.")


@given(st.text(alphabet="ab 2-\n\u00ad\u2010/,é😀", min_size=1, max_size=40), st.data())
def test_the_parts_are_all_that_is_shown(text: str, data: st.DataObject) -> None:
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), max_size=6)))
    spans = [Span(start, end) for start, end in zip(cuts[::2], cuts[1::2], strict=False)]
    sentence = Sentence("a.md", Quote(Span(0, len(text)), text), RegionKind.PARAGRAPH, (), None, None, None, {})
    whole = displayed(text, Vocabulary(text))
    parts = display_parts(sentence, whole, spans)

    assert "".join(parts) == whole
    assert len(parts) == 2 * len(spans) + 1
    for span, part in zip(spans, parts[1::2], strict=True):
        letters = [character for character in text[span.start : span.end] if character.isalnum()]
        assert [character for character in part if character.isalnum()] == letters
