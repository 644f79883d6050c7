"""Group the lines of columns into paragraphs, across columns and pages."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from quoth.documents.formats.pdf.printed_lines import PrintedLine
from quoth.documents.named_parts import is_bibliography_title
from quoth.language.boundaries import cuts
from quoth.language.enumerations import ENUMERATOR

_ENDS = re.compile(r"[.!?:;…。！？][\"'”’»)\]]*(?:\[?\d{1,3}\]?)?$")
_ENDS_SENTENCE = re.compile(r"[.!?:…。！？][\"'”’»)\]]*(?:\[?\d{1,3}\]?)?$")
_ENDS_ITEM = re.compile(r"[.!?:;,…][\"'”’»)\]]*$|[;,]\s*(?:and|or|and/or)$")
_GOES_ON = re.compile(
    r"(?:,|[^\W\d_]-|\b(?:of|the|and|or|to|by|in|on|with|for|a|an|as|at|from|that|between|this|its|their|any|such|shall|"
    r"is|are|was|were|not|which|who|than|but|if|be|has|have|may|must|will))$"
)
_ABBREVIATED = re.compile(r"\b[A-Z][a-z]{0,3}\.$")
_DASHES = frozenset("-–—")
_OPENING = ("", *"\"'“‘([")
_BULLET = frozenset("•◦▪▫‣●○■□➢✓✔→·")
_ROMAN = "i ii iii iv v vi vii viii ix x xi xii xiii xiv xv".split()
_FIRST = frozenset({"a", "i", "1"})
_FILLED_IN = re.compile(r"[^_]{0,40}:\s*_[_\s]{2,}")  # a label and a blank to fill in, as on a form
_FARTHEST = 60  # lines to search for the enumerator before an enumerator
_FULL_LINE = 24  # characters: most lines of a list are shorter, or end with a punctuation mark
_WIDE_GAP = 1.25  # of the usual distance between two lines
_INDENT = 0.7  # of the type size

Leading = Mapping[float, float]
"""The usual distance between the baselines of two lines, by type size."""


def usual_leading(columns: Iterable[Sequence[PrintedLine]]) -> Leading:
    """Return the most common distance between two lines of each size; rare sizes are left out."""
    found: dict[float, Counter[float]] = {}
    for lines in columns:
        for line, following in pairwise(lines):
            step = following.baseline - line.baseline
            if line.size == following.size and 0.9 * line.size < step < 3 * line.size:
                found.setdefault(line.size, Counter())[round(step * 2) / 2] += 1
    return {
        size: max(steps, key=lambda step: (steps[step], -step)) for size, steps in found.items() if steps.total() >= 4
    }


def is_item(text: str) -> bool:
    """Return whether a line begins a list item."""
    return text[:1] in _BULLET or ENUMERATOR.match(text) is not None


def has_bullet(text: str) -> bool:
    mark = ENUMERATOR.match(text)
    return text[:1] in _BULLET or (mark is not None and mark["bullet"] is not None)


def paragraphs(
    lines: Sequence[PrintedLine], leading: Leading, opens: Callable[[PrintedLine], bool]
) -> list[list[PrintedLine]]:
    """Group the lines of a column into paragraphs. A line for which `opens` is true begins a paragraph."""
    groups: list[list[PrintedLine]] = []
    for index, line in enumerate(lines):
        after = lines[index + 1] if index + 1 < len(lines) else None
        title = opens(line) and not (groups and _in_mid_sentence(groups[-1][-1], line))
        title = title or is_bibliography_title(line.text) or bool(groups and is_bibliography_title(groups[-1][0].text))
        if groups and not title and _together(groups[-1], line, after, leading):
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _in_mid_sentence(last: PrintedLine, line: PrintedLine) -> bool:
    """Return whether `line` continues a sentence: it is printed alike, and `last` ends with a word such as `of`."""
    return last.size == line.size and last.bold == line.bold and _GOES_ON.search(last.text.lower()) is not None


def _together(group: Sequence[PrintedLine], line: PrintedLine, after: PrintedLine | None, leading: Leading) -> bool:
    """Return whether `line` continues the paragraph of `group`."""
    last = group[-1]
    if not _close(last, line, leading):
        return False
    blank = not line.text.strip("_ ")
    if blank or line.fixed or _FILLED_IN.fullmatch(last.text):
        return blank or line.fixed
    open_end = _open_end(last.text)
    if last.bold != line.bold and not (open_end and line.text[:1].islower()):
        return False
    if _is_title_above(group, line):
        return False
    if is_item(line.text):
        return _number_goes_on(group, line)
    continued = open_end and not line.text[0].isupper() and not line.text[0].isdigit()
    return continued or _same_shape(group, line, after)


def _is_title_above(group: Sequence[PrintedLine], line: PrintedLine) -> bool:
    """Return whether the lines so far are a title in a print of its own, above the first line of its text."""
    fonts = {item.font for before in group for item in before.fragments}
    if len(group) > 2 or len(fonts) > 1 or line.font in fonts or not line.text[:1].isupper():
        return False
    return _ends_early(group[-1], line) and not _ENDS.search(group[-1].text) and not _GOES_ON.search(group[-1].text)


def _close(last: PrintedLine, line: PrintedLine, leading: Leading) -> bool:
    """Return whether two lines are printed alike, and as close together as in a paragraph."""
    step = line.baseline - last.baseline
    usual = leading.get(line.size, 1.25 * line.size)
    if not _same_size(last, line) or last.fixed != line.fixed:
        return False
    return 0 < step <= (2.5 * usual if line.fixed else max(_WIDE_GAP * usual, usual + 2.0))


def _same_size(last: PrintedLine, line: PrintedLine) -> bool:
    return abs(line.size - last.size) <= 0.08 * max(line.size, last.size)


def _same_shape(group: Sequence[PrintedLine], line: PrintedLine, after: PrintedLine | None) -> bool:
    """Return whether the edges of the lines fit a single paragraph: no new indent, no line that ends early."""
    last, em = group[-1], line.size
    if _centred(last) and _centred(line):
        return True
    hanging = is_item(group[0].text)
    further = line.left - last.left
    if further > _INDENT * em:
        if not (hanging and len(group) == 1) and (after is None or after.left < line.left - _INDENT * em / 2):
            return False
        if not hanging and _ENDS.search(last.text):
            return False
    elif further < -_INDENT * em and len(group) > 1 and _ENDS.search(last.text):
        return False
    if _ends_early(last, line):
        return not _ENDS.search(last.text) and _GOES_ON.search(last.text) is not None
    return True


def _ends_early(line: PrintedLine, following: PrintedLine) -> bool:
    """Return whether `line` has room for the first word of the following line."""
    words = following.text.split(maxsplit=1)
    letters = max(1, len(following.text))
    room = (len(words[0]) + 1.5) * (following.right - following.left) / letters
    return line.right + room < line.column_edges[1] - 0.02 * (line.column_edges[1] - line.column_edges[0])


def _centred(line: PrintedLine) -> bool:
    before, behind = line.left - line.column_edges[0], line.column_edges[1] - line.right
    return min(before, behind) > 2 * line.size and abs(before - behind) < line.size


def _number_goes_on(group: Sequence[PrintedLine], line: PrintedLine) -> bool:
    """Return whether a line with an enumerator continues a sentence: `Section` / `4.2 of the`, `(i) …;` / `(ii)`."""
    last = group[-1]
    mark = ENUMERATOR.match(line.text)
    if mark is None or _ends_early(last, line):
        return False
    content = line.text[mark.end() :].lstrip()
    # `four events` / `– admission, expansion`: a dash. `1.15 for each tonne, and` / `1.80 for each month`: an amount.
    dash = mark["bullet"] in _DASHES and content[:1].islower() and _open_end(last.text)
    amount = mark["level"] and not content[:1].isupper() and content[:1] not in _OPENING
    if dash or amount or has_bullet(line.text):
        return not has_bullet(line.text) or dash
    if _ENDS_ITEM.search(last.text):
        if last.text[-1] == ".":
            return _within_sentence(last.text, line.text)
        if last.text[-1] == "," and mark["dot"] and content[:1].islower():
            return True  # `…, and` / `D. villosum`: an initial
        in_line = last.text[-1] in ",;rd" and abs(line.left - last.left) < line.size
        return in_line and _is_run_in(group, mark.group().strip("().").lower(), after_comma=last.text[-1] == ",")
    return content[:1].islower() or _GOES_ON.search(last.text) is not None or len(last.text) >= _FULL_LINE


def _is_run_in(group: Sequence[PrintedLine], label: str, *, after_comma: bool) -> bool:
    """Return whether an enumerator belongs to a list in a sentence: its paragraph holds the enumerator before it."""
    if label in _FIRST:
        return after_comma
    text = "\n".join(line.text for line in group[-_FARTHEST:])
    before = [_ROMAN[_ROMAN.index(label) - 1]] if label in _ROMAN else []
    if len(label) == 1 and label.isalpha():
        before.append(chr(ord(label) - 1))
    if label.isdigit():
        before.append(str(int(label) - 1))
    return any(text.find(f"({previous})", 1) > 0 for previous in before)


def _open_end(text: str) -> bool:
    return not _ENDS.search(text) and not text.isupper()


def _within_sentence(last: str, text: str) -> bool:
    """Return whether `last` ends with a period that does not end the sentence: `at St.` / `Augustine`."""
    end = len(last) + 1
    return last.endswith(".") and end not in cuts(f"{last} {text}", 0, end + len(text))


def runs_on(last: PrintedLine, line: PrintedLine) -> bool:
    """Return whether the last paragraph of a column or page continues at the top of the next."""
    if not _same_size(last, line) or last.bold != line.bold or line.fixed:
        return False
    if has_bullet(line.text) or (is_item(line.text) and _ENDS_ITEM.search(last.text)):
        return False
    abbreviated = _ABBREVIATED.search(last.text) is not None and _within_sentence(last.text, line.text)
    if last.text.isupper() or (_ENDS_SENTENCE.search(last.text) and not abbreviated):
        return False
    width = last.column_edges[1] - last.column_edges[0]
    full = last.right > last.column_edges[1] - 0.25 * width
    if line.text[:1].islower() or _GOES_ON.search(last.text):
        return True
    return full and len(last.text) >= 20 and not is_item(line.text)
