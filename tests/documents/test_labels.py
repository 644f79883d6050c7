"""The labels that the files of a document state: in front matter, in the manifest, beside it, around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from quoth.domain.manifest import check_fields, stated_labels, with_tags
from quoth.errors import SettingsError

from .test_attachments import RYE, mail, packed
from .test_ingest import Corpus


@pytest.fixture
def corpus(tmp_path: Path) -> Corpus:
    return Corpus(tmp_path)


def labels(corpus: Corpus) -> dict[str, tuple[str, ...]]:
    return {doc_id: known.access for doc_id, known in corpus.store.stored_documents().items()}


@pytest.mark.parametrize(
    ("written", "stated"),
    [
        (None, ()),
        ([], ()),
        ("board", ("board",)),
        ("Board, Legal team", ("board", "legal team")),
        (["legal", " BOARD ", "board"], ("board", "legal")),
        ([2021, "Straße"], ("2021", "strasse")),
        ("ﬁnance", ("finance",)),
    ],
)
def test_labels_are_a_text_or_a_list_and_folded(written: object, stated: tuple[str, ...]) -> None:
    assert stated_labels({"access": written}, source="a.md") == stated


@pytest.mark.parametrize(
    "written",
    [True, "", " , ", ["", " "], {"any": "board"}, [["board"]], "a\x07b", "x" * 201, 1.5],
)
def test_a_wrong_label_is_refused_rather_than_left_out(written: object) -> None:
    with pytest.raises(SettingsError, match="access must be"):
        check_fields({"access": written}, source="corpus.yaml", facets=())


def test_a_facet_that_is_called_access_takes_no_label_away() -> None:
    assert with_tags({"access": "board"}, ["access"])["access"] == "board"


def test_labels_come_from_every_place_and_the_nearest_wins(corpus: Corpus) -> None:
    corpus.put("corpus.yaml", "documents:\n  - match: 'hr/**'\n    access: hr\n")
    corpus.put("hr/pay.md", "Nobody is paid.")
    corpus.put("hr/leave.md", "---\naccess: [board, legal]\n---\n\nEverybody leaves.")
    corpus.put("hr/plan.txt", "The plan is old.")
    corpus.put("hr/plan.txt.meta.yaml", "access: [ceo]\n")
    corpus.put("hr/open.md", "---\naccess: []\n---\n\nThe door is open.")
    corpus.put("open.md", "Sow at 2.5 cm.")
    corpus.ingest()

    assert labels(corpus) == {
        "hr/leave.md": ("board", "legal"),
        "hr/open.md": (),
        "hr/pay.md": ("hr",),
        "hr/plan.txt": ("ceo",),
        "open.md": (),
    }


def test_a_document_with_a_wrong_label_is_refused(corpus: Corpus) -> None:
    corpus.put("a.md", "---\naccess: {board: true}\n---\n\nThe merger is near.")
    corpus.put("b.txt", "The plan is old.")
    corpus.put("b.txt.meta.yaml", "access: yes\n")
    corpus.put("c.md", "Sow at 2.5 cm.")

    report = corpus.ingest()

    assert [refused.path for refused in report.refused] == ["a.md", "b.txt"]
    assert list(labels(corpus)) == ["c.md"]


def test_what_is_attached_is_for_the_readers_of_the_message(corpus: Corpus) -> None:
    mail(corpus.root / "a.eml", ("rye.md", RYE), ("b.zip", packed(oats_md=b"# Oats\n\nSow oats.")))
    corpus.put("a.eml.meta.yaml", "access: board\n")
    (corpus.root / "c.zip").write_bytes(packed(one_md=b"One is here.", two_md=b"---\naccess: hr\n---\n\nTwo is here."))
    corpus.put("corpus.yaml", "documents:\n  - match: c.zip\n    access: legal\n")
    corpus.ingest()

    assert labels(corpus) == {
        "a.eml": ("board",),
        "a.eml/b.zip/oats.md": ("board",),
        "a.eml/rye.md": ("board",),
        "c.zip/one.md": ("legal",),
        "c.zip/two.md": ("hr",),
    }


def test_other_labels_alone_embed_and_publish_nothing(corpus: Corpus) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.put("b.md", "---\naccess: board\n---\n\nThe merger is near.")
    corpus.put("c.txt", "The plan is old.")
    before = corpus.ingest().info

    corpus.put("corpus.yaml", "documents:\n  - match: '**'\n    access: legal\n")
    corpus.put("c.txt.meta.yaml", "access: ceo\n")
    report = corpus.ingest()

    assert (report.relabelled, report.written, report.unchanged) == (("a.md", "c.txt"), (), 3)
    assert report.info == before
    assert corpus.embedder.texts == []
    assert labels(corpus) == {"a.md": ("legal",), "b.md": ("board",), "c.txt": ("ceo",)}
    assert corpus.ingest().relabelled == ()

    corpus.put("corpus.yaml", "documents: []\n")
    corpus.ingest()
    assert labels(corpus)["a.md"] == ()


def test_labels_that_somebody_set_stay_until_the_files_state_others(corpus: Corpus) -> None:
    corpus.put("corpus.yaml", "documents:\n  - match: '**'\n    access: legal\n")
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.put("b.md", "The merger is near.")
    corpus.ingest()
    corpus.store.relabel({"a.md": ["board"], "b.md": []})

    assert corpus.ingest().relabelled == ()
    corpus.put("a.md", "Sow at 3 cm.")
    (corpus.root / "b.md").rename(corpus.root / "c.md")
    corpus.ingest()
    assert labels(corpus) == {"a.md": ("board",), "c.md": ()}

    corpus.put("corpus.yaml", "documents:\n  - match: '**'\n    access: [legal, hr]\n")
    assert corpus.ingest().relabelled == ("a.md", "c.md")
    assert labels(corpus) == {"a.md": ("hr", "legal"), "c.md": ("hr", "legal")}


def test_a_folder_that_moved_takes_its_new_labels_along(corpus: Corpus, tmp_path: Path) -> None:
    corpus.put("a.md", "Sow at 2.5 cm.")
    corpus.ingest()
    moved = tmp_path / "moved"
    corpus.root.rename(moved)
    (moved / "corpus.yaml").write_text("documents:\n  - match: '**'\n    access: legal\n", encoding="utf-8")
    corpus.ingest(moved)

    assert labels(corpus) == {"a.md": ("legal",)}
