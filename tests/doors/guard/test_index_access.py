"""What an asker may see of an index, also where the store cannot be limited."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from quoth.errors import LabelsUnsupported
from quoth.http.guard.api_keys import KeyScope
from quoth.http.guard.askers import ANYBODY, NOBODY, Asker
from quoth.http.guard.index_access import IndexAccess
from quoth.library import Quoth
from quoth.overrides import Overrides
from quoth.protocols import Reader
from quoth.settings import StoreSettings
from quoth.stores.embedded import EmbeddedStore
from quoth.types import EVERYTHING, Access
from quoth.wiring import open_store

from ..command_line import write_files
from ..small_corpus import FILES

HASHED = {"embedding.model_name": "hash"}
WEB = Asker("3f9a12c4", "web", frozenset({KeyScope.READ}), frozenset({"board"}), per_minute=None)


class _Unlimited(EmbeddedStore):
    """Cannot show a part of an index."""

    @contextmanager
    def read(self, access: Access = EVERYTHING) -> Iterator[Reader]:
        if access.labels is not None:
            raise LabelsUnsupported("all or nothing", hint="")
        with super().read() as reader:
            yield reader


@pytest.fixture
def index(tmp_path: Path) -> Path:
    Quoth.build(write_files(tmp_path / "files", FILES), index=tmp_path / "index", settings=HASHED)
    return tmp_path / "index"


def unlimited(index: Path) -> Quoth:
    opened = open_store(index, StoreSettings())
    assert isinstance(opened, EmbeddedStore)
    opened.__class__ = _Unlimited
    return Quoth(opened, Overrides({}, {}, {"embedding.model_name": "hash"}))


def test_labels_and_the_index_decide_what_is_seen(index: Path) -> None:
    accesses = IndexAccess(Quoth.open(index, settings=HASHED))
    closed = IndexAccess(Quoth.open(index, settings={**HASHED, "access.default": "closed"}))

    assert accesses.of(WEB) == Access(frozenset({"board"}), unlabelled=True)
    assert closed.of(WEB) == Access(frozenset({"board"}), unlabelled=False)
    assert accesses.of(ANYBODY) == EVERYTHING
    assert accesses.of(NOBODY) == Access(frozenset(), unlabelled=False)


def test_a_store_that_cannot_be_limited_shows_all_or_nothing(index: Path) -> None:
    quoth = unlimited(index)
    accesses = IndexAccess(quoth)
    assert accesses.of(WEB) == EVERYTHING
    assert quoth.seen_by(accesses.of(WEB)).document("canola.md") is not None
    with pytest.raises(LabelsUnsupported):
        quoth.seen_by(accesses.of(NOBODY)).documents()

    Quoth.open(index, settings=HASHED).relabel({"wheat.md": ["board"]})
    with pytest.raises(LabelsUnsupported):
        quoth.seen_by(IndexAccess(quoth).of(WEB)).documents()
    assert len(quoth.seen_by(accesses.of(ANYBODY)).documents()) == len(FILES)


def test_labels_that_are_put_on_a_published_index_count_within_a_minute(index: Path) -> None:
    quoth, now = unlimited(index), [0.0]
    accesses = IndexAccess(quoth, clock=lambda: now[0])
    assert accesses.of(WEB) == EVERYTHING

    Quoth.open(index, settings=HASHED).relabel({"wheat.md": ["board"]})
    now[0] = 60.0
    with pytest.raises(LabelsUnsupported):
        quoth.seen_by(accesses.of(WEB)).documents()
