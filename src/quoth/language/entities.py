"""Names, years, dates, codes and quoted names: the particular things that a question presumes to exist."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import groupby

from quoth.text.abbreviations import NEVER_LAST
from quoth.text.fold import fold, singular
from quoth.text.quantities import quantities
from quoth.text.units import UNITS
from quoth.text.words import FUNCTION_WORDS
from quoth.types import Entity, EntityKind, Span

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
_SENTENCE_START = re.compile(r"(?:[.?!:;]\s+|[\"“(]\s*)$")
_LAST_WORD = re.compile(r"(\w+)\.\s+$")
_NUMBER_AFTER = re.compile(r"\s(?:No\.\s)?(?P<number>\d+(?:\.\d+)*)(?![\w%°$/-]|,\d)")
_ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
)
_DERIVED = r"ese|ans?|i\w{1,5}|e[drs]|ors?"
"""Endings of words made from a name that lost its last letter."""
_JOINERS = frozenset({"of", "de", "la", "von", "van"})
_NO_NAMES = FUNCTION_WORDS | NEVER_LAST | UNITS.keys() - {"second"}
_SMALL_IN_TITLES = frozenset("a an and as at but by for from in of on or the to with".split())
_NEAR = 160
"""How far apart, in characters, the words of one mention may stand."""


def entities(question: str) -> tuple[Entity, ...]:
    """The particular things a question presumes, in order, each text once."""
    taken: list[Span] = [one.span for one in quantities(question)]
    found: list[tuple[int, Entity]] = []
    for read in (_dates, _years, _quoted, _codes, _names):
        for span, entity in read(question):
            if all(span.end <= other.start or other.end <= span.start for other in taken):
                taken.append(span)
                found.append((span.start, entity))
    ordered = sorted(found, key=lambda one: one[0])
    return tuple({fold(entity.text): entity for _, entity in reversed(ordered)}.values())[::-1]


def _dates(question: str) -> Iterator[tuple[Span, Entity]]:
    for match in _DATE.finditer(question):
        month, day = match["month"] or match["month2"], match["day"] or match["day2"]
        year = match["year"] or match["year2"]
        words = (fold(month)[:3], str(int(day)), *([year] if year else []))
        yield Span(match.start(), match.end()), Entity(match[0], EntityKind.DATE, words)
    for match in _ISO_DATE.finditer(question):
        words = (_MONTHS[int(match["month"]) - 1][:3], str(int(match["day"])), match["year"])
        yield Span(match.start(), match.end()), Entity(match[0], EntityKind.DATE, words)


def _years(question: str) -> Iterator[tuple[Span, Entity]]:
    for match in _YEAR.finditer(question):
        yield Span(match.start(), match.end()), Entity(match[0], EntityKind.YEAR, (match[0],))


def _quoted(question: str) -> Iterator[tuple[Span, Entity]]:
    for match in _QUOTED.finditer(question):
        words = tuple(word for word in re.findall(r"[\w.-]*\w", fold(match["inside"])) if word not in FUNCTION_WORDS)
        if words:
            yield Span(match.start(), match.end()), Entity(match["inside"], EntityKind.QUOTED, words)


def _codes(question: str) -> Iterator[tuple[Span, Entity]]:
    for match in _CODE.finditer(question):
        yield Span(match.start(), match.end()), Entity(match[0], EntityKind.CODE, (fold(match[0]),))


def _names(question: str) -> Iterator[tuple[Span, Entity]]:
    """Runs of capitalised words. Where all words are capitalised, as in a title, capitals tell nothing."""
    words = list(_WORD.finditer(question))
    if _is_title([word[0] for word in words]):
        return
    for _, run in groupby(_runs(question, words), key=lambda one: one[0]):
        yield from _name([match for _, match in run], question)


def _is_title(words: list[str]) -> bool:
    """Whether capitals are only a way of writing: on many words at once, or even on `Should` and `Be`."""
    content = [word for word in words if fold(word) not in FUNCTION_WORDS]
    if len(content) >= 5 and all(word[0].isupper() for word in content):
        return True
    large = [word for word in words if fold(word) not in _SMALL_IN_TITLES]
    return all(word[0].isupper() for word in large) and any(
        word != "I" and fold(word) in FUNCTION_WORDS for word in large[1:]
    )


def _runs(question: str, words: list[re.Match[str]]) -> Iterator[tuple[int, re.Match[str]]]:
    """Each capitalised word with the number of the name it belongs to."""
    number, previous = 0, None
    for match in words:
        if not match[0][0].isupper() or fold(match[0]) in _NO_NAMES:
            continue
        # `Disclosing Party's Confidential Information` holds two names.
        joined = previous and not _ends_a_name(previous)
        if not (joined and previous and question[previous.end() : match.start()].strip(" -") in {"", *_JOINERS}):
            number += 1
        yield number, match
        previous = match


def _ends_a_name(word: re.Match[str]) -> bool:
    """A possessive: what follows is another thing."""
    return word[0].endswith(("'s", "’s", "'", "’"))


def _name(run: list[re.Match[str]], question: str) -> Iterator[tuple[Span, Entity]]:
    if _opens_a_sentence(run[0], question) and not _surely_a_name(run[0][0]):
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
    yield Span(run[0].start(), end), Entity(question[run[0].start() : end], EntityKind.NAME, words)


def _opens_a_sentence(word: re.Match[str], question: str) -> bool:
    before = question[max(0, word.start() - _NEAR) : word.start()]
    title = _LAST_WORD.search(before)
    opens = len(before) < _NEAR and not before.strip()
    return (opens or _SENTENCE_START.search(before) is not None) and not (title and fold(title[1]) in NEVER_LAST)


def _surely_a_name(word: str) -> bool:
    return word.endswith(("'s", "’s")) or any(letter.isupper() for letter in word[1:])


def mentions(text: str, entity: Entity, *, folded: str | None = None) -> bool:
    """Whether a text mentions the entity: all its words, in any form, close together; or its initials.

    `folded` is the folded text, from one who has it at hand: to fold a long document takes a while.
    """
    folded = fold(text) if folded is None else folded
    if entity.kind is EntityKind.CODE:
        return _code_pattern(entity.words[0]).search(folded) is not None
    if (numbered := _numbered_pattern(entity)) is not None:
        return numbered.search(folded) is not None
    patterns = [_word_pattern(word, entity.kind) for word in entity.words]
    rarest = max(range(len(patterns)), key=lambda index: len(entity.words[index]))
    for match in patterns[rarest].finditer(folded):
        nearby = folded[max(0, match.start() - _NEAR) : match.end() + _NEAR]
        if all(pattern.search(nearby) for pattern in patterns):
            return True
    if entity.kind is EntityKind.DATE:
        return _iso_form(folded, entity.words)
    return entity.kind is EntityKind.NAME and (_written_out(folded, entity) or _abbreviated(text, entity))


def is_numbered(entity: Entity) -> bool:
    """Whether a name goes by its number, as `Lot 47` and the `Second Amendment` do: by another it is something else."""
    return entity.kind is EntityKind.NAME and len(entity.words) > 1 and _number_place(entity.words) is not None


def _number_place(words: tuple[str, ...]) -> int | None:
    if words[-1][0].isdigit():
        return len(words) - 1
    return 0 if words[0] in _ORDINALS else None


def _numbered_pattern(entity: Entity) -> re.Pattern[str] | None:
    """The name with its number beside it; `Lots 46 and 47` hold Lot 47, `47 Elm Street` does not."""
    if not is_numbered(entity):
        return None
    if _number_place(entity.words) == 0:
        digits = rf"{_ORDINALS.index(entity.words[0]) + 1}(?:st|nd|rd|th)"
        rest = r"\W+(?:\w+\W+)?".join(_word_pattern(word, EntityKind.NAME).pattern for word in entity.words[1:])
        return re.compile(rf"(?<!\w)(?:{entity.words[0]}|{digits})\W+(?:\w+\W+)?{rest}")
    name = _word_pattern(entity.words[-2], EntityKind.NAME).pattern
    others = r"(?:\d[\w.()-]*(?:,\s?|\s?(?:and|or|to|through|&|-|–)\s?|,\s(?:and|or)\s)){0,6}"
    return re.compile(rf"{name}\w*\W{{1,3}}(?:no\W{{1,2}})?{others}{re.escape(entity.words[-1])}(?![\d]|\.\d)")


def word_occurs(folded: str, word: str, kind: EntityKind) -> bool:
    """Whether a folded text holds one word of an entity, in any form."""
    return _word_pattern(word, kind).search(folded) is not None


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
    """Words that begin so; a last `y` may have become the `ie` of a plural (`City`, `Cities`).

    A short word has to be the `whole` one but for its ending: `Corn` is not in `corner`, nor the 5th in `50`.
    """
    last = "(?:y|ie)" if word.endswith("y") else re.escape(word[-1:])
    after = r"(?:e?s|st|nd|rd|th)?(?!\w)" if whole else ""
    return re.compile(rf"(?<!\w){before}{re.escape(word[:-1])}{last}{after}")


def _stem(word: str) -> str:
    """The part of a name that its other forms share: `Germany` and `German`, `Disclosing` and `Discloser`."""
    for ending in ("ing", "ed"):
        if len(word) > len(ending) + 4 and word.endswith(ending):
            return word.removesuffix(ending)
    return word[:-2] if len(word) >= 7 else word


def _code_pattern(code: str) -> re.Pattern[str]:
    """`v6` is also written `V-6` and `V 6`."""
    loose = r"[-\s]?".join(map(re.escape, re.findall(r"[^\W\d_]+|\d+", code)))
    return re.compile(rf"(?<![^\W_]){loose}(?![^\W_])")


def _iso_form(folded: str, words: tuple[str, ...]) -> bool:
    """`2022-04-01` for `April 1, 2022`; without a year, that day of any."""
    month = 1 + [name[:3] for name in _MONTHS].index(words[0])
    year = words[2] if len(words) == 3 else r"\d{4}"
    return re.search(rf"\b{year}-{month:02}-{int(words[1]):02}\b", folded) is not None


def _written_out(folded: str, entity: Entity) -> bool:
    """`United States Department of Agriculture` for `USDA`."""
    if not (letters := _acronym(entity)):
        return False
    return re.search(r"\b" + r"\w*,?(?:\s(?:of|the|for|and))*[\s-]".join(letters) + r"\w+", folded) is not None


def _abbreviated(text: str, entity: Entity) -> bool:
    """`US` or `U.S.` for `United States`: in capitals, since `us` is another word."""
    letters = _acronym(entity) if len(entity.words) == 1 else "".join(word[0] for word in entity.words)
    if not letters:
        return False
    capitals = letters.upper()
    dotted = r"\.\s?".join(map(re.escape, capitals))  # `U. S.`, but no `A. A fence ...` for two letters
    return re.search(rf"\b(?:{re.escape(capitals)}|{dotted}\.)(?!\w)", text) is not None


def _acronym(entity: Entity) -> str:
    """The letters of a name in capitals (`USDA`, `GMOs`); `Ohio` has none."""
    letters = re.sub(r"[.&]", "", entity.words[0])
    in_capitals = len(entity.words) == 1 and sum(map(str.isupper, entity.text)) >= 2
    return letters if in_capitals and 2 <= len(letters) <= 6 and letters.isalpha() else ""
