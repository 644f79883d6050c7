"""Names, years, dates, codes and quoted names: the particular things that a question presumes to exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import lru_cache

from quoth.language.conventions import conventions
from quoth.language.names import dated, inflected, names_and_dates
from quoth.language.numbering import ORDINALS
from quoth.language.quantities import UNITS, quantities
from quoth.language.rarity import is_english
from quoth.language.words import FUNCTION_WORDS, GERMAN_WORDS, NEVER_LAST, fold, singular
from quoth.types import Entity, EntityKind

_MONTHS = ("january february march april may june july august september october november december").split()
_MONTH = "|".join([*_MONTHS, *(month[:3] for month in _MONTHS), "sept"])
_DATE = re.compile(
    rf"\b(?:(?P<month>{_MONTH})\.?\s(?P<day>\d{{1,2}})(?:st|nd|rd|th)?(?:,?\s(?P<year>\d{{4}}))?"
    rf"|(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?\s(?:of\s)?(?P<month2>{_MONTH})\.?(?:,?\s(?P<year2>\d{{4}}))?)\b",
    re.IGNORECASE,
)
_ISO_DATE = re.compile(r"(?<![\w-])(?P<year>\d{4})-(?P<month>0[1-9]|1[0-2])-(?P<day>0[1-9]|[12]\d|3[01])(?![\w-])")
_YEAR = re.compile(r"(?<![\w.,/$€£-])(?:1[5-9]|20)\d\d(?![\w%/]|[.,-]\d)")
_QUOTED = re.compile(r"[\"“„«](?P<inside>[^\"“”„«»]{2,80})[\"”«»]")
# Letters and digits in one word (`V6`, `MON-810`), or numbers joined by hyphens (`11-52-0`, `2021-014`); not `20th`,
# not `1990s`, not the range `5-10`.
_CODE = re.compile(
    r"(?<![\w-])(?!\d+(?:st|nd|rd|th|s)\b)(?=[\w-]*\d)"
    r"(?:(?=[\w-]*[A-Za-z])[A-Za-z0-9]+(?:-[A-Za-z0-9]+)*|\d+(?:-\d+){2,}|\d+-0\d+)(?![\w-])"
)
_WORD = re.compile(r"(?<!\w)[^\W\d_][\w&]*(?:['’.&][^\W\d_]+)*['’]?")
_SENTENCE_START = re.compile(r"(?:[.?!:;]\s+|[\"“(¿¡]\s*)$")
_LAST_WORD = re.compile(r"(\w+)\.\s+$")
_NUMBER_AFTER = re.compile(r"\s(?:No\.\s)?(?P<number>\d+(?:\.\d+)*)(?![\w%°$/-]|,\d)")
_ORDINALS = ORDINALS[1:13]
_DERIVED = r"ese|ans?|i\w{1,5}|e[drs]|ors?"
"""Endings of words made from a name that lost its last letter."""
_JOINERS = frozenset({"of", "de", "la", "von", "van"})
_NO_NAMES = FUNCTION_WORDS | NEVER_LAST | UNITS.keys() - {"second"}
_SMALL_IN_TITLES = frozenset("a an and as at but by for from in of on or the to with".split())
ENGLISH_ALONE = ("en",)
_NEAR = 160
"""How far apart, in characters, the words of one mention may stand."""


def entities(question: str, language: str | None = None) -> tuple[Entity, ...]:
    """Return the particular things that a question presumes, in order, each text once.

    `language` is the question's; without one it is taken for English.
    """
    rules = conventions(language)
    taken = [(quantity.span.start, quantity.span.end) for quantity in quantities(question, language)]
    spans: dict[int, Entity] = {}
    found = (*_marked(question), *_names(question)) if rules.english else names_and_dates(question, rules)
    for (start, end), entity in found:
        if all(end <= other_start or other_end <= start for other_start, other_end in taken):
            taken.append((start, end))
            spans[start] = entity
    ordered = [spans[start] for start in sorted(spans, reverse=True)]
    return tuple({fold(entity.text): entity for entity in ordered}.values())[::-1]


def _marked(question: str) -> Iterator[tuple[tuple[int, int], Entity]]:
    """Yield the dates, then the years, the quoted names and the codes, each with its start and end."""
    for match in _DATE.finditer(question):
        month, day = match["month"] or match["month2"], match["day"] or match["day2"]
        year = match["year"] or match["year2"]
        words = (fold(month)[:3], str(int(day)), *([year] if year else []))
        yield match.span(), Entity(match[0], EntityKind.DATE, words)
    for match in _ISO_DATE.finditer(question):
        words = (_MONTHS[int(match["month"]) - 1][:3], str(int(match["day"])), match["year"])
        yield match.span(), Entity(match[0], EntityKind.DATE, words)
    for match in _YEAR.finditer(question):
        yield match.span(), Entity(match[0], EntityKind.YEAR, (match[0],))
    for match in _QUOTED.finditer(question):
        words = tuple(word for word in re.findall(r"[\w.-]*\w", fold(match["inside"])) if word not in FUNCTION_WORDS)
        if words:
            yield match.span(), Entity(match["inside"], EntityKind.QUOTED, words)
    for match in _CODE.finditer(question):
        yield match.span(), Entity(match[0], EntityKind.CODE, (fold(match[0]),))


def _names(question: str) -> Iterator[tuple[tuple[int, int], Entity]]:
    """Yield runs of capitalised words, unless capitals are no sign of a name: in a title, in capitals, in German."""
    words = list(_WORD.finditer(question))
    if not _is_title([word[0] for word in words]) and not question.isupper() and not _is_german(question, words):
        for run in _runs(question, words):
            yield from _name(run, question)


def _is_title(words: list[str]) -> bool:
    """Return whether capitals are only a style: on many words at once, or even on `Should` and `Be`."""
    content = [word for word in words if fold(word) not in FUNCTION_WORDS]
    if len(content) >= 5 and all(word[0].isupper() for word in content):
        return True
    large = [word for word in words if fold(word) not in _SMALL_IN_TITLES]
    return all(word[0].isupper() for word in large) and any(
        word != "I" and fold(word) in FUNCTION_WORDS for word in large[1:]
    )


def _is_german(question: str, words: list[re.Match[str]]) -> bool:
    return not GERMAN_WORDS.isdisjoint(word[0] for word in words) and not is_english(question)


def _runs(question: str, words: list[re.Match[str]]) -> list[list[re.Match[str]]]:
    """Return the capitalised words of each name."""
    runs: list[list[re.Match[str]]] = []
    for match in words:
        if not match[0][0].isupper() or fold(match[0]) in _NO_NAMES:
            continue
        last = runs[-1][-1] if runs else None
        # `Disclosing Party's Confidential Information` holds two names.
        if last and not _ends_a_name(last) and question[last.end() : match.start()].strip(" -") in {"", *_JOINERS}:
            runs[-1].append(match)
        else:
            runs.append([match])
    return runs


def _ends_a_name(word: re.Match[str]) -> bool:
    """Return whether a word is a possessive: what follows is another thing."""
    return word[0].endswith(("'s", "’s", "'", "’"))


def _name(run: list[re.Match[str]], question: str) -> Iterator[tuple[tuple[int, int], Entity]]:
    first = run[0][0]
    surely = first.endswith(("'s", "’s")) or any(letter.isupper() for letter in first[1:])
    if _opens_a_sentence(run[0], question) and not surely:
        # The first word of a sentence is capitalised anyway; only the words after it make a name.
        run = run[1:]
    if not run:
        return
    end = run[-1].end()
    words = tuple(singular(fold(match[0])) for match in run)
    number = _NUMBER_AFTER.match(question, end) if not _ends_a_name(run[-1]) else None
    if number and not _YEAR.fullmatch(number["number"]):
        # `Lot 305` is another lot than 47.
        words, end = (*words, number["number"]), number.end()
    yield (run[0].start(), end), Entity(question[run[0].start() : end], EntityKind.NAME, words)


def _opens_a_sentence(word: re.Match[str], question: str) -> bool:
    before = question[max(0, word.start() - _NEAR) : word.start()]
    title = _LAST_WORD.search(before)
    opens = len(before) < _NEAR and not before.strip()
    return (opens or _SENTENCE_START.search(before) is not None) and not (title and fold(title[1]) in NEVER_LAST)


def mentions(
    text: str, entity: Entity, *, folded: str | None = None, languages: tuple[str, ...] = ENGLISH_ALONE
) -> bool:
    """Return whether a text mentions the entity: all its words in any form, close together, or its initials.

    `folded` is the folded text, if the caller has it: folding a long document takes time. `languages` are those that
    the question or the text may be in.
    """
    folded = fold(text) if folded is None else folded
    if languages != ENGLISH_ALONE and _mentions_abroad(folded, entity, languages):
        return True
    if entity.kind is EntityKind.CODE:
        # `v6` is also written `V-6` and `V 6`.
        parts = re.findall(r"[^\W\d_]+|\d+", entity.words[0])
        loose = r"[-\s]?".join(map(re.escape, parts))
        return all(part in folded for part in parts) and re.search(rf"(?<![^\W_]){loose}(?![^\W_])", folded) is not None
    if is_numbered(entity):
        last = entity.words[-1]
        needed = last if last[0].isdigit() else _beginning(last, EntityKind.NAME)
        return needed in folded and _numbered_pattern(entity.words).search(folded) is not None
    for match in _forms(max(entity.words, key=len), entity.kind, folded):
        nearby = folded[max(0, match.start() - _NEAR) : match.end() + _NEAR]
        if all(_occurs(word, entity.kind, nearby) for word in entity.words):
            return True
    if entity.kind is EntityKind.DATE:
        return _iso_form(folded, entity.words)
    return entity.kind is EntityKind.NAME and (_written_out(folded, entity) or _abbreviated(text, entity))


def _mentions_abroad(folded: str, entity: Entity, languages: tuple[str, ...]) -> bool:
    """Return whether a folded text mentions a name or a date in the way of languages other than English."""
    if entity.kind is EntityKind.DATE:
        return any(
            len(entity.words) < 3 or entity.words[2] in folded[max(0, found.start() - _NEAR) : found.end() + _NEAR]
            for found in dated(entity.words[0], entity.words[1], languages).finditer(folded)
        )
    if entity.kind is EntityKind.YEAR:
        return re.search(rf"(?<![0-9]){entity.words[0]}(?![0-9])", folded) is not None
    if entity.kind is not EntityKind.NAME or not entity.words:
        return False
    patterns = [inflected(word, languages) for word in entity.words]
    longest = max(range(len(patterns)), key=lambda at: len(entity.words[at]))
    return any(
        all(pattern.search(folded, max(0, found.start() - _NEAR), found.end() + _NEAR) for pattern in patterns)
        for found in patterns[longest].finditer(folded)
    )


def is_numbered(entity: Entity) -> bool:
    """Return whether a name is identified by its number, as `Lot 47` and the `Second Amendment` are."""
    first, last = entity.words[0], entity.words[-1]
    return entity.kind is EntityKind.NAME and len(entity.words) > 1 and (last[0].isdigit() or first in _ORDINALS)


@lru_cache(maxsize=1_024)
def _numbered_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    """Return a pattern for a name and its number: Lot 47 is in `Lots 46 and 47`, not in `47 Elm Street`."""
    *names, last = (_word_pattern(word, EntityKind.NAME).pattern for word in words)
    if not words[-1][0].isdigit():
        digits = rf"{_ORDINALS.index(words[0]) + 1}(?:st|nd|rd|th)"
        rest = r"\W+(?:\w+\W+)?".join((*names[1:], last))
        return re.compile(rf"(?<!\w)(?:{words[0]}|{digits})\W+(?:\w+\W+)?{rest}")
    others = r"(?:\d[\w.()-]*(?:,\s?|\s?(?:and|or|to|through|&|-|–)\s?|,\s(?:and|or)\s)){0,6}"
    return re.compile(rf"{names[-1]}\w*\W{{1,3}}(?:no\W{{1,2}})?{others}{re.escape(words[-1])}(?![\d]|\.\d)")


def word_occurs(folded: str, word: str, kind: EntityKind, *, languages: tuple[str, ...] = ENGLISH_ALONE) -> bool:
    """Return whether a folded text holds one word of an entity, in any form."""
    if languages != ENGLISH_ALONE and inflected(word, languages).search(folded):
        return True
    return _occurs(word, kind, folded)


def _occurs(word: str, kind: EntityKind, folded: str) -> bool:
    return next(_forms(word, kind, folded), None) is not None


def _forms(word: str, kind: EntityKind, folded: str) -> Iterator[re.Match[str]]:
    """Yield the forms of a word in a folded text, in order.

    The pattern is tried where the word may begin: a search for it would try every character of a whole document.
    """
    pattern, beginning = _word_pattern(word, kind), _beginning(word, kind)
    if not beginning:
        yield from pattern.finditer(folded)
        return
    at = folded.find(beginning)
    while at >= 0:
        after_zero = at > 0 and folded[at - 1] == "0"
        if match := pattern.match(folded, at - after_zero):
            yield match
        at = folded.find(beginning, at + 1)


def _beginning(word: str, kind: EntityKind) -> str:
    """Return the letters with which `_word_pattern` begins, but for a zero before them."""
    if kind is EntityKind.YEAR:
        return word[:3]
    if kind is EntityKind.DATE and not word.isdigit():
        return word
    if kind is EntityKind.NAME:
        return _stem(word)[:-1]
    return singular(word)[:-1]


@lru_cache(maxsize=4_096)
def _word_pattern(word: str, kind: EntityKind) -> re.Pattern[str]:
    if kind is EntityKind.NAME and 5 <= len(word) <= 6:
        # `Italy` and `Italian`, `China` and `Chinese`; but no `Maine` in `main`, no mango in `manganese`.
        return re.compile(
            rf"(?:{_prefix(word, whole=False).pattern}|(?<!\w){re.escape(word[:-1])}(?:{_DERIVED})(?!\w))"
        )
    if kind is EntityKind.NAME:
        return _prefix(_stem(word), whole=len(word) <= 4)
    if kind is EntityKind.YEAR:
        return re.compile(rf"\b(?:{word}|{word[:3]}0s)\b")
    if kind is EntityKind.DATE and not word.isdigit():
        return re.compile(rf"\b{word}")
    return _prefix(singular(word), before="0?", whole=len(word) <= 4)


def _prefix(word: str, *, whole: bool, before: str = "") -> re.Pattern[str]:
    """Return a pattern for words that begin so; a last `y` may have become the `ie` of a plural (`City`, `Cities`).

    A short word must match as a `whole`, but for its ending: `Corn` is not in `corner`, nor the 5th in `50`.
    """
    last = "(?:y|ie)" if word.endswith("y") else re.escape(word[-1:])
    after = r"(?:e?s|st|nd|rd|th)?(?!\w)" if whole else ""
    return re.compile(rf"(?<!\w){before}{re.escape(word[:-1])}{last}{after}")


def _stem(word: str) -> str:
    """Return the part of a name that its other forms share: `Germany` and `German`, `Disclosing` and `Discloser`."""
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 4 and word.endswith(ending):
            return word.removesuffix(ending)
    return word[:-2] if len(word) >= 7 else word


def _iso_form(folded: str, words: tuple[str, ...]) -> bool:
    """Return whether `2022-04-01` stands for `April 1, 2022`; without a year, that day of any year counts."""
    month = 1 + [name[:3] for name in _MONTHS].index(words[0])
    year = words[2] if len(words) == 3 else r"\d{4}"
    return re.search(rf"\b{year}-{month:02}-{int(words[1]):02}\b", folded) is not None


def _written_out(folded: str, entity: Entity) -> bool:
    """Return whether the text spells out an acronym: `United States Department of Agriculture` for `USDA`."""
    letters = _acronym(entity)
    pattern = r"\b" + r"\w*,?(?:\s(?:of|the|for|and))*[\s-]".join(letters) + r"\w+"
    return letters != "" and re.search(pattern, folded) is not None


def _abbreviated(text: str, entity: Entity) -> bool:
    """Return whether the text abbreviates a name: `US` or `U.S.` for `United States`, in capitals only."""
    letters = _acronym(entity) if len(entity.words) == 1 else "".join(word[0] for word in entity.words)
    capitals = letters.upper()
    if not letters or (capitals not in text and f"{capitals[0]}." not in text):
        return False
    dotted = r"\.\s?".join(map(re.escape, capitals))  # `U. S.`, but no `A. A fence ...` for two letters
    return re.search(rf"\b(?:{re.escape(capitals)}|{dotted}\.)(?!\w)", text) is not None


def _acronym(entity: Entity) -> str:
    """Return the letters of a name in capitals (`USDA`, `GMOs`), empty for others such as `Ohio`."""
    letters = re.sub(r"[.&]", "", entity.words[0])
    in_capitals = len(entity.words) == 1 and sum(map(str.isupper, entity.text)) >= 2
    return letters if in_capitals and 2 <= len(letters) <= 6 and letters.isalpha() else ""
