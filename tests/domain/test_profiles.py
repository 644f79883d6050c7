"""Profiles: domain knowledge as data, and every mistake in it named."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from quoth.domain.profile import DEFAULT_PROFILE, Facet, load_profile, parse_profile, profile_names
from quoth.domain.tags import matcher
from quoth.errors import SettingsError
from quoth.language.words import joined_compounds
from quoth.overrides import NO_OVERRIDES

CROPS = {"canola", "corn", "wheat", "tomato", "soy", "rice", "other"}
PRACTICES = {
    *("irrigation", "soil", "fertility", "weeds", "disease", "pests", "harvest", "planting", "storage", "other"),
}


def facets() -> dict[str, Facet]:
    return {facet.name: facet for facet in load_profile("agriculture").facets}


def test_three_profiles_ship_and_the_general_one_is_the_default() -> None:
    assert profile_names() == ("agriculture", "general", "governance")
    assert DEFAULT_PROFILE == "general"


@pytest.mark.parametrize("name", profile_names())
def test_every_shipped_profile_loads_and_its_settings_are_accepted(name: str) -> None:
    profile = load_profile(name)

    assert profile.name == name
    assert profile.description
    assert NO_OVERRIDES.over(profile.settings, profile=name)


@pytest.mark.parametrize("name", profile_names())
def test_a_profile_read_again_from_its_source_is_the_same(name: str) -> None:
    profile = load_profile(name)

    assert parse_profile(profile.source) == profile


def test_agriculture_sets_what_the_design_says() -> None:
    settings = NO_OVERRIDES.over(load_profile("agriculture").settings, profile="agriculture")

    assert settings.retrieval.alpha_lexical == 0.40
    assert settings.retrieval.tag_boost == {"crop": 0.08, "practice": 0.05}
    assert settings.selection.min_support == 3


def test_governance_sets_what_the_design_says() -> None:
    profile = load_profile("governance")

    assert NO_OVERRIDES.over(profile.settings, profile="governance").retrieval.candidates == 40
    assert profile.authority is not None
    assert (profile.authority.binding_factor, profile.authority.superseded_factor) == (1.10, 0.50)
    assert profile.authority.cap == 1.0
    assert profile.document_types["design_guidelines"].factor == 1.05
    assert {one.authority for one in profile.document_types.values()} == {"binding", "guidance", "precedent"}


def test_the_general_profile_knows_no_domain() -> None:
    profile = load_profile("general")

    assert (profile.facets, profile.document_types, profile.authority) == ((), {}, None)


def test_agriculture_knows_exactly_the_crops_and_practices_of_the_contract() -> None:
    known = {name: {value.name for value in facet.values} | {facet.default} for name, facet in facets().items()}

    assert known == {"crop": CROPS, "practice": PRACTICES}


WORDS = [
    (facet.name, value.name, word)
    for facet in load_profile("agriculture").facets
    for value in facet.values
    for word in (value.name, *value.synonyms, *value.keywords)
]


@pytest.mark.parametrize(("facet", "value", "word"), WORDS)
def test_every_word_of_agriculture_leads_to_its_value(facet: str, value: str, word: str) -> None:
    assert matcher(facets()[facet])(f"About {word}, in short.") == (value,)


def test_no_word_stands_for_two_values_of_a_facet() -> None:
    owners: dict[tuple[str, str], set[str]] = {}
    for facet, value, word in WORDS:
        owners.setdefault((facet, word), set()).add(value)

    assert [word for word, values in owners.items() if len(values) > 1] == []


@pytest.mark.parametrize("facet", ["crop", "practice"])
@pytest.mark.parametrize(
    "text", ["The price rose.", "Crop rotation helps.", "A thrust of the arm.", "Unicorn horns.", "Soylent green."]
)
def test_a_word_inside_another_word_is_no_match(facet: str, text: str) -> None:
    assert matcher(facets()[facet])(text) == ()


def test_a_question_about_a_crop_presumes_it_and_one_about_a_practice_does_not() -> None:
    assert (facets()["crop"].presumed, facets()["practice"].presumed) == (True, False)


def test_a_crop_without_a_tag_has_no_tag() -> None:
    crop = facets()["crop"]

    assert "barley" in crop.others
    assert not {*crop.others} & {word for facet, _, word in WORDS if facet == "crop"}


def test_governance_knows_what_owners_call_things() -> None:
    assert ("HOA", "homeowners association", "association") in load_profile("governance").synonyms


def test_no_crop_is_named_in_code() -> None:
    package = Path(load_profile.__code__.co_filename).parents[1]
    words = re.compile(r"\b(?:rapeseed|maize|wheat|soybean|tomato)\b")

    assert [path.name for path in package.rglob("*.py") if words.search(_without_examples(path))] == []


def _without_examples(path: Path) -> str:
    """The code without its comments and docstrings, where an example may well name a crop."""
    source = re.sub(r'"""[\s\S]*?"""', "", path.read_text(encoding="utf-8"))
    return re.sub(r"#.*", "", source)


def test_a_profile_of_ones_own_is_read_from_its_file(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("name: mine\ntags: {colour: {default: none, values: {red: {synonyms: [scarlet]}}}}\n")

    profile = load_profile(str(path))

    assert (profile.name, profile.facets[0].default) == ("mine", "none")
    assert profile.facets[0].values[0].synonyms == ("scarlet",)
    assert profile.facets[0].values[0].keywords == ()


def test_an_unknown_profile_is_named_with_those_that_ship() -> None:
    with pytest.raises(SettingsError, match="no profile 'farming'") as caught:
        load_profile("farming")

    assert caught.value.hint == "Use one of agriculture, general, governance, or the path of a YAML file."


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("name: [", "not valid YAML"),
        ("name: x\ndescription: 2022-13-01", "not valid YAML"),
        ("- a", "must be a mapping with a 'name'"),
        ("description: x", "must be a mapping with a 'name'"),
        ("name: x\ntagz: {}", "profile 'x': unknown keys tagz"),
        ("name: x\non: {}\ntagz: {}", "profile 'x': unknown keys True, tagz"),
        ("name: x\nsynonyms: [HOA, association]", "profile 'x' is malformed.*'HOA' is not a list of words"),
        ("name: x\ntags: {crop: {values: {}}}", "profile 'x' is malformed"),
        ("name: x\ntags: [crop]", "profile 'x' is malformed"),
        ("name: x\nsettings: 5", "settings are a mapping"),
        ("name: x\ntags: {crop: {default: o, values: {corn: {synonyms: maize}}}}", "'maize' is not a list of words"),
        ("name: x\ntags: {crop: {default: o, values: {corn: {synonym: [maize]}}}}", "unknown keys synonym"),
        ("name: x\ntags: {crop: {default: o, valuess: {}, values: {}}}", "unknown keys valuess"),
        ("name: x\ntags: {crop: {default: o, values: {no: {}}}}", "put it in quotes"),
        ("name: x\ntags: {crop: {default: o, values: {}, presumed: 'false'}}", "presumed is true or false"),
        ("name: x\nauthority: {binding_factor: .nan, superseded_factor: 1, cap: 1}", "not a number"),
        ("name: x\nauthority: {binding_factor: 1.1}", "profile 'x' is malformed"),
        ("name: x\nauthority: {binding_factor: high, superseded_factor: 1, cap: 1}", "profile 'x' is malformed"),
        ("name: x\ndocument_types: {ccr: {}}", "profile 'x' is malformed"),
    ],
)
def test_a_mistake_in_a_profile_is_named(source: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        parse_profile(source)


def test_a_wrong_setting_of_a_profile_is_named_with_the_profile() -> None:
    profile = parse_profile("name: x\nsettings: {selection: {min_suport: 3}}")

    with pytest.raises(SettingsError, match=r"profile 'x': unknown setting 'selection\.min_suport'"):
        NO_OVERRIDES.over(profile.settings, profile=profile.name)


def test_a_pattern_that_is_none_is_named() -> None:
    source = "name: x\ndocument_types: {rule: {authority: binding, asked_by: ['(']}}\n"

    with pytest.raises(SettingsError, match=r"document_types\.rule\.asked_by"):
        parse_profile(source)


def test_an_unknown_key_of_a_document_type_is_named() -> None:
    with pytest.raises(SettingsError, match="unknown keys asked"):
        parse_profile("name: x\ndocument_types: {rule: {authority: binding, asked: ['rule']}}\n")


def test_governance_knows_the_document_types_of_the_design_with_their_authority() -> None:
    types = load_profile("governance").document_types

    assert {name: one.authority for name, one in types.items()} == {
        "ccr": "binding",
        "amendment": "binding",
        "rules_regulations": "binding",
        "bylaws": "binding",
        "resolution": "binding",
        "minutes": "precedent",
        "city_code": "binding",
        "design_guidelines": "guidance",
        "application_form": "guidance",
        "submittal": "precedent",
        "response_letter": "precedent",
    }


def test_a_compound_keeps_every_offset() -> None:
    compounds = load_profile("governance").compounds
    text = "sheds must be set back 10 feet"

    assert compounds == (("set back", "setback"),)
    assert joined_compounds(text, compounds) == "sheds must be setback  10 feet"
    assert joined_compounds(text, ()) == text


def test_a_compound_that_would_move_offsets_is_refused() -> None:
    with pytest.raises(SettingsError, match="'setback-line' is longer than 'set back'"):
        parse_profile("name: x\ncompounds: {set back: setback-line}\n")


def test_a_pattern_that_combines_values_is_checked() -> None:
    with pytest.raises(SettingsError, match=r"tags\.crop\.combined_by"):
        parse_profile("name: x\ntags: {crop: {default: other, values: {}, combined_by: ['(']}}\n")


@pytest.mark.parametrize("pattern", ["(", "a{99999999999}", "(" * 3_000 + ")" * 3_000])
def test_a_pattern_that_cannot_be_compiled_is_refused(pattern: str) -> None:
    with pytest.raises(SettingsError, match="is no pattern"):
        parse_profile(f"name: x\ntags:\n  crop:\n    combined_by: ['{pattern}']\n    values: {{}}\n")
