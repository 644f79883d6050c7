"""ZIP archives in a corpus: their files are documents, within limits, and nothing in them is trusted."""

from __future__ import annotations

import io
import stat
import zipfile
from collections.abc import Mapping
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doors.command_line import HASH, run
from quoth.documents import archives, containers
from quoth.documents.containers import Listing, container_path
from quoth.documents.contents import list_contents, read_content
from quoth.documents.files import find_files, named_files, read_bytes
from quoth.documents.worker.pool import Extraction
from quoth.errors import CorpusError, UnreadableFile
from quoth.http.originals import Originals
from quoth.settings import IngestSettings, StoreSettings
from quoth.wiring import open_store

from .formats.docx_files import p, word
from .formats.xlsx_files import row, workbook

RYE = b"Sow rye at 2 cm before the first frost.\n"


def packed(files: Mapping[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", method) as file:
        for name, data in files.items():
            file.writestr(name, data)
    return made.getvalue()


def archive(folder: Path, files: Mapping[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> Path:
    path = folder / "a.zip"
    path.write_bytes(packed(files, method=method))
    return path


def contents_of(path: Path) -> Listing:
    return list_contents(path, "zip", label="a.zip")


def listed(path: Path) -> dict[str, str]:
    return {member.name: member.format for member in contents_of(path).members}


def refused(path: Path) -> dict[str, str]:
    return {error.path: str(error).removeprefix(f"{error.path}: ") for error in contents_of(path).refused}


def test_each_readable_file_is_a_document_of_its_own_format(tmp_path: Path) -> None:
    files = {"rye.md": RYE, "deep/er/x.csv": b"a,b\n1,2\n", "w.bin": word(p("Words.")), "t.png": b"\x89PNG", "b": b"x"}
    path = archive(tmp_path, files | {".hidden.md": RYE, "__MACOSX/._rye.md": RYE, ".git/x.md": RYE})
    found = find_files([tmp_path])

    assert {file.doc_id: file.format for file in found.files} == {
        "a.zip/deep/er/x.csv": "csv",
        "a.zip/rye.md": "markdown",
        "a.zip/w.bin": "docx",
    }
    assert found.ignored == {".png": 1, "b": 1}
    with Extraction(IngestSettings(workers=1)) as workers:
        read = [read_bytes(file.path, label="x", most_mb=1, workers=workers) for file in found.files]
    assert read == [files["deep/er/x.csv"], RYE, files["w.bin"]]
    assert container_path(path / "rye.md") == path
    assert container_path(path) is None


def test_an_archive_given_by_itself_is_read(tmp_path: Path) -> None:
    assert [file.doc_id for file in find_files([archive(tmp_path, {"rye.md": RYE})]).files] == ["a.zip/rye.md"]


def test_office_files_are_no_archives_and_other_archives_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "book.zip").write_bytes(workbook(("A", row(1, "a", "b"))))
    (tmp_path / "lib.jar").write_bytes(packed({"rye.md": RYE}))
    found = find_files([tmp_path])

    assert [(file.doc_id, file.format) for file in found.files] == [("book.zip", "xlsx")]
    assert found.ignored == {".jar": 1}


def test_an_archive_in_an_archive_is_read_and_one_in_that_is_refused(tmp_path: Path) -> None:
    deepest = packed({"x.md": RYE})
    path = archive(tmp_path, {"b.zip": packed({"rye.md": RYE, "c.zip": deepest}), "oats.md": RYE})

    assert list(listed(path)) == ["b.zip/rye.md", "oats.md"]
    assert read_content(path / "b.zip" / "rye.md", label="x", most_bytes=100) == RYE
    assert refused(path) == {"a.zip/b.zip/c.zip": "it is an archive inside two others"}


@pytest.mark.parametrize("name", ["../up.md", "a/../../up.md", "/etc/x.md", "C:/x.md", "a\\..\\..\\up.md", "a//b.md"])
def test_a_name_that_leads_outside_is_refused(tmp_path: Path, name: str) -> None:
    path = archive(tmp_path, {name: RYE, "good.md": RYE})

    assert list(listed(path)) == ["good.md"]
    (why,) = refused(path).values()
    assert why == "its name in the archive leads outside the archive"


def test_the_separators_of_windows_are_understood(tmp_path: Path) -> None:
    path = archive(tmp_path, {"a\\b.md": RYE})

    assert list(listed(path)) == ["a/b.md"]
    assert read_content(path / "a" / "b.md", label="x", most_bytes=100) == RYE


def test_an_encrypted_file_is_refused_by_name_and_the_others_are_read(tmp_path: Path) -> None:
    path = archive(tmp_path, {"a-secret.md": RYE, "rye.md": RYE})
    data = bytearray(path.read_bytes())
    data[data.find(b"PK\x01\x02") + 8] |= 1
    path.write_bytes(data)
    listing = contents_of(path)

    assert [member.name for member in listing.members] == ["rye.md"]
    assert [(str(error), error.hint) for error in listing.refused] == [
        (
            "a.zip/a-secret.md: it is protected by a password",
            "Unpack it with its password, and ingest what was unpacked.",
        )
    ]


def test_links_are_left_out(tmp_path: Path) -> None:
    link = zipfile.ZipInfo("passwd.md")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "a.zip", "w") as file:
        file.writestr(link, "/etc/passwd")

    assert listed(tmp_path / "a.zip") == {}


def test_bombs_are_refused_before_they_are_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path, {"zeros.md": b"0" * (archives.SMALL_BYTES + 1), "rye.md": RYE})

    assert list(listed(path)) == ["rye.md"]
    assert refused(path) == {"a.zip/zeros.md": "it unpacks to more than 300 times its packed size"}
    monkeypatch.setattr(containers, "MOST_BYTES", 1 << 20)
    assert refused(path) == {"a.zip": "the archive unpacks to more than 1 MB"}
    monkeypatch.setattr(containers, "MOST_MEMBERS", 1)
    assert refused(path) == {"a.zip": "the archive holds more than 1 files"}


def test_archives_inside_share_the_room_of_the_outer_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = archive(tmp_path, {f"{n}.zip": packed({f"{m}.md": RYE for m in range(3)}) for n in range(3)})

    assert len(listed(path)) == 9
    monkeypatch.setattr(containers, "MOST_MEMBERS", 8)
    assert len(listed(path)) == 3
    assert refused(path)["a.zip/1.zip"] == "the archive holds more than 8 files"


def test_a_member_larger_than_a_file_may_be_is_refused(tmp_path: Path) -> None:
    path = archive(tmp_path, {"x.md": bytes(range(1, 250)) * 5_000})

    with (
        Extraction(IngestSettings(workers=1)) as workers,
        pytest.raises(UnreadableFile, match=r"^a.zip/x.md: it has more than 1 MB"),
    ):
        read_bytes(path / "x.md", label="a.zip/x.md", most_mb=1, workers=workers)


def test_other_methods_of_packing_are_refused(tmp_path: Path) -> None:
    assert refused(archive(tmp_path, {"x.md": RYE}, method=zipfile.ZIP_LZMA)) == {
        "a.zip/x.md": "it is packed by a method that is not read"
    }


def test_damage_is_named(tmp_path: Path) -> None:
    path = archive(tmp_path, {"x.md": RYE * 3}, method=zipfile.ZIP_STORED)
    data = path.read_bytes()
    path.write_bytes(data.replace(b"rye", b"ryx", 1))
    with pytest.raises(UnreadableFile, match="the archive is damaged"):
        read_content(path / "x.md", label="x", most_bytes=1_000)
    with pytest.raises(UnreadableFile, match="no longer holds it"):
        read_content(path / "y.md", label="y", most_bytes=1_000)
    path.write_bytes(data[:60])
    assert refused(path) == {"a.zip": "the archive cannot be opened: it is damaged"}


def test_an_archive_cannot_be_uploaded(tmp_path: Path) -> None:
    archive(tmp_path, {"x.md": RYE})

    with pytest.raises(CorpusError, match="it is of no kind that can be read"):
        named_files(tmp_path, ["a.zip"])


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_an_archive_with_flipped_bytes_is_read_or_refused_never_worse(data: st.DataObject) -> None:
    whole = bytearray(packed({"rye.md": RYE, "b.zip": packed({"oats.md": RYE})}))
    for _ in range(data.draw(st.integers(1, 4))):
        whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    with TemporaryDirectory() as folder:
        path = Path(folder, "a.zip")
        path.write_bytes(whole)
        for member in contents_of(path).members:
            with suppress(UnreadableFile):
                assert read_content(path / member.name, label="x", most_bytes=1_000) == RYE


def test_the_service_gives_a_member_back(tmp_path: Path) -> None:
    archive(tmp_path, {"rye.md": RYE, "b.zip": packed({"oats.md": RYE})})
    assert run("ingest", tmp_path, "--index", tmp_path / ".index", variables=HASH).code == 0
    with closing(open_store(tmp_path / ".index", StoreSettings())) as store, closing(Originals(store)) as originals:
        with store.read() as reader:
            documents = reader.documents()

        assert [document.id for document in documents] == ["a.zip/b.zip/oats.md", "a.zip/rye.md"]
        assert all(originals.is_here(document) for document in documents)
        assert [originals.read(document) for document in documents] == [RYE, RYE]


def test_members_are_quoted_verified_updated_and_pruned(tmp_path: Path) -> None:
    corpus, index = tmp_path / "corpus", tmp_path / "index"
    corpus.mkdir()
    archive(corpus, {"rye.md": RYE, "oats.md": b"Sow oats at 4 cm.\n"})

    assert run("ingest", corpus, "--index", index, variables=HASH).code == 0
    assert {one["doc_id"] for one in run("docs", "--json", "--index", index).objects} == {
        *("a.zip/oats.md", "a.zip/rye.md")
    }
    assert run("verify", "--index", index, "--root", corpus).code == 0
    again = run("ingest", corpus, "--index", index, variables=HASH)
    assert "0 documents read, 2 unchanged" in " ".join(again.talk.split())
    archive(corpus, {"oats.md": b"Sow oats at 5 cm.\n"})
    assert run("ingest", corpus, "--index", index, "--prune", variables=HASH).code == 0
    assert [one["doc_id"] for one in run("docs", "--json", "--index", index).objects] == ["a.zip/oats.md"]
    assert run("show", "a.zip/oats.md", "--text", "--index", index).text == "Sow oats at 5 cm.\n"
