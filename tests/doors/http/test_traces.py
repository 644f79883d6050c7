"""Traces, sent to a collector over OTLP as any operator's would be."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from quoth.errors import MissingExtra
from quoth.http.telemetry import open_traces

from ..small_corpus import SmallCorpus
from .serving import opened, plan

TRACE, PARENT = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


class Collector(ThreadingHTTPServer):
    """Takes what OTLP exporters send, and keeps the spans with the service they are of."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.spans: list[Any] = []
        self.services: set[str] = set()

    def take(self, body: bytes) -> None:
        for resource in ExportTraceServiceRequest.FromString(body).resource_spans:
            names = {one.key: one.value.string_value for one in resource.resource.attributes}
            self.services.add(names["service.name"])
            for scope in resource.scope_spans:
                self.spans.extend(scope.spans)


class _Taking(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        assert isinstance(self.server, Collector)
        assert self.path == "/v1/traces"
        self.server.take(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as its parent calls it
        pass


@pytest.fixture
def collector(monkeypatch: pytest.MonkeyPatch) -> Iterator[Collector]:
    with Collector() as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("NO_PROXY", "*")
        yield server
        server.shutdown()
        thread.join()


def test_a_request_and_its_stages_are_spans_below_the_callers(
    small: SmallCorpus, tmp_path: Path, collector: Collector
) -> None:
    above = {"traceparent": f"00-{TRACE}-{PARENT}-01", "X-Request-Id": "r-7"}
    with opened(plan(small.index, tmp_path / "state", traces=True)) as client:
        assert client.post("/answer", json={"question": "How deep is canola sown?"}, headers=above).status_code == 200
        assert client.post("/retrieve", json={"query": "How deep is canola sown?"}).status_code == 200
        assert client.get("/documents/none.md").status_code == 404
        assert client.get("/nowhere", headers={"traceparent": "00-nonsense"}).status_code == 404

    assert collector.services == {"quoth"}
    requests = {span.name: span for span in collector.spans if not span.name.startswith(("answer ", "retrieve "))}
    assert set(requests) == {"POST /answer", "POST /retrieve", "GET /documents/{doc_id:path}", "GET other"}
    answer = requests["POST /answer"]
    assert (answer.trace_id.hex(), answer.parent_span_id.hex()) == (TRACE, PARENT)
    assert _attributes(answer) == {
        "http.request.method": "POST",
        "http.route": "/answer",
        "http.response.status_code": 200,
        "quoth.request_id": "r-7",
    }
    assert _attributes(requests["GET /documents/{doc_id:path}"])["http.response.status_code"] == 404
    assert requests["GET other"].parent_span_id == b""

    stages = [span for span in collector.spans if span.name.startswith("answer ")]
    assert len(stages) >= 4
    assert {span.parent_span_id for span in stages} == {answer.span_id}
    assert {span.trace_id.hex() for span in stages} == {TRACE}
    for span in stages:
        assert answer.start_time_unix_nano <= span.start_time_unix_nano <= span.end_time_unix_nano
        assert span.end_time_unix_nano <= answer.end_time_unix_nano
    found = [span for span in collector.spans if span.name.startswith("retrieve ")]
    assert found
    assert {span.parent_span_id for span in found} == {requests["POST /retrieve"].span_id}


def test_no_question_and_no_key_is_in_a_trace(small: SmallCorpus, tmp_path: Path, collector: Collector) -> None:
    with opened(plan(small.index, tmp_path / "state", traces=True)) as client:
        client.post("/answer", json={"question": "A private matter of canola"}, headers={"X-Api-Key": "a-secret"})
    assert collector.spans
    assert not [span for span in collector.spans if "private" in str(span) or "secret" in str(span)]


def test_without_the_setting_nothing_is_sent(small: SmallCorpus, tmp_path: Path, collector: Collector) -> None:
    with opened(plan(small.index, tmp_path / "state")) as client:
        client.post("/answer", json={"question": "How deep is canola sown?"})
    assert collector.spans == []


def test_without_its_packages_it_says_which_extra_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [one for one in sys.modules if one.startswith("opentelemetry.exporter")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "opentelemetry.exporter", None)
    with pytest.raises(MissingExtra) as missing:
        open_traces(on=True)
    assert "quoth[otel]" in missing.value.hint


def _attributes(span: Any) -> dict[str, object]:  # noqa: ANN401 - of a generated class
    return {one.key: getattr(one.value, one.value.WhichOneof("value")) for one in span.attributes}
