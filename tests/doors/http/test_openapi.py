"""The description of the API: whole, valid and true."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator
from starlette.routing import Route
from starlette.testclient import TestClient

from quoth.http import (
    answer_routes,
    document_routes,
    find_routes,
    grid_routes,
    mark_routes,
    operator_routes,
    receipt_routes,
)
from quoth.http.request_gate import OPEN

from ..small_corpus import SmallCorpus
from .serving import opened, plan

Description = dict[str, Any]
METHODS = {"get", "post", "put", "delete"}


@pytest.fixture(scope="module")
def description(small: SmallCorpus, tmp_path_factory: pytest.TempPathFactory) -> Description:
    with opened(plan(small.index, tmp_path_factory.mktemp("state"), auth=True)) as client:
        found: Description = client.get("/openapi.json").json()
        return found


def operations(description: Description) -> Iterator[tuple[str, str, dict[str, Any]]]:
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            yield path, method, operation


def test_every_route_is_described(description: Description) -> None:
    modules = (answer_routes, document_routes, find_routes, grid_routes, mark_routes, operator_routes, receipt_routes)
    routers = [*(module.router for module in modules), answer_routes.webhook_router("/webhook/arc-retrieval")]
    routers += [operator_routes.metrics_router, operator_routes.facets_router]
    routes = [one for router in routers for one in router.routes if isinstance(one, Route)]
    served = {(re.sub(r":\w+}", "}", one.path), method.lower()) for one in routes for method in one.methods or ()}
    described = {(path, method) for path, method, _ in operations(description)}
    assert described == {(path, method) for path, method in served if method in METHODS}
    assert len(described) == 31


def test_it_says_what_it_is(description: Description) -> None:
    assert description["openapi"].startswith("3.1")
    assert description["info"]["title"] == "Quoth"
    assert description["info"]["license"]["identifier"] == "MIT"
    assert {one["name"] for one in description["tags"]} == {"questions", "documents", "operation"}


def test_every_operation_says_what_it_does_takes_and_gives(description: Description) -> None:
    names = [operation["operationId"] for _, _, operation in operations(description)]
    assert len(set(names)) == len(names)
    for path, method, operation in operations(description):
        where = f"{method} {path}"
        assert operation["summary"], where
        assert operation["tags"], where
        for parameter in operation.get("parameters", []):
            assert parameter["schema"], where
        assert {one["name"] for one in operation.get("parameters", []) if one["in"] == "path"} == {
            part[1:-1] for part in path.split("/") if part.startswith("{")
        }, where
        good = [status for status in operation["responses"] if status.startswith("2")]
        assert len(good) == 1, where
        for status, response in operation["responses"].items():
            assert response["description"], (where, status)
            assert "X-Request-Id" in response["headers"], (where, status)
            assert all("schema" in kind or name == "image/png" for name, kind in response["content"].items()), where
            if not status.startswith("2") and path != "/readyz":
                assert response["content"]["application/json"]["schema"]["$ref"].endswith("/Error"), (where, status)
        assert {"401", "403", "404", "405", "413", "422", "429", "500", "503", "504"} <= set(operation["responses"])


def test_every_body_has_an_example_that_is_taken(description: Description, small: SmallCorpus, tmp_path: Path) -> None:
    with opened(plan(small.index, tmp_path / "state")) as client:
        for path, method, operation in operations(description):
            if method == "post":
                for kind, body in operation["requestBody"]["content"].items():
                    examples = _examples(description, body)
                    assert examples, (path, kind)
                    for example in examples:
                        _check_example(client, path, kind, example)


def _examples(description: Description, body: dict[str, Any]) -> list[Any]:
    if "example" in body:
        return [body["example"]]
    schema = description["components"]["schemas"][body["schema"]["$ref"].rpartition("/")[2]]
    examples: list[Any] = schema.get("examples", [])
    return examples


def _check_example(client: TestClient, path: str, kind: str, example: object) -> None:
    sent = {"json": example} if kind == "application/json" else {"content": example, "headers": {"Content-Type": kind}}
    response = client.post(path, **sent)  # type: ignore[arg-type]
    assert response.status_code in {200, 201, 202}, (path, response.text)


def test_every_schema_is_one_and_every_reference_leads_somewhere(description: Description) -> None:
    for name, schema in description["components"]["schemas"].items():
        Draft202012Validator.check_schema(schema)
        assert schema.get("type") or schema.get("anyOf") or schema.get("oneOf") or schema.get("enum"), name
    for reference in _references(description):
        place: Any = description
        for part in reference.removeprefix("#/").split("/"):
            assert part in place, reference
            place = place[part]


def _references(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        if isinstance(value.get("$ref"), str):
            yield value["$ref"]
        for one in value.values():
            yield from _references(one)
    elif isinstance(value, list):
        for one in value:
            yield from _references(one)


def test_a_key_is_needed_where_it_says_so(description: Description, small: SmallCorpus, tmp_path: Path) -> None:
    assert {tuple(one) for one in description["security"]} == {("bearer",), ("key",)}
    assert set(description["components"]["securitySchemes"]) == {"bearer", "key"}
    with opened(plan(small.index, tmp_path / "state", auth=True)) as client:
        for path, method, operation in operations(description):
            is_open = operation.get("security") == []
            assert is_open == (path in OPEN), path
            refused = client.request(method, path.replace("{", "").replace("}", "")).status_code == 401
            assert refused != is_open, path


def test_a_service_without_keys_does_not_ask_for_one(small: SmallCorpus, tmp_path: Path) -> None:
    with opened(plan(small.index, tmp_path / "state")) as client:
        assert client.get("/openapi.json").json()["security"] == [{}]
