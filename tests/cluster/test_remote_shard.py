"""What is kept of what shards said, who is asked when, and what a Serve config may say."""

from __future__ import annotations

import pickle
from pathlib import Path
from types import SimpleNamespace

import pytest

from quoth.cluster.remote_shard import ReplyCache, ShardHealth
from quoth.cluster.serving import app, serving_plan
from quoth.errors import NoIndex, SettingsError, ShardLost, ShardMissing
from quoth.http.guard.api_keys import keys_path
from quoth.overrides import NO_OVERRIDES

from .remote_shards import corpus, shards_of


def test_no_more_is_kept_than_there_is_room_for() -> None:
    kept = ReplyCache(10_000)
    for number in range(100):
        kept.put(number, f"value {number}", size=800)
        kept.get(0)
    assert kept.get(0) == "value 0"  # it was asked for all the time
    assert [number for number in range(100) if kept.get(number) is not None] == [0, *range(91, 100)]
    kept.put("large", "x", size=5_000)
    assert kept.get("large") is None
    assert kept.get(99) == "value 99"
    kept.put(99, "another", size=800)
    assert kept.get(99) == "another"


def test_a_lost_shard_is_left_alone_for_longer_each_time(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 1000.0
    monkeypatch.setattr("quoth.cluster.remote_shard.time", SimpleNamespace(monotonic=lambda: now))
    well, shard = ShardHealth("shard 1 of 2"), ShardHealth("shard 2 of 2")
    well.answered()
    shard.lost("gone")
    assert (well.lost_at, shard.why) == (None, "gone")
    waited = []
    for _ in range(8):
        before = now
        while not shard.due():
            now += 0.1
        waited.append(round(now - before, 1))
        shard.back()
        assert (shard.lost_at, shard.why) == (None, "")
        shard.lost("gone again")
    assert waited[:3] == pytest.approx([0.5, 1.0, 2.0], abs=0.15)
    assert max(waited) <= 10.2
    shard.back()
    now += 11
    shard.answered()  # it has been well for a while
    shard.lost("gone")
    now += 0.6
    assert shard.due()
    assert (well.state().up, well.state().calls, well.state().faults) == (True, 1, 0)
    assert (shard.state().up, shard.state().why) == (False, "gone")


def test_an_answer_that_was_on_its_way_does_not_bring_a_shard_back() -> None:
    shard = ShardHealth("shard 1 of 1")
    shard.lost("late")
    shard.answered()
    assert shard.lost_at is not None


@pytest.mark.parametrize("kind", [ShardMissing, ShardLost])
def test_the_error_goes_from_process_to_process(kind: type[ShardMissing]) -> None:
    sent = pickle.loads(pickle.dumps(kind("shard 3 of 8", "it is gone")))  # noqa: S301 - made here
    assert (type(sent), str(sent)) == (kind, "shard 3 of 8 of the index cannot be asked now: it is gone")


@pytest.fixture(autouse=True)
def _no_foreign_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QUOTH_TEST_PARTS", raising=False)  # CI's own word, and no setting


@pytest.mark.parametrize(
    ("args", "said"),
    [
        ({}, "'cluster' is missing"),
        ({"cluster": "x", "shards": 2}, "unknown argument 'shards'"),
        ({"cluster": "x", "auth": False}, "unknown argument 'auth'"),
        ({"cluster": "x", "replicas": "two"}, "replicas is 'two'"),
        ({"cluster": "x", "max_replicas": 1.5}, "max_replicas is 1.5"),
        ({"cluster": "x", "replicas": 3, "max_replicas": 1}, "3 replicas, and at most 1"),
        ({"cluster": "x", "settings": {"nothing": {}}}, "unknown section 'nothing'"),
    ],
)
def test_what_a_serve_config_says_wrong_is_named(args: dict[str, object], said: str) -> None:
    with pytest.raises(SettingsError, match=said):
        app(args)


def test_a_serve_config_heeds_the_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QUOTH_SERVICE_SHARD_SECONDS", "much")
    with pytest.raises(SettingsError, match="shard_seconds"):
        app({"cluster": str(tmp_path)})


def test_a_serve_config_needs_an_index(tmp_path: Path) -> None:
    with pytest.raises(NoIndex):
        app({"cluster": str(tmp_path)})


def test_a_plan_is_meant_from_where_it_was_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shards_of(corpus(tmp_path / "corpus"), tmp_path / "shards", shards=3)
    monkeypatch.chdir(tmp_path)
    given = serving_plan("shards", NO_OVERRIDES, replicas=2, max_replicas=None, auth=True)
    assert (given.shards, given.replicas, given.max_replicas) == (3, 2, 2)
    assert given.memory(0) == 1_300 * given.sentences[0] > 0
    assert given.plan.index == str(tmp_path / "shards")
    assert given.plan.state == tmp_path / ".quoth-service"
    assert keys_path(given.plan.settings) == tmp_path / ".quoth-service" / "keys.json"
