"""Numbers are shown as a spreadsheet program shows them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.documents.formats.xlsx.number_formats import BUILT_IN, general, shown

DAY = 45_356.604_166_7  # 5 March 2024, half past two in the afternoon


@pytest.mark.parametrize(
    ("value", "code", "text"),
    [
        (1234.5, "#,##0.00", "1,234.50"),
        (1_234_567, "#,##0", "1,234,567"),
        (-1234.5, "#,##0.00_);(#,##0.00)", "(1,234.50)"),
        (2.5, "0", "3"),
        (-0.001, "0.0", "0.0"),
        (7, "000", "007"),
        (0.5, "#.##", ".5"),
        (0.085, "0.0%", "8.5%"),
        (5, '0.0" kg"', "5.0 kg"),
        (1_500_000, '0.0,,"M"', "1.5M"),
        (123_456_789, "000-00-0000", "123-45-6789"),
        (-3.5, "_-* #,##0.00\\ [$€-407]_-;-* #,##0.00\\ [$€-407]_-", "-3.50 €"),
        (0, '#,##0;-#,##0;"none"', "none"),
        (0.00012, "0.00E+00", "1.20E-04"),
        (5, '[<10]"low";"high"', "low"),
        (5, ";;;", ""),
        (5, "@", "5"),
        (5, 'General" ha"', "5 ha"),
        (0.25, "# ?/?", "0.25"),
        (DAY, BUILT_IN[14], "2024-03-05"),
        (DAY, BUILT_IN[22], "2024-03-05 14:30"),
        (DAY, "m/d/yyyy", "3/5/2024"),
        (DAY, "dddd, d mmmm yyyy", "Tuesday, 5 March 2024"),
        (DAY, "d-mmm-yy h:mm AM/PM", "5-Mar-24 2:30 PM"),
        (DAY, "[$-409]mmm d;@", "Mar 5"),
        (DAY, "[$-F800]dddd", "2024-03-05"),
        (1.5, "[h]:mm", "36:00"),
        (0.000_015_05, "mm:ss.0", "00:01.3"),
        (59, BUILT_IN[14], "1900-02-28"),
        (61, BUILT_IN[14], "1900-03-01"),
        (-1, BUILT_IN[14], "-1"),
        (1e9, "yyyy", "1000000000"),
    ],
)
def test_a_number_is_shown_by_its_format(value: float, code: str, text: str) -> None:
    assert shown(value, code, from_1904=False) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [(3, "3"), (0.1 + 0.2, "0.3"), (1 / 3, "0.333333333"), (12345.678, "12345.678"), (1e20, "1E+20"), (-2.5, "-2.5")],
)
def test_a_number_without_a_format_is_short(value: float, text: str) -> None:
    assert general(value) == text


@given(st.floats(), st.text('0#?.,%E+-/@;_*"\\[]$hmsdyGe ALPn<>=1', max_size=20))
def test_any_code_shows_something_short(value: float, code: str) -> None:
    assert len(shown(value, code, from_1904=False)) < 500
