"""Split a question into sub-questions that can be searched separately.

Splitting is cautious. Two nouns make two sub-questions only when the question compares them or asks about each, or when
they are values of the same facet, codes, or numbered names of the same kind. `Terms and conditions` is a single thing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache

from quoth.domain.profile import Facet, Profile
from quoth.language.entities import entities
from quoth.language.words import FUNCTION_WORDS, fold, singular
from quoth.search.clauses import clauses
from quoth.search.comparisons import Member, compared, glued, unglued
from quoth.search.question_analysis import analyse, mentioned_values, name_entity, synonyms_of
from quoth.settings import RetrievalSettings
from quoth.types import Analysis, Entity, EntityKind, SubQuestion

_MOST = 4
"""A question with more sub-questions than this is not split."""
_WORD = re.compile(r"[^\W_](?:[\w'’./%°&+-]*[\w%])?")
_PRONOUN = re.compile(r"\b(?:it|its|they|them|their|this|that|these|those|he|she|his|her)\b", re.IGNORECASE)
_COMMA = r"\s*,\s+"
_AND = r"\s*,?\s+(?:and|&|as\s+well\s+as)\s+"
_MODIFIER = r"(?:(?:for|in|on|of|the|a|an)\s+)?(?:(?!and\b|or\b)[a-z-]+\s+)?"
_BETWEEN = re.compile(rf"(?:(?P<last>{_AND})|{_COMMA})(?P<own>{_MODIFIER})", re.IGNORECASE)
# Words beside a list that make it a single thing: `a corn and soybean rotation`, `between corn and soybean`.
_ONE_BEFORE = re.compile(
    r"\b(?:between|mixed|mixing|combined|combining|combination\s+of|mix(?:ture)?s?\s+of|rotations?\s+of|along\s+with"
    r"|such\s+as|like|including)\s+(?:the\s+)?(?:\w+\s+)?$",
    re.IGNORECASE,
)
_ONE_AFTER = re.compile(
    r"\s*-?\s*(?:rotations?|mix(?:es|ture|tures)?|blends?|systems?|sequences?|combinations?|together)\b", re.IGNORECASE
)
_NUMBERED = re.compile(
    r"\b(?P<head>[A-Z][a-z]+?)s\s+(?P<numbers>\d[\w.-]*(?:\s*,\s+\d[\w.-]*)*,?\s+and\s+\d[\w.-]*\b)(?!\s*%)"
)
_EACH = re.compile(r"\b(?:each|respectively)\b", re.IGNORECASE)
_PLAIN_NAME = re.compile(r"[A-Z][\w'’.-]+(?:\s[A-Z][\w'’.-]*)*")
_ENDS_A_NAME = re.compile(r"$|[?,;:]|\s(?:and|as|in|on|for|with|under|at|by|of|during|from|to)\b")
_OF = re.compile(r"(?:^|\s)(?P<before>[a-z][\w-]*)\s+(?:of|for|about|under)\s+(?:the\s+)?$")


def sub_questions_of(analysis: Analysis, *, profile: Profile, settings: RetrievalSettings) -> tuple[SubQuestion, ...]:
    """Return the sub-questions in the order asked; empty when the question asks for a single thing."""
    if analysis.language != "en":  # what joins clauses is known for English alone
        return ()
    text = glued(analysis.search_text)
    separate = tuple(map(unglued, clauses(text)))
    members = (
        _with_context(separate, profile) if separate else _with_topic(compared(text), profile) or _listed(text, profile)
    )
    if not 2 <= len(members) <= _MOST:
        return ()
    own = []
    for member in members:
        others = [other.question if separate else other.text for other in members if other is not member]
        own.append(_distinguishing(member.text, others, profile))
    if not (any(own) if separate else all(own)):
        return ()
    sub_questions = []
    for member, groups in zip(members, own, strict=True):
        asked = replace(analysis.question, text=member.question)
        part = analyse(asked, profile=profile, settings=settings, language=analysis.language)
        part = replace(part, document_types=analysis.document_types, types_asked=analysis.types_asked)
        sub_questions.append(SubQuestion(member.text, part, groups, clause=bool(separate)))
    return tuple(sub_questions)


def _with_context(questions: Sequence[str], profile: Profile) -> tuple[Member, ...]:
    """Add the topic of the first clause to later clauses that name none: `when is it harvested, canola`."""
    topics = _topics(questions[0], profile)
    context = topics or _content(questions[0])
    members = [Member(questions[0], questions[0])]
    for clause in questions[1:]:
        needed = () if _topics(clause, profile) else context if _PRONOUN.search(clause) else topics
        members.append(Member(clause, f"{clause}, {' '.join(needed)}" if needed else clause))
    return tuple(members)


def _with_topic(members: Sequence[Member], profile: Profile) -> tuple[Member, ...]:
    """Add the shared topic to members without it: `swathing` of `swathing or straight-cutting canola` gets `canola`."""
    topics = list(dict.fromkeys(topic for member in members for topic in _values(member.text, profile)))
    return tuple(
        member if _values(member.question, profile) else Member(member.text, " ".join([member.question, *topics]))
        for member in members
    )


def _topics(text: str, profile: Profile) -> list[str]:
    """Return the entities and the values of presumed facets that a text names, each once."""
    return list(dict.fromkeys([*(entity.text for entity in entities(text)), *_values(text, profile)]))


def _values(text: str, profile: Profile) -> list[str]:
    """Return the words of a text that name a value of a presumed facet, as written."""
    return [text[start:end] for facet in profile.facets if facet.presumed for start, end, _ in value_spans(facet)(text)]


def _content(text: str) -> list[str]:
    return [match[0] for match in _WORD.finditer(text) if fold(match[0]) not in FUNCTION_WORDS]


def _distinguishing(name: str, others: Sequence[str], profile: Profile) -> tuple[tuple[Entity, ...], ...]:
    """Return what only this sub-question names, each with its synonyms: facet values, or else its own content words."""
    rest = " / ".join(others)
    if (particular := _particular(name)) is not None:
        return ((particular,),)
    presumed = [facet for facet in profile.facets if facet.presumed]
    for facet in presumed:
        values = [value for value in mentioned_values(facet, name) if value not in mentioned_values(facet, rest)]
        if values and all(mentioned_values(facet, other) for other in others):
            return tuple(tuple(map(name_entity, value.words())) for value in values)
    known = {singular(fold(word)) for word in _content(rest)}
    own = [word for word in dict.fromkeys(_content(name)) if singular(fold(word)) not in known]
    # `Swathing or straight-cutting canola`: both are about canola, so it does not distinguish them.
    words = [word for word in own if not any(value_spans(facet)(word) for facet in presumed)] or own
    synonyms = synonyms_of(profile.facets, profile.synonyms)
    return tuple(tuple(map(name_entity, (word, *synonyms.get(singular(fold(word)), ())))) for word in words)


def _particular(name: str) -> Entity | None:
    """Return a year, a code or a numbered name as a single entity, else None: `47` alone does not identify `Lot 47`."""
    words = tuple(map(singular, fold(name).split()))
    if len(words) > 3 or not any(character.isdigit() for character in words[-1]):
        return None
    if len(words) > 1:
        return Entity(name, EntityKind.NAME, words)
    return Entity(name, EntityKind.YEAR if re.fullmatch(r"\d{4}", name) else EntityKind.CODE, words)


def _listed(text: str, profile: Profile) -> tuple[Member, ...]:
    """Return the question once for each item of a list (`for canola and wheat`, `on Lots 47 and 112`), or ()."""
    if numbered := _NUMBERED.search(text):
        numbers = re.split(r"\s*,?\s+and\s+|\s*,\s+", numbered["numbers"])
        return tuple(_replaced(text, numbered.span(), f"{numbered['head']} {number}") for number in numbers)
    for facet in profile.facets:
        if run := _run(text, list(value_spans(facet)(text)), combined_by=facet.combined_by):
            return run
    return _run(text, list(_particulars(text)), combined_by=())


def _run(
    text: str, spans: Sequence[tuple[int, int, str]], *, combined_by: Sequence[re.Pattern[str]]
) -> tuple[Member, ...]:
    """Return the members of the first list of different things among the spans; () when there is none."""
    for index in range(len(spans)):
        run, starts = [spans[index]], [spans[index][0]]
        for following in spans[index + 1 :]:
            joint = _BETWEEN.fullmatch(text, run[-1][1], following[0])
            if joint is None:
                break
            run.append(following)
            starts.append(joint.start("own"))
            if joint["last"]:
                whole = (run[0][0], run[-1][1])
                if _is_one_thing(text, whole, combined_by) or len({value for _, _, value in run}) < len(run):
                    break
                return tuple(
                    _replaced(text, whole, text[start:end].strip())
                    for start, (_, end, _) in zip(starts, run, strict=True)
                )
    return ()


def _is_one_thing(text: str, span: tuple[int, int], combined_by: Sequence[re.Pattern[str]]) -> bool:
    behind = fold(text[span[1] :]).lstrip().removeprefix("-").lstrip()
    return (
        _ONE_BEFORE.search(text[: span[0]]) is not None
        or _ONE_AFTER.match(text, span[1]) is not None
        or any(pattern.match(behind) for pattern in combined_by)
    )


def _replaced(text: str, span: tuple[int, int], member: str) -> Member:
    bare = re.sub(r"^(?:(?:for|in|on|of|the|an?)\s+)+", "", member, flags=re.IGNORECASE)
    if before := text[: span[0]].split()[-1:]:
        bare = bare.removeprefix(f"{before[0]} ")  # `for storing corn and for storing wheat`
    return Member(unglued(bare), unglued(f"{text[: span[0]]}{bare}{text[span[1] :]}"))


@lru_cache(maxsize=64)
def value_spans(facet: Facet) -> Callable[[str], tuple[tuple[int, int, str], ...]]:
    """Return a function that finds the words of a facet in a text, each as (start, end, value)."""
    value_of = {fold(name): name for name in facet.others} | {
        fold(word): value.name for value in facet.values for word in (value.name, *value.synonyms, *value.keywords)
    }
    longest_first = sorted(value_of, key=lambda word: (-len(word), word))
    pattern = re.compile(rf"(?<!\w)({'|'.join(map(re.escape, longest_first))})(?:e?s)?(?!\w)", re.IGNORECASE)

    def find(text: str) -> tuple[tuple[int, int, str], ...]:
        if not value_of:
            return ()
        matches = ((match.start(), match.end(), value_of.get(fold(match[1]))) for match in pattern.finditer(text))
        return tuple((start, end, value) for start, end, value in matches if value is not None)

    return find


def _particulars(text: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, folded text) of codes, numbered names, names after `of`, and with `each` of all entities."""
    plain = unglued(text)
    each = _EACH.search(text) is not None
    end = 0
    in_list = False
    for entity in entities(plain):
        start = plain.find(entity.text, end)
        end = start + len(entity.text)
        numbered = entity.kind is EntityKind.CODE or (entity.kind is EntityKind.NAME and entity.words[-1][0].isdigit())
        name = (
            entity.kind is EntityKind.NAME
            and _PLAIN_NAME.fullmatch(entity.text)
            and _ENDS_A_NAME.match(text, end) is not None
        )
        in_list = bool(name) and (in_list or _OF.search(text[:start]) is not None)
        if each or numbered or in_list:
            yield start, end, fold(entity.text)
