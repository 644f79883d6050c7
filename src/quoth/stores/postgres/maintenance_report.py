"""The result of a maintenance, and advice on what to do about it."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from typing import Any

LEAST_RECALL = 0.95
"""The share of the nearest sentences that the index must find."""
MOST_DEAD = 0.2
"""The share of dead rows that a table may have; autovacuum starts at about this by default."""
MOST_BLOAT = 1.5
"""How many times as large as a fresh index an index may be."""

SOUND = (0, 8, 4)
"""The first pgvector without known faults in building (0.8.2) and vacuuming (0.8.3, 0.8.4) HNSW indexes."""

_PAGE = 8192
_USABLE = 8160  # of a page: without its header, and what pgvector keeps at its end
_LINKS = 16  # `m` of our index
_MOST_EF = 1000
_EMPTIED = "staged_vectors"  # by every ingest, so that all of its rows are dead then


@dataclass(frozen=True, slots=True)
class TableHealth:
    """The state of a table: `dead_rows` and the times before the run, `dead_rows_left` after vacuuming."""

    name: str
    rows: int
    dead_rows: int
    dead_rows_left: int
    bytes: int
    last_vacuum: str | None
    last_autovacuum: str | None

    @property
    def dead_share(self) -> float:
        return _share(self.dead_rows, self.rows)

    @property
    def dead_share_left(self) -> float:
        return _share(self.dead_rows_left, self.rows)

    def vacuumed(self, after: TableHealth) -> TableHealth:
        """Return it with the numbers of `after`, which was read after vacuuming."""
        return replace(self, rows=after.rows, dead_rows_left=after.dead_rows, bytes=after.bytes)


@dataclass(frozen=True, slots=True)
class IndexHealth:
    """`fresh_bytes` is the estimated size of a new index, None where there is no estimate; `bytes_before` is the size
    before it was rebuilt, None where it was not."""

    name: str
    kind: str
    valid: bool
    bytes: int
    fresh_bytes: int | None
    bytes_before: int | None

    @property
    def left_over(self) -> bool:
        """Whether an interrupted rebuild made it, so that nothing uses it."""
        return not self.valid and re.search(r"_cc(new|old)[0-9]*$", self.name) is not None

    @property
    def bloat(self) -> float | None:
        """How many times as large as a new index it is."""
        return self.bytes / self.fresh_bytes if self.fresh_bytes else None


@dataclass(frozen=True, slots=True)
class Recall:
    """How many of the `k` nearest a search finds, over `questions` stored vectors. `passing` is the share of the
    sentences that pass `filter`; None stands for no filter."""

    filter: str | None
    passing: float
    k: int
    questions: int
    mean: float
    worst: float


@dataclass(frozen=True, slots=True)
class Maintenance:
    """One maintenance. `rebuilt` and `removed` name indexes; `exact` says that no index of vectors is needed yet."""

    place: str
    pgvector: str
    generation: int
    sentences: int
    ef_search: int
    exact: bool
    rebuilt: tuple[str, ...]
    removed: tuple[str, ...]
    tables: tuple[TableHealth, ...]
    indexes: tuple[IndexHealth, ...]
    recall: tuple[Recall, ...]

    @property
    def advice(self) -> tuple[str, ...]:
        """What to do, the most pressing first; empty when all is well."""
        return (*_about_indexes(self), *_about_recall(self), *_about_tables(self))

    @property
    def good(self) -> bool:
        return not self.advice


def maintenance_json(found: Maintenance) -> dict[str, Any]:
    """Return the JSON of `quoth maintain --json`."""
    return asdict(found) | {
        "tables": [
            asdict(table)
            | {"dead_share": round(table.dead_share, 4), "dead_share_left": round(table.dead_share_left, 4)}
            for table in found.tables
        ],
        "indexes": [
            asdict(index) | {"bloat": None if index.bloat is None else round(index.bloat, 2)} for index in found.indexes
        ],
        "verdict": "good" if found.good else "attention",
        "advice": list(found.advice),
    }


def fresh_vector_index(rows: int, *, dimension: int, vectors: str) -> int:
    """Bytes of a new HNSW index, from pgvector's layout: for each vector one entry of 72 bytes and the numbers, and one
    of its links, side by side on a page where they fit. Equal vectors share an entry, so that it may be smaller."""
    width = {"vector": 4, "halfvec": 2}[vectors]
    entry = _aligned(72 + 8 + width * dimension) + 4
    links = _aligned(4 + 6 * 2 * _LINKS) + 4 + 6 * _LINKS / (_LINKS - 1)  # one in sixteen has another level
    together = entry + links
    if together > _USABLE:
        return round(rows * (_PAGE + links)) + _PAGE
    return math.ceil(rows / int(_USABLE // together)) * _PAGE + _PAGE


def _aligned(size: int) -> int:
    return -(-size // 8) * 8


def _share(dead: int, live: int) -> float:
    return dead / (dead + live) if dead else 0.0


def _about_indexes(found: Maintenance) -> Iterator[str]:
    if tuple(int(part) for part in found.pgvector.split(".") if part.isdecimal()) < SOUND:
        yield (
            f"pgvector {found.pgvector} has faults in building and vacuuming indexes of vectors: update it to "
            f"{'.'.join(map(str, SOUND))} or later (ALTER EXTENSION vector UPDATE), then run it again with --reindex."
        )
    vectors = [index for index in found.indexes if index.kind == "hnsw"]
    if not vectors and not found.exact:
        yield "There is no index of the vectors, so that every question compares all: run it again with --reindex."
    if broken := [index.name for index in found.indexes if not index.valid]:
        yield f"{', '.join(broken)}: not usable, left by an interrupted run. Run it again with --reindex."
    for index in vectors:
        if index.valid and index.bloat is not None and index.bloat > MOST_BLOAT:
            yield f"{index.name} is {index.bloat:.1f} times the size of a fresh one: run it again with --reindex."


def _about_recall(found: Maintenance) -> Iterator[str]:
    low = [recall for recall in found.recall if recall.mean < LEAST_RECALL]
    if not low:
        return
    worst = min(low, key=lambda recall: recall.mean)
    begin = f"Only {worst.mean:.0%} of the nearest sentences are found{' under a filter' if worst.filter else ''}: "
    if found.ef_search < _MOST_EF:
        more = min(_MOST_EF, 2 * found.ef_search)
        rebuild = "" if found.rebuilt else "; if that does not help, run it again with --reindex"
        yield f"{begin}raise store.ef_search, now {found.ef_search}, to {more}{rebuild}."
    else:
        yield f"{begin}run it again with --reindex." if not found.rebuilt else f"{begin}use store.vectors=vector."


def _about_tables(found: Maintenance) -> Iterator[str]:
    for table in found.tables:
        if table.dead_share_left > MOST_DEAD and table.dead_rows_left > 1000:
            yield (
                f"{table.name} keeps {table.dead_share_left:.0%} dead rows after vacuuming: an old transaction or a "
                "replication slot still needs them (see pg_stat_activity.backend_xmin, pg_replication_slots)."
            )
        elif table.dead_share > MOST_DEAD and table.dead_rows > 1000 and table.name != _EMPTIED:
            yield (
                f"{table.name} had {table.dead_share:.0%} dead rows: maintain it more often, or have autovacuum do so "
                f"(ALTER TABLE {table.name} SET (autovacuum_vacuum_scale_factor = 0.05))."
            )
