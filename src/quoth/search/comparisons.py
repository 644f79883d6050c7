"""Find the things that a question compares: `compare X and Y`, `which is better, X or Y`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import takewhile

from quoth.language.words import FIXED_PAIRS, FUNCTION_WORDS

GLUE = "\ue000"
"""Replaces the spaces inside an expression that must not be split: `terms and conditions`."""

_NO_MORE = r"(?!(?:aft|cent|eith|fertiliz|nev|neith|numb|oth|ov|pow|rath|riv|und|wat|wheth|wint|summ)er\b)"
_LATER = rf"{_NO_MORE}\w{{2,}}er(?=\s(?:for|in|on|to|than|at|under)\b|$)"
_MORE = rf"(?:better|worse|best|worst|(?:more|less|most|fewer|greater)(?:\s\w+)?|{_LATER})"
_AUX = r"(?:is|are|was|were|does|do|did|can|will|should|has|have)"
_REST = (
    r"(?P<rest>\s+(?:in\s+terms\s+of|with\s+respect\s+to|regarding|concerning|in|for|on|when|if|under|during|at|by|over"
    r"|after|before|as\s+to)\s.+)?$"
)
_AND = r"(?:and|with|to|against|versus|vs\.?)"
_SPLIT = re.compile(r",\s+(?:and|or)\s+|\s+(?:and|or|versus|vs\.?)\s+|,\s+", re.IGNORECASE)
_FRAMES = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        # `compare X with Y in Z`
        rf"^(?:(?:please|can\syou|could\syou)\s+)?(?:compare|contrast)\s+(?P<a>.+?)\s+{_AND}\s+(?P<b>.+?){_REST}",
        # `what is the difference in W between X and Y in Z`
        r"^.*?\b(?:differences?|distinctions?|similarit(?:y|ies)|comparison)(?P<of>\s+(?:in|of)\s.+?)?\s+between\s+"
        rf"(?P<a>.+?)\s+and\s+(?P<b>.+?){_REST}",
        rf"^.*?\b(?:tell|distinguish|differentiate)\s+(?P<a>.+?)\s+from\s+(?P<b>.+?){_REST}",
        rf"^.*?\b(?:distinguish|differentiate)\s+between\s+(?P<a>.+?)\s+and\s+(?P<b>.+?){_REST}",
        # `how do X and Y compare`, `how does X differ from Y`
        rf"^how\s+{_AUX}\s+(?P<a>.+?)\s+and\s+(?P<b>.+?)\s+(?:compare|differ){_REST}",
        rf"^how\s+{_AUX}\s+(?P<a>.+?)\s+(?:compare\s+(?:to|with)|differ\s+from)\s+(?P<b>.+?){_REST}",
        # `which has to be drier, X or Y`, `which is better for Z: X or Y`
        r"^(?:which|who)\b(?P<of>[^,:]*?)\s*[,:–—-]\s+(?P<a>[^,:]+(?:,\s[^,:]+)*?),?\s+or\s+(?P<b>[^,:]+)(?P<rest>)$",
        rf"^(?:which|who|what)\b(?P<of>[^,:]*\b{_MORE}\b[^,:]*?)\s*[,:–—-]\s+(?P<a>[^,:]+),?\s+or\s+(?P<b>[^,:]+)(?P<rest>)$",
        rf"^which\s+(?:one\s+)?(?:is|are)\s+(?P<of>{_MORE})\s+(?P<a>.+?)\s+or\s+(?P<b>.+?){_REST}",
        # `X or Y: which is better?`, `X or Y: what are the risks of each?`
        r"^(?P<a>[^,:]+?)\s+(?:or|and|versus|vs\.?)\s+(?P<b>[^,:]+?)\s*[:,–—-]\s+"
        rf"(?P<rest>(?:which|what|how)\b.*\b(?:each|both|either|{_MORE})\b.*)$",
        # `is X better than Y for Z`, `is X or Y better for Z`
        rf"^{_AUX}\s+(?P<a>.+?)(?P<of>\s+{_MORE})\s+than\s+(?P<b>.+?){_REST}",
        rf"^{_AUX}\s+(?P<a>.+?)\s+or\s+(?P<b>.+?)(?P<rest>\s+(?:(?:have|has|use|need|give|lead\sto|cost|take|yield|produce"
        rf"|require|make|get|grow|last)s?\s+(?:\w+\s+)?)?{_MORE}\b.*)$",
    )
)
_VERSUS = re.compile(r"\s+(?:versus|vs\.?)\s+", re.IGNORECASE)
_SHARED = re.compile(r"^(?P<shared>.+\s(?:of|for|in|on|to))\s+(?P<own>\S+(?:\s\S+){0,2})$")
_ARTICLE = re.compile(r"^(?:the|an?|both|either)\s+", re.IGNORECASE)
_NOT_A_THING = re.compile(
    r"^(?:other|others|what|whatever|that|those|this|these|it|them|usual|normal|expected|before|ever|not|\d)\b"
    r"|\b(?:what|which|who|when|where|why|how|whether|because)\b",
    re.IGNORECASE,
)
_FIXED = re.compile(r"\b([\w'’]+)\s+and\s+([\w'’]+)", re.IGNORECASE)
_LONGEST = 7
"""Words. A longer phrase between `compare` and `and` is unlikely to name a single thing."""


@dataclass(frozen=True, slots=True)
class Member:
    """An item of a comparison or list: `text` names it, `question` asks about it alone."""

    text: str
    question: str


def glued(text: str) -> str:
    """Replace the spaces of fixed expressions and repeated words (`X and X`) with `GLUE`."""

    def glue(match: re.Match[str]) -> str:
        left, right = match[1].lower(), match[2].lower()
        return match[0].replace(" ", GLUE) if left == right or f"{left}/{right}" in FIXED_PAIRS else match[0]

    return _FIXED.sub(glue, text)


def unglued(text: str) -> str:
    return text.replace(GLUE, " ")


def compared(text: str) -> tuple[Member, ...]:
    """Return the things that a question compares, in the order asked; () when it compares nothing."""
    for frame in _FRAMES:
        if (match := frame.match(text)) is None:
            continue
        groups = match.groupdict(default="")
        listed = [*_SPLIT.split(groups["a"]), groups["b"]]
        if members := _members(listed, of=groups.get("of", ""), rest=groups["rest"]):
            return members
    return _versus(text)


def _members(listed: list[str], *, of: str, rest: str) -> tuple[Member, ...]:
    """Return a member for each listed name; in `the depth of canola` and `wheat`, both get `the depth of`."""
    shared = _SHARED.match(listed[0])
    before = ""
    if shared and not any(len(item.split()) > 2 or _ARTICLE.match(item) for item in listed[1:]):
        before, listed = shared["shared"] + " ", [shared["own"], *listed[1:]]
    names = [_ARTICLE.sub("", item.strip()) for item in listed]
    if not all(map(_is_a_thing, names)):
        return ()
    return tuple(Member(unglued(name), unglued(" ".join(f"{before}{name} {of} {rest}".split()))) for name in names)


def _versus(text: str) -> tuple[Member, ...]:
    """Return the members of `X versus Y` inside another question: up to three content words on either side."""
    segments = _VERSUS.split(text)
    if len(segments) < 2:
        return ()
    first = list(takewhile(_is_content, segments[0].split()[:-4:-1]))[::-1]
    last = list(takewhile(_is_content, segments[-1].split()[:3]))
    names = [" ".join(first), *(name.strip() for name in segments[1:-1]), " ".join(last)]
    if not all(map(_is_a_thing, names)):
        return ()
    before, after = segments[0].split()[: -len(first)], segments[-1].split()[len(last) :]
    return tuple(Member(unglued(name), unglued(" ".join([*before, name, *after]))) for name in names)


def _is_content(word: str) -> bool:
    return word.lower().strip(",") not in FUNCTION_WORDS and not word.endswith((",", ":", ";"))


def _is_a_thing(name: str) -> bool:
    words = unglued(name).lower().split()
    if not words or len(words) > _LONGEST or _NOT_A_THING.search(name):
        return False
    return any(word not in FUNCTION_WORDS and any(map(str.isalpha, word)) for word in words)
