"""Restrictions: which sentences of a document refer to a clause that they restrict."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.language.restrictions import _RESTRICTS, restricting_places, restrictions

_PIECES = st.sampled_from(
    [
        "Except",
        "unless",
        "SUBJECT to",
        "subject",
        "other\nthan",
        "Wıthout prejudice to",
        "excuſed by",
        "İ",
        "exempted in",
        " ",
        ".",
    ]
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Except as provided in Section 11.4, no fence is allowed.", ["Section 11.4"]),
        ("NOTWITHSTANDING SECTION 7, a fence is allowed.", ["Section 7"]),
        ("Unless subsection (c) says so.", ["(c)"]),
        ("See Section 11.4.", []),
        ("No fence is allowed except a low one.", []),
    ],
)
def test_a_restriction_is_a_reference_behind_a_word_that_restricts(text: str, expected: list[str]) -> None:
    found = [each.reference.name if each.reference else each.item for each in restrictions(text)]

    assert found == expected


@given(text=st.lists(_PIECES).map("".join))
def test_no_word_that_restricts_is_missed_in_a_document(text: str) -> None:
    places = set(restricting_places(text))

    assert {word.start() for word in _RESTRICTS.finditer(text)} <= places
