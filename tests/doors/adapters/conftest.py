"""An open index for the adapters, and no network: what a framework would send home must not leave the machine."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from quoth import Quoth

from ..small_corpus import SmallCorpus

os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"  # read when haystack is imported, so before any test

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
SETTINGS = {"embedding.model_name": "hash", "rerank.kind": "late"}


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    tried: list[object] = []

    def refuse(*arguments: object) -> NoReturn:
        tried.append(arguments)  # a framework that swallows its own errors is found out below
        raise OSError("no network in these tests")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    yield
    assert tried == []


@pytest.fixture(scope="session")
def quoth(small: SmallCorpus) -> Quoth:
    return Quoth.open(small.index, settings=SETTINGS)


@pytest.fixture(scope="session")
def rules(tmp_path_factory: pytest.TempPathFactory) -> Quoth:
    """Two rules in force that disagree, and the one that the second has replaced."""
    place = tmp_path_factory.mktemp("rules")
    (place / "corpus").mkdir()
    for name in ("corpus.yaml", "declaration-ccr.md", "amendment-2022-fences.md", "city-code-extract.md"):
        shutil.copy(EXAMPLES / "governance" / name, place / "corpus" / name)
    return Quoth.build(place / "corpus", index=place / "index", profile="governance", settings=SETTINGS)
