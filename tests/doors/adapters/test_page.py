"""The examples of docs/adapters.md print what the page shows."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

import pytest

from quoth import Quoth

from .conftest import EXAMPLES

PAGE = EXAMPLES.parent / "docs" / "adapters.md"
_EXAMPLE = re.compile(r"^```python\n(?P<code>.*?)^```\n\n```text\n(?P<shown>.*?)^```$", re.MULTILINE | re.DOTALL)


def test_every_example_prints_what_the_page_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Quoth.build(EXAMPLES / "governance", index="rules", profile="governance")
    examples = list(_EXAMPLE.finditer(PAGE.read_text(encoding="utf-8")))

    assert len(examples) == 3
    for example in examples:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(example["code"], PAGE.name, "exec"), {})  # noqa: S102 - our own example
        assert printed.getvalue() == example["shown"]
