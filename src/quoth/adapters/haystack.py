"""A retriever for Haystack pipelines: `QuothRetriever(".quoth").run(query="…")`."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from quoth.errors import MissingExtra, QuestionError, SettingsError
from quoth.interfaces.adapters.evidence import Texts, checked_kind, checked_most, filters_of, find, opened, texts_of
from quoth.interfaces.python import Quoth
from quoth.questions import checked_day
from quoth.types import Filters

try:
    from haystack import Document, component, default_from_dict, default_to_dict
    from haystack.utils import Secret
except ModuleNotFoundError as error:
    raise MissingExtra("the retriever for Haystack", "haystack") from error


@component
class QuothRetriever:
    """Verbatim texts of an index as Haystack documents.

    `index` is a folder, the address of a database (as a `Secret` where it holds a password), or an open `Quoth`, with
    which it cannot be serialised; `settings` are for opening a place. A place is opened by `warm_up`, which a pipeline
    calls.
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
        top_k: int | None = None,
    ) -> None:
        self._index = index
        self._settings = settings
        self._kind = checked_kind(kind)
        self._filters = filters_of(doc_ids=doc_ids, document_types=document_types, tags=tags, as_of=as_of)
        self._top_k = checked_most(top_k)
        self._quoth: Quoth | None = None
        self._opening = threading.Lock()

    def warm_up(self) -> None:
        """Open the index and load the model; `NoIndex` when there is none."""
        self._opened().prepare()

    def _opened(self) -> Quoth:
        with self._opening:
            if self._quoth is None:
                self._quoth = opened(_place(self._index), self._settings)
            return self._quoth

    @component.output_types(documents=list[Document])
    def run(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """Documents for a question. What `filters` names takes the place of what the constructor was given for it.

        `filters` is a comparison of Haystack (`==` or `in`), several under `AND`, or short, {"document_type": "guide"};
        the fields are doc_id, document_type, is_binding, as_of and tags.<facet>.
        """
        most = self._top_k if top_k is None else checked_most(top_k)
        narrowed = _narrowed(self._filters, filters or {})
        found = find(self._opened(), query, kind=self._kind, filters=narrowed, most=most)
        return {
            "documents": [Document(id=one.id, content=one.text, meta=one.metadata, score=one.score) for one in found]
        }

    @component.output_types(documents=list[Document])
    async def run_async(
        self, query: str, filters: dict[str, Any] | None = None, top_k: int | None = None
    ) -> dict[str, list[Document]]:
        """The same as `run`, in a thread."""
        return await asyncio.to_thread(self.run, query, filters, top_k)

    def to_dict(self) -> dict[str, Any]:
        """`SettingsError` where the index cannot be named in a file: an open one, or an address with a password."""
        about = self._filters
        data: dict[str, Any] = default_to_dict(
            self,
            index=_written(self._index),
            settings=self._settings,
            kind=self._kind,
            document_types=list(about.document_types),
            doc_ids=list(about.doc_ids),
            tags={facet: list(values) for facet, values in about.tags.items()},
            as_of=about.as_of,
            top_k=self._top_k,
        )
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> QuothRetriever:
        """A retriever as `to_dict` describes it; the index is opened later, by `warm_up`."""
        given = dict(data["init_parameters"])
        if isinstance(given["index"], dict):
            given["index"] = Secret.from_dict(given["index"])
        made: QuothRetriever = default_from_dict(cls, {**data, "init_parameters": given})
        return made


def _place(index: Quoth | str | Path | Secret) -> Quoth | str | Path:
    if not isinstance(index, Secret):
        return index
    if (address := index.resolve_value()) is None:
        raise SettingsError("the secret with the address of the index is not set", hint="Set its variable.")
    return str(address)


def _written(index: Quoth | str | Path | Secret) -> str | dict[str, Any]:
    """The place of an index as a file may name it."""
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


def _has_password(place: str) -> bool:
    if "://" not in place:
        return False
    try:
        parts = urlsplit(place)
    except ValueError:
        return True  # what cannot be read may hold one
    return parts.password is not None or any("password" in name for name in parse_qs(parts.query))


def _narrowed(filters: Filters, given: Mapping[str, Any]) -> Filters:
    tags: dict[str, tuple[str, ...]] = {}
    named: set[str] = set()
    for field, value in _comparisons(given):
        name = field.removeprefix("meta.")
        if name in named:
            raise QuestionError(f"the filters name '{name}' twice", hint='Name its values once: "operator": "in".')
        named.add(name)
        match name:
            case "doc_id":
                filters = replace(filters, doc_ids=_texts(name, value))
            case "document_type":
                filters = replace(filters, document_types=_texts(name, value))
            case "as_of":
                filters = replace(filters, as_of=checked_day(value))
            case "is_binding" if isinstance(value, bool):
                filters = replace(filters, is_binding=value)
            case _ if name.startswith("tags."):
                tags[name.removeprefix("tags.")] = _texts(name, value)
            case _:
                raise QuestionError(
                    f"an index cannot be filtered by '{name}' = {value!r}",
                    hint="Fields: doc_id, document_type, is_binding (true or false), as_of and tags.<facet>.",
                )
    return replace(filters, tags={**filters.tags, **tags})


def _comparisons(given: Mapping[str, Any]) -> Iterator[tuple[str, object]]:
    """The fields with the values that are wanted, all at once."""
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
    if isinstance(values, Sequence) and values and all(isinstance(one, str) for one in values):
        return texts_of(values)
    raise QuestionError(f"'{name}' must be a text or a list of texts", hint='For example: {"document_type": ["guide"]}')
