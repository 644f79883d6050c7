"""The options that limit a question or a search to certain documents: written once, and given to commands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import wraps
from typing import Annotated, Any, get_type_hints

import typer

from quoth.cli.options import complete_doc_id, pair
from quoth.types import Filters


def _option(name: str, metavar: str, help_text: str, **how: Any) -> Any:  # noqa: ANN401 - as typer declares it
    return typer.Option(name, metavar=metavar, help=help_text, **how)


_Several = list[str] | None
_One = str | None
_OPTIONS: Mapping[str, Any] = {
    "doc": Annotated[
        _Several,
        _option("--doc", "ID", "Search only in this document; repeatable.", autocompletion=complete_doc_id),
    ],
    "tag": Annotated[_Several, _option("--tag", "FACET=VALUE", "Search only under this tag; repeatable.")],
    "type": Annotated[_Several, _option("--type", "TYPE", "Search only in this document type; repeatable.")],
    "author": Annotated[_Several, _option("--author", "NAME", "Search only in documents by them; repeatable.")],
    "year": Annotated[
        _One, _option("--year", "YEARS", "Search only in documents of this year, or these: 2015-2020, 2015-.")
    ],
    "doi": Annotated[_Several, _option("--doi", "DOI", "Search only in the document with it; repeatable.")],
    "filter_language": Annotated[
        _Several,
        _option("--filter-language", "CODE", "Search only in documents in this language (`de`); repeatable."),
    ],
    "as_of": Annotated[_One, _option("--as-of", "DAY", "Search what was in effect on this day (YYYY-MM-DD).")],
    "regions": Annotated[
        _Several,
        _option("--regions", "KIND", "Search parts beside the text: references, back_matter or masthead; repeatable."),
    ],
}
"""The type of each option, as typer reads it."""


def with_filter_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command with an option for each filter in the place of its parameter `filters`."""
    own, hints = inspect.signature(command).parameters, get_type_hints(command, include_extras=True)
    options = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
        for name, kind in _OPTIONS.items()
    ]
    parameters: list[inspect.Parameter] = []
    for name, parameter in own.items():
        known = parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[name])
        parameters += options if name == "filters" else [known]

    @wraps(command)
    def run(**given: Any) -> None:  # noqa: ANN401 - what the options hold
        filters = filters_of(**{name: given.pop(name) for name in _OPTIONS})
        command(**given, filters=filters)

    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return run


def filters_of(**given: Any) -> Filters:  # noqa: ANN401 - what the options hold
    """Return the filters that the options name; a tag is written `crop=canola`, regions `masthead,references`."""
    facets: dict[str, tuple[str, ...]] = {}
    for text in given["tag"] or ():
        facet, value = pair(text, option="--tag")
        facets[facet] = (*facets.get(facet, ()), value)
    return Filters(
        doc_ids=given["doc"] or (),
        tags=facets,
        document_types=given["type"] or (),
        as_of=given["as_of"],
        regions=[kind.strip() for text in given["regions"] or () for kind in text.split(",")],
        authors=given["author"] or (),
        years=given["year"],
        dois=given["doi"] or (),
        languages=given["filter_language"] or (),
    )
