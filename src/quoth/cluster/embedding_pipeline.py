"""The parallel half of an ingest, as Ray tasks: files -> documents -> runs of sentences -> vectors -> batches.

Only small values return to the driver: which files are unchanged, which cannot be read, and which batches were written.
"""

from __future__ import annotations

from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from quoth.cluster import embedded_batches as batches
from quoth.cluster.embedded_batches import EmbeddedBatch, IngestTarget, PendingBatch, PendingRun, SentenceRun
from quoth.cluster.ray_session import cpus, fetch, wait_for_some
from quoth.documents.changes import FileReader, changed_file, extract_text, unchanged_labels
from quoth.documents.files import SourceFile
from quoth.documents.split_document import ExtractedFile, labels_in, split_document
from quoth.documents.worker.pool import Extraction
from quoth.errors import ClusterFault, QuothError, UnreadableFile
from quoth.wiring import open_embedder

_MOST_BYTES = 8 * 2**20
"""The most bytes of a batch, unless a single run is larger."""
_RETRIES = 3
"""How often a task is repeated whose process or node died."""
_AHEAD = 2
"""Batches for each embedder, and for each reader, that wait: enough that none is idle, and few enough for memory."""


@dataclass(frozen=True, slots=True)
class FileToRead:
    """A file, the fingerprint of its document in the index, and what is not embedded; see `EmbeddedRuns.missing`.

    `stated` are the labels that its files stated when it was indexed.

    A file that only moved with its folder counts as unchanged: the index keeps the folder that it was read from.
    """

    file: SourceFile
    indexed: str | None
    missing: Mapping[str, frozenset[int]]
    stated: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileGroup:
    """Files of one shard that are read together."""

    shard: int
    files: tuple[FileToRead, ...]


@dataclass(frozen=True, slots=True)
class GroupReport:
    """What became of a group of files. `changed` holds ids with fingerprints, `refused` ids with errors.

    `labels` holds ids with the labels that the files state: of each changed document, and of each unchanged one whose
    files stated others before. A batch that was embedded earlier may hold older ones.
    """

    files: int
    unchanged: int
    changed: tuple[tuple[str, str], ...]
    refused: tuple[tuple[str, UnreadableFile], ...]
    labels: tuple[tuple[str, tuple[str, ...]], ...] = ()


PipelineResult = GroupReport | EmbeddedBatch | QuothError


class ReadFiles:
    """Reads, extracts, splits and tags the files of a group, one file at a time."""

    def __init__(self, target: IngestTarget) -> None:
        self._profile = target.profile
        self._extraction = Extraction(replace(target.settings.ingest, workers=1))
        self._files = FileReader(target.profile, target.settings.ingest, self._extraction)

    def read(self, group: FileGroup) -> Iterator[PendingBatch | GroupReport]:
        """Yield the batches of a group, and then the report on its files."""
        unchanged: list[str] = []
        changed: list[tuple[str, str]] = []
        refused: list[tuple[str, UnreadableFile]] = []
        labels: list[tuple[str, tuple[str, ...]]] = []

        def runs() -> Iterator[PendingRun]:
            for wanted in group.files:
                doc_id = wanted.file.doc_id
                try:
                    opened = self._files.open(wanted.file)
                    if opened.fingerprint == wanted.indexed:
                        stated = unchanged_labels(opened, wanted.stated, self._extraction)
                        if stated != wanted.stated:
                            labels.append((doc_id, stated))
                        unchanged.append(doc_id)
                        continue
                    missing = wanted.missing.get(opened.fingerprint)
                    if missing != frozenset():  # an earlier run has not embedded all of it
                        extracted = extract_text(opened, self._extraction)
                        yield from self._runs(extracted, missing)
                        labels.append((doc_id, labels_in(extracted)))
                    else:
                        labels.append((doc_id, unchanged_labels(opened, (), self._extraction)))
                    changed.append((doc_id, opened.fingerprint))
                except UnreadableFile as error:
                    refused.append((doc_id, error))

        yield from _in_batches(group.shard, runs())
        yield GroupReport(len(group.files), len(unchanged), tuple(changed), tuple(refused), tuple(labels))

    def _runs(self, file: ExtractedFile, missing: frozenset[int] | None) -> Iterator[PendingRun]:
        """Yield the runs that are missing; None means all."""
        document = split_document(file, self._profile)
        changed = changed_file(file, document.document, self._profile)
        texts = [sentence.search_text for sentence in document.sentences if sentence.kind.evidence]
        starts = range(0, max(len(texts), 1), batches.MOST_SENTENCES)
        for number, start in enumerate(starts):
            if missing is None or number in missing:
                yield PendingRun(
                    SentenceRun(changed, file.fingerprint, number, len(starts)),
                    batches.pack_document(file) if number == 0 else b"",
                    tuple(texts[start : start + batches.MOST_SENTENCES]),
                )

    def __del__(self) -> None:  # Ray ends its processes without notice
        self._extraction.__exit__(None, None, None)


def _in_batches(shard: int, runs: Iterable[PendingRun]) -> Iterator[PendingBatch]:
    """Collect runs until they fill a batch."""
    batch: list[PendingRun] = []
    sentences = size = 0
    for run in runs:
        run_size = len(run.document) + sum(map(len, run.texts))
        if batch and (sentences + len(run.texts) > batches.MOST_SENTENCES or size + run_size > _MOST_BYTES):
            yield PendingBatch(shard, tuple(batch))
            batch, sentences, size = [], 0, 0
        batch.append(run)
        sentences += len(run.texts)
        size += run_size
    if batch:
        yield PendingBatch(shard, tuple(batch))


class EmbedBatches:
    """Embeds batches and writes them. The model is loaded for the first batch, if there is one."""

    def __init__(self, target: IngestTarget) -> None:
        self._target = target

    def embed(self, batch: PendingBatch) -> EmbeddedBatch:
        """Embed and write a batch, unless an earlier attempt already wrote it."""
        target = self._target
        name = batches.name_of(target.key, batch)
        if (written := batches.find(target.location, name)) is not None:
            return written
        embedder = open_embedder(target.settings.embedding)
        if embedder.identity != target.model:
            raise ClusterFault(
                f"a node of the cluster has other files of the model {target.model.name} than this machine",
                hint="Give every node the same files; see embedding.path.",
            )
        vectors, tokens = embedder.embed_tokens([text for run in batch.runs for text in run.texts])
        return batches.write(target, name, batch, vectors, tokens)


def run(target: IngestTarget, groups: Sequence[FileGroup], *, workers: int, gpus: float) -> Generator[PipelineResult]:
    """Work through the groups on the cluster; yield the results in any order."""
    import ray

    given = ray.put(target)
    often = {"max_retries": _RETRIES, "scheduling_strategy": "SPREAD"}
    read = ray.remote(_read).options(
        num_cpus=0,  # the embedders take all CPUs, and readers run beside them
        num_returns="streaming",
        _generator_backpressure_num_objects=_AHEAD,
        **often,
    )
    # Ray would end a process with a GPU after each task, and its model with it.
    embed = ray.remote(max_calls=0)(_embedded).options(num_cpus=1, num_gpus=gpus or None, **often)
    most = workers if workers < cpus() else _AHEAD * workers  # all of them run at once where CPUs are free
    waiting = iter(groups)
    reading = [read.remote(given, group) for group in islice(waiting, workers)]
    embedding: set[Any] = set()
    while reading or embedding:
        for ready in wait_for_some([*embedding, *(reading if len(embedding) < most else ())]):
            if ready in embedding:
                embedding.remove(ready)
                yield fetch(ready)
                continue
            try:
                embedding.add(embed.remote(given, next(ready)))
            except StopIteration:
                reading.remove(ready)
                reading += [read.remote(given, group) for group in islice(waiting, 1)]


# In the processes of the cluster


_reader: ReadFiles | None = None
"""That of this process. A Ray process works for one driver, and so for one target."""


def _read(target: IngestTarget, group: FileGroup) -> Iterator[PendingBatch | GroupReport | QuothError]:
    global _reader  # noqa: PLW0603 - the next task of this process goes on with it
    _reader = _reader or ReadFiles(target)
    try:
        yield from _reader.read(group)
    except QuothError as error:
        yield error


def _embedded(target: IngestTarget, read: PendingBatch | GroupReport | QuothError) -> PipelineResult:
    """Embed and write a batch, and pass on everything else: the driver could only tell them apart by fetching them."""
    try:
        return EmbedBatches(target).embed(read) if isinstance(read, PendingBatch) else read
    except QuothError as error:
        return error
