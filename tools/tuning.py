"""Measure what each threshold and weight does, for docs/tuning.md.

    python tools/tuning.py [SET ...] [--root ../shared/eval] [--indexes DIR] [--limit N] [--write]

A set is a folder with `questions.jsonl` and documents (in `docs/`, or beside it): a path, or a name under `--root` or
`examples/`. Without one: the agriculture sample, and from `--root`, where it is there, irrigation and encyclopedia.
Every question is asked once for each setting. Tables go to stdout; `--write` puts them into the page, between
`<!-- measured:begin NAME -->` and `<!-- measured:end -->`, and draws the chart beside it.

The presets are the YAML blocks under the headings `### More ...` of the page: what is recommended is what is measured.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from pathlib import Path

import numpy as np
import yaml

from quoth.domain.profile import parse_profile
from quoth.evaluation.calibrate import without_threshold
from quoth.evaluation.judgements import Judgement, judge_each
from quoth.evaluation.labelled_questions import LabelledQuestion, read_labelled, touches
from quoth.evaluation.measures import measures_of
from quoth.library import Quoth, ingest_paths
from quoth.overrides import Overrides
from quoth.protocols import Reader
from quoth.settings import Settings
from quoth.types import Ranked, Vectors
from quoth.wiring import open_store

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "tuning.md"
CHART = "tuning-threshold.svg"
PROFILES = {"agriculture": "agriculture", "irrigation": "agriculture", "governance": "governance"}

THRESHOLDS = tuple(percent / 100 for percent in range(30, 71, 5))
BANDS = ("below 0.70", "0.70 to 0.82", "above 0.82")
TOP = 6
"""Candidates whose pairs are looked at."""

Figures = Mapping[str, float]
"""A run's measures by key; NaN where one is undefined, no entry where it could not be taken."""
Flags = Mapping[str, str]
"""Settings by dotted key, as texts."""
Columns = Sequence[tuple[str, str]]
"""Heading and key of each measure in a table."""

DECISIONS: Columns = (
    ("answered", "answer_rate"),
    ("false answers", "false_answer_rate"),
    ("right, of the answers", "right_of_answers"),
    ("answerable refused", "refused"),
)
HITS: Columns = (("hit@1", "hit@1"), ("hit@3", "hit@3"), ("hit@6", "hit@6"))
SPREAD: Columns = (("sentences per answer", "sentences_per_answer"), ("redundancy after", "redundancy_after"))
WHOLE: Columns = (
    *DECISIONS,
    ("character precision", "answered_char_precision"),
    ("sentences per answer", "sentences_per_answer"),
)


@dataclass(frozen=True)
class Sweep:
    """One setting and the values it is measured at, besides the one in force."""

    key: str
    values: tuple[float, ...]
    columns: Columns


SWEEPS = (
    Sweep("selection.mmr_lambda", (0.60, 0.65, 0.70, 0.75, 0.80, 0.85, 0.90), (*HITS, *SPREAD)),
    Sweep(
        "selection.max_sim_threshold",
        (0.60, 0.70, 0.76, 0.82, 0.88, 0.94, 1.0),
        (("redundancy after", "redundancy_after"), ("sentences per answer", "sentences_per_answer"), HITS[2]),
    ),
    Sweep(
        "selection.min_share",
        (0.0, 0.50, 0.65, 0.75, 0.85),
        (*HITS, ("character precision", "answered_char_precision"), *SPREAD),
    ),
    Sweep(
        "selection.max_sentences",
        (1, 2, 3, 4, 6, 10),
        (("right, of the answers", "right_of_answers"), ("character precision", "answered_char_precision"), *SPREAD),
    ),
    Sweep("selection.min_support", (1, 2, 3), DECISIONS),
    Sweep("decision.support_score", (0.10, 0.20, 0.30, 0.40, 0.50), (*DECISIONS, SPREAD[0])),
)


def main() -> int:
    options = _options()
    page = PAGE.read_text(encoding="utf-8")
    benches = [Bench.open(folder, options) for folder in _folders(options)]
    curves = {bench.name: threshold_points(bench.unthresholded(), THRESHOLDS) for bench in benches}
    parts = dict(measured(benches, presets_of(page), with_chart=options.write))
    for name, text in parts.items():
        print(f"## {name}\n\n{text}\n", flush=True)
    if options.write:
        PAGE.write_text(fill(page, parts), encoding="utf-8")
        (PAGE.parent / CHART).write_text(chart(curves), encoding="utf-8")
        print(f"written: {PAGE.relative_to(ROOT)}, {(PAGE.parent / CHART).relative_to(ROOT)}", file=sys.stderr)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", metavar="SET")
    parser.add_argument("--root", type=Path, default=ROOT.parent / "shared" / "eval")
    parser.add_argument("--indexes", type=Path, default=Path(tempfile.gettempdir()) / "quoth-tuning")
    parser.add_argument("--limit", type=int, help="only so many questions of each set, evenly spaced")
    parser.add_argument("--write", action="store_true", help="put the tables into docs/tuning.md")
    return parser.parse_args()


def _folders(options: argparse.Namespace) -> Iterator[Path]:
    """The folders of the sets, made absolute; one that is named and not there ends the script."""
    examples = ROOT / "examples"
    if not options.sets:
        yield examples / "agriculture"
        yield from (options.root / name for name in ("irrigation", "encyclopedia") if (options.root / name).is_dir())
    for name in options.sets:
        places = [Path(name), options.root / name, examples / name]
        found = next((place for place in places if (place / "questions.jsonl").is_file()), None)
        if found is None:
            raise SystemExit(f"no questions.jsonl in any of {', '.join(map(str, places))}")
        yield found.resolve()


def measured(benches: Sequence[Bench], presets: Mapping[str, Flags], *, with_chart: bool) -> Iterator[tuple[str, str]]:
    """Every part of the page by its name."""
    yield "sets", sets_table(benches)
    picture = f"![Answerable questions refused and false answers, by threshold]({CHART})\n\n" if with_chart else ""
    yield "decision.abstain_score_thresh", picture + _each(benches, threshold_part)
    for sweep in SWEEPS:
        yield sweep.key, _each(benches, partial(sweep_part, sweep=sweep))
    yield "bands", _each(benches, lambda bench: band_table(bench.pairs()))
    yield "retrieval.tag_boost", _each(benches, boost_part)
    yield "retrieval.alpha_lexical", _each(benches, alpha_part)
    yield "rerank.kind", _each(benches, rerank_part)
    yield "presets", _each(benches, partial(presets_part, presets=presets))


PARTS = (
    "sets",
    "decision.abstain_score_thresh",
    *(sweep.key for sweep in SWEEPS),
    "bands",
    "retrieval.tag_boost",
    "retrieval.alpha_lexical",
    "rerank.kind",
    "presets",
)
"""The names of what `measured` makes."""


def _each(benches: Sequence[Bench], part: Callable[[Bench], str]) -> str:
    return side_by_side([part(bench) for bench in benches])


def side_by_side(tables: Sequence[str]) -> str:
    """Join the tables of several sets into one: each cell holds the figures of all sets, in the order of the sets.

    A row label that is bold in a set makes that set's figures bold. A set without a table, or without the row, has `-`.
    """
    parsed = [dict(_rows(text)) for text in tables]
    headings, rules = next(text.splitlines()[:2] for text in tables if text.startswith("|"))
    labels = list(dict.fromkeys(label.replace("**", "") for rows in parsed for label in rows))
    if all(re.fullmatch(r"[\d.]+", label) for label in labels):
        labels.sort(key=float)
    lines = []
    for label in labels:
        columns = [_cells(rows, label, headings.count("|") - 2) for rows in parsed]
        lines.append(f"| {label} | {' | '.join(' / '.join(cell) for cell in zip(*columns, strict=True))} |")
    return "\n".join([headings, rules, *lines])


def _rows(text: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the label and the cells of each row of a Markdown table; nothing for a text that is none."""
    for line in text.splitlines()[2:]:
        label, *cells = line.strip("|").split("|")
        yield label.strip(), [cell.strip() for cell in cells]


def _cells(rows: Mapping[str, Sequence[str]], label: str, width: int) -> list[str]:
    for written, cells in rows.items():
        if written.replace("**", "") == label:
            return [f"**{cell}**" for cell in cells] if "**" in written else list(cells)
    return ["-"] * width


@dataclass(frozen=True)
class Pair:
    """Two of the best candidates: their cosine, whether one of them touches gold, and whether both have the same."""

    cosine: float
    golden: bool
    same: bool


class Bench:
    """A set with its index, asked once for each different setting."""

    def __init__(self, name: str, index: Path, items: Sequence[LabelledQuestion]) -> None:
        self.name = name
        self.items = items
        self._store = open_store(index, Settings().store)
        self._figures: dict[str, Figures] = {}
        self._unthresholded: tuple[Judgement, ...] | None = None
        with self._store.read() as reader:
            self.info = reader.info
        self._profile = parse_profile(self.info.profile_source)

    @classmethod
    def open(cls, folder: Path, options: argparse.Namespace) -> Bench:
        """Bring the set's index up to date first."""
        sample = folder.parent == ROOT / "examples"
        name = f"{folder.name} sample" if sample else folder.name
        index = options.indexes / name.replace(" ", "-")
        documents = folder / "docs" if (folder / "docs").is_dir() else folder
        print(f"{name}: reading {documents}", file=sys.stderr)
        profile = PROFILES.get(folder.name, "general")
        ingest_paths([documents], index, profile=profile, overrides=Overrides({}, {}, {}))
        return cls(name, index, spaced(read_labelled(folder / "questions.jsonl"), options.limit))

    def settings(self, flags: Flags) -> Settings:
        """What is in force with these flags, under the profile of the set."""
        return _overrides(flags).over(self._profile.settings, profile=self._profile.name)

    def in_force(self, key: str) -> float | None:
        section, _, name = key.partition(".")
        value: float | None = getattr(getattr(self.settings({}), section), name)
        return value

    def figures(self, flags: Flags) -> Figures:
        """The measures of a run with these flags."""
        digest = self.settings(flags).digest
        if digest not in self._figures:
            self._figures[digest] = figures_of(self._judged(_overrides(flags), what=_told(flags)))
        return self._figures[digest]

    def unthresholded(self) -> tuple[Judgement, ...]:
        """A run in which only the other checks abstain: a confidence at hand says what a threshold would do."""
        if self._unthresholded is None:
            made_for = Quoth(self._store, _overrides({})).circumstances()
            free = without_threshold(_overrides({}), made_for)
            self._unthresholded = self._judged(free, what="no threshold")
        return self._unthresholded

    def pairs(self) -> list[Pair]:
        """The pairs among the best candidates of every question, before any is chosen."""
        quoth = Quoth(self._store, _overrides({}))
        with self._store.read() as reader:
            found = ((item, quoth.explain(item.question).trace.ranked[:TOP]) for item in self.items)
            return [pair for item, ranked in found for pair in pairs_of(ranked, item, reader)]

    def _judged(self, overrides: Overrides, *, what: str) -> tuple[Judgement, ...]:
        print(f"{self.name}: {len(self.items)} questions, {what}", file=sys.stderr)
        judged = judge_each(Quoth(self._store, overrides), self.items, progress=None)
        for one in judged:
            if one.fault is not None:
                raise SystemExit(f"{self.name}, question {one.labelled.question.id}: {one.fault}")
        return judged


def _overrides(flags: Flags) -> Overrides:
    # The reader would take hours over all the values.
    return Overrides({}, {}, {"embedding.threads": "1", "rerank.kind": "late", **flags})


def _told(flags: Flags) -> str:
    return " ".join(f"{key}={value}" for key, value in flags.items()) or "as it comes"


def spaced(items: Sequence[LabelledQuestion], limit: int | None) -> tuple[LabelledQuestion, ...]:
    """At most `limit` of them, evenly spaced: a set may be sorted."""
    count = len(items) if limit is None else min(limit, len(items))
    return tuple(items[place * len(items) // count] for place in range(count))


def figures_of(judged: Sequence[Judgement]) -> dict[str, float]:
    """Every measure of `quoth eval` by its key, and those that these tables need besides."""
    weights = np.ones((1, len(judged)))
    figures = {one.key: float(one.of(weights)[0]) for one in measures_of(judged)[0]}
    right = [one.answered and one.right for one in judged if one.labelled.answerable]
    figures["right_of_answers"] = 1 - figures["answer_risk"]
    figures["refused"] = 1 - figures["answer_rate_answerable"]
    figures["found"] = share(sum(right), len(right))
    return figures


def share(part: int, whole: int) -> float:
    """NaN of nothing."""
    return part / whole if whole else float("nan")


def shown(value: float) -> str:
    return "-" if np.isnan(value) else f"{value:.3f}"


def table(headings: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A Markdown table; every column but the first is a number."""
    lines = [f"| {' | '.join(headings)} |", "|---|" + "---:|" * (len(headings) - 1)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])


def with_current(values: Sequence[float], current: float | None) -> list[float]:
    """The values and the one in force, ascending, each once."""
    return sorted({*values, *([] if current is None else [current])})


def labelled_value(value: float, current: float | None) -> str:
    """As it would be written in the settings; bold when it is in force."""
    text = f"{value:.2f}" if isinstance(value, float) else str(value)
    return f"**{text}**" if value == current else text


def rows_of(runs: Iterable[tuple[str, Figures]], columns: Columns) -> list[list[str]]:
    """A row for each run, its label first."""
    return [[label, *(shown(figures.get(key, float("nan"))) for _, key in columns)] for label, figures in runs]


def runs_table(first: str, runs: Iterable[tuple[str, Figures]], columns: Columns) -> str:
    return table([first, *(heading for heading, _ in columns)], rows_of(runs, columns))


def sets_table(benches: Sequence[Bench]) -> str:
    rows = []
    for bench in benches:
        answerable = sum(item.answerable for item in bench.items)
        sizes = (bench.info.sentences, answerable, len(bench.items) - answerable)
        rows.append([bench.name, bench.info.profile_name, *(f"{size:,}" for size in sizes)])
    return table(["set", "profile", "sentences", "answerable questions", "unanswerable"], rows)


@dataclass(frozen=True)
class Point:
    """What a threshold would have done: shares of all questions, the unanswerable, the answers, the answerable."""

    threshold: float
    answered: float
    false: float
    right: float
    refused: float


def threshold_points(judged: Sequence[Judgement], thresholds: Iterable[float]) -> list[Point]:
    """From a run in which only other checks abstained; those questions are answered at no threshold."""
    answerable = sum(one.labelled.answerable for one in judged)
    points = []
    for threshold in thresholds:
        given = [one for one in judged if not one.abstained and one.confidence >= threshold]
        to_answerable = sum(one.labelled.answerable for one in given)
        points.append(
            Point(
                threshold,
                answered=share(len(given), len(judged)),
                false=share(len(given) - to_answerable, len(judged) - answerable),
                right=share(sum(one.right for one in given), len(given)),
                refused=share(answerable - to_answerable, answerable),
            )
        )
    return points


def threshold_part(bench: Bench) -> str:
    current = bench.in_force("decision.abstain_score_thresh")
    points = threshold_points(bench.unthresholded(), with_current(THRESHOLDS, current))
    rows = [
        [labelled_value(one.threshold, current), *map(shown, (one.answered, one.false, one.right, one.refused))]
        for one in points
    ]
    return table(["`abstain_score_thresh`", *(heading for heading, _ in DECISIONS)], rows)


def sweep_part(bench: Bench, *, sweep: Sweep) -> str:
    current = bench.in_force(sweep.key)
    runs = [
        (labelled_value(value, current), bench.figures({sweep.key: str(value)}))
        for value in with_current(sweep.values, current)
    ]
    return runs_table(f"`{sweep.key.partition('.')[2]}`", runs, sweep.columns)


def boost_part(bench: Bench) -> str:
    if not bench.settings({}).retrieval.tag_boost:
        return "The profile of this set has no boosts."
    variants = {
        "off": {"retrieval.tag_boost": "{}"},
        "**those of the profile**": {},
        "the same facets, multiplied": {"retrieval.tag_boost_mode": "multiply"},
    }
    columns = (("precision@5", "precision@5_boosted"), *HITS, ("tag pairs per answer", "tag_pairs"))
    return runs_table("`tag_boost`", ((name, bench.figures(flags)) for name, flags in variants.items()), columns)


def alpha_part(bench: Bench) -> str:
    given = {"rerank.kind": "none", "decision.abstain": "false"}
    values = {
        "by the kind of question": "null",
        **{f"{value:.2f}": str(value) for value in (0.0, 0.25, 0.5, 0.75, 1.0)},
    }
    if (current := bench.in_force("retrieval.alpha_lexical")) is not None:
        values[f"**{current:.2f}**, from the profile"] = str(current)
    runs = [(name, bench.figures({**given, "retrieval.alpha_lexical": value})) for name, value in values.items()]
    return runs_table("`alpha_lexical`", runs, HITS)


def rerank_part(bench: Bench) -> str:
    columns = (
        *HITS,
        ("AUROC, right from wrong", "auroc"),
        ("AUROC, answerable from not", "auroc_answerable"),
        ("coverage at 10% risk", "coverage@10%"),
    )
    runs = [
        (f"`{kind}`", bench.figures({"rerank.kind": kind, "decision.abstain": "false"}))
        for kind in ("late", "none", "cosine")
    ]
    return runs_table("`rerank.kind`", runs, columns)


def presets_part(bench: Bench, *, presets: Mapping[str, Flags]) -> str:
    runs = [(name, bench.figures(flags)) for name, flags in {"as it comes": {}, **presets}.items()]
    return runs_table("settings", runs, WHOLE)


def pairs_of(ranked: Sequence[Ranked], item: LabelledQuestion, reader: Reader) -> Iterator[Pair]:
    """Each two of the sentences. Where one gold is enough, any two that touch gold say the same."""
    vectors: dict[str, Vectors] = {}
    for doc_id in {one.sentence.doc_id for one in ranked}:
        evidence = [sentence.id for sentence in reader.sentences(doc_id) if sentence.kind.evidence]
        vectors |= dict(zip(evidence, reader.vectors(doc_id), strict=True))
    for one, other in combinations([one.sentence for one in ranked], 2):
        mine, others = (
            {place for place, gold in enumerate(item.gold) if touches((sentence.doc_id, sentence.quote.span), gold)}
            for sentence in (one, other)
        )
        same = bool(mine & others) or (item.gold_mode == "any" and bool(mine) and bool(others))
        yield Pair(float(vectors[one.id] @ vectors[other.id]), bool(mine | others), same)


def band_of(cosine: float) -> str:
    """A cosine of 0.82 is not yet above it: a sentence is left out only when it is more alike than the threshold."""
    return BANDS[(cosine >= 0.70) + (cosine > 0.82)]


def band_table(pairs: Sequence[Pair]) -> str:
    rows = []
    for name in BANDS:
        inside = [pair for pair in pairs if band_of(pair.cosine) == name]
        golden = [pair for pair in inside if pair.golden]
        same = sum(pair.same for pair in golden)
        shares = shown(share(len(inside), len(pairs))), shown(share(same, len(golden)))
        rows.append([name, f"{len(inside):,}", shares[0], f"{len(golden):,}", shares[1]])
    return table(["cosine", "pairs", "share of pairs", "pairs with gold", "both have the same"], rows)


_PRESET = re.compile(r"^### (?P<name>More \w+)\n.*?^```yaml\n(?P<source>.*?)^```$", re.MULTILINE | re.DOTALL)


def presets_of(page: str) -> dict[str, Flags]:
    """The recommended settings of the page, by heading, as flags."""
    found = {one["name"].lower(): yaml.safe_load(one["source"]) for one in _PRESET.finditer(page)}
    return {
        name: {f"{section}.{key}": json.dumps(value) for section, own in content.items() for key, value in own.items()}
        for name, content in found.items()
    }


def fill(page: str, parts: Mapping[str, str]) -> str:
    """The page with each part between its markers; a part without a place ends the script."""
    for name, text in parts.items():
        opening, closing = f"<!-- measured:begin {name} -->", "<!-- measured:end -->"
        head, found, rest = page.partition(opening)
        _, ended, tail = rest.partition(closing)
        if not found or not ended:
            raise SystemExit(f"{PAGE} has no place for {name}: {opening} ... {closing}")
        page = f"{head}{opening}\n\n{text.strip()}\n\n{closing}{tail}"
    return page


_WIDTH, _HEIGHT, _LEFT, _TOP_EDGE = 460, 240, 50, 20
_COLOURS = ("#1b6ca8", "#c4552d", "#3d8b4f", "#7a4fa3", "#8a6d1d")


def chart(curves: Mapping[str, Sequence[Point]]) -> str:
    """An SVG: for each set the answerable questions refused (solid) and the false answers (dashed), by threshold."""
    low, high = THRESHOLDS[0], THRESHOLDS[-1]

    def x(threshold: float) -> float:
        return _LEFT + (threshold - low) / (high - low) * _WIDTH

    def y(value: float) -> float:
        return _TOP_EDGE + (1 - value) * _HEIGHT

    def text(left: float, top: float, words: str, *, anchor: str = "start") -> str:
        return f'<text x="{left:.1f}" y="{top:.1f}" text-anchor="{anchor}">{words}</text>'

    bottom, right = _TOP_EDGE + _HEIGHT, _LEFT + _WIDTH + 16
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 190} {bottom + 50}" '
        'font-family="sans-serif" font-size="12" fill="#333">',
        '<rect width="100%" height="100%" fill="#fff"/>',
    ]
    for value in (0.0, 0.25, 0.5, 0.75, 1.0):
        lines.append(f'<path d="M{_LEFT} {y(value):.1f}h{_WIDTH}" stroke="#ddd"/>')
        lines.append(text(_LEFT - 8, y(value) + 4, f"{value:.2f}", anchor="end"))
    lines += [text(x(one), bottom + 18, f"{one:.2f}", anchor="middle") for one in THRESHOLDS]
    lines.append(text(_LEFT + _WIDTH / 2, bottom + 40, "decision.abstain_score_thresh", anchor="middle"))
    for place, (name, points) in enumerate(curves.items()):
        colour = _COLOURS[place % len(_COLOURS)]
        height = _TOP_EDGE + 56 * place + 8
        lines.append(text(right, height, name))
        for row, (what, dash) in enumerate((("answerable refused", ""), ("false answers", ' stroke-dasharray="5 4"'))):
            drawn = [(one.threshold, one.false if dash else one.refused) for one in points]
            path = " ".join(f"{x(at):.1f},{y(value):.1f}" for at, value in drawn if not np.isnan(value))
            stroke = f'fill="none" stroke="{colour}" stroke-width="2"{dash}'
            lines.append(f'<polyline points="{path}" {stroke}/>')
            lines.append(f'<path d="M{right} {height + 13 + 17 * row}h28" {stroke}/>')
            lines.append(text(right + 34, height + 17 + 17 * row, what))
    return "\n".join([*lines, "</svg>", ""])


if __name__ == "__main__":
    raise SystemExit(main())
