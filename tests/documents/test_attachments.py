"""The attachments of a message are documents of their own, below the id of the message."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Iterator
from email.message import EmailMessage
from pathlib import Path

import pytest

from documents.formats.mail_files import letter
from doors.command_line import run
from hostile_mail import ole, outlook
from quoth.documents import containers, contents
from quoth.documents.contents import list_contents, read_content
from quoth.documents.files import find_files, read_bytes
from quoth.documents.worker.pool import Extraction
from quoth.errors import UnreadableFile
from quoth.settings import IngestSettings

RYE = b"# Rye\n\nSow rye at 2 cm before the first frost.\n"
OATS = b"<html><body><p>Sow oats at 4 cm in March.</p></body></html>"


@pytest.fixture(scope="module")
def workers() -> Iterator[Extraction]:
    with Extraction(IngestSettings(workers=1)) as started:
        yield started


def with_files(*files: tuple[str, bytes]) -> EmailMessage:
    message = letter("See the files.")
    for name, data in files:
        message.add_attachment(data, maintype="application", subtype="octet-stream", filename=name)
    return message


def mail(path: Path, *files: tuple[str, bytes]) -> Path:
    path.write_bytes(bytes(with_files(*files)))
    return path


def packed(**files: bytes) -> bytes:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for name, data in files.items():
            archive.writestr(name.replace("_", "."), data)
    return made.getvalue()


def ids(*paths: Path) -> dict[str, str]:
    return {file.doc_id: file.format for file in find_files(paths).files}


def test_readable_attachments_are_files_of_the_corpus(tmp_path: Path, workers: Extraction) -> None:
    mail(tmp_path / "a.eml", ("rye.md", RYE), ("oats", OATS), ("logo.png", b"\x89PNG"), ("../../up.md", RYE))
    found = find_files([tmp_path])

    assert {file.doc_id: file.format for file in found.files} == {
        "a.eml": "eml",
        "a.eml/oats": "html",
        "a.eml/rye.md": "markdown",
        "a.eml/up.md": "markdown",
    }
    assert dict(found.ignored) == {".png": 1}
    assert ids(tmp_path / "a.eml") == ids(tmp_path)
    assert read_bytes(tmp_path / "a.eml/oats", label="x", most_mb=1, workers=workers) == OATS


def test_two_attachments_of_one_name_are_told_apart(tmp_path: Path) -> None:
    path = mail(tmp_path / "a.eml", ("a.md", RYE), ("a.md", b"Oats."), ("a.md", b"Barley."))
    found = list_contents(path, "eml", label="a.eml").members

    assert [member.name for member in found] == ["a (2).md", "a (3).md", "a.md"]
    assert read_content(path / "a (3).md", label="x", most_bytes=100) == b"Barley."


def test_in_a_mailbox_the_number_of_the_message_tells_them_apart(tmp_path: Path) -> None:
    line = b"From ann Mon Mar  2 08:15:00 2026\n"
    data = line + bytes(letter()) + b"\n" + line + bytes(with_files(("rye.md", RYE)))
    (tmp_path / "box.mbox").write_bytes(data)

    assert ids(tmp_path) == {"box.mbox": "mbox", "box.mbox/2/rye.md": "markdown"}
    assert read_content(tmp_path / "box.mbox/2/rye.md", label="x", most_bytes=100) == RYE


def test_files_of_outlook_messages_count_too(tmp_path: Path) -> None:
    pytest.importorskip("olefile", reason="olefile is not installed")
    file = {"__substg1.0_3707001F": "rye.md".encode("utf-16-le"), "__substg1.0_37010102": RYE}
    (tmp_path / "a.msg").write_bytes(ole(outlook("Barley", "Sow.", {"__attach_version1.0_#00000000": file})))

    assert ids(tmp_path) == {"a.msg": "msg", "a.msg/rye.md": "markdown"}


def test_archives_in_messages_and_messages_in_archives_are_opened_once(tmp_path: Path) -> None:
    inner = bytes(with_files(("rye.md", RYE), ("deep.zip", packed(oats_html=OATS))))
    mail(tmp_path / "a.eml", ("b.zip", packed(rye_md=RYE, c_eml=inner)))
    (tmp_path / "b.zip").write_bytes(packed(c_eml=inner))
    found = find_files([tmp_path])

    assert [file.doc_id for file in found.files] == [
        "a.eml",
        "a.eml/b.zip/c.eml",  # three deep: a document, without its attachments
        "a.eml/b.zip/rye.md",
        "b.zip/c.eml",
        "b.zip/c.eml/rye.md",
    ]
    assert [str(place.error) for place in found.closed] == [
        "b.zip/c.eml/deep.zip: it is an archive inside two others",
    ]
    assert read_content(tmp_path / "b.zip/c.eml/rye.md", label="x", most_bytes=100) == RYE
    assert read_content(tmp_path / "a.eml/b.zip/rye.md", label="x", most_bytes=100) == RYE


def test_what_cannot_be_read_is_refused_once_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "nested.eml").write_bytes(b"Content-Type: message/rfc822; name=a\n\n" * 5_000)
    (tmp_path / "none.msg").write_bytes(b"no message")
    mail(tmp_path / "c.eml", ("rye.md", RYE))
    ran = run("ingest", tmp_path, "--index", tmp_path / ".index")

    assert ran.code == 1
    assert [line.split(":")[0] for line in ran.talk.splitlines() if line.startswith("refused")] == [
        "refused nested.eml",
        "refused none.msg",
    ]
    assert "2 documents read" in ran.talk


def test_messages_have_the_limits_of_archives(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = mail(tmp_path / "a.eml", ("rye.md", RYE), ("oats.html", OATS))

    monkeypatch.setattr(containers, "MOST_MEMBERS", 1)
    (error,) = list_contents(path, "eml", label="a.eml").refused
    assert str(error) == "a.eml: the message holds more than 1 files"
    monkeypatch.setattr(containers, "MOST_MEMBERS", 10)
    monkeypatch.setattr(containers, "MOST_BYTES", 10)
    assert list_contents(path, "eml", label="a.eml").members == ()
    monkeypatch.setattr(contents, "LARGEST_NESTED", 10)
    (error,) = list_contents(path, "eml", label="a.eml").refused
    assert "its attachments are not read" in str(error)


def test_a_name_that_is_no_longer_there_is_refused(tmp_path: Path, workers: Extraction) -> None:
    path = mail(tmp_path / "a.eml", ("rye.md", RYE))
    (tmp_path / "b.md").write_bytes(RYE)

    for gone in (path / "gone.md", tmp_path / "b.md" / "rye.md"):
        with pytest.raises(UnreadableFile, match=r"^x: "):
            read_bytes(gone, label="x", most_mb=1, workers=workers)
    with pytest.raises(UnreadableFile, match="it has more than 0 MB"):
        workers.read_content(path / "rye.md", label="x", most_bytes=3)
    mail(path, ("rye.md", b"Changed."))
    assert read_bytes(path / "rye.md", label="x", most_mb=1, workers=workers) == b"Changed."


def test_attachments_are_quoted_verified_and_pruned(tmp_path: Path) -> None:
    corpus, index = tmp_path / "corpus", tmp_path / "index"
    corpus.mkdir()
    mail(corpus / "a.eml", ("rye.md", RYE))
    assert run("ingest", corpus, "--index", index).code == 0

    asked = run("ask", "Sow rye at 2 cm before the first frost.", "--index", index, "--json")
    assert asked.object["answer_sentences"][0]["doc_id"] == "a.eml/rye.md"
    run_file = tmp_path / "run.jsonl"
    run_file.write_bytes(asked.data)
    assert run("verify", run_file, "--root", corpus).code == 0

    again = run("ingest", corpus, "--index", index)
    assert "0 documents read, 2 unchanged" in again.talk
    mail(corpus / "a.eml")
    run("ingest", corpus, "--index", index, "--prune")
    assert [one["doc_id"] for one in run("docs", "--json", "--index", index).objects] == ["a.eml"]
