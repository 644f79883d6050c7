"""Generated requests against the service's own description: the short form of `tests/hostile/fuzz_http.py`."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the tool's own parts
def test_no_generated_request_is_answered_in_a_way_that_is_not_described(tmp_path: Path) -> None:
    import fuzz_http  # here, since the tool is slow to import and every worker collects this file

    with fuzz_http.small_service(tmp_path) as (app, token):
        report = fuzz_http.fuzz(app, token, examples=8, seed=1, stateful=False)

    assert report.findings == {}
    assert report.errors == []
    assert report.cases > 1_000
    assert len(report.operations) == 31
    assert {200, 201, 202, 401, 404, 405, 409, 415, 422} <= set(report.statuses)
    assert max(report.statuses) < 500
    checks = {
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_schema_conformance",
        "response_headers_conformance",
        "negative_data_rejection",
        "positive_data_acceptance",
        "understood",
        "unsupported_method",
        "ignored_auth",
        "missing_required_header",
    }
    assert checks <= set(report.checks)
