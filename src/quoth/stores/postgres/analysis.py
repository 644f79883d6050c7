"""The full text made anew, where this version of the program takes words otherwise than the one that made it."""

from __future__ import annotations

from quoth.stores.embedded.rows import search_texts
from quoth.stores.postgres.connections import Connection
from quoth.stores.postgres.lexemes import indexed
from quoth.stores.postgres.texts import original

_BATCH = 2000
_NEXT = """
SELECT id, text, lead_start, lead_stop, lead_text FROM sentences WHERE key IS NOT NULL AND id > %s ORDER BY id LIMIT %s
"""
_UPDATE = """
UPDATE sentences s SET terms = n.terms, length = n.length, norm = n.norm
FROM unnest(%s::bigint[], %s::text[], %s::integer[], %s::integer[]) AS n (id, terms, length, norm) WHERE s.id = n.id
"""
_TOTALS = """
UPDATE documents d SET tokens = coalesce((SELECT sum(s.length) FROM sentences s WHERE s.document = d.id), 0)
"""


def analyse_again(connection: Connection) -> None:
    """Write the terms of every sentence again, within the open transaction; the counts of terms are left to others."""
    last = 0
    while found := connection.execute(_NEXT, (last, _BATCH)).fetchall():
        texts = search_texts((original(text), *lead, _read(lead_text)) for _, text, *lead, lead_text in found)
        terms = [indexed(text) for text in texts]
        connection.execute(
            _UPDATE,
            (
                [row[0] for row in found],
                [one.terms for one in terms],
                [one.length for one in terms],
                [one.norm for one in terms],
            ),
        )
        last = found[-1][0]
    connection.execute(_TOTALS)


def _read(stored: str | None) -> str | None:
    return None if stored is None else original(stored)
