"""What labels of documents and of those who ask let be seen."""

from __future__ import annotations

import pytest

from quoth.types import EVERYTHING, Access


@pytest.mark.parametrize(
    ("held", "unlabelled", "labels", "seen"),
    [
        (frozenset({"board"}), True, ("board", "legal"), True),
        (frozenset({"board"}), True, ("legal",), False),
        (frozenset({"board"}), True, (), True),
        (frozenset({"board"}), False, (), False),
        (frozenset(), True, ("board",), False),
        (frozenset(), True, (), True),
    ],
)
def test_one_shared_label_is_enough_to_see_a_document(
    held: frozenset[str], unlabelled: bool, labels: tuple[str, ...], seen: bool
) -> None:
    assert Access(held, unlabelled).sees(labels) is seen


def test_who_sees_everything_needs_no_label() -> None:
    assert EVERYTHING.sees(("board",))
    assert EVERYTHING.sees(())
