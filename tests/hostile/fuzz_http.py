"""Send thousands of generated requests to the HTTP service, and hold its answers against its own description.

    python tests/hostile/fuzz_http.py --cases 5000 --seed 1

Schemathesis makes the requests from `/openapi.json`: examples, the borders of every field, random values that fit and
random values that do not, wrong methods and missing keys. The service runs in this process, over four small documents
with the embedder that ships as a fake. A finding is an answer that no client could foresee: a status, a content type, a
body or a header that is not described, a 5xx, what is wrong but taken, what is right but refused, or what needs no key
but should. The exit code is 1 when there are findings.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema
from schemathesis.python.asgi import shutdown_lifespans
from starlette.types import ASGIApp

from quoth.http.app import make_app
from quoth.http.guard.api_keys import KeyFile, KeyScope
from quoth.http.service import ServeOptions
from quoth.library import ingest_paths
from quoth.overrides import Overrides

_DOCUMENTS = {
    "canola.md": "# Canola\n\nSow canola at 2.5 cm into moist soil. Roll the canola field after seeding.\n",
    "wheat.md": "# Wheat\n\nSow wheat at 4 cm in October. It needs a pH of 6.0-7.0.\n",
    "notes/windows.txt": "Store wheat below 15 °C.\r\nAerate the bin every week.\r\n",
    "rules.md": "---\ndocument_type: rule\n---\n\n# Rules\n\nBurning straw is forbidden from May to September.\n",
}
_SETTINGS = {
    "embedding.model_name": "hash",
    "rerank.kind": "late",
    "service.per_minute": "0",  # a limit that is reached hides what lies behind it
    "service.max_upload_mb": "1",
    "service.max_batch": "20",
}
_ABOUT_A_CASE = 400
"""Characters shown of a finding."""


@dataclass(slots=True)
class Report:
    cases: int = 0
    phases: Counter[str] = field(default_factory=Counter)
    statuses: Counter[int] = field(default_factory=Counter)
    operations: Counter[str] = field(default_factory=Counter)
    checks: Counter[str] = field(default_factory=Counter)
    findings: dict[str, str] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    seconds: float = 0.0

    def lines(self) -> Iterator[str]:
        yield f"{self.cases} cases in {self.seconds:.0f} s: {_listed(self.phases)}"
        yield f"statuses: {_listed(self.statuses)}"
        yield f"checks: {_listed(self.checks)}"
        yield f"cases for each of {len(self.operations)} operations: {_listed(self.operations)}"
        yield from (f"\nFINDING {text}" for text in self.findings.values())
        yield from (f"\nERROR {text}" for text in self.errors)
        yield f"{len(self.findings)} findings, {len(self.errors)} errors"


def _listed(counts: Counter[str] | Counter[int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items(), key=lambda one: str(one[0])))


@schemathesis.serializer("application/jsonl")
def _as_lines(context: schemathesis.SerializationContext, value: object) -> bytes:
    return (
        value.encode() if isinstance(value, str) else b"\xff no text"
    )  # anything else would be one as soon as it is sent


@schemathesis.check
def understood(
    context: schemathesis.CheckContext, response: schemathesis.Response, case: schemathesis.Case[Any]
) -> None:
    """A request that fits the description is never refused for its form."""
    fits = case.meta is not None and case.meta.generation.mode is schemathesis.GenerationMode.POSITIVE
    if fits and response.status_code == 422:
        said = response.json()["error"]
        assert said["code"] != "body", said


@contextmanager
def small_service(folder: Path) -> Iterator[tuple[ASGIApp, str]]:
    """An application over a few documents, and a key that may do everything."""
    for name, text in _DOCUMENTS.items():
        path = folder / "documents" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
    overrides = Overrides({}, {}, {**_SETTINGS, "service.state": str(folder / "state")})
    index = str(folder / "index")
    ingest_paths([folder / "documents"], index, profile=None, overrides=overrides)
    _, token = KeyFile(folder / "state" / "keys.json").add("fuzz", scopes=[KeyScope.WRITE], per_minute=None)
    try:
        yield make_app(ServeOptions(index=index, overrides=overrides, profile=None, auth=True)), token
    finally:
        shutdown_lifespans()


def fuzz(app: ASGIApp, token: str, *, examples: int, seed: int, stateful: bool) -> Report:
    """What came of `examples` random requests for each operation, beside the systematic ones."""
    config = SchemathesisConfig.from_dict(_config(token, examples, seed, stateful=stateful))
    schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=config)
    schema.validate()
    report, started = Report(), time.monotonic()
    for event in from_schema(schema).execute():
        if isinstance(event, events.ScenarioFinished):
            _count(report, event)
        elif isinstance(event, events.NonFatalError):
            report.errors.append(f"{event.label}: {event.value!r}"[:_ABOUT_A_CASE])
        elif isinstance(event, events.FatalError):
            raise event.exception
    report.seconds = time.monotonic() - started
    return report


def _config(token: str, examples: int, seed: int, *, stateful: bool) -> dict[str, object]:
    return {
        "seed": seed,
        "continue-on-failure": True,
        "suppress-health-check": ["too_slow"],  # a busy machine is no finding
        "headers": {"Authorization": f"Bearer {token}"},
        "generation": {"max-examples": examples, "database": "none", "no-shrink": True},
        "phases": {"stateful": {"enabled": stateful}},
        "checks": {
            # A write is accepted and done later: until then a document is still there, or not yet.
            "use_after_free": {"enabled": False},
            "ensure_resource_availability": {"enabled": False},
            # What is right by the schema can still ask without a word, of an unknown document or for too much. That a
            # body which fits was not understood is what `understood` looks for.
            "positive_data_acceptance": {"expected-statuses": ["2xx", "401", "403", "404", "409", "413", "415", "422"]},
            "negative_data_rejection": {
                "expected-statuses": ["400", "401", "403", "404", "405", "408", "409", "413", "415", "422"]
            },
        },
        "operations": [
            # An id is a path: where GET reads a part of a document, PUT and DELETE take the whole path for an id.
            {
                "include-path-regex": r"^/documents/\{doc_id\}/.+",
                "checks": {"unsupported_method": {"enabled": False}, "allow_header_conformance": {"enabled": False}},
            },
        ],
    }


def _count(report: Report, event: events.ScenarioFinished) -> None:
    recorder = event.recorder
    for interaction in recorder.interactions.values():
        report.cases += 1
        report.phases[event.phase.value] += 1
        if interaction.response is not None:
            report.statuses[interaction.response.status_code] += 1
    for node in recorder.cases.values():
        report.operations[node.value.operation.label] += 1
    for case_id, checks in recorder.checks.items():
        for check in checks:
            report.checks[check.name] += 1
            if check.status is Status.FAILURE and check.failure_info is not None:
                failure = check.failure_info.failure
                label = recorder.cases[case_id].value.operation.label
                key = f"{label} {check.name} {failure._unique_key}"
                text = f"{label}: {check.name}: {failure.title}: {failure.message[:_ABOUT_A_CASE]}"
                report.findings.setdefault(key, f"{text}\n{check.failure_info.code_sample[:_ABOUT_A_CASE]}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--cases", type=int, default=5_000, help="About how many requests to send.")
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, small_service(Path(folder)) as (app, token):
        # The systematic requests are there whatever the number; the random ones fill up to it.
        examples = max(1, chosen.cases // 25)
        report = fuzz(app, token, examples=examples, seed=chosen.seed, stateful=True)
    for line in report.lines():
        sys.stdout.write(line + "\n")
    return 1 if report.findings or report.errors else 0


if __name__ == "__main__":
    sys.exit(main())
