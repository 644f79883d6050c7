"""A retriever for Haystack pipelines: `QuothRetriever(".quoth").run(query="…")`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from quoth.adapters.cited_evidence import Texts, checked_kind, checked_most, find, opened
from quoth.errors import MissingExtra, QuestionError, SettingsError
from quoth.library import Quoth
from quoth.types import Filters
from quoth.types.questions import checked_language, checked_region

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.utils import Secret
except ModuleNotFoundError as error:
    raise MissingExtra("the retriever for Haystack", "haystack") from error


@component
class QuothRetriever:
    """Returns verbatim texts of an index as Haystack documents.

    `index` is a folder, the address of a database (a `Secret` if it holds a password), or an open `Quoth`; a retriever
    with an open one cannot be serialised. `warm_up`, which a pipeline calls, opens the index with `settings`.
    """

    def __init__(
        self,
        index: Quoth | str | Path | Secret,
        *,
        settings: dict[str, Any] | None = None,
        kind: str = "passages",
        document_types: Texts = (),
        doc_ids: Texts = (),
        tags: dict[str, Texts] | None = None,
        as_of: str | None = None,
        regions: Texts = (),
        authors: Texts = (),
        years: str | None = None,
        dois: Texts = (),
        languages: Texts = (),
        top_k: int | None = None,
    ) -> None:
        self._index = index
        self._settings = settings
        self._kind = checked_kind(kind)
        self._filters = Filters(
            doc_ids,
            tags,
            document_types,
            as_of=as_of,
            regions=regions,
            authors=authors,
            years=years,
            dois=dois,
            languages=languages,
        )
        self._top_k = checked_most(top_k)
        self._quoth: Quoth | None = None
        self._opening = threading.Lock()

    def warm_up(self) -> None:
        """Open the index and load the model; raise `NoIndex` if there is none."""
        self._opened().prepare()

    def _opened(self) -> Quoth:
        with self._opening:
            if self._quoth is None:
                self._quoth = opened(_location(self._index), self._settings)
            return self._quoth

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Return documents for a question. Fields in `filters` replace those given to the constructor.

        `filters` is a comparison of Haystack (`==` or `in`), several under `AND`, or short, {"document_type": "guide"};
        the fields are doc_id, document_type, is_binding, as_of, author, year, doi, regions and tags.<facet>.
        """
        most = self._top_k if top_k is None else checked_most(top_k)
        narrowed = _narrowed(self._filters, filters or {})
        found = find(self._opened(), query, kind=self._kind, filters=narrowed, most=most)
        return {
            "documents": [
                Document(id=evidence.id, content=evidence.text, meta=evidence.metadata, score=evidence.score)
                for evidence in found
            ]
        }

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Call `run` in a thread."""
        return await asyncio.to_thread(self.run, query, filters, top_k)

    def to_dict(self) -> dict[str, Any]:
        """Return the retriever as JSON; raise `SettingsError` if its index is open, or its address holds a password."""
        filters = self._filters
        data: dict[str, Any] = default_to_dict(
            self,
            index=_serialised(self._index),
            settings=self._settings,
            kind=self._kind,
            document_types=list(filters.document_types),
            doc_ids=list(filters.doc_ids),
            tags={facet: list(values) for facet, values in filters.tags.items()},
            as_of=filters.as_of,
            regions=[kind.value for kind in filters.regions],
            authors=list(filters.authors),
            years=filters.years,
            dois=list(filters.dois),
            languages=list(filters.languages),
            top_k=self._top_k,
        )
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> QuothRetriever:
        """Return the retriever that `to_dict` described; `warm_up` opens its index."""
        parameters = dict(data["init_parameters"])
        if isinstance(parameters["index"], dict):
            parameters["index"] = Secret.from_dict(parameters["index"])
        retriever: QuothRetriever = default_from_dict(cls, {**data, "init_parameters": parameters})
        return retriever


def _location(index: Quoth | str | Path | Secret) -> Quoth | str | Path:
    if not isinstance(index, Secret):
        return index
    if (address := index.resolve_value()) is None:
        raise SettingsError("the secret with the address of the index is not set", hint="Set its variable.")
    return str(address)


def _serialised(index: Quoth | str | Path | Secret) -> str | dict[str, Any]:
    """Return the location of an index for a file; raise `SettingsError` if it must not stand there."""
    if isinstance(index, Quoth):
        raise SettingsError(
            "a retriever that was given an open index cannot be written to a file",
            hint="Give it the place of the index instead, and the settings beside it.",
        )
    if isinstance(index, str) and _has_password(index):
        raise SettingsError(
            "the address of the index holds a password, which does not belong in a file",
            hint='Give the address as Secret.from_env_var("QUOTH_STORE").',
        )
    return index.to_dict() if isinstance(index, Secret) else str(index)


def _has_password(address: str) -> bool:
    if "://" not in address:
        return False
    try:
        parts = urlsplit(address)
    except ValueError:
        return True  # it cannot be parsed, so it may hold one
    return parts.password is not None or any("password" in name for name in parse_qs(parts.query))


def _narrowed(filters: Filters, given: Mapping[str, Any]) -> Filters:  # noqa: PLR0912 - one for each field
    named: set[str] = set()
    for field, value in _comparisons(given):
        name = field.removeprefix("meta.")
        if name in named:
            raise QuestionError(f"the filters name '{name}' twice", hint='Name its values once: "operator": "in".')
        named.add(name)
        match name.split(".", 1):
            case ["doc_id"]:
                filters = replace(filters, doc_ids=_texts(name, value))
            case ["document_type"]:
                filters = replace(filters, document_types=_texts(name, value))
            case ["author"]:
                filters = replace(filters, authors=_texts(name, value))
            case ["doi"]:
                filters = replace(filters, dois=_texts(name, value))
            case ["as_of"]:
                filters = replace(filters, as_of=str(value))
            case ["year"]:
                filters = replace(filters, years=str(value))
            case ["language"]:
                filters = replace(filters, languages=tuple(map(checked_language, _texts(name, value))))
            case ["regions"]:
                filters = replace(filters, regions=tuple(map(checked_region, _texts(name, value))))
            case ["is_binding"] if isinstance(value, bool):
                filters = replace(filters, is_binding=value)
            case ["tags", facet]:
                filters = replace(filters, tags={**filters.tags, facet: _texts(name, value)})
            case _:
                hint = (
                    "Fields: doc_id, document_type, is_binding (true or false), as_of, author, year, doi, language, "
                    "regions and tags.<facet>."
                )
                raise QuestionError(f"an index cannot be filtered by '{name}' = {value!r}", hint=hint)
    return filters


def _comparisons(given: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """Yield the fields with the values that they must have."""
    if "operator" not in given and "field" not in given:
        for name, value in given.items():
            if name == "tags" and isinstance(value, Mapping):
                yield from ((f"tags.{facet}", wanted) for facet, wanted in value.items())
            else:
                yield name, value
    elif given.get("operator") == "AND" and "field" not in given:
        for condition in given.get("conditions", ()):
            yield from _comparisons(condition)
    elif given.get("operator") in {"==", "in"} and "field" in given:
        yield str(given["field"]), given.get("value")
    else:
        raise QuestionError(
            f"an index has no filter '{given.get('operator')}'", hint='Use "==" or "in", and "AND" around several.'
        )


def _texts(name: str, value: object) -> tuple[str, ...]:
    values = [value] if isinstance(value, str) else value
    if isinstance(values, Sequence) and values and all(isinstance(text, str) for text in values):
        return tuple(values)
    raise QuestionError(f"'{name}' must be a text or a list of texts", hint='For example: {"document_type": ["guide"]}')
