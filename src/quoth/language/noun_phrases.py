"""Noun phrases of a question, found by its function words, the order of its words and lists of common verbs.

It leaves out what it cannot tell apart: a missing phrase is the safe mistake.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from quoth.language.words import FUNCTION_WORDS, POLAR_OPENERS, fold, word_list
from quoth.types import Span

WH_WORDS = frozenset("what when where which who whom whose why how".split())
DETERMINERS = frozenset("a an the my our your his her their its any each every all some no both another".split())
PREPOSITIONS = frozenset(
    "about above across after against along among around at before below between by during for from in into near of on"
    " over per regarding since through to toward towards under until upon via with within without".split()
)
_ARTICLES = frozenset({"a", "an", "the"})
SUBJECT_PRONOUNS = frozenset("i we you he she it they one someone anyone this that these those".split())
QUESTION_VERBS = word_list("question_verbs")
_BE = frozenset("am are is was were be been being".split())
_AFTER_A_SUBJECT = frozenset("be been have has had need needs make makes use uses mean become get".split())
_PREDICATES = word_list("predicates")
_PARTICIPLE = re.compile(r".{3,}(?<!e)ed")  # no shed and no seed
_PREDICATE_ENDING = re.compile(rf"{_PARTICIPLE.pattern}|.{{2,}}(?:able|ible|ous|ful|less|ive|ic)")
_BETWEEN_WHAT_AND_NOUN = frozenset("kind kinds type types of other same more".split())
_JOINS_PHRASES = frozenset({"of", "for"})
_IRREGULAR_PLURALS = frozenset("people children men women criteria phenomena mice feet teeth geese police".split())
_WORD = re.compile(r"[^\W_](?:[\w'’./%°&+-]*[\w%])?")


@dataclass(frozen=True, slots=True)
class Token:
    """A word of a question, folded, with its position."""

    word: str
    span: Span

    @property
    def is_content(self) -> bool:
        return self.word not in FUNCTION_WORDS or self.word[0].isdigit()


@dataclass(frozen=True, slots=True)
class NounPhrase:
    """A noun with the words before it. `span` includes a determiner, `bare` does not.

    `whole` also includes phrases joined by `of` or `for`. `asked` is true of the phrase after `what` or `which`, which
    the question asks for; `subject` of the one that follows the auxiliary verb.
    """

    span: Span
    bare: Span
    whole: Span
    head: str
    asked: bool
    subject: bool

    @property
    def is_plural(self) -> bool:
        return self.head in _IRREGULAR_PLURALS or _ends_like_plural(self.head)


def _ends_like_plural(word: str) -> bool:
    return len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is"))


def tokens(text: str) -> list[Token]:
    return [Token(fold(match[0]), Span(*match.span())) for match in _WORD.finditer(text)]


def noun_phrases(text: str) -> tuple[NounPhrase, ...]:
    """Return the noun phrases of a question in order."""
    words = tokens(text)
    found: list[NounPhrase] = []
    for first, end in _runs(text, words):
        found += _in_run(words, first, end)
    found = [phrase for phrase in found if phrase.bare != phrase.span or not _is_no_noun(phrase, text)]
    return tuple(_joined(phrase, found, text) for phrase in found)


def _is_no_noun(phrase: NounPhrase, text: str) -> bool:
    """Return whether a phrase without determiner is an adjective, a participle, or a gerund with an object."""
    one_word = " " not in text[phrase.span.start : phrase.span.end]
    gerund = phrase.head.endswith("ing") and re.match(r"\s+(?:an?|the|my|your)\s", text[phrase.span.end :]) is not None
    return phrase.head in _PREDICATES or (one_word and (gerund or _PARTICIPLE.fullmatch(phrase.head) is not None))


def _runs(text: str, words: Sequence[Token]) -> Iterator[tuple[int, int]]:
    """Yield the first and the end index of each run of content words that no punctuation parts."""
    first = 0
    for index in range(len(words) + 1):
        ends = index == len(words) or not (words[index].is_content or _is_modifier(words, index))
        parted = index > first and not ends and text[words[index - 1].span.end : words[index].span.start].strip() != ""
        if index > first and (ends or parted):
            yield first, index
        if ends:
            first = index + 1
        elif parted:
            first = index


def _is_modifier(words: Sequence[Token], index: int) -> bool:
    """Return whether a function word belongs to the noun behind it: `mean` in `the mean age`."""
    inside = 0 < index < len(words) - 1 and words[index - 1].word in _ARTICLES and words[index + 1].is_content
    return inside and words[index].word not in DETERMINERS | PREPOSITIONS


def _in_run(words: Sequence[Token], first: int, end: int) -> Iterator[NounPhrase]:
    """Yield the phrases of one run, told from its verb by the word before the run."""
    before = words[first - 1].word if first else ""
    opener = words[first - 2].word if first > 1 else ""
    asker = first - 1
    while asker > 0 and words[asker].word in _BETWEEN_WHAT_AND_NOUN:
        asker -= 1
    asked = (first > 0 and words[asker].word in {"what", "which", "whose"}) or (
        before in {"many", "much"} and opener == "how"
    )
    verb_expected = before in SUBJECT_PRONOUNS or before in {"to", "who", "not", "never"}
    if asked:
        end = _before_verb(words, first, end)
        yield from _phrase(words, first, end, asked=True)
    elif before == "how":
        return  # `how deep`
    elif verb_expected:
        verb = next((index for index in range(first, end) if not words[index].word.endswith("ly")), end)
        yield from _phrase(words, verb + 1, end)
    elif before in POLAR_OPENERS and _is_first_auxiliary(words, first - 1):
        yield from _subject(words, first, end, auxiliary=first - 1)
    elif before in DETERMINERS and opener in POLAR_OPENERS and _is_first_auxiliary(words, first - 2):
        yield from _subject(words, first, end, auxiliary=first - 2)
    elif before in _BE:
        return  # `be planted`
    elif before or end - first > 1:
        # A determiner follows a verb or a preposition: `the ratio affect the dough`.
        verb = end < len(words) and words[end].word in DETERMINERS and words[end - 1].word in QUESTION_VERBS
        yield from _phrase(words, first, end - verb)


def _is_first_auxiliary(words: Sequence[Token], index: int) -> bool:
    """Return whether no auxiliary verb comes before: only the first one stands before its subject."""
    return not any(token.word in POLAR_OPENERS for token in words[:index])


def _before_verb(words: Sequence[Token], first: int, end: int) -> int:
    """Return where the noun after `which` ends: before a verb that no auxiliary announces, as in `which crops grow`."""
    if end < len(words) and words[end].word in POLAR_OPENERS:
        return end
    return next((index for index in range(first + 1, end) if _is_verb(words[index].word)), end)


def _is_verb(word: str) -> bool:
    return word in QUESTION_VERBS or word.removesuffix("s") in QUESTION_VERBS or _PARTICIPLE.fullmatch(word) is not None


def _subject(words: Sequence[Token], first: int, end: int, *, auxiliary: int) -> Iterator[NounPhrase]:
    """Yield the subject after an auxiliary verb, and what the verb behind it acts on."""
    following = words[end].word if end < len(words) else ""
    determined = auxiliary < first - 1
    asker = words[auxiliary - 1] if auxiliary else None
    if asker and asker.word == "who" and words[auxiliary].word not in _BE:
        yield from _phrase(words, first + 1, end)  # `Who may vote`
        return
    if words[auxiliary].word in _BE:
        asks_what = asker is not None and asker.word in {"what", "who"}
        of_what = asker is not None and asker.is_content and words[auxiliary - 2].word != "how"
        if of_what and not determined and words[0].word not in PREPOSITIONS:
            return  # `What soil pH is best`
        yield from _phrase(words, first, end if asks_what else _before_predicate(words, first, end), subject=True)
        return
    if following in _AFTER_A_SUBJECT:
        yield from _phrase(words, first, end, subject=True)
        return
    verb = next((index for index in range(first + 1, end) if words[index].word in QUESTION_VERBS), None)
    if verb is None and end - first == 2:
        verb = end - 1
    if verb is None and end - first > 2:
        plural = next((index for index in range(first, end - 1) if _ends_like_plural(words[index].word)), None)
        verb = None if plural is None else plural + 1
    if verb is None and end - first > 2:
        return
    yield from _phrase(words, first, end if verb is None else verb, subject=True)
    if verb is not None:
        yield from _phrase(words, verb + 1, end)


def _before_predicate(words: Sequence[Token], first: int, end: int) -> int:
    """Return where the subject of `is` ends: `the pool` in `Where is the pool located`."""
    for index in range(first + 1, end):
        if _PARTICIPLE.fullmatch(words[index].word) and not words[index - 1].word.endswith("ly"):
            return index
    if plural := next((index for index in range(first, end - 1) if _ends_like_plural(words[index].word)), None):
        return plural + 1
    last = words[end - 1].word
    return end - 1 if last in _PREDICATES or _PREDICATE_ENDING.fullmatch(last) else end


def _phrase(
    words: Sequence[Token], first: int, end: int, *, asked: bool = False, subject: bool = False
) -> Iterator[NounPhrase]:
    if first + 1 < end and _PARTICIPLE.fullmatch(words[end - 1].word):
        end -= 1  # `of patients responded`
    if first >= end:
        return
    bare = Span(words[first].span.start, words[end - 1].span.end)
    # `a "hero plate"`: a quotation mark stands between them.
    determined = (
        first > 0 and words[first - 1].word in DETERMINERS and words[first - 1].span.end + 1 == words[first].span.start
    )
    span = Span(words[first - 1].span.start, bare.end) if determined else bare
    yield NounPhrase(span, bare, span, words[end - 1].word, asked, subject)


def _joined(phrase: NounPhrase, phrases: Sequence[NounPhrase], text: str) -> NounPhrase:
    """Return a phrase with what `of` and `for` join to it: `the late fee for assessments`."""
    end = phrase.span.end
    for other in phrases:
        gerund = other.head.endswith("ing") and text[other.span.end :].strip(" ?") != ""  # `for making marzipan`
        if other.span.start > end and not gerund and fold(text[end : other.span.start]).strip() in _JOINS_PHRASES:
            end = other.span.end
    return NounPhrase(phrase.span, phrase.bare, Span(phrase.span.start, end), phrase.head, phrase.asked, phrase.subject)
