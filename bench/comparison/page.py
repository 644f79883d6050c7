"""The page `docs/compare.md`: tables, plots, why each tool is set up as it is, and what changed since the last run."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from comparison.plots import Point, bars, scatter

Results: TypeAlias = Mapping[str, Any]
MEGABYTE = 1_000_000
QUIET = 0.2
"""Cores that other programs may use: above this, no time is to be quoted."""


@dataclass(frozen=True, slots=True)
class Column:
    """A column: the key of its figure, its title, how a value is written, and the relative change that is noise."""

    key: str
    title: str
    write: Callable[[float], str]
    change: float = 0.0


def _share(value: float) -> str:
    return f"{value:.2f}"


def _milliseconds(value: float) -> str:
    return f"{value * 1000:,.0f} ms" if value >= 0.01 else f"{value * 1000:.1f} ms"


def _megabytes(value: float) -> str:
    return f"{value / MEGABYTE:,.0f} MB"


EXACTNESS = (
    Column("claimed", "gives a place", _share),
    Column("exact", "exact there", _share),
    Column("found", "in the file at all", _share),
    Column("whole", "whole sentences", _share),
    Column("texts", "texts an answer", "{:.1f}".format),
    Column("characters", "characters a text", "{:,.0f}".format),
)
QUALITY = (
    Column("hit@1", "hit@1", _share),
    Column("hit", "hit of any", _share),
    Column("answered", "answered, of the answerable", _share),
    Column("false", "answered, of the unanswerable", _share),
    Column("right", "answers that are right", _share),
    Column("auroc", "AUROC of its score", _share),
)
SPEED = (
    Column("p50", "warm, p50", _milliseconds, 0.2),
    Column("p95", "warm, p95", _milliseconds, 0.2),
    Column("bytes_per_second", "ingest, KB a second", lambda value: f"{value / 1000:,.1f}", 0.2),
    Column("memory", "memory", _megabytes, 0.2),
    Column("ingest_memory", "memory of ingest", _megabytes, 0.2),
    Column("disk", "index on disk", lambda value: f"{value / MEGABYTE:,.1f} MB", 0.05),
)
COST = (
    Column("first", "first answer from the shell", "{:.2f} s".format, 0.2),
    Column("installed", "installed, with weights", _megabytes, 0.05),
    Column("lines", "lines to write", "{:.0f}".format),
)

ABOUT = """# Beside other tools

Quoth beside what people would take instead: each installed from PyPI in an environment of its own, each in its
documented way for this job, all offline, with the same weights where they take them (all-MiniLM-L6-v2, and the
cross-encoder from which Quoth's reader was trained), on the same documents and questions. `make compare` measures it
and writes this page; [bench/README.md](../bench/README.md#beside-other-tools) says how, and what is fair about it.
"""

EXPLAINED = """
**Exactness.** *Gives a place*: the share of returned texts for which the tool names a document and offsets. *Exact
there*: the share, of all returned texts, that equal the slice of the file at that place. *In the file at all*: white
space left free. *Whole sentences*: those that begin and end where a sentence does, by a rule that none of the tools
splits with.

**Right and wrong.** *Hit@1* and *hit of any* count the answerable questions for which the first text, or any,
overlaps what was marked as the answer, whether the tool gave it as an answer or held it back. A longer text overlaps
more easily: read them beside the characters a text has. *Answered* counts what comes back with the threshold of the
tool. *Answers that are right*: of all questions that it answers, those for which the first text is right. *AUROC*:
how well the tool's own score tells answerable questions from others; .5 is a coin. A dash: the tool has no such
figure. With few questions a share is uncertain: by up to .2 either way with 24, by .1 with 100.

**Speed and cost.** Warm times are taken inside the process of each tool, which are asked by turns. *Installed* counts
all files of the environment without compiled bytecode, and the weights. *Lines to write* are those of its adapter in
`bench/peers/`, without comments: read, index, save, load, ask, and say where a text stands.
"""


def write_page(results: Results, folder: Path) -> None:
    """Write the page, its plots and the figures; what changed is told against the figures that were there."""
    figures = folder / "compare.json"
    before = json.loads(figures.read_bytes()) if figures.is_file() else None
    (folder / "images").mkdir(parents=True, exist_ok=True)
    for name, drawing in drawings(results).items():
        (folder / "images" / f"{name}.svg").write_text(drawing, encoding="utf-8")
    (folder / "compare.md").write_text(page(results, before), encoding="utf-8")
    figures.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8")


def page(results: Results, before: Results | None) -> str:
    parts = [ABOUT, circumstances(results["machine"])]
    for name, about in results["sets"].items():
        parts.append(
            f"## {name}\n\n{about['documents']:,} documents, {about['bytes'] / 1000:,.0f} KB; {about['answerable']} "
            f"questions that they answer, {about['unanswerable']} that they do not.\n\n"
            f"{table(results, QUALITY, name)}\n\n"
            f"![hit@1 against false answers](images/compare-{name}.svg)\n\n{table(results, EXACTNESS, name)}\n\n"
            f"{table(results, SPEED, name)}"
        )
    first = next(iter(results["sets"]), "")
    parts.append(f"![Warm questions, on {first}](images/compare-speed.svg)")
    parts.append("## Start, installation, code\n\n" + table(results, COST, None))
    parts.append("## What the columns say\n" + EXPLAINED)
    reasons = "\n".join(f"- **{one['title']}.** {one['reason']}" for one in results["tools"].values())
    parts.append("## Why each is set up so\n\n" + reasons)
    parts.append("## Since the run before\n\n" + "\n".join(changes(results, before)))
    return "\n\n".join(part.strip() for part in parts) + "\n"


def circumstances(machine: Mapping[str, Any]) -> str:
    said = (
        f"Measured on {machine['cores']} cores with Python {machine['python']}; other programs used "
        f"{machine['others_cores']:.2f} cores meanwhile, and the load was {machine['load']:.1f} when it began."
    )
    if machine["others_cores"] < QUIET:
        return said
    return (
        f"{said}\n\n> The machine was not free: times and rates here are not to be quoted. Run `make compare` again on "
        "a quiet one. What is exact, right or wrong does not depend on it."
    )


def table(results: Results, columns: Sequence[Column], of_set: str | None) -> str:
    """Write a row for each tool; one that could not be run says why."""
    lines = ["| tool | " + " | ".join(column.title for column in columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for tool in results["tools"].values():
        figures = tool if of_set is None else tool.get("sets", {}).get(of_set)
        if figures is None:
            why = tool.get("failed", "not asked").replace("|", "/")
            lines.append(f"| {tool['title']} | not run: {why} |" + " |" * (len(columns) - 1))
            continue
        cells = [cell(figures.get(column.key), column) for column in columns]
        lines.append(f"| {' | '.join([tool['title'], *cells])} |")
    return "\n".join(lines)


def cell(value: float | None, column: Column) -> str:
    return "-" if value is None else column.write(value)


def drawings(results: Results) -> dict[str, str]:
    """Return the plots by name."""
    found = {}
    for name in results["sets"]:
        points = [
            Point(tool["title"], tool["sets"][name]["false"], tool["sets"][name]["hit@1"], key == "quoth")
            for key, tool in results["tools"].items()
            if _known(tool, name, "false") and _known(tool, name, "hit@1")
        ]
        found[f"compare-{name}"] = scatter(
            points,
            title=f"{name}: right first texts against false answers (top left is best)",
            across="answered, of the unanswerable",
            up="hit@1",
        )
    first = next(iter(results["sets"]), "")
    times = [
        (tool["title"], tool["sets"][first]["p50"], _milliseconds(tool["sets"][first]["p50"]), key == "quoth")
        for key, tool in results["tools"].items()
        if _known(tool, first, "p50")
    ]
    return found | {"compare-speed": bars(times, title=f"{first}: a warm question, p50 (logarithmic)")}


def _known(tool: Mapping[str, Any], of_set: str, key: str) -> bool:
    return tool.get("sets", {}).get(of_set, {}).get(key) is not None


def changes(results: Results, before: Results | None) -> Iterator[str]:
    """Yield a line for each figure that changed by more than its column lets pass."""
    if before is None:
        yield "This is the first run."
        return
    lines = [line for name in results["tools"] for line in _changes_of(name, results, before)]
    yield from lines or ["Nothing changed by more than the noise."]


def _changes_of(name: str, results: Results, before: Results) -> Iterator[str]:
    now, then = results["tools"][name], before["tools"].get(name)
    if then is None:
        yield f"- {now['title']} is new."
        return
    if (now.get("failed") is None) != (then.get("failed") is None):
        yield f"- {now['title']} {'could not be run' if now.get('failed') else 'could be run again'}."
    places: list[tuple[str, Results, Results, Sequence[Column]]] = [("", now, then, COST)]
    for of_set in results["sets"]:
        both = now.get("sets", {}).get(of_set), then.get("sets", {}).get(of_set)
        if both[0] and both[1] and results["sets"][of_set] == before["sets"].get(of_set):
            places.append((f" on {of_set}", both[0], both[1], (*QUALITY, *EXACTNESS, *SPEED)))
    for where, new, old, columns in places:
        for column in columns:
            value, past = new.get(column.key), old.get(column.key)
            written = cell(value, column), cell(past, column)
            if written[0] != written[1] and _beyond(value, past, column.change):
                yield f"- {now['title']}{where}, {column.title}: {written[1]} before, {written[0]} now."


def _beyond(value: float | None, past: float | None, change: float) -> bool:
    return value is None or past is None or abs(value - past) > change * max(abs(past), 1e-9)
