"""The services of one machine: the file is valid, hardened, and starts in an order that works."""

from __future__ import annotations

import importlib.resources
import json
import re
from typing import Any

import jsonschema
import pytest
import yaml

from deploy.dockerfile import DOCKERFILE, ROOT, stages
from quoth import __version__
from quoth.settings import ServiceSettings

SOURCE = (ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load(SOURCE)
SERVICES: dict[str, Any] = COMPOSE["services"]
OURS = ("quoth", "migrate", "ingest")


def test_the_file_is_as_the_specification_wants_it() -> None:
    schemas = importlib.resources.files("check_jsonschema") / "builtin_schemas" / "vendor"
    schema = json.loads((schemas / "compose-spec.json").read_text(encoding="utf-8"))

    jsonschema.Draft7Validator(schema).validate(COMPOSE)


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_can_do_no_more_than_it_must(name: str) -> None:
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert "privileged" not in service
    assert "cap_add" not in service
    assert any(place.startswith("/tmp") for place in service["tmpfs"])  # noqa: S108 - inside a container
    assert {"cpus", "memory"} <= set(service["deploy"]["resources"]["limits"])
    assert service["pids_limit"] > 0


@pytest.mark.parametrize("name", SERVICES)
def test_an_image_has_a_version(name: str) -> None:
    _, _, tag = SERVICES[name]["image"].partition(":")

    assert tag not in {"", "latest"}
    assert name not in OURS or tag == __version__


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_says_whether_it_is_healthy_or_ends(name: str) -> None:
    service = SERVICES[name]

    assert ("test" in service["healthcheck"]) != (service["restart"] == "no")


def test_the_service_waits_for_what_it_needs() -> None:
    assert SERVICES["quoth"]["depends_on"] == {
        "postgres": {"condition": "service_healthy"},
        "migrate": {"condition": "service_completed_successfully"},
    }
    assert "profiles" not in SERVICES["migrate"]
    assert SERVICES["ingest"]["profiles"] == ["ingest"]


def test_passwords_come_from_outside_and_have_no_default() -> None:
    secrets = re.findall(r"\$\{(\w*PASSWORD)([^}]*)\}", SOURCE)

    assert {name for name, _ in secrets} == {"DB_PASSWORD"}
    assert all(rest.startswith(":?") for _, rest in secrets)
    variables = [(key, value) for service in SERVICES.values() for key, value in service.get("environment", {}).items()]
    assert all("${" in value for key, value in variables if re.search(r"PASSWORD|AUTH$", key))


def test_only_the_service_is_reached_from_outside() -> None:
    open_to_all = {name for name, service in SERVICES.items() if service.get("ports")}

    assert open_to_all == {"quoth"}
    assert SERVICES["quoth"]["ports"] == ["${BIND:-127.0.0.1}:8080:8080"]
    assert COMPOSE["networks"]["data"] == {"internal": True}
    assert all(service["networks"] == ["data"] for name, service in SERVICES.items() if name != "quoth")


def test_the_health_check_is_that_of_the_image() -> None:
    final = stages(DOCKERFILE.read_text(encoding="utf-8"))[-1]
    check = json.loads(final.only("HEALTHCHECK").body.removeprefix("CMD "))

    assert SERVICES["quoth"]["healthcheck"]["test"] == ["CMD", *check]


def test_requests_under_way_have_time_to_end() -> None:
    grace = float(SERVICES["quoth"]["environment"]["QUOTH_SERVICE_GRACE_SECONDS"])

    assert grace == ServiceSettings().grace_seconds
    # For requests, and some seconds more for an upload that is being read.
    assert float(SERVICES["quoth"]["stop_grace_period"].removesuffix("s")) > grace + 5


def test_what_must_last_is_on_volumes() -> None:
    final = stages(DOCKERFILE.read_text(encoding="utf-8"))[-1]
    state = final.environment["QUOTH_SERVICE_STATE"]

    assert f"state:{state}" in SERVICES["quoth"]["volumes"]
    assert SERVICES["postgres"]["volumes"] == ["database:/var/lib/postgresql/data"]
    assert set(COMPOSE["volumes"]) == {"state", "database"}


def test_the_documents_are_where_they_were_ingested_from() -> None:
    shared = [mount for name in ("quoth", "ingest") for mount in SERVICES[name]["volumes"] if isinstance(mount, dict)]

    assert len(shared) == 2
    assert shared[0] == shared[1]
    assert shared[0]["read_only"] is True
    assert shared[0]["target"] in SERVICES["ingest"]["command"]
