"""A slice of a document is found on its pages, line by line."""

from __future__ import annotations

import numpy as np

from quoth.documents.printed_boxes import printed
from quoth.types import Page, Span


def page(number: int, *runs: tuple[int, list[tuple[float, float]]]) -> Page:
    """A page whose characters, 5 points wide and 10 high, stand at the given places (left, top); None has no place."""
    spans = tuple(Span(start, start + len(places)) for start, places in runs)
    boxes = [[x, y, x + 5, y + 10] if (x, y) != (0, 0) else [0] * 4 for _, places in runs for x, y in places]
    return Page(number, 600, 800, spans, np.array(boxes, dtype=np.float32))


def line(left: float, top: float, length: int) -> list[tuple[float, float]]:
    return [(left + 5 * place, top) for place in range(length)]


TWO_LINES = [*line(50, 100, 10), (0, 0), *line(50, 115, 6)]


def test_one_rectangle_for_each_line() -> None:
    assert printed([page(1, (0, TWO_LINES))], Span(2, 15)) == ((1, (60, 100, 100, 110)), (1, (50, 115, 70, 125)))


def test_only_what_is_in_the_slice() -> None:
    assert printed([page(1, (0, TWO_LINES))], Span(3, 5)) == ((1, (65, 100, 75, 110)),)


def test_a_line_end_has_no_place() -> None:
    assert printed([page(1, (0, TWO_LINES))], Span(10, 11)) == ()


def test_a_slice_that_goes_on_over_the_page_is_on_both() -> None:
    pages = [page(1, (0, line(50, 700, 4)), (8, line(50, 780, 3))), page(2, (4, line(50, 40, 4)))]

    assert printed(pages, Span(2, 8)) == ((1, (60, 700, 70, 710)), (2, (50, 40, 70, 50)))


def test_two_columns_side_by_side_are_not_one_line() -> None:
    columns = [*line(50, 700, 4), *line(300, 60, 4)]

    assert printed([page(1, (0, columns))], Span(0, 8)) == ((1, (50, 700, 70, 710)), (1, (300, 60, 320, 70)))


def test_a_raised_mark_stays_in_its_line() -> None:
    raised = [*line(50, 100, 3), (65, 96), *line(70, 100, 2)]

    assert printed([page(1, (0, raised))], Span(0, 6)) == ((1, (50, 96, 80, 110)),)
