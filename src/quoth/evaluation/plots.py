"""Plots as SVG, drawn from figures alone: no clock, no randomness, no font or picture from elsewhere.

Colours come from the page's style sheet through classes, so that a plot follows its light or dark scheme.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape

from quoth.evaluation.evaluate import Estimate, ReliabilityBin

WIDTH, HEIGHT = 420, 300
LEFT, RIGHT, TOP, BOTTOM = 52, 12, 12, 44
TICKS = (0.0, 0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Axes:
    """Maps figures to the drawing: x from 0 to 1, y from `low` to `high`."""

    low: float
    high: float

    def x(self, value: float) -> float:
        return LEFT + value * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        return HEIGHT - BOTTOM - (value - self.low) / (self.high - self.low) * (HEIGHT - TOP - BOTTOM)

    def path(self, points: Iterable[tuple[float, float]]) -> str:
        return " ".join(f"{self.x(x):.1f},{self.y(y):.1f}" for x, y in points)


UNIT = Axes(0.0, 1.0)


def risk_coverage_plot(points: Sequence[tuple[float, Estimate]], operating: tuple[float, float] | None) -> str:
    """Draw risk against coverage with its interval, and a dot at the current threshold."""
    band = [(x, risk.high) for x, risk in points if risk.high is not None]
    band += [(x, risk.low) for x, risk in reversed(points) if risk.low is not None]
    line = [(x, risk.value) for x, risk in points if risk.value is not None]
    parts = [
        f'<polygon class="band" points="{UNIT.path(band)}"/>',
        f'<polyline class="line" points="{UNIT.path(line)}"/>',
    ]
    if operating is not None:
        coverage, risk = operating
        parts.append(
            f'<circle class="dot" cx="{UNIT.x(coverage):.1f}" cy="{UNIT.y(risk):.1f}" r="5">'
            f"<title>as decided: {coverage:.1%} answered, {risk:.1%} of them wrong</title></circle>"
        )
    return _drawing(
        "risk-coverage",
        parts,
        title="Risk against coverage",
        about="Share of wrong answers when only the surest questions are answered, with its 95% band.",
        labels=("coverage: share of questions answered", "risk: share of answers that are wrong"),
    )


def reliability_plot(bins: Sequence[ReliabilityBin]) -> str:
    """Draw the share of right answers in each bin against its mean confidence; on the diagonal both agree."""
    most = max((bin_.count for bin_ in bins), default=0)
    parts = [f'<polyline class="guide" points="{UNIT.path([(0, 0), (1, 1)])}"/>']
    for bin_ in bins:
        if bin_.confidence is None or bin_.right.value is None:
            continue
        parts.append(_whisker(bin_.confidence, bin_.right))
        radius = 3 + 6 * (bin_.count / most) ** 0.5
        x, y = UNIT.x(bin_.confidence), UNIT.y(bin_.right.value)
        parts.append(
            f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}">'
            f"<title>{bin_.count} questions from {bin_.low:.1f} to {bin_.high:.1f}: "
            f"confidence {bin_.confidence:.2f}, {bin_.right.value:.1%} right</title></circle>"
        )
    return _drawing(
        "reliability",
        parts,
        title="Reliability",
        about="Mean confidence against the share of right answers, in ten bins; larger dots hold more questions.",
        labels=("confidence", "share right"),
    )


def histogram_plot(right: Sequence[float], wrong: Sequence[float]) -> str:
    """Draw histograms of the confidence of right answers (upwards) and all others (downwards)."""
    count = 20
    up, down = _counts(right, count), _counts(wrong, count)
    most = max([*up, *down, 1])
    axes = Axes(-float(most), float(most))
    parts = []
    for number in range(count):
        low, high = number / count, (number + 1) / count
        for height, name, words in ((up[number], "good", "right"), (-down[number], "bad", "wrong")):
            if height:
                top, bottom = sorted((axes.y(height), axes.y(0)))
                parts.append(
                    f'<rect class="{name}" x="{axes.x(low) + 0.5:.1f}" y="{top:.1f}" '
                    f'width="{axes.x(high) - axes.x(low) - 1:.1f}" height="{bottom - top:.1f}">'
                    f"<title>{abs(height)} {words} from {low:.2f} to {high:.2f}</title></rect>"
                )
    parts.append(f'<polyline class="axis" points="{axes.path([(0, 0), (1, 0)])}"/>')
    return _drawing(
        "confidence",
        parts,
        title="Confidence of right and wrong",
        about="How many questions have each confidence: right ones upwards, wrong ones downwards.",
        labels=("confidence", "questions: right above, wrong below"),
        scale=(axes, [(value, f"{abs(value):.0f}") for value in (-most, 0, most)]),
    )


def recall_plot(stages: Sequence[tuple[str, Estimate]]) -> str:
    """Draw the recall of gold after each stage, as bars with their intervals."""
    parts = []
    for number, (name, figure) in enumerate(stages):
        low, high = (number + 0.15) / len(stages), (number + 0.85) / len(stages)
        value = figure.value or 0.0
        parts.append(
            f'<rect class="good" x="{UNIT.x(low):.1f}" y="{UNIT.y(value):.1f}" '
            f'width="{UNIT.x(high) - UNIT.x(low):.1f}" height="{UNIT.y(0) - UNIT.y(value):.1f}">'
            f"<title>{escape(name)}: {value:.1%}</title></rect>"
        )
        parts.append(_whisker((low + high) / 2, figure))
        parts.append(_text(UNIT.x((low + high) / 2), HEIGHT - BOTTOM + 16, name))
    return _drawing(
        "recall",
        parts,
        title="Recall of gold by stage",
        about="Share of the gold that is still among the sentences after each stage.",
        labels=("", "recall"),
        ticks=(),
    )


def _counts(values: Sequence[float], count: int) -> list[int]:
    counted = Counter(min(int(value * count + 1e-9), count - 1) for value in values)
    return [counted[number] for number in range(count)]


def _whisker(x: float, figure: Estimate) -> str:
    if figure.low is None or figure.high is None:
        return ""
    return f'<polyline class="whisker" points="{UNIT.path([(x, figure.low), (x, figure.high)])}"/>'


def _drawing(
    name: str,
    parts: Sequence[str],
    *,
    title: str,
    about: str,
    labels: tuple[str, str],
    ticks: Sequence[float] = TICKS,
    scale: tuple[Axes, Sequence[tuple[float, str]]] | None = None,
) -> str:
    """Return an SVG with its axes; `scale` is the y axis where it does not go from 0 to 1."""
    axes, steps = scale or (UNIT, [(tick, f"{tick:.0%}") for tick in TICKS])
    frame = [_text(axes.x(tick), HEIGHT - BOTTOM + 16, f"{tick:g}") for tick in ticks]
    for value, words in steps:
        y = axes.y(value)
        frame.append(f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        frame.append(_text(LEFT - 6, y + 4, words, anchor="end"))
    frame.append(_text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, labels[0]))
    middle = (TOP + HEIGHT - BOTTOM) / 2
    frame.append(_text(12, middle, labels[1], turned=True))
    return (
        f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-labelledby="{name}-title {name}-about">'
        f'<title id="{name}-title">{escape(title)}</title><desc id="{name}-about">{escape(about)}</desc>'
        f"{''.join(frame)}{''.join(parts)}</svg>"
    )


def _text(x: float, y: float, words: str, *, anchor: str = "middle", turned: bool = False) -> str:
    turn = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turned else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{turn}>{escape(words)}</text>' if words else ""
