"""Parts and shards: what was read and embedded once is enough to make the very index that a plain ingest makes."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from doors.command_line import write_files
from quoth.cluster import embedded_batches as parts
from quoth.cluster.embedded_batches import EmbeddedRun
from quoth.cluster.shard_writer import PrecomputedEmbedder, read_replaced
from quoth.documents.changes import FileReader, extract_text
from quoth.documents.files import find_files
from quoth.documents.ingest import ingest
from quoth.documents.split_document import split_document
from quoth.documents.worker.pool import Extraction
from quoth.domain.profile import load_profile
from quoth.errors import IndexBusy, IndexDamaged, IndexFault, ModelError
from quoth.settings import IngestSettings
from quoth.stores.database_rows import embedding_key
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.visible_documents import NO_CHANGES, LabelChanges
from quoth.stores.locations import Location, VersionConflict, open_location
from quoth.stores.sharded import cluster_manifest as manifest
from quoth.types import Access
from quoth.wiring import open_embedder
from stores.object_storage import Storage

from .ingest_steps import HASH, MODEL, Went, group, read_and_embedded, shard_of, target

GENERAL = load_profile("general")
FEW_SENTENCES = 64
"""Of a part, here: a large document need not be large."""
EMOJI = "\N{EAR OF MAIZE} Maize \N{GRINNING FACE} needs \N{MATHEMATICAL BOLD CAPITAL A}.\r\nA \N{NO-BREAK SPACE}tail"
FILES: dict[str, bytes | str] = {
    "plain.md": "---\neffective_date: 2021-04-01 10:00:00\ntitle: 2021-04-01\n---\n# A\n\nSow at 2.5 cm. Roll it.\n",
    "same words.md": "Sow at 2.5 cm. Roll it. Harvest it.",
    'odd "name"\n\t;--.txt': EMOJI,
    "empty.md": "# Only a heading\n",
    "large.txt": "\n\n".join(f"Sentence number {number} says {number * 7}." for number in range(2 * FEW_SENTENCES + 5)),
    "corpus.yaml": "documents:\n- match: 'same*'\n  effective_date: 2020-02-02\n  superseded_by: gone.md\n",
}
PAGE = "<html><body><h1>A</h1><p>A row.</p><table><tr><th>a</th></tr><tr><td>2</td></tr></table>"
WITH_A_PAGE = FILES | {"deep/ünïcode 🌽.html": PAGE}
"""With a web page, whose extraction starts a process: only for the tests that are about reading."""


@pytest.fixture(autouse=True)
def small_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parts, "MOST_SENTENCES", FEW_SENTENCES)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("parts") / "corpus", FILES)


@pytest.fixture(scope="module")
def with_a_page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("parts") / "corpus", WITH_A_PAGE)


def all_of(corpus: Path, place: Location, *, shards: int = 1) -> Went:
    return read_and_embedded(place, [group(corpus, shard, shards=shards) for shard in range(shards)], shards=shards)


def test_a_document_is_the_same_after_it_was_kept(with_a_page: Path) -> None:
    settings = IngestSettings(max_file_mb=1)
    reading = FileReader(GENERAL, settings, Extraction(settings))
    files = find_files([with_a_page]).files

    assert len(files) == len(WITH_A_PAGE) - 1
    with Extraction(IngestSettings(workers=1)) as extraction:
        for file in files:
            found = extract_text(reading.open(file), extraction)
            again = parts.unpack_document(parts.pack_document(found))

            assert again.fields == found.fields
            one, other = (split_document(read, GENERAL) for read in (found, again))
            assert (one.document, one.sentences, one.passages) == (other.document, other.sentences, other.passages)
            assert (one.root, one.fingerprint) == (other.root, other.fingerprint)


def test_a_shard_made_of_parts_is_the_index_that_a_plain_ingest_makes(
    with_a_page: Path, place: Location, tmp_path: Path
) -> None:
    plain = EmbeddedStore(tmp_path / "plain")
    report = ingest(
        find_files([with_a_page]),
        store=plain,
        embedder=open_embedder(HASH),
        profile=GENERAL,
        settings=IngestSettings(),
        prune=False,
        progress=None,
    )

    done = shard_of(place, all_of(with_a_page, place), 0, shards=1)

    assert (done.info.digest, done.info.documents) == (report.info.digest, len(WITH_A_PAGE) - 1)
    assert manifest.read_listing(place, done.entry) == plain.stored_documents()
    assert done.replaced["same words.md"][0].by == "gone.md"
    copy = tmp_path / "copy"
    for name in done.entry.files:
        place.download(name, copy / name)
    with EmbeddedStore(copy / done.entry.folder).read() as reader, plain.read() as wanted:
        assert reader.documents() == wanted.documents()
        for info in wanted.documents():
            assert list(reader.sentences(info.id)) == list(wanted.sentences(info.id))
            assert reader.passages(info.id) == wanted.passages(info.id)
            assert np.array_equal(reader.vectors(info.id), wanted.vectors(info.id))


def test_a_large_document_is_spread_over_parts(corpus: Path, tmp_path: Path) -> None:
    went = all_of(corpus, open_location(tmp_path))

    runs = [piece.number for part in went.parts for piece in part.runs if piece.file.doc_id == "large.txt"]
    assert sorted(runs) == [0, 1, 2]
    assert max(part.sentences for part in went.parts) == FEW_SENTENCES
    assert len(went.parts) < len(went.documents)  # small documents share one


def test_a_document_of_thousands_of_sentences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    text = "\n\n".join(f"Sentence number {number} says {number * 7}." for number in range(2_100))
    corpus = write_files(tmp_path / "corpus", {"large.txt": text})
    place = open_location(tmp_path / "index")

    went = all_of(corpus, place)

    assert [part.sentences for part in went.parts] == [2_048, 52]
    assert shard_of(place, went, 0, shards=1).entry.evidence == 2_100


def test_what_is_kept_is_found_again_and_not_embedded_twice(corpus: Path, place: Location) -> None:
    first = all_of(corpus, place)
    found = list(parts.find_all(place, target(place, shards=1).key))
    assert sorted(found, key=lambda part: part.name) == sorted(first.parts, key=lambda part: part.name)

    again = read_and_embedded(place, [group(corpus, 0, shards=1, kept=first.kept)], shards=1, kept=first.kept)

    assert again.parts == ()
    assert again.documents == first.documents


def test_of_a_document_that_is_half_done_only_the_rest_is_embedded(corpus: Path, tmp_path: Path) -> None:
    place = open_location(tmp_path)
    first = all_of(corpus, place)
    lost = next(
        part for part in first.parts if any((one.file.doc_id, one.number) == ("large.txt", 1) for one in part.runs)
    )
    place.remove([f"{lost.name}.json"])  # it was being written
    kept = type(first.kept)()
    for part in parts.find_all(place, target(place, shards=1).key):
        kept.add(part)

    again = read_and_embedded(place, [group(corpus, 0, shards=1, kept=kept)], shards=1, kept=kept)

    embedded = [(one.file.doc_id, one.number) for part in again.parts for one in part.runs]
    assert ("large.txt", 1) in embedded
    assert len([one for one in embedded if one[0] == "large.txt"]) == 1
    assert again.documents == first.documents
    shard_of(place, again, 0, shards=1)


def test_a_file_that_is_in_the_index_gives_no_part(corpus: Path, tmp_path: Path) -> None:
    place = open_location(tmp_path)
    first = all_of(corpus, place)

    again = read_and_embedded(place, [group(corpus, 0, shards=1, known=first.documents)], shards=1)

    assert (again.parts, again.documents) == ((), {})
    assert [one.unchanged for one in again.looked] == [len(FILES) - 1]


def test_a_file_that_cannot_be_read_is_named_and_the_others_are_taken(tmp_path: Path) -> None:
    corpus = write_files(
        tmp_path / "corpus", {"good.md": "Sow it.", "bad.pdf": b"%PDF-1.4 nonsense", "nul.txt": b"a\0b"}
    )

    went = all_of(corpus, open_location(tmp_path / "index"))

    [looked] = went.looked
    assert [doc_id for doc_id, _ in looked.refused] == ["bad.pdf", "nul.txt"]
    assert list(went.documents) == ["good.md"]


def test_the_next_version_of_a_shard_has_a_folder_of_its_own(tmp_path: Path, place: Location) -> None:
    corpus = write_files(tmp_path / "corpus", {"a.md": "Sow it.", "b.md": "Roll it. Sow it.", "c.md": "Reap it."})
    first = shard_of(place, all_of(corpus, place), 0, shards=1)
    known = {doc_id: one.fingerprint for doc_id, one in manifest.read_listing(place, first.entry).items()}
    (corpus / "b.md").write_text("Roll it twice. Sow it.")
    went = read_and_embedded(place, [group(corpus, 0, shards=1, known=known)], shards=1)

    second = shard_of(place, went, 0, shards=1, before=first.entry, remove=["c.md"])

    assert second.entry.folder != first.entry.folder
    assert (second.info.generation, second.info.documents) == (2, 2)
    assert {name.split("/")[2] for name in second.entry.files if "/generations/" in name} == {"000002"}
    on_disk = {name for name in place.names("") if name.startswith(f"{second.entry.folder}/")}
    assert on_disk == set(second.entry.files) - {second.entry.listing}
    assert all(place.get(name) for name in first.entry.files)


def test_the_next_version_of_a_shard_has_the_labels_that_were_set(tmp_path: Path, place: Location) -> None:
    corpus = write_files(tmp_path / "corpus", {"a.md": "Sow it.", "b.md": "Roll it."})
    first = shard_of(place, all_of(corpus, place), 0, shards=1)
    labelled = replace(first.entry, labels=LabelChanges(1, {"a.md": ("board",)}))
    known = {doc_id: one.fingerprint for doc_id, one in manifest.read_listing(place, labelled).items()}
    (corpus / "a.md").write_text("Sow it twice.")
    went = read_and_embedded(place, [group(corpus, 0, shards=1, known=known)], shards=1)

    second = shard_of(place, went, 0, shards=1, before=labelled)

    assert second.entry.labels == NO_CHANGES
    assert {doc_id: one.access for doc_id, one in manifest.read_listing(place, second.entry).items()} == {
        "a.md": ("board",),
        "b.md": (),
    }


def test_a_shard_is_not_made_twice(corpus: Path, place: Location) -> None:
    went = all_of(corpus, place)

    assert shard_of(place, went, 0, shards=1) == shard_of(place, went, 0, shards=1)


class BreaksOff:
    """Object storage that fails in the middle of the first upload of a shard."""

    folder = None

    def __init__(self, inner: Location) -> None:
        self._inner = inner
        self.uploads = 0

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the other has
        return getattr(self._inner, name)

    def upload(self, source: Path, name: str) -> None:
        self.uploads += 1
        if self.uploads == 3:
            raise IndexFault("the network is down", hint="Wait.")
        self._inner.upload(source, name)


def test_an_upload_that_breaks_off_leaves_nothing_that_is_taken_for_a_shard(
    corpus: Path, storage: Storage, tmp_path: Path
) -> None:
    inner = open_location(f"s3://bucket/{tmp_path.name}")
    place: Any = BreaksOff(inner)
    went = all_of(corpus, place)
    with pytest.raises(IndexFault, match="network"):
        shard_of(place, went, 0, shards=1)
    half = {name.split("/")[0] for name in inner.names("") if name.startswith("shard-")}

    done = shard_of(place, went, 0, shards=1)

    assert done.entry.folder not in half
    assert all(inner.get(name) for name in done.entry.files)


def test_a_damaged_shard_is_not_built_upon(tmp_path: Path, place: Location) -> None:
    corpus = write_files(tmp_path / "corpus", {"a.md": "Sow it."})
    went = all_of(corpus, place)
    first = shard_of(place, went, 0, shards=1)
    place.remove([f"{first.entry.folder}/quoth.db"])

    with pytest.raises(IndexDamaged, match=r"quoth\.db is missing or is not what was written"):
        shard_of(place, went, 0, shards=1, before=first.entry)


class Forgetful:
    """Object storage whose reply to a first write is lost: its client writes again, and finds what it wrote itself."""

    folder = None

    def __init__(self, inner: Location) -> None:
        self._inner = inner

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the other has
        return getattr(self._inner, name)

    def put(self, name: str, content: bytes, *, over: str | None) -> str:
        self._inner.put(name, content, over=over)
        raise VersionConflict(name)


def test_writes_whose_replies_are_lost_are_no_failures(corpus: Path, storage: Storage, tmp_path: Path) -> None:
    inner = open_location(f"s3://bucket/{tmp_path.name}")
    place: Any = Forgetful(inner)

    done = shard_of(place, all_of(corpus, place), 0, shards=1)
    manifest.write(
        place, manifest.combine_shards([done.entry], [done.info], [{}], generation=1, settings={}), over=None
    )

    assert manifest.read(inner).shards == (done.entry,)
    with pytest.raises(IndexBusy, match="another process has published"):
        manifest.write(
            place, manifest.combine_shards([done.entry], [done.info], [{}], generation=2, settings={}), over=None
        )


def test_a_finished_shard_that_was_removed_is_made_again(corpus: Path, place: Location) -> None:
    went = all_of(corpus, place)
    first = shard_of(place, went, 0, shards=1)
    place.remove([f"{first.entry.folder}/quoth.db"])

    second = shard_of(place, went, 0, shards=1)

    assert second.entry.folder != first.entry.folder
    assert all(place.get(name) for name in second.entry.files)


@pytest.mark.parametrize("content", [b"", b"5", b'{"pieces": 5}', b'{"entry": {}}', b"\xff"])
def test_kept_work_that_makes_no_sense_is_named(content: bytes, corpus: Path, tmp_path: Path) -> None:
    place = open_location(tmp_path / "index")
    went = all_of(corpus, place)
    shard_of(place, went, 0, shards=1)
    (record,) = tmp_path.glob("index/work/*/made/*.json")
    record.write_bytes(content)
    (tmp_path / "index" / f"{went.parts[0].name}.json").write_bytes(content)

    with pytest.raises(IndexDamaged, match=r"\.json is missing or is not what was written") as error:
        shard_of(place, went, 0, shards=1)
    assert "/work and run the same command again" in error.value.hint
    with pytest.raises(IndexDamaged, match=rf"{went.parts[0].name}\.json"):
        list(parts.find_all(place, target(place, shards=1).key))


def test_a_damaged_part_is_named(corpus: Path, tmp_path: Path) -> None:
    place = open_location(tmp_path / "index")
    went = all_of(corpus, place)
    path = tmp_path / "index" / f"{went.parts[0].name}.parquet"
    path.write_bytes(path.read_bytes()[:-1] + b"?")

    with pytest.raises(IndexDamaged, match=r"\.parquet is missing or is not what was written") as error:
        shard_of(place, went, 0, shards=1)
    assert "/work and run the same command again" in error.value.hint


def test_nothing_but_finished_shards_is_left_beside_the_work(corpus: Path, tmp_path: Path) -> None:
    place = open_location(tmp_path / "index")
    done = shard_of(place, all_of(corpus, place), 0, shards=1)
    shutil.rmtree(tmp_path / "index" / parts.WORK)

    assert set(place.names("")) == set(done.entry.files)
    assert read_replaced(place, done.entry) == done.replaced != {}
    place.put(name := f"{done.entry.folder}.replaced.json", b"{}", over=(place.get(name) or ("", ""))[1])
    with pytest.raises(IndexDamaged, match=r"replaced\.json is missing or is not what was written"):
        read_replaced(place, done.entry)


def run_of(*texts: str) -> EmbeddedRun:
    vectors = open_embedder(HASH).embed_tokens(texts)[0].astype(np.float16)
    keys = tuple(embedding_key(MODEL, text) for text in texts)
    return EmbeddedRun(b"", keys, vectors, tuple(text.encode() for text in texts))


def test_ready_vectors_are_given_in_the_order_asked_and_others_passed_over() -> None:
    ready = PrecomputedEmbedder(MODEL, iter([run_of("a", "b", "a"), run_of(), run_of("c", "d")]))

    vectors, tokens = ready.embed_tokens(["b", "c"])
    _, last = ready.embed_tokens(["d"])

    assert (tokens, last) == ([b"b", b"c"], [b"d"])
    assert np.array_equal(
        vectors.astype(np.float16), open_embedder(HASH).embed_tokens(["b", "c"])[0].astype(np.float16)
    )


def test_a_text_that_was_never_embedded_is_an_error() -> None:
    with pytest.raises(ModelError, match="other words"):
        PrecomputedEmbedder(MODEL, iter([run_of("a", "b")])).embed_tokens(["x"])


def labels_in(location: Location, entry: manifest.ShardEntry) -> dict[str, tuple[str, ...]]:
    return {doc_id: known.access for doc_id, known in manifest.read_listing(location, entry).items()}


def test_labels_of_files_come_into_their_shard_without_their_text(tmp_path: Path) -> None:
    files = {
        "a.md": "Sow at 2.5 cm.",
        "b.md": "---\naccess: Board\n---\n\nThe merger is near.",
        "corpus.yaml": "documents:\n- match: '**'\n  access: legal\n",
    }
    folder = write_files(tmp_path / "corpus", files)
    place = open_location(tmp_path / "shards")
    first = all_of(folder, place)
    before = shard_of(place, first, 0, shards=1).entry
    assert labels_in(place, before) == {"a.md": ("legal",), "b.md": ("board",)}

    # Unchanged text with other labels: nothing is embedded, and the content stays.
    write_files(folder, {"corpus.yaml": "documents:\n- match: '**'\n  access: hr\n"})
    stored = manifest.read_listing(place, before)
    known = {doc_id: one.fingerprint for doc_id, one in stored.items()}
    stated = {doc_id: one.stated_access for doc_id, one in stored.items()}
    second = read_and_embedded(place, [group(folder, 0, shards=1, known=known, stated=stated)], shards=1)
    assert (second.documents, second.parts) == ({}, ())
    assert [report.labels for report in second.looked] == [(("a.md", ("hr",)),)]
    after = shard_of(place, second, 0, shards=1, before=before).entry
    assert labels_in(place, after) == {"a.md": ("hr",), "b.md": ("board",)}
    assert (after.digest, after.generation) == (before.digest, before.generation)
    with EmbeddedStore(tmp_path / "shards" / after.folder).read(Access(frozenset({"hr"}), unlabelled=False)) as reader:
        assert [info.id for info in reader.documents()] == ["a.md"]


def test_what_was_embedded_before_labels_changed_is_written_with_the_new_ones(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "corpus", {"a.md": "Sow at 2.5 cm."})
    place = open_location(tmp_path / "shards")
    kept = all_of(folder, place).kept
    write_files(folder, {"corpus.yaml": "documents:\n- match: '**'\n  access: hr\n"})

    again = read_and_embedded(place, [group(folder, 0, shards=1, kept=kept)], shards=1, kept=kept)

    assert again.parts == ()
    assert labels_in(place, shard_of(place, again, 0, shards=1).entry) == {"a.md": ("hr",)}
