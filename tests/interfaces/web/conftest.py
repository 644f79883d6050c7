from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

from .service import Service, new_key, serving
from .town import Town, ingest_town

CHROMIUM = shutil.which("chromium")
FLAGS = (
    "--headless --no-sandbox --disable-gpu --no-first-run --disable-background-networking --disable-component-update "
    "--disable-sync"
).split()

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


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if CHROMIUM is None:
        pytest.skip("Chromium is not installed")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture
def new_page(browser: Browser) -> Iterator[NewPage]:
    """Makes pages of new visitors. None of them may report an error, break the policy or open a script's dialog."""
    contexts: list[BrowserContext] = []
    faults: list[str] = []

    def make(*, allowed: str | None = None, **options: Any) -> Page:
        """`allowed` are words of what the browser itself reports when a request is refused."""
        context = browser.new_context(reduced_motion="reduce", **options)
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()

        def note(kind: str, text: str) -> None:
            if allowed is None or allowed not in text:
                faults.append(f"{kind}: {text}")

        page.on("console", lambda message: note(message.type, message.text))
        page.on("pageerror", lambda error: note("error", str(error)))
        page.on("dialog", lambda dialog: (note("dialog", dialog.message), dialog.dismiss()))
        return page

    yield make
    for context in contexts:
        context.close()
    assert faults == []


@pytest.fixture
def page(new_page: NewPage) -> Page:
    return new_page(viewport={"width": 1280, "height": 900})
