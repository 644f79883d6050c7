"""Questions as `fit.py` asks them, and what became of them."""

from __future__ import annotations

from dataclasses import dataclass

from prepare import touches

from quoth.types import Question, Ranked, Trace

CHANGED = ("statements", "swapped", "clauses", "written", "judged")
"""The forms of made questions, as their files are named and their ids end."""
UNHEARD = "unheard"
"""The form of questions with a word that no document has; `fit.py` makes them itself."""


@dataclass(frozen=True)
class Item:
    """A question as it is asked, with its set. `gold` is empty when nothing that may be quoted answers it."""

    set: str
    question: Question
    gold: tuple[tuple[str, int, int], ...]


@dataclass(frozen=True)
class Asked:
    """What became of a question. `share` is what it counts: each set counts the same."""

    item: Item
    trace: Trace
    share: float

    def right(self, ranked: Ranked) -> bool:
        return touches(ranked.sentence, self.item.gold)

    @property
    def of_people(self) -> bool:
        """Whether a person asked it so; the others were made from such a question or from a sentence."""
        return not self.item.question.id.endswith((*CHANGED, UNHEARD))
