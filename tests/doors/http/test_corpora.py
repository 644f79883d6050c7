"""Several corpora in one service: what opens one tells nothing of another, not even that it is there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from starlette.testclient import TestClient

from quoth.errors import SettingsError
from quoth.http.corpora import corpora_in
from quoth.http.corpora_app import CorporaOptions, make_corpora_app
from quoth.http.guard.api_keys import KeyFile, KeyScope
from quoth.overrides import Overrides

from ..command_line import finish, run, start, write_files
from ..small_corpus import CANOLA, FILES
from .serving import HERE, bearer, error_of, started, wait_for

TIDE = "The tide mill grinds oats at the spring tide."
NORTH = {"question": f"{CANOLA[:-1]}?"}
SOUTH = {"question": "When does the tide mill grind oats?"}
FLAGS = {"embedding.model_name": "hash", "rerank.kind": "late"}


@dataclass(frozen=True, slots=True)
class Two:
    """A service of two corpora, with a key for each, and one of the service itself."""

    client: TestClient
    place: Path
    north: str
    south: str
    operator: str

    def send(self, method: str, path: str, token: str | None, **given: Any) -> Any:  # noqa: ANN401 - of the client
        headers = {**(bearer(token) if token else {}), **given.pop("headers", {})}
        return self.client.request(method, path, headers=headers, **given)


def options(place: Path, *, auth: bool = True, **corpora: dict[str, Any]) -> CorporaOptions:
    file = {"service": {"state": str(place / "state")}, "corpora": corpora}
    given = Overrides(file, {}, FLAGS)
    return CorporaOptions(overrides=given, corpora=corpora_in(given), profile=None, auth=auth)


def new_key(state: Path, per_minute: int | None = 0) -> str:
    return KeyFile(state / "keys.json").add("tester", scopes=[KeyScope.WRITE], per_minute=per_minute)[1]


def state_of(place: Path, name: str) -> Path:
    return place / "state" / "corpora" / name


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("indexes")
    for name, files in (("north", FILES), ("south", {"mill.md": f"# Mill\n\n{TIDE}\n"})):
        ran = run("ingest", write_files(place / f"{name}-files", files), "--index", place / name)
        assert ran.code == 0, ran.talk
    return place


@pytest.fixture
def two(indexes: Path, tmp_path: Path) -> Iterator[Two]:
    north, south = new_key(state_of(tmp_path, "north")), new_key(state_of(tmp_path, "south"))
    operator = new_key(tmp_path / "state")
    made = options(
        tmp_path,
        north={"index": str(indexes / "north"), "settings": {"audit": {"reads": True}}},
        south={"index": str(indexes / "south"), "settings": {"service": {"key_quota_documents": 1}}},
    )
    with TestClient(make_corpora_app(made), base_url="https://quoth.example") as client:
        yield Two(client, tmp_path, north, south, operator)


def seen(response: Any) -> tuple[int, dict[str, str], str]:  # noqa: ANN401 - of the client
    """A response without the id of its request."""
    headers = {name: value for name, value in response.headers.items() if name != "x-request-id"}
    return response.status_code, headers, response.text


def quotes(response: Any) -> list[str]:  # noqa: ANN401 - of the client
    assert response.status_code == 200, response.text
    return [sentence["text"] for sentence in response.json()["answer_sentences"]]


def test_each_corpus_answers_its_own_key_from_its_own_index(two: Two) -> None:
    assert quotes(two.send("POST", "/c/north/answer", two.north, json=NORTH)) == [CANOLA]
    assert quotes(two.send("POST", "/c/south/answer", two.south, json=SOUTH)) == [TIDE]
    listed = two.send("GET", "/c/south/documents", two.south).json()["documents"]
    assert [document["doc_id"] for document in listed] == ["mill.md"]


def test_no_route_tells_a_foreign_key_that_a_corpus_is_there(two: Two) -> None:
    described = two.client.get("/openapi.json").json()["paths"]
    prefix = "/c/{corpus}"
    routes = [(method, path) for path, methods in described.items() if path.startswith(prefix) for method in methods]
    assert len(routes) > 25
    others = [("get", f"{prefix}{path}") for path in ("", "/", "/metrics", "/web/app.js", "/favicon.ico", "/nowhere")]
    preflight = {"Origin": "https://a.example", "Access-Control-Request-Method": "POST"}
    for method, path in [*routes, *others, ("head", f"{prefix}/facets"), ("options", f"{prefix}/answer")]:
        there = path.replace("{corpus}", "south").replace("{doc_id}", "mill.md")
        nowhere = path.replace("{corpus}", "elsewhere").replace("{doc_id}", "mill.md")
        for token in (two.north, two.operator, None, "ey.no.token", "quoth_00000000_" + 43 * "a"):
            for given in ({}, {"content": b"{" * 100_000}, {"headers": preflight}):
                response = two.send(method.upper(), there, token, **given)
                assert response.status_code == 401, (method, path, response.text)
                assert seen(response) == seen(two.send(method.upper(), nowhere, token, **given)), (method, path)


def test_a_user_whom_a_corpus_refuses_learns_no_more_than_of_one_that_is_none(indexes: Path, tmp_path: Path) -> None:
    proxy = {"proxy": {"addresses": "10.0.0.7"}}
    made = options(tmp_path, north={"index": str(indexes / "north"), "settings": proxy})
    with TestClient(make_corpora_app(made), base_url="https://quoth.example", client=("10.0.0.7", 1)) as client:
        assert client.get("/c/north/facets", headers={"X-Forwarded-User": "ada"}).status_code == 200
        for user in ("a" * 10_000, ""):
            told = [client.get(f"/c/{name}/facets", headers={"X-Forwarded-User": user}) for name in ("north", "west")]
            assert seen(told[0]) == seen(told[1])
            assert told[0].status_code == 401


def test_a_corpus_describes_itself_to_its_keys_alone(two: Two) -> None:
    described = two.send("GET", "/c/south/openapi.json", two.south).json()

    assert described["servers"] == [{"url": "/c/south"}]
    assert "/metrics" not in described["paths"]
    assert all(operation.get("security") != [] for of in described["paths"].values() for operation in of.values())
    assert two.send("GET", "/c/south/readyz", two.south).json()["checks"].keys() == {"store", "index", "model"}


def test_the_service_names_no_corpus_to_those_who_may_not_know(two: Two) -> None:
    wait_for(lambda: two.client.get("/readyz").status_code == 200)
    for path in ("/healthz", "/health", "/readyz", "/openapi.json"):
        response = two.client.get(path)
        assert response.status_code == 200, path
        assert "north" not in response.text and "south" not in response.text, path
    for token in (None, two.north, two.south):
        for path in ("/metrics", "/", "/answer", "/documents", "/c"):
            assert two.send("GET", path, token).status_code == 401, path


def test_operators_see_each_corpus_in_the_metrics(two: Two) -> None:
    wait_for(lambda: two.client.get("/readyz").status_code == 200)
    two.send("GET", "/c/south/facets", two.south)
    text = two.send("GET", "/metrics", two.operator).text

    assert 'quoth_index_documents{corpus="south"} 1.0' in text
    assert f'quoth_index_documents{{corpus="north"}} {len(FILES)}.0' in text
    assert 'quoth_corpus_ready{corpus="north"} 1.0' in text
    assert 'quoth_corpus_requests_total{corpus="south",route="/facets",status="200"}' in text
    assert two.send("GET", "/c/south/metrics", two.south).status_code == 404


def test_uploads_jobs_and_quotas_are_apart(two: Two, indexes: Path) -> None:
    """The index of the south is left as it was, for the other tests."""
    before = two.send("GET", "/c/north/facets", two.north).json()
    put = two.send("PUT", "/c/south/documents/new.md", two.south, content=b"# New\n\nThe sluice opens at noon.\n")
    assert put.status_code == 202, put.text
    place = put.headers["location"]
    assert place.startswith("/c/south/jobs/")
    wait_for(lambda: two.send("GET", place, two.south).json()["state"] == "done")
    assert (state_of(two.place, "south") / "files" / "new.md").is_file()
    assert two.send("GET", place.replace("south", "north"), two.north).status_code == 404
    assert two.send("GET", "/c/north/jobs", two.north).json()["jobs"] == []
    assert not list((state_of(two.place, "north") / "files").glob("*.md"))

    full = two.send("PUT", "/c/south/documents/more.md", two.south, content=b"# More\n\nThe sluice shuts at one.\n")
    assert (full.status_code, error_of(full)["code"]) == (413, "quota")
    fits = two.send("GET", "/c/north/facets", two.north).json()
    assert (fits["documents"], fits["index"]) == (before["documents"], before["index"])
    gone = two.send("DELETE", "/c/south/documents/new.md", two.south)
    wait_for(lambda: two.send("GET", gone.headers["location"], two.south).json()["state"] == "done")


def test_the_limit_of_a_key_in_one_corpus_is_not_used_up_in_another(indexes: Path, tmp_path: Path) -> None:
    tokens = {name: new_key(state_of(tmp_path, name), None) for name in ("north", "south")}
    made = options(
        tmp_path,
        north={"index": str(indexes / "north"), "settings": {"service": {"per_minute": 1}}},
        south={"index": str(indexes / "south"), "settings": {"service": {"per_minute": 60}}},
    )
    with TestClient(make_corpora_app(made), base_url="https://quoth.example") as client:
        asked = [client.get("/c/north/facets", headers=bearer(tokens["north"])) for _ in range(3)]
        south = client.get("/c/south/facets", headers=bearer(tokens["south"]))
    assert [response.status_code for response in asked] == [200, 429, 429]
    assert (south.status_code, south.headers["ratelimit-limit"]) == (200, "60")
    assert (state_of(tmp_path, "north") / "rates.db").is_file()
    assert (state_of(tmp_path, "south") / "rates.db").is_file()


def test_what_was_read_is_written_down_in_the_state_of_its_corpus(two: Two) -> None:
    two.send("POST", "/c/north/answer", two.north, json=NORTH)
    two.send("POST", "/c/south/answer", two.south, json=SOUTH)
    log = state_of(two.place, "north") / "reads.jsonl"
    wait_for(lambda: log.is_file() and "canola.md" in log.read_text())

    assert "mill.md" not in log.read_text()
    assert not (state_of(two.place, "south") / "reads.jsonl").exists()


def test_a_corpus_that_cannot_be_opened_stops_no_other(indexes: Path, tmp_path: Path) -> None:
    keys = {name: new_key(state_of(tmp_path, name)) for name in ("north", "south")}
    (state_of(tmp_path, "south") / "service.db").write_bytes(b"damaged " * 1_000)
    made = options(tmp_path, north={"index": str(indexes / "north")}, south={"index": str(indexes / "south")})
    with TestClient(make_corpora_app(made), base_url="https://quoth.example") as client:
        answered = client.post("/c/north/answer", json=NORTH, headers=bearer(keys["north"]))
        refused = client.post("/c/south/answer", json=SOUTH, headers=bearer(keys["south"]))
        foreign = client.post("/c/south/answer", json=SOUTH, headers=bearer(keys["north"]))
        unknown = client.post("/c/west/answer", json=SOUTH, headers=bearer(keys["north"]))
        ready = client.get("/readyz")
    assert quotes(answered) == [CANOLA]
    assert (refused.status_code, error_of(refused)["code"]) == (503, "index")
    assert seen(foreign) == seen(unknown)
    assert (ready.status_code, ready.json()["ready"]) == (503, False)


def test_without_keys_an_unknown_corpus_is_not_found(indexes: Path, tmp_path: Path) -> None:
    made = options(tmp_path, auth=False, north={"index": str(indexes / "north")})
    with TestClient(make_corpora_app(made), base_url=HERE) as client:
        assert quotes(client.post("/c/north/answer", json=NORTH)) == [CANOLA]
        assert client.get("/c/west/facets").status_code == 404
        assert client.get("/c/north/facets", headers={"Host": "evil.example"}).status_code == 421


NORTH_ONLY: dict[str, Any] = {"north": {"index": "north"}}


@pytest.mark.parametrize(
    ("file", "words"),
    [
        ({"corpora": {}}, "must name one corpus or more"),
        ({"corpora": {"North": {"index": "north"}}}, "cannot be named 'North'"),
        ({"corpora": {"north": {"indx": "north"}}}, "unknown key 'indx'"),
        ({"corpora": {"north": {"state": "here"}}}, "'index' must be text"),
        ({"corpora": {"a": {"index": "x"}, "b": {"index": "./x"}}}, "corpus 'b' has the index of corpus 'a'"),
        (
            {"corpora": {"a": {"index": "x", "state": "s"}, "b": {"index": "y", "state": "./s"}}},
            "corpus 'b' has the state of corpus 'a'",
        ),
        (
            {"corpora": {"a": {"index": "x", "state": "s"}, "b": {"index": "y", "state": "s/b"}}},
            "the state of corpus 'b' lies in that of 'a'",
        ),
        (
            {
                "corpora": {
                    "a": {"index": "x", "settings": {"service": {"keys": "k.json"}}},
                    "b": {"index": "y", "settings": {"service": {"keys": "k.json"}}},
                }
            },
            "corpus 'b' has the file of keys of corpus 'a'",
        ),
        ({"corpora": {"a": {"index": "x", "settings": {"service": {"threads": 4}}}}}, "service.threads is not"),
        ({"corpora": {"a": {"index": "x", "settings": {"servise": {}}}, **NORTH_ONLY}}, "unknown section 'servise'"),
        ({"corpora": NORTH_ONLY, "proxy": {"addresses": "10.0.0.1"}}, "proxy.addresses is set for every corpus"),
        ({"corpora": NORTH_ONLY, "service": {"open_metrics": True}}, "cannot be open"),
    ],
)
def test_wrong_corpora_are_refused_with_what_is_wrong(file: dict[str, Any], words: str) -> None:
    with pytest.raises(SettingsError) as caught:
        corpora_in(Overrides(file, {}, {}))

    assert words in str(caught.value) + caught.value.hint


def test_what_is_set_for_the_service_gives_no_two_corpora_one_state_or_one_file_of_keys() -> None:
    file = {"corpora": {"a": {"index": "x"}, "b": {"index": "y", "settings": {"service": {"keys": "b.json"}}}}}
    given = Overrides(file, {"service.keys": "all.json"}, {"service.state": "/srv/quoth"})
    corpora = corpora_in(given)

    assert [str(corpus.state) for corpus in corpora.values()] == ["/srv/quoth/corpora/a", "/srv/quoth/corpora/b"]
    assert [str(corpus.keys) for corpus in corpora.values()] == ["/srv/quoth/corpora/a/keys.json", "b.json"]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_the_program_serves_corpora_with_keys_of_their_own(indexes: Path, tmp_path: Path, workers: str) -> None:
    corpora = {name: {"index": str(indexes / name)} for name in ("north", "south")}
    corpora["fresh"] = {"index": str(tmp_path / "fresh")}
    (tmp_path / "quoth.yaml").write_text(json.dumps({"corpora": corpora}))
    made = [run("keys", "add", "one", "--scope", "write", "--corpus", name, folder=tmp_path) for name in corpora]
    assert [ran.code for ran in made] == [0, 0, 0], made
    north, south, fresh = (ran.text.strip() for ran in made)
    unknown = run("keys", "add", "reader", "--corpus", "west", folder=tmp_path)
    assert (unknown.code, "There are: north, south, fresh." in unknown.talk) == (1, True)

    with started("--workers", workers, folder=tmp_path) as served:
        served.wait_until_ready(503)  # one of them has no index yet
        put = {"content": f"# Mill\n\n{TIDE}\n".encode(), "headers": bearer(fresh)}
        assert served.send("PUT", "/c/fresh/documents/mill.md", **put).status_code == 202
        wait_for(lambda: served.logged("job"))
        served.wait_until_ready()
        answered = served.send("POST", "/c/south/answer", json=SOUTH, headers=bearer(south))
        foreign = served.send("POST", "/c/south/answer", json=SOUTH, headers=bearer(north))
        (job,) = served.logged("job")
        lines = [line for line in served.logged("request") if line.get("corpus") != "fresh"]
    assert quotes(answered) == [TIDE]
    assert (foreign.status_code, error_of(foreign)["code"]) == (401, "key")
    assert (job["corpus"], job["state"]) == ("fresh", "done")
    assert {(line.get("corpus"), line["route"]) for line in lines} == {("south", "/answer"), (None, "/readyz")}


@pytest.mark.parametrize(
    ("command", "words"),
    [
        (("serve", "--index", "north"), "--index cannot be given with the corpora"),
        (("serve", "--watch", "."), "--watch cannot be given with the corpora"),
        (("serve", "--cluster", "north"), "--cluster serves one index"),
        (("keys", "list", "--corpus", "north", "--state", "."), "not both"),
    ],
)
def test_options_that_make_no_sense_with_corpora_are_refused(
    tmp_path: Path, command: tuple[str, ...], words: str
) -> None:
    (tmp_path / "quoth.yaml").write_text("corpora: {north: {index: north}}")
    ran = run(*command, folder=tmp_path)

    assert ran.code in {1, 2}
    assert words in " ".join(ran.talk.split())


def test_a_service_that_nobody_could_ask_is_not_started(tmp_path: Path) -> None:
    corpora = {name: {"index": str(tmp_path / name)} for name in ("north", "south")}
    (tmp_path / "quoth.yaml").write_text(json.dumps({"corpora": corpora}))
    given = ("--config", tmp_path / "quoth.yaml", "--set", f"service.state={tmp_path / 'state'}")
    ran = finish(start("serve", "--port", "0", *given))

    assert ran.code == 1, ran.talk
    assert "quoth keys add NAME --corpus south" in ran.talk
    assert "error: there is no key in" in ran.talk


def test_other_commands_take_no_notice_of_corpora(indexes: Path, tmp_path: Path) -> None:
    (tmp_path / "quoth.yaml").write_text("corpora: {west: {index: west}}")
    ran = run("ask", SOUTH["question"], "--json", "--index", indexes / "south", folder=tmp_path)

    assert [sentence["text"] for sentence in ran.object["answer_sentences"]] == [TIDE]
