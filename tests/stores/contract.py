"""What every store must do, whatever it is made of. A test module subclasses `StoreContract` and gives `new_store`."""

from __future__ import annotations

import math
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np
import pytest

from quoth.errors import IndexMismatch, ModelError, NoIndex
from quoth.protocols import Store
from quoth.stores.aside_search import AsideSearch
from quoth.stores.query_terms import asked, stems_of
from quoth.stores.sharded.bm25 import Scorer, lookups, weights
from quoth.types import (
    NO_FILTERS,
    Candidate,
    Candidates,
    Filters,
    IndexInfo,
    Page,
    Passage,
    Query,
    Quote,
    Reading,
    RegionKind,
    Sentence,
    Span,
    SplitDocument,
    StoredDocument,
    Supersession,
    Vectors,
)

from .fakes import PROFILE, HashEmbedder, metadata, split, with_sentences

NewStore = Callable[[], Store]

CORPUS = (
    split(
        "canola/guide.md",
        "# Soil",
        "Canola grows best at pH 6.0-7.0.",
        "Apply 150lb of 11-52-0 starter, about 168 kg/ha.",
        "Sow in Eskişehir before the V6 stage.",
        tags=({}, {"crop": ("canola",)}, {"crop": ("canola", "mustard"), "practice": ("nutrition",)}, {}),
        about=metadata(document_type="guide", is_binding=False),
    ),
    split(
        "rules o'neil.md",
        "Fences are limited by Sec. 4.2(b)(i) to 1,000 mm.",
        "Owners don't need an e-mail from the committee.",
        "Canola plants may not be grown.",
        about=metadata(document_type="ccr", is_binding=True, superseded_by=(Supersession("new.md", "4.2"),)),
    ),
    split("empty.md"),
    split("headings.md", "# Only", "# Headings", about=metadata(document_type="guide")),
)

PAPER = split(
    "paper.pdf",
    "# A paper",
    "We sowed canola at pH 6.5.",
    "1. Lee S (2010) Canola volatiles. Plant J 59: 149-155.",
    "The work was paid by a grant.",
    kinds=(RegionKind.HEADING, RegionKind.PARAGRAPH, RegionKind.REFERENCES, RegionKind.BACK_MATTER),
)

MIXED = (
    split("a.md", "Newton taught at two universities.", "Apply 168 kg/ha of lime."),
    split("b.md", "Newton lehrte an Universitäten.", "Er maß 2,5 kg/ha.", about=replace(metadata(), language="de")),
    split("c.md", "Das steht hier nicht.", about=replace(metadata(), language="de")),
    split("d.md", "牛顿在剑桥大学教书。", about=replace(metadata(), language="zh")),
    split("e.md", "ในปี 1947 เขาสอน", "ปี 19", about=replace(metadata(), language="th")),
)
"""English and three other languages."""


def write(
    store: Store,
    put: Iterable[SplitDocument] = (),
    *,
    remove: Sequence[str] = (),
    embedder: HashEmbedder | None = None,
    profile: tuple[str, str] = PROFILE,
) -> IndexInfo:
    return store.write(put, remove=remove, embedder=embedder or HashEmbedder(), profile=profile, progress=None)


def question(*terms: str, vector: str | None = None, candidates: int = 50, filters: Filters = NO_FILTERS) -> Query:
    embedded = None if vector is None else HashEmbedder().embed([vector])[0]
    return Query(embedded, tuple((term,) for term in terms), candidates, filters)


def search(store: Store, query: Query) -> Candidates:
    with store.read() as reader:
        return reader.search(query)


def texts(found: Candidates) -> set[str]:
    return {item.sentence.text for item in found.items}


def by_text(found: Candidates) -> dict[str, Candidate]:
    return {item.sentence.text: item for item in found.items}


class StoreContract:
    @pytest.fixture(scope="class")
    @classmethod
    def new_store(cls) -> NewStore:
        """Make an empty store; each call makes another."""
        raise NotImplementedError

    @pytest.fixture(scope="class")
    @classmethod
    def indexed(cls, new_store: NewStore) -> Store:
        """The corpus, for tests that only read."""
        made = new_store()
        write(made, CORPUS)
        return made

    @pytest.fixture
    def store(self, new_store: NewStore) -> Store:
        """The corpus, for tests that write."""
        made = new_store()
        write(made, CORPUS)
        return made

    # What goes in comes out

    def test_without_an_index_there_is_nothing_to_read(self, new_store: NewStore) -> None:
        store = new_store()

        assert store.stored_documents() == {}
        with pytest.raises(NoIndex), store.read():
            pass

    def test_sentences_of_every_kind_can_be_stored(self, new_store: NewStore) -> None:
        kinds = [kind for kind in RegionKind if not kind.skipped]
        sentences = tuple(
            Sentence("a.md", Quote(Span(at, at + 1), "S"), kind, (), None, None, None, {})
            for at, kind in enumerate(kinds)
        )
        store = new_store()
        write(store, [with_sentences("a.md", "S" * len(kinds), sentences, about=metadata())])

        with store.read() as reader:
            assert tuple(reader.sentences("a.md")) == sentences

    def test_every_field_comes_back_as_it_was(self, new_store: NewStore) -> None:
        text = "| N | P |\n| 1 | 2 |\n"
        header = Quote(Span(0, 9), "| N | P |")
        row = Sentence(
            "a.md",
            Quote(Span(10, 19), "| 1 | 2 |"),
            RegionKind.TABLE_ROW,
            section=("Soil", 'The "pH"'),
            lead=header,
            page=7,
            ocr=0.875,
            tags={"practice": ("soil", "nutrition"), "crop": ("canola",)},
        )
        label = Sentence("a.md", header, RegionKind.TABLE_HEADER, ("Soil",), None, None, None, {})
        about = metadata(
            document_type="guide",
            is_binding=True,
            superseded_by=(Supersession("b.md", None),),
            tags={"crop": ("corn",)},
        )
        reading = Reading({RegionKind.FURNITURE: 12}, ("title",), ("page 2 is a \0 picture",), ("language",))
        whole = replace(with_sentences("a.md", text, (label, row), about=about), reading=reading)
        store = new_store()
        info = write(store, [whole])

        with store.read() as reader:
            assert reader.info == info
            assert reader.document("a.md") == whole.document
            assert tuple(reader.sentences("a.md")) == (label, row)
            (listed,) = reader.documents()
            assert (listed.id, listed.characters, listed.sentences) == ("a.md", len(text), 2)
            assert listed.reading == reading
            assert (listed.sha256, listed.source_sha256) == (whole.document.sha256, whole.document.source_sha256)
            assert (listed.encoding, listed.format, listed.extractor) == ("utf-8", "markdown", "plain / 1")
            assert (listed.pages, listed.metadata) == (0, about)
            assert list(next(reader.sentences("a.md")).tags) == []
            assert list(tuple(reader.sentences("a.md"))[1].tags) == ["practice", "crop"]
        assert store.stored_documents() == {
            "a.md": StoredDocument(whole.fingerprint, whole.document.source_sha256, "/corpus")
        }

    def test_the_index_describes_itself(self, indexed: Store) -> None:
        with indexed.read() as reader:
            info = reader.info

        assert (info.documents, info.sentences) == (4, 9)
        assert (info.profile_name, info.profile_source) == PROFILE
        assert info.model == HashEmbedder().identity

    def test_texts_come_by_id_as_the_bytes_of_the_documents(self, indexed: Store) -> None:
        with indexed.read() as reader:
            ids = [info.id for info in reader.documents()]
            documents = [document for doc_id in ids if (document := reader.document(doc_id))]
            wanted = [*reversed(ids), "not there.md", "lone \udc80.md"]

            assert list(reader.texts(wanted)) == [(one.id, one.text.encode("utf-8")) for one in documents]
            assert list(reader.texts([])) == []

    def test_a_text_with_odd_characters_comes_back_as_it_was(self, new_store: NewStore) -> None:
        odd = split("odd.md", "A \0 and a \ufdd0 stay,\r\nand 🌾 too.")
        store = new_store()
        write(store, [odd])

        with store.read() as reader:
            assert list(reader.texts(["odd.md"])) == [("odd.md", odd.document.text.encode("utf-8"))]

    def test_documents_are_listed_by_id(self, indexed: Store) -> None:
        with indexed.read() as reader:
            assert [item.id for item in reader.documents()] == [
                "canola/guide.md",
                "empty.md",
                "headings.md",
                "rules o'neil.md",
            ]

    def test_what_is_not_there_is_none_or_empty(self, indexed: Store) -> None:
        stranger = Sentence("no.md", Quote(Span(0, 1), "x"), RegionKind.PARAGRAPH, (), None, None, None, {})
        with indexed.read() as reader:
            for doc_id in ("no.md", "", "'; DROP TABLE documents; --", "\ud800", "a\0b"):
                assert reader.document(doc_id) is None
                assert list(reader.sentences(doc_id)) == []
                assert reader.vectors(doc_id).shape == (0, 32)
            assert reader.neighbours([stranger]) == [(None, None)]

    @pytest.mark.parametrize("doc_id", ['it\'s "a" file.md', "été/土壤 %_.md", "a;b--.md", "😀.md"])
    def test_any_id_will_do(self, new_store: NewStore, doc_id: str) -> None:
        store = new_store()
        write(store, [split(doc_id, "Only one sentence."), split("other.md", "Only another sentence.")])

        with store.read() as reader:
            document = reader.document(doc_id)
            found = reader.search(question("sentence", filters=Filters((doc_id,), {}, (), None, None)))
        assert document is not None
        assert document.id == doc_id
        assert [item.sentence.doc_id for item in found.items] == [doc_id]

    def test_control_characters_in_a_text_survive(self, new_store: NewStore) -> None:
        text = "A nul \0 and a \r\n stay."
        store = new_store()
        write(store, [split("a.md", text)])

        with store.read() as reader:
            document = reader.document("a.md")
        assert document is not None
        assert document.text == text
        assert texts(search(store, question("stay"))) == {text}

    def test_vectors_are_those_of_the_evidence_in_reading_order(self, indexed: Store) -> None:
        with indexed.read() as reader:
            evidence = [item.search_text for item in reader.sentences("canola/guide.md") if item.kind.evidence]
            vectors = reader.vectors("canola/guide.md")

        assert vectors.shape == (3, 32)
        assert np.allclose(vectors, HashEmbedder().embed(evidence), atol=1e-3)
        assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)

    def test_passages_come_back_as_they_were(self, new_store: NewStore) -> None:
        one = Passage("a.md", Span(0, 9), 0, 1, ("Soil", 'The "pH"'), None, 4)
        two = Passage("a.md", Span(5, 19), 1, 3, (), 7, 612)
        store = new_store()
        write(store, [with_sentences("a.md", "x" * 20, (), about=metadata(), passages=(one, two))])
        write(store, [with_sentences("b.md", "y" * 20, (), about=metadata(), passages=(replace(two, doc_id="b.md"),))])

        with store.read() as reader:
            assert reader.passages("a.md") == (one, two)
            assert [passage.id for passage in reader.passages("b.md")] == ["b.md:5-19"]
            assert reader.passages("no.md") == ()
        write(store, [split("b.md", "Shorter.")], remove=["a.md"])
        with store.read() as reader:
            assert reader.passages("a.md") == reader.passages("b.md") == ()

    def test_pages_come_back_with_every_box_in_its_place(self, new_store: NewStore) -> None:
        random = np.random.default_rng(1)
        corners = random.uniform(0, 500, (30, 2))
        boxes = np.hstack([corners, corners + random.uniform(0, 14, (30, 2))]).astype(np.float32)
        boxes[7] = boxes[20:22] = 0
        boxes[3] = (-4.25, -0.05, 9000.0, 14400.0)
        one = Page(1, 595.3, 841.9, (Span(0, 10), Span(25, 45)), boxes)
        two = Page(2, 842.0, 595.0, (Span(10, 25),), boxes[:15])
        blank = Page(3, 595.0, 842.0, (), np.empty((0, 4), dtype=np.float32))
        store = new_store()
        write(store, [with_sentences("a.pdf", "x" * 45, (), about=metadata(), pages=(one, two, blank))])

        with store.read() as reader:
            for page in (one, two, blank):
                found = reader.page("a.pdf", page.number)
                assert found is not None
                assert (found.number, found.width, found.height, found.spans) == (
                    page.number,
                    page.width,
                    page.height,
                    page.spans,
                )
                assert found.boxes.shape == page.boxes.shape
                assert found.boxes.dtype == np.float32
                assert np.allclose(found.boxes, page.boxes, rtol=0, atol=0.0505)
            assert reader.page("a.pdf", 0) is reader.page("a.pdf", 4) is reader.page("no.pdf", 1) is None
            assert [document.pages for document in reader.documents()] == [3]
        write(store, [with_sentences("a.pdf", "y" * 45, (), about=metadata(), pages=(two,))])
        with store.read() as reader:
            assert reader.page("a.pdf", 1) is None
            assert reader.page("a.pdf", 2) is not None

    def test_sentences_near_a_span_are_those_that_begin_in_it_and_the_one_before(self, indexed: Store) -> None:
        with indexed.read() as reader:
            every = list(reader.sentences("canola/guide.md"))
            starts = [sentence.quote.span.start for sentence in every]

            for first, last in ((at, end) for at in range(starts[-1] + 2) for end in (at + 1, at + 30, starts[-1] + 9)):
                begin = max((place for place, start in enumerate(starts) if start <= first), default=0)
                expected = [each for each in every[begin:] if each.quote.span.start <= last]
                assert list(reader.sentences("canola/guide.md", Span(first, last))) == expected
            assert list(reader.sentences("absent.md", Span(0, 9))) == []

    def test_neighbours_are_the_sentences_beside_it_headings_included(self, indexed: Store) -> None:
        with indexed.read() as reader:
            heading, first, second, last = reader.sentences("canola/guide.md")

            assert reader.neighbours([first, heading, last]) == [(heading, second), (None, first), (second, None)]

    # Writing

    def test_the_same_again_changes_nothing(self, store: Store) -> None:
        with store.read() as reader:
            before = reader.info
        embedder = HashEmbedder()

        assert write(store, CORPUS, embedder=embedder) == before
        assert write(store, [], remove=["never-there.md"], embedder=embedder) == before
        assert embedder.embedded == []

    def test_a_replaced_document_leaves_nothing_behind(self, store: Store) -> None:
        embedder = HashEmbedder()
        new = split("canola/guide.md", "Canola grows best at pH 6.0-7.0.", "Roll after sowing.")
        info = write(store, [new], embedder=embedder)

        assert info.documents == 4
        assert embedder.embedded == ["Roll after sowing."]  # the other sentence was known
        with store.read() as reader:
            assert tuple(reader.sentences("canola/guide.md")) == new.sentences
            assert reader.frequencies(["starter", "roll"]) == {"starter": 0, "roll": 1}

    def test_a_document_found_in_another_folder_is_told_so_without_a_new_generation(self, store: Store) -> None:
        with store.read() as reader:
            before = reader.info
        moved = replace(CORPUS[0], root="/elsewhere")

        assert write(store, [moved]) == before
        assert store.stored_documents()["canola/guide.md"].root == "/elsewhere"
        assert store.stored_documents()["empty.md"].root == "/corpus"
        with store.read() as reader:
            assert len(list(reader.sentences("canola/guide.md"))) == 4

    def test_a_removed_document_is_gone(self, store: Store) -> None:
        write(store, remove=["canola/guide.md"])

        with store.read() as reader:
            assert reader.document("canola/guide.md") is None
            assert texts(reader.search(question("canola", vector="canola"))) == {
                "Fences are limited by Sec. 4.2(b)(i) to 1,000 mm.",
                "Owners don't need an e-mail from the committee.",
                "Canola plants may not be grown.",
            }

    def test_a_document_both_removed_and_put_is_put(self, store: Store) -> None:
        write(store, [CORPUS[0]], remove=["canola/guide.md"])

        assert "canola/guide.md" in store.stored_documents()

    def test_the_last_version_in_one_write_counts(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, [split("a.md", "The first version."), split("a.md", "The second version.")])

        assert texts(search(store, question("version"))) == {"The second version."}

    def test_a_new_profile_is_published_without_embedding(self, store: Store) -> None:
        embedder = HashEmbedder()
        with store.read() as reader:
            before = reader.info
        after = write(store, embedder=embedder, profile=("other", "name: other\n"))

        assert after.profile_name == "other"
        assert (after.generation, after.digest) > (before.generation, "")
        assert after.digest != before.digest
        assert embedder.embedded == []

    def test_repeated_texts_are_embedded_once(self, new_store: NewStore) -> None:
        embedder = HashEmbedder()
        write(new_store(), [split("a.md", "Same.", "Same."), split("b.md", "Same.")], embedder=embedder)

        assert embedder.embedded == ["Same."]

    def test_vectors_of_two_models_never_mix(self, store: Store) -> None:
        other = HashEmbedder(name="another")
        with pytest.raises(IndexMismatch, match="another"):
            write(store, [split("new.md", "A new sentence.")], embedder=other)
        with pytest.raises(IndexMismatch):
            write(store, embedder=other)
        assert "new.md" not in store.stored_documents()

        info = write(store, CORPUS, embedder=other)
        assert info.model.name == "another"
        assert len(other.embedded) == 6

    def test_an_embedder_that_gives_the_wrong_shape_is_refused(self, new_store: NewStore) -> None:
        class Wrong(HashEmbedder):
            def embed(self, texts: Sequence[str], *, progress: object = None) -> Vectors:
                return np.zeros((len(texts), 3), dtype=np.float32)

        store = new_store()
        with pytest.raises(ModelError):
            write(store, CORPUS, embedder=Wrong())
        assert store.stored_documents() == {}

    def test_an_error_in_the_documents_publishes_nothing(self, store: Store) -> None:
        def broken() -> Iterable[SplitDocument]:
            yield split("new.md", "A new sentence.")
            raise PermissionError(13, "not your file")

        with pytest.raises(PermissionError):  # not the index's fault, so not an index error
            write(store, broken())
        assert "new.md" not in store.stored_documents()
        write(store, [split("new.md", "A new sentence.")])
        assert "new.md" in store.stored_documents()

    def test_progress_counts_what_is_embedded(self, new_store: NewStore) -> None:
        told: list[tuple[str, int, int]] = []
        new_store().write(
            CORPUS,
            remove=(),
            embedder=HashEmbedder(),
            profile=PROFILE,
            progress=lambda what, done, total: told.append((what, done, total)),
        )

        assert ("embedding", 6, 6) in told
        assert all(0 <= done <= total for _, done, total in told)

    # Searching

    def test_candidates_bring_the_codes_of_their_own_tokens(self, indexed: Store) -> None:
        found = search(indexed, question("canola", vector="canola"))

        assert len(found.items) > 3
        assert [item.tokens for item in found.items] == [item.sentence.search_text.encode() for item in found.items]

    def test_candidates_come_by_sentence_id_with_their_vectors(self, indexed: Store) -> None:
        found = search(indexed, question("canola", vector="canola plants"))

        ids = [item.sentence.id for item in found.items]
        assert ids == sorted(ids)
        expected = HashEmbedder().embed([item.sentence.search_text for item in found.items])
        assert found.vectors.shape == (6, 32)
        assert np.allclose(found.vectors, expected, atol=1e-3)

    def test_each_candidate_has_both_scores_whichever_way_found_it(self, indexed: Store) -> None:
        found = search(indexed, question("canola", "committee", vector="canola grows best", candidates=1))
        items = by_text(found)

        assert {item.found_by for item in found.items} == {("lexical",), ("dense",)}
        dense = items["Canola grows best at pH 6.0-7.0."]
        assert dense.found_by == ("dense",)
        assert 0 < dense.lexical < 1
        vector = HashEmbedder().embed(["canola grows best"])[0]
        for item in found.items:
            expected = float(HashEmbedder().embed([item.sentence.text])[0] @ vector)
            assert item.dense == pytest.approx(expected, abs=1e-3)

    def test_found_both_ways_is_one_candidate(self, indexed: Store) -> None:
        found = search(indexed, question("fences", vector="Fences are limited by Sec. 4.2(b)(i) to 1,000 mm."))
        item = by_text(found)["Fences are limited by Sec. 4.2(b)(i) to 1,000 mm."]

        assert item.found_by == ("lexical", "dense")
        assert item.dense == pytest.approx(1.0, abs=1e-3)

    def test_without_a_vector_the_cosine_is_zero(self, indexed: Store) -> None:
        found = search(indexed, question("canola"))

        assert {item.dense for item in found.items} == {0.0}
        assert {item.found_by for item in found.items} == {("lexical",)}
        assert len(found.vectors) == len(found.items) == 2

    @pytest.mark.parametrize("terms", [(), ("",), ("?!",), ("\ud800",), ("\0",), ("body:canola OR *",), ('"',)])
    def test_a_question_without_known_words_finds_nothing_and_does_no_harm(
        self, indexed: Store, terms: tuple[str, ...]
    ) -> None:
        found = search(indexed, question(*terms))

        assert found.items == ()
        assert found.vectors.shape == (0, 32)

    def test_a_very_long_question_is_answered_all_the_same(self, indexed: Store) -> None:
        many = search(indexed, Query(None, tuple((f"word{n}", "canola") for n in range(100_000)), 50, NO_FILTERS))
        long = search(indexed, question("canola " * 100_000, "x" * 1_000_000))

        assert "Canola plants may not be grown." in texts(many)
        assert "Canola plants may not be grown." in texts(long)

    def test_an_index_without_evidence_finds_nothing(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, CORPUS[2:])

        with store.read() as reader:
            found = reader.search(question("headings", vector="headings"))
            assert (found.items, found.vectors.shape) == ((), (0, 32))
            assert reader.frequencies(["headings"]) == {"headings": 0}

    def test_a_vector_of_another_size_is_refused(self, indexed: Store) -> None:
        with pytest.raises(IndexMismatch):
            search(indexed, Query(np.ones(5, dtype=np.float32), (), 50, NO_FILTERS))

    @pytest.mark.parametrize(
        ("term", "text"),
        [
            ("6.0-7.0", "Canola grows best at pH 6.0-7.0."),
            ("6.0–7.0", "Canola grows best at pH 6.0-7.0."),
            ("7.0", "Canola grows best at pH 6.0-7.0."),
            ("11-52-0", "Apply 150lb of 11-52-0 starter, about 168 kg/ha."),
            ("kg/ha", "Apply 150lb of 11-52-0 starter, about 168 kg/ha."),
            ("150", "Apply 150lb of 11-52-0 starter, about 168 kg/ha."),
            ("150 lb", "Apply 150lb of 11-52-0 starter, about 168 kg/ha."),
            ("Eskisehir", "Sow in Eskişehir before the V6 stage."),
            ("ESKIŞEHIR", "Sow in Eskişehir before the V6 stage."),
            ("v6", "Sow in Eskişehir before the V6 stage."),
            ("stages", "Sow in Eskişehir before the V6 stage."),
            ("4.2(b)(i)", "Fences are limited by Sec. 4.2(b)(i) to 1,000 mm."),
            ("4.2", "Fences are limited by Sec. 4.2(b)(i) to 1,000 mm."),
            ("1000", "Fences are limited by Sec. 4.2(b)(i) to 1,000 mm."),
            ("fence", "Fences are limited by Sec. 4.2(b)(i) to 1,000 mm."),
            ("email", "Owners don't need an e-mail from the committee."),
            ("don’t", "Owners don't need an e-mail from the committee."),
        ],
    )
    def test_codes_numbers_accents_and_plurals_are_found(self, indexed: Store, term: str, text: str) -> None:
        assert texts(search(indexed, question(term))) == {text}
        with indexed.read() as reader:
            assert reader.frequencies([term]) == {term: 1}

    def test_half_a_number_is_not_found(self, indexed: Store) -> None:
        with indexed.read() as reader:
            assert set(reader.frequencies(["6", "0-7", "000", "4", "15"]).values()) == {0}

    def test_frequencies_need_every_word_of_a_term(self, indexed: Store) -> None:
        with indexed.read() as reader:
            found = reader.frequencies(["canola", "canola plant", "canola committee", "", "unheard"])

        assert found == {"canola": 2, "canola plant": 1, "canola committee": 0, "": 0, "unheard": 0}

    def test_lexical_is_bm25_as_a_share_of_the_ideal(self, new_store: NewStore) -> None:
        sentences = [
            "soil ph soil lime",
            "lime raises soil ph in every field of the farm",
            "canola likes lime",
            "no word of it here",
            "ph",
        ]
        store = new_store()
        write(store, [split("a.md", *sentences)])
        found = by_text(search(store, question("soil", "ph", "lime", "unheard", vector="no word")))

        for text in sentences:
            expected = _ideal_share(text, sentences, ("soil", "ph", "lime", "unheard"))
            assert found[text].lexical == pytest.approx(expected, abs=1e-4), text

    def test_holding_all_terms_in_average_length_scores_one(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, [split("a.md", "wheat needs deep soil", "nothing of this here", "nor is it there")])
        found = by_text(search(store, question("wheat", "soil")))

        assert found["wheat needs deep soil"].lexical == pytest.approx(1.0, abs=1e-4)

    def test_a_synonym_stands_for_the_word(self, new_store: NewStore) -> None:
        store = new_store()
        write(
            store, [split("a.md", "Corn is tall.", "Zea mays grows.", "Maize is tall.", "Mays alone grows.", "Barley.")]
        )
        groups = (("corn", "maize", "zea mays"),)
        found = by_text(search(store, Query(None, groups, 50, NO_FILTERS)))

        assert set(found) == {"Corn is tall.", "Zea mays grows.", "Maize is tall."}
        assert found["Corn is tall."].lexical == found["Maize is tall."].lexical
        assert found["Zea mays grows."].lexical == pytest.approx(found["Corn is tall."].lexical, abs=1e-4)

    def test_a_synonym_stands_in_where_the_word_is_unknown(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, [split("a.md", "corn is tall", "this is no more"), split("b.md", "nor this one")])
        found = by_text(search(store, Query(None, (("maize", "corn"),), 50, NO_FILTERS)))

        assert found["corn is tall"].lexical == pytest.approx(1.0, abs=0.1)

    def test_equal_scores_come_by_document_id_and_then_in_reading_order(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, [split("z.md", *["Same."] * 150), split("a.md", *["Same."] * 150)])
        found = search(store, question("same", vector="Same.", candidates=5))

        assert [item.sentence.id for item in found.items] == [
            "a.md:0-5",
            "a.md:12-17",
            "a.md:18-23",
            "a.md:24-29",
            "a.md:6-11",
        ]
        assert {item.found_by for item in found.items} == {("lexical", "dense")}

    def test_two_stores_of_the_same_corpus_are_the_same(self, new_store: NewStore) -> None:
        one, two = new_store(), new_store()
        first, second = write(one, CORPUS), write(two, CORPUS)

        assert first == second
        query = question("canola", "ph", "kg/ha", vector="canola in good soil", candidates=4)
        here, there = search(one, query), search(two, query)
        assert len(here.items) >= 4
        assert here.items == there.items
        assert np.array_equal(here.vectors, there.vectors)

    def test_the_digest_depends_on_the_content_not_on_its_history(self, new_store: NewStore) -> None:
        one, two = new_store(), new_store()
        write(one, CORPUS)
        write(two, [split("extra.md", "One more.")])
        write(two, reversed(CORPUS))
        last = write(two, remove=["extra.md"])

        with one.read() as reader:
            assert reader.info.digest == last.digest
            assert reader.info.generation != last.generation

    # Filters

    @pytest.mark.parametrize(
        ("filters", "expected"),
        [
            (Filters(("canola/guide.md",), {}, (), None, None), 3),
            (Filters(("canola/guide.md", "rules o'neil.md", "no.md"), {}, (), None, None), 6),
            (Filters(("no.md",), {}, (), None, None), 0),
            (Filters(("\ud800",), {}, (), None, None), 0),
            (Filters((), {}, ("ccr",), None, None), 3),
            (Filters((), {}, ("ccr", "guide"), None, None), 6),
            (Filters((), {}, ("form",), None, None), 0),
            (Filters((), {}, (), True, None), 3),
            (Filters((), {}, (), False, None), 3),
            (Filters((), {"crop": ("canola",)}, (), None, None), 2),
            (Filters((), {"crop": ("mustard", "corn")}, (), None, None), 1),
            (Filters((), {"crop": ("canola",), "practice": ("nutrition",)}, (), None, None), 1),
            (Filters((), {"crop": ()}, (), None, None), 6),
            (Filters((), {"crop": ("wheat",)}, (), None, None), 0),
            (Filters((), {"nothing": ("canola",)}, (), None, None), 0),
            (Filters(("canola/guide.md",), {}, ("ccr",), None, None), 0),
            (Filters((), {}, (), None, "2021-03-31"), 0),
            (Filters((), {}, (), None, "2021-04-01"), 6),
            (Filters((), {}, ("ccr",), None, "2022-01-01"), 3),
        ],
    )
    def test_filters_restrict_both_ways_of_searching(self, indexed: Store, filters: Filters, expected: int) -> None:
        common = ("canola", "apply", "sow", "fence", "owners")  # one of them is in every sentence
        by_words = search(indexed, question(*common, filters=filters))
        by_vector = search(indexed, question(vector="canola", filters=filters))

        assert len(by_words.items) == len(by_vector.items) == expected

    def test_a_document_without_a_date_is_there_on_every_day(self, new_store: NewStore) -> None:
        store = new_store()
        undated = split("undated.md", "Sow canola.", about=replace(metadata(), effective_date=None))
        write(store, [undated, split("dated.md", "Sow canola too.")])
        found = search(store, question("canola", filters=Filters((), {}, (), None, "1999-01-01")))

        assert [one.sentence.doc_id for one in found.items] == ["undated.md"]

    def test_a_filter_changes_who_is_found_and_not_the_scores(self, indexed: Store) -> None:
        everywhere = by_text(search(indexed, question("canola", "grow", vector="canola")))
        within = by_text(
            search(indexed, question("canola", "grow", vector="canola", filters=Filters((), {}, ("ccr",), None, None)))
        )

        assert len(within) == 3
        for text, item in within.items():
            assert (item.lexical, item.dense) == (everywhere[text].lexical, everywhere[text].dense)

    def test_the_best_of_the_allowed_are_found_however_many_others_are_better(self, new_store: NewStore) -> None:
        store = new_store()
        better = split("better.md", *[f"soil soil soil {n}" for n in range(300)])
        worse = split("worse.md", *[f"soil among many other things such as {n}" for n in range(20)])
        write(store, [better, worse])
        only = Filters(("worse.md",), {}, (), None, None)
        found = search(store, question("soil", vector="soil soil soil", candidates=20, filters=only))

        assert len(found.items) == 20
        assert {item.found_by for item in found.items} == {("lexical", "dense")}

    # Readers and writers together

    def test_an_open_reader_keeps_its_generation(self, store: Store) -> None:
        with store.read() as old:
            for number in range(3):
                write(store, [split(f"new{number}.md", "Canola is new.")], remove=["canola/guide.md"])
            with store.read() as new:
                assert old.info.generation < new.info.generation
                assert texts(new.search(question("canola"))) == {"Canola plants may not be grown.", "Canola is new."}
            assert texts(old.search(question("canola"))) == {
                "Canola grows best at pH 6.0-7.0.",
                "Canola plants may not be grown.",
            }
            assert len(list(old.sentences("canola/guide.md"))) == 4
            assert old.frequencies(["new"]) == {"new": 0}

    def test_threads_search_while_generations_change(self, store: Store) -> None:
        failures: list[BaseException] = []
        answered: Counter[int] = Counter()
        stop = threading.Event()

        def ask() -> None:
            try:
                while not stop.is_set() or not answered[threading.get_ident()]:
                    with store.read() as reader:
                        documents = {item.id for item in reader.documents()}
                        found = reader.search(question("canola", vector="canola"))
                        assert {item.sentence.doc_id for item in found.items} <= documents
                        assert found.items
                        assert len(documents) == reader.info.documents
                    answered[threading.get_ident()] += 1
            except BaseException as error:
                failures.append(error)

        threads = [threading.Thread(target=ask) for _ in range(3)]
        for thread in threads:
            thread.start()
        for number in range(4):
            write(store, [split(f"new{number}.md", f"Canola is new in {number}.")])
        stop.set()
        for thread in threads:
            thread.join()
        assert failures == []
        assert len(answered) == 3

    @pytest.mark.parametrize("kind", [kind for kind in RegionKind if not kind.skipped])
    def test_a_sentence_of_any_kind_comes_back(self, new_store: NewStore, kind: RegionKind) -> None:
        store = new_store()
        write(store, [split("a.md", "Canola is sown.", kinds=[kind])])
        with store.read() as reader:
            assert [sentence.kind for sentence in reader.sentences("a.md")] == [kind]

    def test_an_index_knows_how_many_documents_are_in_which_language(self, new_store: NewStore) -> None:
        tags = {"a.md": "de-AT", "b.md": "de", "c.md": "tr", "d.md": "ar", "e.md": None, "f.md": "as the crow flies"}
        documents = [
            split(doc_id, "Fallow fields hold water.", about=replace(metadata(), language=tag))
            for doc_id, tag in tags.items()
        ]
        store = new_store()
        info = write(store, documents)

        assert info.language_counts == (("de", 2), ("ar", 1), ("tr", 1))
        assert info.languages == ("de", "ar", "tr")
        with store.read() as reader:
            assert reader.info == info
            assert {listed.id: listed.metadata.language for listed in reader.documents()} == tags

        assert write(store, [], remove=["a.md", "b.md"]).languages == ("ar", "tr")

    @pytest.mark.parametrize(
        ("language", "text", "terms"),
        [
            ("ar", "أسس المعلمون الجامعات في المدينة.", ("الجامعة", "جامعات", "معلّم", "أَسَّسَ", "اسس")),
            (
                "de",
                "Die Universitäten lagen an breiten Straßen.",
                ("Universität", "STRASSE", "universitaten", "breite"),
            ),
            ("de", "Der Preis stieg auf 1.234,50 Euro.", ("1234,50", "1.234,50", "Preise")),
            ("el", "Τα πανεπιστήμια της πόλης έκλεισαν.", ("πανεπιστήμιο", "ΠΌΛΗ", "πόλεις")),
            ("fr", "L’eau des rivières était claire.", ("eau", "l'eau", "rivière")),
            ("hi", "विश्वविद्यालयों में लड़कियाँ पढ़ती हैं।", ("विश्वविद्यालय", "लड़की", "लड़कियां")),
            ("hi", "सन १९४७ में देश आज़ाद हुआ।", ("1947", "आजाद")),
            ("ja", "東京大学は明治時代に設立された。", ("東京", "大学", "設立")),
            ("ko", "서울대학교는 1946년에 설립되었다.", ("대학", "서울", "1946")),
            ("ro", "Universităţile din ţară au fost închise.", ("universitate", "țară", "tara")),
            ("ru", "Зелёные деревья стояли у университета.", ("зеленый", "дерево", "УНИВЕРСИТЕТЫ")),
            ("th", "มหาวิทยาลัยก่อตั้งในปี ๒๔๙๐", ("มหาวิทยาลัย", "ตั้ง", "2490")),
            ("tr", "Iğdır'daki üniversitelerin sayısı arttı.", ("IĞDIR", "üniversite", "universiteler", "Iğdır'da")),
            ("vi", "Trường đại học được thành lập ở Đà Nẵng.", ("ĐẠI HỌC", "đà nẵng")),
            ("zh-Hans", "北京大学成立于1898年，牛顿不在那里。", ("大学", "牛顿", "京", "1898")),
        ],
    )
    def test_words_are_found_as_the_language_of_their_document_forms_them(
        self, new_store: NewStore, language: str, text: str, terms: tuple[str, ...]
    ) -> None:
        store = new_store()
        write(store, [split("a.md", text, about=replace(metadata(), language=language)), *CORPUS])
        with store.read() as reader:
            assert {term: count for term, count in reader.frequencies(terms).items() if count != 1} == {}
            assert reader.frequencies(["canola", "kg/ha", "stages"]) == {"canola": 2, "kg/ha": 1, "stages": 1}
        for term in terms:
            assert texts(search(store, question(term))) == {text}

    def test_a_language_is_analysed_in_its_own_documents_alone(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, [split("a.md", "北京大学"), split("b.md", "Die Universitäten", about=metadata())])
        with store.read() as reader:
            assert reader.frequencies(["大", "大学", "大北", "universitaten", "universitat"]) == {
                **{"大": 1, "大学": 1, "大北": 1},
                **{"universitaten": 1, "universitat": 0},
            }

    def test_scores_in_several_languages_are_one_measure(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, MIXED)
        languages = ("de", "", "th", "zh")  # by number of documents
        counted = [
            Counter(stems_of(sentence.search_text, language))
            for document, language in zip(MIXED, ("", "de", "de", "zh", "th"), strict=True)
            for sentence in document.sentences
        ]
        words = (("Newton",), ("Universitäten", "大学"), ("kg/ha",), ("unheard",), ("ปี 19",))
        groups = asked(words, languages)
        held = {variant: sum(set(variant) <= set(counts) for counts in counted) for variant in lookups(groups)}
        terms = sum(counts.total() for counts in counted)
        scorer = Scorer(weights(groups, held, evidence=len(counted), terms=terms))
        with store.read() as reader:
            assert reader.info.languages == ("de", "en", "th", "zh")
        found = by_text(search(store, Query(None, words, 50, NO_FILTERS)))

        for document, language in zip(MIXED, ("", "de", "de", "zh", "th"), strict=True):
            for sentence in document.sentences:
                expected = scorer.share(sentence.search_text, language)
                score = found[sentence.text].lexical if sentence.text in found else 0.0
                assert score == pytest.approx(expected, abs=2e-6), sentence.text
        assert len(found) == 6

    def test_a_document_in_a_new_language_is_analysed_by_it(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, CORPUS)
        german = replace(metadata(), language="de")
        write(store, [split("b.md", "Die Universitäten", about=german)])
        with store.read() as reader:
            assert reader.frequencies(["Universität", "stages"]) == {"Universität": 1, "stages": 1}
        write(store, [], remove=["b.md"])
        with store.read() as reader:
            assert reader.frequencies(["Universität", "stages"]) == {"Universität": 0, "stages": 1}

    def test_a_guessed_type_stays_a_guess(self, new_store: NewStore) -> None:
        store = new_store()
        guessed = replace(metadata(document_type="ccr"), type_guessed=True)
        write(store, [split("a.md", "Fences are low.", about=guessed), split("b.md", "Walls are low.")])
        with store.read() as reader:
            assert [info.metadata.type_guessed for info in reader.documents()] == [True, False]
            document = reader.document("a.md")

        assert document is not None
        assert document.metadata == guessed

    # The parts beside the text

    def test_parts_beside_the_text_are_found_only_where_they_are_asked_for(self, new_store: NewStore) -> None:
        store = new_store()
        write(store, [*CORPUS, PAPER])
        view = AsideSearch(HashEmbedder()).view
        with store.read() as reader:
            plain = reader.search(question("canola", vector="canola"))
            (entry,) = view(reader, [RegionKind.REFERENCES]).search(question("canola", vector="canola")).items
            beside = view(reader, [RegionKind.REFERENCES, RegionKind.BACK_MATTER])
            every = beside.search(question("canola", "grant", vector="canola")).items
            lexical = AsideSearch(None).view(reader, [RegionKind.REFERENCES]).search(question("canola"))

        assert not {item.sentence.kind for item in plain.items} & {RegionKind.REFERENCES, RegionKind.BACK_MATTER}
        assert (entry.sentence, entry.found_by) == (PAPER.sentences[2], ("lexical", "dense"))
        assert entry.tokens == entry.sentence.search_text.encode()
        assert [item.sentence for item in every] == [*PAPER.sentences[2:4]]
        assert [item.sentence for item in lexical.items] == [PAPER.sentences[2]]

    def test_a_bibliography_changes_no_score_of_the_text(self, new_store: NewStore) -> None:
        bare = with_sentences(
            PAPER.document.id, PAPER.document.text, PAPER.sentences[:2], about=PAPER.document.metadata
        )
        with_entries, without = new_store(), new_store()
        write(with_entries, [*CORPUS, PAPER])
        write(without, [*CORPUS, bare])
        asked = question("canola", "ph", vector="canola ph")

        assert search(with_entries, asked).items == search(without, asked).items


def _ideal_share(text: str, corpus: Sequence[str], terms: Sequence[str]) -> float:
    """BM25 (k1 1.2, b 0.75) over the sum of idfs, written out plainly."""
    documents = [Counter(sentence.split()) for sentence in corpus]
    average = sum(document.total() for document in documents) / len(documents)
    counts = Counter(text.split())

    def idf(term: str) -> float:
        held = sum(term in document for document in documents)
        return math.log(1 + (len(documents) - held + 0.5) / (held + 0.5))

    def weight(term: str) -> float:
        often = counts[term]
        return idf(term) * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * counts.total() / average))

    return min(1.0, sum(map(weight, terms)) / sum(map(idf, terms)))
