"""The comparison of two versions, for people at a terminal."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from rich.markup import escape
from rich.padding import Padding

from quoth.cli.terminal import OUT, plain
from quoth.grid.compare_versions import Change, VersionChange, VersionSide
from quoth.language.word_edits import WordEdit

_COLOURS = {
    Change.SAME: "green",
    Change.CHANGED: "yellow",
    Change.ONLY_IN_A: "red",
    Change.ONLY_IN_B: "cyan",
    Change.IN_NEITHER: "dim",
}


def print_changes(a: str, b: str, changes: Sequence[VersionChange]) -> None:
    """Print each question with its change, then how many there are of each kind."""
    OUT.print(f"A: {plain(a)}\nB: {plain(b)}\n", soft_wrap=True)
    for change in changes:
        colour = _COLOURS[change.change]
        OUT.print(f"[bold]{plain(change.question.text)}[/bold] [{colour}]{change.change.value}[/{colour}]")
        for line in _lines(change):
            OUT.print(Padding(line, (0, 0, 0, 4)))
        OUT.print()
    counts = Counter(change.change for change in changes)
    OUT.print(", ".join(f"{counts[kind]} {kind.value}" for kind in Change if counts[kind]))


def _lines(change: VersionChange) -> Iterator[str]:
    """Yield what the versions say, in rich's markup."""
    if change.change is Change.CHANGED:
        yield edits_line(change.edits)
        if change.a_in_b:
            yield "[dim]B still holds the words of A.[/dim]"
        if change.b_in_a:
            yield "[dim]A already held the words of B.[/dim]"
    elif quote := change.a.quote or change.b.quote:
        yield plain(quote.display)
    for name, side in (("A", change.a), ("B", change.b)):
        yield f"[dim]{name}: {_said(side)}[/dim]"


def _said(side: VersionSide) -> str:
    if side.quote:
        return plain(f"{side.quote.place}, confidence {side.confidence:.2f}")
    if side.nearest is None:
        return plain(f"not stated. {side.why}")
    return plain(f"not stated. {side.why} Nearest, {side.nearest.place}: {side.nearest.display}")


def edits_line(edits: Sequence[WordEdit]) -> str:
    """Return edits as one line of markup, with marks that tell them without colours, too."""
    return " ".join(map(_edit, edits))


def _edit(edit: WordEdit) -> str:
    """Return words with the marks of an edit."""
    if edit.op == "equal":
        return plain(edit.a)
    gone = f"[red]{escape('[-')}{plain(edit.a)}-][/red]" if edit.a else ""
    come = f"[green]{{+{plain(edit.b)}+}}[/green]" if edit.b else ""
    return " ".join(filter(None, (gone, come)))
