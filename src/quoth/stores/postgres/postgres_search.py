"""Hybrid search as one SQL statement: both ways of searching, and both scores for every row whichever way found it.

Full text scores as the embedded store does: BM25 with tantivy's lengths, over what an ideal sentence would score.
Sentences are found through the index by the rarer words. They set a mark: the score of the last that would be given.
The commoner words are looked up only as far as a sentence that holds nothing else could reach that mark, so that a
word of half the table is not ranked for nothing, and no result is lost.

A tsvector keeps the positions of each lexeme, and `ts_rank` with equal weights is the sum of 1/n² over them divided by
its limit; the term frequency is read back from that, exactly up to 255, faster than by unpacking every row.
"""

# ruff: noqa: S608  only constant text is put into SQL; values are always bound

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from quoth.language.stems import word_languages
from quoth.stores.postgres import postgres_rows as rows
from quoth.stores.postgres.postgres_rows import comparable, label
from quoth.stores.postgres.postgres_schema import PublishedIndex
from quoth.types import NO_FILTERS, Filters, Query, Vectors


@dataclass(frozen=True, slots=True)
class Conditions:
    """SQL for filters. `scanned` is tested row by row; `joined` is equal and lets the planner start there."""

    scanned: str
    joined: str
    values: dict[str, Any]


def conditions(filters: Filters) -> Conditions | None:
    """Return the filters as SQL; None without a filter. A value that does not exist matches nothing."""
    tests: list[str] = []
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

_MARGIN = 64  # hits beyond the asked number: scores that rounding makes equal at the cut are settled by position
_RARE = 5000  # a word in no more sentences than that is looked up at once,
_RARE_SHARE = 0.01  # or in no more than this share of all
_MOST_EF = 1000  # the most that pgvector takes

SETTINGS = """
SELECT set_config('hnsw.ef_search', %(ef_search)s, true), set_config('hnsw.iterative_scan', 'strict_order', true),
       set_config('hnsw.max_scan_tuples', '10000000', true), set_config('hnsw.scan_mem_multiplier', '8', true),
       set_config('work_mem', '64MB', true), set_config('plan_cache_mode', 'force_custom_plan', true)
"""
"""For the transaction. A plan for any limit would be none for ours, hence `force_custom_plan`."""


def _idf(held: str) -> str:
    return f"ln(1 + (%(evidence)s::float8 - {held} + 0.5) / ({held} + 0.5))"


# A sentence holds a group of words by any of its variants, and a variant by all of its tokens. A variant is worth no
# more than the word as asked, where that occurs: a rare synonym must not outweigh the question.
_WEIGHTS = f"""
asked AS MATERIALIZED (
    SELECT a.grp, a.variant, a.lexeme, coalesce(t.sentences, 0) AS held
    FROM unnest(%(groups)s::integer[], %(variants)s::integer[], %(lexemes)s::text[]) AS a (grp, variant, lexeme)
    LEFT JOIN terms t ON t.lexeme = a.lexeme
),
variants AS MATERIALIZED (
    SELECT v.grp, v.variant, v.natural, v.query, CASE WHEN v.tokens = 1 OR v.least = 0 THEN v.least
               ELSE (SELECT count(*) FROM sentences s WHERE s.search @@ v.query) END AS held
    FROM (SELECT grp, variant, count(*) AS tokens, min(held) AS least, sum({_idf("held")}) AS natural,
                 string_agg(lexeme, ' & ')::tsquery AS query
          FROM asked GROUP BY grp, variant) v
),
worths AS MATERIALIZED (
    SELECT g.grp, g.total, {_idf("(CASE WHEN g.first > 0 THEN g.first ELSE g.most END)")} AS worth
    FROM (SELECT grp, (array_agg(held ORDER BY variant))[1] AS first, max(held) AS most, sum(held) AS total
          FROM variants GROUP BY grp) g
),
weighed AS MATERIALIZED (
    SELECT v.grp, v.variant, v.query, v.natural, least(w.worth, {_idf("v.held")}) AS worth
    FROM variants v JOIN worths w USING (grp) WHERE v.held > 0
),
tokens AS MATERIALIZED (
    SELECT w.grp, w.variant, w.query, a.lexeme::tsquery AS token,
           2.2 * w.worth / w.natural * {_idf("a.held")} AS weight
    FROM weighed w JOIN asked a USING (grp, variant)
),
bounds AS MATERIALIZED (
    SELECT b.grp, b.most, b.total <= %(rare)s OR row_number() OVER (ORDER BY b.total, b.grp) = 1 AS rare,
           sum(b.most) OVER (ORDER BY b.most, b.grp) AS below
    FROM (SELECT w.grp, o.total, 2.2 * max(w.worth) AS most FROM weighed w JOIN worths o USING (grp)
          GROUP BY w.grp, o.total) b
),
ideal AS MATERIALIZED (SELECT sum(worth) AS score FROM worths)"""

_SHARE = "round(least(1, {score} / (SELECT i.score FROM ideal i))::numeric, 6)"
_ROUNDING = "1e-9 * (SELECT i.score FROM ideal i)"  # sums in another order
_FREQUENCY = "round(1 / (1.6449340668482264 * (1 - pg_catalog.ts_rank('{1,1,1,1}'::real[], s.search, t.token))) - 0.5)"


def _points(found: str, plain: bool) -> str:
    """Return SQL for the score of each sentence `s`: the sum, over groups, of its best variant.

    In a `plain` question each word is one token without synonyms, so the sum over tokens is enough.
    """
    points = f"sum(t.weight / (1 + 1.2 * (0.25 + 0.75 * s.norm / %(average)s::float8) / {_FREQUENCY}))"
    if plain:
        return f"""
    SELECT s.id, {points} AS score FROM {found} GROUP BY s.id"""
    return f"""
    SELECT h.id, sum(h.best) AS score FROM (
        SELECT v.id, v.grp, max(v.points) AS best FROM (
            SELECT s.id, t.grp, t.variant, {points} AS points FROM {found} GROUP BY s.id, t.grp, t.variant) v
        GROUP BY v.id, v.grp) h
    GROUP BY h.id"""


def _scores(table: str, plain: bool) -> str:
    """Return SQL for the score of each sentence of `table` that holds a word."""
    return _points(f"{table} s JOIN tokens t ON s.search @@ t.query", plain)


def _lexical(allowed: str, *, plain: bool) -> str:
    last = f"(SELECT r.score FROM {{scores}} r ORDER BY r.score DESC OFFSET %(count)s + {_MARGIN - 1} LIMIT 1)"
    mark = f"coalesce({last}, 0)"
    rare = _points(
        f"tokens t JOIN bounds b ON b.grp = t.grp AND b.rare JOIN sentences s ON s.search @@ t.query{allowed}", plain
    )
    return f"""
rare_scores AS MATERIALIZED ({rare}),
rare_mark AS MATERIALIZED (
    SELECT {mark.format(scores="rare_scores")} - (SELECT coalesce(sum(b.most), 0) FROM bounds b WHERE NOT b.rare)
           - {_ROUNDING} AS score
),
first AS MATERIALIZED (
    SELECT s.id, s.norm, s.search FROM rare_scores r JOIN sentences s USING (id)
    WHERE r.score >= (SELECT m.score FROM rare_mark m)
),
first_scores AS MATERIALIZED ({_scores("first", plain)}),
mark AS MATERIALIZED (SELECT {mark.format(scores="first_scores")} - {_ROUNDING} AS score),
second AS MATERIALIZED (
    SELECT s.id, s.norm, s.search FROM sentences s
    WHERE s.search @@ (
        SELECT string_agg('(' || w.query::text || ')', ' | ')::tsquery FROM weighed w JOIN bounds b USING (grp)
        WHERE NOT b.rare AND b.below > (SELECT m.score FROM mark m))
    AND NOT EXISTS (SELECT FROM rare_scores r WHERE r.id = s.id){allowed}
),
second_scores AS MATERIALIZED ({_scores("second", plain)}),
lexical AS MATERIALIZED (
    SELECT b.id, b.share FROM (
        SELECT a.id, {_SHARE.format(score="a.score")} AS share
        FROM (SELECT * FROM first_scores UNION ALL SELECT * FROM second_scores) a
        WHERE a.score >= (SELECT m.score FROM mark m)) b
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


def _dense(distance: str, *, scanned: str, joined: str, many: bool) -> str:
    before = ""
    if not many:
        near = _compared(distance, among="sentences s", test=scanned)
    elif not joined:
        near = _looked_up(distance, test="")
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


def statement(query: Query, published: PublishedIndex, vector: Vectors | None) -> tuple[str, dict[str, Any]]:
    """Return the statement for a question, and its values.

    It selects the columns of `rows.QUOTED`, the lexical score, whether full text and whether the vector found the
    sentence, the vector as the server sends it, and the codes of the tokens.
    """
    limits = conditions(query.filters)
    scanned = f" AND {limits.scanned}" if limits else ""
    joined = f" AND {limits.joined}" if limits else ""
    words = rows.query_lexemes(query.terms, word_languages(published.info)) if published.evidence else None
    values: dict[str, Any] = {"count": max(0, query.candidates)}
    tables: list[str] = []
    if limits:
        values |= limits.values
    if words:
        values |= {"groups": words.groups, "variants": words.variants, "lexemes": words.lexemes}
        values |= {"evidence": published.evidence, "average": published.average}
        values["rare"] = max(_RARE, int(published.evidence * _RARE_SHARE))
        tables += [_WEIGHTS, _lexical(scanned, plain=words.plain)]
    else:
        tables.append(_NOTHING)
    if vector is not None:
        values |= {"vector": rows.literal(vector), "few": _few(published.evidence, values["count"])}
        distance = f"s.vector <=> %(vector)s::{published.vectors}"
        tables.append(_dense(distance, scanned=scanned, joined=joined, many=published.evidence > FEW))
    else:
        tables.append(_NOWHERE)
    tables.append(_FOUND + (_others(words.plain) if words else ""))
    score = f"coalesce(f.share, {_SHARE.format(score='coalesce(o.score, 0)')})::float8" if words else "0::float8"
    return (
        f"WITH {','.join(tables)}\nSELECT {rows.QUOTED}, {score}, f.by_lexical, f.by_dense, "
        f"{published.vectors}_send(s.vector), s.tokens\n"
        "FROM found f JOIN sentences s USING (id) JOIN documents d ON d.id = s.document"
        + (" LEFT JOIN other_scores o ON o.id = f.id" if words else ""),
        values,
    )


def _few(evidence: int, count: int) -> int:
    """Return up to how many filtered vectors comparing each is faster than the index.

    Where n of all pass, the index must look at `all / n` for each that is wanted, and comparing looks at n.
    """
    return max(FEW, math.isqrt((count + _MARGIN) * evidence))


def settings(query: Query, ef_search: int) -> dict[str, str]:
    """Return values for `SETTINGS`. With a filter the nearest lie further apart: search twice as far."""
    wanted = ef_search if query.filters == NO_FILTERS else 2 * ef_search
    return {"ef_search": str(min(_MOST_EF, max(wanted, query.candidates + _MARGIN)))}
