"""Reading documents over HTTP: their ids may hold anything that a file name may."""

from __future__ import annotations

import shutil
from collections.abc import Iterator

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
