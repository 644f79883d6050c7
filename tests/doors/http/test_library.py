"""Where uploads are kept: which names they may have, and that no crash loses or mixes up a file."""

from __future__ import annotations

import os
import string
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.documents.formats.recognition import FORMATS
from quoth.domain.manifest import fields_beside
from quoth.http.http_faults import HttpFault
from quoth.http.upload_folder import UploadFolder, checked_id

from .uploading import Crash, crashing_after, leftovers


def upload(library: UploadFolder, job_id: str, content: bytes, **fields: Any) -> None:  # noqa: ANN401
    library.incoming(job_id).write_bytes(content)
    library.describe(job_id, fields)


def kept(library: UploadFolder) -> dict[str, bytes]:
    found = (path for path in library.path.rglob("*") if path.is_file())
    return {
        name: path.read_bytes()
        for path in found
        if not (name := path.relative_to(library.path).as_posix()).startswith(".")
    }


@pytest.fixture
def library(tmp_path: Path) -> UploadFolder:
    return UploadFolder(tmp_path / "files")


@pytest.mark.parametrize("ending", FORMATS)
def test_every_readable_ending_is_taken_in_any_case(ending: str) -> None:
    assert checked_id(f"guides/a{ending}") == f"guides/a{ending}"
    assert checked_id(f"a{ending.upper()}") == f"a{ending.upper()}"


@pytest.mark.parametrize(
    "doc_id",
    [
        "Ünïcödé/ラ イ.md",
        "a b/c d.txt",
        "what?.md",
        "a#b.md",
        "100%.md",
        "a..b.md",
        "x" * 197 + ".md",
        "🌾.md",
        "a&b=c.md",
    ],
)
def test_names_that_people_use_are_taken(doc_id: str, library: UploadFolder) -> None:
    upload(library, "1", b"text")
    library.install("1", checked_id(doc_id))

    assert kept(library) == {doc_id: b"text"}


@pytest.mark.parametrize(
    "doc_id",
    [
        "",
        "/",
        "/etc/passwd.md",
        "../a.md",
        "a/../../b.md",
        "./a.md",
        "a//b.md",
        "a/",
        ".md",
        ".hidden.md",
        "a/.hidden/b.md",
        ".incoming/a.md",
        ".previous/a.md",
        "a\\b.md",
        "..\\a.md",
        "a\x00.md",
        "a\n.md",
        "a\x7f.md",
        "a\x85.md",
        "a\u202egnp.md",
        "a\u200b.md",
        "a\u2028b.md",
        "\ufeffa.md",
        "\ufffd.md",
        "a\ud800.md",
        "\ue000.md",
        " a.md",
        "a.md ",
        "a /b.md ",
        "x" * 198 + ".md",
        "ü" * 100 + ".md",
        "a/" * 600 + "b.md",
    ],
)
def test_names_that_could_lead_elsewhere_or_deceive_are_refused(doc_id: str) -> None:
    with pytest.raises(HttpFault) as caught:
        checked_id(doc_id)

    assert (caught.value.status_code, caught.value.code) == (422, "document-id")


@pytest.mark.parametrize("doc_id", ["a", "a.png", "a.md.exe", "a.yaml", "a.md/b", "a.md\u00a0x"])
def test_names_that_end_like_nothing_readable_are_refused(doc_id: str) -> None:
    with pytest.raises(HttpFault) as caught:
        checked_id(doc_id)

    assert (caught.value.status_code, caught.value.code) == (415, "document-kind")


@pytest.mark.parametrize(
    "doc_id", ["corpus.yaml", "a/corpus.yaml", "questions.jsonl", "a.md.meta.yaml", "a.md/text", "a/pages"]
)
def test_names_that_mean_something_else_are_refused(doc_id: str) -> None:
    with pytest.raises(HttpFault) as caught:
        checked_id(doc_id)

    assert caught.value.status_code == 422


@given(st.text(st.characters() | st.sampled_from("./\\ \x00~"), max_size=30))
def test_no_name_leads_out_of_the_folder(name: str) -> None:
    try:
        doc_id = checked_id(name + ".md")
    except HttpFault:
        return

    folder = Path("/files")
    place = os.path.normpath(folder.joinpath(*doc_id.split("/")))
    assert place == f"/files/{doc_id}"
    assert not any(part.startswith(".") for part in doc_id.split("/"))


_WORDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20)


@settings(deadline=None, max_examples=60)  # each writes to the disk, and waits for it
@given(
    st.fixed_dictionaries(
        {},
        optional={
            "title": _WORDS
            | st.sampled_from(["true", "2021", "null", "- a", "a: b", "'", '"', "2022-04-01", "~", "|"]),
            "document_type": _WORDS,
            "is_binding": st.booleans(),
            "effective_date": st.dates().map(str),
            "superseded_by": _WORDS,
            "language": st.text(string.ascii_letters, min_size=1),
            "tags": st.dictionaries(st.sampled_from(["crop", "practice"]), st.lists(_WORDS, min_size=1), min_size=1),
        },
    )
)
def test_what_is_said_of_a_document_comes_back_as_it_was_said(
    tmp_path_factory: pytest.TempPathFactory, fields: dict[str, Any]
) -> None:
    library = UploadFolder(tmp_path_factory.mktemp("said"))
    upload(library, "1", b"text", **fields)
    library.install("1", "a.md")

    assert fields_beside(library.path / "a.md", facets=["crop", "practice"]) == fields


def test_a_new_file_takes_the_place_and_the_metadata_of_the_old_one(library: UploadFolder) -> None:
    for job_id, content, fields in [("1", b"old", {"title": "Old"}), ("2", b"new", {})]:
        upload(library, job_id, content, **fields)
        library.install(job_id, "a/b.md")
        library.settle(job_id)

    assert kept(library) == {"a/b.md": b"new"}
    assert leftovers(library.path) == []


@pytest.fixture(params=["hard links", "copies"])
def linking(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system with hard links, and one without."""

    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    if request.param == "copies":
        monkeypatch.setattr(os, "link", refuse)


@pytest.mark.usefixtures("linking")
def test_a_refused_file_leaves_what_was_there(library: UploadFolder) -> None:
    upload(library, "1", b"old", title="Old")
    library.install("1", "a/b.md")
    library.settle("1")
    before = kept(library)
    for job_id, fields in [("2", {"title": "New"}), ("3", {})]:
        upload(library, job_id, b"new", **fields)
        library.install(job_id, "a/b.md")
        assert kept(library)["a/b.md"] == b"new"
        library.restore(job_id, "a/b.md")
        library.settle(job_id)

        assert kept(library) == before
    assert leftovers(library.path) == []


@pytest.mark.usefixtures("linking")
def test_a_refused_file_where_there_was_none_leaves_nothing(library: UploadFolder) -> None:
    upload(library, "1", b"new", title="New")
    library.install("1", "a/b/c.md")
    library.restore("1", "a/b/c.md")
    library.settle("1")

    assert kept(library) == {}
    assert sorted(path.name for path in library.path.iterdir()) == [".incoming", ".previous"]


@pytest.mark.parametrize(("first", "second"), [("a.md", "a.md/b.md"), ("a.md/b.md", "a.md")])
def test_a_file_and_a_folder_cannot_be_at_one_place(library: UploadFolder, first: str, second: str) -> None:
    upload(library, "1", b"first")
    upload(library, "2", b"second")
    library.install("1", first)

    assert not library.fits(second)
    with pytest.raises(HttpFault) as caught:
        library.install("2", second)
    assert caught.value.status_code == 409
    library.restore("2", second)
    library.settle("2")
    assert kept(library) == {first: b"first"}


@pytest.mark.parametrize("doc_id", ["out/a.md", "out/deeper/a.md", "lost/a.md"])
def test_nothing_is_written_through_a_link_that_leads_out(library: UploadFolder, doc_id: str, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (library.path / "out").symlink_to(tmp_path / "outside")
    (library.path / "lost").symlink_to(tmp_path / "nowhere")
    upload(library, "1", b"text")

    assert not library.fits(doc_id)
    with pytest.raises(HttpFault) as caught:
        library.install("1", doc_id)
    assert caught.value.status_code == 409
    library.remove(doc_id)
    assert list((tmp_path / "outside").iterdir()) == []
    assert not (tmp_path / "nowhere").exists()


def test_nothing_is_removed_through_a_link_that_leads_out(library: UploadFolder, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "a.md").write_bytes(b"theirs")
    (library.path / "out").symlink_to(tmp_path / "outside")
    library.remove("out/a.md")

    assert (tmp_path / "outside" / "a.md").read_bytes() == b"theirs"


def test_a_link_in_the_place_of_a_document_is_replaced_and_not_followed(library: UploadFolder, tmp_path: Path) -> None:
    theirs = tmp_path / "theirs.md"
    theirs.write_bytes(b"theirs")
    for name in ("a.md", "a.md.meta.yaml"):
        (library.path / name).symlink_to(theirs)
    upload(library, "1", b"ours", title="Ours")
    library.install("1", "a.md")

    assert (library.path / "a.md").read_bytes() == b"ours"
    assert not (library.path / "a.md.meta.yaml").is_symlink()
    library.restore("1", "a.md")
    library.settle("1")
    assert (library.path / "a.md").is_symlink()
    assert theirs.read_bytes() == b"theirs"


def test_an_upload_that_got_lost_is_said_to_be(library: UploadFolder) -> None:
    with pytest.raises(HttpFault) as caught:
        library.install("1", "a.md")

    assert caught.value.code == "upload-lost"
    assert kept(library) == {}


def test_removing_takes_the_metadata_and_empty_folders_along(library: UploadFolder) -> None:
    for job_id, doc_id in [("1", "a/b/c.md"), ("2", "a/d.md")]:
        upload(library, job_id, b"text", title="T")
        library.install(job_id, doc_id)
        library.settle(job_id)
    library.remove("a/b/c.md")

    assert set(kept(library)) == {"a/d.md", "a/d.md.meta.yaml"}
    assert not (library.path / "a" / "b").exists()
    library.remove("a/b/c.md")
    library.remove("a name that no upload can have")


@contextmanager
def _dying(changes: int) -> Iterator[list[bool]]:
    """Tells whether the block was cut off."""
    died = [False]
    try:
        with crashing_after(changes):
            yield died
    except Crash:
        died[0] = True


@pytest.mark.parametrize("refused", [False, True])
@pytest.mark.parametrize("before", [{}, {"title": "Old"}])
@pytest.mark.parametrize("said", [{}, {"title": "New"}])
def test_after_a_crash_at_any_step_the_same_is_done_again(
    tmp_path: Path, before: dict[str, str], said: dict[str, str], *, refused: bool
) -> None:
    for changes in range(1_000):
        library = UploadFolder(tmp_path / str(changes))
        upload(library, "1", b"old", **before)
        library.install("1", "a/b.md")
        library.settle("1")
        old = kept(library)
        upload(library, "2", b"new", **said)
        with _dying(changes) as died:
            library.install("2", "a/b.md")
            if refused:
                library.restore("2", "a/b.md")
        again = UploadFolder(library.path)
        assert kept(again).get("a/b.md") in {b"old", b"new"}
        again.install("2", "a/b.md")
        assert fields_beside(again.path / "a/b.md", facets=[]) == said
        if refused:
            again.restore("2", "a/b.md")
        again.settle("2")
        assert kept(again) == old if refused else kept(again)["a/b.md"] == b"new"
        assert leftovers(again.path) == []
        if not died[0]:
            assert changes > 5
            return
    raise AssertionError("it never came to an end")


def test_what_no_job_will_ever_need_is_tidied_up(library: UploadFolder) -> None:
    for job_id in ("1", "2"):
        upload(library, job_id, b"text", title="T")
        library.install(job_id, f"{job_id}.md")
    (library.path / ".incoming" / "3").write_bytes(b"half a f")
    (library.path / ".incoming" / "2.aside").write_bytes(b"")

    assert library.tidy(lambda: {"1", "2"}, older_than=3_600) == 0
    assert library.tidy(lambda: {"1"}, older_than=-60) == 5
    assert leftovers(library.path) == ["1", "1.kept", "1.meta.yaml"]
    assert kept(library).keys() == {"1.md", "1.md.meta.yaml", "2.md", "2.md.meta.yaml"}


def test_an_upload_that_is_just_being_received_is_left_alone(library: UploadFolder) -> None:
    library.incoming("1").write_bytes(b"the first pie")
    old = library.incoming("2")
    old.write_bytes(b"cut off")
    os.utime(old, (0, 0))

    assert library.tidy(set, older_than=600) == 1
    assert leftovers(library.path) == ["1"]
