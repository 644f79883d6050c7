"""Build a large index from vectors made by program, and measure what size costs.

    nice python tools/scale.py --vectors INDEX [--sentences 1000000] [--small 45000] [--place /tmp/quoth-scale]

INDEX is an index of real documents: its sentences, vectors and token codes are taken over and over again, each time
with other words and with some seeded noise, until there are enough. So no model runs, and the vectors lie as real ones
do. Prints the time of each stage, private memory, the size of each part, recall against exact search, the median time
of a question in the small and in the large index (asked in turn, so that their ratio means something on a busy
machine), and what the edit of one sentence costs.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import shutil
import statistics
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from quoth.answer.ask import ask
from quoth.domain.profile import load_profile
from quoth.models.tokenizer import EstimateCounter
from quoth.protocols import Progress
from quoth.search.engine import Engine
from quoth.settings import Settings
from quoth.stores import database_rows as rows
from quoth.stores.aside_search import AsideSearch
from quoth.stores.database_rows import unit_vectors
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.embedded.embedded_reader import EmbeddedReader
from quoth.types import (
    NO_FILTERS,
    Document,
    Metadata,
    ModelIdentity,
    Passage,
    Query,
    Question,
    Quote,
    RegionKind,
    Sentence,
    Span,
    SplitDocument,
    Vectors,
)

NOISE = 0.4
"""Its length beside that of a vector: two of one origin have a cosine of about 0.86."""
PER_DOCUMENT = 140
PER_PASSAGE = 20
NEAREST = 50


@dataclass(frozen=True, slots=True, eq=False)
class Origin:
    """Real sentences with their vectors and token codes."""

    model: ModelIdentity
    texts: list[str]
    vectors: Vectors
    tokens: list[bytes]
    words: list[str]

    def text(self, number: int) -> str:
        """The text of a sentence by number: real words, a few of them others, and a code that tells the number."""
        words = self.texts[number % len(self.texts)].split()
        drawn = np.random.default_rng(number)
        for place in drawn.integers(0, len(words), size=max(1, len(words) // 5)):
            words[place] = self.words[int(drawn.integers(len(self.words)))]
        return f"{' '.join(words)} [{number}]"

    def vector(self, number: int) -> Vectors:
        base = self.vectors[number % len(self.vectors)]
        noise = np.random.default_rng(number).standard_normal(len(base), dtype=np.float32)
        moved: Vectors = base + noise * (NOISE / np.linalg.norm(noise))
        return moved / np.linalg.norm(moved)


def read_origin(index: Path) -> Origin:
    with EmbeddedStore(index).read_part() as reader:
        joined = "JOIN embeddings e ON e.id = s.embedding"
        read = reader.tables.sentences("", extra="e.id, e.tokens", join=joined)
        identity = reader.info.model
        found: dict[int, tuple[str, bytes]] = {}
        for row, (number, tokens) in read:
            text = row[rows.QUOTED.split(", ").index("s.text")]
            if text.split():
                found[number] = max(found.get(number, ("", b"")), (text, tokens))
        numbers = sorted(found)
        stored = reader.tables.vectors(np.array(numbers, dtype=np.int64))
    texts = [found[number][0] for number in numbers]
    words = sorted({word for text in texts[::7] for word in text.split()})
    return Origin(identity, texts, unit_vectors(stored), [found[number][1] for number in numbers], words)


class StandIn:
    """Gives each text the vector that belongs to the number in it, and counts its own time."""

    def __init__(self, origin: Origin) -> None:
        self._origin = origin
        self.identity = origin.model
        self.has_tokens = True
        self.seconds = 0.0
        self.texts = 0

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        return self.embed_tokens(texts, progress=progress)[0]

    def embed_tokens(self, texts: Sequence[str], *, progress: Progress | None = None) -> tuple[Vectors, list[bytes]]:
        begun = time.perf_counter()
        numbers = [int(text[text.rindex("[") + 1 : -1]) for text in texts]
        vectors = np.stack([self._origin.vector(number) for number in numbers])
        tokens = [self._origin.tokens[number % len(self._origin.tokens)] for number in numbers]
        if progress is not None:
            progress("embedding", len(texts), len(texts))
        self.seconds += time.perf_counter() - begun
        self.texts += len(texts)
        return vectors, tokens

    def embed_question(self, text: str) -> tuple[Vectors, None]:
        return self._origin.vector(int(hashlib.sha256(text.encode()).hexdigest()[:8], 16)), None


def document(origin: Origin, number: int, sentences: range) -> SplitDocument:
    doc_id = f"{number % 97:02d}/{number}.md"
    pieces: list[Sentence] = []
    start = 0
    for text in map(origin.text, sentences):
        quote = Quote(Span(start, start + len(text)), text)
        tags = {"crop": (f"crop{number % 12}",)} if len(pieces) % 2 else {}
        pieces.append(Sentence(doc_id, quote, RegionKind.PARAGRAPH, (f"Part {number % 9}",), None, None, None, tags))
        start += len(text) + 1
    return assembled(doc_id, pieces)


def assembled(doc_id: str, pieces: Sequence[Sentence]) -> SplitDocument:
    text = "\n".join(piece.text for piece in pieces)
    passages = tuple(
        Passage(
            doc_id, Span(run[0].quote.span.start, run[-1].quote.span.end), first, first + len(run) - 1, (), None, 500
        )
        for first in range(0, len(pieces), PER_PASSAGE)
        if (run := pieces[first : first + PER_PASSAGE])
    )
    about = Metadata(None, None, None, None, (), "en", {}, False, (), None, None)
    digest = hashlib.sha256(text.encode()).hexdigest()
    whole = Document(doc_id, text, digest, digest, "utf-8", "markdown", "made by program", about)
    return SplitDocument(whole, tuple(pieces), passages, (), "/made", digest)


def documents(origin: Origin, sentences: int) -> Iterator[SplitDocument]:
    for number, start in enumerate(range(0, sentences, PER_DOCUMENT)):
        yield document(origin, number, range(start, min(start + PER_DOCUMENT, sentences)))


def edited(origin: Origin, number: int) -> SplitDocument:
    """A document of which one sentence is another."""
    start = number * PER_DOCUMENT
    whole = document(origin, number, range(start, start + PER_DOCUMENT))
    last = whole.sentences[-1]
    text = origin.text(10**8 + number)
    span = Span(last.quote.span.start, last.quote.span.start + len(text))
    return assembled(whole.document.id, [*whole.sentences[:-1], replace(last, quote=Quote(span, text))])


@contextmanager
def watched(place: Path) -> Iterator[dict[str, int]]:
    """The most private memory and the most room on disk that were seen meanwhile, in MB."""
    peaks = {"private": 0, "disk": 0}
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.2):
            peaks["private"] = max(peaks["private"], private_memory())
            peaks["disk"] = max(peaks["disk"], sum(sizes(place).values()))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield peaks
    finally:
        done.set()
        thread.join()


def private_memory() -> int:
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssAnon")) // 1024


def written() -> int:
    lines = Path("/proc/self/io").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("write_bytes")) // 2**20


def sizes(place: Path) -> dict[str, int]:
    """MB by part; a file with several names counts once."""
    parts: dict[str, int] = {}
    seen = set()
    files = (Path(inside, name) for inside, _, names in os.walk(place) for name in names)
    for path in files:
        try:
            stat = path.stat()
        except FileNotFoundError:  # a writer has removed it meanwhile
            continue
        if stat.st_ino in seen:
            continue
        seen.add(stat.st_ino)
        part = path.name if path.parent == place else path.parent.name if path.parent.name == "lexical" else path.name
        parts[part] = parts.get(part, 0) + stat.st_size
    return {part: size // 2**20 for part, size in sorted(parts.items()) if size >= 2**20}


def build(store: EmbeddedStore, put: Iterator[SplitDocument], *, embedder: StandIn, profile: tuple[str, str]) -> None:
    marks = {"begun": time.perf_counter()}
    worked = time.process_time()

    def progress(what: str, done: int, total: int) -> None:
        moment = time.perf_counter()
        marks.setdefault(what, moment)
        marks[f"{what} done"] = moment

    store.write(put, remove=(), embedder=embedder, profile=profile, progress=progress)
    end = time.perf_counter()
    staging = marks["embedding"] - marks["begun"] - embedder.seconds * 4096 / max(4096, embedder.texts)
    print(
        f"  staging {staging:.0f} s; vectors {marks['indexing'] - marks['embedding']:.0f} s, of which the stand-in "
        f"took {embedder.seconds:.0f}; publishing {end - marks['indexing']:.0f} s; in all "
        f"{end - marks['begun']:.0f} s, {time.process_time() - worked:.0f} of them on a processor",
        flush=True,
    )


def edit(store: EmbeddedStore, origin: Origin, *, number: int, profile: tuple[str, str]) -> None:
    embedder = StandIn(origin)
    change = edited(origin, number)
    before, begun, worked = written(), time.perf_counter(), time.process_time()
    store.write([change], remove=(), embedder=embedder, profile=profile, progress=None)
    print(
        f"  one sentence edited: {time.perf_counter() - begun:.2f} s ({time.process_time() - worked:.2f} s on a "
        f"processor), {written() - before} MB written, {embedder.texts} embedded",
        flush=True,
    )


def recall(place: Path, origin: Origin, queries: Sequence[int]) -> float:
    """The share of the exactly nearest that the dense search finds."""
    with EmbeddedStore(place).read_part() as reader:
        return _recall(reader, origin, queries)


def _recall(reader: EmbeddedReader, origin: Origin, queries: Sequence[int]) -> float:
    index, tables = reader.dense, reader.tables
    asked = np.stack([origin.vector(number) for number in queries])
    best = np.full((len(queries), NEAREST), -2.0, dtype=np.float32)
    where = np.zeros((len(queries), NEAREST), dtype=np.int64)
    for start in range(0, len(index.rows), 16_384):
        positions = np.arange(start, min(start + 16_384, len(index.rows)))
        cosines = np.hstack([best, asked @ index.take(positions, tables).T])
        places = np.hstack([where, np.broadcast_to(positions, (len(queries), len(positions)))])
        kept = np.argpartition(-cosines, NEAREST, axis=1)[:, :NEAREST]
        best, where = np.take_along_axis(cosines, kept, 1), np.take_along_axis(places, kept, 1)
    found = [set(index.top(vector, NEAREST, None, tables).tolist()) for vector in asked]
    return sum(len(one & set(exact.tolist())) for one, exact in zip(found, where, strict=True)) / where.size


def questions(origin: Origin, numbers: Sequence[int]) -> list[tuple[str, Query]]:
    asked = []
    for number in numbers:
        words = [word for word in origin.texts[number % len(origin.texts)].split() if word.isalpha() and len(word) > 3]
        text = f"What about {' '.join(words[:7])}?"
        asked.append((text, Query(origin.vector(number), tuple((word,) for word in words[:7]), NEAREST, NO_FILTERS)))
    return asked


def compare(stores: Sequence[EmbeddedStore], asked: Sequence[tuple[str, Query]], engine: Engine) -> None:
    """The same questions to every store in turn."""

    def search(store: EmbeddedStore, number: int) -> None:
        with store.read() as reader:
            reader.search(asked[number][1])

    def answer(store: EmbeddedStore, number: int) -> None:
        with store.read() as reader:
            ask(Question(str(number), asked[number][0], NO_FILTERS), reader=reader, engine=engine)

    def within(store: EmbeddedStore, number: int) -> None:
        crops = tuple(f"crop{crop}" for crop in range(number % 3, 12, 2))
        with store.read() as reader:
            reader.search(replace(asked[number][1], filters=replace(NO_FILTERS, tags={"crop": crops})))

    for name, act in (("search", search), ("search in a quarter", within), ("the whole answer", answer)):
        times = in_turn(stores, act, count=len(asked))
        small, large = (statistics.median(one) * 1000 for one in times)
        print(
            f"  {name}: {small:.1f} ms in the small, {large:.1f} ms in the large: {large / small:.2f} times", flush=True
        )


def in_turn(
    stores: Sequence[EmbeddedStore], act: Callable[[EmbeddedStore, int], None], *, count: int
) -> list[list[float]]:
    """Times of each store. Twenty questions at a time: one alone would find the caches full of the other store."""
    times: list[list[float]] = [[] for _ in stores]
    for first in range(0, count, 20):
        for store, taken in zip(stores, times, strict=True):
            act(store, first)
            for number in range(first, min(first + 20, count)):
                begun = time.perf_counter()
                act(store, number)
                taken.append(time.perf_counter() - begun)
    return times


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--vectors", type=Path, required=True)
    parser.add_argument("--sentences", type=int, default=1_000_000)
    parser.add_argument("--small", type=int, default=45_000)
    parser.add_argument("--place", type=Path, default=Path("/tmp/quoth-scale"))  # noqa: S108
    parser.add_argument("--faiss-threshold", type=int, default=200_000)
    parser.add_argument("--built", action="store_true", help="only ask: both indexes are there already")
    options = parser.parse_args()
    origin = read_origin(options.vectors)
    profile = load_profile("general")
    named = (profile.name, profile.source)
    if not options.built:
        shutil.rmtree(options.place, ignore_errors=True)
    stores = []
    for sentences in (options.small, options.sentences):
        print(f"{sentences} sentences")
        place = options.place / str(sentences)
        store = EmbeddedStore(place, faiss_threshold=options.faiss_threshold)
        stores.append(store)
        if options.built:
            continue
        with watched(place) as peaks:
            build(store, documents(origin, sentences), embedder=StandIn(origin), profile=named)
        print(f"  most private memory {peaks['private']} MB, most room on disk {peaks['disk']} MB")
        print(f"  MB on disk: {sizes(place)}")
        with watched(place) as peaks:
            for number in (3, 4, 5):
                edit(store, origin, number=number, profile=named)
        print(f"  most private memory {peaks['private']} MB")
    asked = questions(origin, range(2 * 10**8, 2 * 10**8 + 200))
    engine = Engine(
        embedder=StandIn(origin),
        reranker=None,
        sentence_reader=None,
        llm_reranker=None,
        evidence=None,
        evidence_without_tokens=None,
        scales={},
        open_counter=EstimateCounter,
        view_regions=AsideSearch(None).view,
        profile=profile,
        settings=Settings(),
        settings_digest="",
    )
    print("questions")
    compare(stores, asked, engine)
    print(f"  private memory {private_memory()} MB with both indexes loaded")
    for sentences in (options.small, options.sentences):
        share = recall(options.place / str(sentences), origin, range(3 * 10**8, 3 * 10**8 + 200))
        print(f"  recall@{NEAREST} of dense search at {sentences}: {share:.4f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
