"""`make compare` measures over its real protocol, keeps the rows of tools that fail, and writes a page."""

from __future__ import annotations

import argparse
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
BENCH = ROOT / "bench"
GUIDE = "Canola guide\n\nSow canola 2 cm deep.\nRoll the field after e.g. rain.\n- harvested dry\n"


@pytest.fixture(autouse=True)
def bench(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the tests import the benchmark, and forget it afterwards: other scripts have files of the same names."""
    monkeypatch.syspath_prepend(str(BENCH))
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith(f"{BENCH}/"):
            del sys.modules[name]


def a_set(root: Path, *questions: str) -> Path:
    """Write a set of one document, whose third line answers every question but the last."""
    (root / "farm" / "docs").mkdir(parents=True)
    (root / "farm" / "docs" / "guide.md").write_bytes(GUIDE.encode())
    start = GUIDE.index("Sow")
    gold = [{"doc_id": "guide.md", "start": start, "end": start + 3, "text": "Sow"}]
    rows = [{"id": text, "question": text, "answerable": True, "gold": gold} for text in questions]
    rows[-1] |= {"answerable": False, "gold": []}
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (root / "farm" / "questions.jsonl").write_text(lines, encoding="utf-8")
    return root / "farm"


def measured(tmp_path: Path, *questions: str) -> dict[str, Any]:
    """Measure the fake tool as `make compare` measures any other."""
    import compare
    from comparison.sessions import Started

    options = argparse.Namespace(limit=len(questions), quick=False)
    farm = compare.question_set(a_set(tmp_path / "eval", *questions), tmp_path / "docs", options)
    fake = Path(__file__).parent / "fake_peer.py"
    started = Started(Path(sys.executable), fake, tmp_path / "index", tmp_path / "models", tmp_path)
    figures = compare.measure({"fake": started}, farm, cold=1)["fake"]
    tools = {"fake": {"title": "Fake", "reason": "It is a test.", "lines": 9, "installed": 10**6}}
    tools["fake"] |= {"failed": figures["failed"]} if "failed" in figures else {"sets": {"farm": figures}}
    machine = {"cores": 2, "python": "3.11", "load": 0.5, "others_cores": 0.1}
    return {"machine": machine, "sets": {"farm": compare.described(farm)}, "tools": tools}


def test_a_tool_is_measured_over_the_protocol(tmp_path: Path) -> None:
    figures = measured(tmp_path, "sow deep?", "canola wrong?", "harvest?")["tools"]["fake"]["sets"]["farm"]

    assert figures["units"] == 5
    assert (figures["hit@1"], figures["hit"]) == (0.5, 1.0)  # "canola" finds the title first
    assert (figures["answered"], figures["false"]) == (1.0, 0.0)
    assert figures["exact"] == pytest.approx(1 / 3)  # the two texts that claim a wrong place
    assert (figures["claimed"], figures["found"], figures["whole"]) == (1.0, 1.0, 1.0)
    assert figures["auroc"] == 1.0
    assert 0 < figures["p50"] <= figures["p95"] < figures["first"]
    assert min(figures["memory"], figures["disk"], figures["bytes_per_second"]) > 0


def test_a_tool_that_fails_keeps_its_row_with_the_reason(tmp_path: Path) -> None:
    from comparison.page import page

    results = measured(tmp_path, "sow deep?", "crash now?", "harvest?")

    assert results["tools"]["fake"]["failed"] == "ValueError: the fake tool was told to fail"
    assert "| Fake | not run: ValueError: the fake tool was told to fail |" in page(results, None)


def test_the_page_tells_what_changed_since_the_run_before(tmp_path: Path) -> None:
    from comparison.page import write_page

    results = measured(tmp_path, "sow deep?", "harvest?")
    write_page(results, tmp_path / "out")
    assert "This is the first run." in (tmp_path / "out" / "compare.md").read_text(encoding="utf-8")
    results["tools"]["fake"]["sets"]["farm"]["hit@1"] = 0.25
    results["machine"]["others_cores"] = 1.5
    write_page(results, tmp_path / "out")

    text = (tmp_path / "out" / "compare.md").read_text(encoding="utf-8")
    assert "- Fake on farm, hit@1: 1.00 before, 0.25 now." in text
    assert "The machine was not free" in text
    for name in ("compare-farm", "compare-speed"):
        drawing = (tmp_path / "out" / "images" / f"{name}.svg").read_text(encoding="utf-8")
        assert ElementTree.fromstring(drawing).tag.endswith("svg")  # noqa: S314 - written just now
        assert "prefers-color-scheme: dark" in drawing


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("Sow canola 2 cm deep.", True),
        ("canola 2 cm deep.", False),
        ("Sow canola 2", False),
        ("Roll the field after e.g. rain.", True),
        ("Roll the field after e.g.", False),
        ("rain.", False),
        ("Canola guide", True),
        ("harvested dry", True),
        ("dry", False),
        ("2 cm deep.\nRoll the field after e.g. rain.\n", False),
    ],
)
def test_whole_sentences_are_told_from_fragments(text: str, whole: bool) -> None:
    from comparison.figures import is_whole

    start = GUIDE.index(text)
    assert is_whole(GUIDE, start, start + len(text)) is whole


def test_a_place_in_bytes_is_judged_in_bytes() -> None:
    from comparison.figures import examine

    text = {"text": "Rasen", "document": "a", "start": 9, "end": 14, "score": None, "unit": "byte"}

    assert examine(text, {"a": "Für den Rasen."}).exact
    assert examine(text, {"a": "Für den Rasen."}).place == ("a", 8, 13)
    assert not examine({**text, "unit": "codepoint"}, {"a": "Für den Rasen."}).exact


def test_every_adapter_says_why_and_what_it_installs() -> None:
    from comparison.contenders import CONTENDERS

    for contender in CONTENDERS:
        assert contender.reason, contender.name
        assert 10 < contender.lines < 100, contender.name
        pinned = [Path(word) for words in contender.install for word in words if word.endswith(".txt")]
        assert pinned
        for path in pinned:
            torch = [line for line in path.read_text(encoding="utf-8").splitlines() if line.startswith("torch==")]
            assert torch in ([], ["torch==2.13.0"]), path


def test_all_that_quoth_depends_on_is_pinned_for_its_row() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    pins = (BENCH / "peers" / "requirements" / "quoth.txt").read_text(encoding="utf-8").lower().splitlines()

    assert {re.split(r"[<>=]", one)[0] for one in project["dependencies"]} <= {pin.split("==")[0] for pin in pins}
