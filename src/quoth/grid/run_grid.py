"""Ask each question of each document, on all cores, so that a run that was stopped can go on."""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from quoth.answer.verification import verify_run
from quoth.errors import IndexFault, OffsetMismatch, QuestionError
from quoth.evaluation.judgements import texts_of
from quoth.grid.grid_cells import Grid, GridPlan, cell_line
from quoth.grid.journal import journal_path, open_journal
from quoth.grid.write_grid import write_grid
from quoth.library import Quoth
from quoth.protocols import Progress
from quoth.types import Outcome, Question


class IndexChanged(IndexFault):
    """The index changed while a grid was made, so that its cells would come from different texts."""

    code = "index-changed"
    hint = "Run it again: it starts anew with the index as it is now."

    def __init__(self) -> None:
        super().__init__("the index changed while the grid was made")


def make_grid(
    quoth: Quoth,
    plan: GridPlan,
    output: Path,
    *,
    workers: int,
    tell: Callable[[str], None],
    progress: Progress | None = None,
) -> Grid:
    """Write the grid to `output`, in the format of its suffix, and return it. The same plan gives the same bytes.

    Finished cells are kept in a journal beside it until the output is complete, and another call goes on from there.
    `tell` is called with a sentence when it does, or why it cannot. Raise `IndexChanged` when the index is written
    meanwhile.
    """
    with open_journal(journal_path(output), plan.identity(), tell) as journal:
        total = sum(1 for _ in plan.asked())

        def keep(line: dict[str, Any]) -> None:
            journal.add(line)
            if progress:
                progress("asking", len(journal.lines), total)

        if progress:
            progress("asking", len(journal.lines), total)
        ask_cells(quoth, plan, keep, skip=len(journal.lines), workers=workers)
        grid = Grid(plan, tuple(journal.lines))
        _check_quotes(quoth, grid, hint=f"Remove {journal_path(output)}, and run it again.")
        write_grid(quoth, grid, output)
    return grid


def ask_cells(
    quoth: Quoth, plan: GridPlan, keep: Callable[[dict[str, Any]], None], *, workers: int, skip: int = 0
) -> None:
    """Ask all but the first `skip` questions of a plan, and call `keep` with each cell as JSON, in order."""
    documents = {document.id: document for document in plan.documents}

    def deliver(question: Question, outcome: Outcome | QuestionError) -> None:
        if isinstance(outcome, QuestionError):
            raise outcome
        if outcome.notes.index != plan.index:
            raise IndexChanged
        keep(cell_line(documents[question.filters.doc_ids[0]], outcome))

    quoth.answer_each(islice(plan.asked(), skip, None), deliver, workers=workers)


def _check_quotes(quoth: Quoth, grid: Grid, *, hint: str) -> None:
    """Raise `OffsetMismatch` unless every quote is what its document says: some cells come from a file."""
    for failure in verify_run(grid.lines, texts_of(quoth)).failures:
        error = OffsetMismatch(failure.doc_id, failure.start, failure.end)
        error.hint = hint
        raise error
