"""`quoth cluster ingest` on a real cluster: the index of a plain ingest, only what is missing, and nothing lost."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from doors.command_line import HASH, PATIENCE, Ran, environment, failed, finish, run, start, write_files
from end_to_end.samples import EXAMPLES
from quoth.cluster import embedded_batches as parts
from quoth.cluster import index_lock as lock
from quoth.library import Quoth
from quoth.stores.locations import open_location
from quoth.stores.sharded import assign
from quoth.stores.sharded import cluster_manifest as manifest
from stores.object_storage import BUCKET, Storage, object_storage

from .ingest_steps import group, read_and_embedded
from .three_nodes import ThreeNodes

SHARDS = 3
FEW = ("--workers", "2")
"""Processes take a while to start, and the cluster has more processors than the machine."""
DOCUMENTS, SENTENCES = 8, 100
"""Of the corpus whose ingest is interrupted: with two workers, each of so few documents is a part of its own."""
CHILD = Path(__file__).with_name("ingest_child.py")
HELD_BACK = """\
import time
from pathlib import Path
from quoth.cluster.embedding_pipeline import EmbedBatches

embed = EmbedBatches.embed

def held_back(self, batch):
    while batch.runs[0].run.file.doc_id == "00.md" and not Path({go!r}).exists():
        time.sleep(0.02)
    return embed(self, batch)

EmbedBatches.embed = held_back
"""
"""A node that runs this embeds the document `00.md` only once the file `go` exists."""


def cluster_ingest(folder: Path, output: Path | str, *options: str, variables: Mapping[str, str] = HASH) -> Ran:
    """The program itself, with its own words."""
    return finish(start("cluster", "ingest", folder, "--output", output, *options, variables=variables))


def folders(output: Path | str) -> tuple[str, ...]:
    return tuple(shard.folder for shard in manifest.read(open_location(output)).shards)


def on_disk(output: Path) -> set[str]:
    return {path.name for path in output.iterdir() if path.is_dir()}


def test_the_index_is_that_of_a_plain_ingest_and_is_kept_up_to_date(cluster: ThreeNodes, tmp_path: Path) -> None:
    corpus = Path(shutil.copytree(EXAMPLES / "governance", tmp_path / "corpus"))
    (corpus / "bad.pdf").write_bytes(b"%PDF-1.4 nonsense")
    output, plain, at = tmp_path / "shards", tmp_path / "plain", ("--address", cluster.address, *FEW)
    options = ("--profile", "governance")
    pages = [tmp_path / "plain.html", tmp_path / "shards.html"]
    wanted = run("ingest", corpus, "--index", plain, "--report", pages[0], *options)

    first = cluster_ingest(corpus, output, "--shards", str(SHARDS), "--report", str(pages[1]), *options, *at)

    # The same words, the same report, the same index, and the same answers.
    report, of_cluster = (page.read_text(encoding="utf-8") for page in pages)
    assert of_cluster == report.replace(str(plain), str(output))
    assert "bad.pdf" in of_cluster
    assert first.talk == wanted.talk.replace(str(plain), str(output))
    assert (first.code, wanted.code) == (1, 1)  # for the file that cannot be read
    assert same_answers(plain, output)
    assert on_disk(output) == set(folders(output))
    before = folders(output)
    for name in before:
        assert run("status", "--index", output / name).code == 0
    assert manifest.read(open_location(output)).settings["embedding"]["model_name"] == "hash"

    # Nothing to do, and what an ingest of other files has kept stays.
    (corpus / "bad.pdf").unlink()
    other = batch_of_another_ingest(output, tmp_path)
    again = cluster_ingest(corpus, output, *at)
    assert (again.code, folders(output)) == (0, before)
    assert "0 documents read" in again.talk
    assert manifest.read(open_location(output)).info.generation == 1
    assert on_disk(output) == {*before, "work"}
    assert parts.find(open_location(output), other) is not None

    # One document is new, one is renamed and one is gone: only their shards are written.
    ids = sorted(path.relative_to(corpus).as_posix() for path in corpus.rglob("*.md"))
    moved, gone = ids[0], ids[1]
    (corpus / moved).rename(corpus / "renamed.md")
    (corpus / gone).unlink()
    write_files(corpus, {"new.md": "# News\n\nBurning straw is allowed."})
    third = cluster_ingest(corpus, output, "--prune", *at)
    touched = {assign(one, SHARDS) for one in (moved, gone, "renamed.md", "new.md")}
    assert third.code == 0, third.talk
    assert f"renamed {moved} to renamed.md" in third.talk
    assert f"removed {gone}: its file is gone" in third.talk
    assert {number for number in range(SHARDS) if folders(output)[number] != before[number]} == touched
    assert on_disk(output) == {*before, *folders(output), "work"}  # readers may still be in the one before
    assert manifest.read(open_location(output)).info.generation == 2
    assert run("ingest", corpus, "--index", tmp_path / "anew", *options).code == 0
    assert same_answers(tmp_path / "anew", output)


def batch_of_another_ingest(output: Path, tmp_path: Path) -> str:
    """Leave a part as an ingest of another folder does that was interrupted; gives its name."""
    corpus = write_files(tmp_path / "other", {"elsewhere.md": "Harrow it."})
    place, shard = open_location(output), assign("elsewhere.md", SHARDS)
    (part,) = read_and_embedded(place, [group(corpus, shard, shards=SHARDS)], shards=SHARDS).parts
    return part.name


def same_answers(plain: Path, output: Path | str) -> bool:
    """Whether two indexes are the same to whoever asks."""
    questions = EXAMPLES / "governance" / "questions.jsonl"
    one, other = (
        [
            run("status", "--json", "--index", index).object["digest"],
            run("batch", questions, "--index", index).data,
            run("docs", "--json", "--index", index).data,
        ]
        for index in (plain, output)
    )
    assert one[1]
    return one == other


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Enough documents that somebody can come in between."""
    text = "\n\n".join(f"Sentence {number} of a document says {number * 7} about it." for number in range(SENTENCES))
    files = {f"{number:02d}.md": f"# Number {number}\n\n{text}" for number in range(DOCUMENTS)}
    return write_files(tmp_path_factory.mktemp("corpus") / "large", files)


@pytest.fixture(scope="module")
def digest(large: Path) -> str:
    """Of the index that a plain ingest makes of it."""
    return plain_digest(large, large.with_name("plain"))


def child(folder: Path, output: Path, address: str) -> subprocess.Popen[bytes]:
    """With paths that start where it runs, which is not where the processes of the cluster do."""
    there = [os.path.relpath(one, folder.parent) for one in (folder, output)]
    return subprocess.Popen(
        [sys.executable, CHILD, *there, address, str(SHARDS)],
        cwd=folder.parent,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment({}),
    )


@contextmanager
def held_back(cluster: ThreeNodes, go: Path) -> Iterator[None]:
    """Let no ingest in the block end before the file is there."""
    with cluster.altered(HELD_BACK.format(go=str(go)), *cluster.nodes()):
        yield


def until_some_is_kept(program: subprocess.Popen[bytes], output: Path) -> int:
    """Wait until two parts are finished; gives how many are."""
    for _ in range(PATIENCE * 50):
        found = len(list(output.glob("work/*/shard-*/*.json")))
        if found >= 2:
            return found
        assert program.poll() is None, program.communicate()
        time.sleep(0.02)
    raise AssertionError("nothing was ever kept")


def plain_digest(folder: Path, index: Path) -> str:
    assert run("ingest", folder, "--index", index).code == 0
    return str(run("status", "--json", "--index", index).object["digest"])


def content(index: Path) -> dict[str, tuple[object, object, bytes]]:
    """Every document of an index, its sentences, and the bytes of its vectors."""
    with Quoth.open(index).reading() as reader:
        return {
            one.id: (reader.document(one.id), tuple(reader.sentences(one.id)), reader.vectors(one.id).tobytes())
            for one in reader.documents()
        }


def test_a_run_that_was_killed_goes_on_where_it_was(
    cluster: ThreeNodes, large: Path, digest: str, tmp_path: Path
) -> None:
    output = tmp_path / "shards"
    with held_back(cluster, tmp_path / "go"):
        program = child(large, output, cluster.address)
        until_some_is_kept(program, output)
        program.send_signal(signal.SIGKILL)
        program.communicate()
    assert not (output / manifest.NAME).exists()
    kept = len(list(output.glob("work/*/shard-*/*.json")))

    ran = finish(child(large, output, cluster.address))

    assert ran.code == 0, ran.talk
    assert ran.object["digest"] == digest
    assert content(output) == content(large.with_name("plain"))
    assert ran.object["written"] == DOCUMENTS
    assert ran.object["embedded"] <= (DOCUMENTS - kept) * SENTENCES
    assert not (output / "work").exists()


def test_a_node_that_dies_costs_time_and_nothing_else(
    cluster: ThreeNodes, large: Path, digest: str, tmp_path: Path
) -> None:
    output = tmp_path / "shards"
    with held_back(cluster, tmp_path / "go"):
        program = child(large, output, cluster.address)
        until_some_is_kept(program, output)
        cluster.kill(cluster.nodes()[-1])
        (tmp_path / "go").touch()
        ran = finish(program)

    assert ran.code == 0, ran.talk
    assert ran.object["digest"] == digest
    assert content(output) == content(large.with_name("plain"))
    assert run("verify", "--index", output).code == 0


@pytest.fixture(scope="module")
def storage() -> Iterator[Storage]:
    with object_storage() as found:
        yield found


def test_into_object_storage_with_a_cluster_of_its_own(storage: Storage, tmp_path: Path) -> None:
    corpus = write_files(tmp_path / "corpus", {f"{number}.md": f"Sow number {number} at 4 cm." for number in range(5)})
    uri = f"s3://{BUCKET}/index"
    storage.client.put_object(Bucket=BUCKET, Key="index/shard-000-0badf00d/quoth.db", Body=b"half of it")
    storage.client.put_object(Bucket=BUCKET, Key="index/work/0123/shard-000/lost.parquet", Body=b"half of it")

    ran = cluster_ingest(corpus, uri, "--shards", "2", "--workers", "1", variables={**HASH, **storage.variables})

    assert (ran.code, ran.data) == (0, b""), ran.talk
    assert ran.talk.startswith("5 documents read, 0 unchanged; the index at s3://bucket/index holds 5 documents"), (
        ran.talk
    )
    cluster = manifest.read(open_location(uri))
    assert cluster.info.digest == plain_digest(corpus, tmp_path / "plain")
    named = {name for shard in cluster.shards for name in shard.files}
    # Other tests keep indexes in the same bucket.
    stored = {name for name in storage.names() if name.startswith("index/")}
    assert stored == {f"index/{name}" for name in (*named, manifest.NAME, lock.NAME)}
    answered = run("ask", "How deep is number 3 sown?", "--index", uri, variables={**HASH, **storage.variables})
    assert answered.code == 0


BLIND = "from quoth.stores import locations\nlocations._FolderLocation.get = lambda self, name: None\n"


def test_a_node_that_does_not_see_the_output_is_named(cluster: ThreeNodes, tmp_path: Path) -> None:
    corpus = write_files(tmp_path / "corpus", {"a.md": "Sow it."})

    with cluster.altered(BLIND, cluster.nodes()[-1]):
        ran = cluster_ingest(corpus, tmp_path / "shards", "--address", cluster.address, *FEW)

    assert failed(ran, "does not see what is written to", "Give every node the same folder")
    assert {path.name for path in (tmp_path / "shards").iterdir()} == {lock.NAME}


def test_ctrl_c_says_how_to_go_on(cluster: ThreeNodes, large: Path, tmp_path: Path) -> None:
    output = tmp_path / "shards"
    with held_back(cluster, tmp_path / "go"):
        program = start("cluster", "ingest", large, "--output", output, "--address", cluster.address, *FEW)
        until_some_is_kept(program, output)
        program.send_signal(signal.SIGINT)
        ran = finish(program)

    assert (ran.code, ran.data) == (130, b"")
    assert ran.talk.startswith("interrupted: "), ran.talk
    assert "what was embedded is kept; run the same command to go on\n" in ran.talk
    assert not (output / manifest.NAME).exists()
