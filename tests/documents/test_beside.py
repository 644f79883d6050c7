"""Metadata in a file beside a document: `guide.pdf.meta.yaml`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from quoth.documents.files import find_files
from quoth.domain.manifest import check_fields, fields_beside
from quoth.errors import SettingsError

FACETS = ("crop", "practice")


def beside(folder: Path, content: str | bytes, name: str = "guide.pdf") -> dict[str, object]:
    path = folder / f"{name}.meta.yaml"
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return fields_beside(folder / name, facets=FACETS)


def test_a_document_without_such_a_file_has_no_fields(tmp_path: Path) -> None:
    assert fields_beside(tmp_path / "guide.pdf", facets=FACETS) == {}


@pytest.mark.parametrize("content", ["", "{}", "# nothing\n", "---\n"])
def test_an_empty_file_says_nothing(tmp_path: Path, content: str) -> None:
    assert beside(tmp_path, content) == {}


def test_fields_are_read_and_facets_become_tags(tmp_path: Path) -> None:
    content = "title: Grüße\ndocument_type: guide\nis_binding: true\ncrop: canola\ntags: {practice: [soil, seed]}\n"

    assert beside(tmp_path, content) == {
        "title": "Grüße",
        "document_type": "guide",
        "is_binding": True,
        "tags": {"crop": "canola", "practice": ["soil", "seed"]},
    }


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("title: [", "guide.pdf.meta.yaml is not valid YAML"),
        ("effective_date: 2022-13-01", "not valid YAML"),
        ("- title: a", "must hold a mapping of fields"),
        ("only words", "must hold a mapping of fields"),
        ("match: '**'", "without a match"),
        ("colour: red", "unknown fields colour"),
        ("1: red", "unknown fields 1"),
        ("tags: {weather: wet}", "unknown tags weather"),
        ("tags: [a]", "tags must be a mapping"),
        ("title: [a]", "title must be text"),
        ("is_binding: perhaps", "is_binding must be true or false"),
        ("effective_date: soon", "effective_date must be a date"),
        (b"title: \xff", "not valid YAML"),
        (b"title: a\x00b", "not valid YAML"),
        ("a: &a [1]\n" + "b: [" + "*a," * 9 + "]\n", "unknown fields"),
        ("# " + "x" * 2**20, "has more than 1024 KB"),
    ],
)
def test_a_mistake_is_named(tmp_path: Path, content: str | bytes, message: str) -> None:
    with pytest.raises(SettingsError) as caught:
        beside(tmp_path, content)

    assert message in str(caught.value)
    assert str(tmp_path) not in str(caught.value)
    assert caught.value.hint


def test_a_name_as_long_as_names_can_be_leaves_no_room_for_such_a_file(tmp_path: Path) -> None:
    document = tmp_path / ("x" * (os.pathconf(tmp_path, "PC_NAME_MAX") - 3) + ".md")
    document.write_text("text")

    assert fields_beside(document, facets=FACETS) == {}


def test_a_folder_of_that_name_is_no_such_file(tmp_path: Path) -> None:
    (tmp_path / "guide.pdf.meta.yaml").mkdir()

    assert fields_beside(tmp_path / "guide.pdf", facets=FACETS) == {}


def test_such_files_are_neither_documents_nor_counted_as_unread(tmp_path: Path) -> None:
    for name in ("guide.md", "guide.md.meta.yaml", "notes/a.txt", "notes/a.txt.meta.yaml", "other.yaml"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("title: A\n")
    found = find_files([tmp_path])

    assert [file.doc_id for file in found.files] == ["guide.md", "notes/a.txt"]
    assert dict(found.ignored) == {".yaml": 1}


def test_fields_can_be_checked_before_there_is_a_file() -> None:
    check_fields({"title": "A", "tags": {"crop": ["canola"]}}, source="the query", facets=FACETS)
    check_fields({"tags": {"anything": ["else"]}}, source="the query", facets=())
    for wrong in ({"tags": {"weather": ["wet"]}}, {"effective_date": "soon"}, {"colour": "red"}):
        with pytest.raises(SettingsError, match="the query: "):
            check_fields(wrong, source="the query", facets=FACETS)
