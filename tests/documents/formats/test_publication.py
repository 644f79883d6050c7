"""Authors, year and DOI, as the blocks of a first page print them."""

from __future__ import annotations

import pytest

from quoth.documents.formats.pdf.publication import publication

TITLE = "Seeding depth of canola in dry springs"


def found(*blocks: str) -> dict[str, str]:
    return publication(["Journal of Fields 12 (2019) 3-9", TITLE, *blocks], title=[1])


@pytest.mark.parametrize(
    ("printed", "names"),
    [
        ("Ada Ek¹,², Bo van der Li²* and Cy J. Wu³", "Ada Ek; Bo van der Li; Cy J. Wu"),
        ("Ada Ek1,2,*, Bo Li2,† & Cy Wu1", "Ada Ek; Bo Li; Cy Wu"),
        ("Ada Ek¹ · Bo Li² · Cy Wu¹,³", "Ada Ek; Bo Li; Cy Wu"),
        ("Ada Ek, MD, PhD, Bo Li, MSc", "Ada Ek; Bo Li"),
        ("Toby J. A. O’Neil, Jean-Luc d'Arc, Élodie Ölçer", "Toby J. A. O’Neil; Jean-Luc d'Arc; Élodie Ölçer"),
        ("Ada Ek", "Ada Ek"),
    ],
)
def test_authors_are_the_names_behind_the_title(printed: str, names: str) -> None:
    assert found(printed, "1 Department of Fields, University of Arden")["authors"] == names


def test_notes_of_a_side_column_may_come_before_the_authors() -> None:
    blocks = ("Edited by:", "Eva Roe, University of Arden, Arden", "Keywords:", "canola, depth", "Ada Ek and Bo Li")

    assert found(*blocks)["authors"] == "Ada Ek; Bo Li"


@pytest.mark.parametrize(
    "block",
    [
        "A protocol for a clinical study",
        "Agricultural Research Station, Arden State University, Arden",
        "Canola is sown in spring, and peas follow.",
        "Received: 3 May 2018, Accepted: 4 June 2018",
        "write to Ada Ek, ek@arden.example",
    ],
)
def test_what_is_no_list_of_names_has_no_authors(block: str) -> None:
    assert "authors" not in found(block)


def test_without_a_title_nobody_is_an_author() -> None:
    assert "authors" not in publication(["Ada Ek, Bo Li"], title=[])


@pytest.mark.parametrize(
    ("printed", "year"),
    [
        ("Copyright: © 2017 Ek et al. Published 3 January 2018", "2017"),
        ("Received: 3 May 2016 / Accepted: 4 June 2017 / Published online: 5 July 2018", "2018"),
        ("Citation: Ek A, Li B (2015) Seeding depth of canola.", "2015"),
        ("Accepted: 4 June 2017", "2017"),
        ("nothing", "2019"),
    ],
)
def test_the_year_is_that_of_the_surest_place(printed: str, year: str) -> None:
    assert found(printed)["year"] == year


def test_the_doi_is_the_one_that_is_printed_most_often() -> None:
    blocks = ("Supplement: https://doi.org/10.9999/other", "doi: 10.1234/ab.5.", "Cite: https://doi.org/10.1234/ab.5")

    assert found(*blocks)["doi"] == "10.1234/ab.5"


def test_a_page_that_prints_none_of_them_gives_nothing() -> None:
    assert publication(["A letter", "Dear neighbour, the gate stays shut."], title=[0]) == {}
