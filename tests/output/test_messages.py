"""What people read, in every language: no message is missing, none is left over, and all keep their fields."""

from __future__ import annotations

import copy
import json
import pickle
import re
from importlib.resources import files
from string import Formatter

import pytest

from messages_of import all_messages
from quoth.output.messages import ENGLISH, Forms, Messages, catalogue, languages, spoken
from quoth.types import Remark, all_of, any_of, term

OTHERS = [language for language in languages() if language != ENGLISH]


def fields(text: str) -> list[tuple[str, str | None, str | None]]:
    return sorted((name, spec, sign) for _, name, spec, sign in Formatter().parse(text) if name is not None)


def test_the_languages_are_those_that_are_promised() -> None:
    assert languages() == ("de", "en", "es", "fr", "tr")


def test_english_is_the_language_of_the_code() -> None:
    assert catalogue(ENGLISH).messages == {}
    assert len(all_messages()) > 300


@pytest.mark.parametrize("language", OTHERS)
def test_every_message_is_there_and_none_is_left_over(language: str) -> None:
    assert sorted(catalogue(language).messages) == sorted(all_messages())


@pytest.mark.parametrize("language", OTHERS)
def test_a_message_has_the_fields_of_the_english_one(language: str) -> None:
    for english, text in catalogue(language).messages.items():
        one = all_messages()[english].one
        assert isinstance(text, Forms) == (one is not None), english
        for form in (text.one, text.other) if isinstance(text, Forms) else (text,):
            # A quoted word may stand in the quotation marks of the language.
            assert fields(form) == [(name, spec, None if sign == "r" else sign) for name, spec, sign in fields(english)]
            assert form.strip() == form, english
            assert form, english


@pytest.mark.parametrize("language", OTHERS)
def test_the_page_and_the_terminal_read_the_same_file(language: str) -> None:
    content = json.loads(files("quoth").joinpath("messages", f"{language}.json").read_text("utf-8"))

    assert set(content) == {"language", "messages"}
    assert list(content["messages"]) == sorted(content["messages"], key=lambda text: (text.casefold(), text))


def test_a_message_that_is_not_there_would_be_found() -> None:
    told = all_messages()

    assert "{named} is not mentioned in {where}." in told
    assert told["{count} documents"].one == "{count} document"
    assert "Read with {place}:" in told
    assert "Skip to the content" in told


def test_a_remark_is_its_english_text() -> None:
    remark = Remark("The confidence is {confidence:.2f}; {threshold:.2f} is needed.", confidence=0.1, threshold=0.3)

    assert remark == "The confidence is 0.10; 0.30 is needed."
    assert json.dumps([remark]) == '["The confidence is 0.10; 0.30 is needed."]'
    pickled = pickle.loads(pickle.dumps(remark))  # noqa: S301 - as a cluster does
    for twin in (pickled, copy.deepcopy(remark)):
        assert twin == remark
        assert Messages("de").said(twin) == "Die Konfidenz ist 0,10; nötig ist 0,30."


def test_what_stands_in_a_remark_is_said_in_its_language_too() -> None:
    named = all_of([Remark("'{text}'", text=text) for text in ("Ada", "{Bo}", "Cy")])
    remark = Remark("{named} are not mentioned in {where}.", named=named, where=Remark("the corpus"))

    assert remark == "'Ada', '{Bo}' and 'Cy' are not mentioned in the corpus."
    assert Messages("de").said(remark) == "„Ada“, „{Bo}“ und „Cy“ werden im Korpus nicht erwähnt."
    assert Messages("tr").said(remark) == "'Ada', '{Bo}' ve 'Cy' derlemde geçmiyor."
    assert Messages("en").said(remark) == str(remark)


def test_lists_of_one_and_words_with_quotes_in_them() -> None:
    assert any_of(["a"]) == "a"
    assert any_of(["a", "b", "c"]) == "a, b or c"
    assert Messages("es").said(any_of(["a", "b"])) == "a o b"
    assert Remark("{word!r}", word="don't") == '"don\'t"'
    assert Messages("fr").said(Remark("{word!r}", word="l'eau")) == "«\u00a0l'eau\u00a0»"


def test_a_name_without_a_word_stays_as_it_is() -> None:
    assert Messages("de").said(term("binding")) == "bindend"
    assert Messages("de").said(term("by-law {7}")) == "by-law {7}"
    assert Messages("de").said("a plain text {x}") == "a plain text {x}"


@pytest.mark.parametrize(
    ("language", "counts", "percent", "amount"),
    [
        ("en", ["0 documents", "1 document", "1,200 documents"], "97%", "0.25"),
        ("de", ["0 Dokumente", "1 Dokument", "1.200 Dokumente"], "97\u00a0%", "0,25"),
        ("es", ["0 documentos", "1 documento", "1.200 documentos"], "97\u00a0%", "0,25"),
        ("fr", ["0 document", "1 document", "1\u202f200 documents"], "97\u00a0%", "0,25"),
        ("tr", ["0 belge", "1 belge", "1.200 belge"], "%97", "0,25"),
    ],
)
def test_numbers_are_written_as_the_language_writes_them(
    language: str, counts: list[str], percent: str, amount: str
) -> None:
    say = Messages(language)

    assert [say.counted(number, "{count} document", "{count} documents") for number in (0, 1, 1200)] == counts
    assert percent in say("read from a picture, {sure:.0%} sure", sure=0.97)
    assert re.search(r"\d\S+", say("confidence {confidence:.2f}", confidence=0.25))[0] == amount  # type: ignore[index]


@pytest.mark.parametrize(
    ("wanted", "language"),
    [("de", "de"), ("de-AT", "de"), ("tr_TR.UTF-8", "tr"), (" FR ", "fr"), ("C", None), ("C.UTF-8", None)],
)
def test_a_tag_or_a_locale_names_a_language(wanted: str, language: str | None) -> None:
    assert spoken(wanted) == language
    assert spoken("") is None
    assert spoken("../en") is None
