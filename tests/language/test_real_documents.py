"""The independent checker finds nothing wrong in real documents, and finds every mistake it is shown."""

from __future__ import annotations

from pathlib import Path

import pytest

import check_boundaries

ROOT = Path(__file__).parents[2]
EVAL_SETS = ("agriculture", "contracts", "encyclopedia", "irrigation", "nda")


@pytest.mark.parametrize("folder", [*(f"../shared/eval/{name}/docs" for name in EVAL_SETS), "examples"])
def test_no_boundary_of_a_real_document_is_wrong(folder: str) -> None:
    paths = check_boundaries.documents([ROOT / folder])
    if not paths:
        pytest.skip(f"no documents in {folder}")

    found = {path.name: violations for path in paths if (violations := check_boundaries.check_file(path))}

    assert found == {}


MARK = "⟂"


@pytest.mark.parametrize(
    ("rule", "marked"),
    [
        ("inside a number", "Sow at 2.⟂5 cm."),
        ("inside a range", "Keep 6.0-⟂7.0 in soil."),
        ("inside a range", "Wait 5 –⟂ 10 days."),
        ("inside a percent", "It holds 3.2⟂ % of it."),
        ("inside a date", "It began on Jan.⟂ 5, 2021."),
        ("inside a date", "Am 5.⟂ May 2021 we sow."),
        ("inside a url", "See https://a.⟂example/x for it."),
        ("inside a e-mail", "Write to j.⟂doe@example.com now."),
        ("inside a dotted name", "The U.⟂S. market."),
        ("inside a dotted name", "Open README.⟂md now."),
        ("inside a ellipsis", "Wait.⟂.. and see."),
        ("inside a code span", "Run `a.⟂ B` now."),
        ("inside a link", "See [a.⟂ B](c.md)."),
        ("inside a reference", "See Fig.⟂ 3 there."),
        ("inside a parenthesis", "It fell (see it.⟂ It is clear) again."),
        ("inside a quotation", "“It is dry.⟂ We wait,” he said."),
        ("inside a token", "The wo⟂rd is cut."),
        ("after an abbreviation", "Use legumes, e.g.⟂ Clover."),
        ("after an abbreviation", "We met Dr.⟂ Smith."),
        ("after initials", "It is by J. R.⟂ Smith."),
        ("number from unit", "Sow at 5⟂ cm."),
        ("goes on in lower case", "The soil is⟂\ndry today."),
        ("closing punctuation first", "It is dry⟂ , he said."),
        ("no terminator", "The soil⟂ Is dry."),
        ("enumerator alone", "1.⟂ Plant it."),
    ],
)
def test_the_checker_catches_a_bad_boundary(rule: str, marked: str) -> None:
    text = marked.replace(MARK, "")
    cut = marked.index(MARK)
    start = cut + len(text[cut:]) - len(text[cut:].lstrip())

    found = check_boundaries.check(text, [(0, cut), (start, len(text))], [])

    assert rule in {violation.rule for violation in found}
    assert not [v for v in check_boundaries.check(text, [(0, len(text))], []) if v.rule != "uncovered"]


@pytest.mark.parametrize(
    ("rule", "spans", "skipped"),
    [
        ("uncovered", [(0, 3)], []),
        ("uncovered", [(4, 9)], []),
        ("covered twice", [(0, 4), (3, 9)], []),
        ("covered twice", [(0, 9)], [(0, 2)]),
        ("not trimmed", [(0, 5), (5, 9)], []),
        ("out of order", [(5, 9), (0, 4)], []),
    ],
)
def test_the_checker_catches_bad_coverage(
    rule: str, spans: list[tuple[int, int]], skipped: list[tuple[int, int]]
) -> None:
    assert rule in {violation.rule for violation in check_boundaries.check("One. Two.", spans, skipped)}


def test_the_checker_accepts_what_is_right() -> None:
    assert check_boundaries.check("One. Two. # x", [(0, 4), (5, 9)], [(10, 13)]) == []
