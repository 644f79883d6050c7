"""A Dockerfile as instructions, and a .dockerignore as a question: enough of both to check our own."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
_VARIABLE = re.compile(r"\$\{(\w+)\}")


@dataclass(frozen=True, slots=True)
class Instruction:
    """`name` in capitals, and the rest of it on one line."""

    name: str
    rest: str

    @property
    def flags(self) -> dict[str, str]:
        words = [word for word in self.rest.split() if word.startswith("--")]
        return dict(word.removeprefix("--").split("=", 1) for word in words)

    @property
    def body(self) -> str:
        """The rest without the flags that come first."""
        return re.sub(r"^(--\S+\s+)*", "", self.rest)

    @property
    def words(self) -> list[str]:
        """The exec form as a list; `ValueError` for the shell form."""
        words = json.loads(self.body)
        if not isinstance(words, list):
            raise ValueError(f"not a list of words: {self.body}")
        return [str(word) for word in words]


@dataclass(frozen=True, slots=True)
class Stage:
    base: str
    name: str | None
    instructions: tuple[Instruction, ...]

    def all(self, name: str) -> list[Instruction]:
        return [one for one in self.instructions if one.name == name]

    def only(self, name: str) -> Instruction:
        (one,) = self.all(name)
        return one

    @property
    def environment(self) -> dict[str, str]:
        pairs = [
            (word.partition("=")[0], word.partition("=")[2])
            for one in self.all("ENV")
            for word in shlex.split(one.rest)
        ]
        return dict(pairs)


def stages(source: str) -> list[Stage]:
    """The stages in their order, with the defaults of arguments put into their bases."""
    found: list[Stage] = []
    arguments: dict[str, str] = {}
    for one in _instructions(source):
        if one.name == "FROM":
            base, _, name = one.rest.partition(" AS ")
            base = _VARIABLE.sub(lambda variable: arguments[variable[1]], base)
            found.append(Stage(base, name or None, ()))
        elif not found:
            name, _, value = one.rest.partition("=")
            arguments[name] = value
        else:
            found[-1] = Stage(found[-1].base, found[-1].name, (*found[-1].instructions, one))
    return found


def _instructions(source: str) -> Iterator[Instruction]:
    lines = [line for line in source.splitlines() if line.strip() and not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    for line in joined.splitlines():
        name, _, rest = line.partition(" ")
        yield Instruction(name.upper(), rest.strip())


def ignored(path: str, patterns: Sequence[str]) -> bool:
    """Whether a `.dockerignore` keeps a path out: the last pattern that fits it, or a folder above it, decides."""
    parts = path.split("/")
    above = ["/".join(parts[:count]) for count in range(1, len(parts) + 1)]
    verdict = False
    for pattern in patterns:
        if any(_fits(pattern.removeprefix("!").rstrip("/"), one) for one in above):
            verdict = not pattern.startswith("!")
    return verdict


def _fits(pattern: str, path: str) -> bool:
    pieces = re.split(r"(\*\*/|\*\*|\*|\?)", pattern)
    meaning = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.fullmatch("".join(meaning.get(piece, re.escape(piece)) for piece in pieces), path) is not None


def ignore_patterns(source: str) -> list[str]:
    return [line.strip() for line in source.splitlines() if line.strip() and not line.startswith("#")]
