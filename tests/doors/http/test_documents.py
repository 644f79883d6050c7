"""Reading documents over HTTP: their ids may hold anything that a file name may."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from ..command_line import run, write_files
from ..small_corpus import FILES, SmallCorpus
from .uploading import Uploads, address, plan, serving

ODD = {
    "a b/c d.md": "Oats with blanks grow here.\n",
    "Grüße/ライ麦.md": "Rye grows in Japan too.\n",
    "what?.md": "Millet asks questions.\n",
    "part#2.md": "Barley has a second part.\n",
    "100%.md": "Sorghum is a hundred percent.\n",
    "a+b&c=d;e.md": "Teff has signs in its name.\n",
    "pages/3.md": "Spelt is on page three.\n",
    "deep/text/span.md": "Flax is called like a view.\n",
    "'quoted' \"twice\".md": "Hemp is quoted.\n",
}


@pytest.fixture(scope="module")
def reading(small: SmallCorpus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Uploads]:
    place = tmp_path_factory.mktemp("reading")
    shutil.copytree(small.index, place / "index")
    ran = run("ingest", write_files(place / "odd", ODD), "--index", place / "index")
    assert ran.code == 0, ran.talk
    with serving(plan(place / "index", place / "state")) as found:
        yield found


@pytest.mark.parametrize("doc_id", ODD)
def test_an_id_may_hold_anything(reading: Uploads, doc_id: str) -> None:
    text = ODD[doc_id]

    assert reading.get(doc_id).json()["doc_id"] == doc_id
    assert reading.get(doc_id, "/text").text == text
    assert reading.get(doc_id, "/original").content == text.encode()
    found = reading.get(doc_id, "/span", start=0, end=4).json()
    assert (found["doc_id"], found["quote"], found["after"]) == (doc_id, text[:4], text[4:])
    missing = reading.get(doc_id, "/pages/1")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "no-page")


def test_an_encoded_slash_is_a_slash(reading: Uploads) -> None:
    assert reading.client.get("/documents/notes%2Fwindows.txt").json()["doc_id"] == "notes/windows.txt"
    assert reading.client.get("/documents/a%20b%2Fc%20d.md/text").text == ODD["a b/c d.md"]


@pytest.mark.parametrize("doc_id", ["never.md", "canola.md/x", "CANOLA.md", "canola", "", " "])
@pytest.mark.parametrize("view", ["", "/text", "/original", "/pages/1", "/span?start=0&end=1"])
def test_a_document_that_is_not_there_is_told(reading: Uploads, doc_id: str, view: str) -> None:
    response = reading.client.get(address(doc_id) + view)

    assert (response.status_code, response.json()["error"]["code"]) == (404, "no-document")


def test_the_list_is_in_order_and_comes_in_pages(reading: Uploads) -> None:
    everything = sorted([*FILES, *ODD])
    found: list[str] = []
    after = ""
    while True:
        page = reading.client.get("/documents", params={"limit": 3, "after": after}).json()
        assert page["total"] == len(everything)
        found += [one["doc_id"] for one in page["documents"]]
        if page["next"] is None:
            break
        assert page["next"] == found[-1]
        after = page["next"]

    assert found == everything
    some = reading.client.get("/documents", params={"prefix": "a"}).json()
    assert [one["doc_id"] for one in some["documents"]] == [one for one in everything if one.startswith("a")]
    assert some["total"] == 2


def test_the_text_is_given_as_it_is(reading: Uploads) -> None:
    response = reading.get("notes/windows.txt", "/text")

    assert response.content.decode("utf-8") == "\ufeffStore wheat below 15 °C.\r\nAerate the bin every week.\r\n"
    assert response.headers["content-type"] == "text/plain; charset=utf-8"


@pytest.fixture
def writing(small: SmallCorpus, tmp_path: Path) -> Iterator[Uploads]:
    shutil.copytree(small.index, tmp_path / "index")
    with serving(plan(tmp_path / "index", tmp_path / "state")) as found:
        yield found


@pytest.mark.parametrize("digits", [8, 16, 64])
def test_a_place_in_a_document_that_was_replaced_shows_no_other_words(writing: Uploads, digits: int) -> None:
    writing.put_done("fences.md", "A fence may be six feet high.\n")
    old = writing.get("fences.md", "/span", start=15, end=23).json()
    sha256 = old["doc_sha256"][:digits]
    assert writing.get("fences.md", "/span", start=15, end=23, sha256=sha256).json() == old
    writing.put_done("fences.md", "A hedge may be ten feet high.\n")

    for view, query in (("/span", {"start": 15, "end": 23}), ("/pages/1", {})):
        changed = writing.get("fences.md", view, **query, sha256=sha256)
        assert (changed.status_code, changed.json()["error"]["code"]) == (409, "document-changed")
        assert "again" in changed.json()["error"]["hint"]
    assert writing.get("fences.md", "/span", start=15, end=23).json()["quote"] == "ten feet"


@pytest.mark.parametrize("sha256", ["1234567", "12345678g", "f" * 65, "", "*" * 16])
def test_a_hash_that_is_none_is_refused(reading: Uploads, sha256: str) -> None:
    refused = reading.get("canola.md", "/span", start=0, end=4, sha256=sha256)
    assert refused.status_code == 422


def test_a_slice_is_not_as_long_as_one_likes(writing: Uploads) -> None:
    writing.put_done("long.txt", "Oats grow well. " * 7_000)

    assert len(writing.get("long.txt", "/span", start=0, end=100_000).json()["quote"]) == 100_000
    refused = writing.get("long.txt", "/span", start=0, end=100_001)
    assert (refused.status_code, refused.json()["error"]["code"]) == (422, "question")


def test_who_removes_a_document_of_a_folder_is_told_that_it_comes_back(writing: Uploads) -> None:
    writing.put_done("ours.md", "Oats are ours.\n")
    ours, theirs = writing.delete_done("ours.md"), writing.delete_done("canola.md")

    assert (ours["state"], ours["notes"]) == ("done", [])
    assert theirs["state"] == "done"
    (note,) = theirs["notes"]
    assert "the next ingest of that folder brings it back" in note
