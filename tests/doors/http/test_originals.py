"""Original files and pictures of pages: only what was ingested is given out, and it can do no harm."""

from __future__ import annotations

import io
import math
import os
import shutil
import signal
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from documents.formats.pdf_files import HEIGHT, WIDTH, Sheet, lines, pdf
from quoth.http import originals, page_drawers, service
from quoth.http.http_faults import HttpFault
from quoth.http.page_drawers import PageDrawers
from quoth.types import DocumentInfo

from ..command_line import PATIENCE, run, write_files
from ..small_corpus import SmallCorpus
from .uploading import Uploads, plan, serving

PAGES = ["Lentils fix nitrogen.", "Lentils are cut early.", "Lentils are threshed gently."]
PDF = pdf([Sheet(lines(text, size=14)) for text in PAGES])
SCRIPT = b"<html><body><p>Chickpeas like warmth.</p><script>alert(1)</script></body></html>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    files: dict[str, bytes | str] = {
        "lentils.pdf": PDF,
        "changing.md": "It changes.\n",
        "going.md": "It goes.\n",
        "linked.md": "It is linked.\n",
        "inside.md": "It is linked inside.\n",
        "closed.md": "It is closed.\n",
        "folder.md": "It becomes a folder.\n",
        "moved.md": "It moves.\n",
    }
    return write_files(tmp_path_factory.mktemp("originals") / "files", files)


@pytest.fixture(scope="module")
def reading(small: SmallCorpus, folder: Path) -> Iterator[Uploads]:
    place = folder.parent
    shutil.copytree(small.index, place / "index")
    ran = run("ingest", folder, "--index", place / "index")
    assert ran.code == 0, ran.talk
    with serving(plan(place / "index", place / "state")) as found:
        yield found


def error(response: Any) -> tuple[int, str]:  # noqa: ANN401
    return response.status_code, response.json()["error"]["code"]


def picture(response: Any) -> Image.Image:  # noqa: ANN401
    assert (response.status_code, response.headers["content-type"]) == (200, "image/png"), response.text
    return Image.open(io.BytesIO(response.content))


def test_a_file_that_was_changed_is_not_given_out(reading: Uploads, folder: Path) -> None:
    assert reading.get("changing.md", "/original").content == b"It changes.\n"
    (folder / "changing.md").write_bytes(b"It is changed.\n")

    assert error(reading.get("changing.md", "/original")) == (409, "original-changed")
    assert reading.get("changing.md").json()["has_original"] is True
    assert reading.get("changing.md", "/text").text == "It changes.\n"


def test_a_file_that_is_gone_is_told(reading: Uploads, folder: Path) -> None:
    (folder / "going.md").unlink()
    (folder / "folder.md").unlink()
    (folder / "folder.md").mkdir()

    for doc_id in ("going.md", "folder.md"):
        assert error(reading.get(doc_id, "/original")) == (404, "no-original")
        assert reading.get(doc_id).json()["has_original"] is False


def test_a_link_out_of_the_folder_is_not_followed(reading: Uploads, folder: Path) -> None:
    same = folder.parent / "same.md"
    same.write_bytes(b"It is linked.\n")
    (folder / "linked.md").unlink()
    (folder / "linked.md").symlink_to(same)
    inner = folder / "inner.md"
    (folder / "inside.md").rename(inner)
    (folder / "inside.md").symlink_to(inner)

    assert error(reading.get("linked.md", "/original")) == (404, "no-original")
    assert reading.get("linked.md").json()["has_original"] is False
    assert reading.get("inside.md", "/original").content == b"It is linked inside.\n"


def test_a_folder_that_was_moved_and_ingested_again_is_found(reading: Uploads, folder: Path) -> None:
    assert reading.get("moved.md", "/original").status_code == 200
    (folder.parent / "elsewhere").mkdir()
    (folder / "moved.md").rename(folder.parent / "elsewhere" / "moved.md")
    assert error(reading.get("moved.md", "/original")) == (404, "no-original")
    ran = run("ingest", folder.parent / "elsewhere", "--index", folder.parent / "index")
    assert ran.code == 0, ran.talk

    until = time.monotonic() + PATIENCE
    while (found := reading.get("moved.md", "/original")).status_code == 404 and time.monotonic() < until:
        time.sleep(0.1)
    assert found.content == b"It moves.\n"


ORIGINALS = [
    ("evil.html", SCRIPT, "application/octet-stream"),
    ("evil.txt", SCRIPT, "application/octet-stream"),
    ("plain.txt", b"Chickpeas like warmth.\n", "text/plain; charset=utf-8"),
    ("marked.md", b"<script>alert(1)</script>\n\nChickpeas.\n", "text/plain; charset=utf-8"),
    ("chickpeas.pdf", PDF, "application/pdf"),
    ('odd "name"; x=1.md', b"Chickpeas.\n", "text/plain; charset=utf-8"),
    ("grüße.md", b"Chickpeas.\n", "text/plain; charset=utf-8"),
]


def test_an_original_is_an_attachment_that_no_browser_runs(reading: Uploads) -> None:
    """Sent together, so that few processes are started to read them."""
    accepted = [reading.put(doc_id, content) for doc_id, content, _ in ORIGINALS]
    assert [reading.ended(one)["state"] for one in accepted] == ["done"] * len(ORIGINALS)
    for doc_id, content, kind in ORIGINALS:
        response = reading.get(doc_id, "/original")

        assert response.content == content, doc_id
        headers = response.headers
        assert headers["content-type"] == kind, doc_id
        assert headers["content-disposition"].startswith("attachment; filename*=UTF-8''"), doc_id
        assert not set(headers["content-disposition"].partition("''")[2]) & set('"; =\r\n'), doc_id
        assert headers["x-content-type-options"] == "nosniff", doc_id
        assert "sandbox" in headers["content-security-policy"], doc_id


def test_pages_are_drawn_in_the_width_that_is_asked_for(reading: Uploads) -> None:
    pictures = [picture(reading.get("lentils.pdf", f"/pages/{number}")) for number in (1, 2, 3)]
    assert {one.size for one in pictures} == {(1000, math.ceil(1000 * HEIGHT / WIDTH))}
    assert len({one.tobytes() for one in pictures}) == 3
    assert min(pictures[0].convert("L").tobytes()) < 100  # something is printed on it
    for width in (200, 2400):
        assert picture(reading.get("lentils.pdf", "/pages/1", width=width)).width == width
    assert reading.get("lentils.pdf", "/pages/1").content == reading.get("lentils.pdf", "/pages/1").content


@pytest.mark.parametrize("number", ["0", "4", "99999999999999999999"])
def test_a_page_that_is_not_there_is_told(reading: Uploads, number: str) -> None:
    assert error(reading.get("lentils.pdf", f"/pages/{number}")) == (404, "no-page")


@pytest.mark.parametrize("width", ["199", "2401", "-1", "wide"])
def test_a_width_out_of_bounds_is_refused(reading: Uploads, width: str) -> None:
    assert reading.get("lentils.pdf", "/pages/1", width=width).status_code == 422


def test_a_document_without_pages_has_no_picture(reading: Uploads) -> None:
    assert error(reading.get("canola.md", "/pages/1")) == (404, "no-page")


def test_pages_can_be_asked_for_at_once(reading: Uploads) -> None:
    def ask(number: int) -> tuple[int, int]:
        return picture(reading.get("lentils.pdf", f"/pages/{number % 3 + 1}", width=300 + number % 4)).size

    with ThreadPoolExecutor(8) as pool:
        sizes = list(pool.map(ask, range(8)))

    assert [width for width, _ in sizes] == [300 + number % 4 for number in range(8)]


def test_pages_that_take_long_keep_no_question_waiting(
    small: SmallCorpus, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = threading.Event()

    class Slow(PageDrawers):
        def draw(self, data: bytes, *, number: int, width: int) -> bytes:
            assert done.wait(PATIENCE)
            return super().draw(data, number=number, width=width)

    came = []

    class Counted(originals.Originals):
        async def drawn(self, document: DocumentInfo, *, number: int, width: int) -> bytes:
            came.append(width)
            return await super().drawn(document, number=number, width=width)

    monkeypatch.setattr(originals, "PageDrawers", Slow)
    monkeypatch.setattr(originals, "_MOST_WAITING", 2)
    monkeypatch.setattr(service, "Originals", Counted)
    shutil.copytree(small.index, tmp_path / "index")
    ran = run("ingest", write_files(tmp_path / "files", {"lentils.pdf": PDF}), "--index", tmp_path / "index")
    assert ran.code == 0, ran.talk
    with (
        serving(plan(tmp_path / "index", tmp_path / "state", service__threads="1")) as uploads,
        ThreadPoolExecutor(4) as pool,
    ):
        asked = [pool.submit(uploads.get, "lentils.pdf", "/pages/1", width=300 + number) for number in range(4)]
        try:
            until = time.monotonic() + PATIENCE
            while len(came) < 4 and time.monotonic() < until:
                time.sleep(0.01)
            extra = uploads.get("lentils.pdf", "/pages/2")
            answer = uploads.answer("Sow canola at what depth into moist soil?")
            assert not any(one.done() for one in asked)
        finally:
            done.set()
        assert answer
        assert error(extra) == (503, "busy")
        assert int(extra.headers["retry-after"]) >= 1
        assert [picture(one.result()).width for one in asked] == [300, 301, 302, 303]


def _drawn(data: bytes, *, number: int, width: int) -> bytes:
    with closing(PageDrawers()) as drawers:
        return drawers.draw(data, number=number, width=width)


def _drawing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, drawn: str) -> None:
    """Have pages drawn by our own program, but with this body of the function that looks into a PDF."""
    program = tmp_path / "draw_otherwise.py"
    program.write_text(
        f"import os, sys, time\nsys.path.insert(0, {str(Path(page_drawers.__file__).parent)!r})\nimport draw_page\n"
        f"def drawn(request):\n    number = int(request.split()[0])\n    {drawn}\n"
        "draw_page._drawn = drawn\ndraw_page.main()\n",
        encoding="utf-8",
    )
    monkeypatch.setattr(page_drawers, "_DRAW_PAGE", program)


def test_a_page_is_drawn_by_a_program_without_our_secrets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _drawing(monkeypatch, tmp_path, "return b'\\x89PNG' + repr(dict(os.environ)).encode()")
    monkeypatch.setenv("PGPASSWORD", "hunter2")
    monkeypatch.setenv("QUOTH_STORE", "postgresql://ada:pass@host/db")
    told = _drawn(PDF, number=1, width=300).decode("latin-1")

    assert "PATH" in told
    assert "hunter2" not in told
    assert "QUOTH_STORE" not in told


def test_a_program_draws_each_page_in_a_process_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _drawing(monkeypatch, tmp_path, "return b'\\x89PNG %d %d' % (os.getppid(), os.getpid())")
    with closing(PageDrawers()) as drawers:
        told = [drawers.draw(PDF, number=number, width=300).split()[1:] for number in (1, 2, 3)]

    assert len({program for program, _ in told}) == 1
    assert len({process for _, process in told}) == 3


@pytest.mark.parametrize("hostile", ["os.abort()", "time.sleep(600)", "bytearray(2**34)"])
def test_a_hostile_page_ends_its_own_process_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hostile: str
) -> None:
    monkeypatch.setattr(page_drawers, "_PAGE_SECONDS", 1)
    drawn = f"return {hostile} if number == 1 else b'\\x89PNG %d' % os.getppid()"
    _drawing(monkeypatch, tmp_path, drawn)
    with closing(PageDrawers()) as drawers:
        before = drawers.draw(PDF, number=2, width=300)
        with pytest.raises(HttpFault, match="page 1 cannot be drawn"):
            drawers.draw(PDF, number=1, width=300)
        after = drawers.draw(PDF, number=2, width=300)

    assert before == after


def test_a_program_that_has_ended_is_started_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _drawing(monkeypatch, tmp_path, "return b'\\x89PNG %d' % os.getppid()")
    with closing(PageDrawers()) as drawers:
        before = drawers.draw(PDF, number=1, width=300)
        os.kill(int(before.split()[1]), signal.SIGKILL)
        after = drawers.draw(PDF, number=1, width=300)

    assert before != after


def test_a_page_as_long_as_a_street_is_drawn_smaller() -> None:
    tall = pdf([Sheet(lines("Long."), entries="/MediaBox [0 0 100 14000]")])

    assert Image.open(io.BytesIO(_drawn(tall, number=1, width=2400))).height <= 4_000


_LOCKED = PDF.replace(
    b"trailer\n<<",
    b"trailer\n<< /Encrypt << /Filter /Standard /V 1 /R 2 /P -4 /O <"
    + b"41" * 32
    + b"> /U <"
    + b"42" * 32
    + b"> >> /ID [<00> <00>]",
)


@pytest.mark.parametrize(
    "data",
    [b"", b"no PDF", b"%PDF-1.7\n", PDF[: len(PDF) // 3], _LOCKED, pdf([Sheet([], entries="/MediaBox [0 0 0 0]")])],
    ids=["empty", "text", "head", "cut", "locked", "nothing"],
)
def test_what_cannot_be_drawn_is_told(data: bytes) -> None:
    try:
        drawn = _drawn(data, number=1, width=300)
    except HttpFault as fault:
        assert (fault.status_code, fault.code) == (422, "no-picture")
    else:  # the library repairs what it can
        assert Image.open(io.BytesIO(drawn)).width == 300
        assert data not in {b"", b"no PDF", _LOCKED}


def test_a_locked_pdf_is_refused_by_its_job(reading: Uploads) -> None:
    assert _LOCKED != PDF
    job = reading.put_done("locked.pdf", _LOCKED)

    assert (job["state"], job["error"]["code"]) == ("failed", "unreadable-file")
