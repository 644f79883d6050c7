"""The splitter finds the sentences that a careful reader would."""

from __future__ import annotations

import subprocess
import sys
import time

import pytest

from quoth.documents.sentences import HARD_LIMIT, SOFT_LIMIT, sentence_spans, split
from quoth.types import Region, RegionKind, Span

from .cases import MARKDOWN, PLAIN, PROSE, Case


def quotes(text: str, *, form: str) -> list[str]:
    return [text[span.start : span.end] for _, spans in split(text, format=form) for span in spans]


@pytest.mark.parametrize("case", PLAIN, ids=lambda case: case.name)
def test_plain_text(case: Case) -> None:
    assert quotes(case.text, form="text") == case.sentences


@pytest.mark.parametrize("case", MARKDOWN, ids=lambda case: case.name)
def test_markdown(case: Case) -> None:
    assert quotes(case.text, form="markdown") == case.sentences


@pytest.mark.parametrize("case", PROSE, ids=lambda case: case.name)
def test_prose_is_split_alike_as_plain_text(case: Case) -> None:
    assert quotes(case.text, form="text") == case.sentences


@pytest.mark.parametrize(
    "case",
    # A line that opens with a number is a list in Markdown, and its mark is not text there.
    [case for case in PROSE if not case.name.endswith("opens") or case.name == "pH opens"],
    ids=lambda case: case.name,
)
def test_prose_is_split_alike_as_markdown(case: Case) -> None:
    assert quotes(case.text, form="markdown") == case.sentences


def test_there_are_enough_cases_and_no_two_share_a_name() -> None:
    cases = [*PROSE, *PLAIN, *MARKDOWN]

    assert len(cases) >= 150
    assert all(len({case.name for case in part}) == len(part) for part in (PROSE, PLAIN, MARKDOWN))


def test_a_skipped_region_has_no_sentences() -> None:
    region = Region(Span(0, 8), RegionKind.MARKUP, section=(), lead=None)

    assert sentence_spans("A b. C d.", region) == ()


def test_an_overlong_sentence_is_cut_at_a_line_break() -> None:
    line = "the parties agree that the word of the day is kept " * 20
    text = "\n".join(line.strip() for _ in range(4))

    found = quotes(text, form="text")

    assert len(found) > 1
    assert all(len(quote) <= SOFT_LIMIT for quote in found)
    assert all(quote.startswith("the parties") for quote in found)


def test_a_text_without_lines_or_ends_is_cut_between_words_and_never_at_a_number() -> None:
    text = "apply 2.5 cm of water on May 5 and wait " * 50_000

    found = quotes(text, form="text")

    assert max(map(len, found)) <= HARD_LIMIT
    assert all(not quote[-1].isdigit() and not quote[0].isdigit() for quote in found)
    assert "".join(found).replace(" ", "") == text.replace(" ", "")


@pytest.mark.parametrize("form", ["markdown", "text"])
@pytest.mark.parametrize(
    "unit",
    [
        ".",
        ". ",
        " ",
        "\n",
        "\n  ",
        "(",
        "“",
        '"',
        "`a ",
        "[a](",
        "| ",
        "<div ",
        "_",
        "1. ",
        "•  ",
        "<br>",
        "A  \n",
        "<p>a<br>",
    ],
)
def test_the_time_grows_with_the_length_and_no_faster(unit: str, form: str) -> None:
    text = f"It began. {unit * 20_000} It ended.\nYes."
    started = time.process_time()

    split(text, format=form)

    assert time.process_time() - started < 5  # quadratic would be minutes


def test_a_word_without_end_is_kept_whole() -> None:
    text = "x" * 1_000_000

    assert quotes(text, form="text") == [text]


def test_importing_the_splitter_does_not_load_the_model() -> None:
    code = "import sys, quoth.documents.sentences; sys.exit('nupunkt' in sys.modules)"

    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
