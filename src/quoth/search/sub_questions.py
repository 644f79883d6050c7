"""Parts of a question: what it asks about one by one, each as a question of its own.

Splitting is cautious: two nouns are two parts only where the question compares them, asks about each, or where they are
values of one facet, codes, or numbered names of one kind. `Terms and conditions` is one thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from quoth.profile import Facet, Profile
from quoth.retrieve.clauses import clauses
from quoth.retrieve.comparisons import Member, compared, glued, unglued
from quoth.retrieve.question import analyse, mentioned_values, named, synonyms_of
from quoth.settings import RetrievalSettings
from quoth.text.entities import entities
from quoth.text.fold import fold, singular
from quoth.text.words import FUNCTION_WORDS
from quoth.types import Analysis, Entity, EntityKind, Part, Question

_MOST = 4
"""A question with more parts than this is searched as one."""
_WORD = re.compile(r"[^\W_](?:[\w'’./%°&+-]*[\w%])?")
_PRONOUN = re.compile(r"\b(?:it|its|they|them|their|this|that|these|those|he|she|his|her)\b", re.IGNORECASE)
_COMMA = r"\s*,\s+"
_AND = r"\s*,?\s+(?:and|&|as\s+well\s+as)\s+"
_MODIFIER = r"(?:(?:for|in|on|of|the|a|an)\s+)?(?:(?!and\b|or\b)[a-z-]+\s+)?"
_BETWEEN = re.compile(rf"(?:(?P<last>{_AND})|{_COMMA})(?P<own>{_MODIFIER})", re.IGNORECASE)
# Words beside a list that make it one thing: `a corn and soybean rotation`, `between corn and soybean`.
_ONE_BEFORE = re.compile(
    r"\b(?:between|mixed|mixing|combined|combining|combination\s+of|mix(?:ture)?s?\s+of|rotations?\s+of|along\s+with"
    r"|such\s+as|like|including)\s+(?:the\s+)?(?:\w+\s+)?$",
    re.IGNORECASE,
)
_ONE_AFTER = re.compile(
    r"\s*-?\s*(?:rotations?|mix(?:es|ture|tures)?|blends?|intercrop\w*|systems?|sequences?|combinations?|together)\b",
    re.IGNORECASE,
)
_NUMBERED = re.compile(
    r"\b(?P<head>[A-Z][a-z]+?)s\s+(?P<numbers>\d[\w.-]*(?:\s*,\s+\d[\w.-]*)*,?\s+and\s+\d[\w.-]*\b)(?!\s*%)"
)
_EACH = re.compile(r"\b(?:each|respectively)\b", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[A-Z][\w'’.-]+(?:\s[A-Z][\w'’.-]*)*")
_ENDS_A_NAME = re.compile(r"$|[?,;:]|\s(?:and|as|in|on|for|with|under|at|by|of|during|from|to)\b")
_OF = re.compile(r"(?:^|\s)(?P<before>[a-z][\w-]*)\s+(?:of|for|about|under)\s+(?:the\s+)?$")


def parts_of(analysis: Analysis, *, profile: Profile, settings: RetrievalSettings) -> tuple[Part, ...]:
    """The parts of a question, in its order; () when it asks for one thing."""
    question = analysis.question
    text = glued(analysis.search_text)
    separate = tuple(map(unglued, clauses(text)))
    members = (
        _with_context(separate, profile) if separate else _with_topic(compared(text), profile) or _listed(text, profile)
    )
    if not 2 <= len(members) <= _MOST:
        return ()
    own = [
        _distinguishing(member.text, _others(members, place, whole=bool(separate)), profile)
        for place, member in enumerate(members)
    ]
    if not (any(own) if separate else all(own)):
        return ()
    return tuple(
        Part(
            text=member.text,
            analysis=replace(
                analyse(Question(question.id, member.asked, question.filters), profile=profile, settings=settings),
                document_types=analysis.document_types,
                types_asked=analysis.types_asked,
            ),
            distinguishing=groups,
            clause=bool(separate),
        )
        for member, groups in zip(members, own, strict=True)
    )


def _others(members: Sequence[Member], place: int, *, whole: bool) -> list[str]:
    """What the other parts say; `whole` with what they leave unsaid."""
    others = [*members[:place], *members[place + 1 :]]
    return [one.asked if whole else one.text for one in others]


def _with_context(asked: Sequence[str], profile: Profile) -> tuple[Member, ...]:
    """Later clauses with what the first one is about, where they only point to it: `when is it harvested, canola`."""
    topics = _topics(asked[0], profile)
    context = topics or _content(asked[0])
    found = [Member(asked[0], asked[0])]
    for clause in asked[1:]:
        points = _PRONOUN.search(clause) is not None
        needed = () if _topics(clause, profile) else context if points else topics
        found.append(Member(clause, ", ".join([clause, " ".join(needed)]) if needed else clause))
    return tuple(found)


def _with_topic(members: Sequence[Member], profile: Profile) -> tuple[Member, ...]:
    """`Swathing` of `swathing or straight-cutting canola` with the canola that both are about."""
    topics = list(dict.fromkeys(topic for member in members for topic in _values(member.text, profile)))
    return tuple(
        Member(one.text, one.asked if _values(one.asked, profile) else " ".join([one.asked, *topics]))
        for one in members
    )


def _topics(text: str, profile: Profile) -> list[str]:
    """The particular things that a text names: entities, and values of facets that questions presume."""
    return list(dict.fromkeys([*(one.text for one in entities(text)), *_values(text, profile)]))


def _values(text: str, profile: Profile) -> list[str]:
    """The words of a text that name a value of a presumed facet."""
    return [text[start:end] for facet in profile.facets if facet.presumed for start, end, _ in _spans(facet)(text)]


def _content(text: str) -> list[str]:
    return [match[0] for match in _WORD.finditer(text) if fold(match[0]) not in FUNCTION_WORDS]


def _distinguishing(name: str, others: Sequence[str], profile: Profile) -> tuple[tuple[Entity, ...], ...]:
    """What only this part names: values of presumed facets with all their words, or else its own content words."""
    rest = " / ".join(others)
    if (particular := _particular(name)) is not None:
        return ((particular,),)
    presumed = [facet for facet in profile.facets if facet.presumed]
    for facet in presumed:
        values = [one for one in mentioned_values(facet, name) if one not in mentioned_values(facet, rest)]
        if values and all(mentioned_values(facet, other) for other in others):
            return tuple(tuple(map(named, (one.name, *one.synonyms, *one.keywords))) for one in values)
    known = {singular(fold(word)) for word in _content(rest)}
    own = [word for word in dict.fromkeys(_content(name)) if singular(fold(word)) not in known]
    # `Swathing or straight-cutting canola`: canola is what both are about, not what tells them apart.
    words = [word for word in own if not any(_spans(facet)(word) for facet in presumed)] or own
    synonyms = synonyms_of(profile.facets, profile.synonyms)
    return tuple(tuple(map(named, (word, *synonyms.get(singular(fold(word)), ())))) for word in words)


def _particular(name: str) -> Entity | None:
    """A year, a code or a numbered name as one thing: the 47 of `Lot 47` alone tells nothing."""
    words = tuple(map(singular, fold(name).split()))
    if len(words) > 3 or not any(character.isdigit() for character in words[-1]):
        return None
    if len(words) > 1:
        return Entity(name, EntityKind.NAME, words)
    return Entity(name, EntityKind.YEAR if re.fullmatch(r"\d{4}", name) else EntityKind.CODE, words)


def _listed(text: str, profile: Profile) -> tuple[Member, ...]:
    """`for canola and wheat`, `on Lots 47 and 112`: members of one list, each put in the place of all."""
    if numbered := _NUMBERED.search(text):
        numbers = re.split(r"\s*,?\s+and\s+|\s*,\s+", numbered["numbers"])
        return tuple(_instead(text, numbered.span(), f"{numbered['head']} {number}") for number in numbers)
    for facet in profile.facets:
        if run := _run(text, list(_spans(facet)(text))):
            return run
    return _run(text, list(_particulars(text)))


def _run(text: str, spans: Sequence[tuple[int, int, str]]) -> tuple[Member, ...]:
    """The first list among the spans, its members different things; () when there is none."""
    for place in range(len(spans)):
        run, starts = [spans[place]], [spans[place][0]]
        for following in spans[place + 1 :]:
            joint = _BETWEEN.fullmatch(text, run[-1][1], following[0])
            if joint is None:
                break
            run.append(following)
            starts.append(joint.start("own"))
            if joint["last"]:
                whole = (run[0][0], run[-1][1])
                if _one_thing(text, whole) or len({value for _, _, value in run}) < len(run):
                    break
                return tuple(
                    _instead(text, whole, text[start:end].strip())
                    for start, (_, end, _) in zip(starts, run, strict=True)
                )
    return ()


def _one_thing(text: str, span: tuple[int, int]) -> bool:
    return _ONE_BEFORE.search(text[: span[0]]) is not None or _ONE_AFTER.match(text, span[1]) is not None


def _instead(text: str, span: tuple[int, int], member: str) -> Member:
    bare = re.sub(r"^(?:(?:for|in|on|of|the|an?)\s+)+", "", member, flags=re.IGNORECASE)
    if before := text[: span[0]].split()[-1:]:
        bare = bare.removeprefix(f"{before[0]} ")  # `for storing corn and for storing wheat`
    return Member(unglued(bare), unglued(f"{text[: span[0]]}{bare}{text[span[1] :]}"))


@lru_cache(maxsize=64)
def _spans(facet: Facet) -> Callable[[str], tuple[tuple[int, int, str], ...]]:
    """A function that finds the words of a facet in a text, each with its place and the value it stands for."""
    value_of = {fold(one): one for one in facet.others} | {
        fold(word): value.name for value in facet.values for word in (value.name, *value.synonyms, *value.keywords)
    }
    longest_first = sorted(value_of, key=lambda word: (-len(word), word))
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, longest_first))})(?:e?s)?(?!\w)", re.IGNORECASE)

    def find(text: str) -> tuple[tuple[int, int, str], ...]:
        if not value_of:
            return ()
        found = ((match.start(), match.end(), value_of.get(fold(match[1]))) for match in pattern.finditer(text))
        return tuple((start, end, value) for start, end, value in found if value is not None)

    return find


def _particulars(text: str) -> Iterator[tuple[int, int, str]]:
    """Places of what may be one subject of several: codes, numbered names, and names in `the capitals of X and Y`."""
    plain = unglued(text)
    each = _EACH.search(text) is not None
    place = 0
    after_one = False
    for entity in entities(plain):
        start = plain.find(entity.text, place)
        place = start + len(entity.text)
        numbered = entity.kind is EntityKind.CODE or (entity.kind is EntityKind.NAME and entity.words[-1][0].isdigit())
        name = (
            entity.kind is EntityKind.NAME
            and _PLAIN_NAME.fullmatch(entity.text)
            and _ENDS_A_NAME.match(text, place) is not None
        )
        after_one = bool(name) and (after_one or _OF.search(text[:start]) is not None)
        if each or numbered or after_one:
            yield start, place, fold(entity.text)
