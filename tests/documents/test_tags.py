"""Tags: by whole words of the sentence, its headings and its document, the nearest mention first."""

from __future__ import annotations

import pytest

from quoth.domain.profile import Facet, load_profile
from quoth.domain.tags import document_tagger, matcher
from quoth.types import Tags

AGRICULTURE = load_profile("agriculture")
CROP, PRACTICE = AGRICULTURE.facets


def tags(text: str, *headings: str, doc_id: str = "guide.md", declared: Tags | None = None) -> Tags:
    return document_tagger(AGRICULTURE, doc_id=doc_id, declared=declared or {})(text, headings)


@pytest.mark.parametrize(
    ("text", "crops"),
    [
        ("Rice is sown.", ("rice",)),
        ("The price is high.", ()),
        ("Licorice grows.", ()),
        ("RICE, and rice again", ("rice",)),
        ("Tomatoes ripen.", ("tomato",)),
        ("Oilseed rape and colza", ("canola",)),
        ("Oilseed\nrape over two lines", ("canola",)),
        ("Rapeseed, then maize", ("canola", "corn")),
        ("Maize before rapeseed", ("corn", "canola")),
        ("Soyabeans", ("soy",)),
        ("Grape seeds", ()),
        ("Maïze with an accent", ("corn",)),
        ("", ()),
    ],
)
def test_whole_words_in_order_of_their_first_mention(text: str, crops: tuple[str, ...]) -> None:
    assert matcher(CROP)(text) == crops


@pytest.mark.parametrize(
    ("text", "practices"),
    [
        ("Root rot spreads.", ("disease",)),
        ("Crop rotation.", ()),
        ("Rots", ("disease",)),
        ("A rotten idea", ()),
        ("No-till", ("soil",)),
        ("no till", ("soil",)),
        ("Soil moisture was low.", ("irrigation",)),
        ("soil\r\nmoisture", ("irrigation",)),
        ("The pH of the soil", ("soil",)),
        ("The phase", ()),
    ],
)
def test_the_longest_keyword_counts_and_parts_of_words_do_not(text: str, practices: tuple[str, ...]) -> None:
    assert matcher(PRACTICE)(text) == practices


def test_a_facet_without_values_matches_nothing() -> None:
    assert matcher(Facet("colour", "none", (), presumed=False, others=(), combined_by=()))("red") == ()


def test_a_sentence_in_which_nothing_matches_has_the_default() -> None:
    assert tags("Nothing to see.") == {"crop": ("other",), "practice": ("other",)}


def test_the_default_is_left_out_as_soon_as_something_matches() -> None:
    assert tags("Sow wheat.")["crop"] == ("wheat",)


def test_the_sentence_wins_over_its_headings_and_those_over_the_document() -> None:
    found = tags(
        "Rice yields less.", "About corn", "Wheat after soy", doc_id="tomato/guide.md", declared={"crop": ("canola",)}
    )

    assert found["crop"] == ("rice", "wheat", "soy", "corn", "canola", "tomato")


@pytest.mark.parametrize(
    ("headings", "declared", "doc_id", "main"),
    [
        (("Corn", "Wheat"), {"crop": ("rice",)}, "soy.md", "wheat"),
        (("Corn", "Depth"), {"crop": ("rice",)}, "soy.md", "corn"),
        (("Depth",), {"crop": ("rice",)}, "soy.md", "rice"),
        (("Depth",), {}, "soy.md", "soy"),
        (("Depth",), {}, "guide.md", "other"),
    ],
)
def test_the_main_value_is_that_of_the_nearest_mention(
    headings: tuple[str, ...], declared: Tags, doc_id: str, main: str
) -> None:
    assert tags("How deep?", *headings, doc_id=doc_id, declared=declared)["crop"][0] == main


@pytest.mark.parametrize(
    ("doc_id", "facet", "value"),
    [
        ("canola/guide.md", "crop", "canola"),
        ("guides/winter_wheat.md", "crop", "wheat"),
        ("oilseed-rape.txt", "crop", "canola"),
        ("no-till.md", "practice", "soil"),
        ("prices.md", "crop", "other"),
    ],
)
def test_the_words_of_the_document_id_count(doc_id: str, facet: str, value: str) -> None:
    assert tags("How deep?", doc_id=doc_id)[facet][0] == value


def test_each_value_is_listed_once() -> None:
    assert tags("Corn and maize", "Corn", doc_id="corn/maize.md", declared={"crop": ("corn",)})["crop"] == ("corn",)
