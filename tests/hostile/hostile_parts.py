"""What the hostile files are made with: a value for each, and the settings that they share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

SAID = "Sow the barley at 3 cm when the soil is warm."
"""The sentence that a file says where it says anything."""


class Expect(StrEnum):
    """What must become of a file. One that is left out is no document at all, and is not named."""

    REFUSED = "refused"
    TAKEN = "taken"
    EITHER = "either"
    LEFT_OUT = "left out"


@dataclass(frozen=True, slots=True)
class World:
    """What a hostile file may point to, and how large the large ones are.

    `url` is a server that nobody may ask; `outside` a file that nobody may read. `scale` 1 makes the sizes that the
    names state; less makes the large files smaller.
    """

    url: str
    outside: Path
    scale: float

    def many(self, count: int) -> int:
        return max(1, int(count * self.scale))


Make = Callable[[World], bytes]


@dataclass(frozen=True, slots=True)
class Hostile:
    """A file by its name. `slow` marks those that only a converter of many seconds reads."""

    name: str
    expect: Expect
    make: Make
    slow: bool


def hostile(name: str, expect: str, make: Make, *, slow: bool = False) -> Hostile:
    return Hostile(name, Expect(expect), make, slow)
