"""Measure Quoth beside other tools on the same documents and questions; `make compare` starts it.

    .venv/bin/python bench/compare.py [SET ...] [--root ../shared/eval] [--limit N] [--only TOOL ...] [--quick]

Each tool is installed from PyPI in an environment of its own and speaks one protocol (`bench/peers/peer.py`). The
results go to `docs/compare.md`, with plots beside it, and as JSON to `docs/compare.json`; a run says what changed
since that one. `--quick` takes few documents and questions; it and `--only` write nothing into `docs/`.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from comparison.contenders import CONTENDERS, ROOT, Contender
from comparison.environments import SetUpError, environment_of, installed_bytes, shared_models
from comparison.figures import Figures, percentile, quality
from comparison.page import write_page
from comparison.sessions import Session, Started, ToolError, first_answer, session
from run import cores_used, folder_size

from quoth.evaluation.labelled_questions import LabelledQuestion, read_labelled

EVAL = ROOT.parent / "shared" / "eval"
SETS = ("irrigation", "encyclopedia")
SAMPLES = ("agriculture", "governance")
WARM_UPS = 3
BLOCK = 25
"""Questions that one tool answers before the next gets the same: load hits all, caches stay warm."""


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """Documents in a folder, their texts by name, and the labelled questions to ask."""

    name: str
    folder: Path
    texts: Mapping[str, str]
    items: Sequence[LabelledQuestion]


def main() -> int:
    options = _options()
    with tempfile.TemporaryDirectory(prefix="quoth-compare-") as temporary:
        work = options.keep or Path(temporary)
        work.mkdir(parents=True, exist_ok=True)
        results = compare(_chosen(options), list(_sets(options, work)), options, work)
    print(json.dumps(results, indent=1))
    if options.out or not (options.quick or options.only):
        write_page(results, options.out or ROOT / "docs")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", help="default: irrigation and encyclopedia; without --root the samples")
    parser.add_argument("--root", type=Path, default=EVAL, help="the folder of the question sets")
    parser.add_argument("--limit", type=int, default=120, help="questions of each set, spread over it")
    parser.add_argument("--only", nargs="+", default=[], metavar="TOOL", help="by name, such as quoth haystack bm25")
    parser.add_argument("--cold", type=int, default=3, help="starts from the shell, on the first set")
    parser.add_argument("--quick", action="store_true", help="few documents and questions; writes nothing into docs")
    parser.add_argument("--environments", type=Path, default=ROOT / ".compare-venv")
    parser.add_argument("--out", type=Path, help="where to write the page, even with --quick or --only; default: docs")
    parser.add_argument("--keep", type=Path, help="a folder for indexes, replies and logs, which stay there")
    options = parser.parse_args()
    if options.quick:
        options.limit, options.cold = min(options.limit, 6), 1
    if not options.sets:
        options.sets = SETS if options.root.is_dir() else SAMPLES
        options.root = options.root if options.root.is_dir() else ROOT / "examples"
    return options


def _chosen(options: argparse.Namespace) -> list[Contender]:
    unknown = {*options.only} - {contender.name for contender in CONTENDERS}
    if unknown:
        raise SystemExit(f"unknown: {', '.join(sorted(unknown))}; known: {', '.join(c.name for c in CONTENDERS)}")
    return [contender for contender in CONTENDERS if not options.only or contender.name in options.only]


def _sets(options: argparse.Namespace, work: Path) -> Sequence[QuestionSet]:
    return [question_set(options.root / name, work / name / "docs", options) for name in options.sets]


def question_set(source: Path, folder: Path, options: argparse.Namespace) -> QuestionSet:
    """Copy the documents of a set, so that every tool gets the same names; with `--quick` only those of few questions.

    Questions are taken evenly from the whole set, without their scope: every tool searches all documents.
    """
    if not (source / "questions.jsonl").is_file():
        raise SystemExit(f"{source} has no questions.jsonl: pass the folder that holds the sets with --root")
    labelled = read_labelled(source / "questions.jsonl")
    docs = source / "docs" if (source / "docs").is_dir() else source
    items = [labelled[number * len(labelled) // options.limit] for number in range(options.limit)]
    items = items if options.limit < len(labelled) else list(labelled)
    paths = sorted(path for path in docs.rglob("*") if path.suffix in {".txt", ".md"} and path.is_file())
    names = [path.relative_to(docs).as_posix() for path in paths]
    if options.quick:
        gold = {gold.doc_id for item in items for gold in item.gold}
        names = sorted({*gold, *names[:2]})
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(docs / name, folder / name)
    return QuestionSet(source.name, folder, {name: (docs / name).read_bytes().decode() for name in names}, items)


def compare(
    contenders: Sequence[Contender], sets: Sequence[QuestionSet], options: argparse.Namespace, work: Path
) -> dict[str, Any]:
    """Return all figures. A tool that cannot be run keeps its row, with the reason."""
    began, before, load = time.perf_counter(), cores_used(), os.getloadavg()[0]
    models = shared_models(options.environments)
    rows: dict[str, dict[str, Any]] = {}
    pythons: dict[str, Path] = {}
    for contender in contenders:
        say(f"setting up {contender.title}")
        rows[contender.name] = {"title": contender.title, "reason": contender.reason, "lines": contender.lines}
        try:
            pythons[contender.name] = environment_of(contender, options.environments)
            rows[contender.name]["installed"] = installed_bytes(contender, options.environments, models)
            rehearse(Started(pythons[contender.name], contender.script, work / "rehearsal", models, work), sets[0])
        except SetUpError as error:
            rows[contender.name]["failed"] = f"could not be installed: {error}"
        except ToolError as error:
            rows[contender.name]["failed"] = str(error)
    for number, questions in enumerate(sets):
        starts = {
            contender.name: Started(
                pythons[contender.name], contender.script, work / questions.name / contender.name, models, work
            )
            for contender in contenders
            if "failed" not in rows[contender.name]
        }
        for name, figures in measure(starts, questions, cold=0 if number else options.cold).items():
            if "failed" in figures:
                rows[name]["failed"] = figures["failed"]
            else:
                rows[name] |= {"first": figures.pop("first")} if "first" in figures else {}
                rows[name].setdefault("sets", {})[questions.name] = figures
    machine, own = (now - then for now, then in zip(cores_used(), before, strict=True))
    return {
        "machine": {
            "cores": os.cpu_count(),
            "python": platform.python_version(),
            "load": load,
            "others_cores": max(0.0, machine - own) / (time.perf_counter() - began),
        },
        "sets": {one.name: described(one) for one in sets},
        "tools": rows,
    }


def rehearse(started: Started, questions: QuestionSet) -> None:
    """Let a new environment do everything once with one document: its modules are compiled before anything is timed."""
    done = started.python.parents[1] / ".rehearsed"
    if not done.is_file():
        shutil.rmtree(started.index, ignore_errors=True)
        name = min(questions.texts)
        folder = started.work / "rehearsed"
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(questions.texts[name].encode())
        with session(started) as tool:
            tool.send(do="check")
            tool.send(do="ingest", folder=str(folder), documents=[name])
        with session(started) as tool:
            tool.send(do="open")
            tool.send(do="ask", question=questions.items[0].question.text)
        done.touch()


def described(questions: QuestionSet) -> dict[str, int]:
    return {
        "documents": len(questions.texts),
        "bytes": sum(len(text.encode()) for text in questions.texts.values()),
        "answerable": sum(item.answerable for item in questions.items),
        "unanswerable": sum(not item.answerable for item in questions.items),
    }


def measure(starts: Mapping[str, Started], questions: QuestionSet, *, cold: int) -> dict[str, dict[str, Any]]:
    """Return the figures of each tool on one set, or why it failed."""
    results: dict[str, dict[str, Any]] = {name: {} for name in starts}

    def attempt(name: str, work: Callable[[Started], None]) -> None:
        if "failed" not in results[name]:
            try:
                work(starts[name])
            except ToolError as error:
                say(f"{name} failed: {error}")
                results[name] = {"failed": str(error)}

    for name in starts:
        say(f"{questions.name}: {name} reads the documents")
        figures = results[name]
        attempt(name, lambda started, figures=figures: figures.update(ingested(started, questions)))  # type: ignore[misc]
    with ExitStack() as stack:
        able = {name: started for name, started in starts.items() if "failed" not in results[name]}
        ask_all(able, questions, results, stack)
    texts = [item.question.text for item in questions.items]
    for number in range(cold):
        for name in starts:
            if "failed" in results[name]:
                continue
            say(f"{questions.name}: {name} starts from the shell, {number + 1} of {cold}")
            times = results[name].setdefault("first", [])
            question = texts[number % len(texts)]
            attempt(name, lambda started, times=times, question=question: times.append(first_answer(started, question)))  # type: ignore[misc]
    for figures in results.values():
        if "first" in figures:
            figures["first"] = percentile(figures["first"], 0.5)
    return results


def ingested(started: Started, questions: QuestionSet) -> Figures:
    with session(started) as tool:
        tool.send(do="check")
        reply = tool.send(do="ingest", folder=str(questions.folder), documents=sorted(questions.texts))
        memory = tool.send(do="memory")
    size = sum(len(text.encode()) for text in questions.texts.values())
    return {
        "units": reply["units"],
        "bytes_per_second": size / reply["seconds"] if reply["units"] else None,
        "ingest_memory": memory["VmHWM"],
        "disk": folder_size(started.index),
    }


def ask_all(
    starts: Mapping[str, Started], questions: QuestionSet, results: dict[str, dict[str, Any]], stack: ExitStack
) -> None:
    """Ask every question of every tool, in blocks by turns, and add the figures to the results."""
    tools: dict[str, Session] = {}
    replies: dict[str, list[dict[str, Any]]] = {}
    asked = [item.question.text for item in questions.items]

    def ask(name: str, texts: Sequence[str]) -> list[dict[str, Any]]:
        return [tools[name].send(do="ask", question=text) for text in texts]

    for name, started in starts.items():
        say(f"{questions.name}: {name} loads its index")
        tools[name] = stack.enter_context(session(started))
        try:
            tools[name].send(do="open")
            ask(name, asked[:WARM_UPS])
            replies[name] = []
        except ToolError as error:
            results[name] = {"failed": str(error)}
    for first in range(0, len(asked), BLOCK):
        say(f"{questions.name}: questions {first + 1} to {min(first + BLOCK, len(asked))} of {len(asked)}")
        for name in list(replies):
            try:
                time.sleep(0.3)  # the threads of the tool before go to sleep
                replies[name] += ask(name, asked[first : first + BLOCK])
            except ToolError as error:
                results[name] = {"failed": str(error)}
                del replies[name]
    for name, answers in replies.items():
        seconds = [reply["seconds"] for reply in answers]
        results[name] |= quality(answers, questions.items, questions.texts)
        results[name] |= {"p50": percentile(seconds, 0.5), "p95": percentile(seconds, 0.95)}
        results[name]["memory"] = tools[name].send(do="memory")["VmRSS"]


def say(text: str) -> None:
    print(f"compare: {text}", file=sys.stderr, flush=True)


if __name__ == "__main__":
    raise SystemExit(main())
