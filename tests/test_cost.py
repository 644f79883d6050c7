"""The cost model of docs/scale.md: its arithmetic, and that it finds its places in the page."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import cost_tables as cost

ROOT = Path(__file__).parents[1]

ASSUMED = cost.Assumptions(vcpu_hour=0.05, gpu_hour=1.0, gpu_speed=50.0)


def figures() -> dict[str, Any]:
    """Of a machine that embeds 100 sentences a second, and keeps 4,000 bytes for each beside a million for itself."""
    counts = (10_000, 100_000, 1_000_000)
    rates = {
        "read": {"documents": 10, "sentences": 1_000, "documents_a_second": 100, "sentences_a_second": 10_000},
        "embed": {
            "sentences": 6_000,
            "tokens": {"p50": 30, "mean": 40.0, "p90": 70, "p99": 150},
            "vectors_a_second": 120.0,
            "with_tokens_a_second": 100.0,
        },
        "bytes": {
            "sentences": 1_000,
            "different": 900,
            "vectors": 700.0,
            "tokens": 1_000.0,
            "documents": 100.0,
            "rest": 600.0,
            "order": 800.0,
            "full_text": 60.0,
            "all": 3_260.0,
        },
    }
    built = {
        str(count): {"sentences_a_second": 2_500.0, "disk_bytes": 10**6 + 4_000 * count, "peak_private_mb": 300}
        for count in counts
    }
    asked = {
        str(count): {
            "whole": {"p50": 40.0 + place, "p95": 90.0},
            "search": {"p50": 10.0, "p95": 20.0},
            "memory_mb": {"private": 50 + count * 100 / 2**20, "mapped": count * 800 / 2**20, "model": 150.0},
            "questions": 160,
        }
        for place, count in enumerate(counts)
    }
    return {"rates": rates, "built": built, "asked": asked}


def cells(table: str, first: str) -> list[str]:
    (line,) = (line for line in table.splitlines() if line.startswith(f"| {first} |"))
    return [cell.strip() for cell in line.strip("|").split("|")]


def test_hours_and_dollars_follow_from_the_rates() -> None:
    found = figures()

    row = cells(cost.cost_part(found["rates"], found["built"], ASSUMED), "100,000,000")

    # 10^8 sentences at 100 a second are 278 hours; 2.8 to read, 11 to write; a GPU stands for 50 cores.
    assert row == ["100,000,000", "2.8", "280", "11", "**290**", "$15", "5.6 + 14", "$6.25"]


def test_a_shard_is_what_a_sentence_takes_times_its_sentences() -> None:
    found = figures()

    table = cost.shards_part(found["rates"], found["built"], found["asked"])
    (row,) = (line for line in table.splitlines() if line.startswith("| 100,000,000 | 16 |"))

    assert [cell.strip() for cell in row.strip("|").split("|")][2:] == [
        "6,250,000", "25 GB", "6.2 GB", "0.62 + 5 GB", "90 GB",
    ]  # fmt: skip


def test_what_is_computed_is_never_called_measured() -> None:
    found = figures()
    tables = [
        cost.rates_part(found["rates"], found["built"]),
        cost.bytes_part(found["rates"]["bytes"]),
        cost.sizes_part(found["built"], found["asked"]),
    ]
    computed = [
        cost.cost_part(found["rates"], found["built"], ASSUMED),
        cost.shards_part(found["rates"], found["built"], found["asked"]),
    ]

    assert all("(measured)" in table.splitlines()[0] for table in tables)
    assert all("(arithmetic)" in table.splitlines()[0] for table in computed)


def test_the_tables_find_their_places_and_change_nothing_else(tmp_path: Path) -> None:
    page = tmp_path / "scale.md"
    shutil.copy(ROOT / "docs" / "scale.md", page)

    cost.write_tables(figures(), ASSUMED, page=page)
    once = page.read_text(encoding="utf-8")
    cost.write_tables(figures(), ASSUMED, page=page)

    assert page.read_text(encoding="utf-8") == once
    assert "| 100,000,000 | 2.8 | 280 |" in once
    assert _without_tables(once) == _without_tables((ROOT / "docs" / "scale.md").read_text(encoding="utf-8"))


def _without_tables(text: str) -> str:
    while "<!-- measured:begin " in text:
        head, _, rest = text.partition("<!-- measured:begin ")
        text = head + rest.partition("<!-- measured:end ")[2].partition(" -->")[2]
    return text
