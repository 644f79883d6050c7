"""The runner: every accepted upload is done once, whole, in order, whatever ends in between."""

from __future__ import annotations

import errno
import hashlib
import json
import sqlite3
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import cast

import pytest

from quoth.documents.ingest_report import IngestReport
from quoth.errors import IndexBusy, IndexDamaged, ModelError, QuothError, SettingsError
from quoth.http.job_file import JobFile
from quoth.http.job_runner import JobRunner, RunnerLimits
from quoth.http.jobs import JobTable
from quoth.http.shared_uploads import SharedContent
from quoth.protocols import JobDatabase, Progress, Statements
from quoth.types import IndexInfo, Refused

from ..command_line import PATIENCE
from .job_places import database_at
from .uploading import CHANGES, TRANSACTION, Crash, crashing_after, leftovers, python

QUICK = RunnerLimits(look=0.05, busy=60, tidy=0, old=-60, tries=3)


@dataclass
class Index:
    """Stands for an index that cannot read files that begin with BAD: a folder of copies, written one by one."""

    folder: Path
    library: Path
    writes: list[list[str]] = field(default_factory=list)
    trouble: Callable[[Sequence[str]], None] = lambda _: None

    def ingest(self, doc_ids: Sequence[str], progress: Progress) -> IngestReport:
        self.trouble(doc_ids)
        self.writes.append(sorted(doc_ids))
        refused = []
        for number, doc_id in enumerate(doc_ids, 1):
            data = (self.library / doc_id).read_bytes()
            progress("reading", number, len(doc_ids))
            if data.startswith(b"BAD"):
                refused.append(Refused(doc_id, "it is bad", "Make it good.", kept=False))
            else:
                self._at(doc_id).write_bytes(data)
        info = cast(IndexInfo, None)
        return IngestReport(info, (), 0, tuple(refused), {}, {"noted.md": ("a note",)}, {}, {}, (), ())

    def remove(self, doc_ids: Sequence[str]) -> Collection[str]:
        self.trouble(doc_ids)
        missing = [doc_id for doc_id in doc_ids if not self._at(doc_id).exists()]
        for doc_id in doc_ids:
            self._at(doc_id).unlink(missing_ok=True)
        return missing

    def held(self) -> dict[str, bytes]:
        return {path.name.replace("|", "/"): path.read_bytes() for path in self.folder.iterdir()}

    def _at(self, doc_id: str) -> Path:
        return self.folder / doc_id.replace("/", "|")


class _Unsynced(JobFile):
    """Does not wait for the disk: processes are ended here, but no power is cut."""

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        with super()._connection() as connection:
            connection.execute("PRAGMA synchronous = OFF")
            yield connection


@dataclass
class _Counted:
    """A database whose every transaction is an event that `crashing_after` can count."""

    database: JobDatabase

    def __post_init__(self) -> None:
        self.alone = self.database.alone

    @contextmanager
    def transaction(self, *, alone: bool = False) -> Iterator[Statements]:
        sys.audit(TRANSACTION)
        with self.database.transaction(alone=alone) as run:
            yield run


@dataclass
class Works:
    """A state folder, and the database of `shared` if it is named, with everything that does jobs."""

    place: Path
    patience: RunnerLimits = QUICK
    shared: str = ""

    def __post_init__(self) -> None:
        (self.place / "index").mkdir(parents=True, exist_ok=True)
        self.index = Index(self.place / "index", self.place)
        self.database = _Counted(database_at(self.shared)) if self.shared else None
        self.runner = JobRunner(
            self.place,
            ingest=self.index.ingest,
            remove=self.index.remove,
            limits=self.patience,
            shared=self.database,
        )
        if self.database is None:
            self.runner.jobs = JobTable(_Unsynced(self.place / "service.db"))
        self.jobs, self.library = self.runner.jobs, self.runner.files
        self.index.library = self.library.path

    def again(self) -> Works:
        """What another process makes of the same place."""
        return Works(self.place, self.patience, self.shared)

    def ended(self) -> list[tuple[str, str | None]]:
        """Return the document and the error code of each line in the audit log."""
        lines = map(json.loads, (self.place / "audit.jsonl").read_text().splitlines())
        return [(line["doc_id"], line["error"]["code"] if line["error"] else None) for line in lines]

    def put(self, doc_id: str, content: bytes, **fields: str) -> str:
        job_id = self.jobs.new_id()
        self.library.incoming(job_id).write_bytes(content)
        self.library.keep(job_id, doc_id, hashlib.sha256(content).hexdigest())
        self.library.describe(job_id, fields)
        return self.jobs.add(job_id, "put", doc_id).id

    def delete(self, doc_id: str) -> str:
        return self.jobs.add(self.jobs.new_id(), "delete", doc_id).id

    def how(self, job_id: str) -> str:
        job = self.jobs.get(job_id)
        assert job is not None
        return job.error.code if job.error else job.state

    def files(self) -> dict[str, bytes]:
        """Return the file of each document."""
        if self.database is not None:
            with self.database.transaction() as run:
                rows = run.execute("SELECT doc_id, sha256 FROM upload_files WHERE installed")
            content = SharedContent(self.database)
            return {doc_id: content.content(doc_id, sha256) or b"" for doc_id, sha256 in rows}
        found = (path for path in self.library.path.rglob("*.md") if path.is_file())
        return {path.relative_to(self.library.path).as_posix(): path.read_bytes() for path in found}

    def fields(self, doc_id: str) -> str:
        """Return the metadata that is kept of a document."""
        if self.database is not None:
            with self.database.transaction() as run:
                return str(
                    run.execute("SELECT fields FROM upload_files WHERE doc_id = ? AND installed", (doc_id,))[0][0]
                )
        return (self.library.path / f"{doc_id}.meta.yaml").read_text()

    def leftovers(self) -> list[str]:
        """Return the files and copies of jobs, of which a finished one has none."""
        found = leftovers(self.library.path)
        if self.database is not None:
            found += [path.name for path in self.library.path.iterdir() if not path.name.startswith(".")]
            with self.database.transaction() as run:
                found += [job for (job,) in run.execute("SELECT job FROM upload_files WHERE NOT installed")]
        return found

    def finished(self, *job_ids: str) -> None:
        until = time.monotonic() + PATIENCE
        while self.jobs.waiting():
            assert time.monotonic() < until, [self.jobs.get(one) for one in job_ids]
            time.sleep(0.01)


@pytest.fixture
def shared(place: str) -> str:
    """A database, or nothing for a folder."""
    return place if "|" in place else ""


@pytest.fixture
def works(tmp_path: Path, shared: str) -> Works:
    return Works(tmp_path / "state", shared=shared)


def test_uploads_and_removals_of_one_document_are_done_in_their_order(works: Works) -> None:
    jobs = [works.put("a.md", b"one"), works.delete("a.md"), works.put("a.md", b"two"), works.put("a.md", b"three")]
    works.runner.run_all()

    assert [works.how(one) for one in jobs] == ["done"] * 4
    assert works.index.held() == works.files() == {"a.md": b"three"}
    works.delete("a.md")
    works.runner.run_all()
    assert works.index.held() == works.files() == {}


def test_many_uploads_are_one_write_and_each_ends_as_it_should(works: Works) -> None:
    works.put("10.md", b"old 10", title="Old")
    works.runner.run_all()
    jobs = {number: works.put(f"{number}.md", b"BAD" if number % 10 == 0 else b"%d" % number) for number in range(60)}
    noted = works.put("noted.md", b"text")
    works.runner.run_all()

    assert {number: works.how(one) for number, one in jobs.items()} == {
        number: "unreadable-file" if number % 10 == 0 else "done" for number in range(60)
    }
    expected = {f"{number}.md": b"%d" % number for number in range(60) if number % 10} | {"10.md": b"old 10"}
    assert works.index.held() == works.files() == expected | {"noted.md": b"text"}
    assert (job := works.jobs.get(noted)) is not None
    assert job.notes == ["a note"]
    assert len(works.index.writes) == 2
    assert works.fields("10.md") == "title: Old\n"
    assert works.leftovers() == []
    assert len(works.ended()) == 62
    assert ("20.md", "unreadable-file") in works.ended()


def test_a_job_that_cannot_be_done_does_no_harm_to_those_beside_it(works: Works) -> None:
    def trouble(doc_ids: Sequence[str]) -> None:
        if "poison.md" in doc_ids:
            raise ZeroDivisionError

    works.index.trouble = trouble
    jobs = [works.put(name, b"text") for name in ("a.md", "poison.md", "b.md", "a.md/c.md")]
    works.runner.run_all()

    assert [works.how(one) for one in jobs] == ["done", "internal", "done", "document-id"]
    assert works.index.held() == works.files() == {"a.md": b"text", "b.md": b"text"}
    assert works.leftovers() == []


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ModelError("the model is not in /srv/models", hint="Fetch it to /srv."), "model", "not set up for this"),
        (IndexDamaged("/srv/index is damaged", hint="Remove /srv/index."), "index-damaged", "cannot be used now"),
        (SettingsError("/srv/quoth.yaml is wrong", hint="Correct /srv/quoth.yaml."), "settings", "not set up for this"),
    ],
)
def test_an_error_of_the_program_is_told_without_what_only_its_operator_should_know(
    works: Works, error: QuothError, code: str, said: str
) -> None:
    def trouble(_: Sequence[str]) -> None:
        raise error

    works.index.trouble = trouble
    one = works.put("a.md", b"text")
    works.runner.run_all()

    assert (job := works.jobs.get(one)) is not None
    assert job.error is not None
    assert (job.error.code, said in job.error.message) == (code, True)
    assert "/srv" not in str(job.error)
    assert job.error.hint
    assert works.files() == {}


def test_a_full_disk_is_told_and_what_was_there_is_back(works: Works) -> None:
    def trouble(_: Sequence[str]) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    works.put("a.md", b"old")
    works.runner.run_all()
    works.index.trouble = trouble
    one = works.put("a.md", b"new")
    works.runner.run_all()

    assert (job := works.jobs.get(one)) is not None
    assert job.error is not None
    assert (job.error.code, "No space left" in job.error.message) == ("no-room", True)
    assert works.files() == {"a.md": b"old"}
    assert works.leftovers() == []


def test_a_document_that_is_not_there_cannot_be_removed(works: Works) -> None:
    jobs = [works.delete("a.md"), works.delete("a name that no upload can have")]
    works.runner.run_all()

    assert [works.how(one) for one in jobs] == ["no-document"] * 2


def test_a_document_of_another_folder_with_any_name_can_be_removed(works: Works) -> None:
    (works.index.folder / "minutes").write_bytes(b"a file without an ending")
    jobs = [works.delete("minutes"), works.delete("b.md")]
    works.runner.run_all()

    assert [works.how(one) for one in jobs] == ["done", "no-document"]


def test_another_writer_is_waited_for(works: Works) -> None:
    waited = threading.Event()
    free = threading.Event()

    def trouble(_: Sequence[str]) -> None:
        if not free.is_set():
            waited.set()
            raise IndexBusy("another process is writing", hint="Wait.")

    works.index.trouble = trouble
    one = works.put("a.md", b"text")
    works.runner.start()
    works.runner.wake()
    assert waited.wait(PATIENCE)
    assert works.how(one) == "running"
    free.set()
    works.finished(one)
    works.runner.stop(PATIENCE)

    assert works.how(one) == "done"


def test_who_waits_for_another_writer_too_long_is_told(tmp_path: Path, shared: str) -> None:
    works = Works(tmp_path, replace(QUICK, busy=0), shared)

    def trouble(_: Sequence[str]) -> None:
        raise IndexBusy("another process is writing", hint="Wait.")

    works.index.trouble = trouble
    jobs = [works.put("a.md", b"text"), works.put("b.md", b"text")]
    works.runner.run_all()

    assert [works.how(one) for one in jobs] == [IndexBusy.code] * 2
    assert works.files() == {}


def test_a_job_that_waits_when_the_service_ends_is_done_by_the_next_one(works: Works) -> None:
    waited = threading.Event()

    def trouble(_: Sequence[str]) -> None:
        waited.set()
        raise IndexBusy("another process is writing", hint="Wait.")

    works.index.trouble = trouble
    one = works.put("a.md", b"text")
    works.runner.start()
    assert waited.wait(PATIENCE)
    works.runner.stop(PATIENCE)
    assert works.how(one) == "queued"

    after = works.again()
    after.runner.run_all()
    assert after.how(one) == "done"
    assert after.index.held() == after.files() == {"a.md": b"text"}


def test_a_job_that_ends_its_process_again_and_again_is_given_up(works: Works) -> None:
    def trouble(doc_ids: Sequence[str]) -> None:
        if "deadly.md" in doc_ids:
            raise Crash

    works.put("deadly.md", b"old")
    works.runner.run_all()
    jobs = [works.put(name, b"new") for name in ("a.md", "deadly.md", "b.md")]
    died = 0
    while works.jobs.waiting():
        again = works.again()
        again.index.trouble = trouble
        try:
            again.runner.run_all()
        except Crash:
            died += 1

    assert [works.how(one) for one in jobs] == ["done", "cut-off", "done"]
    assert died == QUICK.tries
    assert works.index.held() == works.files() == {"a.md": b"new", "deadly.md": b"old", "b.md": b"new"}


def test_after_a_crash_at_any_step_everything_ends_as_it_should(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: str
) -> None:
    monkeypatch.setattr("os.fsync", lambda _: None)
    for changes in range(2_000):
        works = Works(tmp_path / str(changes), shared=shared)
        if works.database is not None:
            with works.database.transaction() as run:
                run.execute("TRUNCATE jobs, uploads, upload_files CASCADE")
        works.put("old.md", b"old", title="Old")
        works.put("gone.md", b"gone")
        works.runner.run_all()
        jobs = [
            works.put("old.md", b"BAD", title="Worse"),
            works.put("new/a.md", b"a", title="A"),
            works.delete("gone.md"),
        ]
        died = False
        try:
            with crashing_after(changes, counted=[TRANSACTION] if shared else CHANGES):
                works.runner.run_all()
        except Crash:
            died = True
        again = works.again()
        again.runner.run_all()
        assert [again.how(one) for one in jobs] == ["unreadable-file", "done", "done"], changes
        assert again.index.held() == again.files() == {"old.md": b"old", "new/a.md": b"a"}, changes
        assert again.fields("old.md") == "title: Old\n"
        assert again.fields("new/a.md") == "title: A\n"
        assert again.jobs.unfinished() == ()
        again.library.tidy(set, older_than=-60)
        assert again.leftovers() == []
        if not died:
            assert changes > 20
            return
    raise AssertionError("it never came to an end")


def test_what_a_crash_left_behind_is_tidied_up_when_the_service_begins(works: Works) -> None:
    (works.library.path / ".incoming" / "dead").write_bytes(b"half a f")
    (works.library.path / ".previous" / "dead.kept").touch()
    one = works.put("a.md", b"text")
    works.runner.start()
    works.finished(one)
    works.runner.stop(PATIENCE)

    assert works.leftovers() == []
    assert works.how(one) == "done"


def test_a_job_whose_end_cannot_be_written_down_is_done_again_and_not_undone(
    works: Works, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    one = works.put("a.md", b"new")
    with monkeypatch.context() as patch:
        patch.setattr(works.jobs, "finish", full)
        with pytest.raises(sqlite3.OperationalError):
            works.runner.run_all()
    assert works.files() == works.index.held() == {"a.md": b"new"}
    works.runner.run_all()
    assert works.how(one) == "done"


_WORKER = """
import sys, time
from dataclasses import replace
from pathlib import Path
from tests.doors.http.test_runner import QUICK, Works

works = Works(Path(sys.argv[1]), replace(QUICK, old=600), sys.argv[3])
log = works.place / "log"

def trouble(doc_ids):
    with log.open("ab", buffering=0) as file:
        for doc_id in doc_ids:
            file.write(f"begin {doc_id}\\n".encode())
        time.sleep(0.02)
        for doc_id in doc_ids:
            file.write(f"end {doc_id}\\n".encode())

works.index.trouble = trouble
works.runner.start()
print("ready", flush=True)
for number in range(10):
    works.put(f"{sys.argv[2]}-{number}.md", b"text")
    works.runner.wake()
sys.stdin.read()
works.runner.stop(30)
"""


def test_processes_share_the_jobs_and_none_is_done_twice_or_at_once(tmp_path: Path, shared: str) -> None:
    works = Works(tmp_path, shared=shared)
    others = [python(_WORKER, tmp_path, str(number), shared) for number in range(3)]
    for other in others:
        assert other.stdout is not None
        assert other.stdout.readline() == b"ready\n"
    until = time.monotonic() + PATIENCE
    while len(works.jobs.recent(100)) < 30 or works.jobs.waiting():
        assert time.monotonic() < until
        time.sleep(0.1)
    for other in others:
        other.communicate(timeout=PATIENCE)
        assert other.returncode == 0

    lines = (tmp_path / "log").read_text().splitlines()
    assert sorted(lines) == sorted(
        f"{what} {number}-{one}.md" for what in ("begin", "end") for number in range(3) for one in range(10)
    )
    running: set[str] = set()
    for what, doc_id in (line.split() for line in lines):
        if what == "begin":
            running.add(doc_id)
        else:  # all that had begun end before another begins
            running.remove(doc_id)
    assert running == set()
    flat = "".join("b" if line.startswith("begin") else "e" for line in lines)
    assert all(len(part) == len(ends) for part, ends in _batches(flat))
    assert len(works.index.held()) == 30


def _batches(flat: str) -> list[tuple[str, str]]:
    """The runs of beginnings with the runs of ends that follow them."""
    runs = flat.replace("eb", "e b").split()
    return [(one[: one.index("e")], one[one.index("e") :]) for one in runs]


_STUCK = """
import json, sys, time
from pathlib import Path
from tests.doors.http.test_runner import Works

works = Works(Path(sys.argv[1]), shared=sys.argv[2])

def trouble(doc_ids):
    print(json.dumps(sorted(doc_ids)), flush=True)
    time.sleep(600)

works.index.trouble = trouble
works.runner.start()
sys.stdin.read()
"""


def test_what_a_killed_process_was_doing_is_taken_up_at_once(works: Works) -> None:
    works.put("a.md", b"old", title="Old")
    works.runner.run_all()
    jobs = [works.put("a.md", b"new", title="New"), works.put("b.md", b"BAD"), works.put("c/d.md", b"d")]
    with python(_STUCK, works.place, works.shared) as other:
        assert other.stdout is not None
        assert json.loads(other.stdout.readline()) == ["a.md", "b.md", "c/d.md"]
        seen = {path: (works.library.path / path).read_bytes() for path in ("a.md", "b.md", "c/d.md")}
        assert seen == {"a.md": b"new", "b.md": b"BAD", "c/d.md": b"d"}
        works.runner.run_all()  # nothing: the other is at it
        assert [works.how(one) for one in jobs] == ["running"] * 3
        other.kill()
        other.wait(PATIENCE)
    until = time.monotonic() + PATIENCE  # a server sees a moment later that a process has ended
    while works.jobs.waiting() and time.monotonic() < until:
        works.runner.run_all()

    assert [works.how(one) for one in jobs] == ["done", "unreadable-file", "done"]
    assert works.index.held() == works.files() == {"a.md": b"new", "c/d.md": b"d"}
    assert works.leftovers() == []
