"""Take the pictures of the web page that the documentation shows, from the bundled sample corpora.

    python tools/screenshots.py [--into docs/images]

Starts `quoth serve` on each corpus and Chromium on the page. Needs the extras of requirements/dev.txt and Chromium.
"""

from __future__ import annotations

import argparse
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlencode

import httpx
from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

ROOT = Path(__file__).resolve().parents[1]
PROGRAM = Path(sys.executable).with_name("quoth")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
MOST_BYTES = 250_000
PATIENCE = 120


@dataclass(frozen=True, slots=True)
class Shot:
    name: str
    corpus: str
    question: str
    """Of a grid, the questions, one on each line."""
    width: int
    height: int
    dark: bool
    opened: str | None
    """Which view of the reader to open on the first quote: `text`, `page`, or none."""
    grid: str | None = None
    """Which documents to ask in a grid; None asks for an answer."""
    locale: str = "en-US"


GUIDES = """\
How deep is it planted?
Which soil pH is best?
Which soil temperature does it need at planting?
At what moisture is it harvested?"""

SHOTS = (
    Shot("answer.png", "agriculture", "How deep should corn be planted?", 1200, 900, dark=False, opened=None),
    Shot("reader.png", "formats", "In what steps is grain cooled?", 1360, 880, dark=False, opened="page"),
    Shot("abstention.png", "agriculture", "What seeding rate is recommended for quinoa?", 1200, 900, False, None),
    Shot("german.png", "agriculture", "How deep should quinoa be planted?", 1200, 900, False, None, locale="de-DE"),
    Shot("conflict.png", "governance", "How high may a fence be in a rear yard?", 1200, 900, False, None),
    Shot("phone-dark.png", "agriculture", "What soil pH is best for growing canola?", 390, 844, dark=True, opened=None),
    Shot("grid.png", "agriculture", GUIDES, 1264, 920, dark=False, opened=None, grid="*/guide.md"),
)
PROFILES = {"agriculture": "agriculture", "governance": "governance", "formats": "general"}


@contextmanager
def served(corpus: str, place: Path) -> Iterator[str]:
    """The address of a service with one of the sample corpora."""
    index = place / "index"
    ingest: list[str | Path] = [
        PROGRAM,
        "ingest",
        ROOT / "examples" / corpus,
        "--index",
        index,
        "--profile",
        PROFILES[corpus],
    ]
    subprocess.run(ingest, check=True, capture_output=True)
    with closing(socket.socket()) as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command: list[str | Path] = [PROGRAM, "serve", "--no-auth", "--port", str(port), "--index", index]
    command += ["--set", f"service.state={place / 'state'}"]
    with (place / "log").open("wb") as log:
        program = subprocess.Popen(command, stdout=log, stderr=log)
        try:
            url = f"http://127.0.0.1:{port}"
            _wait_until_ready(url)
            yield url
        finally:
            program.terminate()
            program.wait(PATIENCE)


def _wait_until_ready(url: str) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        try:
            if httpx.get(f"{url}/readyz").status_code == httpx.codes.OK:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.1)
    raise SystemExit(f"error: the service at {url} does not get ready")


def take(browser: Browser, url: str, shot: Shot, target: Path) -> None:
    context = browser.new_context(
        viewport={"width": shot.width, "height": shot.height},
        color_scheme="dark" if shot.dark else "light",
        locale=shot.locale,
        reduced_motion="reduce",
        device_scale_factor=2 if shot.width < 500 else 1,
    )
    page = context.new_page()
    if shot.grid:
        _make_grid(page, url, shot.question, docs=shot.grid)
    else:
        page.goto(f"{url}/?{urlencode({'q': shot.question})}")
        page.wait_for_selector(".outcome")
    if shot.opened:
        _open(page, shot.opened)
    page.wait_for_load_state("networkidle")
    page.locator("details.nearest").evaluate_all("folded => folded.forEach((each) => { each.open = true; })")
    page.mouse.move(0, 0)
    page.evaluate("document.activeElement.blur(); window.scrollTo(0, 0)")
    if shot.grid:
        page.locator("#grid-result").evaluate("node => window.scrollTo(0, node.offsetTop - 16)")
    page.screenshot(path=target)
    context.close()
    _shrink(target)


def _make_grid(page: Page, url: str, questions: str, *, docs: str) -> None:
    """Make a grid, sorted by the confidence of its first question."""
    page.goto(f"{url}/?view=grid")
    page.get_by_label("Questions, one on each line").fill(questions)
    page.get_by_label("Documents: ids").fill(docs)
    page.get_by_role("button", name="Make the grid").click()
    page.get_by_role("button", name=questions.splitlines()[0]).click()


def _open(page: Page, view: str) -> None:
    page.locator("ol.quotes a.open").first.click()
    page.wait_for_selector("#reader mark")
    if view == "page":
        page.get_by_role("button", name="Page", exact=True).click()
        page.wait_for_selector("#reader .box")


def _shrink(target: Path) -> None:
    """A palette of 256 colours is enough for text on plain grounds."""
    with Image.open(target) as picture:
        small = picture.convert("RGB").quantize(256, dither=Image.Dither.NONE)
    small.save(target, optimize=True)
    if target.stat().st_size > MOST_BYTES:
        raise SystemExit(f"error: {target.name} has {target.stat().st_size} bytes, more than {MOST_BYTES}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--into", type=Path, default=ROOT / "docs" / "images", help="Folder of the pictures.")
    into = parser.parse_args().into
    chromium = shutil.which("chromium")
    if chromium is None:
        raise SystemExit("error: Chromium is not installed")
    into.mkdir(parents=True, exist_ok=True)
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as scratch:
        browser = playwright.chromium.launch(executable_path=chromium, args=list(FLAGS))
        for corpus in PROFILES:
            place = Path(scratch) / corpus
            place.mkdir()
            with served(corpus, place) as url:
                for shot in SHOTS:
                    if shot.corpus == corpus:
                        take(browser, url, shot, into / shot.name)
                        print(f"{into / shot.name}: {(into / shot.name).stat().st_size} bytes")
        browser.close()


if __name__ == "__main__":
    main()
