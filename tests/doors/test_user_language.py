"""What Quoth says at a terminal, in the language of the person who sits there; what programs read stays English."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quoth.cli.user_language import language_of

from .command_line import HASH, failed, run
from .small_corpus import CANOLA, HALVORSEN, SmallCorpus
from .test_conversation import terminal

NO_ANSWER = {
    "en": "No answer.",
    "de": "Keine Antwort.",
    "es": "Sin respuesta.",
    "fr": "Pas de réponse.",
    "tr": "Yanıt yok.",
}


@pytest.mark.parametrize("language", NO_ANSWER)
def test_an_abstention_speaks_the_language_that_is_asked_for(small: SmallCorpus, language: str) -> None:
    ran = run("ask", "What did Napoleon grow?", "--index", small.index, "--lang", language)

    assert ran.text.startswith(NO_ANSWER[language])
    assert ("'Napoleon' is not mentioned in the corpus." in ran.text) == (language == "en")
    assert "Napoleon" in ran.text
    assert "unknown_entity" in ran.text  # the code of the reason


def test_the_quotes_stay_in_their_language(small: SmallCorpus) -> None:
    ran = run("ask", CANOLA, "--index", small.index, "--lang", "fr")

    assert CANOLA in ran.text
    assert "confiance 0," in ran.text


@pytest.mark.parametrize(
    ("variables", "language"),
    [
        ({"QUOTH_LANG": "de", "LC_ALL": "fr_FR.UTF-8"}, "de"),
        ({"LC_ALL": "fr_FR.UTF-8", "LC_MESSAGES": "de_DE", "LANG": "es_ES"}, "fr"),
        ({"LC_ALL": "", "LC_MESSAGES": "tr_TR.UTF-8", "LANG": "es_ES"}, "tr"),
        ({"LC_ALL": "", "LC_MESSAGES": "", "LANG": "es_MX.UTF-8"}, "es"),
        ({"LC_ALL": "C", "LANG": "de_DE.UTF-8"}, "en"),
        ({"LC_ALL": "POSIX"}, "en"),
        ({"LC_ALL": "xx_YY.UTF-8"}, "en"),
        ({"LC_ALL": "fr_FR.UTF-8", "QUOTH_LANG": ""}, "fr"),
    ],
)
def test_the_language_comes_from_the_variables(small: SmallCorpus, variables: dict[str, str], language: str) -> None:
    ran = run("ask", "What did Napoleon grow?", "--index", small.index, variables={**HASH, **variables})

    assert ran.text.startswith(NO_ANSWER[language])


def test_without_a_locale_it_is_english() -> None:
    assert language_of({}) == "en"


def test_a_language_without_a_catalogue_is_refused_by_name(small: SmallCorpus) -> None:
    assert failed(run("ask", CANOLA, "--index", small.index, "--lang", "nl"), "'nl'", "de, en, es, fr, tr")


def test_json_and_receipts_are_the_same_in_every_language(small: SmallCorpus, tmp_path: Path) -> None:
    outputs = []
    for language in NO_ANSWER:
        receipt = tmp_path / f"{language}.json"
        ran = run("ask", HALVORSEN, "--index", small.index, "--lang", language, "--json", "--receipt", receipt)
        outputs.append((ran.data, receipt.read_bytes()))

    assert len(set(outputs)) == 1
    assert json.loads(outputs[0][0])["reason"]["detail"].endswith(".")


def test_how_it_came_about_is_told_in_the_language_too(small: SmallCorpus) -> None:
    ran = run("ask", "What did Napoleon grow?", "--index", small.index, "--lang", "tr", "--why")

    assert "Nasıl oluştu" in ran.text
    assert "unknown_entity: 'Napoleon' derlemde geçmiyor." in ran.text
    assert "geçti" in ran.text


def test_a_conversation_in_german(small: SmallCorpus, tmp_path: Path) -> None:
    with terminal("--index", small.index, "--lang", "de", state=tmp_path) as talk:
        assert "verstanden als: " in talk.line(CANOLA) + talk.line("why?")
        assert "Die nächste Frage steht für sich." in talk.line(":new")
        assert "diese Liste" in talk.line(":help")
        assert "Nur canola.md wird befragt." in talk.line(":doc canola.md")
        assert talk.leave() == 0
