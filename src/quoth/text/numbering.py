"""The numbers of headings and clauses: which follows which, and which lies inside which."""

from __future__ import annotations

import re
from collections.abc import Sequence

from quoth.text.headings import heading

_BARE_NUMBER = re.compile(r"(?P<number>\d{1,2})[ \t]+[A-Z]")
_LONGEST, _FEWEST = 120, 3


def follows(later: str, number: str) -> bool:
    """Whether a number comes next to another in the same list: `4.3` to `4.2`, `5` to `4`, `C` to `B`."""
    *outer, last = later.split(".")
    *outer_before, before = number.split(".")
    if outer != outer_before:
        return False
    if last.isdigit() and before.isdigit():
        return int(last) == int(before) + 1
    return len(last) == len(before) == 1 and ord(last) == ord(before) + 1


def is_later(later: str, number: str) -> bool:
    """Whether a numbered text ends the section of a number: `4.3` ends `4.2`, `5.1` ends `4`; `2.5` ends no `9`."""
    if follows(later, number):
        return True
    outer, _, inner = later.partition(".")
    first = number.partition(".")[0]
    return inner != "" and outer.isdigit() and first.isdigit() and int(outer) == int(first) + 1


def holds(number: str, inner: str) -> bool:
    """Whether one number lies inside another: `4.2` in `4`."""
    return inner.startswith(f"{number}.")


def numbers_without_period(blocks: Sequence[str]) -> bool:
    """Whether short blocks count up in plain numbers: `1 Scope`, …, `2 Definitions`, …, `3 Term`."""
    expected = 1
    for block in blocks:
        found = _BARE_NUMBER.match(block) if len(block) <= _LONGEST else None
        if found is not None and int(found["number"]) == expected and heading(block, bare_numbers=True) is not None:
            expected += 1
    return expected > _FEWEST
