"""The write path: only what changed is read again, and one bad file does not stop the others."""

from __future__ import annotations

import codecs
import dataclasses
import os
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from quoth.documents.files import find_files
from quoth.documents.ingest import ingest, remove
from quoth.documents.ingest_report import IngestReport
from quoth.domain.profile import Profile, load_profile, parse_profile
from quoth.errors import CorpusError, IndexBusy, SettingsError
from quoth.models.hash_embedder import HashEmbedder
from quoth.protocols import Embedder, Progress
from quoth.settings import IngestSettings
from quoth.stores.embedded import EmbeddedStore
from quoth.types import (
    Document,
    IndexInfo,
    Metadata,
    Refusals,
    Refused,
    RegionKind,
    Sentence,
    SplitDocument,
    Supersession,
    Vectors,
)

AGRICULTURE = load_profile("agriculture")


class CountingEmbedder(HashEmbedder):
    """A real embedder that remembers what it was given."""

    def __init__(self) -> None:
        super().__init__()
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str], *, progress: Progress | None = None) -> Vectors:
        self.texts += texts
        return super().embed(texts, progress=progress)


class Corpus:
    """A folder, its index, and what the last ingest reported."""

    def __init__(self, place: Path) -> None:
        self.root = place / "corpus"
        self.root.mkdir()
        self.store = EmbeddedStore(place / "index")
        self.embedder = CountingEmbedder()

    def put(self, name: str, content: str | bytes) -> None:
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)

    def ingest(
        self, *paths: Path, profile: Profile = AGRICULTURE, prune: bool = False, progress: Progress | None = None
    ) -> IngestReport:
        self.embedder.texts.clear()
        return ingest(
            find_files(paths or [self.root]),
            store=self.store,
            embedder=self.embedder,
            profile=profile,
            settings=IngestSettings(),
            prune=prune,
            progress=progress,
        )

    def document(self, doc_id: str) -> Document:
        with self.store.read() as reader:
            found = reader.document(doc_id)
        assert found is not None
        return found

    def about(self, doc_id: str) -> Metadata:
        return self.document(doc_id).metadata

    def sentences(self, doc_id: str) -> list[Sentence]:
        with self.store.read() as reader:
            return list(reader.sentences(doc_id))


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


def test_a_first_ingest_writes_every_document(corpus: Corpus) -> None:
    corpus.put("b.md", "Roll.")
    corpus.put("a/a.txt", "Sow at 2.5 cm. Roll.")
    report = corpus.ingest()

    assert report.written == ("a/a.txt", "b.md")
    assert (report.unchanged, report.refused, report.converted, report.ignored) == (0, (), {}, {})
    assert (report.info.documents, report.info.sentences, report.info.profile_name) == (2, 3, "agriculture")


def test_sentences_keep_their_exact_place_heading_and_tags(corpus: Corpus) -> None:
    text = "# Canola\r\n\r\nSow at 2.5 cm. Roll.\r\n"
    corpus.put("guide.md", text)
    corpus.ingest()
    sentences = corpus.sentences("guide.md")

    assert corpus.document("guide.md").text == text
    assert [one.text for one in sentences if one.kind is RegionKind.PARAGRAPH] == ["Sow at 2.5 cm.", "Roll."]
    assert all(text[one.quote.span.start : one.quote.span.end] == one.text for one in sentences)
    assert sentences[-1].section == ("Canola",)
    assert {one.tags["crop"] for one in sentences} == {("canola",)}


def test_a_list_item_is_stored_with_its_lead(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow in:\n\n- spring\n- autumn\n")
    corpus.ingest()

    leads = [one.lead.text for one in corpus.sentences("a.md") if one.lead]
    assert leads == ["Sow in:", "Sow in:"]


def test_only_changed_documents_are_split_and_embedded_again(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.put("b.md", "Roll.")
    corpus.ingest()
    corpus.put("b.md", "Roll twice.")
    report = corpus.ingest()

    assert (report.written, report.unchanged) == (("b.md",), 1)
    assert corpus.embedder.texts == ["Roll twice."]


def test_a_second_ingest_without_changes_writes_nothing_and_changes_nothing(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    first = corpus.ingest()
    second = corpus.ingest()

    assert (second.written, second.unchanged, corpus.embedder.texts) == ((), 1, [])
    assert second.info.digest == first.info.digest


def test_a_changed_manifest_changes_the_documents_it_describes(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow.")
    corpus.put("b.md", "Roll.")
    corpus.ingest()
    corpus.put("corpus.yaml", "documents: [{match: a.md, title: New}]")
    report = corpus.ingest()

    assert (report.written, report.unchanged) == (("a.md",), 1)
    assert corpus.about("a.md").title == "New"


def test_a_changed_profile_tags_every_document_again(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow rice.")
    corpus.ingest()
    report = corpus.ingest(profile=load_profile("general"))

    assert (report.written, report.info.profile_name) == (("a.md",), "general")
    assert corpus.sentences("a.md")[0].tags == {}


def test_a_changed_profile_is_refused_while_other_documents_would_keep_their_old_tags(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow.")
    corpus.put("b.md", "Roll.")
    corpus.ingest()

    with pytest.raises(SettingsError, match="the index holds 1 other documents, tagged by its own 'agriculture'"):
        corpus.ingest(corpus.root / "a.md", profile=load_profile("general"))

    with corpus.store.read() as reader:
        assert reader.info.profile_name == "agriculture"


def test_the_same_profile_may_add_documents_from_elsewhere(corpus: Corpus, tmp_path: Path) -> None:
    corpus.put("a.md", "Sow.")
    corpus.ingest()
    (tmp_path / "b.md").write_text("Roll.")
    report = corpus.ingest(tmp_path / "b.md")

    assert (report.written, report.info.documents) == (("b.md",), 2)


def test_a_folder_without_documents_says_what_it_holds(corpus: Corpus) -> None:
    corpus.put("a.png", "x")
    corpus.put("b.png", "x")

    with pytest.raises(CorpusError, match=r"no documents found \(only 2 \.png\)"):
        corpus.ingest()


def test_an_empty_folder_is_an_error(corpus: Corpus) -> None:
    with pytest.raises(CorpusError, match=r"no documents found$"):
        corpus.ingest()


def test_a_file_that_cannot_be_read_is_named_and_the_others_go_on(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow.")
    corpus.put("b.md", b"\x00\x01")
    corpus.put("c.md", "Roll.")
    report = corpus.ingest()

    assert report.written == ("a.md", "c.md")
    assert report.refused == (
        Refused("b.md", "it holds NUL bytes", "It is not a text file, or it is damaged.", kept=False),
    )


def test_a_corpus_in_which_nothing_can_be_read_is_an_error(corpus: Corpus) -> None:
    corpus.put("a.md", b"\x00")
    corpus.put("b.md", b"\x00")

    with pytest.raises(CorpusError, match="none of 2 files could be read"):
        corpus.ingest()


@pytest.mark.parametrize(
    ("front_matter", "why"),
    [
        ("title: [", "its front matter is not valid YAML"),
        ("effective_date: 2022-13-01", "its front matter is not valid YAML"),
        ("- a\n- b", "its front matter is not a mapping"),
        ("is_binding: perhaps", "is_binding must be true or false, not 'perhaps'"),
        ("crop: 3", "tags must be a value"),
    ],
)
def test_malformed_front_matter_refuses_that_one_file(corpus: Corpus, front_matter: str, why: str) -> None:
    corpus.put("bad.md", f"---\n{front_matter}\n---\n\nSow.\n")
    corpus.put("good.md", "Roll.")
    report = corpus.ingest()

    assert report.written == ("good.md",)
    assert [one.path for one in report.refused] == ["bad.md"]
    assert report.refused[0].why.startswith(why)
    assert report.refused[0].hint


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("mark", [b"", codecs.BOM_UTF8])
def test_front_matter_is_read_with_any_line_end_and_a_byte_order_mark(corpus: Corpus, end: str, mark: bytes) -> None:
    text = end.join(["---", "title: Guide", "effective_date: 2022-04-01", "crop: corn", "---", "", "Sow.", ""])
    corpus.put("a.md", mark + text.encode())
    corpus.ingest()
    about = corpus.about("a.md")

    assert (about.title, about.effective_date, about.tags) == ("Guide", "2022-04-01", {"crop": ("corn",)})
    assert [one.text for one in corpus.sentences("a.md")] == ["Sow."]
    assert corpus.document("a.md").text.encode() == mark + text.encode()


def test_front_matter_wins_over_the_manifest(corpus: Corpus) -> None:
    corpus.put(
        "corpus.yaml",
        'documents: [{match: "**", title: Manifest, language: en, tags: {crop: corn, practice: soil}}]',
    )
    corpus.put("a.md", "---\ntitle: Own\ncrop: rice\n---\n\nIt rains.\n")
    corpus.ingest()
    about = corpus.about("a.md")

    assert (about.title, about.language) == ("Own", "en")
    assert about.tags == {"crop": ("rice",), "practice": ("soil",)}
    assert corpus.sentences("a.md")[0].tags == {"crop": ("rice",), "practice": ("soil",)}


def test_the_tag_list_of_a_blog_engine_is_left_alone(corpus: Corpus) -> None:
    corpus.put("corpus.yaml", 'documents: [{match: "**", crop: corn}]')
    corpus.put("a.md", "---\ntags: [news, rice]\nlayout: post\n---\n\nIt rains.\n")

    assert corpus.ingest().refused == ()
    assert corpus.about("a.md").tags == {"crop": ("corn",)}


def test_a_superseded_section_is_stored(corpus: Corpus) -> None:
    corpus.put("a.md", "---\nsuperseded_by: [{section: Section 7.3, by: b.md}]\n---\n\nSow.\n")
    corpus.ingest()

    assert corpus.about("a.md").superseded_by == (Supersession("b.md", "Section 7.3"),)


def test_a_wrong_manifest_stops_before_anything_is_written(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow.")
    corpus.put("corpus.yaml", "documents: [{match: a.md, titel: x}]")

    with pytest.raises(SettingsError, match="unknown fields titel"):
        corpus.ingest()

    assert corpus.store.stored_documents() == {}


def test_a_file_in_another_encoding_is_reported_with_it(corpus: Corpus) -> None:
    corpus.put("a.md", "Säen bei 5 °C.".encode("latin-1"))
    corpus.put("b.md", "Säen bei 5 °C.".encode("utf-16"))

    assert corpus.ingest().converted == {"a.md": "cp1252", "b.md": "utf-16"}
    assert corpus.document("a.md").text == "Säen bei 5 °C."
    assert corpus.document("a.md").sha256 == corpus.document("b.md").sha256
    assert corpus.document("a.md").source_sha256 != corpus.document("b.md").source_sha256


def test_an_empty_file_is_a_document_without_sentences(corpus: Corpus) -> None:
    corpus.put("a.md", "")
    corpus.put("b.md", "Sow.")

    assert corpus.ingest().written == ("a.md", "b.md")
    assert corpus.sentences("a.md") == []


@pytest.mark.parametrize("name", ["b.pdf", "b.docx", "b.html"])
def test_an_empty_file_of_a_format_that_cannot_be_empty_is_called_empty(corpus: Corpus, name: str) -> None:
    corpus.put("a.md", "Sow.")
    corpus.put(name, b"")

    assert [(one.path, one.why) for one in corpus.ingest().refused] == [(name, "the file is empty")]


def test_files_of_other_formats_are_reported_by_ending(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow.")
    corpus.put("b.png", "x")

    assert corpus.ingest().ignored == {".png": 1}


def test_progress_counts_every_file(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow.")
    corpus.put("b.md", b"\x00")
    told: list[tuple[str, int, int]] = []
    corpus.ingest(progress=lambda what, done, total: told.append((what, done, total)))

    assert [one for one in told if one[0] == "reading"] == [("reading", 1, 2), ("reading", 2, 2)]


def test_two_ingests_of_the_same_files_make_the_same_index(tmp_path: Path) -> None:
    digests = []
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
        corpus = Corpus(tmp_path / name)
        corpus.put("a.md", "Sow at 2.5 cm.")
        corpus.put("b.md", "Roll.")
        digests.append(corpus.ingest().info.digest)

    assert digests[0] == digests[1]


def test_a_profile_that_only_changed_its_words_is_another_profile(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow barley.")
    corpus.ingest(profile=parse_profile("name: mine\ntags: {crop: {default: other, values: {}}}"))
    wider = parse_profile("name: mine\ntags: {crop: {default: other, values: {barley: {}}}}")

    assert corpus.ingest(profile=wider).written == ("a.md",)
    assert corpus.sentences("a.md")[0].tags == {"crop": ("barley",)}


def test_a_report_is_frozen(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow.")

    with pytest.raises(dataclasses.FrozenInstanceError):
        corpus.ingest().unchanged = 3  # type: ignore[misc]


def test_what_is_no_file_is_not_waited_for(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow canola.")
    os.mkfifo(corpus.root / "pipe.md")
    (corpus.root / "loop.md").symlink_to("loop.md")
    (corpus.root / "nowhere.md").symlink_to("missing.md")

    assert corpus.ingest().written == ("a.md",)


def test_a_document_refused_under_another_profile_does_not_keep_its_old_tags(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow canola.")
    corpus.put("b.md", "Sow wheat.")
    corpus.ingest()
    corpus.put("a.md", b"Sow \x00 canola.")

    with pytest.raises(SettingsError, match=r"another profile every document must be read, but a\.md"):
        corpus.ingest(profile=load_profile("general"))

    assert corpus.document("b.md").text == "Sow wheat."


@pytest.mark.parametrize("title", ['"\\uD83C"', "[" * 3000])
def test_odd_front_matter_refuses_its_own_file_only(corpus: Corpus, title: str) -> None:
    corpus.put("a.md", "Sow canola.")
    corpus.put("odd.md", f"---\ntitle: {title}\n---\n\nSow wheat.")

    report = corpus.ingest()

    assert (report.written, [one.path for one in report.refused]) == (("a.md",), ["odd.md"])


def test_a_title_in_surrogate_pairs_is_made_whole(corpus: Corpus) -> None:
    corpus.put("a.md", '---\ntitle: "\\uD83C\\uDF3D"\n---\n\nSow corn.')
    corpus.ingest()

    assert corpus.document("a.md").metadata.title == "\N{EAR OF MAIZE}"


def ids(corpus: Corpus) -> list[str]:
    with corpus.store.read() as reader:
        return [document.id for document in reader.documents()]


def test_a_document_whose_file_is_gone_stays_and_is_named(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.put("b.md", "Roll.")
    corpus.ingest()
    (corpus.root / "b.md").unlink()
    report = corpus.ingest()

    assert (report.gone, report.removed) == (("b.md",), ())
    assert ids(corpus) == ["a.md", "b.md"]


def test_pruning_removes_what_is_gone(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.put("b.md", "Roll.")
    corpus.ingest()
    (corpus.root / "b.md").unlink()
    report = corpus.ingest(prune=True)

    assert (report.gone, report.removed, report.unchanged) == ((), ("b.md",), 1)
    assert ids(corpus) == ["a.md"]
    assert report.info.sentences == 1


def test_pruning_leaves_documents_of_other_folders_alone(corpus: Corpus, tmp_path: Path) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    other = tmp_path / "other"
    other.mkdir()
    (other / "b.md").write_text("Roll.")
    corpus.ingest(corpus.root, other)
    report = corpus.ingest(corpus.root, prune=True)

    assert (report.gone, report.removed) == ((), ())
    assert ids(corpus) == ["a.md", "b.md"]


def test_pruning_with_a_single_file_removes_nothing(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.put("b.md", "Roll.")
    corpus.ingest()
    report = corpus.ingest(corpus.root / "a.md", prune=True)

    assert report.removed == ()
    assert ids(corpus) == ["a.md", "b.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may look into any folder")
def test_nothing_is_pruned_when_a_folder_could_not_be_looked_into(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.put("closed/b.md", "Roll.")
    corpus.ingest()
    (corpus.root / "closed").chmod(0)
    try:
        report = corpus.ingest(prune=True)
    finally:
        (corpus.root / "closed").chmod(0o755)

    assert report.removed == ()
    assert ids(corpus) == ["a.md", "closed/b.md"]


def test_a_renamed_file_is_recognised_and_nothing_is_embedded_again(corpus: Corpus) -> None:
    corpus.put("old.md", "Sow at 2.5 cm. Roll.")
    corpus.put("a.md", "Keep.")
    corpus.ingest()
    (corpus.root / "old.md").rename(corpus.root / "new.md")
    report = corpus.ingest()

    assert report.renamed == {"old.md": "new.md"}
    assert (report.gone, report.removed, corpus.embedder.texts) == ((), (), [])
    assert ids(corpus) == ["a.md", "new.md"]


def test_a_copy_is_no_rename(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.ingest()
    corpus.put("b.md", "Sow at 2.5 cm.")
    report = corpus.ingest()

    assert report.renamed == {}
    assert ids(corpus) == ["a.md", "b.md"]


def test_two_files_with_the_same_words_are_renamed_one_by_one(corpus: Corpus) -> None:
    corpus.put("a.md", "Roll.")
    corpus.put("b.md", "Roll.")
    corpus.ingest()
    (corpus.root / "a.md").rename(corpus.root / "c.md")
    report = corpus.ingest()

    assert report.renamed == {"a.md": "c.md"}
    assert ids(corpus) == ["b.md", "c.md"]


def test_a_folder_that_moved_can_be_pruned_afterwards(corpus: Corpus, tmp_path: Path) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.put("b.md", "Roll.")
    first = corpus.ingest()
    moved = corpus.root.rename(tmp_path / "moved")
    again = corpus.ingest(moved)
    (moved / "b.md").unlink()
    report = corpus.ingest(moved, prune=True)

    assert (again.unchanged, again.info.digest, corpus.embedder.texts) == (2, first.info.digest, [])
    assert report.removed == ("b.md",)


def test_a_folder_that_moved_and_changed_can_be_pruned_at_once(corpus: Corpus, tmp_path: Path) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.put("b.md", "Roll.")
    corpus.ingest()
    moved = corpus.root.rename(tmp_path / "moved")
    (moved / "b.md").unlink()

    assert corpus.ingest(moved, prune=True).removed == ("b.md",)


def test_a_sentence_that_moved_inside_its_document_is_not_embedded_again(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.\n\nRoll after sowing.\n\nWait a week.")
    corpus.ingest()
    corpus.put("a.md", "Wait a week.\n\nA new line.\n\nSow at 2.5 cm.\n\nRoll after sowing.")
    corpus.ingest()

    assert corpus.embedder.texts == ["A new line."]


def test_removing_needs_no_model_and_takes_only_what_is_named(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.put("b.md", "Roll.")
    corpus.ingest()
    info = remove(["b.md"], store=corpus.store)

    assert (info.documents, info.sentences) == (1, 1)
    assert ids(corpus) == ["a.md"]


def test_removing_what_is_not_there_removes_nothing_and_names_the_nearest(corpus: Corpus) -> None:
    corpus.put("guide.md", "Sow at 2.5 cm.")
    corpus.put("b.md", "Roll.")
    corpus.ingest()
    with pytest.raises(CorpusError, match=r"no document 'guise\.md'") as caught:
        remove(["b.md", "guise.md"], store=corpus.store)

    assert caught.value.hint == "Did you mean 'guide.md'?"
    assert ids(corpus) == ["b.md", "guide.md"]


def test_the_last_document_can_be_removed_and_others_added(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.ingest()
    remove(["a.md"], store=corpus.store)
    assert ids(corpus) == []

    corpus.put("b.md", "Roll.")
    assert corpus.ingest().written == ("a.md", "b.md")


def test_form_feeds_number_the_pages_of_plain_text(corpus: Corpus) -> None:
    corpus.put("a.txt", "Sow at 2.5 cm.\n\fRoll after sowing.\n\f\fWait.")
    corpus.ingest()

    assert [(one.text, one.page) for one in corpus.sentences("a.txt")] == [
        ("Sow at 2.5 cm.", 1),
        ("Roll after sowing.", 2),
        ("Wait.", 4),
    ]


def test_passages_are_stored(corpus: Corpus) -> None:
    corpus.put("a.md", "# Sowing\n\nSow at 2.5 cm. Roll.")
    corpus.ingest()
    with corpus.store.read() as reader:
        (passage,) = reader.passages("a.md")

    assert (passage.section, passage.first, passage.last) == (("Sowing",), 0, 2)


def test_a_word_broken_over_two_lines_is_found_whole(corpus: Corpus) -> None:
    corpus.put("a.txt", "Sow the inocu-\nlated seed at 2.5 cm.")
    corpus.ingest()

    (sentence,) = corpus.sentences("a.txt")
    assert "inocu-\nlated" in sentence.text
    assert corpus.embedder.texts == ["Sow the inoculated inocu-lated seed at 2.5 cm."]


def test_a_page_that_calls_itself_text_is_read_as_a_page(corpus: Corpus) -> None:
    corpus.put("a.txt", "<!DOCTYPE html><html lang='en'><title>Guide</title><h1>Sowing</h1><p>Sow at 2.5 cm.</p>")
    corpus.ingest()

    document = corpus.document("a.txt")
    assert (document.format, document.encoding, document.text) == ("html", "", "Sowing\n\nSow at 2.5 cm.")
    assert "selectolax" in document.extractor
    assert (document.metadata.title, document.metadata.language) == ("Guide", "en")


def test_the_manifest_wins_over_a_documents_own_properties(corpus: Corpus) -> None:
    corpus.put("a.html", "<html lang='en'><title>Draft 3</title><p>Sow at 2.5 cm.</p>")
    corpus.put("corpus.yaml", 'documents:\n  - {match: "*.html", title: "Sowing guide"}')
    corpus.ingest()

    assert (corpus.about("a.html").title, corpus.about("a.html").language) == ("Sowing guide", "en")


def test_a_file_that_its_extractor_refuses_is_named_and_the_others_are_read(corpus: Corpus) -> None:
    corpus.put("a.pdf", b"%PDF-1.7 and nothing more")
    corpus.put("b.md", "Roll.")
    report = corpus.ingest()

    assert [one.path for one in report.refused] == ["a.pdf"]
    assert report.written == ("b.md",)


def test_a_file_over_the_limit_is_refused_by_name(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow.\n" * 300_000)
    corpus.put("b.md", "Roll.")
    report = ingest(
        find_files([corpus.root]),
        store=corpus.store,
        embedder=corpus.embedder,
        profile=AGRICULTURE,
        settings=IngestSettings(max_file_mb=1),
        prune=False,
        progress=None,
    )

    assert [(one.path, one.why) for one in report.refused] == [("a.md", "it has more than 1 MB")]
    assert "ingest.max_file_mb" in report.refused[0].hint


def test_a_successor_that_is_not_there_is_noted(corpus: Corpus) -> None:
    corpus.put("old.md", "---\nsuperseded_by: new.md\n---\nSow at 2.5 cm.")
    assert corpus.ingest().notes == {"old.md": ("it is superseded by 'new.md', which the index does not hold",)}

    corpus.put("new.md", "Sow at 3 cm.")
    assert corpus.ingest().notes == {}


def test_a_section_that_is_superseded_and_not_there_is_noted(corpus: Corpus) -> None:
    corpus.put("new.md", "Sow at 3 cm.")
    corpus.put("old.md", '---\nsuperseded_by: [{section: "7.4", by: new.md}]\n---\n# Section 7.3 Sowing\n\nSow deep.')
    said = "its section '7.4' is superseded, but none of its headings is that section"
    assert corpus.ingest().notes == {"old.md": (said,)}

    corpus.put("old.md", '---\nsuperseded_by: [{section: "7.3", by: new.md}]\n---\n# Section 7.3 Sowing\n\nSow deep.')
    assert corpus.ingest().notes == {}


def test_files_of_the_same_words_are_all_renamed(corpus: Corpus) -> None:
    corpus.put("p1.md", "Roll.")
    corpus.put("p2.md", "Roll.")
    corpus.ingest()
    for number in "12":
        (corpus.root / f"p{number}.md").rename(corpus.root / f"q{number}.md")

    assert corpus.ingest().renamed == {"p1.md": "q1.md", "p2.md": "q2.md"}
    assert ids(corpus) == ["q1.md", "q2.md"]


def test_pruning_one_folder_spares_the_documents_of_another_that_is_away(corpus: Corpus, tmp_path: Path) -> None:
    for name in ("readme.md", "x.md", "y.md"):
        corpus.put(name, f"Sow {name}.")
    corpus.ingest()
    corpus.root.rename(tmp_path / "away")
    other = tmp_path / "other"
    other.mkdir()
    (other / "readme.md").write_text("Roll.")

    assert corpus.ingest(other, prune=True).removed == ()
    assert ids(corpus) == ["readme.md", "x.md", "y.md"]


def test_a_folder_is_the_same_however_it_is_given(corpus: Corpus, tmp_path: Path) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.put("sub/b.md", "Roll.")
    corpus.ingest()
    (corpus.root / "a.md").unlink()
    (tmp_path / "link").symlink_to(corpus.root)

    assert corpus.ingest(corpus.root / "sub" / "..").gone == ("a.md",)
    assert corpus.ingest(tmp_path / "link", prune=True).removed == ("a.md",)


def test_a_document_that_another_folders_takes_the_place_of_is_told(corpus: Corpus, tmp_path: Path) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.ingest()
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.md").write_text("Roll.")

    (note,) = corpus.ingest(other).notes["a.md"]
    assert note == f"it takes the place of the document of that id from {corpus.root}"


def test_a_file_that_is_refused_now_keeps_its_old_document_and_says_so(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.ingest()
    corpus.put("a.md", b"Sow\x00")
    corpus.put("b.md", b"Sow\x00")

    assert [(one.path, one.kept) for one in corpus.ingest().refused] == [("a.md", True), ("b.md", False)]
    assert corpus.document("a.md").text == "Sow at 2.5 cm."


def test_when_no_file_can_be_read_the_error_says_which_and_why(corpus: Corpus) -> None:
    corpus.put("a.md", b"Sow\x00")

    with pytest.raises(CorpusError, match=r"none of 1 files could be read \(a\.md: it holds NUL bytes\)"):
        corpus.ingest()


def test_an_index_inside_its_folder_is_not_read(corpus: Corpus) -> None:
    corpus.store = EmbeddedStore(corpus.root / "index")
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.ingest()

    report = corpus.ingest()
    assert (report.written, report.unchanged, dict(report.ignored)) == ((), 1, {})


class Overtaken(EmbeddedStore):
    """A store that another writer comes to first, just before we may write."""

    def write(
        self,
        put: Iterable[SplitDocument],
        *,
        remove: Collection[str],
        embedder: Embedder,
        profile: tuple[str, str],
        progress: Progress | None,
        refusals: Refusals | None = None,
        labels: Mapping[str, tuple[str, ...]] | None = None,
    ) -> IndexInfo:
        super().write((), remove=["a.md"], embedder=embedder, profile=profile, progress=None)
        return super().write(put, remove=remove, embedder=embedder, profile=profile, progress=progress)


def test_an_index_that_another_process_wrote_meanwhile_is_not_overwritten(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.ingest()
    corpus.put("b.md", "Roll.")
    own, corpus.store = corpus.store, Overtaken(corpus.store._location)

    with pytest.raises(IndexBusy, match="meanwhile"):
        corpus.ingest()
    corpus.store = own
    assert corpus.ingest().written == ("a.md", "b.md")


def test_a_second_writer_is_refused_before_the_first_has_read_a_document(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.ingest()
    corpus.put("b.md", "Roll.")
    refused: list[IndexBusy] = []

    def meanwhile(_what: str, _done: int, _total: int) -> None:
        if not refused:
            with pytest.raises(IndexBusy, match="is writing the index") as caught:
                remove(["a.md"], store=EmbeddedStore(corpus.store._location))
            refused.append(caught.value)

    assert corpus.ingest(progress=meanwhile).written == ("b.md",)
    assert refused
