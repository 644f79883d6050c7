"""Understand a follow-up: decide whether a question leans on the one before it, and write it out.

The rules only move words of the two questions. A question that stands alone is left as it is, and so is one that no
rule is sure about.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace

from quoth.domain.profile import Profile
from quoth.language.entities import entities
from quoth.language.noun_phrases import PREPOSITIONS, WH_WORDS, tokens
from quoth.language.words import POLAR_OPENERS, fold, word_list
from quoth.search.fragments import fragment
from quoth.search.pronouns import leaves_open, pronoun
from quoth.search.rewording import SEVERAL_SENTENCES, FollowUp, text_at, topics_of, widened
from quoth.types import Question, Span

MOST_PREVIOUS = 20
"""How many previous questions are looked at; older ones are forgotten."""
_LONGEST = 400
"""Characters of a follow-up, and of a question that it leans on: a longer one is a story, and names too much."""
_OPENER = re.compile(
    r"(?:(?:ok|okay|well|so|then)\b[,\s]+)*(?P<and>(?:(?:and|but|or|also)\b[,\s]+)*)(?P<about>(?:what|how)\s+about\s+)?",
    re.IGNORECASE,
)
_SAME_WHY = re.compile(r"why\s+(?:is\s+(?:that|this|it)|so)$", re.IGNORECASE)
_FILLERS = frozenset("not exactly else so then".split())
_MEASURES = word_list("measures")
_AMOUNTS = frozenset({"much", "many"})
_ENDS = " \t?!.…/"


def as_understood(question: Question, *, profile: Profile) -> Question:
    """Return the question with the text that it means after the questions before it; itself when it stands alone."""
    meant = understood(question.text, question.previous, profile=profile) if question.previous else None
    return replace(question, text=meant) if meant else question


def understood(question: str, previous: Sequence[str], *, profile: Profile) -> str | None:
    """Return what a follow-up asks, in words of its own and of the question before; None when it stands as it is.

    `previous` are the questions before it as asked, oldest first; each of them may be a follow-up too.
    """
    last = None
    for earlier in (*previous[-MOST_PREVIOUS:], question):
        meant = _meant(earlier, last, profile) if last else None
        last = meant or earlier
    return meant if previous else None


def _meant(question: str, last: str, profile: Profile) -> str | None:
    plain = " ".join(question.split())
    opening = _OPENER.match(plain)
    text = plain[opening.end() if opening else 0 :].rstrip(_ENDS)
    said = " ".join(last.split()).rstrip(_ENDS)
    if not text or max(len(text), len(said)) > _LONGEST or SEVERAL_SENTENCES.search(said) or leaves_open(said):
        return None
    said = _without_question_word(said)
    words = [token.word for token in tokens(said)]
    if _bare_question_words(words) == len(words):
        return None  # it was itself a part of a question
    about = opening is not None and opening["about"] is not None
    asked = FollowUp(text, continues=about or bool(opening and opening["and"]), marked=plain.endswith("?"))
    for rule in (fragment,) if about else _RULES:
        meant = rule(asked, said, profile)
        if meant is not None and fold(meant) not in {fold(text), fold(said)}:
            return f"{meant[0].upper()}{meant[1:]}?"
    return None


def _question_word(asked: FollowUp, last: str, profile: Profile) -> str | None:
    """`How deep?` asks the last question with another question word, or at least about its topic."""
    text = asked.text.split()[0] if _SAME_WHY.match(asked.text) else asked.text
    words = [token.word for token in tokens(text)]
    phrase = _bare_question_words(words)
    if phrase == 0:
        return None
    ends = tokens(text)[phrase - 1].span.end
    opening = tokens(last)[0].word if tokens(last) else ""
    about = _topic(last, profile) if opening in {"what", "which", "who"} and words[0] != "why" else None
    meant = f"{text[:ends]}{about}" if about else _reasked(text[:ends], words[:phrase], last)
    if ends == len(text):
        return meant
    rest = FollowUp(text[ends:].strip(), continues=True, marked=True)
    return None if words[phrase] == "of" else fragment(rest, meant, profile)


def _bare_question_words(words: Sequence[str]) -> int:
    """Return how many words make a question that has no verb, such as `how deep` or `at what temperature`, or 0."""
    first = 1 if len(words) > 1 and words[0] in PREPOSITIONS and words[1] in WH_WORDS else 0
    if not words or words[first] not in WH_WORDS or POLAR_OPENERS & set(words) or "to" in words[1:]:
        return 0
    tail = words[first + 1 :]
    own = next((index for index, word in enumerate(tail) if word in PREPOSITIONS), len(tail))
    match words[first], tail[:own]:
        case "what" | "which", [_] | [_, _] if first:
            fits = True
        case "how", ["much" | "many", noun] if own == len(tail):
            fits = not noun.endswith("ed")
        case "how", [measure]:
            fits = measure in _MEASURES or measure in _FILLERS
        case "why" | "when" | "where" | "how" | "who" | "whom", rest:
            fits = _FILLERS.issuperset(rest) and (own == len(tail) or not rest)
        case _:
            fits = False
    return first + 1 + own if fits else 0


def _without_question_word(last: str) -> str:
    """Return a question without the words that `_reasked` added: `What pH is best, why`."""
    before, comma, added = last.rpartition(", ")
    words = [token.word for token in tokens(added)]
    return before if comma and _bare_question_words(words) == len(words) else last


def _reasked(phrase: str, words: Sequence[str], last: str) -> str:
    """Return the last question with a new question word, in the place of its own where that asks for a circumstance."""
    said = tokens(last)
    verb = next((index for index, token in enumerate(said) if token.word in POLAR_OPENERS), None)
    amount = words[:1] == ["how"] and words[1:2] and words[1] in _AMOUNTS
    opening = [token.word for token in said[:verb]]
    if verb is not None and words[0] not in {"who", "whom"}:
        clause = last[said[verb].span.start :]
        counted = len(opening) > 2 and opening[0] == "how" and opening[1] in _AMOUNTS
        if not opening and not amount and not (len(said) > 1 and said[1].word == "there"):
            return f"{phrase} {clause[0].lower()}{clause[1:]}"
        if (counted and amount and len(words) > 2) or (_is_circumstance(opening) and words[0] != "why" and not amount):
            return f"{phrase} {clause}"
    return f"{last}, {phrase[0].lower()}{phrase[1:]}"


def _is_circumstance(opening: Sequence[str]) -> bool:
    """Return whether question words ask when, where or how, so that others can take their place."""
    match opening:
        case ["when" | "where" | "how"]:
            return True
        case ["how", measure]:
            return measure in _MEASURES and measure not in _AMOUNTS
        case [preposition, word, *_]:
            return preposition in PREPOSITIONS and word in WH_WORDS
        case _:
            return False


def _kept_topic(asked: FollowUp, last: str, profile: Profile) -> str | None:
    """`And what seeding rate is best?` is asked about the topic of the last question, if it names none itself."""
    opens = WH_WORDS & {token.word for token in tokens(asked.text)[:2]}
    if not (asked.continues and opens) or entities(asked.text) or list(topics_of(asked.text, profile)):
        return None
    about = _topic(last, profile)
    return f"{asked.text}{about}" if about else None


def _topic(last: str, profile: Profile) -> str | None:
    """Return the one topic of a question with its preposition or after a comma (` for canola`, `, canola`), or None."""
    topics = list(topics_of(last, profile))
    if len({value for _, _, value in topics}) != 1:
        return None
    span = widened(Span(*topics[0][:2]), last)
    before = tokens(last[: span.start])
    if before and before[-1].word in PREPOSITIONS:
        return f" {last[before[-1].span.start : span.end]}"
    return f", {text_at(last, span)}"


_RULES: tuple[Callable[[FollowUp, str, Profile], str | None], ...] = (_question_word, fragment, pronoun, _kept_topic)
"""Tried in order; the first that gives a question wins."""
