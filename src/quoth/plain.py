"""Frozen values as plain JSON and back, by the types of their fields: what comes back is equal to what went."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from enum import StrEnum
from functools import lru_cache
from types import NoneType, UnionType
from typing import Any, TypeVar, Union, get_args, get_origin, get_type_hints

_Value = TypeVar("_Value")


def to_plain(value: object) -> Any:  # noqa: ANN401 - JSON holds anything
    """`value` as lists, objects, texts and numbers."""
    if is_dataclass(value) and not isinstance(value, type):
        return [to_plain(getattr(value, one.name)) for one in fields(value)]
    if isinstance(value, StrEnum):
        return value.value
    if isinstance(value, tuple | list):
        return [to_plain(one) for one in value]
    if isinstance(value, Mapping):
        return {str(key): to_plain(one) for key, one in value.items()}
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if value is None or isinstance(value, str | int | float):
        return value
    raise TypeError(f"{type(value).__name__} has no plain form")


def from_plain(wanted: type[_Value], plain: object) -> _Value:
    """A `wanted` from what `to_plain` made of one; ValueError, TypeError or KeyError for anything else."""
    found: _Value = _read(wanted, plain)
    return found


def _read(wanted: Any, plain: Any) -> Any:  # noqa: ANN401 - a type hint is any object
    origin = get_origin(wanted)
    if origin in {Union, UnionType}:
        inner = next(one for one in get_args(wanted) if one is not NoneType)
        return None if plain is None else _read(inner, plain)
    if origin is tuple:
        return _tuple(get_args(wanted), plain)
    if origin is not None:
        return {key: _read(get_args(wanted)[1], one) for key, one in plain.items()}
    return _leaf(wanted, plain) if not is_dataclass(wanted) else _dataclass(wanted, plain)


def _dataclass(wanted: Any, plain: Any) -> Any:  # noqa: ANN401
    hints = _hints(wanted)
    return wanted(**{name: _read(hint, one) for (name, hint), one in zip(hints.items(), plain, strict=True)})


def _leaf(wanted: Any, plain: Any) -> Any:  # noqa: ANN401
    if issubclass(wanted, StrEnum):
        return wanted(plain)
    if wanted is bytes:
        return base64.b64decode(plain, validate=True)
    if not isinstance(plain, wanted) or (isinstance(plain, bool) and wanted is not bool):
        raise TypeError(f"{plain!r} is no {wanted.__name__}")
    return plain


def _tuple(hints: tuple[Any, ...], plain: Any) -> tuple[Any, ...]:  # noqa: ANN401
    if not isinstance(plain, list):
        raise TypeError(f"{plain!r} is no list")
    if len(hints) == 2 and hints[1] is Ellipsis:
        return tuple(_read(hints[0], one) for one in plain)
    return tuple(_read(hint, one) for hint, one in zip(hints, plain, strict=True))


@lru_cache(maxsize=64)
def _hints(wanted: Any) -> dict[str, Any]:  # noqa: ANN401
    """The fields of a dataclass in their order, with their types."""
    hints = get_type_hints(wanted)
    return {one.name: hints[one.name] for one in fields(wanted)}
