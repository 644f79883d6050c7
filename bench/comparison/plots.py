"""Plots of a comparison as SVG, drawn from its figures alone; they follow the reader's light or dark scheme."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

STYLE = """
  text { font: 13px system-ui, sans-serif; fill: #1f2328 }
  .small { font-size: 11px; fill: #59636e }
  .axis { stroke: #d1d9e0 }
  .dot, .bar { fill: #6e7781 } .own { fill: #0969da }
  @media (prefers-color-scheme: dark) {
    text { fill: #f0f6fc } .small { fill: #9198a1 } .axis { stroke: #3d444d }
    .dot, .bar { fill: #9198a1 } .own { fill: #4493f8 }
  }
"""
WIDTH, LEFT, RIGHT, ROW = 720, 120, 90, 24


@dataclass(frozen=True, slots=True)
class Point:
    """A tool in a plot. `own` stands out."""

    title: str
    x: float
    y: float
    own: bool


def scatter(points: Sequence[Point], *, title: str, across: str, up: str) -> str:
    """Draw two shares against each other, each from 0 to 1."""
    side, low = 360, 40
    parts = [f'<text x="{LEFT}" y="24">{escape(title)}</text>']
    for tick in (0, 0.25, 0.5, 0.75, 1):
        x, y = LEFT + tick * side, low + side - tick * side
        parts.append(f'<line class="axis" x1="{x:.0f}" y1="{low}" x2="{x:.0f}" y2="{low + side}"/>')
        parts.append(f'<line class="axis" x1="{LEFT}" y1="{y:.0f}" x2="{LEFT + side}" y2="{y:.0f}"/>')
        parts.append(f'<text class="small" x="{x:.0f}" y="{low + side + 16}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text class="small" x="{LEFT - 8}" y="{y + 4:.0f}" text-anchor="end">{tick:g}</text>')
    middle = 'class="small" text-anchor="middle"'
    parts.append(f'<text {middle} x="{LEFT + side / 2}" y="{low + side + 36}">{escape(across)}</text>')
    turned = f"translate({LEFT - 44},{low + side / 2}) rotate(-90)"
    parts.append(f'<text {middle} transform="{turned}">{escape(up)}</text>')
    labels: list[float] = []
    for point in sorted(points, key=lambda point: (-point.y, point.title)):
        x, y = LEFT + point.x * side, low + side - point.y * side
        beside = max(y, labels[-1] + 15) if labels else y  # labels stand in a column, none over another
        labels.append(beside)
        kind = "own" if point.own else "dot"
        parts.append(f'<line class="axis" x1="{x:.1f}" y1="{y:.1f}" x2="{LEFT + side + 24}" y2="{beside:.1f}"/>')
        parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="5"/>')
        parts.append(
            f'<text class="{kind}" x="{LEFT + side + 28}" y="{beside + 4:.1f}">{escape(point.title)}'
            f"<title>{point.x:.2f}, {point.y:.2f}</title></text>"
        )
    height = max(low + side + 48, round(max(labels, default=0)) + 16)
    return _drawing(height, parts)


def bars(rows: Sequence[tuple[str, float, str, bool]], *, title: str) -> str:
    """Draw a bar for each row of title, value, written value and whether it stands out, on a logarithmic scale."""
    low = math.floor(math.log10(min((value for _, value, _, _ in rows), default=1)))
    high = math.ceil(math.log10(max((value for _, value, _, _ in rows), default=10)))
    scale = (WIDTH - LEFT - RIGHT) / max(1, high - low)
    parts = [f'<text x="8" y="24">{escape(title)}</text>']
    for number, (name, value, written, own) in enumerate(rows):
        y, length = 40 + number * ROW, max(2.0, (math.log10(value) - low) * scale)
        kind = "own" if own else "bar"
        parts.append(f'<text x="{LEFT - 8}" y="{y + 13}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<rect class="{kind}" x="{LEFT}" y="{y}" width="{length:.1f}" height="{ROW - 7}" rx="3"/>')
        parts.append(f'<text class="small" x="{LEFT + length + 6:.1f}" y="{y + 13}">{escape(written)}</text>')
    return _drawing(48 + len(rows) * ROW, parts)


def _drawing(height: float, parts: Sequence[str]) -> str:
    body = "\n  ".join(parts)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" '
        f'height="{height:.0f}" role="img">\n  <style>{STYLE}  </style>\n  {body}\n</svg>\n'
    )
