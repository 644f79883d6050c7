"""Number formats: shows the number in a cell as a spreadsheet program does, `45356` as `3/5/2024` or `0.08` as `8%`.

Names of months and days are English. Formats that follow the reader's own region (the usual short date) have no one
form: they are written as ISO 8601 dates. A fraction (`# ?/?`) is written as a decimal number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation, localcontext
from functools import lru_cache
from math import isfinite

_ISO, _ISO_TIME = "yyyy\\-mm\\-dd", "yyyy\\-mm\\-dd\\ hh:mm"
BUILT_IN = {
    **{0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%", 11: "0.00E+00"},
    **{5: "$#,##0", 6: "$#,##0", 7: "$#,##0.00", 8: "$#,##0.00", 12: "# ?/?", 13: "# ??/??"},
    **{14: _ISO, 15: "d-mmm-yy", 16: "d-mmm", 17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM"},
    **{20: "h:mm", 21: "h:mm:ss", 22: _ISO_TIME, 37: "#,##0;(#,##0)", 38: "#,##0;(#,##0)"},
    **{39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)", 41: "#,##0", 42: "$#,##0", 43: "#,##0.00"},
    **{44: "$#,##0.00", 45: "mm:ss", 46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@"},
    **dict.fromkeys((*range(27, 32), 36, *range(50, 55), 57, 58), _ISO),
    **dict.fromkeys((*range(32, 36), 55, 56), "h:mm:ss"),
}
"""The codes of the formats that a file names by number alone."""

_LONGEST_CODE = 255  # code points: what spreadsheet programs allow
_MOST_DECIMALS = 30
_LARGEST = 1e100
_LAST_DAY = 2_958_465  # 9999-12-31
_MONTHS = "January February March April May June July August September October November December".split()
_DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday Sunday".split()
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_.|\*.|\[\$(?P<currency>[^\]-]*)(?:-(?P<locale>[^\]]*))?\]'
    r"|\[(?P<elapsed>h+|m+|s+)\]|\[(?P<bracket>[^\]]*)\]|(?P<general>general)|(?P<half>am/pm|a/p)"
    r"|(?P<date>y+|m+|d+|h+|s+(?:\.0+)?)|(?P<exponent>e[+-])|(?P<digit>[0#?])|(?P<sign>[.,%/@;])|(?P<literal>.)",
    re.IGNORECASE | re.DOTALL,
)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)")
_SYSTEM_DATES = {"f800": _ISO, "f400": "h:mm:ss"}


@dataclass(frozen=True, slots=True)
class _Token:
    kind: str
    text: str


def shown(value: float, code: str, *, from_1904: bool) -> str:
    """Return a number as its format code shows it; the empty string where the code hides it."""
    if code == "General" or not abs(value) <= _LARGEST or len(code) > _LONGEST_CODE:
        return general(value)
    sections = _sections(code)
    section, signed = _section_for(value, sections)
    kinds = {token.kind for token in section}
    if kinds & {"date", "elapsed"}:
        return _date(value, section, from_1904=from_1904) or general(value)
    number = value if signed else abs(value)
    if "general" in kinds or any(token == _Token("sign", "@") for token in section):
        return _around(section, general(number))
    if any(token == _Token("sign", "/") for token in section):
        return general(value)
    return _number(number, section) if "digit" in kinds else _around(section, "")


def general(value: float) -> str:
    """Return a number without a format: whole numbers whole, others with about eleven digits."""
    if not isfinite(value):
        return str(value)
    if value == int(value) and abs(value) < 1e15:
        return str(int(value))
    if not 1e-9 <= abs(value) < 1e11:
        return f"{value:.6G}"
    decimals = max(0, 10 - len(str(int(abs(value)))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


@lru_cache(maxsize=1_024)
def _sections(code: str) -> tuple[tuple[_Token, ...], ...]:
    """Return the parts of a code between semicolons: for positive and negative numbers, zero, and text."""
    sections: list[list[_Token]] = [[]]
    for found in _TOKEN.finditer(code):
        kind, text = found.lastgroup or "", found[0]
        if kind == "sign" and text == ";":
            sections.append([])
        elif kind in {"quoted", "escaped", "currency", "locale"}:
            system = _SYSTEM_DATES.get((found["locale"] or "").lower().removeprefix("-")) if kind == "locale" else None
            if system:
                return _sections(system)
            literal = found["currency"] if kind in {"currency", "locale"} else found[kind]
            sections[-1].append(_Token("literal", literal or ""))
        elif kind == "bracket":
            if _CONDITION.fullmatch(found["bracket"]):
                sections[-1].append(_Token("condition", found["bracket"]))
        elif kind == "elapsed":
            sections[-1].append(_Token(kind, found["elapsed"].lower()))
        elif kind:
            sections[-1].append(_Token(kind, text.lower() if kind in {"date", "half"} else text))
        elif text[0] == "_":
            sections[-1].append(_Token("literal", " "))
    return tuple(map(tuple, sections[:4]))


def _section_for(value: float, sections: Sequence[tuple[_Token, ...]]) -> tuple[tuple[_Token, ...], bool]:
    """Return the section for a number, and whether the sign of the number is still to be written."""
    numeric = sections[:3]
    conditions = [next((token.text for token in section if token.kind == "condition"), None) for section in numeric]
    if any(conditions):
        for section, condition in zip(numeric, conditions, strict=True):
            if condition is None or _holds(value, condition):
                return section, True
        return numeric[-1], True
    if value < 0 and len(numeric) > 1:
        return numeric[1], False
    if value == 0 and len(numeric) > 2:
        return numeric[2], True
    return numeric[0], True


def _holds(value: float, condition: str) -> bool:
    found = _CONDITION.fullmatch(condition)
    if found is None:
        return False
    limit = float(found[2])
    return {
        "<": value < limit,
        "<=": value <= limit,
        ">": value > limit,
        ">=": value >= limit,
        "=": value == limit,
        "<>": value != limit,
    }[found[1]]


def _around(section: Sequence[_Token], number: str) -> str:
    texts = [number if token.kind == "general" or token.text == "@" else _literal(token) for token in section]
    return "".join(texts).strip()


def _literal(token: _Token) -> str:
    return token.text if token.kind in {"literal", "date", "half"} or token.text in {",", "%", "."} else ""


def _number(value: float, section: Sequence[_Token]) -> str:
    """Fill the digits of a number into the places of a format."""
    places = [at for at, token in enumerate(section) if token.kind == "digit"]
    exponent = next((at for at, token in enumerate(section) if token.kind == "exponent"), len(section))
    point = next((at for at, token in enumerate(section) if token == _Token("sign", ".")), exponent)
    last = max((at for at in places if at < exponent), default=places[-1])
    percents = sum(1 for token in section if token == _Token("sign", "%"))
    commas = [at for at, token in enumerate(section) if token == _Token("sign", ",")]
    grouped = any(places[0] < at < min(point, last) for at in commas)
    scale = sum(1 for at in commas if at > last and all(section[each].text == "," for each in range(last + 1, at)))
    decimals = [section[at].text for at in places if point < at < exponent][:_MOST_DECIMALS]
    try:
        with localcontext() as context:
            context.prec = 200
            number = abs(Decimal(repr(value))).scaleb(2 * percents - 3 * scale)
            power = 0
            if exponent < len(section):
                power = number.adjusted() if number else 0
                number = number.scaleb(-power)
            number = number.quantize(Decimal(1).scaleb(-len(decimals)), ROUND_HALF_UP)
    except InvalidOperation:
        return general(value)
    whole, _, fraction = f"{number:f}".partition(".")
    while fraction and decimals and fraction[-1] == "0" and decimals[-1] != "0":
        fraction, decimals = fraction[:-1], decimals[:-1]
    integer = [at for at in places if at < min(point, exponent)]
    left = _filled_from_right(section[: min(point, exponent)], whole if whole != "0" else "", integer, grouped=grouped)
    right = f".{fraction}" if fraction else ""
    tail = "".join(_literal(token) for token in section[last + 1 : exponent] if token.text not in {",", "."})
    if exponent < len(section):
        sign = "-" if power < 0 else "+" if "+" in section[exponent].text else ""
        width = sum(1 for at in places if at > exponent)
        tail = f"E{sign}{abs(power):0{width}d}{tail}"
    minus = "-" if value < 0 and (number or power) else ""
    return f"{minus}{left}{right}{tail}".strip()


def _filled_from_right(section: Sequence[_Token], digits: str, places: Sequence[int], *, grouped: bool) -> str:
    """Return the part before the point: each place takes a digit from the right, the first place all that are left."""
    written: list[str] = []
    count = 0

    def write(digit: str) -> None:
        nonlocal count
        if grouped and count and count % 3 == 0:
            written.append(",")
        written.append(digit)
        count += 1

    upto = section[: places[-1] + 1] if places else section
    for at, token in reversed(list(enumerate(upto))):
        if token.kind == "digit":
            if digits:
                write(digits[-1])
                digits = digits[:-1]
            elif token.text == "0":
                write("0")
            if at == places[0]:
                for digit in reversed(digits):
                    write(digit)
        elif token.text != "," or token.kind == "literal":
            written.append(_literal(token))
    return "".join(reversed(written))


def _date(value: float, section: Sequence[_Token], *, from_1904: bool) -> str | None:
    """Return a date or a time; None for a number that is none."""
    tokens = _with_minutes(section)
    fraction = max((len(token.text.partition(".")[2]) for token in tokens if token.kind == "s"), default=0)
    unit = 10**fraction
    ticks = round(abs(value) * 86_400 * unit) if any(token.kind == "elapsed" for token in tokens) else None
    if ticks is not None:
        return ("-" if value < 0 else "") + "".join(_elapsed(token, ticks, unit) for token in tokens).strip()
    moment = _moment(value, unit, from_1904=from_1904)
    if moment is None:
        return None
    halves = any(token.kind == "half" for token in tokens)
    return "".join(_date_part(token, moment, halves=halves) for token in tokens).strip()


def _moment(value: float, unit: int, *, from_1904: bool) -> datetime | None:
    """Return the moment of a serial number, rounded to a second or a part of it; None outside the calendar."""
    if not 0 <= value < _LAST_DAY + 1:
        return None
    # Day 60 of the calendar that begins in 1900 is a 29 February that never was.
    epoch = datetime(1904, 1, 1) if from_1904 else datetime(1899, 12, 31 if value < 60 else 30)
    days = int(value)
    ticks = round((value - days) * 86_400 * unit)
    try:
        return epoch + timedelta(days=days, microseconds=ticks * (1_000_000 // min(unit, 1_000_000)))
    except OverflowError:
        return None


def _with_minutes(section: Sequence[_Token]) -> list[_Token]:
    """Return the tokens by their letter; an `m` after hours or before seconds means minutes, and is called `n`."""
    tokens = [_Token(token.text[0], token.text) if token.kind == "date" else token for token in section]
    timed = [at for at, token in enumerate(tokens) if token.kind in {"y", "m", "d", "h", "s", "elapsed"}]
    for place, at in enumerate(timed):
        before = tokens[timed[place - 1]] if place else None
        after = tokens[timed[place + 1]] if place + 1 < len(timed) else None
        hours = before is not None and (before.kind == "h" or (before.kind == "elapsed" and before.text[0] == "h"))
        if tokens[at].kind == "m" and len(tokens[at].text) < 3 and (hours or (after is not None and after.kind == "s")):
            tokens[at] = _Token("n", tokens[at].text)
    return tokens


def _elapsed(token: _Token, ticks: int, unit: int) -> str:
    seconds = ticks // unit
    amounts = {"h": seconds // 3_600, "n": seconds // 60 % 60, "m": seconds // 60 % 60, "s": seconds % 60}
    if token.kind == "elapsed":
        whole = {"h": seconds // 3_600, "m": seconds // 60, "s": seconds}[token.text[0]]
        return f"{whole:0{len(token.text)}d}"
    if token.kind in amounts:
        letters, _, parts = token.text.partition(".")
        fraction = f".{ticks % unit:0{len(parts)}d}" if parts else ""
        return f"{amounts[token.kind]:0{min(2, len(letters))}d}{fraction}"
    return _punctuation(token)


def _date_part(token: _Token, moment: datetime, *, halves: bool) -> str:
    letters, _, parts = token.text.partition(".")
    width = min(2, len(letters))
    month, day = _MONTHS[moment.month - 1], _DAYS[moment.weekday()]
    hour = (moment.hour % 12 or 12) if halves else moment.hour
    match token.kind:
        case "y":
            text = f"{moment.year % 100:02d}" if len(letters) < 3 else f"{moment.year:04d}"
        case "m":
            text = {3: month[:3], 4: month, 5: month[0]}.get(len(letters), f"{moment.month:0{width}d}")
        case "d":
            text = {3: day[:3], 4: day}.get(len(letters), f"{moment.day:0{width}d}")
        case "h":
            text = f"{hour:0{width}d}"
        case "n":
            text = f"{moment.minute:0{width}d}"
        case "s":
            text = f"{moment.second:0{width}d}" + (f".{moment.microsecond:06d}"[: 1 + len(parts)] if parts else "")
        case "half":
            text = ("AM" if moment.hour < 12 else "PM")[: 2 if "m" in token.text else 1]
        case _:
            text = _punctuation(token)
    return text


def _punctuation(token: _Token) -> str:
    return token.text if token.kind == "literal" or token.text in {"/", ",", "."} else ""
