"""Split a question into its interrogative clauses: `How deep is canola sown, and when is it harvested?` has two."""

from __future__ import annotations

import re
from itertools import islice

from quoth.language.words import FUNCTION_WORDS, POLAR_OPENERS

_WH = frozenset("what when where which who whom whose why how".split())
_PREPOSITIONS = frozenset("after at before by for from in of on since to under until with".split())
_SUBJECTS = frozenset("i we you he she it they there".split())
_DETERMINERS = frozenset("a all an any both each my our the these this your".split())
# The noun after these verbs may not be a subject: `What is red and is a fruit?` is a single question.
_BE_AND_HAVE = frozenset("am are is was were had has have".split())
_REQUEST = re.compile(
    r"(?:please\s+|(?:can|could)\s+you\s+)?(?:describe|explain|list|say|show|state|tell\s+me)\s+", re.IGNORECASE
)
_BOUNDARY = re.compile(r"\?+\s+(?:(?:and|but)\s+)?|[,;]?\s+(?:and|but)\s+(?:also\s+)?|;\s+", re.IGNORECASE)
_WORD = re.compile(r"[\w'’-]+")


def clauses(text: str) -> tuple[str, ...]:
    """Return each interrogative clause as a complete question; () when the question has only one clause.

    A shared lead (`For canola, ...`) is repeated before each. An incomplete phrase takes the rest of the next clause:
    `How big` in `How big and how tall can it be`.
    """
    lead, question = _lead(text)
    request = _REQUEST.match(question)
    split = _split(question[request.end() :] if request else question, embedded=request is not None)
    if len(split) < 2 or any(FUNCTION_WORDS.issuperset(_words(clause)) for clause in split):
        return ()
    return tuple(f"{lead}{clause}" for clause in split)


def _lead(text: str) -> tuple[str, str]:
    """Split off the text up to the comma before the question; drop a lead that ends in a full stop or a colon."""
    for match in re.finditer(r"[,.:]\s+", text):
        before, after = text[: match.end()], text[match.end() :]
        if _opens(before, embedded=False):
            break
        if _opens(after, embedded=False):
            return (before if match[0][0] == "," else ""), after
    return "", text


def _split(body: str, *, embedded: bool) -> list[str]:
    """Split between clauses, if there are two; `embedded` ones are ordered as statements: `Explain what ... is`."""
    split: list[str] = []
    start = 0
    for match in _BOUNDARY.finditer(body):
        left, right = body[start : match.start()].strip(), body[match.end() :]
        if not _goes_on(right, embedded=embedded, new=match[0].startswith("?")):
            continue
        clause = left if _opens(left, embedded=embedded) else None if start else _completed(left, right)
        if clause is None:
            return []
        split.append(clause)
        start = match.end()
    rest = body[start:].strip()
    return [*split, rest] if split and rest else split


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _first_words(text: str) -> list[str]:
    """Return the first ten words in lower case: enough to recognise a question, even in a very long text."""
    return [match[0].lower() for match in islice(_WORD.finditer(text), 10)]


def _without_preposition(words: list[str]) -> list[str]:
    return words[1:] if len(words) > 1 and words[0] in _PREPOSITIONS and words[1] in _WH else words


def _opens(clause: str, *, embedded: bool) -> bool:
    """Return whether a text starts like a complete question; `How big` and `When it rains` do not."""
    words = _without_preposition(_first_words(clause))
    if len(words) < 3:
        return False
    return words[0] in POLAR_OPENERS or (words[0] in _WH and (embedded or _inverted(words)))


def _goes_on(clause: str, *, embedded: bool, new: bool) -> bool:
    """Return whether the text after a boundary is a separate question; `new` if the boundary is a question mark."""
    whole = _first_words(clause)
    words = _without_preposition(whole)
    if len(words) < 2:
        return False
    first, second = words[0], words[1]
    if first in POLAR_OPENERS:
        return second in _SUBJECTS or (second in _DETERMINERS and (new or first not in _BE_AND_HAVE))
    if first in {"what", "which", "whose", "whom"} and not new:
        # Without an auxiliary verb nearby, `and which holds water` may be a relative clause.
        return embedded or len(whole) > len(words) or bool(POLAR_OPENERS & set(words[1:6]))
    return first in _WH and (embedded or len(whole) > len(words) or _inverted(words))


def _inverted(words: list[str]) -> bool:
    """Return whether the words after the question word form a question: `when is it`, not `when it is`."""
    if words[0] in {"when", "where", "why"}:
        return words[1] in POLAR_OPENERS or words[1] == "to"
    if words[0] == "how":
        return words[1] == "to" or bool(POLAR_OPENERS & set(words[1:7]))
    return words[1] not in _WH


def _completed(left: str, right: str) -> str | None:
    """Complete `How big` with the rest of `how tall can a shed be`; None when they do not fit together."""
    words = _words(left)
    verb = next((match for match in _WORD.finditer(right) if match[0].lower() in POLAR_OPENERS), None)
    if verb is None or not 2 <= len(words) <= 4 or words[0] not in _WH or words[0] != _words(right)[0]:
        return None
    return f"{left} {right[verb.start() :]}"
