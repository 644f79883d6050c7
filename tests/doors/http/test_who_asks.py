"""Who may ask besides the holders of keys: tokens of an identity provider, and users whom a proxy names."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest
from starlette.testclient import TestClient

from quoth.errors import SettingsError
from quoth.http.app import make_app
from quoth.http.guard.api_keys import check_access

from ..command_line import run, write_files
from ..guard.identity_provider import AUDIENCE, Provider, providing
from ..small_corpus import FILES
from .serving import bearer, error_of, new_key, opened, plan

BOARD = "The board meets on the ninth of May in the mill."
ASKED = {"question": "When does the board meet in the mill?"}
PROXY = "10.0.0.7"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("board")
    files = {**FILES, "board.md": f"---\naccess: board\n---\n\n# Board\n\n{BOARD}\n"}
    assert run("ingest", write_files(place / "files", files), "--index", place / "index").code == 0
    return place / "index"


@pytest.fixture
def provider() -> Iterator[Provider]:
    with providing() as one:
        one.new_key("first")
        yield one


@contextmanager
def served(index: Path, state: Path, address: str = "10.9.9.9", **settings: str) -> Iterator[TestClient]:
    """A service that requests reach from an address."""
    given = plan(index, state, auth=True)
    flags = {**given.overrides.flags, **{name.replace("__", "."): value for name, value in settings.items()}}
    app = make_app(replace(given, overrides=replace(given.overrides, flags=flags)))
    with TestClient(app, base_url="https://quoth.example", client=(address, 1)) as client:
        yield client


def texts(client: TestClient, **headers: str) -> list[str]:
    reply = client.post("/answer", json=ASKED, headers=headers)
    assert reply.status_code == 200, reply.text
    return [one["text"] for one in reply.json()["answer_sentences"]]


def test_a_token_opens_what_its_groups_open(index: Path, tmp_path: Path, provider: Provider) -> None:
    settings = {"oidc__issuer": provider.issuer, "oidc__audience": AUDIENCE}
    with served(index, tmp_path, **settings) as client:
        assert texts(client, **bearer(provider.token("first", groups=["Board"]))) == [BOARD]
        assert texts(client, **bearer(provider.token("first", groups=["sales"]))) == []
        assert texts(client, **bearer(provider.token("first"))) == []
        late = client.post("/answer", json=ASKED, headers=bearer(provider.token("first", exp=1)))
        assert (late.status_code, error_of(late)["code"]) == (401, "key")
        assert late.headers["www-authenticate"] == 'Bearer error="invalid_token"'
        assert client.post("/answer", json=ASKED).status_code == 401
        may_not = client.delete("/documents/board.md", headers=bearer(provider.token("first", groups=["board"])))
        assert (may_not.status_code, error_of(may_not)["code"]) == (403, "scope")
        _, key = new_key(tmp_path)
        assert client.get("/documents", headers=bearer(key)).status_code == 200


def test_users_are_held_to_the_rate_of_the_service_each(index: Path, tmp_path: Path, provider: Provider) -> None:
    settings = {"oidc__issuer": provider.issuer, "oidc__audience": AUDIENCE, "service__per_minute": "1"}
    with served(index, tmp_path, **settings) as client:
        for user in ("ada", "eve"):
            statuses = [
                client.get("/facets", headers=bearer(provider.token("first", sub=user))).status_code for _ in range(2)
            ]
            assert statuses == [200, 429]


def test_a_user_whom_a_trusted_proxy_names_may_ask(index: Path, tmp_path: Path) -> None:
    with served(index, tmp_path, PROXY, proxy__addresses=PROXY) as client:
        assert texts(client, **{"X-Forwarded-User": "ada", "X-Forwarded-Groups": "sales,board"}) == [BOARD]
        assert texts(client, **{"X-Forwarded-User": "ada"}) == []
        assert client.post("/answer", json=ASKED).status_code == 401
        twice = [("X-Forwarded-User", "ada"), ("X-Forwarded-User", "eve")]
        assert client.post("/answer", json=ASKED, headers=twice).status_code == 401


def test_the_headers_of_a_proxy_count_for_nothing_from_elsewhere(index: Path, tmp_path: Path) -> None:
    forged = {"X-Forwarded-User": "ada", "X-Forwarded-Groups": "board"}
    _, key = new_key(tmp_path)
    with served(index, tmp_path, "10.0.0.8", proxy__addresses=PROXY) as client:
        assert client.post("/answer", json=ASKED, headers=forged).status_code == 401
        assert texts(client, **forged, **bearer(key)) == []
    with served(index, tmp_path, PROXY) as client:  # no proxy is trusted unless the operator names it
        assert client.post("/answer", json=ASKED, headers=forged).status_code == 401


def test_a_grid_of_one_user_is_not_that_of_another(index: Path, tmp_path: Path) -> None:
    with served(index, tmp_path, PROXY, proxy__addresses=PROXY) as client:
        ada, eve = ({"X-Forwarded-User": name} for name in ("ada", "eve"))
        made = client.post("/grids", json={"questions": [ASKED], "docs": ["canola.md"]}, headers=ada)
        assert client.get(made.headers["location"], headers=ada).status_code == 200
        assert client.get(made.headers["location"], headers=eve).status_code == 404


def test_without_a_key_it_starts_if_others_may_ask(index: Path, tmp_path: Path) -> None:
    given = plan(index, tmp_path, auth=True).overrides
    with pytest.raises(SettingsError, match="no key"):
        check_access(given.without_profile(), host="0.0.0.0", auth=True)  # noqa: S104
    others = replace(given, flags={**given.flags, "proxy.addresses": PROXY})
    check_access(others.without_profile(), host="0.0.0.0", auth=True)  # noqa: S104


def test_wrong_settings_are_told_at_the_start(index: Path, tmp_path: Path) -> None:
    for name, value, words in (
        ("oidc.issuer", "http://id.example", "oidc.issuer"),
        ("proxy.addresses", "proxy.example", "proxy.addresses"),
    ):
        given = plan(index, tmp_path, auth=True)
        flags = {**given.overrides.flags, name: value, "oidc.audience": AUDIENCE}
        with (
            pytest.raises(SettingsError, match=words),
            opened(replace(given, overrides=replace(given.overrides, flags=flags))),
        ):
            pass
