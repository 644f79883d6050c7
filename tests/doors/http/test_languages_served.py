"""The page in the language of its visitor, and outcomes with what Quoth says of them in it."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from starlette.testclient import TestClient

from quoth.http.web_page import COOKIE

from ..small_corpus import HALVORSEN, SmallCorpus
from .serving import error_of, opened, plan
from .test_asking import fits

PAGE_TITLE = {
    "en": "Ask. Get the exact words.",
    "de": "Fragen. Die genauen Worte erhalten.",
    "es": "Pregunte. Obtenga las palabras exactas.",
    "fr": "Demandez. Recevez les mots exacts.",
    "tr": "Sorun. Sözcükleri aynen alın.",
}


@pytest.fixture(scope="module")
def client(small: SmallCorpus, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with opened(plan(small.index, tmp_path_factory.mktemp("state"))) as one:
        yield one


def language_of(page: str) -> str:
    (language,) = re.findall(r'<html lang="(\w+)">', page)
    assert f">{PAGE_TITLE[language]}</h1>" in page
    return str(language)


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("", "en"),
        ("de", "de"),
        ("de-CH,fr;q=0.8", "de"),
        ("nl,fr;q=0.4,tr-TR;q=0.9", "tr"),
        ("nl", "en"),
        ("es;q=0,en;q=0.1", "en"),
        ("fr;q=high,es;q=0.2", "es"),
        ("*", "en"),
        (",;q=1,=;;" * 50 + "fr", "en"),
    ],
)
def test_the_page_comes_in_the_language_of_the_browser(client: TestClient, header: str, language: str) -> None:
    reply = client.get("/", headers={"Accept-Language": header})

    assert language_of(reply.text) == reply.headers["content-language"] == language
    assert reply.headers["vary"] == "Accept-Language, Cookie"
    assert "set-cookie" not in reply.headers


def test_a_choice_is_remembered_and_goes_before_the_browser(client: TestClient) -> None:
    german = {"Accept-Language": "de"}
    chosen = client.get("/?lang=tr", headers=german)
    assert language_of(chosen.text) == "tr"
    assert chosen.cookies[COOKIE] == "tr"
    assert "HttpOnly" in chosen.headers["set-cookie"]

    assert language_of(client.get("/", headers=german).text) == "tr"
    assert language_of(client.get("/?lang=en", headers=german).text) == "en"
    client.cookies.clear()
    for unknown in ("nl", "../../etc", "", "de%00"):
        assert language_of(client.get(f"/?lang={unknown}", headers=german).text) == "de", unknown
    assert not client.cookies


def test_scripts_read_the_catalogues(client: TestClient) -> None:
    assert client.get("/web/messages/de.json").json()["messages"]["Close"] == "Schließen"
    assert client.get("/web/messages/nl.json").status_code == 404


def test_an_outcome_says_why_in_another_language_beside_the_english(client: TestClient) -> None:
    english = client.post("/answer", json={"question": HALVORSEN}).json()
    german = client.post("/answer", json={"question": HALVORSEN, "lang": "de"}).json()

    said = german.pop("in_words")
    assert german == english
    assert said["lang"] == "de"
    assert said["reason"] not in {english["reason"]["detail"], None}
    assert len(said["nearest"]) == len(english["nearest"]) > 0
    assert all("Satz" in why for why in said["nearest"])
    fits(german | {"in_words": said}, "answer.schema.json")


def test_english_is_a_language_too(client: TestClient) -> None:
    outcome = client.post("/answer", json={"question": HALVORSEN, "lang": "en-GB"}).json()

    assert outcome["in_words"]["reason"] == outcome["reason"]["detail"]
    assert outcome["in_words"]["nearest"] == [near["why"] for near in outcome["nearest"]]


def test_a_receipt_is_that_of_the_english_outcome(client: TestClient) -> None:
    spoken = client.post("/answer", json={"question": HALVORSEN, "lang": "fr"}).json()
    plain = client.post("/answer", json={"question": HALVORSEN}).json()

    receipts = [client.post("/receipts", json=outcome) for outcome in (spoken, plain)]
    assert [receipt.status_code for receipt in receipts] == [200, 200]
    assert receipts[0].text == receipts[1].text


def test_the_names_of_tags_come_where_they_are_asked_for(client: TestClient) -> None:
    assert "names" not in client.get("/facets").json()
    assert client.get("/facets?lang=de").json()["names"] == {}  # this profile has none


def test_a_language_that_the_service_does_not_speak_is_refused(client: TestClient) -> None:
    refused = client.post("/answer", json={"question": HALVORSEN, "lang": "nl"})

    assert refused.status_code == 422
    assert error_of(refused)["code"] == "language"
