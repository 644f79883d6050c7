"""Units of measure: what each means in the base unit of its dimension."""

from __future__ import annotations

from typing import NamedTuple


class Unit(NamedTuple):
    """`value * factor + offset` is the value in the dimension's base unit."""

    dimension: str
    factor: float
    offset: float = 0.0


def _table() -> dict[str, Unit]:
    groups: dict[tuple[str, float], str] = {
        ("length", 0.001): "mm millimeter millimetre",
        ("length", 0.01): "cm centimeter centimetre",
        ("length", 1.0): "m meter metre",
        ("length", 1000.0): "km kilometer kilometre",
        ("length", 0.0254): 'in inch inches "',
        ("length", 0.3048): "ft foot feet",
        ("length", 0.9144): "yd yard",
        ("length", 1609.344): "mi mile",
        ("mass", 1e-6): "mg milligram",
        ("mass", 0.001): "g gram",
        ("mass", 1.0): "kg kilogram kilo",
        ("mass", 1000.0): "t tonne mt",
        ("mass", 907.18474): "ton",
        ("mass", 0.45359237): "lb pound",
        ("mass", 0.028349523): "oz ounce",
        ("mass", 45.359237): "cwt",
        ("area", 1.0): "m2 m² sqm",
        ("area", 10_000.0): "ha hectare",
        ("area", 4046.8564): "ac acre",
        ("area", 0.09290304): "ft2 ft² sqft",
        ("volume", 0.001): "ml mL millilitre milliliter",
        ("volume", 1.0): "l L litre liter",
        ("volume", 3.785411784): "gal gallon",
        ("volume", 0.946352946): "qt quart",
        ("volume", 0.473176473): "pt pint",
        ("volume", 1000.0): "m3 m³",
        ("bushel", 1.0): "bu bushel",
        ("time", 1.0): "s sec second",
        ("time", 60.0): "min minute",
        ("time", 3600.0): "h hr hour",
        ("time", 86_400.0): "d day",
        ("time", 604_800.0): "wk week",
        ("month", 1.0): "month mo",
        ("month", 12.0): "yr year",
        ("share", 1.0): "% percent per-cent pct",
        ("pressure", 1.0): "kPa kpa kilopascal",
        ("pressure", 6.894757): "psi",
        ("pressure", 100.0): "bar",
        ("ppm", 1.0): "ppm",
        ("power", 1.0): "kW kw kilowatt",
        ("power", 0.745699872): "hp horsepower",
        ("energy", 1.0): "kWh kwh",
        ("dollar", 1.0): "$ dollar usd USD",
        ("euro", 1.0): "€ euro eur EUR",
        ("sterling", 1.0): "£ gbp GBP",
        ("ph", 1.0): "pH ph",
    }
    table = {name: Unit(dimension, factor) for (dimension, factor), names in groups.items() for name in names.split()}
    celsius, fahrenheit = Unit("temperature", 1.0), Unit("temperature", 5 / 9, -160 / 9)
    table |= dict.fromkeys(("°C", "ºC", "℃", "celsius"), celsius)
    table |= dict.fromkeys(("°F", "ºF", "℉", "fahrenheit"), fahrenheit)
    return table


UNITS = _table()
PREFIX_UNITS = ("$", "€", "£", "pH")
"""Units that stand before their number."""
