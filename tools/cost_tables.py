"""The cost model of docs/scale.md: tables from the figures that cost.py measured, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from quoth.settings import StoreSettings

Figures = Mapping[str, Any]
LARGE = (10**6, 10**8, 10**9)
SHARDED = (10**7, 10**8, 10**9)
SHARDS = (4, 16, 64, 256)


@dataclass(frozen=True, slots=True)
class Assumptions:
    """What was not measured: prices in dollars, and how many cores a GPU stands for."""

    vcpu_hour: float
    gpu_hour: float
    gpu_speed: float


def write_tables(found: Mapping[str, Figures], assumed: Assumptions, *, page: Path | None) -> str:
    """Every part, for reading; put into its place in the page, where one is given."""
    rates, built, asked = found["rates"], found["built"], found["asked"]
    parts = {
        "rates": rates_part(rates, built),
        "bytes": bytes_part(rates["bytes"]),
        "sizes": sizes_part(built, asked),
        "cost": cost_part(rates, built, assumed),
        "shards": shards_part(rates, built, asked),
        "tokens": tokens_part(rates, built),
    }
    if page is not None:
        text = page.read_text(encoding="utf-8")
        for name, part in parts.items():
            begin, end = f"<!-- measured:begin {name} -->", f"<!-- measured:end {name} -->"
            start, stop = text.index(begin) + len(begin), text.index(end)
            text = f"{text[:start]}\n\n{part}\n\n{text[stop:]}"
        page.write_text(text, encoding="utf-8")
    return "\n\n".join(parts.values())


def rates_part(rates: Figures, built: Figures) -> str:
    read, embed, largest = rates["read"], rates["embed"], _largest(built)
    tokens = embed["tokens"]
    rows = [
        ("read, split and tag plain text", f"{_few(read['sentences_a_second'])} sentences, "
         f"{_few(read['documents_a_second'])} documents of {read['sentences'] / read['documents']:.0f} sentences"),
        ("embed, vectors alone", f"{_few(embed['vectors_a_second'])} sentences"),
        ("embed, with token codes", f"{_few(embed['with_tokens_a_second'])} sentences"),
        (f"write, with vectors at hand ({largest:,} sentences)",
         f"{_few(built[str(largest)]['sentences_a_second'])} sentences"),
    ]  # fmt: skip
    return _table(("in one second of one core (measured)", "done"), rows) + (
        f"\n\n{read['documents']:,} documents with {read['sentences']:,} sentences; {embed['sentences']:,} of them "
        f"were embedded. They have {tokens['p50']} tokens in the median, {tokens['mean']:.0f} on average, "
        f"{tokens['p90']} at the 90th percentile and {tokens['p99']} at the 99th."
    )


def bytes_part(kept: Figures) -> str:
    names = {
        "vectors": "vector, in the database (16 bits a dimension)",
        "tokens": "token codes, for late interaction",
        "documents": "text: its share of the document's",
        "rest": "place, section, tags, keys, indexes of the database",
        "order": "which vector and tags it has, in the order of search",
        "full_text": "full text",
    }
    rows = [(name, f"{kept[key]:,.0f}", f"{kept[key] / kept['all']:.0%}") for key, name in names.items()]
    rows.append(("**all**", f"**{kept['all']:,.0f}**", ""))
    return _table(("bytes on disk for a sentence (measured)", "", ""), rows) + (
        f"\n\nOf a real index: {kept['sentences']:,} sentences, of which {kept['different']:,} are different; equal "
        "ones are embedded and kept once."
    )


def sizes_part(built: Figures, asked: Figures) -> str:
    counts = sorted(map(int, asked))
    first = asked[str(counts[0])]
    rows = []
    for count in counts:
        one, made = asked[str(count)], built[str(count)]
        memory = one["memory_mb"]
        rows.append(
            (
                f"{count:,}",
                f"{one['search']['p50']:.0f} / {one['search']['p95']:.0f} ms",
                f"{one['whole']['p50']:.0f} / {one['whole']['p95']:.0f} ms",
                f"{one['whole']['p50'] / first['whole']['p50']:.2f}",
                f"{memory['private']:,.0f} + {memory['mapped']:,.0f} MB",
                f"{made['disk_bytes'] / 2**20:,.0f} MB",
                f"{made['peak_private_mb']:,} MB",
            )
        )
    return _table(
        (
            "sentences (measured)",
            "search, p50 / p95",
            "a whole question, p50 / p95",
            "p50 to the first row",
            "memory: own + mapped files",
            "on disk",
            "most memory to write it",
        ),
        rows,
    ) + (
        f"\n\n{first['questions']} real questions, one at a time, the model on one thread, no caches; "
        f"the model itself takes {first['memory_mb']['model']:,.0f} MB more in every process."
    )


def cost_part(rates: Figures, built: Figures, assumed: Assumptions) -> str:
    largest = built[str(_largest(built))]
    seconds = {
        "read": 1 / rates["read"]["sentences_a_second"],
        "embed": 1 / rates["embed"]["with_tokens_a_second"],
        "write": 1 / largest["sentences_a_second"],
    }
    rows = []
    for count in LARGE:
        hours = {name: count * one / 3600 for name, one in seconds.items()}
        whole = sum(hours.values())
        gpu = hours["embed"] / assumed.gpu_speed
        beside = hours["read"] + hours["write"]
        mixed = gpu * assumed.gpu_hour + beside * assumed.vcpu_hour
        rows.append(
            (
                f"{count:,}",
                _few(hours["read"]),
                _few(hours["embed"]),
                _few(hours["write"]),
                f"**{_few(whole)}**",
                _dollars(whole * assumed.vcpu_hour),
                f"{_few(gpu)} + {_few(beside)}",
                _dollars(mixed),
            )
        )
    return _table(
        (
            "sentences (arithmetic)",
            "read",
            "embed",
            "write",
            "CPU-hours",
            "cost",
            "with GPUs: GPU-hours + CPU-hours",
            "cost",
        ),
        rows,
    ) + (
        f"\n\nAt ${assumed.vcpu_hour:.2f} for an hour of a core. The GPU columns rest on an assumption that was not "
        f"measured: one GPU embeds as fast as {assumed.gpu_speed:.0f} of these cores, at ${assumed.gpu_hour:.2f} "
        "an hour."
    )


def shards_part(rates: Figures, built: Figures, asked: Figures) -> str:
    disk = _per_sentence({int(count): one["disk_bytes"] for count, one in built.items()})
    own = _per_sentence({int(count): one["memory_mb"]["private"] * 2**20 for count, one in asked.items()})
    mapped = _per_sentence({int(count): one["memory_mb"]["mapped"] * 2**20 for count, one in asked.items()})
    tokens = rates["bytes"]["tokens"]
    rows = []
    for count in SHARDED:
        for shards in SHARDS:
            each = count / shards
            if not StoreSettings().faiss_threshold < each <= 10**7:
                continue
            rows.append(
                (
                    f"{count:,}",
                    f"{shards}",
                    f"{each:,.0f}",
                    f"{_giga(each * disk)} GB",
                    f"{_giga(each * tokens)} GB",
                    f"{_giga(each * own)} + {_giga(each * mapped)} GB",
                    f"{_giga(count * (own + mapped))} GB",
                )
            )
    return _table(
        (
            "sentences (arithmetic)",
            "shards",
            "in each",
            "disk of a shard",
            "of it token codes",
            "memory of a shard: own + mapped",
            "memory of all, one replica",
        ),
        rows,
    ) + (
        f"\n\nFrom the slope of the measured sizes from {_counting(map(int, asked))[0]:,} sentences on: "
        f"{disk:,.0f} bytes of disk, "
        f"{own:,.0f} bytes of a process's own memory and {mapped:,.0f} bytes of mapped files for a sentence. Mapped "
        "files can be given back by the system, and a search then reads them from the disk again."
    )


def tokens_part(rates: Figures, built: Figures) -> str:
    kept, embed = rates["bytes"], rates["embed"]
    without = kept["all"] - kept["tokens"]
    slower = embed["vectors_a_second"] / embed["with_tokens_a_second"]
    rows = [
        ("disk", f"{kept['tokens']:,.0f} bytes a sentence: {kept['all'] / without:.2f} times what it is without"),
        ("embedding", f"{slower:.2f} times the processor's time"),
        ("1,000,000 sentences", f"{_giga(1e6 * kept['tokens'])} GB"),
        ("100,000,000 sentences", f"{_giga(1e8 * kept['tokens'])} GB"),
        ("1,000,000,000 sentences", f"{_giga(1e9 * kept['tokens'])} GB"),
    ]
    return _table(("what token codes add (first two measured, the rest arithmetic)", ""), rows)


def _per_sentence(by_count: Mapping[int, float]) -> float:
    """The slope of a line through the sizes that count."""
    counts = _counting(by_count)
    slope, _ = np.polyfit(counts, [by_count[count] for count in counts], 1)
    return float(slope)


def _counting(counts: Iterable[int]) -> list[int]:
    """The sizes that are searched approximately, as shards of large indexes are; all, where those are too few."""
    sizes = sorted(counts)
    large = [count for count in sizes if count > StoreSettings().faiss_threshold]
    return large if len(large) > 1 else sizes


def _largest(built: Figures) -> int:
    return max(map(int, built))


def _giga(amount: float) -> str:
    return _few(amount / 1e9)


def _dollars(amount: float) -> str:
    return f"${amount:.2f}" if amount < 10 else f"${_few(amount)}"


def _few(number: float) -> str:
    """Two digits that mean something, or whole thousands."""
    if number >= 100:
        digits = len(str(int(number))) - 2
        return f"{round(number, -digits):,.0f}"
    return f"{number:.2g}" if number < 10 else f"{number:.0f}"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(head)} |", "|" + "---|" * len(head)]
    return "\n".join([*lines, *(f"| {' | '.join(row)} |" for row in rows)])
