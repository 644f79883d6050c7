"""The filters of a question as conditions on sentences `s`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from quoth.stores.postgres.rows import label
from quoth.stores.postgres.texts import comparable
from quoth.types import Filters


@dataclass(frozen=True, slots=True)
class Conditions:
    """`scanned` is tested row by row within a search; `joined` says the same and lets the planner begin with it."""

    scanned: str
    joined: str
    values: dict[str, Any]


def conditions(filters: Filters) -> Conditions | None:
    """None where everything may be found. What does not exist is in no list, and so matches nothing."""
    tests: list[str] = []
    values: dict[str, Any] = {}
    for column, wanted in (("name", filters.doc_ids), ("document_type", filters.document_types)):
        if wanted:
            tests.append(f"d.{column} = ANY (%(filter_{column})s::text[])")
            values[f"filter_{column}"] = [comparable(one) for one in wanted]
    if filters.is_binding is not None:
        tests.append("d.is_binding = %(filter_is_binding)s")
        values["filter_is_binding"] = filters.is_binding
    if filters.as_of is not None:
        tests.append("(d.effective_date IS NULL OR d.effective_date <= %(filter_as_of)s)")
        values["filter_as_of"] = comparable(filters.as_of)
    tagged = []
    for number, (facet, wanted) in enumerate(filters.tags.items()):
        if wanted:
            tagged.append(f"s.labels && %(filter_tag_{number})s::text[]")
            values[f"filter_tag_{number}"] = [label(facet, one) for one in wanted]
    if not tests and not tagged:
        return None
    documents = [f"s.document IN (SELECT d.id FROM documents d WHERE {' AND '.join(tests)})"] if tests else []  # noqa: S608
    return Conditions(
        # The truth of a condition is no join, so it stays a test in the scan, against a hash table made once.
        scanned=" AND ".join([f"({test}) IS TRUE" for test in documents] + tagged),
        joined=" AND ".join(documents + tagged),
        values=values,
    )
