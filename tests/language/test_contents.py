"""Tables of contents are found by their entries; a price list or a table of numbers is none."""

from __future__ import annotations

import pytest

from quoth.documents.formats.text.contents_pages import contents_runs, is_contents_entry, is_contents_title


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("Table of Contents", True),
        ("TABLE OF CONTENTS (continued)", True),
        ("Contents:", True),
        ("List of Figures", True),
        ("INDEX", False),
        ("Contents of the box", False),
        ("The contents", False),
    ],
)
def test_a_title_is_known_whatever_follows(line: str, expected: bool) -> None:
    assert is_contents_title(line) is expected


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("1. Introduction ........ 3", True),
        ("Introduction . . . . . . 12", True),
        ("ARTICLE I  DEFINITIONS      1", True),
        ("Preface\tiv", True),
        ("4.2 Fences    17", True),
        ("Annex A ….. A-3", True),
        ("Signatures ____ 9", True),
        ("Apples ..... 3.50", False),
        ("1990    1200", False),
        ("Sow at 5", False),
        ("Yield   Mean   12", False),
        ("Wheat | Barley    12", False),
        ("It was so... then 5 came.", False),
        ("", False),
    ],
)
def test_an_entry_ends_in_a_page_behind_dots_or_a_gap(line: str, expected: bool) -> None:
    assert is_contents_entry(line) is expected


@pytest.mark.parametrize(
    ("text", "runs"),
    [
        ("Table of Contents|1. Soil ... 3|2. Seed ... 5|1. Soil|Soil is dry.", [(0, 3)]),
        ("Contents|Page|1. Soil ... 3|PART TWO|2. A very long|title of seed ... 5|1. Soil", [(0, 6)]),
        ("INDEX|Soil .... 3|Seed .... 9|Text.", [(0, 3)]),
        ("INDEX|A text about wheat follows here.", []),
        ("Text.|1. Soil ..... 3|2. Seed ..... 3|3. Harvest .... 5|Text.", [(1, 4)]),
        ("1. Soil ..... 3|2. Seed ..... 4|Text.", []),
        ("Carrots ..... 3|Beans ..... 2|Peas .... 5", []),
        ("Wheat   3|Barley   5|Oats    9", []),
        ("Contents|Soil|Water|Seed|All about it.|Soil|It is dry.|Water|It is wet.|Seed|It is good.", [(0, 4)]),
        ("Contents|Soil|Water|It is dry and it is wet.|Soil|Dry.|Water|Wet.", []),
        ("Contents|The box holds a pump.|And a hose.", []),
        ("Contents|1. Terms  1.1 Scope  1.2 Meaning  2. Duties  2.1 Rent  3. End|Text here.", [(0, 2)]),
    ],
)
def test_a_table_of_contents_is_a_run_of_entries(text: str, runs: list[tuple[int, int]]) -> None:
    assert [(run.start, run.stop) for run in contents_runs(text.split("|"))] == runs


def test_long_tables_are_read_once() -> None:
    rows = ["Wheat ..... 9", "Barley ..... 3"] * 20_000

    assert contents_runs(rows) == []
    assert contents_runs(["Page", ""] * 20_000) == []
