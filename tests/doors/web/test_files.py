"""The files of the page, without a browser: what the policy forbids is not in them."""

from __future__ import annotations

import re
from importlib.resources import files
from pathlib import Path

import pytest

WEB = Path(str(files("quoth"))) / "web"
PAGE = (WEB / "index.html").read_text("utf-8")
SCRIPTS = sorted(WEB.glob("*.js"))


def test_every_file_is_loaded_by_the_page() -> None:
    named = set(re.findall(r'(?:href|src)="/web/([^"]+)"', PAGE))
    assert named == {path.name for path in WEB.iterdir()} - {"index.html"}


def test_the_page_holds_no_script_style_or_handler_of_its_own() -> None:
    assert not re.search(r"<style|\sstyle=|\son\w+=|javascript:", PAGE)
    assert re.findall(r"<script[^>]*>([^<]*)</script>", PAGE) == ["", ""]


@pytest.mark.parametrize("path", [WEB / "index.html", *SCRIPTS, *WEB.glob("*.css")], ids=lambda path: path.name)
def test_no_file_asks_another_host_for_anything(path: Path) -> None:
    assert not re.search(r"https?:|//[a-z0-9-]+\.[a-z]|@import|url\(", path.read_text("utf-8"))


@pytest.mark.parametrize("path", SCRIPTS, ids=lambda path: path.name)
def test_text_never_becomes_markup(path: Path) -> None:
    made = re.compile(
        r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|DOMParser|\beval\(|new Function|createContextual"
    )
    assert not made.search(path.read_text("utf-8"))
