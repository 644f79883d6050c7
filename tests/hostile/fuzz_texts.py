"""Damaged texts for the doors that take no files: JSON with other values, YAML, patterns and questions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from random import Random
from typing import Any

from fuzz_inputs import spoiled

_STRINGS = (
    *("", " ", "\x00", "\ud800", "\ufeff", "é", "e\u0301", "麦", "𝔘", "\u202e", "x" * 2_000, "2.5 cm", "-1", "1e999"),
    *("canola.md", "../../etc/passwd", "notes/windows.txt", "a/../b", "file:///etc/passwd", "2026-02-30", "2015-2020"),
    *("*", "**", "[", "(", "(a+)+$", "\\", "%s", "{}", "null", "true", "sha256:" + "0" * 64, "canola", "en", "crop"),
)
_NUMBERS = (0, 1, -1, 2, 7, 2**31, 2**53, 2**63, -(2**63), 10**40, 0.5, -0.0, 1e308, float("inf"), float("nan"))
_WORDS = (
    "How deep is canola sown pH what when of the wheat not must never 2.5 cm 6.0-7.0 15 °C e.g. No. May to September "
    "and for soybeans? compare versus maximum minimum forbidden roll field moist ? ! . , ; : ( ) \" ' - \n \t "
    "\u2028 Wie tief wird Raps gesät 麦 在 سطح ١٢ ก็ \u0301 \u200d \U0001f33e x" + "y" * 60
).split(" ")
_PATTERN = (
    r"( ) [ ] { } * + ? | \ ^ $ . \b \d \w \s (?i) (?= (?! (?<= (?P<a> \1 {2,3} {,9} a b canola 2.5 [^a] \u".split(" ")
)


def words(random: Random) -> str:
    """A soup of words that questions are made of."""
    some = random.sample(_WORDS, random.randint(1, len(_WORDS)))
    return random.choice(("", " ", " ")).join(random.choice(some) for _ in range(random.choice((1, 3, 8, 30, 200))))


def question(random: Random, seeds: Sequence[str]) -> str:
    if random.random() < 0.4:
        return words(random)
    return damaged(random.choice(seeds).encode(), random, other=random.choice(seeds).encode()).decode(
        "utf-8", "replace"
    )


def pattern(random: Random, seeds: Sequence[str]) -> str:
    made = random.choice(seeds)
    for _ in range(random.choice((0, 1, 2, 5, 20))):
        at = random.randint(0, len(made))
        made = made[:at] + random.choice(_PATTERN) + made[at + random.choice((0, 0, 1)) :]
    return made


def damaged(data: bytes, random: Random, *, other: bytes | None = None, form: str = "json") -> bytes:
    """`data` with a few mutations of its bytes."""
    return spoiled(data, data if other is None else other, form, random)


def value(random: Random, depth: int = 0) -> Any:  # noqa: ANN401 - any JSON
    match random.randrange(8 if depth < 3 else 5):
        case 0:
            return random.choice((None, True, False))
        case 1:
            return random.choice(_NUMBERS)
        case 5:
            return [value(random, depth + 1) for _ in range(random.randrange(4))]
        case 6:
            return {random.choice(_STRINGS): value(random, depth + 1) for _ in range(random.randrange(4))}
        case 7:
            deep: Any = "x"
            for _ in range(random.choice((3, 30, 200))):
                deep = [deep] if random.random() < 0.5 else {"a": deep}
            return deep
        case _:
            return random.choice(_STRINGS)


def changed(content: Any, random: Random) -> Any:  # noqa: ANN401 - any JSON
    """`content` with a few values replaced, removed, repeated or added, wherever they stand."""
    made = json.loads(json.dumps(content))
    for _ in range(random.choice((1, 1, 2, 4))):
        places = list(_places(made))
        if not places:
            return value(random)
        holder, key = random.choice(places)
        match random.randrange(5):
            case 0:
                del holder[key]
            case 1 if isinstance(holder, list):
                holder[key:key] = [holder[key]] * random.choice((1, 3, 50))
            case 2 if isinstance(holder, dict):
                holder[random.choice(_STRINGS)] = holder[key]
            case 3 if isinstance(holder[key], str):
                text = damaged(holder[key].encode("utf-8", "replace"), random)
                holder[key] = text.decode("utf-8", "replace")
            case 3 if isinstance(holder[key], int):
                holder[key] += random.choice((-1, 1, 7, 1_000))
            case _:
                holder[key] = value(random)
    return made


def _places(content: Any) -> Any:  # noqa: ANN401 - any JSON
    for key, item in list(content.items()) if isinstance(content, dict) else list(enumerate(content)):
        yield content, key
        if isinstance(item, dict | list):
            yield from _places(item)


def json_bytes(content: object) -> bytes:
    return json.dumps(content).encode("utf-8", "surrogatepass")


def damaged_json(seed: Any, random: Random) -> bytes:  # noqa: ANN401 - any JSON
    """A document of JSON with other values, most often, or with damaged bytes."""
    data = json_bytes(changed(seed, random)) if random.random() < 0.75 else json_bytes(seed)
    return data if random.random() < 0.6 else damaged(data, random)
