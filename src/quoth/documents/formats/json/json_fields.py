"""The fields of JSON records that hold text and titles, as the settings name them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from quoth.documents.formats.json.json_blocks import paragraphs, shown
from quoth.documents.text_blocks import Block
from quoth.types import RegionKind

_COMMA = re.compile(r"\s*,\s*")


@dataclass(frozen=True, slots=True)
class JsonFields:
    """Paths of fields: `body`, or `article.body` inside an object or a list of objects.

    `text` are the fields that hold text, in the order in which they are read; none reads all. `title` names a record.
    """

    text: tuple[str, ...]
    title: str

    @classmethod
    def parsed(cls, text: str, title: str) -> JsonFields:
        """Return the fields of two settings, in which commas separate paths."""
        return cls(tuple(filter(None, _COMMA.split(text.strip()))), title.strip())

    def title_of(self, record: Any) -> str:  # noqa: ANN401 - JSON holds anything
        """Return the title of a record, the empty string where it has none, or only the objects inside it have one."""
        parent = self.title.rpartition(".")[0]
        if parent and any(path.rpartition(".")[0] == parent for path in self.text):
            return ""
        titles = (value for holder in _holders(record, self.title) for value in [holder[_last(self.title)]])
        return next((shown(title) for title in titles if isinstance(title, str)), "") if self.title else ""

    def held_by(self, record: Any) -> bool:  # noqa: ANN401
        """Return whether a record has one of the fields that hold text."""
        return any(True for path in self.text for _ in _holders(record, path))


def mapped_blocks(record: Any, fields: JsonFields, *, level: int) -> list[Block]:  # noqa: ANN401
    """Return the text of a record. Fields of the same object stay together, below the title of the object."""
    blocks: list[Block] = []
    title = _last(fields.title)
    for above in dict.fromkeys(path.rpartition(".")[0] for path in fields.text):
        keys = [_last(path) for path in fields.text if path.rpartition(".")[0] == above]
        for holder in _objects(record, above.split(".") if above else []):
            texts = [
                paragraph for key in keys for value in _strings(holder.get(key)) for paragraph in paragraphs(value)
            ]
            own = holder.get(title)
            # The title of the record itself stands above all of it already.
            if texts and above and isinstance(own, str) and own.strip():
                blocks.append(Block(RegionKind.HEADING, shown(own), level=level, opens=False))
            blocks += texts
    return blocks


def _last(path: str) -> str:
    return path.rpartition(".")[2]


def _holders(record: Any, path: str) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    """Yield the objects that hold the field at the end of a path."""
    *above, last = path.split(".")
    return (found for found in _objects(record, above) if last in found)


def _objects(value: Any, keys: list[str]) -> Iterator[dict[str, Any]]:  # noqa: ANN401
    """Yield the objects at the end of a path; a list on the way stands for each of its elements."""
    if isinstance(value, list):
        for element in value:
            yield from _objects(element, keys)
    elif isinstance(value, dict):
        if not keys:
            yield value
        elif keys[0] in value:
            yield from _objects(value[keys[0]], keys[1:])


def _strings(value: Any) -> Iterable[str]:  # noqa: ANN401
    if isinstance(value, list):
        return [element for element in value if isinstance(element, str)]
    return [value] if isinstance(value, str) else []
