"""`quoth watch` as a process: what changes in a folder is in the index soon after, whatever else happens."""

from __future__ import annotations

import contextlib
import fcntl
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

import pytest

from quoth.errors import NoIndex
from quoth.stores.embedded import EmbeddedStore

from .command_line import HASH, PATIENCE, PROGRAM, environment, failed, run, write_files

pytest.importorskip("watchfiles", reason="watchfiles is not installed")

OATS, RYE = "Sow oats at 4 cm in April.\n", "Sow rye at 2 cm in September.\n"


class Watch:
    """A folder, its index, and the program that watches."""

    def __init__(self, place: Path, *options: str) -> None:
        self.folder, self.index = place / "fields", place / "index"
        self._said = place / "said.txt"
        self._said.touch()
        self.folder.mkdir(exist_ok=True)
        self._options = options
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self._said.open("ab") as said:
            self.process = subprocess.Popen(
                [PROGRAM, "watch", self.folder, "--index", self.index, *self._options],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=said,
                env=environment(HASH),
            )

    @property
    def said(self) -> str:
        return self._said.read_text(encoding="utf-8")

    def documents(self) -> dict[str, str]:
        """The texts of the documents by id; none without an index."""
        try:
            with EmbeddedStore(self.index).read() as reader:
                found = (reader.document(info.id) for info in reader.documents())
                return {document.id: document.text for document in found if document is not None}
        except NoIndex:
            return {}

    def until(self, condition: Callable[[], bool]) -> None:
        """Wait until something holds; fail if the program ends before, or after a long time."""
        assert self.process is not None
        end = time.monotonic() + PATIENCE
        while not condition():
            assert self.process.poll() is None, f"it ended: {self.said}"
            assert time.monotonic() < end, f"it hangs: {self.said}"
            time.sleep(0.05)

    def holds(self, documents: dict[str, str]) -> None:
        self.until(lambda: self.documents() == documents)

    def stop(self, number: int = signal.SIGINT) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(PATIENCE)

    def end(self) -> None:
        if self.process is not None and self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def watch(tmp_path: Path) -> Iterator[Watch]:
    watched = Watch(tmp_path)
    try:
        yield watched
    finally:
        watched.end()


@contextlib.contextmanager
def another_writer(index: Path) -> Iterator[IO[bytes]]:
    """Holds the lock of an index, as an ingest does."""
    with (index / "writer.lock").open("rb+") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield lock


def test_changes_are_in_the_index_soon_after(watch: Watch) -> None:
    write_files(watch.folder, {"oats.md": OATS})
    watch.start()
    watch.holds({"oats.md": OATS})

    write_files(watch.folder, {"new/rye.md": RYE, ".hidden.md": "Not this.\n"})
    watch.holds({"oats.md": OATS, "new/rye.md": RYE})

    write_files(watch.folder, {"oats.md": "Sow oats at 5 cm.\n"})
    watch.holds({"oats.md": "Sow oats at 5 cm.\n", "new/rye.md": RYE})

    (watch.folder / "new/rye.md").rename(watch.folder / "rye.md")
    watch.holds({"oats.md": "Sow oats at 5 cm.\n", "rye.md": RYE})

    (watch.folder / "oats.md").unlink()
    watch.holds({"rye.md": RYE})

    assert watch.stop() == 0
    assert "renamed new/rye.md to rye.md\n" in watch.said
    assert "removed oats.md: its file is gone\n" in watch.said
    assert watch.said.endswith("stopped watching\n")


def test_with_keep_documents_outlive_their_files(tmp_path: Path) -> None:
    watch = Watch(tmp_path, "--keep")
    write_files(watch.folder, {"oats.md": OATS, "rye.md": RYE})
    try:
        watch.start()
        watch.holds({"oats.md": OATS, "rye.md": RYE})
        (watch.folder / "rye.md").unlink()
        write_files(watch.folder, {"oats.md": "Sow oats at 5 cm.\n"})
        watch.holds({"oats.md": "Sow oats at 5 cm.\n", "rye.md": RYE})
        assert watch.stop(signal.SIGTERM) == 0
    finally:
        watch.end()


def test_an_index_inside_the_folder_does_not_set_it_off(watch: Watch) -> None:
    watch.index = watch.folder / "index"
    write_files(watch.folder, {"oats.md": OATS})
    watch.start()
    watch.holds({"oats.md": OATS})
    write_files(watch.folder, {"rye.md": RYE})
    watch.holds({"oats.md": OATS, "rye.md": RYE})
    generations = {info.name for info in (watch.index / "generations").iterdir()}

    write_files(watch.folder, {".hidden.md": OATS})
    time.sleep(2.5)  # longer than a round would take to begin
    assert {info.name for info in (watch.index / "generations").iterdir()} == generations
    assert watch.stop() == 0


def test_while_another_process_writes_it_waits_and_says_so(watch: Watch) -> None:
    write_files(watch.folder, {"oats.md": OATS})
    watch.start()
    watch.holds({"oats.md": OATS})

    with another_writer(watch.index):
        write_files(watch.folder, {"rye.md": RYE})
        watch.until(lambda: "waiting: another process" in watch.said)
        assert watch.documents() == {"oats.md": OATS}
    watch.holds({"oats.md": OATS, "rye.md": RYE})
    assert watch.said.count("waiting: ") == 1
    assert watch.stop() == 0


def test_it_stops_while_it_waits_for_another_writer(watch: Watch) -> None:
    write_files(watch.folder, {"oats.md": OATS})
    watch.start()
    watch.holds({"oats.md": OATS})

    with another_writer(watch.index):
        write_files(watch.folder, {"rye.md": RYE})
        watch.until(lambda: "waiting: " in watch.said)
        assert watch.stop() == 0


def test_a_write_that_has_begun_is_finished_before_it_ends(watch: Watch) -> None:
    documents = {f"field{number}.md": f"Field {number} was sown at {number} cm.\n" for number in range(400)}
    write_files(watch.folder, documents)
    watch.start()
    watch.until((watch.index / "staging.db").exists)

    assert watch.stop() == 0
    assert watch.documents() == documents
    assert watch.said.endswith("stopped watching\n")


def test_a_fault_in_one_round_is_told_and_the_watch_goes_on(watch: Watch) -> None:
    watch.start()
    watch.until(lambda: "error: no documents found" in watch.said)

    write_files(watch.folder, {"oats.md": OATS, "bad.txt": b"x\0y"})
    watch.holds({"oats.md": OATS})
    watch.until(lambda: "refused bad.txt: it holds NUL bytes" in watch.said)

    write_files(watch.folder, {"corpus.yaml": "documents: {}\n"})
    watch.until(lambda: "must hold one key, 'documents'" in watch.said)
    (watch.folder / "corpus.yaml").unlink()
    write_files(watch.folder, {"rye.md": RYE})
    watch.holds({"oats.md": OATS, "rye.md": RYE})
    assert watch.said.count("refused bad.txt") == 1
    assert watch.stop() == 0


def test_a_folder_that_comes_back_is_watched_again(watch: Watch) -> None:
    write_files(watch.folder, {"oats.md": OATS})
    watch.start()
    watch.holds({"oats.md": OATS})

    watch.folder.rename(watch.folder.with_name("away"))
    watch.until(lambda: "is not there" in watch.said or "does not exist" in watch.said)
    assert watch.documents() == {"oats.md": OATS}
    write_files(watch.folder, {"oats.md": OATS, "rye.md": RYE})
    watch.holds({"oats.md": OATS, "rye.md": RYE})
    write_files(watch.folder, {"rye.md": "Sow rye at 3 cm.\n"})
    watch.holds({"oats.md": OATS, "rye.md": "Sow rye at 3 cm.\n"})
    assert watch.stop() == 0


def test_what_is_no_folder_cannot_be_watched(tmp_path: Path) -> None:
    assert failed(run("watch", tmp_path / "none", "--index", tmp_path / "index"), "is no folder")
