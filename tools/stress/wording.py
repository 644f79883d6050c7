"""Questions as wording: their words, what may be put in or turned round, and what they take for granted."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from quoth.language.words import CONDITIONALS, POLAR_OPENERS, fold, singular
from stress.substitutes import OPPOSITE_PHRASES, OPPOSITES

Change = tuple[str, str, str]
"""The changed question, what was there before, and what is there now."""


def words_of(text: str) -> list[str]:
    return [singular(word) for word in re.findall(r"[^\W_]+(?:['’][^\W\d_]+)?", fold(text))]


def plain_words(question: str) -> list[str]:
    """Words as written, each once, but for those inside a hyphenated one."""
    return list(dict.fromkeys(re.findall(r"(?<![\w-])[^\W\d_]+(?![\w-])", question)))


def replaced(question: str, before: str, after: str) -> str:
    """The question with every `before` replaced; `a` and `an` follow the new word."""

    def put(match: re.Match[str]) -> str:
        article = match["article"]
        if not article:
            opens = match.start() == 0 and match[0][0].isupper()
            return after[0].upper() + after[1:] if opens else after
        right = "an" if re.match(r"(?!uni|eu|one)[aeiou]", after.lower()) else "a"
        return (right.capitalize() if article[0].isupper() else right) + match["gap"] + after

    return re.sub(
        rf"(?<!\w)(?:(?P<article>an?)(?P<gap>\s))?{re.escape(before)}(?!\w)", put, question, flags=re.IGNORECASE
    )


_OPENERS = POLAR_OPENERS | set("what which who whom whose when where why how at by in to for from".split())
_STRANDED = frozenset(
    "about above after against and as at be before below by called do does down due first for from have in into is "
    "like mean of off on onto or out over than that the through to under until up upon with without".split()
)


def with_phrase(question: str, behind: str | None, *, front: str) -> str | None:
    """The question with a phrase at its end, or at its front where the end would not bear it; None if it is none."""
    question = question.strip()
    start = max((match.end() for match in re.finditer(r"[.!?]\s+(?=[A-Z])", question)), default=0)
    before, asked = question[:start], question[start:]
    first, _, rest = asked.partition(" ")
    opener = fold(first).partition("'")[0]
    if opener not in _OPENERS or not rest or not asked.endswith("?"):
        return None
    words = words_of(asked)
    at_end = words[-1] not in _STRANDED and not re.search(r"\b(?:if|,|:|how)\b", rest)
    if behind and at_end:
        return f"{before}{asked.rstrip('?').rstrip()} {behind}?"
    return f"{before}{front} {first[0].lower()}{first[1:]} {rest}"


def opposed(text: str, *, evidence: Collection[str]) -> Iterator[Change]:
    """The text with one word or phrase turned to an opposite, none of whose words the evidence holds."""
    words = [word for word in plain_words(text) if fold(word) in OPPOSITES and not _is_stranded(word, text)]
    pairs = [(word, after) for word in words for after in OPPOSITES[fold(word)] if fold(after) not in evidence]
    pairs += [(before, after) for before, after in OPPOSITE_PHRASES.items() if before in text]
    for before, after in pairs:
        whole = after.capitalize() if before[0].isupper() else after
        yield replaced(text, before, whole), before, whole


def _is_stranded(word: str, question: str) -> bool:
    """A preposition without its object, as in `what is it filled with?`."""
    if word not in {"with", "without", "before", "after", "above", "below", "inside", "outside"}:
        return False
    following = re.search(rf"\b{word}\s+([\w-]+)", question)
    return following is None or (following[1] in _STRANDED and following[1] != "the")


def presumes(question: str) -> bool:
    """Whether a question takes its amounts for granted: not `May it be 12 feet?`, not `What if it is 12 feet?`."""
    return not is_polar(question) and not CONDITIONALS & set(fold(question).split())


def is_polar(question: str) -> bool:
    last = re.split(r"[.!?,]\s+", question.strip())[-1]
    return fold(last).partition(" ")[0] in POLAR_OPENERS


def without_possessive(text: str) -> str:
    return re.sub(r"(?:['’]s?)$", "", text)


def plural(term: str) -> str:
    if term.endswith("s"):
        return term
    if term.endswith("y") and term[-2:-1] not in "aeiou":
        return term[:-1] + "ies"
    return term + ("es" if term.endswith(("o", "x", "ch", "sh", "ss")) else "s")


def is_plural(term: str) -> bool:
    last = fold(term.rsplit(maxsplit=1)[-1])
    return singular(last) != last
