"""What an index of shards says about itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from doors.command_line import failed, run
from quoth.stores.sharded import cluster_manifest as manifest
from stores.contract import CORPUS
from stores.fakes import PROFILE, HashEmbedder
from stores.shards import write_shards


@pytest.fixture
def index(tmp_path: Path) -> Path:
    place = tmp_path / "index"
    write_shards(place, CORPUS, shards=3, embedder=HashEmbedder(), profile=PROFILE, progress=None)
    return place


def test_the_shards_add_up_to_the_whole(index: Path) -> None:
    about = run("cluster", "status", index, "--json").object

    assert [one["shard"] for one in about["shards"]] == [1, 2, 3]
    for key in ("documents", "sentences", "bytes"):
        assert about[key] == sum(one[key] for one in about["shards"]) > 0
    assert about["digest"] == manifest.read(index).info.digest
    assert "faults" not in about


def test_people_get_a_line_for_each_shard(index: Path) -> None:
    shown = run("cluster", "status", index, "--check")

    assert shown.code == 0
    assert [line.split()[:2] for line in shown.text.splitlines() if line.startswith("shard")] == [
        ["shard", "1"],
        ["shard", "2"],
        ["shard", "3"],
    ]
    assert "every file is what was written" in shown.text


def test_a_file_that_was_changed_and_one_that_is_gone_are_named(index: Path) -> None:
    first, second = manifest.read(index).shards[:2]
    with (index / first.folder / "quoth.db").open("ab") as file:
        file.write(b"x")
    (index / second.listing).unlink()

    checked = run("cluster", "status", index, "--check", "--json")

    assert checked.code == 1
    assert checked.object["faults"] == [
        f"{first.folder}/quoth.db is not what was written",
        f"{second.listing} is missing",
    ]


def test_where_no_shards_are_that_is_said(tmp_path: Path) -> None:
    assert failed(run("cluster", "status", tmp_path), "there is no index")
