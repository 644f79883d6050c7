"""The arguments of a call, checked against the tool's own schema."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import best_match

from quoth.errors import QuestionError
from quoth.interfaces.mcp.schemas import Schema

_LONGEST_COMPLAINT = 300


def checked(tool: str, given: Mapping[str, Any] | None, schema: Schema) -> dict[str, Any]:
    """The arguments that say something; `QuestionError` names the one that is wrong.

    Models give null for what they leave out, and 3.0 for 3.
    """
    said = {name: _whole(value) for name, value in (given or {}).items() if value is not None}
    wrong = best_match(Draft202012Validator(schema).iter_errors(said))
    if wrong is not None:
        where = ".".join(map(str, wrong.absolute_path)) or "the arguments"
        why = wrong.message if len(wrong.message) <= _LONGEST_COMPLAINT else f"{wrong.message[:_LONGEST_COMPLAINT]}…"
        names = ", ".join(schema["properties"])
        raise QuestionError(f"{tool}: {where}: {why}", hint=f"It takes {names}; see its input schema.")
    return said


def _whole(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The value with each whole number as one; no argument is a fraction."""
    match value:
        case float() if value.is_integer():
            return int(value)
        case list():
            return [_whole(one) for one in value]
        case dict():
            return {name: _whole(one) for name, one in value.items()}
        case _:
            return value
