"""Bad input gets a clear error, and nothing is lost."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from doors.command_line import HASH, MINILM, PATIENCE, PROGRAM, Ran, environment, failed, run, write_files

CANOLA = "Sow canola at 2.5 cm."


@pytest.fixture
def index(tmp_path: Path) -> Path:
    """An index that holds one sentence."""
    write_files(tmp_path / "old", {"canola.md": CANOLA})
    assert run("ingest", tmp_path / "old", "--index", tmp_path / "index").code == 0
    return tmp_path / "index"


def answers(index: Path) -> bool:
    return CANOLA in run("ask", CANOLA, "--index", index).text


def test_a_question_for_another_model_is_refused(index: Path) -> None:
    ran = run("ask", CANOLA, "--index", index, variables=MINILM)

    assert failed(ran, "made with hash", "not with all-MiniLM-L6-v2", "embedding.model_name")
    assert answers(index)


def test_an_index_of_the_same_model_read_in_another_way_is_made_anew_by_its_ingest(index: Path, tmp_path: Path) -> None:
    with closing(sqlite3.connect(index / "quoth.db")) as database, database:
        changed = "UPDATE meta SET value = json_set(value, '$.revision', 'before') WHERE key = 'model'"
        assert database.execute(changed).rowcount == 1

    assert failed(run("ask", CANOLA, "--index", index), "not with hash", "Run quoth ingest on all its folders")
    assert run("ingest", tmp_path / "old", "--index", index).code == 0
    assert answers(index)


def test_ingesting_with_another_model_beside_other_documents_is_refused(index: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "new", {"wheat.md": "Sow wheat at 4 cm."})

    ran = run("ingest", tmp_path / "new", "--index", index, variables=MINILM)

    assert failed(ran, "was made with hash", "not all-MiniLM-L6-v2")
    assert answers(index)


def test_a_model_that_is_not_there_is_named(index: Path) -> None:
    ran = run("ask", CANOLA, "--index", index, variables={"QUOTH_EMBEDDING_MODEL_NAME": "no-such-model"})

    assert failed(ran, "no-such-model", "embedding.path")


@pytest.mark.parametrize("command", ["ask", "status", "ingest"])
def test_an_index_of_another_format_is_refused_and_left_alone(index: Path, tmp_path: Path, command: str) -> None:
    with sqlite3.connect(index / "quoth.db") as database:
        database.execute("UPDATE meta SET value = '999' WHERE key = 'format'")
    database.close()
    argument = {"ask": [CANOLA], "status": [], "ingest": [str(tmp_path / "old")]}[command]

    ran = run(command, *argument, "--index", index)

    assert failed(ran, "has format 999", "--index")
    with sqlite3.connect(index / "quoth.db") as database:
        assert database.execute("SELECT count(*) FROM documents").fetchone() == (1,)
    database.close()


def test_a_corpus_without_documents_is_an_error(index: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "empty", {"photo.jpg": b"\xff\xd8", ".hidden.md": "Hidden."})

    assert failed(run("ingest", tmp_path / "empty", "--index", tmp_path / "x"), "no documents found (only 1 .jpg)")
    assert failed(run("ingest", tmp_path / "none", "--index", index), "does not exist")
    assert failed(run("ingest", tmp_path / "empty" / "photo.jpg", "--index", index), "of no kind that can be read")
    assert failed(run("ask", CANOLA, "--index", tmp_path / "x"), "there is no index")
    assert answers(index)


def test_an_old_encoding_is_converted_and_recorded(tmp_path: Path) -> None:
    text = "Säen Sie den Raps Ende August. Die Körner müssen trocken sein, und die Böden dürfen nicht naß sein.\n"
    write_files(tmp_path / "corpus", {"raps.txt": text.encode("cp1252"), "utf16.txt": text.encode("utf-16")})

    ran = run("ingest", tmp_path / "corpus", "--index", tmp_path / "index")

    assert ran.code == 0
    assert "converted raps.txt from " in ran.talk
    assert "converted utf16.txt from utf-16" in ran.talk
    assert run("show", "raps.txt", "--text", "--index", tmp_path / "index").text == text
    assert run("show", "utf16.txt", "--text", "--index", tmp_path / "index").text == text
    encodings = [one["encoding"] for one in run("docs", "--json", "--index", tmp_path / "index").objects]
    assert "utf-8" not in encodings


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (b"Sow canola.\x00Roll.\n", "NUL"),
        (bytes(range(256)) * 4, "NUL"),
        (b"---\ntitle: [\n---\nSow.\n", "front matter"),
        (b"---\neffective_date: soon\n---\nSow.\n", "effective_date"),
        ("Säen".encode("utf-16")[:-1], "utf-16"),
    ],
    ids=["nul", "binary", "front matter", "date", "cut utf-16"],
)
def test_a_file_that_cannot_be_taken_is_named_while_the_rest_goes_on(tmp_path: Path, content: bytes, why: str) -> None:
    write_files(tmp_path / "corpus", {"a.md": CANOLA, "bad.md": content, "c.md": "Sow wheat at 4 cm."})

    ran = run("ingest", tmp_path / "corpus", "--index", tmp_path / "index")

    assert (ran.code, ran.data) == (1, b"")
    (refused,) = [line for line in ran.talk.splitlines() if line.startswith("refused ")]
    assert refused.startswith("refused bad.md: ")
    assert why in refused
    assert [one["doc_id"] for one in run("docs", "--json", "--index", tmp_path / "index").objects] == ["a.md", "c.md"]
    assert answers(tmp_path / "index")


def test_when_no_file_can_be_taken_that_is_an_error(tmp_path: Path) -> None:
    write_files(tmp_path / "corpus", {"bad.md": b"\x00"})

    assert failed(run("ingest", tmp_path / "corpus", "--index", tmp_path / "index"), "none of 1 files could be read")


def test_a_file_that_became_unreadable_keeps_what_the_index_holds_of_it(index: Path, tmp_path: Path) -> None:
    write_files(tmp_path / "old", {"canola.md": b"\x00", "new.md": "Sow wheat at 4 cm."})

    ran = run("ingest", tmp_path / "old", "--index", index)

    assert ran.code == 1
    assert "refused canola.md" in ran.talk
    assert answers(index)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("documents: 5", "must hold one key, 'documents'"),
        ("documents:\n  - title: x\n", "needs a 'match'"),
        ("documents:\n  - {match: '*', colour: red}\n", "unknown fields colour"),
        ("documents: [", "is not valid YAML"),
    ],
)
def test_a_wrong_manifest_is_named(index: Path, tmp_path: Path, content: str, message: str) -> None:
    write_files(tmp_path / "corpus", {"wheat.md": "Sow wheat.", "corpus.yaml": content})

    assert failed(run("ingest", tmp_path / "corpus", "--index", index), "corpus.yaml", message)
    assert answers(index)


@pytest.mark.parametrize(
    ("content", "message"),
    [("name: [", "not valid YAML"), ("5", "must be a mapping"), ("name: x\nbogus: 1\n", "unknown keys bogus")],
)
def test_a_wrong_profile_is_named(tmp_path: Path, content: str, message: str) -> None:
    write_files(tmp_path, {"corpus/a.md": CANOLA, "mine.yaml": content})
    ingest = ("ingest", tmp_path / "corpus", "--index", tmp_path / "index", "--profile")

    assert failed(run(*ingest, tmp_path / "mine.yaml"), message)
    assert failed(run(*ingest, "bogus"), "there is no profile 'bogus'", "agriculture, general, governance")


def test_two_files_with_one_id_are_refused_by_name(index: Path, tmp_path: Path) -> None:
    write_files(tmp_path, {"one/a.md": "Sow canola.", "two/a.md": "Sow wheat."})

    ran = run("ingest", tmp_path / "one", tmp_path / "two", "--index", index)

    assert failed(ran, "one/a.md", "two/a.md", "would both be 'a.md'")


def test_an_index_below_a_file_cannot_be_written(tmp_path: Path) -> None:
    write_files(tmp_path, {"corpus/a.md": CANOLA, "file": "precious"})

    assert failed(run("ingest", tmp_path / "corpus", "--index", tmp_path / "file" / "index"), "cannot be written")
    assert failed(run("ingest", tmp_path / "corpus", "--index", tmp_path / "file"), "cannot be written")
    assert (tmp_path / "file").read_bytes() == b"precious"


def test_a_read_only_index_cannot_be_written_and_still_answers(tmp_path: Path) -> None:
    write_files(tmp_path, {"old/canola.md": CANOLA, "new/wheat.md": "Sow wheat at 4 cm."})
    with disk(tmp_path / "disk", size="16m") as place:
        assert run("ingest", tmp_path / "old", "--index", place / "index").code == 0
        subprocess.run(["mount", "-o", "remount,ro", place], check=True)

        assert failed(run("ingest", tmp_path / "new", "--index", place / "index"), "cannot be written", "--index")
        assert failed(run("ingest", tmp_path / "new", "--index", place / "other"), "cannot be written", "--index")
        assert answers(place / "index")


@contextmanager
def disk(place: Path, *, size: str) -> Iterator[Path]:
    """A file system of its own, where the user may mount one."""
    place.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={size}", "quoth-test", str(place)]
    if shutil.which("mount") is None or subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("needs the right to mount a file system")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


MANY = "".join(f"Sentence number {number} says how to sow canola in field {number * 7}.\n\n" for number in range(4000))


def test_a_full_disk_leaves_the_old_index_answering(tmp_path: Path) -> None:
    write_files(tmp_path, {"old/canola.md": CANOLA, "many/many.md": MANY, "few/wheat.md": "Sow wheat at 4 cm."})
    with disk(tmp_path / "disk", size="1536k") as place:
        index = place / "index"
        assert run("ingest", tmp_path / "old", "--index", index).code == 0

        ran = run("ingest", tmp_path / "many", "--index", index)

        assert failed(ran, "cannot be written", "Free some space")
        assert answers(index)
        assert run("ingest", tmp_path / "few", "--index", index).code == 0
        assert run("verify", "--index", index).code == 0
        assert [one["doc_id"] for one in run("docs", "--json", "--index", index).objects] == ["canola.md", "wheat.md"]


def with_small_files(*arguments: str | Path) -> Ran:
    """Run a command that may write no file of more than some 250 or 500 KB, as the shell counts its blocks."""
    limited = 'ulimit -f 500 && exec "$@"'
    ran = subprocess.run(
        ["sh", "-c", limited, "sh", PROGRAM, *arguments],
        env=environment(HASH),
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )
    return Ran(ran.returncode, ran.stdout, ran.stderr.decode())


def test_files_that_may_not_grow_leave_the_old_index_answering(index: Path, tmp_path: Path) -> None:
    write_files(tmp_path, {"many/many.md": MANY})
    # The model that recognises languages is unpacked into a file of its own.
    for options, words in (([], "cannot be unpacked"), (["--language", "en"], "cannot be written")):
        stopped = with_small_files("ingest", tmp_path / "many", "--index", index, *options)
        assert failed(stopped, words)
    assert answers(index)
    assert run("ingest", tmp_path / "many", "--index", index).code == 0
    assert run("verify", "--index", index).code == 0
    assert answers(index)
