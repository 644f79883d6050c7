"""Every command that the deployment files start is one that Quoth knows, and every variable a setting with a value."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

from deploy.dockerfile import DOCKERFILE, ROOT, stages
from deploy.manifests import HOME, OVERLAYS, containers, rendered, seen_by
from quoth.cli import make_app
from quoth.overrides import NOT_SETTINGS, environment_settings, with_strings
from quoth.settings import Settings

FINAL = stages(DOCKERFILE.read_text(encoding="utf-8"))[-1]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text(encoding="utf-8"))
FILES = [
    ROOT / "docs" / "deployment.md",
    *sorted(path for path in (ROOT / "deploy").rglob("*") if path.is_file() and not path.name.startswith(".")),
]
_STANDING_FOR = re.compile(r"\$\{\w+[^}]*\}")


def started() -> Iterator[Any]:
    """The arguments of `quoth` in the image, in compose and in the manifests, each with its variables."""
    yield pytest.param(FINAL.only("CMD").words, FINAL.environment, id="image")
    for name, service in COMPOSE["services"].items():
        if service["image"].startswith("quoth:"):
            yield pytest.param(service["command"], service["environment"], id=f"compose-{name}")
    for name in OVERLAYS:
        resources = rendered(HOME / name)
        settings = {
            key: value
            for one in resources
            if (one["kind"], one["metadata"]["name"]) == ("ConfigMap", "quoth-settings")
            for key, value in one["data"].items()
        }
        for one in (container for resource in resources for container in containers(resource)):
            if "args" in one:
                yield pytest.param(one["args"], seen_by(one, settings), id=f"{name}-{one['name']}")


STARTED = list(started())


@pytest.mark.parametrize(("words", "variables"), STARTED)
def test_the_command_exists_with_its_options(words: list[str], variables: dict[str, str]) -> None:
    group: Any = typer.main.get_command(make_app())
    command = group.commands[words[0]]
    options = {spelling: one for one in command.params for spelling in (*one.opts, *one.secondary_opts)}
    rest = iter(words[1:])
    given = []
    for word in rest:
        if word.startswith("-"):
            assert word in options
            if not options[word].is_flag:
                next(rest)
        else:
            given.append(word)
    places = [one for one in command.params if one.param_type_name == "argument"]
    assert len([one for one in places if one.required]) <= len(given)
    assert not given or places


@pytest.mark.parametrize(("words", "variables"), STARTED)
def test_the_settings_exist_and_their_values_are_allowed(words: list[str], variables: dict[str, str]) -> None:
    plain = {name: _STANDING_FOR.sub("x", value) for name, value in variables.items()}

    with_strings(Settings(), environment_settings(plain), source=words[0])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_every_variable_that_is_named_is_a_setting(path: Path) -> None:
    for name in set(re.findall(r"\bQUOTH_[A-Z_]+\b", path.read_text(encoding="utf-8"))):
        assert name in NOT_SETTINGS or environment_settings({name: "1"}), name


def test_all_the_work_of_a_deployment_is_covered() -> None:
    assert {one.values[0][0] for one in STARTED} == {"serve", "migrate", "ingest", "batch", "verify"}
