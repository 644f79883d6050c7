"""Lines of JSON. Not `splitlines`, which also splits at separators inside a text."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def read(path: Path) -> list[dict[str, Any]]:
    with path.open(encoding="utf-8", newline="\n") as file:
        return [json.loads(line) for line in file]
