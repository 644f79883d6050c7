"""What cannot be ingested on a cluster: each is a sentence with a next step, and nothing is half-published."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from doors.command_line import HASH, MINILM, Ran, failed, finish, run, start, write_files
from quoth.cluster import index_lock as lock
from quoth.domain.profile import load_profile
from quoth.errors import NoIndex
from quoth.settings import EmbeddingSettings
from quoth.stores.locations import open_location
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.wiring import open_embedder
from stores.fakes import split
from stores.shards import write_shards


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_files(tmp_path / "corpus", {"a.md": "Sow it.", "b.md": "Roll it."})


def ingest(corpus: Path, output: Path, *options: str, variables: Mapping[str, str] = HASH) -> Ran:
    """In this process, and with no cluster to be found: all of this is noticed before one is needed."""
    nowhere = ("--address", "127.0.0.1:1")
    return run("cluster", "ingest", corpus, "--output", output, *options, *nowhere, variables=variables)


def published(output: Path) -> bool:
    try:
        manifest.read(open_location(output))
    except NoIndex:
        return False
    return True


@pytest.fixture
def output(tmp_path: Path) -> Path:
    """An index of two shards."""
    profile = load_profile("general")
    place = tmp_path / "shards"
    write_shards(
        place,
        [split("a.md", "Sow it."), split("b.md", "Roll it.")],
        shards=2,
        embedder=open_embedder(EmbeddingSettings(model_name="hash")),
        profile=(profile.name, profile.source),
        progress=None,
    )
    return place


def test_two_ingests_to_one_output(corpus: Path, tmp_path: Path) -> None:
    with lock.held(open_location(tmp_path / "out")):
        assert failed(ingest(corpus, tmp_path / "out"), "another ingest (process", "is writing the index at")
    assert not published(tmp_path / "out")


def test_another_number_of_shards(corpus: Path, output: Path) -> None:
    ran = ingest(corpus, output, "--shards", "3")

    assert failed(ran, "has 2 shards, not 3", "Leave --shards 3 out, or give another --output")


def test_another_model(corpus: Path, output: Path) -> None:
    assert failed(ingest(corpus, output, variables=MINILM), "was made with hash", "give another --output")


def test_another_profile_needs_every_document(corpus: Path, output: Path) -> None:
    (corpus / "b.md").unlink()

    assert failed(ingest(corpus, output, "--profile", "agriculture"), "the index holds 1 other documents")


def test_a_folder_with_an_index_that_has_no_shards(corpus: Path, tmp_path: Path) -> None:
    assert run("ingest", corpus, "--index", tmp_path / "plain").code == 0

    assert failed(ingest(corpus, tmp_path / "plain"), "holds an index that is not made of shards", "--output")


def test_an_output_that_cannot_be_written(corpus: Path) -> None:
    assert failed(ingest(corpus, corpus / "a.md" / "out"), "cannot be written")


def test_an_output_of_another_kind(corpus: Path) -> None:
    ran = run("cluster", "ingest", corpus, "--output", "ftp://host/index")

    assert failed(ran, "begins with 'ftp:'", "s3://bucket/prefix")


def test_no_documents(tmp_path: Path) -> None:
    write_files(tmp_path / "corpus", {"a.xyz": "?"})

    assert failed(ingest(tmp_path / "corpus", tmp_path / "out"), "no documents found (only 1 .xyz)")
    assert not (tmp_path / "out").exists()


def test_a_manifest_that_cannot_be_read(corpus: Path, output: Path) -> None:
    (output / manifest.NAME).write_bytes(b"{")

    assert failed(ingest(corpus, output), "cluster.json cannot be read", "Remove cluster.json there and ingest again")


def test_a_shard_that_is_gone(corpus: Path, output: Path) -> None:
    """Even where nothing changed, and nobody would have looked into it."""
    shutil.rmtree(output / "shard-001")

    assert failed(ingest(corpus, output), "shard-001/", "is missing or is not what was written", "Remove cluster.json")


def test_a_shard_that_was_cut(corpus: Path, output: Path) -> None:
    database = output / "shard-000" / "quoth.db"
    database.write_bytes(database.read_bytes()[:-1])

    assert failed(ingest(corpus, output), "shard-000/quoth.db is missing or is not what was written")


def test_a_listing_that_was_changed(corpus: Path, output: Path) -> None:
    (output / "shard-001.documents.jsonl").write_bytes(b"")

    assert failed(ingest(corpus, output), "shard-001.documents.jsonl is missing or is not what was written")


def test_a_cluster_that_cannot_be_reached(corpus: Path, output: Path) -> None:
    before = (output / manifest.NAME).read_bytes()

    ran = finish(start("cluster", "ingest", corpus, "--output", output, "--address", "127.0.0.1:1"))

    assert failed(ran, "the Ray cluster at 127.0.0.1:1 cannot be reached", "--address")
    assert (output / manifest.NAME).read_bytes() == before
