from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Dialog, Page, expect, sync_playwright

from .service import Service, new_key, serving
from .town import Town, ingest_town

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync"
).split()

PATIENCE = 60_000
"""Milliseconds after which something counts as never coming."""
expect.set_options(timeout=PATIENCE)

NewPage = Callable[..., Page]


@pytest.fixture(scope="session")
def town(tmp_path_factory: pytest.TempPathFactory) -> Town:
    return ingest_town(tmp_path_factory.mktemp("town"))


@pytest.fixture(scope="session")
def service(town: Town, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    """Open to everybody; no test changes its documents."""
    place = tmp_path_factory.mktemp("open")
    with serving(town.index, place / "state", place / "log", token=None) as started:
        yield started


@pytest.fixture(scope="session")
def keyed_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("keyed") / "state"


@pytest.fixture(scope="session")
def keyed(town: Town, keyed_state: Path) -> Iterator[Service]:
    """Asks for a key, with documents that may be changed."""
    place = keyed_state.parent
    shutil.copytree(town.index, place / "index")
    token = new_key(keyed_state, "--scope", "write", "--per-minute", "0")
    with serving(place / "index", keyed_state, place / "log", token=token) as started:
        yield started


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Gone when tests of another folder follow: while it runs, no other event loop can in this process."""
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def faults() -> Iterator[list[str]]:
    """No page may report an error, break the policy or open a script's dialog."""
    found: list[str] = []
    yield found
    assert found == []


@pytest.fixture
def new_page(browser: Browser, faults: list[str]) -> Iterator[NewPage]:
    """Makes pages of new visitors. `allowed` are words of what the browser reports when a request is refused."""
    contexts: list[BrowserContext] = []

    def make(*, allowed: str | None = None, **options: Any) -> Page:  # noqa: ANN401
        context = browser.new_context(reduced_motion="reduce", **options)
        contexts.append(context)
        return _watched(context.new_page(), faults, allowed)

    yield make
    for context in contexts:
        context.close()


@pytest.fixture(scope="package")
def tab(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """A page for one test after another, and its faults: to open a new one takes longer than most visits."""
    context = browser.new_context(reduced_motion="reduce", viewport={"width": 1280, "height": 900})
    found: list[str] = []
    yield _watched(context.new_page(), found, None), found
    context.close()


@pytest.fixture
def page(tab: tuple[Page, list[str]], faults: list[str]) -> Iterator[Page]:
    """A page of a visitor whose browser has kept nothing."""
    page, found = tab
    found.clear()
    yield page
    faults += found
    if page.url.startswith("http"):  # not where the page could not be loaded
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
    page.unroute_all()
    page.emulate_media(media="null")
    page.mouse.move(0, 0)
    page.goto("about:blank")


def _watched(page: Page, faults: list[str], allowed: str | None) -> Page:
    def note(kind: str, text: str) -> None:
        if allowed is None or allowed not in text:
            faults.append(f"{kind}: {text}")

    def refuse(dialog: Dialog) -> None:
        note("dialog", dialog.message)
        dialog.dismiss()

    page.set_default_timeout(PATIENCE)
    page.on("console", lambda message: note(message.type, message.text))
    page.on("pageerror", lambda error: note("error", str(error)))
    page.on("dialog", refuse)
    return page
