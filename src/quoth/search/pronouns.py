"""A pronoun that stands for what the last question was about: `Does it need a permit?`"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import zip_longest

from quoth.domain.profile import Profile
from quoth.language.noun_phrases import NounPhrase, noun_phrases, tokens
from quoth.language.words import fold, word_list
from quoth.search.rewording import FollowUp, article_of, is_question, text_at, topics_of, widened
from quoth.types import Span

_MEASURES = word_list("measures")
_FRAMING_NOUNS = word_list("framing_nouns")
_SINGULAR = frozenset({"it", "its"})
_PLURAL = frozenset({"they", "them", "their", "these", "those"})
_POSSESSIVE = frozenset({"its", "their"})
_PERSONS = frozenset("he she him his her".split())
_NEW_CLAUSE = frozenset("and or but if when that which who because before after unless while until since so".split())
_WANTED = re.compile(r"(?:what|which)\s.+?\s(?:is|are|was|were)\s+(?P<rest>(?:used|\w{3,}(?<!e)ed)\b.*)", re.IGNORECASE)
"""`Which trees are allowed in the yard` asks for `trees allowed in the yard`."""
_LIKE_PRONE = "prone|resistant|sensitive|similar|specific|subject|susceptible|tolerant|toxic|harmful|related|equal"
_EMPTY_IT = re.compile(
    r"\bit (?:(?:not|be|really|still|ever|also) )*(?:"
    r"(?:takes?|matters?|happens?|happened|rains?|snows?|called|possible|true|likely|because)\b"
    r"|makes? (?:a|any|no) difference"
    r"|mean (?:to|for|if|when|that|by)\b"
    r"|(?:hurt|help|make|cost|work|seem)\b.*\b(?:to|if|that|when)\b"
    rf"|(?!(?:needs?|ha[sd]|have|able|going|supposed|used|wants?) |(?:{_LIKE_PRONE}) to\b)"
    r"(?:[\w/,-]+ ){0,4}(?:to (?!be\b)[a-z]+|that|if|whether|when|for .*\bto)\b)"
    r"|\bwhy (?:is|was) it (?:my|your|our|his|her|their|that|the|an?|so)\b"
)
"""`It` that stands for nothing: `Is it safe to ...?`, `How long does it take?`, `if it rains`; not `Is it prone to`."""


def pronoun(asked: FollowUp, last: str, profile: Profile) -> str | None:
    """`Does it need a permit?` asks about the thing that the last question was about."""
    found = _free_pronoun(asked.text)
    if found is None or not (is_question(asked.text) and is_question(last)):
        return None
    word, span = found
    persons = not _PERSONS.isdisjoint(token.word for token in tokens(asked.text))
    thing = None if persons else _antecedent(word, last, profile)
    if thing is None:
        return None
    if word in _POSSESSIVE:
        thing = thing + ("'" if thing.endswith("s") else "'s")
    return f"{asked.text[: span.start]}{thing}{asked.text[span.end :]}"


def leaves_open(last: str) -> bool:
    """Return whether a question has a pronoun of its own that nothing in it explains, or ends with `that`."""
    if re.search(r"\b(?:that|this)$", last, re.IGNORECASE):
        return True
    return _free_pronoun(_EMPTY_IT.sub(lambda empty: re.sub(r"\bit\b", "", empty[0], count=1), fold(last))) is not None


def _free_pronoun(text: str) -> tuple[str, Span] | None:
    """Return the first pronoun, unless the question itself names what it may stand for, or it stands for nothing."""
    words = tokens(text)
    plain = [token.word.removesuffix("'s") for token in words]
    index = next((index for index, word in enumerate(plain) if word in _SINGULAR | _PLURAL), None)
    if index is None or _EMPTY_IT.search(fold(text)):
        return None
    word, start = plain[index], words[index].span.start
    span = Span(start, start + len(word))
    if word in {"these", "those"} and index + 1 < len(words) and words[index + 1].is_content:
        return None  # `these rules`
    before = [phrase for phrase in noun_phrases(text) if phrase.span.end <= span.start and not phrase.asked]
    clauses = _NEW_CLAUSE & {token.word for token in words[1:index]}
    if any(phrase.subject for phrase in before) and len(before) == 1 and not clauses and word not in _POSSESSIVE:
        before = []  # `Can the association remove it?`: a subject does not act on itself
    if word in _POSSESSIVE and any(token.is_content for token in words[1:index] if token.word not in _MEASURES):
        return None  # `Why did the board change its mind?`
    return None if before else (word, span)


def _antecedent(pronoun: str, last: str, profile: Profile) -> str | None:
    """Return what a pronoun stands for: the one topic of the profile, or the first phrase that agrees in number."""
    found = noun_phrases(last)
    topics = [
        (Span(start, end), value)
        for start, end, value in topics_of(last, profile)
        if not any(phrase.bare.start <= start < end < phrase.bare.end for phrase in found)  # `soybean aphids`
    ]
    if len({value for _, value in topics}) == 1 and not _acts(found, pronoun, last, topics[0][0]):
        return text_at(last, widened(topics[0][0], last))
    if (wanted := _WANTED.fullmatch(last)) and found[0].asked and found[0].is_plural == (pronoun in _PLURAL):
        return f"{text_at(last, found[0].bare)} {wanted['rest']}"
    phrases = [phrase for phrase in found if not phrase.asked and not _is_aside(phrase, last)]
    for phrase, following in zip_longest(phrases, phrases[1:]):
        joint = fold(last[phrase.span.end : following.span.start]).strip() if following else ""
        listed = joint in {"and", "or"}
        if (phrase.is_plural or listed) == (pronoun in _PLURAL):
            if phrase.head in _FRAMING_NOUNS or (phrase.bare == phrase.span and phrase.head.endswith("ing")):
                return None
            return last[phrase.span.start : following.span.end] if listed else text_at(last, phrase.whole)
    return None


def _acts(phrases: Sequence[NounPhrase], pronoun: str, last: str, topic: Span) -> bool:
    """Return whether another thing than the topic is done something to, or does it: `control blackleg in canola`."""
    words = {token.span.end: token for token in tokens(last)}
    asks_what = re.match(r"(?:what|who)\s+(?:is|are|was|were)\b", last, re.IGNORECASE)
    for phrase in phrases:
        before = words.get(len(last[: phrase.span.start].rstrip()))
        object_of_verb = before is not None and before.is_content and not phrase.asked
        doer = phrase.subject and not asks_what
        other = not (phrase.span.start <= topic.start < phrase.span.end)
        if other and (object_of_verb or doer) and phrase.is_plural == (pronoun in _PLURAL):
            return True
    return False


def _is_aside(phrase: NounPhrase, text: str) -> bool:
    """Return whether a phrase is only compared with (`than a hedge`), or belongs to another one (`their orders`)."""
    before = fold(text[: phrase.span.start]).split()[-1:]
    return before in (["than"], ["like"]) or article_of(text_at(text, phrase.span)) in {"its", "their", "his", "her"}
