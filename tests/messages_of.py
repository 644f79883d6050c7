"""The messages that the code says, read from its sources."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import quoth
from quoth.domain.profile import load_profile, profile_names
from quoth.http.web_page import translated

ROOT = Path(quoth.__file__).parent
_RENDERERS = {ROOT / "output" / "messages.py", ROOT / "cli" / "user_language.py", ROOT / "types" / "remark.py"}
_TEXT = r'"((?:[^"\\]|\\.)*)"'
_MESSAGE = re.compile(rf"(?<!\w)(?<!\w\.)(?:t|tNodes)\(\s*{_TEXT}")
_COUNTED = re.compile(rf"(?<!\w)(?<!\w\.)counted\(\s*[^\"]*?,\s*{_TEXT},\s*{_TEXT}")

NAMES = (
    # Of jobs, of the cells of grids, of quotes in receipts, of the parts beside the text, of what a job does.
    *("queued", "running", "failed"),
    *("stated", "not stated", "superseded"),
    *("exact", "moved", "changed", "gone", "ambiguous", "unreadable"),
    *("references", "back matter", "masthead"),
    *("reading", "Reading", "removing", "embedding", "waiting for another writer"),
)
"""What the service names, and the page has words for."""


@dataclass(frozen=True, slots=True)
class Said:
    """The English text of a message and, if it counts something, the one for a single thing."""

    text: str
    one: str | None
    where: str


@cache
def all_messages() -> dict[str, Said]:
    found = [*_in_python(), *_in_scripts(), *_in_page(), *_names()]
    return {each.text: each for each in found}


def _in_python() -> Iterator[Said]:
    for path in sorted(ROOT.rglob("*.py")):
        source = path.read_text("utf-8")
        if path in _RENDERERS or not re.search(r"import .*\b(?:Remark|all_of|tr|counted)\b|    Remark,", source):
            continue
        for node in ast.walk(ast.parse(source)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                yield from _of_call(node, node.func.id, path.name)
    yield from (Said(f"{{items}} {joint} {{last}}", None, "remark.py") for joint in ("and", "or"))


def _of_call(node: ast.Call, name: str, where: str) -> Iterator[Said]:
    if name in {"Remark", "tr"}:
        yield Said(_literal(node.args[0], where), None, where)
    elif name == "counted":
        yield Said(_literal(node.args[2], where), _literal(node.args[1], where), where)


def _literal(node: ast.expr, where: str) -> str:
    assert isinstance(node, ast.Constant), f"{where}, line {node.lineno}: a message is a literal, so that it is found"
    assert isinstance(node.value, str)
    return node.value


def _in_scripts() -> Iterator[Said]:
    for path in sorted((ROOT / "web").glob("*.js")):
        source = path.read_text("utf-8")
        yield from (Said(found[1], None, path.name) for found in _MESSAGE.finditer(source))
        yield from (Said(found[2], found[1], path.name) for found in _COUNTED.finditer(source))


def _in_page() -> Iterator[Said]:
    said: list[str] = []

    def note(text: str) -> str:
        said.append(text)
        return text

    translated((ROOT / "web" / "index.html").read_text("utf-8"), note)
    return (Said(text, None, "index.html") for text in said)


def _names() -> Iterator[Said]:
    authorities = {kind.authority for name in profile_names() for kind in load_profile(name).document_types.values()}
    return (Said(name, None, "names") for name in (*NAMES, *sorted(authorities)))
