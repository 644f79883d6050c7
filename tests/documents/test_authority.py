"""What a document is worth, and which part of it has been replaced."""

from __future__ import annotations

import pytest

from quoth.domain.authority import authority_of, is_binding, is_superseded, supersessions, type_by_title
from quoth.domain.profile import load_profile
from quoth.types import Metadata, Supersession

GOVERNANCE = load_profile("governance")


def about(*superseded_by: Supersession, document_type: str | None = None, is_binding: bool | None = None) -> Metadata:
    return Metadata(None, document_type, is_binding, None, superseded_by, None, {}, False, (), None, None)


@pytest.mark.parametrize(
    ("document_type", "is_binding", "authority"),
    [
        ("ccr", None, "binding"),
        ("ccr", True, "binding"),
        ("ccr", False, "guidance"),
        ("design_guidelines", None, "guidance"),
        ("design_guidelines", True, "binding"),
        ("response_letter", None, "precedent"),
        ("response_letter", False, "precedent"),
        ("response_letter", True, "binding"),
        ("newspaper", None, "guidance"),
        (None, None, "guidance"),
        (None, True, "binding"),
    ],
)
def test_the_documents_own_word_wins_over_its_type(
    document_type: str | None, *, is_binding: bool | None, authority: str
) -> None:
    assert authority_of(about(document_type=document_type, is_binding=is_binding), GOVERNANCE) == authority


@pytest.mark.parametrize("profile", ["general", "agriculture"])
def test_a_profile_without_authority_has_none_to_give(profile: str) -> None:
    assert authority_of(about(document_type="ccr", is_binding=True), load_profile(profile)) is None


@pytest.mark.parametrize(
    ("section", "replaced"),
    [
        (("Article VII", "Section 7.3 Fences"), True),
        (("Section 7.3",), True),
        (("SECTION 7.3: Fences",), True),
        (("Section 7.3", "Height"), True),
        (("Section 7.3.1 Height",), True),
        (("Section 7.31",), False),
        (("Section 7",), False),
        (("On Section 7.3",), False),
        ((), False),
    ],
)
def test_a_section_is_replaced_with_all_below_it_and_no_other(section: tuple[str, ...], *, replaced: bool) -> None:
    assert is_superseded(about(Supersession("new.md", "Section 7.3")), section) is replaced


def test_a_whole_document_is_replaced_in_every_section() -> None:
    assert is_superseded(about(Supersession("new.md", None)), ())
    assert is_superseded(about(Supersession("new.md", None)), ("Any", "Section"))


def test_a_document_that_nothing_replaces_stands() -> None:
    assert not is_superseded(about(), ("Section 7.3",))


def test_only_what_concerns_the_section_is_listed() -> None:
    whole, here, there = Supersession("a.md", None), Supersession("b.md", "7.3"), Supersession("c.md", "8.1")

    assert supersessions(about(whole, here, there), ("7.3 Fences",)) == (whole, here)


@pytest.mark.parametrize(
    ("wanted", "heading", "same"),
    [
        ("7.3", "Section 7.3 Kites", True),
        ("Section 7.3", "7.3 Kites", True),
        ("Sec. 7.3", "§ 7.3 Kites", True),
        ("§7.3", "Section 7.3", True),
        ("Section  7.3", "Section 7.3\tKites", True),
        ("Article 7", "Section 7", False),
        ("7", "Chapter 7: Kites", True),
        ("7.3", "17.3 Kites", False),
        ("Kites", "Kites and Balloons", True),
        ("Kites", "Section 7.3 Kites", False),
        ("Section", "Section 7.3", False),
        ("", "Section 7.3", False),
    ],
)
def test_a_section_is_known_by_its_number_however_it_is_labelled(wanted: str, heading: str, *, same: bool) -> None:
    assert is_superseded(about(Supersession("new.md", wanted)), (heading,)) is same


@pytest.mark.parametrize(
    ("document_type", "said", "binding"),
    [
        ("ccr", None, True),
        ("ccr", False, False),
        ("submittal", None, False),
        ("submittal", True, True),
        (None, None, None),
    ],
)
def test_a_document_binds_as_it_says_or_else_as_its_type_does(
    document_type: str | None, said: bool | None, binding: bool | None
) -> None:
    assert is_binding(about(document_type=document_type, is_binding=said), GOVERNANCE) is binding


def test_without_authority_a_type_says_nothing_about_binding() -> None:
    assert is_binding(about(document_type="ccr"), load_profile("general")) is None


@pytest.mark.parametrize(
    ("title", "document_type"),
    [
        ("DECLARATION OF COVENANTS, CONDITIONS AND RESTRICTIONS", "ccr"),
        ("Amended and Restated Declaration of Covenants", "ccr"),
        ("First Amendment to the Declaration of Covenants", "amendment"),
        ("BYLAWS OF TAMARIND HOLLOW", "bylaws"),
        ("Amended and Restated By-Laws", "bylaws"),
        ("Rules and Regulations of Tamarind Hollow (2020 Restatement)", "rules_regulations"),
        ("Pool Rules", "rules_regulations"),
        ("Tamarind Hollow Design Guidelines", "design_guidelines"),
        ("Architectural Standards for Fences", "design_guidelines"),
        ("Resolution 2021-04 Adopting Rules for Rentals", "resolution"),
        ("Minutes of the Board on the Design Guidelines", "minutes"),
        ("City of Brackenford Municipal Code", "city_code"),
        ("Architectural Change Application", "application_form"),
        ("Architectural Review Committee: Response Letter", "response_letter"),
        ("Newsletter of June", None),
        ("How the Association works", None),
        ("", None),
    ],
)
def test_a_title_names_the_type(title: str, document_type: str | None) -> None:
    assert type_by_title([title], GOVERNANCE) == document_type


def test_the_first_line_that_names_a_type_decides() -> None:
    lines = ["Tamarind Hollow Homeowners Association", "Bylaws", "Rules and Regulations"]

    assert type_by_title(lines, GOVERNANCE) == "bylaws"


def test_a_profile_without_authority_guesses_nothing() -> None:
    assert type_by_title(["Bylaws"], load_profile("general")) is None
