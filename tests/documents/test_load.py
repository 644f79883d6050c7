"""Files are found in a fixed order and read byte for byte; one that cannot be read says why."""

from __future__ import annotations

import codecs
import hashlib
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.documents.encodings import decode, text_sha256
from quoth.documents.files import find_files, read_bytes
from quoth.documents.worker.pool import Extraction
from quoth.errors import CorpusError, UnreadableFile
from quoth.settings import IngestSettings

NO_WORKERS = Extraction(IngestSettings())
"""Starts no process unless a file lies inside another."""


def read(folder: Path, data: bytes) -> tuple[str, str]:
    path = folder / "a.txt"
    path.write_bytes(data)
    return decode(read_bytes(path, label="a.txt", most_mb=64, workers=NO_WORKERS), label="a.txt")


def make(root: Path, *names: str) -> Path:
    for name in names:
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("Sow at 2.5 cm.")
    return root


def ids(*paths: Path) -> list[str]:
    return [file.doc_id for file in find_files(paths).files]


def test_files_are_found_in_order_of_their_ids(tmp_path: Path) -> None:
    make(tmp_path, "b.md", "a/z.txt", "a.md", "C.MARKDOWN", "d.text")

    assert ids(tmp_path) == ["C.MARKDOWN", "a.md", "a/z.txt", "b.md", "d.text"]
    assert [file.format for file in find_files([tmp_path]).files] == [
        "markdown",
        "markdown",
        "text",
        "markdown",
        "text",
    ]


def test_hidden_files_and_folders_are_left_out(tmp_path: Path) -> None:
    assert ids(make(tmp_path, "a.md", ".hidden.md", ".git/b.md")) == ["a.md"]


def test_other_files_are_counted_by_ending(tmp_path: Path) -> None:
    found = find_files([make(tmp_path, "a.md", "b.png", "c/d.PNG", "Makefile", "corpus.yaml", "questions.jsonl")])

    assert [file.doc_id for file in found.files] == ["a.md"]
    assert dict(found.ignored) == {".png": 2, "Makefile": 1}


def test_a_folder_without_readable_files_gives_none(tmp_path: Path) -> None:
    assert find_files([make(tmp_path, "a.png")]).files == ()


def test_a_single_file_has_its_folder_as_root(tmp_path: Path) -> None:
    (file,) = find_files([make(tmp_path, "sub/a.md") / "sub" / "a.md"]).files

    assert (file.doc_id, file.root) == ("a.md", tmp_path / "sub")


def test_a_path_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"nowhere does not exist"):
        find_files([tmp_path / "nowhere"])


def test_a_single_file_of_another_format_is_refused_with_those_that_can_be_read(tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"a\.png is of no kind that can be read") as caught:
        find_files([make(tmp_path, "a.png") / "a.png"])

    assert ".md" in caught.value.hint


def test_a_link_that_leaves_the_root_is_not_followed(tmp_path: Path) -> None:
    make(tmp_path, "outside/secret.md", "corpus/a.md")
    (tmp_path / "corpus/file.md").symlink_to(tmp_path / "outside/secret.md")
    (tmp_path / "corpus/folder").symlink_to(tmp_path / "outside")

    assert ids(tmp_path / "corpus") == ["a.md"]


def test_a_link_inside_the_root_is_followed(tmp_path: Path) -> None:
    make(tmp_path, "a.md")
    (tmp_path / "b.md").symlink_to(tmp_path / "a.md")

    assert ids(tmp_path) == ["a.md", "b.md"]


def test_two_files_of_one_id_are_refused_by_name(tmp_path: Path) -> None:
    make(tmp_path, "one/a.md", "two/a.md")

    with pytest.raises(CorpusError, match=r"one/a\.md and .*two/a\.md would both be 'a\.md'"):
        find_files([tmp_path / "one", tmp_path / "two"])


def test_the_same_file_given_twice_is_one(tmp_path: Path) -> None:
    make(tmp_path, "a.md")

    assert ids(tmp_path, tmp_path / "a.md") == ["a.md"]


def test_utf8_is_read_as_it_is(tmp_path: Path) -> None:
    data = "Säen bei 5 °C.\r\n\r\nRoll.\rEnd\n".encode()
    text, encoding = read(tmp_path, data)

    assert (text.encode(), encoding) == (data, "utf-8")
    assert text_sha256(text) == hashlib.sha256(data).hexdigest()


def test_a_byte_order_mark_of_utf8_stays_a_character(tmp_path: Path) -> None:
    assert read(tmp_path, codecs.BOM_UTF8 + b"Sow.")[0] == "\ufeffSow."


@pytest.mark.parametrize(
    ("mark", "codec", "name"),
    [
        (codecs.BOM_UTF16_LE, "utf-16-le", "utf-16"),
        (codecs.BOM_UTF16_BE, "utf-16-be", "utf-16"),
        (codecs.BOM_UTF32_LE, "utf-32-le", "utf-32"),
        (codecs.BOM_UTF32_BE, "utf-32-be", "utf-32"),
    ],
)
def test_a_byte_order_mark_tells_the_encoding(tmp_path: Path, mark: bytes, codec: str, name: str) -> None:
    text = "Säen bei 5 °C.\r\n🌾"
    data = mark + text.encode(codec)

    assert read(tmp_path, data) == (text, name)
    assert text_sha256(text) == hashlib.sha256(text.encode()).hexdigest() != hashlib.sha256(data).hexdigest()


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Sow at 5 °C.", "latin-1"),
        ("Le blé d'été est semé à 3 cm; la récolte a lieu en août.", "latin-1"),
        ("Die Größe der Körner hängt von der Wärme ab.", "latin-1"),
        ("It’s 5 – 6 °C “warm”, so don’t sow…\r\n————————\r\n", "cp1252"),
        ("¿Cuándo se siembra el maíz? ½ pulgada, 3 m².", "cp1252"),
    ],
)
def test_western_text_is_recognised_and_recorded(tmp_path: Path, text: str, encoding: str) -> None:
    assert read(tmp_path, text.encode(encoding)) == (text, "cp1252")


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("Посев канолы на глубину 2 см при температуре почвы 5 градусов. Урожай убирают осенью.", "cp1251"),
        ("油菜播种深度为二厘米，土壤温度应为五度以上。小麦在秋季播种。", "gb18030"),
        ("Rzepak sieje się na głębokość 2 cm; ziarno żółte dojrzewa późną wiosną, gdy słońce świeci.", "cp1250"),
    ],
)
def test_text_of_other_scripts_is_not_taken_for_western(tmp_path: Path, text: str, encoding: str) -> None:
    assert read(tmp_path, text.encode(encoding)) == (text, encoding)


def test_an_odd_character_far_into_a_file_is_still_recognised(tmp_path: Path) -> None:
    text = "Plain words. " * 100_000 + "5 °C."

    assert read(tmp_path, text.encode("latin-1"))[0] == text


def test_damaged_utf8_is_refused_with_the_place(tmp_path: Path) -> None:
    data = "5 °C, 6 °C".encode() + b"\xc3 and on"

    with pytest.raises(UnreadableFile, match=r"a\.txt: it is UTF-8 with a broken character at byte 12"):
        read(tmp_path, data)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"a\x00b", "NUL bytes"),
        ("a\x00b".encode("utf-16"), "NUL characters"),
        (codecs.BOM_UTF16_LE + b"a\x00b", "it is not utf-16"),
        (bytes(range(128, 256)), "its encoding is not known"),
    ],
)
def test_what_is_not_text_is_refused_by_name(tmp_path: Path, data: bytes, why: str) -> None:
    with pytest.raises(UnreadableFile, match=rf"a\.txt: .*{why}") as caught:
        read(tmp_path, data)

    assert caught.value.path == "a.txt"
    assert caught.value.hint


def test_an_empty_file_is_an_empty_text(tmp_path: Path) -> None:
    assert read(tmp_path, b"") == ("", "utf-8")


def test_a_file_that_cannot_be_opened_is_refused_by_its_label(tmp_path: Path) -> None:
    (tmp_path / "gone.md").symlink_to(tmp_path / "nowhere.md")

    with pytest.raises(UnreadableFile, match=rf"sub/gone\.md: {os.strerror(2)}"):
        read_bytes(tmp_path / "gone.md", label="sub/gone.md", most_mb=1, workers=NO_WORKERS)


@given(text=st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00")))
def test_any_utf8_text_comes_back_as_it_was_written(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    assert read(tmp_path_factory.getbasetemp(), text.encode()) == (text, "utf-8")
