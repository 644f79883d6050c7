from __future__ import annotations

import json
import logging
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from quoth.errors import IndexBusy, IndexDamaged, IndexFault, IndexMismatch, IndexUnwritable, NoIndex
from quoth.protocols import Progress
from quoth.stores.disk_faults import connect_readonly
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded import sqlite_schema as schema
from quoth.types import Access, Filters, IndexInfo, Query, SplitDocument, Vectors

from .access_contract import AccessContract
from .contract import CORPUS, NewStore, StoreContract, question, search, texts, write
from .fakes import HashEmbedder, numbered, split
from .refusals import check_refusals

TESTS = Path(__file__).parent.parent


class TestContract(StoreContract):
    @pytest.fixture(scope="class")
    @classmethod
    def new_store(cls, tmp_path_factory: pytest.TempPathFactory) -> NewStore:
        return lambda: EmbeddedStore(tmp_path_factory.mktemp("index"))


class TestAccessContract(AccessContract):
    @pytest.fixture(scope="class")
    @classmethod
    def new_store(cls, tmp_path_factory: pytest.TempPathFactory) -> NewStore:
        return lambda: EmbeddedStore(tmp_path_factory.mktemp("index"))


class TestContractThroughFaiss(StoreContract):
    @pytest.fixture(scope="class")
    @classmethod
    def new_store(cls, tmp_path_factory: pytest.TempPathFactory) -> NewStore:
        pytest.importorskip("faiss")
        return lambda: EmbeddedStore(tmp_path_factory.mktemp("index"), faiss_threshold=2)


Child = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="module")
def child() -> Iterator[Child]:
    """Runs a command of `child.py` in a process of its own."""
    with subprocess.Popen(
        [sys.executable, "-m", f"{__package__}.child"],
        cwd=TESTS,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as commands:
        assert commands.stdin is not None
        assert commands.stdout is not None
        told, said = commands.stdin, commands.stdout

        def run(*arguments: str) -> subprocess.CompletedProcess[str]:
            print(json.dumps(arguments), file=told, flush=True)
            return subprocess.CompletedProcess(arguments, *json.loads(said.readline()))

        yield run


def serves_the_old_generation(index: Path) -> bool:
    with EmbeddedStore(index).read() as reader:
        return [item.id for item in reader.documents()] == ["old.md"] and texts(
            reader.search(question("old", vector="old"))
        ) == {"The old sentence."}


@pytest.fixture
def index(tmp_path: Path) -> Path:
    place = tmp_path / "index"
    write(EmbeddedStore(place), [split("old.md", "The old sentence.")])
    return place


def generations(index: Path) -> list[str]:
    return sorted(path.name for path in (index / "generations").iterdir())


def test_refused_files_are_remembered_until_they_are_looked_at_again(tmp_path: Path) -> None:
    check_refusals(EmbeddedStore(tmp_path))


def test_an_index_from_before_readings_is_read_and_written(index: Path) -> None:
    store = EmbeddedStore(index)
    with closing(sqlite3.connect(index / "quoth.db")) as before, before:
        before.executescript("ALTER TABLE documents DROP COLUMN reading; DROP TABLE refused_files;")
    with store.read() as reader:
        assert all(info.reading is None for info in reader.documents())
        count = reader.info.documents
    assert store.refused_files() == ()

    check_refusals(store)
    with store.read() as reader:
        assert reader.info.documents == count + 1


def test_an_index_from_before_labels_is_unlabelled_until_it_gets_some(index: Path) -> None:
    store = EmbeddedStore(index)
    write(store, [split("new.md", "The new sentence.")])
    with closing(sqlite3.connect(index / "quoth.db")) as before, before:
        before.executescript(
            "ALTER TABLE documents DROP COLUMN access; ALTER TABLE documents DROP COLUMN stated_access;"
        )
    for path in index.rglob("lengths.npy"):
        path.unlink()
    for path in index.rglob("generations/*/manifest.json"):
        listed = json.loads(path.read_text(encoding="utf-8"))
        listed["parts"] = {name: entry for name, entry in listed["parts"].items() if not name.endswith("lengths.npy")}
        path.write_text(json.dumps(listed), encoding="utf-8")
    nobody, board = Access(frozenset(), unlabelled=True), Access(frozenset({"board"}), unlabelled=False)

    with store.read(nobody) as reader:
        assert texts(reader.search(question("sentence"))) == {"The old sentence.", "The new sentence."}
    with store.read(board) as reader:
        assert reader.documents() == ()
    with store.read() as reader:
        assert [info.access for info in reader.documents()] == [(), ()]
    assert {known.access for known in store.stored_documents().values()} == {()}

    store.relabel({"new.md": ["board"]})
    with store.read(nobody) as reader, store.read(board) as other:
        assert texts(reader.search(question("sentence"))) == {"The old sentence."}
        assert texts(other.search(question("sentence"))) == {"The new sentence."}
    alone = EmbeddedStore(index.with_name("alone"))
    write(alone, [split("new.md", "The new sentence.")])
    with store.read(board) as reader, alone.read() as expected:
        query = question("sentence", "new", vector="new")
        assert reader.search(query).items == expected.search(query).items


def test_labels_can_change_while_another_process_writes(index: Path) -> None:
    def slow() -> Iterator[SplitDocument]:
        EmbeddedStore(index).relabel({"old.md": ["board"]})
        yield split("new.md", "The new sentence.")
        yield split("old.md", "The old sentence, changed.")

    store = EmbeddedStore(index)
    write(store, slow())

    assert {doc_id: known.access for doc_id, known in store.stored_documents().items()} == {
        "new.md": (),
        "old.md": ("board",),
    }


# Processes that die


def test_what_was_embedded_before_a_kill_is_not_embedded_again(index: Path, child: Child) -> None:
    died = child("die_while_embedding", str(index), "4500")  # the first chunk of 6,000 is done

    assert died.returncode == -signal.SIGKILL
    assert serves_the_old_generation(index)
    embedder = HashEmbedder()
    put = [numbered(f"doc{number}.md", 2000) for number in range(3)]
    info = write(EmbeddedStore(index), put, remove=["old.md"], embedder=embedder)
    assert info.documents == 3
    assert 0 < len(embedder.embedded) < 2000


def test_a_kill_at_any_step_leaves_the_old_generation_or_the_new(tmp_path: Path, index: Path, child: Child) -> None:
    def copy() -> Path:
        target = tmp_path / "copy"
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(index, target)
        return target

    lived = child("die_at_step", str(copy()), "0")
    steps = int(lived.stdout.split("steps ")[1])
    for step in [*sorted(random.Random(1).sample(range(1, steps), 7)), steps]:  # noqa: S311
        place = copy()
        died = child("die_at_step", str(place), str(step))
        assert died.returncode == -signal.SIGKILL, died.stderr
        store = EmbeddedStore(place)
        assert set(store.stored_documents()) in ({"old.md"}, {"doc0.md", "doc1.md"})
        with store.read() as reader:
            assert len(reader.search(question("sentence", vector="sentence")).items) in (1, 10)
        info = write(store, [numbered("doc0.md", 5), numbered("doc1.md", 5)], remove=["old.md"])
        assert (info.documents, info.sentences) == (2, 10)
        assert not list(place.glob("staging*"))
        assert len(generations(place)) <= 2


def test_a_kill_while_labels_change_changes_all_or_none(tmp_path: Path, child: Child) -> None:
    place = tmp_path / "labelled"
    put = [numbered(f"doc{number}.md", 2) for number in range(4)]
    write(EmbeddedStore(place), put)

    def copy() -> Path:
        return Path(shutil.copytree(place, tmp_path / "copy", dirs_exist_ok=True))

    steps = int(child("die_while_relabelling", str(copy()), "0").stdout.split("steps ")[1])
    ended = set()
    for step in range(1, steps + 1):
        shutil.rmtree(tmp_path / "copy")
        died = child("die_while_relabelling", str(copy()), str(step))
        assert died.returncode == -signal.SIGKILL, died.stderr
        store = EmbeddedStore(tmp_path / "copy")
        (labels,) = {known.access for known in store.stored_documents().values()}
        with store.read(Access(frozenset({"board"}), unlabelled=False)) as reader:
            assert reader.info.documents == (4 if labels else 0)
        ended.add(labels)
        store.relabel({"doc0.md": ["board"]})  # nothing is in the way
    assert () in ended
    assert steps > 4


def test_an_interrupt_leaves_no_debris_and_loses_no_vectors(index: Path) -> None:
    class Interrupted(HashEmbedder):
        def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
            if self.embedded:
                raise KeyboardInterrupt
            return super().embed(texts, progress=progress)

    before = sorted(path.name for path in index.rglob("*") if not path.name.endswith(("-wal", "-shm")))
    first = Interrupted()
    with pytest.raises(KeyboardInterrupt):
        write(EmbeddedStore(index), [numbered("new.md", 4200)], embedder=first)
    assert sorted(path.name for path in index.rglob("*") if not path.name.endswith(("-wal", "-shm"))) == before
    assert serves_the_old_generation(index)

    second = HashEmbedder()
    write(EmbeddedStore(index), [numbered("new.md", 4200)], embedder=second)
    assert len(first.embedded) + len(second.embedded) == 4200


# Two writers


def test_a_second_writer_is_told_who_is_writing(index: Path) -> None:
    writing, done = threading.Event(), threading.Event()

    def slow() -> Iterator[SplitDocument]:
        writing.set()
        done.wait(60)
        yield split("slow.md", "A slow sentence.")

    first = threading.Thread(target=lambda: write(EmbeddedStore(index), slow()))
    first.start()
    try:
        assert writing.wait(60)
        with pytest.raises(IndexBusy, match=f"pid {os.getpid()}"):
            write(EmbeddedStore(index), [split("quick.md", "A quick sentence.")])
        assert serves_the_old_generation(index)
    finally:
        done.set()
        first.join()
    assert set(EmbeddedStore(index).stored_documents()) == {"old.md", "slow.md"}


def test_a_reader_that_must_rebuild_while_another_writes_is_told_the_truth(index: Path) -> None:
    part = index / "generations" / "000001" / "shards" / "000" / "embeddings.npy"
    whole = part.read_bytes()
    part.write_bytes(b"nonsense")
    writing, done = threading.Event(), threading.Event()

    def slow() -> Iterator[SplitDocument]:
        writing.set()
        done.wait(60)
        yield split("slow.md", "A slow sentence.")

    first = threading.Thread(target=lambda: write(EmbeddedStore(index), slow()))
    first.start()
    try:
        assert writing.wait(60)
        with pytest.raises(IndexBusy, match=rf"pid {os.getpid()}.* cannot be rebuilt meanwhile") as caught:
            search(EmbeddedStore(index), question(vector="old"))
        assert caught.value.hint == "Ask again when it has finished; this index cannot be searched before."
        with EmbeddedStore(index).read() as reader:
            assert reader.document("old.md") is not None
        part.write_bytes(whole)
        assert serves_the_old_generation(index)
    finally:
        done.set()
        first.join()
    assert len(search(EmbeddedStore(index), question(vector="old")).items) == 2


# No room, no rights


def test_files_that_may_not_grow_are_reported_and_harmless(index: Path, child: Child) -> None:
    limits = [str(limit) for limit in (0, 4096, 40_000, 150_000, 250_000, 400_000)]
    said = child("fail_with_small_files", str(index), *limits)

    assert said.returncode == 0, said.stderr
    lines = said.stdout.splitlines()
    assert len(lines) == len(limits)
    assert all(line.startswith("index-unwritable: ") and "space" in line for line in lines), lines
    assert serves_the_old_generation(index)
    assert generations(index) == ["000001"]
    info = write(EmbeddedStore(index), [numbered("doc0.md", 5)])
    assert info.documents == 2


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Path]:
    """A file system of 2 MB."""
    place = tmp_path / "small"
    place.mkdir()
    if subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=2m", "none", place], capture_output=True, check=False
    ).returncode:
        pytest.skip("mounting is not permitted here")
    yield place
    subprocess.run(["umount", "--lazy", place], check=True)


def test_a_full_disk_is_reported_and_harmless(mounted: Path, child: Child) -> None:
    index = mounted / "index"
    write(EmbeddedStore(index), [split("old.md", "The old sentence.")])
    said = child("write_plainly", str(index), "2000")

    assert said.stdout.startswith("index-unwritable: "), said.stdout + said.stderr
    assert serves_the_old_generation(index)
    assert child("write_plainly", str(index), "5").stdout == "published 3\n"


def test_a_file_in_the_way_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("here first")

    for place in (tmp_path / "file", tmp_path / "file" / "index"):
        with pytest.raises(IndexUnwritable, match="cannot be written") as caught:
            write(EmbeddedStore(place), CORPUS)
        assert "--index" in caught.value.hint
        with pytest.raises(NoIndex), EmbeddedStore(place).read():
            pass


def test_a_path_that_is_too_long_is_reported(tmp_path: Path) -> None:
    place = tmp_path / ("x" * 256)

    with pytest.raises(IndexFault, match="cannot be read") as caught, EmbeddedStore(place).read():
        pass
    assert caught.value.hint == "That path is too long: choose another place with --index."
    with pytest.raises(IndexFault, match="cannot be read"):
        EmbeddedStore(place).stored_documents()
    with pytest.raises(IndexUnwritable, match="cannot be written") as refused:
        write(EmbeddedStore(place), CORPUS)
    assert refused.value.hint == caught.value.hint


def test_links_in_a_circle_are_reported(tmp_path: Path) -> None:
    place = tmp_path / "circle"
    place.symlink_to(place)

    with pytest.raises(IndexFault, match="cannot be read") as caught, EmbeddedStore(place).read():
        pass
    assert "links" in caught.value.hint
    with pytest.raises(IndexUnwritable):
        write(EmbeddedStore(place), CORPUS)


def test_what_a_listener_raises_is_not_the_fault_of_the_index(index: Path) -> None:
    def listener(what: str, _done: int, _total: int) -> None:
        if what == "indexing":
            raise BrokenPipeError(32, "nobody listens")

    with pytest.raises(BrokenPipeError):
        EmbeddedStore(index).write(
            CORPUS, remove=(), embedder=HashEmbedder(), profile=("general", ""), progress=listener
        )
    assert serves_the_old_generation(index)


def test_missing_parents_are_made(tmp_path: Path) -> None:
    write(EmbeddedStore(tmp_path / "a" / "b" / "index"), CORPUS)

    assert EmbeddedStore(str(tmp_path / "a" / "b" / "index")).stored_documents()


@pytest.fixture
def foreign() -> Iterator[Path]:
    """An index that another user (or nobody) may read and not write."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "index"
        write(EmbeddedStore(place), [split("old.md", "The old sentence.")])
        everything = [Path(folder), place, *place.rglob("*")]
        for path in everything:
            path.chmod(0o555 if path.is_dir() else 0o444)
        yield place
        for path in everything:
            if path.is_dir():
                path.chmod(0o755)


def test_writing_without_rights_is_reported(foreign: Path, child: Child) -> None:
    said = child("write_without_rights", str(foreign))

    assert said.stdout.startswith("index-unwritable: "), said.stdout + said.stderr
    assert "permissions" in said.stdout
    assert child("write_without_rights", str(foreign.parent / "new")).stdout.startswith("index-unwritable: ")


def test_reading_needs_no_right_to_write(foreign: Path, child: Child) -> None:
    assert child("read_without_rights", str(foreign)).stdout == "read 1 1\n"


def test_a_damaged_index_that_cannot_be_rebuilt_says_so(foreign: Path, child: Child) -> None:
    part = next((foreign / "generations" / "000001" / "lexical").glob("*.idx"))
    part.chmod(0o644)
    part.write_bytes(b"nonsense")

    said = child("read_without_rights", str(foreign)).stdout
    assert said.startswith("index-damaged: "), said
    assert "could not be rebuilt" in said


def test_a_read_only_file_system_will_do(index: Path, tmp_path: Path) -> None:
    place = tmp_path / "read-only"
    place.mkdir()
    if subprocess.run(["mount", "--bind", index, place], capture_output=True, check=False).returncode:
        pytest.skip("mounting is not permitted here")
    try:
        subprocess.run(["mount", "-o", "remount,ro,bind", place], check=True)
        assert serves_the_old_generation(place)
        with pytest.raises(IndexUnwritable):
            write(EmbeddedStore(place), CORPUS)
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


# Damage


@pytest.mark.parametrize(
    "part",
    [
        "manifest.json",
        "shards/000/embeddings.npy",
        "shards/000/rows.npy",
        "shards/000/documents.npy",
        "lexical/meta.json",
    ],
)
@pytest.mark.parametrize("damage", ["missing", "cut", "altered"])
def test_a_damaged_part_is_rebuilt(index: Path, part: str, damage: str, caplog: pytest.LogCaptureFixture) -> None:
    path = index / "generations" / "000001" / part
    content = path.read_bytes()
    path.unlink()
    if damage == "cut":
        path.write_bytes(content[:-3])
    elif damage == "altered":
        path.write_bytes(content[:-3] + bytes(byte ^ 255 for byte in content[-3:]))

    with caplog.at_level(logging.WARNING):
        assert serves_the_old_generation(index)
    assert "rebuilding" in caplog.text
    caplog.clear()
    assert serves_the_old_generation(index)
    assert caplog.text == ""


def test_missing_generations_are_rebuilt(index: Path) -> None:
    shutil.rmtree(index / "generations")

    assert serves_the_old_generation(index)
    assert write(EmbeddedStore(index), [split("new.md", "A new sentence.")]).generation == 2


def test_a_database_that_is_none_is_reported(tmp_path: Path) -> None:
    (tmp_path / "quoth.db").write_bytes(b"not a database " * 100)

    with pytest.raises(IndexDamaged) as caught, EmbeddedStore(tmp_path).read():
        pass
    assert "ingest again" in caught.value.hint
    with pytest.raises(IndexDamaged):
        write(EmbeddedStore(tmp_path), CORPUS)


def test_another_format_is_refused(index: Path) -> None:
    database = sqlite3.connect(index / "quoth.db")
    with database:
        database.execute("UPDATE meta SET value = '99' WHERE key = 'format'")
    database.close()

    store = EmbeddedStore(index)
    with pytest.raises(IndexMismatch, match="format 99"), store.read():
        pass
    with pytest.raises(IndexMismatch):
        store.stored_documents()
    with pytest.raises(IndexMismatch):
        write(store, CORPUS)


# Generations


def test_the_last_two_generations_are_kept_and_those_in_use(index: Path) -> None:
    store = EmbeddedStore(index)
    with EmbeddedStore(index).read() as reader:  # holds the first, without having loaded it
        for number in range(4):
            write(store, [split(f"{number}.md", "New.")])
        assert generations(index) == ["000001", "000004", "000005"]
        assert texts(reader.search(question("old", vector="old"))) == {"The old sentence."}
    del reader
    write(store, [split("last.md", "New.")])
    assert generations(index)[-2:] == ["000005", "000006"]


def test_an_index_made_anew_in_the_same_place_is_noticed(index: Path) -> None:
    store = EmbeddedStore(index)
    assert texts(search(store, question("sentence"))) == {"The old sentence."}
    shutil.rmtree(index)
    assert store.stored_documents() == {}
    write(EmbeddedStore(index), [split("new.md", "The new sentence.")])

    assert texts(search(store, question("sentence"))) == {"The new sentence."}


def make_anew(index: Path) -> None:
    shutil.rmtree(index)
    write(EmbeddedStore(index), [split("new.md", "The new sentence.")])


def test_what_a_slow_reader_returns_is_not_taken_for_the_new_index(index: Path) -> None:
    store = EmbeddedStore(index)
    asked = question("sentence", vector="sentence")
    with store.read() as slow:
        slow.search(asked)
        make_anew(index)
        assert texts(search(store, asked)) == {"The new sentence."}
        assert texts(slow.search(asked)) == {"The old sentence."}

    with store.read() as one, store.read() as two:  # more connections than could have been kept
        assert [item.id for reader in (one, two) for item in reader.documents()] == ["new.md", "new.md"]
        assert texts(one.search(asked)) == texts(two.search(asked)) == {"The new sentence."}


def test_a_reader_of_a_removed_index_does_not_search_the_new_one(index: Path) -> None:
    store = EmbeddedStore(index)
    with store.read() as slow:  # the generation has the same number in both
        make_anew(index)
        for query in (question("sentence"), question(vector="sentence")):
            with pytest.raises(IndexFault, match="removed or made anew") as caught:
                slow.search(query)
            assert caught.value.hint == "Ask again."
        assert [item.id for item in slow.documents()] == ["old.md"]

    assert texts(search(store, question("sentence", vector="sentence"))) == {"The new sentence."}


def test_a_reader_of_a_removed_index_does_not_rebuild_into_the_new_one(index: Path) -> None:
    store = EmbeddedStore(index)
    with store.read() as slow:
        make_anew(index)
        shutil.rmtree(index / "generations")
        with pytest.raises(IndexFault, match="removed or made anew"):
            slow.search(question("sentence"))
        assert not (index / "generations").exists()
        shutil.rmtree(index)
        with pytest.raises(IndexFault, match="removed or made anew"):
            slow.search(question("sentence"))
        assert not index.exists()


def test_an_index_made_anew_while_it_is_opened_is_noticed(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = EmbeddedStore(index)
    opened: list[Path] = []

    def late(database: Path, *, timeout: float) -> tuple[sqlite3.Connection, bool]:
        opened.append(database)
        if len(opened) == 2:
            make_anew(index)
        return connect_readonly(database, timeout=timeout)

    monkeypatch.setattr("quoth.stores.embedded.embedded_store.connect_readonly", late)
    with store.read() as old:
        assert texts(old.search(question("sentence"))) == {"The old sentence."}
        with store.read() as new:
            assert texts(new.search(question("sentence"))) == {"The new sentence."}
    assert len(opened) == 3


def test_a_snapshot_of_a_removed_index_does_not_get_what_was_loaded_of_the_new_one(
    index: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = EmbeddedStore(index)
    asked = question("sentence", vector="sentence")
    read_info = schema.read_info

    def then_make_anew(connection: sqlite3.Connection, place: Path) -> IndexInfo | None:
        monkeypatch.setattr(schema, "read_info", read_info)
        seen = read_info(connection, place)
        make_anew(index)
        assert texts(search(store, asked)) == {"The new sentence."}
        return seen

    monkeypatch.setattr(schema, "read_info", then_make_anew)
    with store.read() as slow:
        assert [item.id for item in slow.documents()] == ["old.md"]
        with pytest.raises(IndexFault, match="removed or made anew"):
            slow.search(asked)
    assert texts(search(store, asked)) == {"The new sentence."}


def test_vectors_that_nothing_needs_are_dropped(index: Path) -> None:
    write(EmbeddedStore(index), [split("old.md", "Another sentence.")])

    database = sqlite3.connect(index / "quoth.db")
    assert database.execute("SELECT count(*) FROM embeddings").fetchone() == (1,)
    database.close()


def test_rows_are_never_used_again(index: Path) -> None:
    store = EmbeddedStore(index)
    write(store, [split("b.md", "One.", "Two.")])
    write(store, remove=["b.md"])
    write(store, [split("c.md", "Three.")])

    database = sqlite3.connect(index / "quoth.db")
    assert database.execute("SELECT row FROM sentences ORDER BY row").fetchall() == [(1,), (4,)]
    database.close()


def test_the_manifest_lists_every_part(index: Path) -> None:
    folder = index / "generations" / "000001"
    listed = json.loads((folder / "manifest.json").read_text())["parts"]

    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    assert set(listed) == {name for name in files if not name.endswith(".lock")} - {"manifest.json"}


def test_a_closed_store_can_be_used_again(index: Path) -> None:
    store = EmbeddedStore(index)
    search(store, question("old"))
    store.close()

    assert texts(search(store, question("old"))) == {"The old sentence."}


# FAISS


def test_faiss_finds_what_exact_search_finds(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    exact, approximate = EmbeddedStore(tmp_path / "exact"), EmbeddedStore(tmp_path / "faiss", faiss_threshold=1000)
    corpus = [numbered(f"doc{number}.md", 1500) for number in range(2)]
    for store in (exact, approximate):
        write(store, corpus)
    assert (tmp_path / "faiss" / "generations" / "000001" / "shards" / "000" / "codes.npy").exists()

    shared = total = 0
    for number in range(0, 1500, 70):
        vector = HashEmbedder().embed([f"sentence {number} topic{number % 30} topic{number % 30}."])[0]
        for filters in (Filters((), {}, (), None, None), Filters(("doc1.md",), {}, (), None, None)):
            query = Query(vector, (), 20, filters)
            wanted, found = search(exact, query), search(approximate, query)
            assert len(found.items) == 20
            shared += len({item.sentence.id for item in wanted.items} & {item.sentence.id for item in found.items})
            total += 20
            assert not np.isnan(found.vectors).any()
    assert shared / total >= 0.95


def test_a_tag_with_a_nul_is_kept_and_never_a_reason_to_fail(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "index")
    write(store, [split("a.md", "One.", tags=({"crop": ("x\0y",)},))])

    with store.read() as reader:
        assert [sentence.tags for sentence in reader.sentences("a.md")] == [{"crop": ("x\0y",)}]
