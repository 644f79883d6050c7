"""The dashboard and the alerts ask only for what the service exports, and for all of it."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from deploy.dockerfile import ROOT
from quoth.http.telemetry import scrape

DASHBOARD: dict[str, Any] = json.loads((ROOT / "deploy" / "grafana" / "quoth.json").read_text(encoding="utf-8"))
ALERTS: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "prometheus" / "alerts.yaml").read_text(encoding="utf-8"))
PANELS = [panel for panel in DASHBOARD["panels"] if panel["type"] != "row"]
RULES = [rule for group in ALERTS["groups"] for rule in group["rules"]]

LABELS = {
    "quoth_http_requests_total": {"method", "route", "status"},
    "quoth_http_request_seconds": {"route"},
    "quoth_stage_seconds": {"path", "stage"},
    "quoth_outcomes_total": {"outcome", "reason"},
    "quoth_retrievals_total": {"status"},
    "quoth_degraded_total": {"part"},
    "quoth_cache_requests_total": {"cache", "result"},
    "quoth_corpus_requests_total": {"corpus", "route", "status"},
    "quoth_refused_total": {"why"},
    "quoth_jobs_total": {"kind", "state"},
    "quoth_build_info": {"version"},
}
_ADDED = {"job", "instance", "le"}
"""Labels that Prometheus adds, and the one of histograms."""
_METRIC = re.compile(r"\bquoth_\w+")


def base(name: str) -> str:
    return re.sub(r"_(bucket|sum|count)$", "", name)


def exported() -> Iterator[str]:
    """Yield the names of all series in a scrape."""
    index = dict.fromkeys(("age_seconds", "documents", "sentences", "bytes"), 1.0)
    for name, kind in re.findall(r"^# TYPE (\w+) (\w+)$", scrape(index, version="1").decode(), re.MULTILINE):
        if kind == "histogram":
            yield from (f"{name}_{suffix}" for suffix in ("bucket", "count", "sum"))
        elif not name.endswith("_created"):
            yield name


NAMES = frozenset(exported())


def expressions() -> Iterator[Any]:
    for panel in PANELS:
        for target in panel["targets"]:
            yield pytest.param(target["expr"], id=f"panel-{panel['id']}{target['refId']}")
    for rule in RULES:
        yield pytest.param(rule["expr"], id=rule["alert"])


EXPRESSIONS = list(expressions())


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_an_expression_uses_what_is_exported(expression: str) -> None:
    names = set(_METRIC.findall(expression))

    assert names
    assert names <= NAMES
    allowed = _ADDED | {label for name in names for label in LABELS.get(base(name), set())}
    matched = re.findall(r"[{,]\s*(\w+)\s*(?:=~|!~|!=|=)", expression)
    grouped = [label for group in re.findall(r"\bby \(([^)]*)\)", expression) for label in group.split(", ")]
    assert {*matched, *grouped} <= allowed


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_brackets_are_balanced(expression: str) -> None:
    left = re.sub(r'"[^"]*"', "", expression)
    left = re.sub(r"[^()\[\]{}]", "", left)
    while left != (left := re.sub(r"\(\)|\[\]|\{\}", "", left)):
        pass

    assert left == ""


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_a_quantile_is_of_buckets_and_a_rate_of_what_only_grows(expression: str) -> None:
    for name in re.findall(r"(?:rate|increase)\((\w+)", expression):
        assert re.search(r"_(total|bucket|sum|count)$", name), name
    for inside in re.findall(r"histogram_quantile\([\d.]+, sum by \(([^)]*)\)", expression):
        assert "le" in inside.split(", ")


def test_the_dashboard_shows_everything_that_is_exported() -> None:
    shown = {base(name) for panel in PANELS for target in panel["targets"] for name in _METRIC.findall(target["expr"])}

    assert shown == {base(name) for name in NAMES}


def test_the_data_source_is_chosen_by_whoever_opens_the_dashboard() -> None:
    variables = {one["name"]: one for one in DASHBOARD["templating"]["list"]}
    places = [panel["datasource"] for panel in PANELS]
    places += [target["datasource"] for panel in PANELS for target in panel["targets"]]

    assert variables["datasource"]["type"] == "datasource"
    assert all(place == {"type": "prometheus", "uid": "${datasource}"} for place in places)
    assert set(variables) == {"datasource", "job", "instance"}
    assert DASHBOARD["id"] is None


def test_panels_have_their_own_ids_and_places() -> None:
    ids = [panel["id"] for panel in DASHBOARD["panels"]]
    taken = [
        (x, y)
        for panel in DASHBOARD["panels"]
        for x in range(panel["gridPos"]["x"], panel["gridPos"]["x"] + panel["gridPos"]["w"])
        for y in range(panel["gridPos"]["y"], panel["gridPos"]["y"] + panel["gridPos"]["h"])
    ]

    assert len(set(ids)) == len(ids)
    assert len(set(taken)) == len(taken)
    assert max(x for x, _ in taken) == 23


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule["alert"])
def test_an_alert_says_what_is_wrong_and_what_to_look_at(rule: dict[str, Any]) -> None:
    assert set(rule) <= {"alert", "expr", "for", "labels", "annotations"}
    assert rule["labels"]["severity"] in {"critical", "warning"}
    assert set(rule["annotations"]) == {"summary", "description"}
    assert re.fullmatch(r"\d+[smhd]", rule.get("for", "0s"))
    assert rule["alert"].startswith("Quoth")


def test_alerts_have_names_of_their_own() -> None:
    names = [rule["alert"] for rule in RULES]

    assert len(set(names)) == len(names)
