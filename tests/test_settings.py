"""Settings are read once, in a fixed order of precedence, and a wrong one is named with what to do."""

from __future__ import annotations

from dataclasses import FrozenInstanceError
from pathlib import Path

import pytest

from quoth.errors import SettingsError
from quoth.overrides import (
    NO_OVERRIDES,
    Overrides,
    environment_settings,
    read_settings_file,
    with_strings,
    with_value,
    with_values,
)
from quoth.settings import Settings, setting_keys


def max_sentences(*, profile: int | None, file: int | None, environment: str | None, flag: str | None) -> int:
    key = "selection.max_sentences"
    overrides = Overrides(
        file={"selection": {"max_sentences": file}} if file else {},
        environment={key: environment} if environment else {},
        flags={key: flag} if flag else {},
    )
    of_profile = {"selection": {"max_sentences": profile}} if profile else {}
    return overrides.over(of_profile, profile="mine").selection.max_sentences


def test_each_later_source_wins_over_the_one_before() -> None:
    assert max_sentences(profile=None, file=None, environment=None, flag=None) == 6
    assert max_sentences(profile=2, file=None, environment=None, flag=None) == 2
    assert max_sentences(profile=2, file=3, environment=None, flag=None) == 3
    assert max_sentences(profile=2, file=3, environment="4", flag=None) == 4
    assert max_sentences(profile=2, file=3, environment="4", flag="5") == 5


def test_a_source_changes_only_the_keys_it_names() -> None:
    overrides = Overrides({"selection": {"max_sentences": 3}}, {"rerank.topk": "7"}, {"retrieval.candidates": "9"})
    settings = overrides.over({"selection": {"min_support": 2}}, profile="mine")

    assert (settings.selection.max_sentences, settings.selection.min_support) == (3, 2)
    assert (settings.rerank.topk, settings.retrieval.candidates) == (7, 9)
    assert settings.selection.mmr_lambda == 0.70


def test_the_defaults_are_those_of_the_design() -> None:
    settings = NO_OVERRIDES.over({}, profile="general")

    assert settings == Settings()
    assert settings.retrieval.alpha_lexical is None
    assert (settings.retrieval.candidates, settings.retrieval.tag_boost_mode) == (50, "add")
    assert (settings.selection.mmr_lambda, settings.selection.max_sim_threshold) == (0.70, 0.82)
    assert (settings.selection.max_sentences, settings.selection.min_support) == (6, 1)
    assert (settings.rerank.topk, settings.embedding.model_name) == (20, "auto")


def test_every_default_is_a_value_that_could_be_set() -> None:
    for key, default in setting_keys().items():
        assert with_value(Settings(), key, default, source="test") == Settings()


@pytest.mark.parametrize("key", list(setting_keys()))
def test_every_key_has_a_variable(key: str) -> None:
    variable = "QUOTH_" + key.upper().replace(".", "_")

    assert environment_settings({variable: "1", "PATH": "/bin"}) == {key: "1"}


def test_variables_that_name_a_place_are_no_settings() -> None:
    assert environment_settings({"QUOTH_INDEX": "x", "QUOTH_CACHE_DIR": "y", "QUOTH_PROFILE": "z"}) == {}


def test_an_unknown_variable_is_named_with_the_nearest_one() -> None:
    with pytest.raises(SettingsError, match="QUOTH_RERANK_TOPKK") as caught:
        environment_settings({"QUOTH_RERANK_TOPKK": "3"})

    assert caught.value.hint == "Did you mean 'QUOTH_RERANK_TOPK'?"


def test_an_unknown_key_is_named_with_its_source_and_the_nearest_one() -> None:
    with pytest.raises(SettingsError, match=r"quoth\.yaml: unknown setting 'selection\.max_sentence'") as caught:
        with_values(Settings(), {"selection": {"max_sentence": 3}}, source="quoth.yaml")

    assert caught.value.hint == "Did you mean 'selection.max_sentences'?"


def test_a_removed_key_is_refused_with_what_to_do_instead() -> None:
    with pytest.raises(SettingsError, match=r"^quoth\.yaml: removed setting 'cache\.redis_url'$") as in_file:
        with_values(Settings(), {"cache": {"redis_url": "redis://localhost"}}, source="quoth.yaml")
    with pytest.raises(SettingsError, match=r"^removed variable QUOTH_CACHE_REDIS_URL$") as in_environment:
        environment_settings({"QUOTH_CACHE_REDIS_URL": "redis://localhost"})

    assert in_file.value.hint == in_environment.value.hint
    assert "cache.memory_mb" in in_file.value.hint


def test_an_unknown_section_is_named_with_the_nearest_one() -> None:
    with pytest.raises(SettingsError, match="unknown section 'selections'") as caught:
        with_values(Settings(), {"selections": {}}, source="quoth.yaml")

    assert caught.value.hint == "Did you mean 'selection'?"


def test_a_section_that_yaml_reads_as_a_truth_value_is_only_unknown() -> None:
    with pytest.raises(SettingsError, match="unknown section 'True'"):
        with_values(Settings(), {True: {}}, source="quoth.yaml")  # type: ignore[dict-item]  # YAML's `on:`


def test_nothing_near_points_to_the_documentation() -> None:
    with pytest.raises(SettingsError) as caught:
        with_value(Settings(), "zzzz", 1, source="--set")

    assert "docs/settings.md" in caught.value.hint


def test_a_section_must_be_a_mapping() -> None:
    with pytest.raises(SettingsError, match="'selection' must be a mapping"):
        with_values(Settings(), {"selection": 3}, source="quoth.yaml")


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("selection.max_sentences", "three", "a whole number"),
        ("selection.max_sentences", 2.5, "a whole number"),
        ("selection.max_sentences", True, "a whole number"),
        ("selection.mmr_lambda", "0.7x", "a number"),
        ("selection.mmr_lambda", None, "a number"),
        ("decision.abstain", 1, "true or false"),
        ("embedding.model_name", 3, "text"),
        ("retrieval.tag_boost", 0.1, "a mapping"),
        ("retrieval.tag_boost", {"crop": "much"}, "a number"),
    ],
)
def test_a_value_of_the_wrong_type_is_named_with_what_is_wanted(key: str, value: object, wanted: str) -> None:
    with pytest.raises(SettingsError, match=rf"quoth\.yaml: {key}.* must be {wanted}, not"):
        with_value(Settings(), key, value, source="quoth.yaml")


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("selection.max_sentences", 0),
        ("selection.mmr_lambda", 1.01),
        ("selection.mmr_lambda", -0.01),
        ("retrieval.alpha_lexical", 2),
        ("decision.abstain_score_thresh", float("nan")),
        ("retrieval.candidates", 0),
    ],
)
def test_a_value_out_of_range_is_refused_with_the_range(key: str, value: float) -> None:
    with pytest.raises(SettingsError) as caught:
        with_value(Settings(), key, value, source="--set")

    assert caught.value.hint.startswith("It must lie between")


@pytest.mark.parametrize("value", [0, 0.0, 1, 1.0])
def test_the_ends_of_a_range_belong_to_it(value: float) -> None:
    assert with_value(Settings(), "selection.mmr_lambda", value, source="--set").selection.mmr_lambda == value


def test_a_choice_outside_the_list_is_refused_with_the_list() -> None:
    with pytest.raises(SettingsError) as caught:
        with_value(Settings(), "retrieval.mode", "magic", source="--set")

    assert caught.value.hint == "Choose one of: hybrid, lexical, dense."


def test_texts_are_read_as_yaml_scalars() -> None:
    values = {"selection.mmr_lambda": "1", "decision.abstain": "false", "retrieval.tag_boost": "{crop: 0.1}"}
    settings = with_strings(Settings(), values, source="--set")

    assert settings.selection.mmr_lambda == 1.0
    assert settings.decision.abstain is False
    assert settings.retrieval.tag_boost == {"crop": 0.1}


@pytest.mark.parametrize("text", ["{", "2022-13-01"])
def test_a_text_that_cannot_be_read_is_named(text: str) -> None:
    with pytest.raises(SettingsError, match=r"--set: rerank\.topk="):
        with_strings(Settings(), {"rerank.topk": text}, source="--set")


def test_null_means_by_the_kind_of_question() -> None:
    pinned = with_value(Settings(), "retrieval.alpha_lexical", 0.4, source="profile")

    assert with_value(pinned, "retrieval.alpha_lexical", None, source="--set").retrieval.alpha_lexical is None


def test_a_file_is_read_as_a_mapping(tmp_path: Path) -> None:
    path = tmp_path / "quoth.yaml"
    path.write_text("selection: {max_sentences: 4}\n")

    assert read_settings_file(path) == {"selection": {"max_sentences": 4}}


def test_an_empty_file_sets_nothing(tmp_path: Path) -> None:
    path = tmp_path / "quoth.yaml"
    path.write_bytes(b"")

    assert read_settings_file(path) == {}


@pytest.mark.parametrize("content", [b"a: [", b"- a\n", b"\xff\xff", b"a: 2022-13-01\n"])
def test_a_file_that_is_no_mapping_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "quoth.yaml"
    path.write_bytes(content)

    with pytest.raises(SettingsError, match=r"quoth\.yaml"):
        read_settings_file(path)


def test_a_file_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match=r"cannot read .*none\.yaml"):
        read_settings_file(tmp_path / "none.yaml")


def test_the_digest_depends_on_the_values_alone() -> None:
    by_flag = Overrides({}, {}, {"selection.mmr_lambda": "1"}).over({}, profile="a")
    by_file = Overrides({"selection": {"mmr_lambda": 1.0}}, {}, {}).over({}, profile="b")

    assert by_flag.digest == by_file.digest
    assert by_flag.digest != Settings().digest


@pytest.mark.parametrize(
    ("key", "value"), [("embedding.threads", 3), ("embedding.batch_size", 8), ("store.faiss_threshold", 9)]
)
def test_what_only_changes_the_speed_changes_no_digest(key: str, value: int) -> None:
    assert with_value(Settings(), key, value, source="--set").digest == Settings().digest


def test_settings_are_frozen() -> None:
    with pytest.raises(FrozenInstanceError):
        Settings().selection.max_sentences = 3  # type: ignore[misc]


def test_one_entry_of_a_mapping_can_be_set_by_itself() -> None:
    settings = with_strings(Settings(), {"retrieval.tag_boost": "{crop: 0.1, practice: 0.2}"}, source="--set")
    settings = with_strings(settings, {"retrieval.tag_boost.crop": "0.3"}, source="--set")

    assert settings.retrieval.tag_boost == {"crop": 0.3, "practice": 0.2}


def test_a_variable_can_name_one_entry_of_a_mapping() -> None:
    assert environment_settings({"QUOTH_RETRIEVAL_TAG_BOOST_CROP": "0.3"}) == {"retrieval.tag_boost.crop": "0.3"}


def test_what_cannot_change_an_answer_does_not_change_the_digest() -> None:
    faster = with_strings(Settings(), {"embedding.threads": "1", "store.faiss_threshold": "5"}, source="--set")
    other = with_strings(Settings(), {"selection.max_sentences": "5"}, source="--set")

    assert faster.digest == Settings().digest
    assert other.digest != Settings().digest
