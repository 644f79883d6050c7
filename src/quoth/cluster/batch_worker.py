"""What a node does in a batch: it opens the index once in a process, and answers a few questions at a time."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from quoth.cluster.batch_hosts import Hosts, hosted_store
from quoth.errors import IndexMismatch, QuestionError, QuothError
from quoth.interfaces.python import Quoth
from quoth.render import json_line, outcome_json
from quoth.settings import Overrides
from quoth.types import Question
from quoth.wiring import open_store


@dataclass(frozen=True, slots=True)
class Job:
    """What every process is told. Relative paths in the settings start in `folder`.

    Where there are `hosts`, one for each shard, they are asked and the index is not opened.
    """

    id: str
    index: str
    digest: str
    overrides: Overrides
    folder: str
    hosts: Hosts


@dataclass(frozen=True, slots=True)
class Unaskable:
    why: str


_opened: dict[str, Quoth] = {}
"""By the job. A process of Ray's works for one driver, and so for one job."""


def answer(job: Job, questions: Sequence[Question]) -> tuple[str | Unaskable, ...] | QuothError:
    """For each question its line of JSON, or why it cannot be asked."""
    try:
        quoth = _opened.get(job.id) or _open(job)
        return tuple(_line(quoth, question, job) for question in questions)
    except QuothError as error:
        return error


def _open(job: Job) -> Quoth:
    with suppress(OSError):  # a node that does not see this folder can still do without it
        os.chdir(job.folder)
    settings = job.overrides.over({}, profile="none").store
    store = hosted_store(job.index, job.hosts, settings) if job.hosts else open_store(job.index, settings)
    quoth = Quoth(store, job.overrides)
    quoth.prepare()
    _opened[job.id] = quoth
    return quoth


def _line(quoth: Quoth, question: Question, job: Job) -> str | Unaskable:
    try:
        outcome = quoth.ask(question)
    except QuestionError as error:
        return Unaskable(str(error))
    if outcome.notes.index != job.digest:  # one file of answers is about one version of the index
        raise IndexMismatch(
            f"the index at {quoth.place} was changed during the run",
            hint="Answer all questions anew, with another -o; the answers so far are about the index as it was.",
        )
    return json_line(outcome_json(outcome))
