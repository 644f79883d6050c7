"""Hostile files among good ones: the run ends, the good ones are quoted, and each hostile one is named or read exactly.

The files come from `tests/hostile/hostile_corpus.py`. A server on this machine counts who asks it; nobody may.
"""

from __future__ import annotations

import re
import shutil
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

import hostile_corpus
import hostile_text
from doors.command_line import HASH, Ran, failed, finish, run, start, write_files
from hostile_parts import World
from quoth.documents.files import read_bytes
from quoth.documents.worker.pool import Extraction
from quoth.settings import IngestSettings

LIMITS = {
    **HASH,
    "QUOTH_INGEST_SECONDS": "60",  # far beyond what any of them takes, also on a busy machine
    "QUOTH_INGEST_MEMORY_MB": "512",
    "QUOTH_INGEST_MAX_FILE_MB": "20",
    "QUOTH_INGEST_WORKERS": "2",
}
GOOD = {
    "good/canola.md": "# Canola\n\nSow canola at 2.5 cm in firm and moist soil.\n",
    "good/wheat.html": "<html><body><h1>Wheat</h1><p>Sow wheat at 4 cm in the third week of October.</p></body></html>",
    "good/rye.txt": "Sow rye at 2 cm before the first frost.\n",
}
SENTENCES = {
    "good/canola.md": "Sow canola at 2.5 cm in firm and moist soil.",
    "good/wheat.html": "Sow wheat at 4 cm in the third week of October.",
    "good/rye.txt": "Sow rye at 2 cm before the first frost.",
}
MARK = "HOSTILE_TEST_RUN"
_NO_WORKERS = Extraction(IngestSettings())
"""A variable that every process of the run inherits."""


@pytest.fixture(scope="module")
def server() -> Iterator[tuple[str, list[str]]]:
    """The address of a server, and what it was asked for."""
    asked: list[str] = []

    class Listener(BaseHTTPRequestHandler):
        def handle_one_request(self) -> None:
            self.raw_requestline = self.rfile.readline(65_537)
            asked.append(self.raw_requestline.decode("latin-1"))
            self.close_connection = True

    with ThreadingHTTPServer(("127.0.0.1", 0), Listener) as listening:
        thread = threading.Thread(target=listening.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listening.server_address[1]}", asked
        listening.shutdown()
        thread.join()


@dataclass(frozen=True)
class Ingested:
    ran: Ran
    corpus: Path
    index: Path
    expected: dict[str, str]
    asked: list[str]

    @property
    def refused(self) -> dict[str, str]:
        """What was said of each file that was refused, by its name."""
        return refusals(self.ran, self.expected)

    @property
    def taken(self) -> set[str]:
        return {one["doc_id"] for one in run("docs", "--json", "--index", self.index).objects}


def refusals(ran: Ran, names: dict[str, str]) -> dict[str, str]:
    """The line about each file; a name may itself hold a line end, so the names are looked for."""
    found = {}
    for name in names:
        said = re.search(rf"^refused {re.escape(name)}: (.+? \([A-Z][^\n]+\))$", ran.talk, re.MULTILINE | re.DOTALL)
        if said:
            found[name] = said[1]
    return found


def ingest(corpus: Path, index: Path, scratch: Path, *, seconds: str = LIMITS["QUOTH_INGEST_SECONDS"]) -> Ran:
    """Ingest with small limits, all temporary files in `scratch`."""
    variables = {**LIMITS, "QUOTH_INGEST_SECONDS": seconds, "TMPDIR": str(scratch), MARK: str(index)}
    return finish(start("ingest", corpus, "--index", index, variables=variables))


def status(index: Path) -> dict[str, object]:
    shown = run("status", "--json", "--index", index).object
    return {key: shown[key] for key in ("documents", "sentences", "generation", "digest")}


def left_running(index: Path) -> list[str]:
    """The processes of a run that did not end with it."""
    found = []
    for place in Path("/proc").glob("[0-9]*/environ"):
        try:
            if f"{MARK}={index}".encode() in place.read_bytes().split(b"\0"):
                found.append((place.parent / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue  # it ended, or is not ours
    return found


@pytest.fixture(scope="module")
def ingested(server: tuple[str, list[str]], tmp_path_factory: pytest.TempPathFactory) -> Ingested:
    url, asked = server
    place = tmp_path_factory.mktemp("hostile")
    world = World(url, place / "outside" / "secret.md", 0.001)
    expected = hostile_corpus.write_corpus(place / "corpus", world, slow=False)
    write_files(place / "corpus", GOOD)
    (place / "scratch").mkdir()
    ran = ingest(place / "corpus", place / "index", place / "scratch")
    return Ingested(ran, place / "corpus", place / "index", {name: str(one) for name, one in expected.items()}, asked)


def test_the_run_ends_as_one_that_refused_files(ingested: Ingested) -> None:
    assert ingested.ran.code == 1
    assert ingested.ran.data == b""
    assert "Traceback" not in ingested.ran.talk


@pytest.mark.parametrize("doc_id", sorted(GOOD))
def test_good_documents_are_in_and_quoted(ingested: Ingested, doc_id: str) -> None:
    asked = run("ask", SENTENCES[doc_id], "--index", ingested.index, "--json").object

    assert {"doc_id": doc_id, "text": SENTENCES[doc_id]}.items() <= asked["answer_sentences"][0].items()


def test_every_hostile_file_is_refused_or_taken_as_it_must_be(ingested: Ingested) -> None:
    refused, taken = set(ingested.refused), ingested.taken
    wrong = {}
    for name, expected in ingested.expected.items():
        outcome = "refused" if name in refused else "taken" if name in taken else "left out"
        if outcome != expected and (expected != "either" or outcome == "left out"):
            wrong[name] = f"{outcome}, not {expected}: {ingested.refused.get(name)}"

    assert wrong == {}
    assert not refused & taken


def test_every_refusal_has_a_reason_for_people_and_a_hint(ingested: Ingested) -> None:
    for name, said in ingested.refused.items():
        assert re.fullmatch(r"\S.{5,400} \([A-Z].{10,200}\)", said, re.DOTALL), (name, said)
        assert "it cannot be read: " not in said, f"nobody foresaw this: {name}: {said}"


def test_every_sentence_of_what_was_taken_is_exact(ingested: Ingested) -> None:
    stored = run("verify", "--index", ingested.index)

    assert (stored.code, stored.talk) == (0, "")
    for name in sorted(ingested.taken):
        if name.endswith((".md", ".txt")) and not name.startswith(("names/", "odd/")):
            text = run("show", name, "--text", "--index", ingested.index).data
            source = read_bytes(ingested.corpus / name, label=name, most_mb=20, workers=_NO_WORKERS).decode(
                "utf-8", "replace"
            )
            assert text.decode() == source or name == "text/invalid-utf-8.txt", name


def test_nothing_was_fetched(ingested: Ingested) -> None:
    assert ingested.refused
    assert ingested.asked == []


def test_nothing_outside_the_folder_was_read(ingested: Ingested, tmp_path: Path) -> None:
    assert run("export", tmp_path / "out", "--index", ingested.index).code == 0

    for path in (tmp_path / "out").rglob("*"):
        if path.is_file():
            held = path.read_bytes()
            assert hostile_corpus.OUTSIDE.encode() not in held
            assert b"root:x:0:0" not in held


def test_nothing_is_left_behind(ingested: Ingested) -> None:
    assert left_running(ingested.index) == []
    assert [path.name for path in (ingested.index.parent / "scratch").iterdir()] == []


def test_a_second_run_does_no_more_than_the_first(ingested: Ingested) -> None:
    before, taken = status(ingested.index), len(ingested.taken)
    again = ingest(ingested.corpus, ingested.index, ingested.index.parent / "scratch")

    assert again.code == 1
    assert f"0 documents read, {taken} unchanged" in again.talk
    assert set(refusals(again, ingested.expected)) == set(ingested.refused)
    assert status(ingested.index) == before
    assert ingested.asked == []


@pytest.mark.skipif(shutil.which("soffice") is None, reason="LibreOffice is not installed")
def test_a_conversion_that_hangs_or_points_elsewhere_leaves_nothing(
    server: tuple[str, list[str]],
    tmp_path: Path,
) -> None:
    url, asked = server
    world = World(url, tmp_path / "outside" / "secret.md", 0.01)
    world.outside.parent.mkdir()
    world.outside.write_text(hostile_corpus.OUTSIDE, encoding="utf-8")
    names = ("binary-that-lies.rtf", "points-to-the-net-and-to-files.rtf")
    made = {one.name: one.make(world) for one in hostile_corpus.files() if one.name.endswith(names)}
    write_files(tmp_path / "corpus", {**GOOD, **made})
    (tmp_path / "scratch").mkdir()

    ran = ingest(tmp_path / "corpus", tmp_path / "index", tmp_path / "scratch", seconds="6")

    assert "Traceback" not in ran.talk
    assert left_running(tmp_path / "index") == []
    assert list((tmp_path / "scratch").iterdir()) == []
    assert asked == []
    for name in made:
        shown = run("show", name, "--text", "--index", tmp_path / "index")
        assert f"refused {name}: " in ran.talk or shown.code == 0
        assert hostile_corpus.OUTSIDE not in shown.text


def test_a_manifest_that_multiplies_itself_is_refused(tmp_path: Path) -> None:
    bomb = hostile_text.manifest_bomb(World("", tmp_path, 0.01))
    write_files(tmp_path / "corpus", {"a.md": "Sow.", "corpus.yaml": bomb})

    ran = finish(start("ingest", tmp_path / "corpus", "--index", tmp_path / "index"))

    assert failed(ran, "corpus.yaml")
    assert len(ran.talk) < 2_000


def test_each_hostile_file_stands_on_the_list_once() -> None:
    names = [one.name for one in hostile_corpus.files()]

    assert len(names) == len(set(names)) >= 60


def test_the_files_are_the_same_every_time(tmp_path: Path) -> None:
    world = World("http://127.0.0.1:9", tmp_path / "secret.md", 0.001)

    for one in hostile_corpus.files():
        if one.name.startswith(("endings/", "html/", "text/")):
            assert one.make(world) == one.make(world), one.name
