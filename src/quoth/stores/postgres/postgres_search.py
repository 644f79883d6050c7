"""Hybrid search: both ways of searching, and both scores for every row whichever way found it.

Full text scores as the embedded store does: BM25 with tantivy's lengths, over what an ideal sentence would score.
An index tells which sentences can reach a score (see `postgres_bounds`), and only these are read and scored. The score
to reach is guessed from how common the words are. When fewer reach it than are asked for, a lower one is tried. When
too many can, some of them are scored, and the worst of their best is the score to reach. So no result is lost. Then
one statement joins these with the nearest vectors, and reads the rows.

A tsvector keeps the positions of each lexeme, and `ts_rank` with equal weights is the sum of 1/n² over them divided by
its limit; the term frequency is read back from that, exactly up to 255, faster than by unpacking every row.
"""

# ruff: noqa: S608  only constant text is put into SQL; values are always bound

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from quoth.language.stems import word_languages
from quoth.stores.database_rows import Row
from quoth.stores.postgres import postgres_rows as rows
from quoth.stores.postgres.postgres_access import VisibleIndex
from quoth.stores.postgres.postgres_bounds import ClassConditions, WeighedWords, weighed
from quoth.stores.postgres.postgres_connections import Connection
from quoth.stores.postgres.postgres_rows import comparable, label
from quoth.stores.postgres.postgres_schema import PublishedIndex
from quoth.stores.query_terms import Variant, asked
from quoth.types import NO_FILTERS, Filters, Query, Vectors


@dataclass(frozen=True, slots=True)
class Conditions:
    """SQL for filters. `scanned` is tested row by row; `joined` is equal and lets the planner start there."""

    scanned: str
    joined: str
    values: dict[str, Any]


def conditions(filters: Filters, *, limited: bool = False) -> Conditions | None:
    """Return the filters as SQL; None without a filter. A value that does not exist matches nothing.

    `limited`: not every document is visible. The server sees to it; the planner should know, too.
    """
    tests: list[str] = ["true"] if limited else []
    values: dict[str, Any] = {}
    for column, wanted in (("name", filters.doc_ids), ("document_type", filters.document_types)):
        if wanted:
            tests.append(f"d.{column} = ANY (%(filter_{column})s::text[])")
            values[f"filter_{column}"] = [comparable(value) for value in wanted]
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
            values[f"filter_tag_{number}"] = [label(facet, value) for value in wanted]
    if not tests and not tagged:
        return None
    documents = [f"s.document IN (SELECT d.id FROM documents d WHERE {' AND '.join(tests)})"] if tests else []
    return Conditions(
        # The truth of a condition is no join, so it stays a test in the scan, against a hash table made once.
        scanned=" AND ".join([f"({test}) IS TRUE" for test in documents] + tagged),
        joined=" AND ".join(documents + tagged),
        values=values,
    )


FEW = 1000
"""So many vectors are compared one by one; an index pays off, and is made, beyond that."""

_MOST_COMPARED = 20_000  # visible vectors that are compared one by one, where others are not visible
_MARGIN = 64  # hits beyond the asked number: scores that are shown as equal at the cut are settled by position
_FEW_HELD = 1500  # so many sentences are scored faster than chosen among
_SAMPLE = 40  # times the asked number: sentences to score at first where more could be good enough
_TOGETHER = 3  # words of a question go together: so many times more sentences reach a score than if they did not
_LESS_STRICT = 8  # times as many sentences are let through where too few reached a score
_ROUNDING = 1e-9  # sums in another order
_SHOWN = 1e-6  # to which shares are rounded
_MOST_EF = 1000  # the most that pgvector takes

SETTINGS = """
SELECT set_config('hnsw.ef_search', %(ef_search)s, true), set_config('hnsw.iterative_scan', 'strict_order', true),
       set_config('hnsw.max_scan_tuples', '10000000', true), set_config('hnsw.scan_mem_multiplier', '8', true),
       set_config('work_mem', '64MB', true), set_config('plan_cache_mode', 'force_custom_plan', true)
"""
"""For the transaction. A plan for any limit would be none for ours, hence `force_custom_plan`."""


_COUNTS = """
SELECT CASE WHEN a.plain THEN coalesce((SELECT t.sentences FROM terms t WHERE t.lexeme = a.query), 0)
            ELSE (SELECT count(*) FROM sentences s WHERE s.search @@ a.query::tsquery) END
FROM unnest(%s::text[], %s::boolean[]) WITH ORDINALITY AS a (query, plain, place) ORDER BY a.place
"""

HELD = """
SELECT (SELECT count(*) FROM holding(a.query)) FROM unnest(%s::text[]) WITH ORDINALITY AS a (query, place)
ORDER BY a.place
"""
"""Counts visible sentences only. The table of terms counts those of every document."""

# A token of the question per row: its group, its variant with the query for it, and the most it is worth.
_TOKENS = """
tokens AS MATERIALIZED (
    SELECT t.grp, t.variant, t.query::tsquery AS query, t.lexeme::tsquery AS token, t.weight
    FROM unnest(%(groups)s::integer[], %(variants)s::integer[], %(queries)s::text[], %(lexemes)s::text[],
                %(weights)s::float8[]) AS t (grp, variant, query, lexeme, weight)
)"""

_SHARE = "round(least(1, {score} / %(ideal)s::float8)::numeric, 6)"
_FREQUENCY = "round(1 / (1.6449340668482264 * (1 - pg_catalog.ts_rank('{1,1,1,1}'::real[], s.search, t.token))) - 0.5)"


def _scores(table: str, plain: bool) -> str:
    """Return SQL for the score of each sentence of `table`: the sum, over groups, of its best variant.

    In a `plain` question each word is one token without synonyms, so the sum over tokens is enough.
    """
    points = f"sum(t.weight / (1 + 1.2 * (0.25 + 0.75 * s.norm / %(average)s::float8) / {_FREQUENCY}))"
    found = f"{table} s JOIN tokens t ON s.search @@ t.query"
    if plain:
        return f"""
    SELECT s.id, {points} AS score FROM {found} GROUP BY s.id"""
    return f"""
    SELECT h.id, sum(h.best) AS score FROM (
        SELECT v.id, v.grp, max(v.points) AS best FROM (
            SELECT s.id, t.grp, t.variant, {points} AS points FROM {found} GROUP BY s.id, t.grp, t.variant) v
        GROUP BY v.id, v.grp) h
    GROUP BY h.id"""


@dataclass(frozen=True, slots=True)
class Statement:
    """SQL and its values."""

    text: str
    values: dict[str, Any]

    def rows(self, connection: Connection) -> list[Row]:
        return connection.execute(self.text, self.values, binary=True).fetchall()


def weigh_words(
    connection: Connection, query: Query, published: PublishedIndex, visible: VisibleIndex | None = None
) -> WeighedWords | None:
    """Weigh the words of a question; return None if it has none to search for."""
    groups = asked(query.terms, word_languages(published.info))
    if not groups or not published.evidence:
        return None
    wanted = list(dict.fromkeys(held for group in groups for variant in group for held in _counted(variant)))
    queries = [" & ".join(map(rows.lexeme, variant)) for variant in wanted]

    def count(new: list[str]) -> list[int]:
        return [int(held) for (held,) in connection.execute(HELD, (new,), binary=True)]

    if visible is None:
        plain = [len(variant) == 1 for variant in wanted]
        found = [int(held) for (held,) in connection.execute(_COUNTS, (queries, plain), binary=True)]
    else:
        found = visible.held(queries, count)
    held = dict(zip(wanted, found, strict=True))
    return weighed(
        groups, held=held.__getitem__, evidence=published.evidence, average=published.average, lexeme=rows.lexeme
    )


def _counted(variant: Variant) -> Iterator[Variant]:
    yield variant
    yield from ((token,) for token in variant)


def _words(words: WeighedWords) -> dict[str, Any]:
    """Return the values of `_TOKENS`, of `_scores` and of `_SHARE`."""
    tokens = [
        (group, variant.number, variant.query, lexeme, weight)
        for group, variants in enumerate(words.groups)
        for variant in variants
        for lexeme, weight in variant.weights.items()
    ]
    columns = zip(*tokens, strict=True) if tokens else ((),) * 5
    named = zip(("groups", "variants", "queries", "lexemes", "weights"), map(list, columns), strict=True)
    return dict(named) | {"average": words.average, "ideal": words.ideal}


_HOLDING = "sentences s WHERE s.search @@ %(any_word)s::tsquery"
_VISIBLE_HOLDING = "holding(%(any_word)s::text) AS v (id) JOIN sentences s ON s.id = v.id"
_MEETING = """
    unnest(%(none_repeated)s::text[], %(any_repeated)s::text[], %(one_repeated)s::text[], %(several_repeated)s::text[])
        AS c (none_repeated, any_repeated, one_repeated, several_repeated)
    JOIN sentences s ON (impacts(s.search, s.norm) @@ c.none_repeated::tsquery
        OR impacts(s.search, s.norm) @@ c.any_repeated::tsquery AND impacts(s.search, s.norm) @@ c.one_repeated::tsquery
        OR impacts(s.search, s.norm) @@ c.several_repeated::tsquery)"""
_VISIBLE_MEETING = """
    (SELECT DISTINCT m.id FROM meeting(%(conditions)s::text[]) AS m (id)) AS v JOIN sentences s ON s.id = v.id"""


def reaching(
    words: WeighedWords, score: float, limits: Conditions | None, *, most: int | None, limited: bool = False
) -> Statement:
    """Return the statement for the ids and scores of all sentences that reach `score`, and of few others.

    With `most` they are no more than that, of all that could reach it. `limited`: not every document is visible.
    """
    values: dict[str, Any] = _words(words) | {"most": most} | (limits.values if limits else {})
    if score <= 0:
        able = _VISIBLE_HOLDING if limited else _HOLDING
        values["any_word"] = words.any_word
    elif limited:
        able = _VISIBLE_MEETING
        values["conditions"] = [way for conditions in words.conditions(score) for way in conditions.ways]
    else:
        able = _MEETING
        classes = words.conditions(score)
        values |= {name: [getattr(one, name) for one in classes] for name in ClassConditions._fields}
    allowed = f" AND {limits.scanned}" if limits else ""
    text = f"""WITH{_TOKENS},
able AS MATERIALIZED (SELECT s.id, s.norm, s.search FROM {able}{allowed} LIMIT %(most)s::bigint),
scores AS MATERIALIZED ({_scores("able", words.plain)})
SELECT a.id, coalesce(c.score, 0) FROM able a LEFT JOIN scores c USING (id)"""
    return Statement(text, values)


def best_by_words(
    connection: Connection, words: WeighedWords, limits: Conditions | None, *, count: int, limited: bool = False
) -> dict[int, float]:
    """Return ids and scores of the `count` best sentences by words, and of those that may be shown as good as these."""
    if not words.groups or count <= 0:
        return {}
    sample: int | None = _SAMPLE * count
    expected = max(1, count // _TOGETHER)
    score = 0.0 if sum(words.held) <= _FEW_HELD else words.score_of_best(expected)
    while True:
        found: dict[int, float] = dict(reaching(words, score, limits, most=sample, limited=limited).rows(connection))
        best = sorted(found.values(), reverse=True)
        least = _least(best, count, words.ideal)
        if sample is not None and len(found) >= sample:
            # There are more than were looked at; all that can be as good as the last of these are enough.
            score, sample = max(score, least), None
        elif score <= 0 or least >= score:
            return {id_: reached for id_, reached in found.items() if reached >= least and reached > 0}
        elif least > 0:
            score = least
        else:
            expected *= _LESS_STRICT
            score = words.score_of_best(expected) if expected < words.evidence else 0.0


def _least(best: Sequence[float], count: int, ideal: float) -> float:
    """Return the least score that can be among the `count` best as they are shown; 0 if these are too few to tell.

    Better than ideal is shown as ideal: where all of them are, position decides between these and `_MARGIN` more.
    """
    if len(best) >= count and best[count - 1] < ideal:
        return best[count - 1] - (_SHOWN + _ROUNDING) * ideal
    wider = count + _MARGIN
    return best[wider - 1] - _ROUNDING * ideal if len(best) >= wider else 0.0


_LEXICAL = f"""
lexical AS MATERIALIZED (
    SELECT b.id, b.share FROM (
        SELECT a.id, {_SHARE.format(score="a.score")} AS share
        FROM unnest(%(ids)s::bigint[], %(scores)s::float8[]) AS a (id, score)) b
    JOIN sentences s USING (id) JOIN documents d ON d.id = s.document
    ORDER BY b.share DESC, d.name, s.ordinal LIMIT %(count)s
)"""
_NOTHING = "lexical AS MATERIALIZED (SELECT 0::bigint AS id, 0::numeric AS share WHERE false)"
_COSINE = "round(coalesce(nullif(1 - ({distance}), 'NaN'), 0)::numeric, 6)"


def _compared(distance: str, *, among: str, test: str) -> str:
    """Return SQL that compares every vector."""
    return f"""(
    SELECT s.id, {_COSINE.format(distance=distance)} AS cosine FROM {among} WHERE s.key IS NOT NULL{test}
    ORDER BY cosine DESC FETCH FIRST %(count)s ROWS WITH TIES)"""


def _looked_up(distance: str, *, test: str) -> str:
    """Return SQL that uses the index of vectors."""
    return f"""(
    SELECT n.id, {_COSINE.format(distance="n.distance")} AS cosine
    FROM (SELECT s.id, {distance} AS distance FROM sentences s WHERE s.vector IS NOT NULL{test}
          ORDER BY {distance} LIMIT %(count)s + {_MARGIN}) n)"""


def _dense(distance: str, *, scanned: str, joined: str, many: bool, limited: bool, alone: bool) -> str:
    before = ""
    if not many:
        near = _compared(distance, among="sentences s", test=joined if limited else scanned)
    elif not joined or alone:
        near = _looked_up(distance, test=scanned)
    else:
        before = f"""
allowed AS MATERIALIZED (
    SELECT s.id, s.key, s.vector FROM sentences s WHERE s.key IS NOT NULL{joined} LIMIT %(few)s + 1
),
few AS MATERIALIZED (SELECT count(*) <= %(few)s AS so FROM allowed),"""
        compared = _compared(distance, among="allowed s", test=" AND (SELECT f.so FROM few f)")
        looked_up = _looked_up(distance, test=f" AND NOT (SELECT f.so FROM few f){scanned}")
        near = f"{compared} UNION ALL {looked_up}"
    return f"""{before}
near AS MATERIALIZED ({near}),
dense AS MATERIALIZED (
    SELECT n.id FROM near n JOIN sentences s USING (id) JOIN documents d ON d.id = s.document
    ORDER BY n.cosine DESC, d.name, s.ordinal LIMIT %(count)s
)"""


_NOWHERE = "dense AS MATERIALIZED (SELECT 0::bigint AS id WHERE false)"
_FOUND = """
found AS MATERIALIZED (
    SELECT coalesce(l.id, x.id) AS id, l.share, l.id IS NOT NULL AS by_lexical, x.id IS NOT NULL AS by_dense
    FROM lexical l FULL OUTER JOIN dense x ON x.id = l.id
)"""


def _others(plain: bool) -> str:
    """Return SQL for the lexical scores of sentences that only the vector found."""
    return f""",
others AS MATERIALIZED (
    SELECT s.id, s.norm, s.search FROM found f JOIN sentences s USING (id) WHERE NOT f.by_lexical
),
other_scores AS MATERIALIZED ({_scores("others", plain)})"""


def both_ways(
    query: Query,
    published: PublishedIndex,
    vector: Vectors | None,
    *,
    words: WeighedWords | None,
    best: Mapping[int, float],
    limited: bool = False,
) -> Statement:
    """Return the statement for a question, given what its words found.

    It selects the columns of `rows.QUOTED`, the lexical score, whether full text and whether the vector found the
    sentence, the vector as the server sends it, and the codes of the tokens.
    """
    limits = conditions(query.filters, limited=limited)
    scanned = f" AND {limits.scanned}" if limits else ""
    joined = f" AND {limits.joined}" if limits else ""
    values: dict[str, Any] = {"count": max(0, query.candidates)}
    tables: list[str] = []
    if limits:
        values |= limits.values
    if words:
        values |= _words(words) | {"ids": list(best), "scores": list(best.values())}
        tables += [_TOKENS, _LEXICAL]
    else:
        tables.append(_NOTHING)
    if vector is not None:
        values |= {"vector": rows.literal(vector), "few": _few(published.evidence, values["count"])}
        distance = f"s.vector <=> %(vector)s::{published.vectors}"
        alone = limited and query.filters == NO_FILTERS  # how many vectors are visible is known then
        many = published.evidence > (_MOST_COMPARED if alone else FEW)
        tables.append(_dense(distance, scanned=scanned, joined=joined, many=many, limited=limited, alone=alone))
    else:
        tables.append(_NOWHERE)
    tables.append(_FOUND + (_others(words.plain) if words else ""))
    score = f"coalesce(f.share, {_SHARE.format(score='coalesce(o.score, 0)')})::float8" if words else "0::float8"
    return Statement(
        f"WITH {','.join(tables)}\nSELECT {rows.QUOTED}, {score}, f.by_lexical, f.by_dense, "
        f"{published.vectors}_send(s.vector), s.tokens\n"
        "FROM found f JOIN sentences s USING (id) JOIN documents d ON d.id = s.document"
        + (" LEFT JOIN other_scores o ON o.id = f.id" if words else ""),
        values,
    )


def found_by(
    connection: Connection,
    query: Query,
    published: PublishedIndex,
    vector: Vectors | None,
    *,
    ef_search: int,
    visible: VisibleIndex | None = None,
) -> list[Row]:
    """Search by words and by the vector, and return the rows of `both_ways`. `visible` is None where all is seen."""
    limited = visible is not None
    connection.execute(SETTINGS, settings(query, ef_search, limited=limited))
    words = weigh_words(connection, query, published, visible)
    best: dict[int, float] = {}
    if words:
        limits = conditions(query.filters)  # the function for the words sees to what is visible
        best = best_by_words(connection, words, limits, count=query.candidates, limited=limited)
    return both_ways(query, published, vector, words=words, best=best, limited=limited).rows(connection)


def _few(evidence: int, count: int) -> int:
    """Return up to how many filtered vectors comparing each is faster than the index.

    Where n of all pass, the index must look at `all / n` for each that is wanted, and comparing looks at n.
    """
    return max(FEW, math.isqrt((count + _MARGIN) * evidence))


def settings(query: Query, ef_search: int, *, limited: bool = False) -> dict[str, str]:
    """Return values for `SETTINGS`. With a filter the nearest lie further apart: search twice as far."""
    wanted = ef_search if query.filters == NO_FILTERS and not limited else 2 * ef_search
    return {"ef_search": str(min(_MOST_EF, max(wanted, query.candidates + _MARGIN)))}
