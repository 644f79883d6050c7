"""Paragraphs: which lines of a part of the page belong together, and which go on over a column or a page."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise

from quoth.corpus.formats.pdf_lines import Line
from quoth.text.boundaries import cuts
from quoth.text.enumerations import ENUMERATOR

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
_FILLED_IN = re.compile(r"[^_]{0,40}:\s*_[_\s]{2,}")
"""A label with the blank to fill in behind it."""
_FARTHEST = 60  # lines back from one enumerator to the one before it
_FULL_LINE = 24  # characters: a line of a list is mostly shorter, or ends with a mark
_WIDE_GAP = 1.25  # of the usual distance between two lines
_INDENT = 0.7  # of the type size

Leading = Mapping[float, float]
"""The usual distance between the baselines of two lines, by type size."""


def usual_leading(columns: Iterable[Sequence[Line]]) -> Leading:
    """The commonest distance between two lines of each size; what is rare keeps to the rule of thumb."""
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
    """Whether a line opens an item of a list."""
    return text[:1] in _BULLET or ENUMERATOR.match(text) is not None


def has_bullet(text: str) -> bool:
    mark = ENUMERATOR.match(text)
    return text[:1] in _BULLET or (mark is not None and mark["bullet"] is not None)


def paragraphs(lines: Sequence[Line], leading: Leading, opens: Callable[[Line], bool]) -> list[list[Line]]:
    """Return the lines of one part of a page in paragraphs; a line that `opens` says so of begins one in any case."""
    groups: list[list[Line]] = []
    for index, line in enumerate(lines):
        after = lines[index + 1] if index + 1 < len(lines) else None
        title = opens(line) and not (groups and _in_mid_sentence(groups[-1][-1], line))
        if groups and not title and _together(groups[-1], line, after, leading):
            groups[-1].append(line)
        else:
            groups.append([line])
    return groups


def _in_mid_sentence(last: Line, line: Line) -> bool:
    """Whether the words of a title stand in a sentence that goes on: nothing sets them off, and they are awaited."""
    return last.size == line.size and last.bold == line.bold and _GOES_ON.search(last.text.lower()) is not None


def _together(group: Sequence[Line], line: Line, after: Line | None, leading: Leading) -> bool:
    """Whether `line` goes on with the paragraph that `group` has begun."""
    last = group[-1]
    if not _close(last, line, leading):
        return False
    blank = not line.text.strip("_ ")
    if blank or line.fixed or _FILLED_IN.fullmatch(last.text):
        return blank or line.fixed
    open_end = _open_end(last.text)
    if last.bold != line.bold and not (open_end and line.text[:1].islower()):
        return False
    if is_item(line.text):
        return _number_goes_on(group, line)
    continued = open_end and not line.text[0].isupper() and not line.text[0].isdigit()
    return continued or _same_shape(group, line, after)


def _close(last: Line, line: Line, leading: Leading) -> bool:
    """Whether two lines are set alike and no further apart than the lines of one paragraph are."""
    step = line.baseline - last.baseline
    usual = leading.get(line.size, 1.25 * line.size)
    if not _same_size(last, line) or last.fixed != line.fixed:
        return False
    return 0 < step <= (2.5 * usual if line.fixed else max(_WIDE_GAP * usual, usual + 2.0))


def _same_size(last: Line, line: Line) -> bool:
    return abs(line.size - last.size) <= 0.08 * max(line.size, last.size)


def _same_shape(group: Sequence[Line], line: Line, after: Line | None) -> bool:
    """Whether the edges of the lines allow one paragraph: no new indent, no line that ends early."""
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


def _ends_early(line: Line, following: Line) -> bool:
    """Whether the first word of the next line would have found room on this one."""
    words = following.text.split(maxsplit=1)
    letters = max(1, len(following.text))
    room = (len(words[0]) + 1.5) * (following.right - following.left) / letters
    return line.right + room < line.column[1] - 0.02 * (line.column[1] - line.column[0])


def _centred(line: Line) -> bool:
    before, behind = line.left - line.column[0], line.column[1] - line.right
    return min(before, behind) > 2 * line.size and abs(before - behind) < line.size


def _number_goes_on(group: Sequence[Line], line: Line) -> bool:
    """`Section` / `4.2 of the` is one sentence although the second line looks enumerated; `(i) … ;` / `(ii)` may be."""
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


def _is_run_in(group: Sequence[Line], label: str, *, after_comma: bool) -> bool:
    """Whether an enumerator belongs to a list inside a sentence: the one before it stands in the paragraph already."""
    if label in _FIRST:
        return after_comma
    text = "\n".join(line.text for line in group[-_FARTHEST:])
    before = [_ROMAN[_ROMAN.index(label) - 1]] if label in _ROMAN else []
    if len(label) == 1 and label.isalpha():
        before.append(chr(ord(label) - 1))
    if label.isdigit():
        before.append(str(int(label) - 1))
    return any(text.find(f"({one})", 1) > 0 for one in before)


def _open_end(text: str) -> bool:
    return not _ENDS.search(text) and not text.isupper()


def _within_sentence(last: str, text: str) -> bool:
    """Whether a period ends no sentence: `at St.` / `Augustine`."""
    end = len(last) + 1
    return last.endswith(".") and end not in cuts(f"{last} {text}", 0, end + len(text))


def runs_on(last: Line, line: Line) -> bool:
    """Whether a paragraph that ends a column or a page goes on at the top of the next one."""
    if not _same_size(last, line) or last.bold != line.bold or line.fixed:
        return False
    if has_bullet(line.text) or (is_item(line.text) and _ENDS_ITEM.search(last.text)):
        return False
    abbreviated = _ABBREVIATED.search(last.text) is not None and _within_sentence(last.text, line.text)
    if last.text.isupper() or (_ENDS_SENTENCE.search(last.text) and not abbreviated):
        return False
    width = last.column[1] - last.column[0]
    full = last.right > last.column[1] - 0.25 * width
    if line.text[:1].islower() or _GOES_ON.search(last.text):
        return True
    return full and len(last.text) >= 20 and not is_item(line.text)
