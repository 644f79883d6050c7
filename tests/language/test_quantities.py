"""Quantities: numbers and ranges with their units, the same in whatever unit they are written."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.language.quantities import UNITS, quantities, same_quantity
from quoth.types import Quantity


def found(text: str) -> list[str]:
    return [text[one.span.start : one.span.end] for one in quantities(text)]


def only(text: str) -> Quantity:
    (one,) = quantities(text)
    return one


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Sow at 2.5 cm or so", ["2.5 cm"]),
        ("Sow at 5cm deep", ["5cm"]),
        ("a 6-inch layer", ["6-inch"]),
        ("Leave 20-30 cm, then 1 to 2 m", ["20-30 cm", "1 to 2 m"]),
        ("between 10 and 15 days", ["10 and 15 days"]),
        ("10–12 °C", ["10–12 °C"]),
        ("pH 6.0-7.0 is best", ["pH 6.0-7.0"]),
        ("a pH of 6.5", ["pH of 6.5"]),
        ("It costs $1,250.50 today", ["$1,250.50"]),
        ("95% of them", ["95%"]),
        ("2,500 kg/ha", ["2,500 kg/ha"]),
        ("150 lb N/acre", ["150 lb N/acre"]),
        ("20 kg of P2O5 per ha", ["20 kg of P2O5 per ha"]),
        ('a 6" pipe', ['6"']),
        ("68 degrees Fahrenheit", ["68 degrees Fahrenheit"]),
        ("1/2 inch", ["1/2 inch"]),
        ("1 1/2 inches", ["1 1/2 inches"]),
        ("2½ inches", ["2½ inches"]),
        ("1/4 to 1/2 inch", ["1/4 to 1/2 inch"]),
        ("It fell to -5 °C at night", ["-5 °C"]),
        ("from -10 to -5 °C", ["-10 to -5 °C"]),
        ("3 in. of soil", ["3 in."]),
        ("6 to\n8 weeks", ["6 to\n8 weeks"]),
    ],
)
def test_a_number_with_its_unit_is_one_quantity(text: str, expected: list[str]) -> None:
    assert found(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "3 in Ohio",
        "There were 12 in all",
        "in 2019",
        "Section 7.3",
        "five feet",
        "2 mortgages",
        "version 2.5",
        "10 agreements",
        "A4 paper",
        "24/7",
        "",
    ],
)
def test_a_number_without_a_unit_is_no_quantity(text: str) -> None:
    assert found(text) == []


@pytest.mark.parametrize("text", ["3 in", "3 in.", "3 in, then", "(3 in)"])
def test_in_is_an_inch_where_no_word_follows(text: str) -> None:
    assert only(text).low == pytest.approx(3 * 0.0254)


def test_a_list_item_makes_no_range_with_the_line_before() -> None:
    assert found("- Rows: 10\n- 5 cm apart") == ["5 cm"]


def test_a_number_is_never_begun_in_its_middle() -> None:
    assert found("1.2.5 cm") == []
    assert found("2,5 cm") == []


def test_a_range_has_two_ends_in_the_base_unit() -> None:
    one = only("20-30 cm")

    assert one.dimension == "length"
    assert [one.low, one.high] == pytest.approx([0.2, 0.3])


def test_the_ends_of_a_range_are_in_order() -> None:
    one = only("30 to 20 cm")

    assert one.low < one.high


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("1 in", "2.54 cm"),
        ("1 in", "2.5 cm"),
        ("12 inches", "1 foot"),
        ("6 feet", "1.83 m"),
        ("5 cm", "50 mm"),
        ("50 °F", "10 °C"),
        ("32 °F", "0 °C"),
        ("14 °F", "-10 °C"),
        ("68 degrees F", "20 °C"),
        ("20 degrees Celsius", "20°C"),
        ("100 lb/acre", "112 kg/ha"),
        ("150 lb N/acre", "168 kg/ha"),
        ("1 acre", "0.405 ha"),
        ("2 weeks", "14 days"),
        ("24 hours", "1 day"),
        ("1 year", "12 months"),
        ("1,000 kg", "1 t"),
        ("5 percent", "5%"),
        ("within forty-five (45) days", "45 days"),
        ("$5", "5 dollars"),
        ("1/2 inch", "0.5 in"),
        ("1 1/2 inches", "1.5 inches"),
        ("2½ inches", "2.5 inches"),
        ("20-30 cm", "30 cm"),
        ("20-30 cm", "8 in"),
    ],
)
def test_equal_amounts_are_the_same_in_any_unit(one: str, other: str) -> None:
    assert same_quantity(only(one), only(other))
    assert same_quantity(only(other), only(one))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("5 cm", "2.5 cm"),
        ("5 cm", "5 m"),
        ("5 kg", "5 cm"),
        ("5 °C", "5 °F"),
        ("5 °C", "-5 °C"),
        ("5 kg", "5 kg/ha"),
        ("5 lb/acre", "5 kg/ha"),
        ("20-30 cm", "25 cm"),
        ("1/2 inch", "2 inches"),
        ("30 days", "1 month"),
        ("$5", "€5"),
        ("pH 6", "6 m"),
    ],
)
def test_other_amounts_are_not(one: str, other: str) -> None:
    assert not same_quantity(only(one), only(other))


@pytest.mark.parametrize("text", ["in the 1980s", "the 1600s and 1700s"])
def test_a_decade_is_no_number_of_seconds(text: str) -> None:
    assert quantities(text) == ()


NUMBERS = st.sampled_from(["5", "2.5", "1,250", "6.0-7.0", "1/2", "-3", "½", "10 to 12", "٣"])
PIECES = st.one_of(NUMBERS, st.sampled_from([*UNITS, " ", "\n", ".", ",", "/", "-", "per", "in Ohio", "é", "$"]))
TEXTS = st.lists(PIECES, max_size=12).map("".join) | st.text(max_size=60)


@given(text=TEXTS)
def test_spans_lie_in_the_text_in_order_and_hold_a_number(text: str) -> None:
    spans = [one.span for one in quantities(text)]

    assert spans == sorted(spans)
    assert all(span.end <= len(text) for span in spans)
    assert all(any(letter.isnumeric() for letter in text[span.start : span.end]) for span in spans)


@given(text=TEXTS)
def test_every_quantity_is_the_same_as_itself(text: str) -> None:
    assert all(one.low <= one.high and same_quantity(one, one) for one in quantities(text))
