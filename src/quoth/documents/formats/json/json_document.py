"""JSON and JSONL: what the strings of an object say, under the keys that lead to them.

Each line of a JSONL file is a section. Where the settings name the fields that hold text, only these are read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date
from typing import Any

from quoth.documents.encodings import decode
from quoth.documents.formats.json.json_blocks import JsonBlocks, Number, shown
from quoth.documents.formats.json.json_fields import JsonFields, mapped_blocks
from quoth.documents.text_blocks import Block, assemble
from quoth.errors import UnreadableFile
from quoth.types import Extract, Region, RegionKind, Span

VERSION = "json / 1"

_LINE = re.compile(r"line \d+")
_REPAIR = "Write it again with the program that made it, as UTF-8."
_STATED = ("language", "document_type")
"""Fields of a document that an object may state about itself, when its text is mapped."""


def extract(data: bytes, fields: JsonFields) -> Extract:
    """Return the text and the regions of a JSON or JSONL file. `fields` says which fields hold text; none reads all."""
    text, encoding = decode(data, label="")
    notes = [] if encoding in {"utf-8", "utf-16", "utf-32"} else [f"It is not UTF-8; it was read as {encoding}."]
    records = _records(text.removeprefix("\ufeff"))
    mapped = fields.text != () and any(fields.held_by(record) for _, record in records)
    reader = JsonBlocks(fields)
    blocks: list[Block] = []
    for label, record in records:
        title = fields.title_of(record)
        if label or (title and mapped):
            blocks.append(Block(RegionKind.HEADING, title or label, level=1, opens=False))
        below = 2 if label or (title and mapped) else 1
        blocks += mapped_blocks(record, fields, level=below) if mapped else reader.blocks(record, level=below)
    if fields.text and not mapped:
        notes.append(f"It has no field {' or '.join(fields.text)}; all its fields were read.")
    assembled = assemble(blocks)
    return Extract(
        text=assembled.text,
        regions=tuple(_led(assembled.regions, assembled.text)),
        pages=(),
        recognised=(),
        properties=_properties(records, fields, mapped=mapped),
        notes=(*notes, *reader.notes()),
    )


def _led(regions: Iterable[Region], text: str) -> Iterator[Region]:
    """Yield the regions, each row of an object led by its key or title: `depth: 3 cm` says little without `barley`."""
    heading: Span | None = None
    for region in regions:
        if region.kind is RegionKind.HEADING:
            heading = None if _LINE.fullmatch(text, region.span.start, region.span.end) else region.span
        alone = region.kind is RegionKind.TABLE_ROW and region.lead is None
        yield replace(region, lead=heading) if alone else region


def _records(text: str) -> list[tuple[str, Any]]:
    """Return the values of a file: the only one of a JSON file without a label, those of JSONL with their lines."""
    try:
        return [("", _loaded(text))] if text.strip() else []
    except json.JSONDecodeError as error:
        if "Extra data" not in error.msg:
            raise _broken(f"it is not JSON: {error.msg} in line {error.lineno}") from error
    return list(_lines(text))


def _lines(text: str) -> Iterator[tuple[str, Any]]:
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield f"line {number}", _loaded(line)
        except json.JSONDecodeError as error:
            raise _broken(f"its line {number} is not JSON: {error.msg}") from error


def _loaded(text: str) -> Any:  # noqa: ANN401 - JSON holds anything
    """Return the value of a JSON text; numbers stay as they are written."""
    try:
        return json.loads(text, parse_float=Number, parse_int=Number, parse_constant=Number)
    except RecursionError as error:
        raise UnreadableFile("", "it is nested too deeply", hint=_REPAIR) from error


def _broken(why: str) -> UnreadableFile:
    return UnreadableFile("", why, hint=_REPAIR)


def _properties(records: list[tuple[str, Any]], fields: JsonFields, *, mapped: bool) -> dict[str, str]:
    """Return what a file that is one object states about itself."""
    if len(records) != 1 or not isinstance(records[0][1], dict):
        return {}
    (_, record) = records[0]
    found = {"title": fields.title_of(record)}
    if mapped:
        found |= {key: shown(record[key]) for key in _STATED if isinstance(record.get(key), str)}
        found["effective_date"] = _day(record.get("effective_date"))
    return {key: text for key, text in found.items() if text}


def _day(value: object) -> str:
    try:
        return date.fromisoformat(value).isoformat() if isinstance(value, str) else ""
    except ValueError:
        return ""  # some other date: nobody asked us to take it for this one
