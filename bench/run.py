"""Measure Quoth beside the reference stack, in one run on the same sentences; `make bench` prepares and starts it.

    .venv/bin/python bench/run.py --reference-python .bench-venv/bin/python [--data DIR] [--quick] [--json FILE]

An aim that is missed is reported and is not an error. README.md says what is compared and why it is fair.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

BENCH = Path(__file__).resolve().parent
DATA = BENCH.parent.parent / "shared" / "eval" / "agriculture"
MEGABYTE = 1_000_000
WARM_UPS = 10
BLOCK = 25
"""Questions that one side answers before the other gets the same: noise hits both, caches stay warm."""


class BenchError(Exception):
    """Something that stops the benchmark, said so that it can be put right."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    every: int
    """One document of so many is taken."""
    questions: int
    cold_starts: int
    rounds: int
    round_sentences: int


FULL = Plan(every=1, questions=250, cold_starts=5, rounds=3, round_sentences=8_000)
QUICK = Plan(every=10, questions=50, cold_starts=2, rounds=1, round_sentences=1_500)


@dataclass(frozen=True, slots=True)
class Line:
    """A row of the table. `met` None means that there is no aim, or that it cannot be judged."""

    name: str
    quoth: str
    reference: str
    ratio: str
    aim: str
    met: bool | None


@dataclass(frozen=True, slots=True)
class Places:
    """Where everything is. `quoth` and `reference` are the programs, `work` a folder that may be thrown away."""

    quoth: Path
    python: Path
    reference_python: Path
    docs: Path
    work: Path

    @property
    def index(self) -> Path:
        return self.work / "quoth-index"

    @property
    def reference_index(self) -> Path:
        return self.work / "reference-index"

    def quoth_side(self, *arguments: str | Path) -> list[str]:
        return [str(self.python), str(BENCH / "quoth_side.py"), *map(str, arguments)]

    def reference(self, *arguments: str | Path) -> list[str]:
        return [str(self.reference_python), str(BENCH / "reference.py"), *map(str, arguments)]

    def run(self, command: Sequence[str]) -> tuple[str, float]:
        """What a command writes, and the seconds from its start to its end."""
        began = time.perf_counter()
        done = subprocess.run(command, cwd=self.work, env=environment(self.work), capture_output=True, check=False)
        seconds = time.perf_counter() - began
        if done.returncode:
            raise BenchError(f"{' '.join(command)} failed:\n{done.stderr.decode(errors='replace')[-2000:]}")
        return done.stdout.decode(), seconds

    def run_json(self, command: Sequence[str]) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(self.run(command)[0].splitlines()[-1])
        return result


class Side:
    """A process that answers over a pipe and takes its own times."""

    def __init__(self, process: subprocess.Popen[str], log: Path) -> None:
        self._process = process
        self._log = log
        self._read()

    def ask(self, question: str, **options: bool) -> dict[str, Any]:
        return self._send({"question": question, **options})

    def memory(self) -> dict[str, int]:
        return self._send({"memory": True})

    def _send(self, request: Mapping[str, Any]) -> dict[str, Any]:
        if self._process.stdin is not None:
            self._process.stdin.write(json.dumps(request) + "\n")
            self._process.stdin.flush()
        return self._read()

    def _read(self) -> dict[str, Any]:
        line = self._process.stdout.readline() if self._process.stdout is not None else ""
        if not line:
            raise BenchError(f"{self._process.args!r} stopped:\n{self._log.read_text(errors='replace')[-2000:]}")
        reply: dict[str, Any] = json.loads(line)
        return reply


@contextmanager
def started(command: Sequence[str], work: Path) -> Iterator[Side]:
    log = work / "stderr.log"
    with (
        log.open("ab") as errors,
        subprocess.Popen(
            command,
            cwd=work,
            env=environment(work),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as process,
    ):
        try:
            yield Side(process, log)
        finally:
            if process.stdin is not None:
                process.stdin.close()


def environment(work: Path) -> dict[str, str]:
    """The caller's without settings of Quoth, the model hub kept out of the reference's start.

    Bytecode is kept in `work`: a start is measured as it is on an installed program, whatever installed it. OpenMP
    waits passively: spinning, torch took 520 ms a question and not 21 whenever another program held one of two cores.
    """
    kept = {key: value for key, value in os.environ.items() if not key.startswith("QUOTH_") or key == "QUOTH_CACHE_DIR"}
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return kept | {"PYTHONPYCACHEPREFIX": str(work / "bytecode"), "HF_HUB_OFFLINE": "1", "OMP_WAIT_POLICY": "PASSIVE"}


def cores_used() -> tuple[float, float]:
    """Core seconds since the start: of the whole machine, and of this program with the processes that it has ended."""
    counted = [int(value) for value in Path("/proc/stat").read_bytes().split(b"\n", 1)[0].split()[1:9]]
    used = os.times()
    idle, waiting = counted[3], counted[4]
    machine = (sum(counted) - idle - waiting) / os.sysconf("SC_CLK_TCK")
    return machine, used.user + used.system + used.children_user + used.children_system


def build_indexes(places: Places) -> dict[str, Any]:
    """Both indexes over the same sentences: Quoth splits, the reference gets what it made of it."""
    say("ingesting with Quoth")
    ingest = ["ingest", str(places.docs), "--profile", "agriculture", "--index", str(places.index)]
    _, seconds = places.run([str(places.quoth), *ingest])
    exported = places.run_json(places.quoth_side("export", "--index", places.index, "--out", places.work))
    say(f"{exported['sentences']} sentences in {seconds:.0f} s; building the reference's index")
    reference = places.run_json(places.reference("build", places.work, "--index", places.reference_index))
    return {
        "sentences": exported["sentences"],
        "documents": exported["documents"],
        "seconds": seconds,
        "reference_embedded_per_second": reference["embedded_per_second"],
        "bytes": folder_size(places.index),
        "reference_bytes": folder_size(places.reference_index),
    }


def measure_warm(places: Places, questions: Sequence[str]) -> dict[str, Any]:
    """Seconds of every question on both sides, in blocks by turns, and how much of what they rank is the same."""
    began, before = time.perf_counter(), cores_used()
    asked: dict[str, list[dict[str, Any]]] = {"quoth": [], "reference": [], "reference_stop_words": []}
    with (
        started(places.quoth_side("serve", "--index", places.index), places.work) as quoth,
        started(places.reference("serve", "--index", places.reference_index), places.work) as reference,
    ):
        for question in questions[:WARM_UPS]:
            quoth.ask(question)
            reference.ask(question)
        for first in range(0, len(questions), BLOCK):
            block = questions[first : first + BLOCK]
            say(f"warm questions {first + 1} to {first + len(block)} of {len(questions)}")
            settle()
            asked["quoth"] += [quoth.ask(question) for question in block]
            settle()
            asked["reference"] += [reference.ask(question) for question in block]
            asked["reference_stop_words"] += [reference.ask(question, stop_words=True) for question in block]
    machine, own = (now - then for now, then in zip(cores_used(), before, strict=True))
    both = zip(asked["quoth"], asked["reference"], strict=True)
    return {
        "seconds": {side: [one["seconds"] for one in replies] for side, replies in asked.items()},
        "cpu_seconds": {side: [one["cpu_seconds"] for one in replies] for side, replies in asked.items()},
        "others_cores": max(0.0, machine - own) / (time.perf_counter() - began),
        "lines": [one["line"] for one in asked["quoth"]],
        "shared_of_20": statistics.mean(len({*ours["ranked"]} & {*theirs["ranked"]}) for ours, theirs in both),
    }


def settle() -> None:
    """Let the threads of the side that was just asked go to sleep."""
    time.sleep(0.3)


def measure_fresh(places: Places, questions: Sequence[str]) -> dict[str, Any]:
    """The memory of fresh processes after 20 questions, and all the answers of such a process once more."""
    say("memory of fresh processes, and every answer a second time")
    with started(places.reference("serve", "--index", places.reference_index), places.work) as reference:
        for question in questions[:20]:
            reference.ask(question)
        reference_memory = reference.memory()
    with started(places.quoth_side("serve", "--index", places.index), places.work) as quoth:
        for question in questions[:20]:
            quoth.ask(question)
        memory = quoth.memory()
        lines = [quoth.ask(question)["line"] for question in questions]
    return {"memory": memory, "reference_memory": reference_memory, "lines": lines}


def measure_cold(places: Places, questions: Sequence[str]) -> dict[str, list[float]]:
    """Seconds from the start of a command to its end, by turns; the first of each is not counted."""
    times: dict[str, list[float]] = {"quoth": [], "reference": []}
    for number, question in enumerate(questions):
        say(f"cold start {number} of {len(questions) - 1}")
        ours = [str(places.quoth), "ask", question, "--index", str(places.index), "--json"]
        theirs = places.reference("ask", question, "--index", places.reference_index)
        times["quoth"].append(places.run(ours)[1])
        times["reference"].append(places.run(theirs)[1])
    return {side: seconds[1:] for side, seconds in times.items()}


def measure_throughput(places: Places, counts: Mapping[str, int], plan: Plan) -> dict[str, Any]:
    """Ingest of an even sample of the documents against the bare model on the same batches."""
    sample = sample_of(counts, sentences=plan.round_sentences)
    say(f"ingest against the bare model: {sum(counts[one] for one in sample)} sentences, {plan.rounds} rounds")
    docs = places.work / "sample"
    copy(sample, places.docs, docs)
    work = places.work / "throughput"
    return places.run_json(places.quoth_side("throughput", docs, "--work", work, "--rounds", str(plan.rounds)))


def same_twice(places: Places, questions: Sequence[str], rounds: int) -> bool | None:
    """Whether two indexes built from the same documents give the same bytes; None when there is only one."""
    if rounds < 2:
        return None
    answers = []
    for number in (0, 1):
        index = places.work / "throughput" / f"index-{number}"
        with started(places.quoth_side("serve", "--index", index), places.work) as quoth:
            answers.append([quoth.ask(question)["line"] for question in questions])
    return answers[0] == answers[1]


def sample_of(counts: Mapping[str, int], *, sentences: int) -> list[str]:
    """Documents from the whole length of the list that hold about so many sentences."""
    names = sorted(counts)
    wanted = max(1, min(len(names), len(names) * sentences // sum(counts.values())))
    return [names[number * len(names) // wanted] for number in range(wanted)]


def copy(names: Sequence[str], source: Path, target: Path) -> None:
    for name in names:
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source / name, target / name)


def folder_size(place: Path) -> int:
    return sum(file.stat().st_size for file in place.rglob("*") if file.is_file())


def table(raw: Mapping[str, Any]) -> list[Line]:
    """Every figure beside the reference's and its aim."""
    return [*_warm_lines(raw["warm"]["seconds"]), _cold_line(raw["cold"]), *_ingest_lines(raw), *_rest(raw)]


def _warm_lines(seconds: Mapping[str, Sequence[float]]) -> Iterator[Line]:
    ours, theirs, plainer = seconds["quoth"], seconds["reference"], seconds["reference_stop_words"]
    ratio = statistics.median(theirs) / statistics.median(ours)
    yield Line("question, warm: p50", ms(p50(ours)), ms(p50(theirs)), times(ratio), ">= 25x", ratio >= 25)
    yield Line("question, warm: p90", ms(p90(ours)), ms(p90(theirs)), times(p90(theirs) / p90(ours)), "", None)
    name = "  p50, reference drops stop words"
    yield Line(name, ms(p50(ours)), ms(p50(plainer)), times(p50(plainer) / p50(ours)), "", None)


def _cold_line(seconds: Mapping[str, Sequence[float]]) -> Line:
    ours, theirs = p50(seconds["quoth"]), p50(seconds["reference"])
    ratio = theirs / ours
    return Line("first answer, from the shell", f"{ours:.2f} s", f"{theirs:.2f} s", times(ratio), ">= 8x", ratio >= 8)


def _ingest_lines(raw: Mapping[str, Any]) -> Iterator[Line]:
    rounds, whole = raw["throughput"], raw["indexes"]
    pairs = list(zip(rounds["ingest_seconds"], rounds["bare_seconds"], strict=True))
    share = statistics.median(bare / ingest for ingest, bare in pairs)
    ingest = rounds["embedded"] / p50(rounds["ingest_seconds"])
    bare = rounds["embedded"] / p50(rounds["bare_seconds"])
    name = "ingest against the bare model"
    yield Line(name, f"{ingest:.0f} /s", f"{bare:.0f} /s (bare)", f"{share:.0%}", ">= 85%", share >= 0.85)
    ours, theirs = whole["sentences"] / whole["seconds"], whole["reference_embedded_per_second"]
    yield Line("ingest of all documents", f"{ours:.0f} /s", f"{theirs:.0f} /s", times(ours / theirs), "", None)


def _rest(raw: Mapping[str, Any]) -> Iterator[Line]:
    fresh, indexes = raw["fresh"], raw["indexes"]
    ours, theirs = fresh["memory"]["VmRSS"] / MEGABYTE, fresh["reference_memory"]["VmRSS"] / MEGABYTE
    yield Line("resident memory", f"{ours:.0f} MB", f"{theirs:.0f} MB", times(theirs / ours), "<= 350 MB", ours <= 350)
    ours, theirs = indexes["bytes"] / MEGABYTE, indexes["reference_bytes"] / MEGABYTE
    yield Line("index on disk", f"{ours:.0f} MB", f"{theirs:.0f} MB", times(theirs / ours), "<= 150 MB", ours <= 150)
    same = raw["same_answers"]
    yield Line("two runs, same bytes", yes_or_no(same), "", "", "yes", same)
    rebuilt = raw["same_answers_rebuilt"]
    yield Line("two builds, same bytes", yes_or_no(rebuilt), "", "", "yes", rebuilt)


def p50(seconds: Sequence[float]) -> float:
    return statistics.median(seconds)


def p90(seconds: Sequence[float]) -> float:
    return statistics.quantiles(seconds, n=10, method="inclusive")[8]


def ms(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms"


def times(ratio: float) -> str:
    return f"{ratio:.1f}x"


def yes_or_no(value: bool | None) -> str:
    return {True: "yes", False: "no", None: "not measured"}[value]


def written(lines: Sequence[Line]) -> str:
    """The table as text in columns."""
    words = {True: "met", False: "NOT MET", None: ""}
    rows = [("", "Quoth", "reference", "ratio", "aim", "")]
    rows += [(one.name, one.quoth, one.reference, one.ratio, one.aim, words[one.met]) for one in lines]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


def noise(others_cores: float) -> str:
    """Whether the machine was free enough; load hits the two sides differently, so that the ratios suffer too."""
    verdict = (
        "the figures stand" if others_cores < 0.2 else "DO NOT QUOTE THESE FIGURES, run it again on a free machine"
    )
    return f"Other programs used {others_cores:.2f} cores during the warm questions: {verdict}."


def say(text: str) -> None:
    print(f"bench: {text}", file=sys.stderr, flush=True)


def measure(places: Places, questions: Sequence[str], plan: Plan) -> dict[str, Any]:
    """Every number of the benchmark."""
    load = os.getloadavg()
    indexes = build_indexes(places)
    warm = measure_warm(places, questions)
    fresh = measure_fresh(places, questions)
    cold = measure_cold(places, questions[: plan.cold_starts + 1])
    throughput = measure_throughput(places, indexes["documents"], plan)
    return {
        "machine": {"cores": os.cpu_count(), "python": platform.python_version(), "load": [load, os.getloadavg()]},
        "indexes": indexes,
        "warm": warm,
        "fresh": fresh,
        "cold": cold,
        "throughput": throughput,
        "same_answers": warm["lines"] == fresh["lines"],
        "same_answers_rebuilt": same_twice(places, questions[:50], plan.rounds),
    }


def read_questions(data: Path, count: int) -> list[str]:
    lines = (data / "questions.jsonl").read_bytes().decode("utf-8").split("\n")
    return [json.loads(line)["question"] for line in lines if line.strip()][:count]


def checked(options: argparse.Namespace) -> None:
    """Stop with what is missing before anything slow begins."""
    for needed in (options.data / "docs", options.data / "questions.jsonl"):
        if not needed.exists():
            raise BenchError(f"{needed} is missing: pass --data DIR, a folder with docs/ and questions.jsonl")
    if not options.reference_python.exists():
        raise BenchError(f"{options.reference_python} is missing: run `make bench`, or see bench/requirements.txt")


def bench(options: argparse.Namespace, work: Path) -> None:
    plan = QUICK if options.quick else FULL
    docs = (options.data / "docs").resolve()
    if plan.every > 1:
        names = sorted(file.relative_to(docs).as_posix() for file in docs.rglob("*") if file.is_file())
        copy(names[:: plan.every], docs, work / "docs")
        docs = work / "docs"
    here = Path(sys.executable)
    # Not resolved: the link to the interpreter is what makes it that environment's.
    places = Places(here.parent / "quoth", here, options.reference_python.absolute(), docs, work)
    raw = measure(places, read_questions(options.data, plan.questions), plan)
    if options.json:
        kept = {**raw, "warm": {**raw["warm"], "lines": None}, "fresh": {**raw["fresh"], "lines": None}}
        options.json.write_bytes((json.dumps(kept, indent=1) + "\n").encode())
    print(written(table(raw)))
    indexes = raw["indexes"]
    print(
        f"\n{indexes['sentences']} sentences of {len(indexes['documents'])} documents; "
        f"{raw['warm']['shared_of_20']:.1f} of the 20 best are the same on both sides; "
        f"load of the machine before and after: {raw['machine']['load'][0][0]:.1f}, {raw['machine']['load'][1][0]:.1f}"
    )
    print(noise(raw["warm"]["others_cores"]))
    if options.quick:
        print("A quick run: few sentences, so the aims are not to be judged by it.")


def ask_again(options: argparse.Namespace, work: Path) -> None:
    """Warm and cold questions on indexes that are there already: minutes, where the whole takes twenty."""
    here = Path(sys.executable)
    docs = (options.data / "docs").resolve()
    places = Places(here.parent / "quoth", here, options.reference_python.absolute(), docs, work)
    questions = read_questions(options.data, FULL.questions)
    warm = measure_warm(places, questions)
    cold = measure_cold(places, questions[: FULL.cold_starts + 1])
    print(written([*_warm_lines(warm["seconds"]), _cold_line(cold)]))
    print(noise(warm["others_cores"]))


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description="Measure Quoth beside the reference stack.")
    parser.add_argument("--reference-python", type=Path, default=BENCH.parent / ".bench-venv" / "bin" / "python")
    parser.add_argument("--data", type=Path, default=DATA, help="a folder with docs/ and questions.jsonl")
    parser.add_argument("--json", type=Path, help="write the raw numbers to this file")
    parser.add_argument("--keep", type=Path, help="work in this new folder and leave it there, indexes and all")
    parser.add_argument("--again", type=Path, help="only the questions, on the indexes that an earlier --keep left")
    parser.add_argument("--quick", action="store_true", help="few documents, to see that everything runs")
    options = parser.parse_args(arguments)
    try:
        checked(options)
        if options.again:
            ask_again(options, options.again.resolve())
        elif options.keep:
            options.keep.mkdir(parents=True)
            bench(options, options.keep.resolve())
        else:
            with tempfile.TemporaryDirectory(prefix="quoth-bench-") as work:
                bench(options, Path(work))
    except (BenchError, OSError) as error:
        say(f"error: {error}")
        return 1
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
