"""Whether two norms are for one case, and whether they then disagree."""

from __future__ import annotations

from quoth.text.norm_words import Wording, is_person
from quoth.text.norms import Norm
from quoth.text.permissions import OPPOSITES, Stance
from quoth.text.quantities import same_quantity


def disagree(one: Norm, other: Norm) -> bool:
    """Whether two norms of one case cannot both be followed as they are said: other values, or opposite stances."""
    if one.topic != other.topic:
        return False
    if one.quantity is not None and other.quantity is not None:
        apart = one.quantity.high < other.quantity.low or other.quantity.high < one.quantity.low
        return apart and not same_quantity(one.quantity, other.quantity)
    return one.stance is not None and OPPOSITES[one.stance] is other.stance


def same_case(one: Norm, other: Norm, *, asked: frozenset[str], around: tuple[frozenset[str], frozenset[str]]) -> bool:
    """Whether two norms are for one case: nothing restricts the one that does not restrict the other too.

    A restriction of one side alone is no difference where it is `asked` for: the other side's case holds it. `around`
    are the words of each side's surroundings, which restrict it as well.
    """
    if one.cases != other.cases or _one_is_particular(one, other):
        return False
    here, there = _with_agents(one, other), _with_agents(other, one)
    left = _left_over(here, there | other.agents | around[1], one.wording)
    right = _left_over(there, here | one.agents | around[0], other.wording)
    if asked:  # a stance of one document may be for some places, where the other forbids it everywhere
        left, right = left - _excused_places(one, right), right - _excused_places(other, left)
    if left and right:
        return False
    return (left or right) <= asked


def _excused_places(norm: Norm, others: frozenset[str]) -> frozenset[str]:
    return norm.places if norm.stance is Stance.ALLOWED and not others else frozenset()


def _with_agents(norm: Norm, other: Norm) -> frozenset[str]:
    """The words of the case, with who acts where both sides say so: a passive leaves it open."""
    if not norm.agents or not other.agents or is_person(norm.agents) or is_person(other.agents):
        return norm.words
    return norm.words | norm.agents


def _left_over(words: frozenset[str], known: frozenset[str], own: Wording) -> frozenset[str]:
    """The words that the other side does not have, without alternatives to what it has: `hedge` in `fence or hedge`."""
    return frozenset(word for word in words - known if not _is_alternative(word, known, own))


def _is_alternative(word: str, known: frozenset[str], own: Wording) -> bool:
    return any(
        any(word in chunk for chunk in group) and any(word not in chunk and chunk <= known for chunk in group)
        for group in own.lists
    )


def _one_is_particular(one: Norm, other: Norm) -> bool:
    """Whether `the rear fence` of one side stands against `a fence`, `no fence` or `fences` of the other."""
    return one.wording.head == other.wording.head and one.wording.definite != other.wording.definite
