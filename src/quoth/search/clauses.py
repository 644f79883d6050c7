"""Two questions in one: `How deep is canola sown, and when is it harvested?` has two interrogative clauses."""

from __future__ import annotations

import re
from itertools import islice

from quoth.text.words import FUNCTION_WORDS, POLAR_OPENERS

_WH = frozenset("what when where which who whom whose why how".split())
_PREPOSITIONS = frozenset("after at before by for from in of on since to under until with".split())
_SUBJECTS = frozenset("i we you he she it they there".split())
_DETERMINERS = frozenset("a all an any both each my our the these this your".split())
# After these a noun can follow that is no subject: `What is red and is a fruit?` asks one thing.
_BE_AND_HAVE = frozenset("am are is was were had has have".split())
_REQUEST = re.compile(
    r"(?:please\s+|(?:can|could)\s+you\s+)?(?:describe|explain|list|say|show|state|tell\s+me)\s+", re.IGNORECASE
)
_BOUNDARY = re.compile(r"\?+\s+(?:(?:and|but)\s+)?|[,;]?\s+(?:and|but)\s+(?:also\s+)?|;\s+", re.IGNORECASE)
_WORD = re.compile(r"[\w'’-]+")


def clauses(text: str) -> tuple[str, ...]:
    """The interrogative clauses of a question, each as a question of its own; () when it has only one.

    What leads into all of them (`For canola, ...`) stands before each; a phrase that shares the clause of the next one
    (`How big and how tall can it be`) is completed by it.
    """
    lead, asked = _lead(text)
    request = _REQUEST.match(asked)
    body = asked[request.end() :] if request else asked
    found = _split(body, embedded=request is not None)
    if len(found) < 2 or not all(map(_has_content, found)):
        return ()
    return tuple(f"{lead}{one}" for one in found)


def _lead(text: str) -> tuple[str, str]:
    """What comes before the question, up to a comma or a full stop, and the question."""
    for match in re.finditer(r"[,.:]\s+", text):
        before, after = text[: match.end()], text[match.end() :]
        if _opens(before, embedded=False):
            break
        if _opens(after, embedded=False):
            return (before if match[0][0] == "," else ""), after
    return "", text


def _split(body: str, *, embedded: bool) -> list[str]:
    """`embedded` tells that the clauses are asked for (`Explain what ... is`) and keep the order of a statement."""
    found: list[str] = []
    start = 0
    for match in _BOUNDARY.finditer(body):
        left, right = body[start : match.start()].strip(), body[match.end() :]
        if not _goes_on(right, embedded=embedded, new=match[0].startswith("?")):
            continue
        if not _opens(left, embedded=embedded):
            if start == 0 and (whole := _completed(left, right)) is not None:
                found.append(whole)
                start = match.end()
                continue
            return []
        found.append(left)
        start = match.end()
    rest = body[start:].strip()
    return [*found, rest] if found and rest else found


def _words(text: str) -> list[str]:
    return [word.lower() for word in _WORD.findall(text)]


def _first_words(text: str) -> list[str]:
    """As many as tell whether a question begins here: a long text is not read anew for each of its commas."""
    return [match[0].lower() for match in islice(_WORD.finditer(text), 10)]


def _without_preposition(words: list[str]) -> list[str]:
    return words[1:] if len(words) > 1 and words[0] in _PREPOSITIONS and words[1] in _WH else words


def _opens(clause: str, *, embedded: bool) -> bool:
    """Whether a text begins as a question with a verb of its own: not `How big`, not `When it rains`."""
    words = _without_preposition(_first_words(clause))
    if len(words) < 3:
        return False
    return words[0] in POLAR_OPENERS or (words[0] in _WH and (embedded or _inverted(words)))


def _goes_on(clause: str, *, embedded: bool, new: bool) -> bool:
    """Whether a text after a boundary is a question of its own; `new` tells that a question mark ended the last one."""
    whole = _first_words(clause)
    words = _without_preposition(whole)
    if len(words) < 2:
        return False
    first, second = words[0], words[1]
    if first in POLAR_OPENERS:
        return second in _SUBJECTS or (second in _DETERMINERS and (new or first not in _BE_AND_HAVE))
    if first in {"what", "which", "whose", "whom"} and not new:
        # Without a verb in reach, `and which holds water` may only go on about what was named before.
        return embedded or len(whole) > len(words) or bool(POLAR_OPENERS & set(words[1:6]))
    return first in _WH and (embedded or len(whole) > len(words) or _inverted(words))


def _inverted(words: list[str]) -> bool:
    """Whether what follows the question word is a question, not a circumstance: `when is it`, not `when it is`."""
    if words[0] in {"when", "where", "why"}:
        return words[1] in POLAR_OPENERS or words[1] == "to"
    if words[0] == "how":
        return words[1] == "to" or bool(POLAR_OPENERS & set(words[1:7]))
    return words[1] not in _WH


def _completed(left: str, right: str) -> str | None:
    """`How big` with the rest of `how tall can a shed be`; None when they do not fit."""
    words = _words(left)
    verb = next((match for match in _WORD.finditer(right) if match[0].lower() in POLAR_OPENERS), None)
    if verb is None or not 2 <= len(words) <= 4 or words[0] not in _WH or words[0] != _words(right)[0]:
        return None
    return f"{left} {right[verb.start() :]}"


def _has_content(clause: str) -> bool:
    return any(word not in FUNCTION_WORDS for word in _words(clause))
