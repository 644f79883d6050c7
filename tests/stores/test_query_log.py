from __future__ import annotations

import json
import logging
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from quoth.errors import QuothError
from quoth.passages.quality import SourceRelevance, quality_of
from quoth.stores.query_log import REST_SECONDS, QueryEntry, QueryLog
from quoth.types import Filters, FoundBy, Retrieval
from retrievals import retrieval

FILTERS = Filters(
    doc_ids=("b.md", "a.md"), tags={"crop": ("wheat", "canola")}, document_types=("ccr",), is_binding=True, as_of=None
)
TESTS = Path(__file__).parents[1]

# What a process of its own does: it writes entries until it has written enough, or is killed.
WRITER = """
import os, sys
sys.path.insert(0, sys.argv[1])
from stores.test_query_log import QueryLog, numbered, write
if sys.argv[4:] == ["nobody"] and os.getuid() == 0: os.setuid(65534)
log = QueryLog(sys.argv[2])
sys.stdin.readline()
for number in range(int(sys.argv[3])):
    write(log, numbered(number))
    print(number, flush=True)
log.close()
"""


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def entry(question: str = "How deep is it sown?", *, at: str = "2026-01-31T08:00:00+00:00") -> tuple[Retrieval, str]:
    """A retrieval, and its time."""
    passages = ((FoundBy.BOTH, 0.9), (FoundBy.FULL_TEXT, 1 / 3), (FoundBy.VECTOR, 0.7), (FoundBy.VECTOR, 0.1 + 0.2))
    return retrieval(*passages, question=question, filters=FILTERS, degraded=("dense", "llm")), at


def numbered(number: int) -> tuple[Retrieval, str]:
    return entry(f"question {number}", at=f"2026-01-31T08:{number // 60 % 60:02}:{number % 60:02}Z")


def write(log: QueryLog, timed: tuple[Retrieval, str]) -> None:
    log.record(timed[0], time=timed[1], milliseconds=12.75)


def writer(path: Path, count: int, *options: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", WRITER, TESTS, path, str(count), *options],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "queries.db"


@pytest.fixture
def log(path: Path, clock: Clock) -> Iterator[QueryLog]:
    one = QueryLog(path, clock=clock)
    yield one
    one.close()


def test_an_entry_comes_back_as_it_was(log: QueryLog, path: Path) -> None:
    written, at = entry("Wie tief? \x00 😀 'quoted'; DROP TABLE queries", at="2026-01-31T08:00:00.250000+00:00")
    write(log, (written, at))

    [read] = log.entries(None, None)

    assert read == QueryEntry(at, written.question.text, quality_of(written))
    assert read.quality.sources[FoundBy.VECTOR] == SourceRelevance(2, 1.0)
    assert read.quality.degraded == ("dense", "llm")
    with closing(sqlite3.connect(path)) as connection:
        [row] = connection.execute(
            "SELECT kind, best, lexical_weight, dense_weight, filters, milliseconds FROM queries"
        )
    assert row[:4] == ("general", written.best, *written.weights)
    assert json.loads(row[4]) == {
        "doc_ids": ["b.md", "a.md"],
        "tags": {"crop": ["wheat", "canola"]},
        "document_types": ["ccr"],
        "is_binding": True,
        "as_of": None,
        "regions": [],
        "authors": [],
        "years": None,
        "dois": [],
        "languages": [],
    }
    assert row[5] == 12.75


def test_a_lone_surrogate_is_no_reason_to_lose_an_entry(log: QueryLog) -> None:
    write(log, entry("How \ud800 deep?"))

    assert [one.question for one in log.entries(None, None)] == ["How ? deep?"]


def test_times_are_compared_whatever_form_they_are_given_in(log: QueryLog) -> None:
    for at in ("2026-01-31T08:00:01Z", "2026-01-31T09:30:00+02:00", "2026-01-31T08:00:01.5Z", "2026-01-30"):
        write(log, entry(at=at))

    times = [one.time[8:23] for one in log.entries(None, None)]

    assert times == ["30T00:00:00.000", "31T07:30:00.000", "31T08:00:01.000", "31T08:00:01.500"]
    assert len(log.entries("2026-01-31", None)) == 3
    assert len(log.entries("2026-01-31T08:00:01+00:00", None)) == 2
    assert len(log.entries("2026-01-31T09:00:01.1+01:00", None)) == 1
    assert log.entries("2027-01-01", None) == ()


def test_the_latest_are_given_in_the_order_of_their_time(log: QueryLog) -> None:
    for number in (3, 1, 2, 2, 0):
        write(log, numbered(number))

    assert [one.question for one in log.entries(None, 3)] == ["question 2", "question 2", "question 3"]
    assert log.entries(None, 0) == ()
    assert len(log.entries("2026-01-31T08:00:01Z", 9)) == 4


def test_a_time_that_is_none_is_told(log: QueryLog) -> None:
    write(log, entry())

    with pytest.raises(QuothError, match="'yesterday' is not a time") as caught:
        log.entries("yesterday", None)

    assert "2026-01-31" in caught.value.hint


def test_a_wrong_time_does_not_break_a_question(log: QueryLog, caplog: pytest.LogCaptureFixture) -> None:
    write(log, entry(at="now"))

    assert "'now' is not a time" in caplog.text


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o277])
def test_only_its_owner_can_read_it(log: QueryLog, path: Path, umask: int) -> None:
    before = os.umask(umask)
    try:
        write(log, entry())
    finally:
        os.umask(before)

    kept = sorted(one.name for one in path.parent.iterdir())
    assert kept == ["queries.db", "queries.db-shm", "queries.db-wal"] or umask == 0o277
    assert all(one.stat().st_mode & 0o077 == 0 for one in path.parent.iterdir())


def test_nothing_is_made_before_the_first_entry(log: QueryLog, path: Path) -> None:
    with pytest.raises(QuothError, match="there is no query log") as caught:
        log.entries(None, None)

    assert "log.queries" in caught.value.hint
    assert not path.exists()


def test_it_is_merged_into_one_file_when_it_is_closed(log: QueryLog, path: Path) -> None:
    write(log, entry())
    log.close()

    assert [one.name for one in path.parent.iterdir()] == ["queries.db"]
    assert len(log.entries(None, None)) == 1
    write(log, entry())
    assert len(log.entries(None, None)) == 2


def test_threads_lose_nothing(path: Path) -> None:
    shared, other = QueryLog(path), QueryLog(path)

    def work(log: QueryLog, worker: int) -> None:
        for number in range(25):
            write(log, numbered(worker * 100 + number))
            log.entries(None, 1)

    workers = [threading.Thread(target=work, args=((shared, other)[worker % 2], worker)) for worker in range(6)]
    for one in workers:
        one.start()
    for one in workers:
        one.join()

    questions = {one.question for one in shared.entries(None, None)}
    assert questions == {f"question {worker * 100 + number}" for worker in range(6) for number in range(25)}
    shared.close()
    other.close()


def test_processes_that_begin_at_once_lose_nothing(path: Path) -> None:
    workers = [writer(path, 100) for _ in range(3)]
    for one in workers:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    told = [one.communicate(timeout=120) for one in workers]

    assert [complaint for _, complaint in told] == [""] * 3
    assert len(QueryLog(path).entries(None, None)) == 300


def test_a_process_killed_while_it_writes_loses_nothing_that_it_had_written(path: Path) -> None:
    survivor = QueryLog(path)
    total = 0
    for written in (1, 40):
        with writer(path, 10**6) as process:
            assert process.stdin is not None
            assert process.stdout is not None
            process.stdin.write("go\n")
            process.stdin.flush()
            for _ in range(written):
                last = int(process.stdout.readline())
            process.send_signal(signal.SIGKILL)
            last += len(process.stdout.readlines())
        write(survivor, entry("survivor"))
        kept = [one.question for one in survivor.entries(None, None)]
        total += last + 2
        assert total <= len(kept) <= total + 1  # the last one can have been written and not told
        total = len(kept)
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    survivor.close()


def test_a_child_process_does_not_spoil_the_log_of_its_parent(path: Path) -> None:
    program = """
import os, sys
sys.path.insert(0, sys.argv[1])
from stores.test_query_log import QueryLog, numbered, write
log = QueryLog(sys.argv[2])
write(log, numbered(0))
child = os.fork()
write(log, numbered(1 if child == 0 else 2))
if child == 0: os._exit(0)
os.waitpid(child, 0)
write(log, numbered(3))
print(sorted(one.question for one in log.entries(None, None)))
log.close()
"""
    told = subprocess.run([sys.executable, "-c", program, TESTS, path], capture_output=True, text=True, check=True)

    assert told.stdout.strip() == str([f"question {number}" for number in range(4)])
    assert len(QueryLog(path).entries(None, None)) == 4


def moved(path: Path, *endings: str) -> Path:
    """The place of the log after the files with these endings were moved."""
    for ending in endings:
        path.with_name(path.name + ending).rename(path.with_name("moved.db" + ending))
    return path.with_name("moved.db")


def test_a_log_that_is_moved_away_is_begun_anew(log: QueryLog, path: Path) -> None:
    other = QueryLog(path)
    write(log, entry("mine"))
    write(other, entry("yours"))
    place = moved(path, "", "-wal", "-shm")
    write(log, entry("my new one"))
    write(other, entry("your new one"))

    assert [one.question for one in log.entries(None, None)] == ["my new one", "your new one"]
    assert [one.question for one in QueryLog(place).entries(None, None)] == ["mine", "yours"]
    other.close()


def test_a_log_that_is_moved_away_by_half_waits_for_the_rest(
    log: QueryLog, path: Path, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    write(log, entry("old"))
    moved(path, "")
    write(log, entry("lost"))
    assert f"{path}-wal belongs to a log that was moved away without it" in caplog.text
    assert not path.exists()

    place = moved(path, "-wal", "-shm")
    clock.now += REST_SECONDS
    write(log, entry("new"))

    assert [one.question for one in log.entries(None, None)] == ["new"]
    assert [one.question for one in QueryLog(place).entries(None, None)] == ["old"]


@pytest.fixture
def foreign() -> Iterator[Path]:
    """A log that another user owns, in a folder where everybody may read."""
    with TemporaryDirectory() as folder:
        place = Path(folder) / "queries.db"
        log = QueryLog(place)
        write(log, entry())
        log.close()
        place.chmod(0o444)
        Path(folder).chmod(0o555)
        yield place
        Path(folder).chmod(0o755)


def test_a_read_only_file_drops_entries_and_is_named_once(foreign: Path) -> None:
    with writer(foreign, 5, "nobody") as process:
        told, complaint = process.communicate("go\n", timeout=120)

    assert told.split() == ["0", "1", "2", "3", "4"]
    assert complaint.count("cannot be written") == 1
    assert "Traceback" not in complaint
    assert len(QueryLog(foreign).entries(None, None)) == 1


def test_reading_needs_no_right_to_write(foreign: Path) -> None:
    program = """
import os, sys
sys.path.insert(0, sys.argv[1])
from stores.test_query_log import QueryLog
if os.getuid() == 0: os.setuid(65534)
print(len(QueryLog(sys.argv[2]).entries(None, None)))
"""
    told = subprocess.run([sys.executable, "-c", program, TESTS, foreign], capture_output=True, text=True, check=True)

    assert told.stdout == "1\n"


def test_a_full_disk_drops_entries_and_harms_none_that_are_there(path: Path) -> None:
    program = """
import resource, sys
sys.path.insert(0, sys.argv[1])
from stores.test_query_log import QueryLog, numbered, write
log = QueryLog(sys.argv[2], clock=iter(range(0, 10**6, 10)).__next__)
write(log, numbered(0))
_, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, hard))
for number in range(1, 200): write(log, numbered(number))
resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
write(log, numbered(200))
print([one.question for one in log.entries(None, None)][-1])
log.close()
"""
    told = subprocess.run([sys.executable, "-c", program, TESTS, path], capture_output=True, text=True, check=True)

    assert told.stdout == "question 200\n"
    assert "cannot be written" in told.stderr
    kept = [one.question for one in QueryLog(path).entries(None, None)]
    assert kept == sorted(set(kept), key=lambda one: int(one.split()[1]))
    assert 2 <= len(kept) < 201
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def damaged(path: Path, how: str) -> None:
    log = QueryLog(path)
    for number in range(200):
        write(log, numbered(number))
    log.close()
    content = path.read_bytes()
    match how:
        case "text":
            path.write_text("These are no queries.\n" * 100)
        case "header":
            path.write_bytes(b"\xff" * 100 + content[100:])
        case "pages":
            path.write_bytes(content[:4096] + b"\x5a" * (len(content) - 4096))
        case "half":
            path.write_bytes(content[: len(content) // 2])
        case "short":
            path.write_bytes(content[:50])


@pytest.mark.parametrize("how", ["text", "header", "pages", "half", "short"])
def test_a_damaged_file_breaks_no_question_and_is_named(
    how: str, path: Path, log: QueryLog, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
    damaged(path, how)
    content = path.read_bytes()
    for _ in range(3):
        write(log, entry())
        clock.now += REST_SECONDS

    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert str(path) in caplog.text
    assert path.read_bytes() == content
    with pytest.raises(QuothError, match="damaged") as caught:
        log.entries(None, None)
    assert caught.value.hint


def test_a_damaged_entry_is_a_named_error(log: QueryLog, path: Path) -> None:
    write(log, entry())
    log.close()
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE queries SET degraded = '{'")

    with pytest.raises(QuothError, match="holds an entry that cannot be read"):
        log.entries(None, None)


def test_the_database_of_another_program_is_left_alone(
    log: QueryLog, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE accounts (name TEXT)")
    content = path.read_bytes()
    write(log, entry())

    assert "is not a query log" in caplog.text
    assert path.read_bytes() == content
    with pytest.raises(QuothError, match="is not a query log") as caught:
        log.entries(None, None)
    assert "log.queries" in caught.value.hint


def test_a_newer_version_is_refused_clearly(log: QueryLog, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(log, entry())
    log.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA user_version = 2")

    write(log, entry())

    assert "version 2" in caplog.text
    with pytest.raises(QuothError, match="version 2, and this quoth knows version 1") as caught:
        log.entries(None, None)
    assert "Update quoth" in caught.value.hint


def test_a_folder_in_its_place_is_named(log: QueryLog, path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path.mkdir()
    write(log, entry())

    assert "cannot be written" in caplog.text
    with pytest.raises(QuothError, match="cannot be read"):
        log.entries(None, None)


def test_a_folder_that_is_not_there_is_named_and_not_made(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    write(QueryLog(tmp_path / "none" / "queries.db"), entry())

    assert "cannot be written" in caplog.text
    assert list(tmp_path.iterdir()) == []


def test_a_score_that_is_no_number_breaks_no_question(log: QueryLog, caplog: pytest.LogCaptureFixture) -> None:
    got, at = entry()
    write(log, (replace(got, best=float("nan")), at))

    assert "cannot be written" in caplog.text


def test_a_locked_log_is_left_alone_until_it_is_free_again(
    log: QueryLog, path: Path, clock: Clock, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("quoth.stores.query_log.BUSY_SECONDS", 0.05)
    caplog.set_level(logging.WARNING)
    write(log, entry("before"))
    with closing(sqlite3.connect(path, isolation_level=None)) as holder:
        holder.execute("BEGIN IMMEDIATE")
        log.close()
        begun = time.monotonic()
        for _ in range(1_000):  # were each one to wait, this would take a minute
            write(log, entry("lost"))
        assert time.monotonic() - begun < 30
        holder.execute("COMMIT")
    clock.now += REST_SECONDS
    write(log, entry("after"))

    assert sorted(one.question for one in log.entries(None, None)) == ["after", "before"]
    assert [record.levelname for record in caplog.records] == ["WARNING"]
