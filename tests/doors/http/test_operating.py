"""What operators look at: health, readiness, metrics and facets."""

from __future__ import annotations

import asyncio
import json
import logging
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, closing
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.testclient import TestClient

from quoth import __version__
from quoth.documents.files import find_files
from quoth.documents.ingest import ingest
from quoth.domain.profile import load_profile
from quoth.http.app import make_app
from quoth.http.guard.api_keys import KeyScope
from quoth.http.request_gate import RequestGate
from quoth.http.service import Service
from quoth.models.hash_embedder import HashEmbedder
from quoth.overrides import NO_OVERRIDES
from quoth.protocols import Reader
from quoth.types import EVERYTHING, Access
from quoth.wiring import open_store

from ..small_corpus import HALVORSEN, SmallCorpus
from .serving import Exchange, begun, call, error_of, new_key, opened, plan, sends, wait_for

ASKED = {"question": "Do we sow canola at 2.5 cm into moist soil?"}


@pytest.fixture
def client(own: SmallCorpus, tmp_path: Path) -> Iterator[TestClient]:
    with opened(plan(own.index, tmp_path / "state", max_body_kb=16)) as one:
        yield one


def scraped(client: TestClient) -> dict[str, float]:
    """Every sample by its name and labels, as Prometheus reads them."""
    response = client.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    return {
        f"{sample.name}{sorted(sample.labels.items())}": sample.value
        for family in text_string_to_metric_families(response.text)
        for sample in family.samples
    }


def grown(client: TestClient, before: dict[str, float], name: str, **labels: str) -> float:
    key = f"{name}{sorted(labels.items())}"
    return scraped(client).get(key, 0) - before.get(key, 0)


def exercise(client: TestClient) -> None:
    """Everything that is counted, at least once."""
    for _ in range(2):
        client.post("/answer", json=ASKED)
        client.post("/retrieve", json={"query": ASKED["question"]})
    client.post("/answer", json={"question": HALVORSEN})
    client.post("/answer", content=b"x" * 20_000)
    accepted = client.put("/documents/new.md", content="# New\n\nOats are sown at 3 cm.\n")
    place = accepted.headers["location"]
    wait_for(lambda: client.get(place).json()["finished"])


def test_it_is_alive(client: TestClient) -> None:
    for path in ("/healthz", "/health"):
        assert client.get(path).json() == {"status": "ok", "version": __version__}


def test_it_is_ready_once_its_model_is_there(client: TestClient) -> None:
    wait_for(lambda: client.get("/readyz").status_code == 200)
    said = client.get("/readyz").json()
    checks = {"store": True, "index": True, "model": True}
    assert said == {"ready": True, "checks": checks, "degraded": [], "notes": [], "message": ""}


def test_facets_say_what_can_be_filtered_by(client: TestClient) -> None:
    facets = client.get("/facets").json()
    assert (facets["profile"], facets["documents"], facets["authority"]) == ("fields", 4, False)
    assert facets["document_types"] == [{"value": "guide", "documents": 1}, {"value": "rule", "documents": 1}]
    assert facets["tags"] == {"crop": ["canola", "wheat"]}
    assert (facets["uploads"], facets["offset_unit"]) == (True, "codepoint")
    assert facets["index"] == client.post("/answer", json=ASKED).json()["run_notes"]["index"]


COUNTERS = "http_requests outcomes retrievals degraded cache_requests refused jobs corpus_requests".split()
HISTOGRAMS = "http_request_seconds stage_seconds".split()
GAUGES = "requests_waiting requests_running build_info".split()
INDEX_GAUGES = "index_age_seconds index_documents index_sentences index_bytes".split()
NAMES = {
    *(f"quoth_{name}_total" for name in COUNTERS),
    *(f"quoth_{name}_{suffix}" for name in HISTOGRAMS for suffix in ("bucket", "count", "sum")),
    *(f"quoth_{name}" for name in (*GAUGES, *INDEX_GAUGES)),
}


def test_every_metric_that_is_named_is_exported(client: TestClient) -> None:
    exercise(client)
    found = {key.partition("[")[0] for key in scraped(client)}
    found = {name.removesuffix("_created") for name in found if not name.endswith("_created")}
    # What a healthy service of one corpus with a fake embedder has no occasion to count: a part that failed, a corpus.
    # Tests before this one in the same process may have counted both.
    assert NAMES - found <= {"quoth_degraded_total", "quoth_corpus_requests_total"}
    assert found <= NAMES
    text = client.get("/metrics").text
    for name in NAMES:
        family = re.sub(r"_(bucket|count|sum)$", "", name)
        assert f"# HELP {family} " in text, name


def test_what_happens_is_counted(client: TestClient) -> None:
    before = scraped(client)
    exercise(client)
    assert grown(client, before, "quoth_http_requests_total", method="POST", route="/answer", status="200") == 3
    assert grown(client, before, "quoth_http_request_seconds_count", route="/answer") == 4
    assert grown(client, before, "quoth_http_requests_total", method="POST", route="/answer", status="413") == 1
    assert grown(client, before, "quoth_outcomes_total", outcome="answered", reason="none") == 2
    assert grown(client, before, "quoth_outcomes_total", outcome="abstained", reason="unknown_entity") == 1
    assert grown(client, before, "quoth_refused_total", why="too-large") == 1
    assert grown(client, before, "quoth_jobs_total", kind="put", state="done") == 1
    assert sum(grown(client, before, "quoth_retrievals_total", status=one) for one in _STATUSES) == 2
    after = scraped(client)
    assert after["quoth_index_documents[]"] == 5
    assert after["quoth_index_bytes[]"] > 1_000
    assert 0 <= after["quoth_index_age_seconds[]"] < 600
    assert after["quoth_requests_running[]"] == after["quoth_requests_waiting[]"] == 0
    assert after[f"quoth_build_info{[('version', __version__)]}"] == 1


_STATUSES = ("success", "low_confidence", "no_results")


def test_nobody_can_make_new_labels(client: TestClient) -> None:
    def series() -> set[str]:
        return {key for key in scraped(client) if key.startswith(("quoth_http", "quoth_refused", "quoth_outcomes"))}

    def one_of_each() -> None:
        client.get("/nowhere/at/all")
        client.get("/web/none.js")
        client.get("/documents/none.md")
        client.get("/documents/none.md/text")
        client.get("/jobs/none")
        client.request("BREW", "/answer")
        client.request("BREW", "/nowhere")
        client.request("BREW", "/web/none.js")
        client.request("BREW", "/documents/none.md")
        client.post("/answer", json={"question": ""})

    one_of_each()
    before = series()
    one_of_each()
    for number in range(20):
        client.get(f"/nowhere/{number}")
        client.get(f"/web/none{number}.js")
        client.get(f"/documents/none{number}.md")
        client.get(f"/documents/a/{number}.md/text")
        client.get(f"/jobs/none{number}")
        client.request(f"BREW{number}", "/answer")
    assert series() == before
    routes = {route for key in before for route in re.findall(r"'route', '([^']*)'", key)}
    assert {"other", "/web", "/documents/{doc_id:path}", "/jobs/{job_id}"} <= routes


def test_refusals_are_counted_by_their_reason(own: SmallCorpus, tmp_path: Path) -> None:
    state = tmp_path / "state"
    _, token = new_key(state, per_minute=1)
    key = {"Authorization": f"Bearer {token}"}
    with opened(plan(own.index, state, auth=True, open_metrics=True)) as client:
        before = scraped(client)
        assert error_of(client.get("/facets"))["code"] == "key"
        assert client.get("/facets", headers=key).status_code == 200
        assert error_of(client.get("/facets", headers=key))["code"] == "rate-limit"
        assert grown(client, before, "quoth_refused_total", why="auth") == 1
        assert grown(client, before, "quoth_refused_total", why="rate") == 1


def test_only_what_was_sent_away_is_a_refusal(tmp_path: Path) -> None:
    def refused(client: TestClient) -> float:
        return sum(value for name, value in scraped(client).items() if name.startswith("quoth_refused_total"))

    with opened(plan(tmp_path / "none", tmp_path / "state")) as client:
        before = refused(client)
        assert error_of(client.post("/answer", json=ASKED))["code"] == "no-index"
        assert client.get("/readyz").status_code == 503
        assert error_of(client.get("/facets", headers={"Origin": "https://evil.example"}))["code"] == "origin"
        assert refused(client) == before
    with opened(plan(tmp_path / "none", tmp_path / "state", uploads=False)) as client:
        assert error_of(client.put("/documents/a.md", content=b"a"))["code"] == "read-only"
        assert refused(client) == before


def test_a_refusal_counts_for_the_route_that_it_was_on_its_way_to(own: SmallCorpus, tmp_path: Path) -> None:
    new_key(tmp_path / "state")
    with opened(plan(own.index, tmp_path / "state", auth=True, open_metrics=True)) as client:
        before = scraped(client)
        for path in ("/documents/a/b.md/text", "/nowhere"):
            assert client.get(path).status_code == 401
        for route in ("/documents/{doc_id:path}/text", "other"):
            assert grown(client, before, "quoth_http_requests_total", method="GET", route=route, status="401") == 1


def test_what_an_alarm_watches_is_there_before_the_first_failure(client: TestClient) -> None:
    found = scraped(client)
    for why in ("busy", "rate", "auth", "too-large", "timeout"):
        assert f"quoth_refused_total{[('why', why)]}" in found
    for kind in ("put", "delete"):
        for state in ("done", "failed"):
            assert f"quoth_jobs_total{[('kind', kind), ('state', state)]}" in found


def test_a_failure_of_ours_is_an_error_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with opened(plan(tmp_path / "none", tmp_path / "state")) as client:
        assert client.post("/answer", json=ASKED).status_code == 503
    assert [one.levelno for one in caplog.records if one.getMessage() == "fault"] == [logging.ERROR]


def test_an_index_of_another_model_is_noticed(
    own: SmallCorpus, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    other = tmp_path / "other"
    with closing(open_store(other, NO_OVERRIDES.without_profile().store)) as store:
        ingest(
            find_files([own.folder]),
            store=store,
            embedder=HashEmbedder(dimension=64),
            profile=load_profile(str(own.profile)),
            settings=NO_OVERRIDES.without_profile().ingest,
            prune=False,
            progress=None,
        )
    with opened(plan(own.index, tmp_path / "state")) as client:
        wait_for(lambda: client.get("/readyz").status_code == 200)
        shutil.rmtree(own.index)
        other.rename(own.index)
        wait_for(lambda: client.get("/readyz").status_code == 503)
        assert client.get("/readyz").json()["checks"] == {"store": True, "index": True, "model": False}
        assert error_of(client.post("/answer", json=ASKED))["code"] == "index-mismatch"
    assert len([one for one in caplog.records if one.getMessage() == "not ready"]) == 1


def test_a_store_that_hangs_stops_nobody_who_does_not_need_it(small: SmallCorpus, tmp_path: Path) -> None:
    _, token = new_key(tmp_path / "state", KeyScope.WRITE)
    key = {"authorization": f"Bearer {token}"}
    gate = make_app(plan(small.index, tmp_path / "state", auth=True))
    assert isinstance(gate, RequestGate)
    service = gate.service
    assert isinstance(service, Service)
    released, looks = threading.Event(), []
    read = service._store.read

    def hanging(access: Access = EVERYTHING) -> AbstractContextManager[Reader]:
        looks.append(threading.current_thread().name)
        released.wait()
        return read(access)

    async def got(path: str) -> Exchange:
        return await call(gate, "GET", path, receive=sends(b""), headers=key)

    async def main() -> None:
        async with begun(gate):
            assert (await got("/readyz")).status == (await got("/metrics")).status == 200
            await asyncio.sleep(1.1)  # what was seen is not kept for longer
            service._store.read = hanging  # type: ignore[method-assign]
            service.readiness._timeout_seconds = 0.5
            for probe in service._value_probes.values():
                probe._timeout_seconds = 0.5
            try:
                everybody = asyncio.gather(*(got("/readyz") for _ in range(40)), *(got("/metrics") for _ in range(40)))
                assert (await got("/jobs")).status == 200
                told = await everybody
            finally:
                released.set()
            assert sorted(looks) == ["readiness", "values"]
            for one in told[:40]:
                assert one.status == 503
                assert json.loads(one.body)["checks"] == {"store": False, "index": False, "model": False}
            for one in told[40:]:
                assert one.status == 200
                assert b"quoth_build_info" in one.body
                assert b"quoth_index_documents" not in one.body

    asyncio.run(main())
