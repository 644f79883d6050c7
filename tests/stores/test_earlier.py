"""An index of an earlier version is read as it is, and the next write brings it up to date."""

from __future__ import annotations

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path

import pytest

from quoth.stores.embedded import EmbeddedStore

from .contract import CORPUS, write
from .earlier import make_earlier
from .fakes import split
from .test_updates import LAYOUTS, TESTS, answers, document

DOCUMENTS = [document(f"{number}.md", number) for number in range(30)]


@pytest.fixture(params=LAYOUTS)
def layout(request: pytest.FixtureRequest) -> Mapping[str, int]:
    if request.param == "faiss":
        pytest.importorskip("faiss")
    return LAYOUTS[request.param]


@pytest.fixture
def place(tmp_path: Path, layout: Mapping[str, int]) -> Path:
    store = EmbeddedStore(tmp_path / "index", **layout)
    write(store, DOCUMENTS)
    write(store, [document("30.md", 30), *CORPUS], remove=["3.md"])
    return tmp_path / "index"


def files(index: Path) -> dict[Path, tuple[int, int]]:
    return {path: (path.stat().st_ino, path.stat().st_mtime_ns) for path in index.rglob("*") if path.is_file()}


def test_it_is_read_as_it_is(place: Path, layout: Mapping[str, int]) -> None:
    expected = answers(EmbeddedStore(place, **layout))
    make_earlier(place)
    before = files(place / "generations")

    store = EmbeddedStore(place, **layout)
    assert answers(store) == expected
    with store.read() as reader:
        assert {path.name for path in before} >= {"vectors.npy"}
        assert dict(reader.texts(["0.md"])) == {"0.md": DOCUMENTS[0].document.text.encode()}
        assert reader.document("0.md") == DOCUMENTS[0].document
    assert files(place / "generations") == before


def test_its_search_indexes_are_rebuilt_from_its_tables(place: Path, layout: Mapping[str, int]) -> None:
    expected = answers(EmbeddedStore(place, **layout))
    make_earlier(place)
    shutil.rmtree(place / "generations")

    assert answers(EmbeddedStore(place, **layout)) == expected


def test_the_next_write_brings_it_up_to_date(place: Path, layout: Mapping[str, int]) -> None:
    make_earlier(place)
    asking = EmbeddedStore(place, **layout)
    answers(asking)
    changed = [document("5.md", 500), split("new.md", "The new sentence.")]
    with asking.read() as slow:
        write(EmbeddedStore(place, **layout), changed, remove=["7.md"])
        assert [sentence.text for sentence in slow.sentences("7.md")] == [
            sentence.text for sentence in DOCUMENTS[7].sentences
        ]

    fresh = EmbeddedStore(place.with_name("fresh"), **layout)
    kept = [one for one in [*DOCUMENTS, document("30.md", 30)] if one.document.id not in {"3.md", "5.md", "7.md"}]
    write(fresh, [*kept, *CORPUS, *changed])
    assert answers(asking) == answers(EmbeddedStore(place, **layout)) == answers(fresh)
    with closing(sqlite3.connect(place / "quoth.db")) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        assert {name for (name,) in connection.execute("SELECT name FROM sqlite_master")} >= {"vectors", "texts"}
        (last,) = connection.execute("SELECT max(row) FROM sentences").fetchone()
    write(EmbeddedStore(place, **layout), remove=["new.md"])
    write(EmbeddedStore(place, **layout), [split("last.md", "The last sentence.")])
    with closing(sqlite3.connect(place / "quoth.db")) as connection:  # rows are never used again
        assert connection.execute("SELECT max(row) FROM sentences").fetchone() == (last + 1,)


def test_vectors_that_an_interrupted_write_of_another_model_left_are_no_obstacle(tmp_path: Path) -> None:
    index = tmp_path / "index"
    write(EmbeddedStore(index), [split("old.md", "The old sentence.")])
    make_earlier(index)
    with closing(sqlite3.connect(index / "quoth.db")) as connection, connection:
        left = ((number, bytes([number]), bytes(512)) for number in (101, 102, 103))
        connection.executemany("INSERT INTO embeddings VALUES (?, ?, ?, x'')", left)
        connection.execute("INSERT INTO loose SELECT id FROM embeddings WHERE id > 100")

    write(EmbeddedStore(index), [split("new.md", "The new sentence.")])
    write(EmbeddedStore(index), [split("last.md", "The last sentence.")])

    fresh = EmbeddedStore(tmp_path / "fresh")
    lines = {"old.md": "The old sentence.", "new.md": "The new sentence.", "last.md": "The last sentence."}
    write(fresh, [split(doc_id, line) for doc_id, line in lines.items()])
    assert answers(EmbeddedStore(index)) == answers(fresh)


def test_its_tables_become_those_of_a_new_index(tmp_path: Path) -> None:
    described = []
    for name in ("fresh", "earlier"):
        write(EmbeddedStore(tmp_path / name), [split("a.md", "The sentence.")])
        if name == "earlier":
            make_earlier(tmp_path / name)
        write(EmbeddedStore(tmp_path / name), [split("b.md", "Another.")])
        with closing(sqlite3.connect(tmp_path / name / "quoth.db")) as connection:
            listed = connection.execute("SELECT type, name FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
            columns = 'SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_info(?)'
            described.append(
                {item: sorted(connection.execute(columns, (item[1],)), key=str) for item in sorted(listed.fetchall())}
            )

    assert described[0] == described[1]


def test_a_kill_at_any_step_of_that_write_loses_nothing(tmp_path: Path) -> None:
    store = EmbeddedStore(tmp_path / "index")
    write(store, [split("old.md", "The old sentence.", "Another."), *CORPUS])
    expected = answers(store)
    store.close()
    make_earlier(tmp_path / "index")

    def killed(step: int) -> subprocess.CompletedProcess[str]:
        shutil.copytree(tmp_path / "index", tmp_path / str(step))
        command = [sys.executable, "-m", f"{__package__}.child", "die_at_step", str(tmp_path / str(step)), str(step)]
        return subprocess.run(command, cwd=TESTS, capture_output=True, text=True, check=False, env=dict(os.environ))

    steps = int(killed(0).stdout.split("steps ")[1])
    after = answers(EmbeddedStore(tmp_path / "0"))
    for step in sorted(random.Random(1).sample(range(1, steps), 4)):  # noqa: S311
        assert killed(step).returncode == -signal.SIGKILL
        assert answers(EmbeddedStore(tmp_path / str(step))) in (expected, after)
