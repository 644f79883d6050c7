"""A section goes into a settings file and every other byte of it stays."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from quoth.errors import SettingsError
from quoth.evaluation.calibrate import put_section, section_yaml

NEW = section_yaml("calibration", {"threshold": 0.59995, "made_for": {"store": "embedded"}}, remark="Ours.")
OLD = "calibration:\n  # Ours.\n  threshold: 0.1\n  made_for:\n    store: other\n"
BEFORE = "# My settings.\nselection:\n  max_sentences: 4   # four is enough\n"
AFTER = "\n# About the decision.\ndecision:\n  support_score: 0.3\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "quoth.yaml"


def put(path: Path, content: str) -> str:
    path.write_bytes(content.encode())
    put_section(path, "calibration", NEW)
    return path.read_bytes().decode()


def test_a_section_is_yaml_with_its_remark_inside() -> None:
    assert NEW.startswith("calibration:\n  # Ours.\n  threshold: 0.59995\n")
    assert yaml.safe_load(NEW) == {"calibration": {"threshold": 0.59995, "made_for": {"store": "embedded"}}}


def test_a_text_that_looks_like_a_number_stays_a_text() -> None:
    section = section_yaml("calibration", {"made_for": {"a": "0.7", "b": "null", "c": "a: b # c"}}, remark="Ours.")

    assert yaml.safe_load(section)["calibration"]["made_for"] == {"a": "0.7", "b": "null", "c": "a: b # c"}


def test_a_file_is_made_when_there_is_none(path: Path) -> None:
    put_section(path, "calibration", NEW)

    assert path.read_text() == NEW


@pytest.mark.parametrize("content", ["", "# only a remark\n", "\n\n"])
def test_a_file_without_settings_keeps_its_remarks(path: Path, content: str) -> None:
    assert put(path, content) in {content + NEW, content + "\n" + NEW}


def test_a_new_section_goes_behind_the_others(path: Path) -> None:
    assert put(path, BEFORE) == BEFORE + "\n" + NEW
    assert put(path, BEFORE.removesuffix("\n")) == BEFORE + "\n" + NEW


@pytest.mark.parametrize(("before", "after"), [(BEFORE, AFTER), ("", AFTER), (BEFORE, ""), ("", "")])
def test_only_our_own_section_is_exchanged(path: Path, before: str, after: str) -> None:
    assert put(path, before + OLD + after) == before + NEW + after


@pytest.mark.parametrize(
    "old", ["calibration: {threshold: 0.1}\n", "calibration:\n", "calibration: {threshold:\n  1}\n"]
)
def test_a_section_in_another_form_is_exchanged_too(path: Path, old: str) -> None:
    assert put(path, BEFORE + old + AFTER) == BEFORE + NEW + AFTER


def test_putting_it_twice_changes_nothing_more(path: Path) -> None:
    once = put(path, BEFORE + AFTER)
    put_section(path, "calibration", NEW)

    assert path.read_text() == once


def test_the_line_ends_of_the_file_are_kept(path: Path) -> None:
    windows = (BEFORE + OLD + AFTER).replace("\n", "\r\n")

    assert put(path, windows) == (BEFORE + NEW + AFTER).replace("\n", "\r\n")


def test_a_byte_order_mark_is_kept(path: Path) -> None:
    assert put(path, "\ufeff" + BEFORE + OLD) == "\ufeff" + BEFORE + NEW


@pytest.mark.parametrize("content", ["{selection: {max_sentences: 4}}\n", "---\nselection: {min_support: 2}\n...\n"])
def test_a_form_that_cannot_take_a_section_is_refused_with_the_section(path: Path, content: str) -> None:
    with pytest.raises(SettingsError, match=r"quoth\.yaml has a form") as caught:
        put(path, content)

    assert NEW in caught.value.hint
    assert path.read_text() == content


@pytest.mark.parametrize("content", ["a: [", "- a\n", "a: 1\na: [\n"])
def test_a_file_that_is_not_valid_is_refused_and_left_alone(path: Path, content: str) -> None:
    with pytest.raises(SettingsError, match=r"quoth\.yaml"):
        put(path, content)

    assert path.read_text() == content


def test_a_file_that_is_not_utf8_is_refused(path: Path) -> None:
    path.write_bytes(b"# caf\xe9\n")

    with pytest.raises(SettingsError, match="not UTF-8"):
        put_section(path, "calibration", NEW)


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot read"):
        put_section(tmp_path, "calibration", NEW)


def test_a_folder_that_is_missing_is_named(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="cannot write"):
        put_section(tmp_path / "none" / "quoth.yaml", "calibration", NEW)


def test_nothing_else_is_left_in_the_folder_and_the_rights_stay(path: Path) -> None:
    path.write_text(BEFORE)
    path.chmod(0o640)
    put_section(path, "calibration", NEW)

    assert [one.name for one in path.parent.iterdir()] == ["quoth.yaml"]
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_still_leads_to_the_file(path: Path, tmp_path: Path) -> None:
    target = tmp_path / "shared.yaml"
    target.write_text(BEFORE)
    path.symlink_to(target)
    put_section(path, "calibration", NEW)

    assert path.is_symlink()
    assert target.read_text() == BEFORE + "\n" + NEW
