"""Jobs: their order, what is done together, and that only one process does them."""

from __future__ import annotations

import pytest

from quoth.http.jobs import JobTable, WriteJob
from quoth.http.response_types import ErrorDetailJson

from ..command_line import PATIENCE
from .job_places import database_at
from .serving import wait_for
from .uploading import python


@pytest.fixture
def jobs(place: str) -> JobTable:
    return JobTable(database_at(place), clock=lambda: 0.0)


def add(jobs: JobTable, *wanted: str) -> None:
    """`+a` puts a document, `-a` deletes it; the number of the job is its id."""
    for number, one in enumerate(wanted):
        jobs.add(str(number), "put" if one[0] == "+" else "delete", one[1:])


def rounds(jobs: JobTable) -> list[list[str]]:
    found = []
    while claimed := jobs.claim():
        found.append([("+" if job.kind == "put" else "-") + job.doc_id for job in claimed])
        for job in claimed:
            jobs.finish(job, error=None, notes=())
    return found


def test_a_job_is_told_as_it_is(jobs: JobTable) -> None:
    added = jobs.add("x", "put", "a.md")

    assert added == WriteJob(
        "x", "put", "a.md", "queued", "", 0, 0, None, [], "1970-01-01T00:00:00.000+00:00", None, 0, None, 0
    )
    (claimed,) = jobs.claim()
    assert claimed == added  # as it was before it was claimed
    jobs.progress([claimed], step="reading", done=1, total=3)
    assert (now := jobs.get("x")) is not None
    assert (now.state, now.step, now.done, now.total, now.tries) == ("running", "reading", 1, 3, 1)
    jobs.finish(claimed, error=ErrorDetailJson("c", "m", "h"), notes=["ä"])
    assert (now := jobs.get("x")) is not None
    assert (now.state, now.step, now.notes, now.finished) == ("failed", "", ["ä"], "1970-01-01T00:00:00.000+00:00")
    assert now.json()["error"] == {"code": "c", "message": "m", "hint": "h"}
    assert "tries" not in now.json()
    jobs.progress([claimed], step="late", done=0, total=0)
    assert jobs.get("x") == now
    assert jobs.get("y") is None


@pytest.mark.parametrize(
    ("wanted", "together"),
    [
        (["+a", "+b", "+c"], [["+a", "+b", "+c"]]),
        (["+a", "-a", "+a"], [["+a"], ["-a"], ["+a"]]),
        (["+a", "+a"], [["+a"], ["+a"]]),
        (["+a", "+b", "+a", "+c"], [["+a", "+b"], ["+a", "+c"]]),
        (["-a", "-b", "+a"], [["-a", "-b"], ["+a"]]),
        (["+a", "-b", "+c"], [["+a"], ["-b"], ["+c"]]),
    ],
)
def test_what_can_be_done_at_once_is_and_the_order_is_kept(
    jobs: JobTable, wanted: list[str], together: list[list[str]]
) -> None:
    add(jobs, *wanted)

    assert rounds(jobs) == together


def test_not_too_many_are_done_at_once(jobs: JobTable) -> None:
    add(jobs, *(f"+{number}" for number in range(100)))

    assert [len(one) for one in rounds(jobs)] == [64, 36]


def test_what_was_cut_off_comes_again_and_by_itself(jobs: JobTable, place: str) -> None:
    add(jobs, "+a", "+b", "+c")
    assert len(jobs.claim()) == 3
    jobs.finish(jobs.unfinished()[0], error=None, notes=())

    again = JobTable(database_at(place))  # a new process
    assert rounds(again) == [["+b"], ["+c"]]


def test_what_is_given_back_was_never_begun(jobs: JobTable) -> None:
    add(jobs, "+a", "+b")
    jobs.release(jobs.claim())

    assert [(job.state, job.tries) for job in jobs.unfinished()] == [("queued", 0)] * 2
    assert rounds(jobs) == [["+a", "+b"]]


def test_the_last_job_of_a_document_is_known_until_it_is_done(jobs: JobTable) -> None:
    add(jobs, "+a", "+b", "-a")

    assert (last := jobs.last_unfinished("a")) is not None
    assert last.kind == "delete"
    assert jobs.waiting() == 3
    rounds(jobs)
    assert jobs.last_unfinished("a") is None
    assert (jobs.waiting(), jobs.unfinished()) == (0, ())


def test_the_newest_are_listed_first(jobs: JobTable) -> None:
    add(jobs, "+a", "+b", "+c")

    assert [job.doc_id for job in jobs.recent(2)] == ["c", "b"]


def test_old_jobs_are_forgotten_but_none_that_is_to_do(jobs: JobTable, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quoth.http.jobs._MOST_STORED", 3)
    jobs.add("first", "put", "first")
    for number in range(6):
        jobs.finish(jobs.add(str(number), "put", "a"), error=None, notes=())

    assert [job.id for job in jobs.recent(10)] == ["5", "4", "3", "first"]


def test_ids_differ(jobs: JobTable) -> None:
    assert len({jobs.new_id() for _ in range(100)}) == 100


def test_one_at_a_time_does_jobs(place: str) -> None:
    first, second = JobTable(database_at(place)), JobTable(database_at(place))
    with first.alone() as mine:
        with second.alone() as theirs:
            assert (mine, theirs) == (True, False)
        with second.alone() as theirs:
            assert not theirs
    with second.alone() as theirs:
        assert theirs


_HOLD = """
import sys
from quoth.http.jobs import JobTable
from tests.doors.http.job_places import database_at
jobs = JobTable(database_at(sys.argv[1]))
with jobs.alone() as mine:
    jobs.claim()
    print(mine, flush=True)
    sys.stdin.read()
"""


def test_a_process_that_is_killed_lets_go_at_once(jobs: JobTable, place: str) -> None:
    add(jobs, "+a")
    with python(_HOLD, place) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == b"True\n"
        with jobs.alone() as mine:
            assert not mine
        other.kill()
        other.wait(PATIENCE)
        wait_for(lambda: claimed(jobs))


def claimed(jobs: JobTable) -> bool:
    """Take the job that was cut off; a server sees a moment later that a process has ended."""
    with jobs.alone() as mine:
        assert not mine or [job.tries for job in jobs.claim()] == [1]
        return mine


_COUNT = """
import sys
sys.stdin.read()
from quoth.http.jobs import JobTable
from tests.doors.http.job_places import database_at
jobs = JobTable(database_at(sys.argv[1]))
for number in range(20):
    jobs.add(jobs.new_id(), "put", f"{sys.argv[2]}-{number}")
"""


def test_processes_that_begin_together_all_get_their_jobs_in(place: str) -> None:
    others = [python(_COUNT, place, str(number)) for number in range(4)]
    for other in others:
        assert other.stdin is not None
        other.stdin.close()
    for other in others:
        with other:
            assert other.wait(PATIENCE) == 0

    assert {job.doc_id for job in JobTable(database_at(place)).unfinished()} == {
        f"{process}-{number}" for process in range(4) for number in range(20)
    }
