"""The parallel half of an ingest, on Ray Data: files -> documents -> runs of sentences -> vectors -> parts.

What comes back to the driver is small: which files are as they were, which cannot be taken, and which parts were kept.
"""

from __future__ import annotations

import logging
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from quoth.cluster import parts
from quoth.cluster.parts import Chunk, Lot, Part, Piece
from quoth.cluster.quiet import native_talk_aside
from quoth.corpus.changes import taken
from quoth.corpus.documents import split_document
from quoth.corpus.extraction import Extraction
from quoth.corpus.load import SourceFile
from quoth.corpus.reading import Read, Reading, extracted
from quoth.errors import ClusterFault, QuothError, UnreadableFile
from quoth.profile import Profile
from quoth.settings import EmbeddingSettings, IngestSettings
from quoth.stores.places import Place
from quoth.types import ModelIdentity
from quoth.wiring import open_embedder

_MOST_BYTES = 8 * 2**20
"""Of one lot, as far as documents come in sizes."""
_DEATHS = 4
"""How many processes in a row may die while they start. For what dies later, Ray's own limit is half an hour without
progress."""


@dataclass(frozen=True, slots=True)
class Asked:
    """A file, the fingerprint that its document has in the index, and the runs that parts hold by fingerprint.

    A file that only moved with its folder counts as unchanged: the index keeps the folder that it was read from.
    """

    file: SourceFile
    known: str | None
    done: Mapping[str, frozenset[int]]
    of: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class Group:
    """Files of one shard that are read together."""

    shard: int
    files: tuple[Asked, ...]


@dataclass(frozen=True, slots=True)
class Unread:
    """A file that cannot be taken, as plain values."""

    doc_id: str
    path: str
    why: str
    hint: str


@dataclass(frozen=True, slots=True)
class Looked:
    """What is to be said of the files of a group: `resumed` were embedded by an earlier run, `fresh` are on their way.

    Both are ids with fingerprints.
    """

    files: int
    unchanged: int
    resumed: tuple[tuple[str, str], ...]
    fresh: tuple[tuple[str, str], ...]
    unread: tuple[Unread, ...]


Told = Looked | Part | QuothError


@dataclass(frozen=True, slots=True)
class Task:
    """What every process of the pipeline is told."""

    place: Place
    key: str
    model: ModelIdentity
    profile: Profile
    ingest: IngestSettings
    embedding: EmbeddingSettings


class Readers:
    """Reads, extracts, splits and tags the files of a group; one process extracts for it at a time."""

    def __init__(self, task: Task) -> None:
        self._profile = task.profile
        self._reading = Reading(task.profile, max_file_mb=task.ingest.max_file_mb)
        self._extraction = Extraction(replace(task.ingest, workers=1))

    def __call__(self, batch: Mapping[str, Sequence[Group]]) -> Iterator[dict[str, list[object]]]:
        for group in batch["group"]:
            try:
                for one in self.read(group):
                    yield {"one": [one]}
            except QuothError as error:
                yield {"one": [error]}

    def read(self, group: Group) -> Iterator[Lot | Looked]:
        """The lots of a group, and then what is to be said of its files."""
        unchanged = 0
        resumed, fresh, unread = [], [], []
        waiting = _Waiting(group.shard)
        for asked in group.files:
            doc_id = asked.file.doc_id
            try:
                opened = self._reading.opened(asked.file)
                fingerprint = opened.fingerprint
                if fingerprint == asked.known:
                    unchanged += 1
                elif len(asked.done.get(fingerprint, ())) == asked.of.get(fingerprint, -1):
                    resumed.append((doc_id, fingerprint))
                else:
                    found = extracted(opened, self._extraction)
                    for chunk in self._chunks(found, done=asked.done.get(fingerprint, frozenset())):
                        yield from waiting.add(chunk)
                    fresh.append((doc_id, fingerprint))
            except UnreadableFile as error:
                why = str(error).removeprefix(f"{error.path}: ")
                unread.append(Unread(doc_id, error.path, why, error.hint))
        yield from waiting.rest()
        yield Looked(len(group.files), unchanged, tuple(resumed), tuple(fresh), tuple(unread))

    def _chunks(self, found: Read, *, done: frozenset[int]) -> Iterator[Chunk]:
        document = split_document(
            found.source, fields=found.fields, profile=self._profile, fingerprint=found.fingerprint
        )
        texts = [sentence.search_text for sentence in document.sentences if sentence.kind.evidence]
        runs = range(0, max(len(texts), 1), parts.MOST_SENTENCES)
        for number, start in enumerate(runs):
            if number not in done:
                yield Chunk(
                    Piece(taken(found), found.fingerprint, number, len(runs)),
                    parts.packed(found) if number == 0 else b"",
                    tuple(texts[start : start + parts.MOST_SENTENCES]),
                )

    def __del__(self) -> None:  # Ray ends its processes without a word
        self._extraction.__exit__(None, None, None)


class _Waiting:
    """Runs that do not fill a lot yet."""

    def __init__(self, shard: int) -> None:
        self._shard = shard
        self._chunks: list[Chunk] = []
        self._sentences = self._bytes = 0

    def add(self, chunk: Chunk) -> Iterator[Lot]:
        size = len(chunk.document) + sum(map(len, chunk.texts))
        if self._sentences + len(chunk.texts) > parts.MOST_SENTENCES or self._bytes + size > _MOST_BYTES:
            yield from self.rest()
        self._chunks.append(chunk)
        self._sentences += len(chunk.texts)
        self._bytes += size

    def rest(self) -> Iterator[Lot]:
        if self._chunks:
            yield Lot(self._shard, tuple(self._chunks))
        self._chunks.clear()
        self._sentences = self._bytes = 0


class Embedders:
    """Embeds lots and keeps them as parts. The model is loaded with the first lot, if there ever is one."""

    def __init__(self, task: Task) -> None:
        self._task = task

    def __call__(self, batch: Mapping[str, Sequence[Lot | Told]]) -> Iterator[dict[str, list[Told]]]:
        for one in batch["one"]:
            try:
                yield {"told": [self.kept(one) if isinstance(one, Lot) else one]}
            except QuothError as error:
                yield {"told": [error]}

    def kept(self, lot: Lot) -> Part:
        """The part of a lot; one that is there already is not made again."""
        task = self._task
        name = parts.name_of(task.key, lot)
        if (part := parts.find(task.place, name)) is not None:
            return part
        embedder = open_embedder(task.embedding)
        if embedder.identity != task.model:
            raise ClusterFault(
                f"a node of the cluster has other files of the model {task.model.name} than this machine",
                hint="Give every node the same files; see embedding.path.",
            )
        vectors, tokens = embedder.embed_tokens([text for chunk in lot.chunks for text in chunk.texts])
        return parts.write(task.place, name, lot, vectors=vectors, tokens=tokens, model=task.model)


def run(task: Task, groups: Sequence[Group], *, workers: int, gpus: float) -> Generator[Told]:
    """Work through the groups on the cluster; what is told comes in any order."""
    from ray.data import ActorPoolStrategy, DataContext, from_items

    logging.getLogger("ray.data").setLevel(logging.ERROR)
    context = DataContext.get_current()
    context.enable_progress_bars = False
    context.target_max_block_size = 1  # each lot goes its own way: a large document is spread over the processes
    context.max_consecutive_actor_init_deaths = _DEATHS
    most = max(1, min(workers, len(groups)))
    rows = (
        from_items([{"group": group} for group in groups], override_num_blocks=len(groups))
        .map_batches(
            Readers,
            fn_constructor_args=[task],
            batch_size=1,
            num_cpus=0,  # so that they find room beside the others, which take all there is
            compute=ActorPoolStrategy(min_size=1, max_size=most),
        )
        .map_batches(
            Embedders,
            fn_constructor_args=[task],
            batch_size=1,
            num_cpus=1,
            num_gpus=gpus or None,
            compute=ActorPoolStrategy(min_size=1, max_size=workers, initial_size=most),
        )
        .iter_rows()
    )
    with native_talk_aside():  # that each process could not be started anew if this one were gone
        for row in rows:
            yield row["told"]
