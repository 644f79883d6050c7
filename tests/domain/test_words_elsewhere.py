"""Words of a profile in other languages: in all their forms in their language, and nowhere in the way of English."""

from __future__ import annotations

from pathlib import Path

import pytest

from quoth.domain.profile import Facet, TagWords, load_profile, names_in, parse_profile
from quoth.domain.tags import document_tagger, matcher
from quoth.errors import SettingsError
from quoth.search.question_analysis import analyse, mentioned_values
from quoth.settings import RetrievalSettings
from quoth.types import NO_FILTERS, Analysis, Question

AGRICULTURE = load_profile("agriculture")
CROP, PRACTICE = AGRICULTURE.facets
EXAMPLES = sorted((Path(__file__).parents[2] / "examples" / "agriculture").rglob("*.md"))


def asked(text: str) -> Analysis:
    return analyse(Question("1", text, NO_FILTERS), profile=AGRICULTURE, settings=RetrievalSettings())


@pytest.mark.parametrize(
    ("text", "crops"),
    [
        ("Buğday ekilir.", ("wheat",)),
        ("BUĞDAYIN verimi", ("wheat",)),
        ("Buğdaylarımızdaki pas", ("wheat",)),
        ("çeltiğin ve mısırdan", ("rice", "corn")),
        ("Domatesler, kanolayla", ("tomato", "canola")),
        ("Soya fasulyesinin kökü", ("soy",)),
        ("durum iyi, bin ton", ()),
        ("soy ağacı", ()),
        ("makarnalık buğday", ("wheat",)),
        ("mısırlık", ("corn",)),
        ("domatesçiler", ("tomato",)),
        ("kanoların", ()),
    ],
)
def test_turkish_crops_in_their_forms(text: str, crops: tuple[str, ...]) -> None:
    assert matcher(CROP, "tr")(text) == crops


@pytest.mark.parametrize(
    ("text", "practices"),
    [
        ("Toprağın pH'ı 6,5 olmalı.", ("soil",)),
        ("Ekimden önce tohumluğu ilaçlayın", ("planting",)),
        ("Ne zaman sulanmalı?", ("irrigation",)),
        ("hasadın ardından depoda", ("harvest", "storage")),
        ("azotlu gübrelerin", ("fertility",)),
        ("yabancı otlara karşı", ("weeds",)),
        ("zararlılar ve hastalıklar", ("pests", "disease")),
        ("bitki, bitkiler", ()),
        ("üretim, üretir", ()),
        ("otel, ekmek, pasta", ()),
        ("bu biçimde, çıkış kapısı", ()),
    ],
)
def test_turkish_practices_in_their_forms(text: str, practices: tuple[str, ...]) -> None:
    assert matcher(PRACTICE, "tr")(text) == practices


TURKISH = [
    (facet, value.name, word)
    for facet in AGRICULTURE.facets
    for value in facet.values
    for words in value.elsewhere
    for word in (*words.synonyms, *words.keywords)
]


@pytest.mark.parametrize(("facet", "value", "word"), TURKISH, ids=lambda each: each if isinstance(each, str) else "")
def test_every_turkish_word_leads_to_its_value(facet: Facet, value: str, word: str) -> None:
    assert matcher(facet, "tr")(f"Burada {word.removesuffix('*')} var.") == (value,)


def test_each_value_has_turkish_words_and_a_name() -> None:
    names = names_in(AGRICULTURE.facets, "tr")

    assert names["crop"] == "ürün"
    assert names["wheat"] == "buğday"
    assert set(names) == {"crop", "practice"} | {value.name for facet in (CROP, PRACTICE) for value in facet.values}
    assert names_in(AGRICULTURE.facets, "de") == {}


def test_english_texts_are_tagged_as_without_other_languages() -> None:
    source = AGRICULTURE.source
    plain = parse_profile(source[: source.index("\nlanguages:")])
    lines = [line for path in EXAMPLES for line in path.read_text("utf-8").splitlines() if line.strip()]

    assert len(lines) > 1000
    for facet, before in zip(AGRICULTURE.facets, plain.facets, strict=True):
        was = [matcher(before)(line) for line in lines]
        assert [matcher(facet, "en")(line) for line in lines] == was
        assert [matcher(facet)(line) for line in lines] == was  # where the language is not known


def test_a_document_is_tagged_by_the_words_of_its_language() -> None:
    def tags(text: str, language: str | None) -> tuple[str, ...]:
        return tuple(document_tagger(AGRICULTURE, doc_id="a.md", declared={}, language=language)(text, ())["crop"])

    assert tags("Buğdayda durum nedir?", "tr") == ("wheat",)
    assert tags("Durum nedir?", "tr") == ("other",)
    assert tags("Durum wheat", "en") == ("wheat",)
    assert tags("Buğdayın verimi", "en") == ("other",)
    assert tags("Buğdayın verimi", None) == ("wheat",)
    assert tags("Durum wheat", "de") == ("wheat",)  # the profile has no German words


def test_a_turkish_question_presumes_its_crop_in_any_language() -> None:
    analysis = asked("Buğdayın ekim derinliği ne kadar olmalı?")

    assert analysis.language == "tr"
    assert analysis.tags == {"crop": ("wheat",), "practice": ("planting",)}
    (group,) = (group for group in analysis.entities if group[0].text == "buğday")  # as the question calls it
    assert {"wheat", "buğday"} <= {entity.text for entity in group}
    assert ("Buğdayın", "wheat", "buğday") in analysis.terms
    assert [value.name for value in mentioned_values(CROP, "arpanın ekimi", "tr")] == ["arpa"]
    assert mentioned_values(CROP, "ARPA paid for it", "en") == []


def test_an_english_question_searches_for_english_words_alone() -> None:
    analysis = asked("How deep should rapeseed be planted?")

    assert ("rapeseed", "canola", "oilseed rape", "oil-seed rape", "colza") in analysis.terms


PROFILE = """\
name: garden
tags:
  plant: {default: other, values: {rose: {synonyms: [], keywords: [thorn]}, tree: {}}}
languages:
"""


@pytest.mark.parametrize(
    ("language", "text", "found"),
    [
        ("de", "Bäume", ("tree",)),
        ("de", "der Rosen", ("rose",)),
        ("fr", "deux arbres", ("tree",)),
        ("es", "las rosas", ("rose",)),
        ("nl", "bomen", ("tree",)),
    ],
)
def test_other_languages_have_their_plurals(language: str, text: str, found: tuple[str, ...]) -> None:
    rose = {"de": "Rose", "fr": "rose", "es": "rosa", "nl": "roos"}[language]
    tree = {"de": "Baum, Bäum", "fr": "arbre", "es": "árbol", "nl": "boom, bom*"}[language]
    given = f"  {language}: {{plant: {{values: {{rose: {{synonyms: [{rose}]}}, tree: {{synonyms: [{tree}]}}}}}}}}\n"
    (facet,) = parse_profile(PROFILE + given).facets

    assert facet.values[0].elsewhere == (TagWords(language, (rose,), ()),)
    assert matcher(facet, language)(text) == found


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ("  de: {plants: {}}", "languages.de: unknown keys plants"),
        ("  de: {plant: {words: {}}}", "languages.de.plant: unknown keys words"),
        ("  de: {plant: {values: {bush: {}}}}", "languages.de.plant.values: unknown keys bush"),
        ("  de: {plant: {values: {rose: {names: [Rose]}}}}", "languages.de.plant.values.rose: unknown keys names"),
        ("  de: {plant: {values: {rose: {synonyms: Rose}}}}", "is not a list of words"),
        ("  no: {plant: {name: plante}}", "False is not text"),
    ],
)
def test_mistakes_are_named(given: str, named: str) -> None:
    with pytest.raises(SettingsError, match="malformed") as caught:
        parse_profile(f"{PROFILE}{given}\n")

    assert named in str(caught.value)
