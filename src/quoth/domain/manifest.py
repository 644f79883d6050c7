"""Document metadata: from `corpus.yaml` (globs to fields), from a file beside the document, and from front matter.

The later one wins.
"""

from __future__ import annotations

import errno
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from reprlib import repr as repr_of
from typing import Any

from quoth.errors import SettingsError
from quoth.settings import parse_yaml
from quoth.types import Metadata, Supersession, Tags

MANIFEST_NAME = "corpus.yaml"
BESIDE = ".meta.yaml"
"""What the name of a file ends with that tells the fields of the document beside it: `guide.pdf.meta.yaml`."""
_FIELDS = frozenset(
    {"title", "document_type", "is_binding", "effective_date", "superseded_by", "language", "tags"},
)
_LARGEST_BESIDE = 2**20
_HINT = "See docs/corpus.md for the fields of a document."


@dataclass(frozen=True, slots=True)
class Rule:
    """Fields for the documents whose id matches a glob (`*` inside a folder, `**` across folders)."""

    match: str
    fields: Mapping[str, Any]


def read_manifest(root: Path, *, facets: Collection[str]) -> tuple[Rule, ...]:
    """The rules of the manifest at the corpus root; none when there is no such file."""
    path = root / MANIFEST_NAME
    if not path.is_file():
        return ()
    content = parse_yaml(path.read_bytes(), what=str(path), hint=_HINT) or {}
    entries = content.get("documents") if isinstance(content, dict) and set(content) <= {"documents"} else None
    if not isinstance(entries, list):
        raise SettingsError(f"{path} must hold one key, 'documents', with a list of rules", hint=_HINT)
    return tuple(_rule(entry, place=f"{path}, rule {number}", facets=facets) for number, entry in enumerate(entries, 1))


def _rule(entry: object, *, place: str, facets: Collection[str]) -> Rule:
    if not isinstance(entry, dict) or not isinstance(entry.get("match"), str):
        raise SettingsError(f"{place} needs a 'match' with a glob", hint='For example: match: "letters/**"')
    fields = {str(key): value for key, value in entry.items() if key != "match"}
    if unknown := sorted(set(fields) - _FIELDS - set(facets)):
        raise SettingsError(f"{place}: unknown fields {', '.join(unknown)}", hint=_HINT)
    tags = fields.get("tags") or {}
    if not isinstance(tags, dict):
        raise _wrong(place, "tags", "a mapping of facets to values", tags)
    # A profile without facets has no use for tags, but no quarrel with them: the corpus may be read under another.
    if facets and (unknown := sorted(set(map(str, tags)) - set(facets))):
        raise SettingsError(f"{place}: unknown tags {', '.join(unknown)}", hint=_HINT)
    metadata(fields, place=place, facets=facets)  # a wrong value is named here, before any document is read
    return Rule(entry["match"], with_tags(fields, facets))


def fields_for(doc_id: str, rules: Collection[Rule]) -> dict[str, Any]:
    """The fields that the rules give a document; a later rule wins, tags of several rules add up."""
    found: dict[str, Any] = {}
    for rule in rules:
        if _glob(rule.match).fullmatch(doc_id):
            found = merged(found, rule.fields)
    return found


def fields_beside(document: Path, *, facets: Collection[str]) -> dict[str, Any]:
    """The fields in the file beside a document; none when there is no such file."""
    path = document.with_name(document.name + BESIDE)
    try:
        if not path.is_file():
            return {}
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # the document's own name takes all the room: there can be no such file
            return {}
        raise
    with path.open("rb") as file:
        source = file.read(_LARGEST_BESIDE + 1)
    if len(source) > _LARGEST_BESIDE:
        raise SettingsError(f"{path.name} has more than {_LARGEST_BESIDE // 2**10} KB", hint=_HINT)
    content = parse_yaml(source, what=path.name, hint=_HINT) or {}
    if not isinstance(content, dict) or "match" in content:
        raise SettingsError(f"{path.name} must hold a mapping of fields, without a match", hint=_HINT)
    return dict(_rule({**content, "match": document.name}, place=path.name, facets=facets).fields)


def check_fields(fields: Mapping[str, Any], *, place: str, facets: Collection[str]) -> None:
    """`SettingsError` for a field that is unknown or has a wrong value."""
    _rule({**fields, "match": "*"}, place=place, facets=facets)


def with_tags(fields: Mapping[str, Any], facets: Collection[str]) -> dict[str, Any]:
    """The fields with every facet under `tags`, whether it was declared as `tags: {crop: canola}` or `crop: canola`.

    Other tools write `tags: [a, b]`: no facet says what such words mean to us, and they are left out.
    """
    declared = fields.get("tags")
    within = {facet: declared[facet] for facet in facets if facet in declared} if isinstance(declared, Mapping) else {}
    own = {facet: fields[facet] for facet in facets if facet in fields}
    others = {key: value for key, value in fields.items() if key != "tags" and key not in facets}
    return others | ({"tags": own | within} if own or within else {})


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Fields of both, `over` winning; their `tags` are combined facet by facet."""
    both = {**under, **over}
    if isinstance(under.get("tags"), Mapping) and isinstance(over.get("tags"), Mapping):
        both["tags"] = {**under["tags"], **over["tags"]}
    return both


def _glob(pattern: str) -> re.Pattern[str]:
    """`**/` matches any folders or none, `**` anything, `*` and `?` stay inside one folder."""
    parts = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(
        "".join(parts.get(piece, re.escape(piece)) for piece in re.split(r"(\*\*/|\*\*|\*|\?)", pattern)), re.DOTALL
    )


def metadata(fields: Mapping[str, Any], *, place: str, facets: Collection[str]) -> Metadata:
    """Checked metadata; keys that we do not know (other tools write front matter too) are left alone."""
    return Metadata(
        title=_text(fields, "title", place),
        document_type=_text(fields, "document_type", place),
        is_binding=_flag(fields, "is_binding", place),
        effective_date=_iso_date(fields, "effective_date", place),
        superseded_by=_supersessions(fields.get("superseded_by"), place),
        language=_text(fields, "language", place),
        tags=_tags(fields, facets, place),
    )


def _wrong(place: str, key: str, wanted: str, value: object) -> SettingsError:
    return SettingsError(f"{place}: {key} must be {wanted}, not {repr_of(value)}", hint=_HINT)


def _text(fields: Mapping[str, Any], key: str, place: str) -> str | None:
    value = fields.get(key)
    if value is None or isinstance(value, str):
        return value and _whole(value, place, key)
    if isinstance(value, int | float | date) and not isinstance(value, bool):
        return str(value)  # `title: 2021` is a title all the same
    raise _wrong(place, key, "text", value)


def _whole(value: str, place: str, key: str) -> str:
    """Text whose characters YAML gave as surrogate pairs (`"\\uD83C\\uDF3D"`) made whole; half a pair is no text."""
    try:
        return value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise _wrong(place, key, "text", value) from error


def _flag(fields: Mapping[str, Any], key: str, place: str) -> bool | None:
    value = fields.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise _wrong(place, key, "true or false", value)


def _iso_date(fields: Mapping[str, Any], key: str, place: str) -> str | None:
    value = fields.get(key)
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    try:
        return date.fromisoformat(str(value)).isoformat()
    except ValueError as error:
        raise _wrong(place, key, "a date such as 2022-04-01", value) from error


def _supersessions(value: object, place: str) -> tuple[Supersession, ...]:
    if value is None:
        return ()
    entries = value if isinstance(value, list) else [value]
    return tuple(_supersession(entry, place) for entry in entries)


def _supersession(entry: object, place: str) -> Supersession:
    if isinstance(entry, str):
        return Supersession(by=_whole(entry, place, "superseded_by"), section=None)
    if isinstance(entry, dict) and set(entry) <= {"by", "section"} and isinstance(entry.get("by"), str):
        section = entry.get("section")
        by = _whole(entry["by"], place, "superseded_by")
        return Supersession(by, None if section is None else _whole(str(section), place, "superseded_by"))
    raise _wrong(place, "superseded_by", "a document id, or a list of {section, by}", entry)


def _tags(fields: Mapping[str, Any], facets: Collection[str], place: str) -> Tags:
    declared = with_tags(fields, facets).get("tags", {})
    return {facet: _tag_values(value, place) for facet, value in declared.items()}


def _tag_values(value: object, place: str) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    texts = [_whole(one, place, "tags") for one in values if isinstance(one, str)]
    if len(texts) < len(values):
        raise _wrong(place, "tags", "a value or a list of values for each facet", value)
    return tuple(texts)
