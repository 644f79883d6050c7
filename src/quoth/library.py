"""The Python interface: `Quoth.open(path).ask("…")`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import UTC, datetime
from importlib import import_module
from itertools import islice
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, Any, TypeVar

from quoth.documents.printed_boxes import printed
from quoth.domain.profile import DEFAULT_PROFILE, Profile, load_profile, parse_profile
from quoth.errors import NoIndex, QuestionError, ShardLost
from quoth.language.display import Vocabulary, displayed
from quoth.overrides import NO_OVERRIDES, Overrides, with_value
from quoth.protocols import Embedder, Progress, Reader, Store
from quoth.search.engine import Engine, Stage, silent
from quoth.settings import CalibrationSettings, Settings
from quoth.types import (
    EVERYTHING,
    NO_FILTERS,
    Access,
    AskResult,
    Box,
    Document,
    DocumentInfo,
    Filters,
    FindResult,
    FoundDocument,
    IndexInfo,
    Inspection,
    ModelIdentity,
    Outcome,
    Passage,
    Question,
    Retrieval,
    RetrieveResult,
    Sentence,
    Span,
)
from quoth.wiring import (
    circumstances_of,
    engine_for,
    for_documents,
    for_index,
    open_cache,
    open_embedder,
    open_query_log,
    open_store,
)

if TYPE_CHECKING:
    from quoth.documents.files import CorpusFiles
    from quoth.documents.folder_watch import FolderWatch, WatchListener
    from quoth.documents.ingest_report import IngestReport

_Result = TypeVar("_Result")
_log = logging.getLogger(__name__)
_ANSWERING = "quoth.answer.ask"


class Quoth:
    """Answers questions from one index. Threads may share it. Each question reads the newest generation."""

    def __init__(self, store: Store, overrides: Overrides) -> None:
        self._store = store
        self._overrides = overrides
        self._access = EVERYTHING
        self._loaded = _LoadedEngine()

    @classmethod
    def open(cls, path: str | Path = ".quoth", *, settings: Mapping[str, object] | None = None) -> Quoth:
        """Open an index in a folder or at an address. Raise `NoIndex` when there is none.

        `settings` are dotted keys: {"selection.max_sentences": 3}.
        """
        given = _overrides(settings)
        opened = cls(open_store(path, given.without_profile().store), given)
        _ = opened.info
        return opened

    @classmethod
    def build(
        cls,
        paths: str | Path | Iterable[str | Path],
        *,
        index: str | Path = ".quoth",
        profile: str | None = None,
        prune: bool = False,
        settings: Mapping[str, object] | None = None,
    ) -> Quoth:
        """Ingest folders or files into an index, creating it if needed, and open it.

        `prune` removes the documents whose files are gone from these folders.
        """
        several = [paths] if isinstance(paths, str | Path) else paths
        report = ingest_paths(
            [Path(path) for path in several], index, profile=profile, prune=prune, overrides=_overrides(settings)
        )
        for advice in report.advice:
            _log.warning("%s", advice)
        for refused in report.refused:
            _log.warning("refused %s: %s (%s)", refused.path, refused.why, refused.hint)
        return cls.open(index, settings=settings)

    def seen_by(self, access: Access) -> Quoth:
        """Return this index as somebody with `access` sees it: as if it had never held the other documents.

        It shares the store, the engine and the models, so making one for each request costs nothing. What writes
        (`remove`, `relabel`) concerns the whole index all the same. Raise `LabelsUnsupported` at the first read where
        the store cannot do that.
        """
        if access == self._access:
            return self
        limited = Quoth(self._store, self._overrides)
        limited._access = access
        limited._loaded = self._loaded
        return limited

    def holder_of(self, labels: Iterable[str]) -> Access:
        """Return the access of somebody who holds `labels`: `access.default` decides on documents without labels."""
        with self._store.read() as reader:
            info = reader.info
        if (engine := self._loaded.found(info)) is not None:
            settings = engine.settings
        else:  # without loading a model
            profile = parse_profile(info.profile_source)
            settings = self._overrides.over(profile.settings, profile=profile.name)
        return Access(frozenset(labels), unlabelled=settings.access.default == "open")

    def relabel(self, labels: Mapping[str, Collection[str]]) -> None:
        """Replace the labels of documents by id, all or none. It holds from the next question on.

        A document keeps them when it is ingested again, until its files state other ones than before. Raise
        `CorpusError` when there is no such document.
        """
        self._store.relabel(labels)

    def prepare(self) -> None:
        """Load the model now rather than at the first question. Raise `QuothError` when the settings are wrong."""
        self._engine_for(self.info)

    def circumstances(self, language: str | None = None) -> dict[str, str]:
        """Return what a calibration made with this index, model and settings depends on, by name.

        `language` is that of its questions, None for English.
        """
        settings = self._engine_for(self.info).settings
        return circumstances_of(self.info, settings, store=self._store.kind, language=language)

    @property
    def location(self) -> str:
        """The location of the index, as shown to people."""
        return self._store.location

    def size(self) -> int:
        """Return the size of the index in bytes; with limited access, the characters of the documents."""
        if self._limited:
            return sum(document.characters for document in self.documents())
        return self._store.size()

    def settings(self) -> Settings:
        """Return the settings in force: those of the profile, overridden by the user's own."""
        return self._engine_for(self.info).settings

    def reading(self) -> AbstractContextManager[Reader]:
        """Open one generation of the index, for callers that need more than answers."""
        return self._store.read(self._access)

    def read(self, work: Callable[[Reader], _Result]) -> _Result:
        """Return the result of `work` on one generation of the index.

        When a shard stops answering, `work` starts again without it, so that a result always comes from the same
        shards; `Reader.missing` names the others. Raise `ShardLost` when a shard comes back and stops again.
        """
        lost: set[str] = set()
        while True:
            try:
                with self._store.read(self._access) as reader:
                    return work(reader)
            except ShardLost as error:
                if error.shard in lost:
                    raise
                lost.add(error.shard)

    def published(self) -> float | None:
        """Return when the current generation was published, in seconds since 1970; None when that is unknown.

        With limited access it is: the documents that are not seen may have been the reason.
        """
        return None if self._limited else self._store.published()

    @property
    def loaded(self) -> Engine | None:
        """The engine of the last question; None before the first. Does not read the index."""
        return self._loaded.engine

    def engine(self) -> Engine:
        """Return the engine that answers questions now; load the model if needed."""
        return self._engine_for(self.info)

    @property
    def info(self) -> IndexInfo:
        with self._store.read(self._access) as reader:
            return reader.info

    def ask(
        self, question: str | Question, *, filters: Filters = NO_FILTERS, previous: str | Iterable[str] = ()
    ) -> Outcome:
        """Return an `Answer` with verified quotes, or an `Abstention` with its reason.

        `filters` restrict the search. `previous` are the questions asked before, oldest first: after them, `and for
        soybeans?` is a question, and `Outcome.understood` says which. A `Question` has both of its own.
        """
        return self.explain(question, filters=filters, previous=previous).outcome

    def explain(
        self,
        question: str | Question,
        *,
        filters: Filters = NO_FILTERS,
        previous: str | Iterable[str] = (),
        done: Stage = silent,
    ) -> AskResult:
        """Return the outcome with a trace of every stage. Call `done` with the name of each finished stage."""
        asked = _question(question, filters, (previous,) if isinstance(previous, str) else tuple(previous))
        if self.loaded is None:
            # Reading the code takes Python alone, and loading the models hardly any of it: together they take half.
            threading.Thread(target=import_module, args=(_ANSWERING,), daemon=True).start()

        def answer(reader: Reader) -> AskResult:
            engine = self._engine_for(reader.info)
            from quoth.answer.ask import ask  # reading documents does not need it

            return ask(asked, reader=reader, engine=engine, done=done)

        return self.read(answer)

    def retrieve(
        self, question: str | Question, *, filters: Filters = NO_FILTERS, most: int | None = None
    ) -> Retrieval:
        """Return the passages that an agent should read, at most `most` of them, and a context made from them.

        The question is asked as it stands, whatever was asked before it.
        """
        return self.explain_retrieval(question, filters=filters, most=most).retrieval

    def explain_retrieval(
        self, question: str | Question, *, filters: Filters = NO_FILTERS, most: int | None = None, done: Stage = silent
    ) -> RetrieveResult:
        """Return the passages with a trace of every stage. Call `done` with the name of each finished stage."""
        wanted = _question(question, filters)

        def retrieve_timed(reader: Reader) -> tuple[RetrieveResult, Engine, float]:
            engine = self._engine_for(reader.info)
            if most is not None:
                engine = engine.with_settings(with_value(engine.settings, "context.max", most, source="the call"))
            started = time.perf_counter()
            return _retrieve(wanted, reader, engine, done, limited=self._limited), engine, time.perf_counter() - started

        retrieved, engine, taken = self.read(retrieve_timed)
        if (log := open_query_log(engine.settings)) is not None:
            log.record(retrieved.retrieval, time=datetime.now(UTC).isoformat(), milliseconds=1000 * taken)
        return retrieved

    def find(
        self,
        pattern: str,
        *,
        regex: bool = False,
        near: int | None = None,
        case: bool = False,
        filters: Filters = NO_FILTERS,
        most: int | None = None,
        seconds: float | None = None,
    ) -> FindResult:
        """Return every document that holds the words of `pattern`, or matches it as a regular expression.

        See `compile_pattern` for `regex`, `near` and `case`. All matches are counted, and the places of the first
        `most` are given. Loads no model. Raise `QuestionError` for a pattern that cannot be looked for, and when it
        takes longer than `seconds`.
        """
        from quoth.search.find_matches import find_matches  # questions do not need it
        from quoth.search.patterns import compile_pattern

        compiled = compile_pattern(pattern, regex=regex, near=near, case=case)

        def find(reader: Reader) -> FindResult:
            left, documents = most, []
            for found in find_matches(compiled, filters, reader=reader, seconds=seconds):
                matches = tuple(islice(found.matches, left))
                left = None if left is None else left - len(matches)
                documents.append(FoundDocument(found.info.id, found.info.sha256, found.count, matches))
            return FindResult(tuple(documents), reader.missing)

        return self.read(find)

    def answer_each(
        self,
        questions: Iterable[Question],
        deliver: Callable[[Question, Outcome | QuestionError], None],
        *,
        workers: int,
    ) -> None:
        """Ask several questions at a time, without holding all of them in memory.

        One thread calls `deliver` with each outcome, or with the error of a question that cannot be asked, in the order
        of the questions. An exception in `deliver` ends the work and is raised here.
        """
        waiting: Queue[tuple[Question, Future[Outcome | QuestionError]] | None] = Queue(maxsize=4 * workers)
        stopped = threading.Event()
        with ThreadPoolExecutor(workers) as pool, ThreadPoolExecutor(1) as delivering:
            delivery = delivering.submit(_deliver_each, waiting, deliver, stopped)
            try:
                for question in questions:
                    if stopped.is_set():
                        break
                    waiting.put((question, pool.submit(self._ask_or_error, question)))
            except BaseException:
                stopped.set()
                raise
            finally:
                waiting.put(None)
            delivery.result()

    def _ask_or_error(self, question: Question) -> Outcome | QuestionError:
        try:
            return self.ask(question)
        except QuestionError as error:
            return error

    def receipt(self, result: Mapping[str, Any], *, day: str | None, program: str) -> dict[str, Any]:
        """Return the receipt of a result of this index, such as a line of a run file; `docs/receipts.md` describes it.

        `day` is that of the receipt, `YYYY-MM-DD`; `program` the name and version of what writes it. Raise
        `IndexMismatch` when another index or other settings gave the result, and `OffsetMismatch` when it was changed.
        """
        from quoth.answer.calibration import threshold_in_force  # questions do not need these
        from quoth.citations.cited_quotes import parse_result
        from quoth.citations.receipts import receipt_of

        parsed = parse_result(result)

        def make(reader: Reader) -> dict[str, Any]:
            engine = self._engine_for(reader.info)
            plain = engine.with_settings(replace(engine.settings, calibration=CalibrationSettings()))
            calibration = (engine if parsed.run_notes.calibrated else plain).settings.calibration
            return receipt_of(
                parsed,
                reader=reader,
                program=program,
                day=day,
                settings={engine.settings_digest, plain.settings_digest},
                models=engine.models,
                threshold=threshold_in_force(calibration, plain=engine.thresholds.answer),
            )

        return self.read(make)

    def documents(self) -> tuple[DocumentInfo, ...]:
        """Return every document, except those of shards that do not answer now."""
        return self.read(lambda reader: reader.documents())

    def document(self, doc_id: str) -> Document | None:
        return self.read(lambda reader: reader.document(doc_id))

    def sentences(self, doc_id: str) -> tuple[Sentence, ...]:
        return self.read(lambda reader: tuple(reader.sentences(doc_id)))

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        """Return the passages of a document in reading order."""
        return self.read(lambda reader: reader.passages(doc_id))

    def shown(self, doc_id: str, text: str) -> str:
        """Return a slice of a document as people read it: on one line, with words joined that a line break hyphenates.

        It is not exact: never cite it. Of a document that is gone, only the words of the slice itself are known.
        """
        document = self.document(doc_id)
        return displayed(text, Vocabulary(document.text if document else text))

    def locate(self, doc_id: str, start: int, end: int) -> tuple[tuple[int, Box], ...]:
        """Return where a slice of a document is printed: page numbers, with a rectangle for each line.

        Rectangles are in points from the top left corner. Empty for a format without pages.
        """

        def boxes(reader: Reader) -> tuple[tuple[int, Box], ...]:
            listed = reader.documents([doc_id])
            if not listed:
                reader.page(doc_id, 1)  # raises when the document may be in a missing shard
            pages = listed[0].pages if listed else 0
            numbered = (reader.page(doc_id, number) for number in range(1, pages + 1))
            return printed((page for page in numbered if page is not None), Span(start, end))

        return self.read(boxes)

    def inspect(self, *, progress: Progress | None = None) -> Inspection:
        """Return figures of every document, what looks wrong with it, and the files that ingests refused.

        With limited access no refused file is named: nobody knows what labels it would have.
        """
        from quoth.documents.inspection import inspect  # questions do not need it

        refused = () if self._limited else self._store.refused_files()
        return self.read(lambda reader: inspect(reader, refused, progress=progress))

    def remove(self, *doc_ids: str) -> IndexInfo:
        """Remove documents from the index. Raise `CorpusError`, and remove nothing, when an id is unknown."""
        from quoth.documents.ingest import remove

        return remove(doc_ids, store=self._store)

    @property
    def _limited(self) -> bool:
        return self._access.labels is not None

    def _engine_for(self, info: IndexInfo) -> Engine:
        return self._loaded.for_index(info, lambda: engine_for(info, self._overrides, store=self._store.kind))


class _LoadedEngine:
    """The engine of the last question. It depends on the model and the profile of the index, not on its documents."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._made_for: object = None
        self._engine: Engine | None = None

    @property
    def engine(self) -> Engine | None:
        with self._lock:
            return self._engine

    def found(self, info: IndexInfo) -> Engine | None:
        """Return the engine for an index if it is the last one."""
        with self._lock:
            return self._engine if self._made_for == _makers(info) else None

    def for_index(self, info: IndexInfo, load: Callable[[], Engine]) -> Engine:
        """Return the engine for an index, and `load` it unless it is the last one."""
        with self._lock:  # without it, each of the first threads would load the model
            if self._engine is None or self._made_for != _makers(info):
                self._engine, self._made_for = load(), _makers(info)
            return self._engine


def _makers(info: IndexInfo) -> object:
    """Return all of an index that an engine depends on."""
    return info.format, info.model, info.profile_name, info.profile_source


def _question(question: str | Question, filters: Filters, previous: tuple[str, ...] = ()) -> Question:
    if isinstance(question, str):
        return Question("1", question, filters, previous)
    if filters != NO_FILTERS or previous:
        raise TypeError("a Question has filters of its own, and previous questions: give them there")
    return question


def _retrieve(question: Question, reader: Reader, engine: Engine, done: Stage, *, limited: bool) -> RetrieveResult:
    """Return the cached result for the same index, settings and question, or retrieve."""
    from quoth.passages.retrieve import depends_on, is_repeatable, retrieve, still_true  # answers do not need it

    seconds = engine.settings.cache.result_seconds
    cache = open_cache(engine.settings.cache) if seconds else None
    if cache is None or reader.missing:  # the cache holds results of the whole index only
        return retrieve(question, reader=reader, engine=engine, done=done)
    # Who sees all of the same documents without limits gets their labels, too.
    key = cache.key("found", depends_on(question, reader, engine) | {"limited": limited})
    cached: RetrieveResult | None = cache.get(key)
    if cached is not None and still_true(cached, reader):
        done("cache")
        return replace(cached, retrieval=replace(cached.retrieval, question=question))
    retrieved = retrieve(question, reader=reader, engine=engine, done=done)
    if is_repeatable(retrieved):
        cache.put(key, retrieved, seconds=seconds)
    return retrieved


def _deliver_each(
    waiting: Queue[tuple[Question, Future[Outcome | QuestionError]] | None],
    deliver: Callable[[Question, Outcome | QuestionError], None],
    stopped: threading.Event,
) -> None:
    """Deliver outcomes until the queue yields None. Once `stopped`, only empty the queue, so that no writer blocks."""
    try:
        while (item := waiting.get()) is not None:
            if not stopped.is_set():
                deliver(item[0], item[1].result())
    except BaseException:
        stopped.set()
        while waiting.get() is not None:
            pass
        raise


def ingest_paths(
    paths: Sequence[Path],
    index: str | Path,
    *,
    profile: str | None,
    overrides: Overrides,
    prune: bool = False,
    progress: Progress | None = None,
) -> IngestReport:
    """Bring the index up to date with the files under `paths`.

    `profile` None keeps the profile of the index. `prune` removes documents whose files are gone.
    """
    from quoth.documents.files import find_files  # imported here: questions do not need it

    with closing(open_store(index, overrides.without_profile().store)) as store:
        chosen = load_profile(profile) if profile else _stored_profile(store) or load_profile(DEFAULT_PROFILE)
        settings = overrides.over(chosen.settings, profile=chosen.name).ingest
        files = find_files(paths, settings)
        return _ingest(files, store, profile=chosen, overrides=overrides, prune=prune, progress=progress)


def open_watch(
    folder: Path, index: str | Path, *, ingest: Callable[[], IngestReport], listener: WatchListener
) -> FolderWatch:
    """Return a watch that calls `ingest` when the folder changes. Raise `MissingExtra` when it needs an extra."""
    from quoth.documents.folder_watch import FolderWatch

    inside = Path(index) if "://" not in str(index) else None
    return FolderWatch(folder, ingest=ingest, listener=listener, leave_out=inside)


def ingest_named(
    folder: Path,
    doc_ids: Sequence[str],
    index: str | Path,
    *,
    profile: str | None,
    overrides: Overrides,
    progress: Progress | None,
    root: Path | None = None,
) -> IngestReport:
    """Bring the index up to date with certain files of a folder. Only a new index takes `profile`.

    The index names `root` as their folder, if there is another one than this.
    """
    from quoth.documents.files import named_files

    with closing(open_store(index, overrides.without_profile().store)) as store:
        chosen = _stored_profile(store) or load_profile(profile or DEFAULT_PROFILE)
        files = named_files(folder, doc_ids, root=root)
        return _ingest(files, store, profile=chosen, overrides=overrides, prune=False, progress=progress)


def _ingest(
    files: CorpusFiles, store: Store, *, profile: Profile, overrides: Overrides, prune: bool, progress: Progress | None
) -> IngestReport:
    from quoth.documents.ingest import ingest

    settings = overrides.over(profile.settings, profile=profile.name)
    advice: list[str] = []

    def choose(languages: Sequence[str | None]) -> Embedder:
        chosen, advised = for_documents(settings.embedding, languages)
        advice.extend(filter(None, [advised]))
        return open_embedder(chosen)

    made_with = _stored_model(store)
    report = ingest(
        files,
        store=store,
        embedder=open_embedder(for_index(settings.embedding, made_with)) if made_with else choose,
        profile=profile,
        settings=settings.ingest,
        prune=prune,
        progress=progress,
    )
    return replace(report, advice=tuple(advice))


def _stored_model(store: Store) -> ModelIdentity | None:
    try:
        with store.read() as reader:
            return reader.info.model
    except NoIndex:
        return None


def _stored_profile(store: Store) -> Profile | None:
    try:
        with store.read() as reader:
            return parse_profile(reader.info.profile_source)
    except NoIndex:
        return None


def _overrides(settings: Mapping[str, object] | None) -> Overrides:
    nested: dict[str, dict[str, object]] = {}
    for key, value in (settings or {}).items():
        section, _, name = key.partition(".")
        nested.setdefault(section, {})[name] = value
    return Overrides(nested, {}, {}) if nested else NO_OVERRIDES
