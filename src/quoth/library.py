"""The Python interface: `Quoth.open(path).ask("…")`."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, closing
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from queue import Queue
from typing import TYPE_CHECKING, TypeVar

from quoth import ask as read_path
from quoth.corpus.printed import printed
from quoth.engine import Engine, Stage, silent
from quoth.errors import NoIndex, PartLost, QuestionError
from quoth.profile import Profile
from quoth.profiles import DEFAULT_PROFILE, load_profile, parse_profile
from quoth.protocols import Progress, Reader, Store
from quoth.questions import checked_day
from quoth.settings import NO_OVERRIDES, Overrides, Settings, with_value
from quoth.types import (
    Asked,
    Box,
    Document,
    DocumentInfo,
    Filters,
    IndexInfo,
    Outcome,
    Passage,
    Question,
    Retrieval,
    Retrieved,
    Sentence,
    Span,
    Tags,
)
from quoth.wiring import (
    circumstances_of,
    engine_for,
    open_embedder,
    open_query_log,
    open_results,
    open_store,
)

if TYPE_CHECKING:
    from quoth.ingest import IngestReport


_Given = TypeVar("_Given")
_log = logging.getLogger(__name__)


class Quoth:
    """Verbatim answers from one index. Threads may share it; a new generation is picked up by the next question."""

    def __init__(self, store: Store, overrides: Overrides) -> None:
        self._store = store
        self._overrides = overrides
        self._engine: tuple[str, Engine] | None = None
        self._engine_lock = threading.Lock()

    @classmethod
    def open(cls, path: str | Path = ".quoth", *, settings: Mapping[str, object] | None = None) -> Quoth:
        """Open an index, in a folder or at an address; `NoIndex` when there is none.

        `settings` are dotted keys: {"selection.max_sentences": 3}.
        """
        given = _overrides(settings)
        opened = cls(open_store(path, given.over({}, profile="none").store), given)
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
        """Ingest folders or files into an index, made when there is none yet, and open it.

        `prune` removes the documents whose files are gone from these folders.
        """
        several = [paths] if isinstance(paths, str | Path) else paths
        report = ingest_paths(
            [Path(path) for path in several],
            index,
            profile=profile,
            prune=prune,
            overrides=_overrides(settings),
        )
        for refused in report.refused:
            _log.warning("refused %s: %s (%s)", refused.path, refused.why, refused.hint)
        return cls.open(index, settings=settings)

    def prepare(self) -> None:
        """Load the model now rather than at the first question; what is wrong with the settings is raised here."""
        self._engine_for(self.info)

    def circumstances(self) -> dict[str, str]:
        """What a calibration made with this index, model and settings holds for, each part by its name."""
        return circumstances_of(self.info, self._engine_for(self.info).settings, store=self._store.kind)

    @property
    def place(self) -> str:
        """Where the index is, for people."""
        return self._store.place

    def size(self) -> int:
        """Bytes that the index takes where it is kept."""
        return self._store.size()

    def settings(self) -> Settings:
        """The settings in force: those of the profile, with the user's own over them."""
        return self._engine_for(self.info).settings

    def reading(self) -> AbstractContextManager[Reader]:
        """One generation of the index, for whoever needs more than answers."""
        return self._store.read()

    def read(self, work: Callable[[Reader], _Given]) -> _Given:
        """What `work` makes of one generation of the index.

        Where a part of the index stops answering meanwhile, `work` is begun anew without it: what comes out was made of
        the same parts from beginning to end, and `Reader.missing` names the others. A part that is lost again, after
        it had been back, is an error.
        """
        lost: set[str] = set()
        while True:
            try:
                with self._store.read() as reader:
                    return work(reader)
            except PartLost as error:
                if error.part in lost:
                    raise
                lost.add(error.part)

    def published(self) -> float | None:
        """When the current generation was published, in seconds since 1970; None where that cannot be told."""
        return self._store.published()

    @property
    def loaded(self) -> Engine | None:
        """What answered the last question; None before the first. The index is not looked at."""
        with self._engine_lock:
            return self._engine[1] if self._engine else None

    def engine(self) -> Engine:
        """What answers the questions now; the model is loaded when it was not."""
        return self._engine_for(self.info)

    @property
    def info(self) -> IndexInfo:
        with self._store.read() as reader:
            return reader.info

    def ask(
        self,
        question: str | Question,
        *,
        doc_ids: str | Sequence[str] = (),
        tags: Mapping[str, str | Sequence[str]] | None = None,
        document_types: str | Sequence[str] = (),
        as_of: str | None = None,
    ) -> Outcome:
        """An `Answer` with verified quotes, or an `Abstention` with its reason.

        `as_of` (`YYYY-MM-DD`) answers as of a day: with the documents in effect then.
        """
        return self.explain(question, doc_ids=doc_ids, tags=tags, document_types=document_types, as_of=as_of).outcome

    def explain(
        self,
        question: str | Question,
        *,
        doc_ids: str | Sequence[str] = (),
        tags: Mapping[str, str | Sequence[str]] | None = None,
        document_types: str | Sequence[str] = (),
        as_of: str | None = None,
        done: Stage = silent,
    ) -> Asked:
        """The outcome together with the trace of every stage; `done` is told the name of each when it is over."""
        asked = _question(question, doc_ids=doc_ids, tags=tags, document_types=document_types, as_of=as_of)
        return self.read(
            lambda reader: read_path.ask(asked, reader=reader, engine=self._engine_for(reader.info), done=done)
        )

    def retrieve(
        self,
        question: str | Question,
        *,
        doc_ids: str | Sequence[str] = (),
        tags: Mapping[str, str | Sequence[str]] | None = None,
        document_types: str | Sequence[str] = (),
        as_of: str | None = None,
        most: int | None = None,
    ) -> Retrieval:
        """The passages that an agent should read, with a context made of them; at most `most` of them."""
        return self.explain_retrieval(
            question, doc_ids=doc_ids, tags=tags, document_types=document_types, as_of=as_of, most=most
        ).retrieval

    def explain_retrieval(
        self,
        question: str | Question,
        *,
        doc_ids: str | Sequence[str] = (),
        tags: Mapping[str, str | Sequence[str]] | None = None,
        document_types: str | Sequence[str] = (),
        as_of: str | None = None,
        most: int | None = None,
        done: Stage = silent,
    ) -> Retrieved:
        """The passages together with the trace; `done` is told the name of each stage when it is over."""
        asked = _question(question, doc_ids=doc_ids, tags=tags, document_types=document_types, as_of=as_of)

        def found(reader: Reader) -> tuple[Retrieved, Engine, float]:
            engine = self._engine_for(reader.info)
            if most is not None:
                engine = engine.with_settings(with_value(engine.settings, "context.max", most, source="the call"))
            started = time.perf_counter()
            return _retrieve(asked, reader, engine, done), engine, time.perf_counter() - started

        retrieved, engine, taken = self.read(found)
        if (log := open_query_log(engine.settings)) is not None:
            log.record(retrieved.retrieval, time=datetime.now(UTC).isoformat(), milliseconds=1000 * taken)
        return retrieved

    def answer_each(
        self,
        questions: Iterable[Question],
        deliver: Callable[[Question, Outcome | QuestionError], None],
        *,
        workers: int,
    ) -> None:
        """Ask several questions at a time; a million are never all in memory. One that cannot be asked gives its error.

        `deliver` is called with each outcome as soon as it is there, in the order of the questions, by one thread of
        its own; what it raises is raised here.
        """
        waiting: Queue[tuple[Question, Future[Outcome | QuestionError]] | None] = Queue(maxsize=4 * workers)
        stopped = threading.Event()
        with ThreadPoolExecutor(workers) as pool, ThreadPoolExecutor(1) as desk:
            delivery = desk.submit(_deliver_each, waiting, deliver, stopped)
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

    def documents(self) -> tuple[DocumentInfo, ...]:
        """Every document; of an index of which a part cannot be asked now, those of the other parts."""
        return self.read(lambda reader: reader.documents())

    def document(self, doc_id: str) -> Document | None:
        return self.read(lambda reader: reader.document(doc_id))

    def sentences(self, doc_id: str) -> tuple[Sentence, ...]:
        return self.read(lambda reader: tuple(reader.sentences(doc_id)))

    def passages(self, doc_id: str) -> tuple[Passage, ...]:
        """The passages of a document in reading order; each one's neighbours stand beside it."""
        return self.read(lambda reader: reader.passages(doc_id))

    def locate(self, doc_id: str, start: int, end: int) -> tuple[tuple[int, Box], ...]:
        """Where a slice of a document is printed: page numbers with one rectangle for each line of it, in points from
        the top left corner. Empty for a format without pages."""

        def found(reader: Reader) -> tuple[tuple[int, Box], ...]:
            listed = reader.documents([doc_id])
            if not listed:
                reader.page(doc_id, 1)  # which says so where the document may be in a part that is missing
            pages = listed[0].pages if listed else 0
            numbered = (reader.page(doc_id, number) for number in range(1, pages + 1))
            return printed((page for page in numbered if page is not None), Span(start, end))

        return self.read(found)

    def remove(self, *doc_ids: str) -> IndexInfo:
        """Take documents out of the index; `CorpusError` when one is not there, and then all stay."""
        from quoth.ingest import remove

        return remove(doc_ids, store=self._store)

    def _engine_for(self, info: IndexInfo) -> Engine:
        with self._engine_lock:  # or every thread that comes first would load the model
            if self._engine is None or self._engine[0] != info.digest:
                self._engine = (info.digest, engine_for(info, self._overrides, store=self._store.kind))
            return self._engine[1]


def _question(
    question: str | Question,
    *,
    doc_ids: str | Sequence[str],
    tags: Mapping[str, str | Sequence[str]] | None,
    document_types: str | Sequence[str],
    as_of: str | None,
) -> Question:
    if isinstance(question, str):
        day = None if as_of is None else checked_day(as_of)
        filters = Filters(_texts(doc_ids), _tags(tags), _texts(document_types), is_binding=None, as_of=day)
        return Question("1", question, filters)
    if doc_ids or tags or document_types or as_of:
        raise TypeError("a Question has filters of its own: give them there")
    return question


def _retrieve(question: Question, reader: Reader, engine: Engine, done: Stage) -> Retrieved:
    """From the cache, where the same was found for the same index and settings, or by looking."""
    from quoth.retrieval import retrieve, still_true  # an answer does not need it

    results = open_results(engine.settings.cache)
    if results is None or reader.missing:  # what is kept is whole, and of what is missing it cannot be compared
        return retrieve(question, reader=reader, engine=engine, done=done)
    key = results.key(
        index=reader.info.digest,
        settings=engine.settings_digest,
        profile=engine.profile.source,
        question=question.text,
        filters=question.filters,
    )
    kept = results.get(key)
    if kept is not None and still_true(kept, reader):
        done("cache")
        return replace(kept, retrieval=replace(kept.retrieval, question=question))
    retrieved = retrieve(question, reader=reader, engine=engine, done=done)
    results.put(key, retrieved)
    return retrieved


def _deliver_each(
    waiting: Queue[tuple[Question, Future[Outcome | QuestionError]] | None],
    deliver: Callable[[Question, Outcome | QuestionError], None],
    stopped: threading.Event,
) -> None:
    """Deliver until None comes; after a failure or once `stopped`, only empty the queue: nobody may wait on it."""
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
    """Bring the index up to date with the files under `paths`."""
    from quoth.ingest import ingest  # a question does not need the splitter

    # Where an index is, no profile says: it is not known before the index is read.
    place = overrides.over({}, profile="none").store
    with closing(open_store(index, place)) as store:
        chosen = load_profile(profile) if profile else _stored_profile(store) or load_profile(DEFAULT_PROFILE)
    settings = overrides.over(chosen.settings, profile=chosen.name)
    embedder = open_embedder(settings.embedding)
    with closing(open_store(index, place)) as store:
        return ingest(
            paths,
            store=store,
            embedder=embedder,
            profile=chosen,
            settings=settings.ingest,
            prune=prune,
            progress=progress,
        )


def ingest_named(
    folder: Path,
    doc_ids: Sequence[str],
    index: str | Path,
    *,
    profile: str | None,
    overrides: Overrides,
    progress: Progress | None,
) -> IngestReport:
    """Bring the index up to date with certain files of a folder; `profile` is for an index that is not there yet."""
    from quoth.ingest import ingest_files

    place = overrides.over({}, profile="none").store
    with closing(open_store(index, place)) as store:
        chosen = _stored_profile(store) or load_profile(profile or DEFAULT_PROFILE)
        settings = overrides.over(chosen.settings, profile=chosen.name)
        return ingest_files(
            folder,
            doc_ids,
            store=store,
            embedder=open_embedder(settings.embedding),
            profile=chosen,
            settings=settings.ingest,
            progress=progress,
        )


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


def _tags(tags: Mapping[str, str | Sequence[str]] | None) -> Tags:
    return {facet: _texts(value) for facet, value in (tags or {}).items()}


def _texts(value: str | Sequence[str]) -> tuple[str, ...]:
    """A lone text stands for a list of one."""
    return (value,) if isinstance(value, str) else tuple(value)
