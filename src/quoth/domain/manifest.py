"""Document metadata from `corpus.yaml`, from a file beside the document, and from front matter. A later source wins."""

from __future__ import annotations

import errno
import re
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from pathlib import Path
from reprlib import repr as repr_of
from typing import Any

from quoth.errors import SettingsError
from quoth.overrides import parse_yaml
from quoth.types import Metadata, Supersession, labels_of

MANIFEST_NAME = "corpus.yaml"
ACCESS = "access"
"""The field with the labels of a document."""
BESIDE = ".meta.yaml"
"""The end of the name of a file with the fields of the document beside it: `guide.pdf.meta.yaml`."""
_FIELDS = frozenset(
    {
        "title",
        "document_type",
        "is_binding",
        "effective_date",
        "superseded_by",
        "language",
        "tags",
        "authors",
        "year",
        "doi",
        ACCESS,
    }
)
_LARGEST_BESIDE = 2**20
_HINT = "See docs/corpus.md for the fields of a document."


@dataclass(frozen=True, slots=True)
class ManifestRule:
    """Fields for the documents whose id matches a glob (`*` inside a folder, `**` across folders)."""

    match: str
    fields: Mapping[str, Any]


def read_manifest(root: Path, *, facets: Collection[str]) -> tuple[ManifestRule, ...]:
    """Return the rules of the manifest at the corpus root, () when there is no such file."""
    path = root / MANIFEST_NAME
    if not path.is_file():
        return ()
    content = parse_yaml(path.read_bytes(), what=str(path), hint=_HINT) or {}
    entries = content.get("documents") if isinstance(content, dict) and set(content) <= {"documents"} else None
    if not isinstance(entries, list):
        raise SettingsError(f"{path} must hold one key, 'documents', with a list of rules", hint=_HINT)
    return tuple(
        _rule(entry, source=f"{path}, rule {number}", facets=facets) for number, entry in enumerate(entries, 1)
    )


def _rule(entry: object, *, source: str, facets: Collection[str]) -> ManifestRule:
    if not isinstance(entry, dict) or not isinstance(entry.get("match"), str):
        raise SettingsError(f"{source} needs a 'match' with a glob", hint='For example: match: "letters/**"')
    fields = {str(key): value for key, value in entry.items() if key != "match"}
    if unknown := sorted(set(fields) - _FIELDS - set(facets)):
        raise SettingsError(f"{source}: unknown fields {', '.join(unknown)}", hint=_HINT)
    tags = fields.get("tags") or {}
    if not isinstance(tags, dict):
        raise _wrong(source, "tags", "a mapping of facets to values", tags)
    # A profile without facets ignores tags: the same corpus may be ingested with a profile that has facets.
    if facets and (unknown := sorted(set(map(str, tags)) - set(facets))):
        raise SettingsError(f"{source}: unknown tags {', '.join(unknown)}", hint=_HINT)
    metadata(fields, source=source, facets=facets)  # reports a wrong value before any document is read
    stated_labels(fields, source=source)
    return ManifestRule(entry["match"], with_tags(fields, facets))


def fields_for(doc_id: str, rules: Collection[ManifestRule]) -> dict[str, Any]:
    """Return the fields that the rules give a document. A later rule wins; tags are combined facet by facet."""
    found: dict[str, Any] = {}
    for rule in rules:
        if _glob(rule.match).fullmatch(doc_id):
            found = merged(found, rule.fields)
    return found


def fields_beside(document: Path, *, facets: Collection[str]) -> dict[str, Any]:
    """Return the fields in the file beside a document, {} when there is no such file."""
    path = document.with_name(document.name + BESIDE)
    try:
        if not path.is_file():
            return {}
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:  # the name of the document leaves no room for the ending
            return {}
        raise
    with path.open("rb") as file:
        source = file.read(_LARGEST_BESIDE + 1)
    if len(source) > _LARGEST_BESIDE:
        raise SettingsError(f"{path.name} has more than {_LARGEST_BESIDE // 2**10} KB", hint=_HINT)
    content = parse_yaml(source, what=path.name, hint=_HINT) or {}
    if not isinstance(content, dict) or "match" in content:
        raise SettingsError(f"{path.name} must hold a mapping of fields, without a match", hint=_HINT)
    return dict(_rule({**content, "match": document.name}, source=path.name, facets=facets).fields)


def check_fields(fields: Mapping[str, Any], *, source: str, facets: Collection[str]) -> None:
    """Raise `SettingsError` for a field that is unknown or has a wrong value."""
    _rule({**fields, "match": "*"}, source=source, facets=facets)


def with_tags(fields: Mapping[str, Any], facets: Collection[str]) -> dict[str, Any]:
    """Return the fields with `crop: canola` moved to `tags: {crop: canola}`, for every facet.

    A list (`tags: [a, b]`), as other tools write it, is left out: its words have no facet.
    """
    declared = fields.get("tags")
    within = {facet: declared[facet] for facet in facets if facet in declared} if isinstance(declared, Mapping) else {}
    own = {facet: fields[facet] for facet in facets if facet in fields}
    # A facet that is called `access` must not take labels away.
    others = {key: value for key, value in fields.items() if key == ACCESS or (key != "tags" and key not in facets)}
    return others | ({"tags": own | within} if own or within else {})


def merged(under: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return the fields of both, `over` winning; their `tags` are combined facet by facet."""
    both = {**under, **over}
    if isinstance(under.get("tags"), Mapping) and isinstance(over.get("tags"), Mapping):
        both["tags"] = {**under["tags"], **over["tags"]}
    return both


def _glob(pattern: str) -> re.Pattern[str]:
    """Return a pattern in which `**/` matches any folders or none, `**` anything, `*` and `?` within one folder."""
    wildcards = {"**/": "(?:.*/)?", "**": ".*", "*": "[^/]*", "?": "[^/]"}
    return re.compile(
        "".join(wildcards.get(token, re.escape(token)) for token in re.split(r"(\*\*/|\*\*|\*|\?)", pattern)), re.DOTALL
    )


def metadata(fields: Mapping[str, Any], *, source: str, facets: Collection[str]) -> Metadata:
    """Return the metadata. Raise `SettingsError` for a wrong value; ignore unknown keys, which are of other tools."""
    return Metadata(
        title=_text(fields, "title", source),
        document_type=_text(fields, "document_type", source),
        is_binding=_flag(fields, "is_binding", source),
        effective_date=_iso_date(fields, "effective_date", source),
        superseded_by=tuple(_supersession(entry, source) for entry in _listed(fields.get("superseded_by"))),
        language=_text(fields, "language", source),
        tags={facet: _tag_values(value, source) for facet, value in with_tags(fields, facets).get("tags", {}).items()},
        type_guessed=False,
        authors=tuple(_authors(fields.get("authors"))),
        year=_year(fields.get("year")),
        doi=_doi(fields.get("doi")),
    )


_LONGEST_LABEL = 200
"""Code points."""


def stated_labels(fields: Mapping[str, Any], *, source: str) -> tuple[str, ...]:
    """Return the labels in `access`, as `labels_of` writes them. Raise `SettingsError` for a wrong value.

    A text holds several, separated by commas. Labels are checked strictly: a document with a wrong one is refused,
    since without it everybody might read it.
    """
    found: list[str] = []
    for entry in _listed(fields.get(ACCESS)):
        if isinstance(entry, bool) or not isinstance(entry, str | int):
            raise _wrong(source, ACCESS, "a label or a list of labels", entry)
        found += _whole(str(entry), source, ACCESS).split(",")
    labels = labels_of(found)
    for label in labels:
        if len(label) > _LONGEST_LABEL or not label.isprintable():
            raise _wrong(source, ACCESS, f"labels of at most {_LONGEST_LABEL} printable characters", label)
    if found and not labels:
        raise _wrong(source, ACCESS, "a label or a list of labels", fields[ACCESS])
    return labels


def _listed(value: object) -> list[object]:
    """Return a list as it is, nothing as an empty list, and a single value as a list of one."""
    return [] if value is None else value if isinstance(value, list) else [value]


def _wrong(source: str, key: str, wanted: str, value: object) -> SettingsError:
    return SettingsError(f"{source}: {key} must be {wanted}, not {repr_of(value)}", hint=_HINT)


def _text(fields: Mapping[str, Any], key: str, source: str) -> str | None:
    value = fields.get(key)
    if value is None or isinstance(value, str):
        return value and _whole(value, source, key)
    if isinstance(value, int | float | date) and not isinstance(value, bool):
        return str(value)  # YAML reads `title: 2021` as a number
    raise _wrong(source, key, "text", value)


def _whole(value: str, source: str, key: str) -> str:
    """Join the surrogate pairs that YAML returns (`"\\uD83C\\uDF3D"`). Raise `SettingsError` for half a pair."""
    try:
        return value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError as error:
        raise _wrong(source, key, "text", value) from error


def _authors(value: object) -> Iterator[str]:
    """Yield the names in a text that separates them by semicolons, or in a list. What other tools write is left out."""
    for entry in _listed(value):
        name = entry.get("name") if isinstance(entry, Mapping) else entry
        for text in name.split(";") if isinstance(name, str) else ():
            if whole := _whole(" ".join(text.split()), "authors", "authors"):
                yield whole


def _year(value: object) -> int | None:
    """Return a year of four digits; anything else is of another tool."""
    return int(str(value)) if re.fullmatch(r"[12]\d{3}", str(value)) else None


def _doi(value: object) -> str | None:
    """Return the DOI in a text or a link; anything else is of another tool."""
    found = re.search(r"\b10\.\d{4,9}/\S+", value) if isinstance(value, str) else None
    return found[0] if found else None


def _flag(fields: Mapping[str, Any], key: str, source: str) -> bool | None:
    value = fields.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise _wrong(source, key, "true or false", value)


def _iso_date(fields: Mapping[str, Any], key: str, source: str) -> str | None:
    value = fields.get(key)
    if value is None:
        return None
    day = value.date() if isinstance(value, datetime) else value
    try:
        return date.fromisoformat(str(day)).isoformat()
    except ValueError as error:
        raise _wrong(source, key, "a date such as 2022-04-01", value) from error


def _supersession(entry: object, source: str) -> Supersession:
    if isinstance(entry, str):
        return Supersession(by=_whole(entry, source, "superseded_by"), section=None)
    if isinstance(entry, dict) and set(entry) <= {"by", "section"} and isinstance(entry.get("by"), str):
        section = entry.get("section")
        by = _whole(entry["by"], source, "superseded_by")
        return Supersession(by, None if section is None else _whole(str(section), source, "superseded_by"))
    raise _wrong(source, "superseded_by", "a document id, or a list of {section, by}", entry)


def _tag_values(value: object, source: str) -> tuple[str, ...]:
    values = value if isinstance(value, list) else [value]
    texts = [_whole(item, source, "tags") for item in values if isinstance(item, str)]
    if len(texts) < len(values):
        raise _wrong(source, "tags", "a value or a list of values for each facet", value)
    return tuple(texts)
