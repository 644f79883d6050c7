"""Companions: the sentences without which a quote would mislead, because they take it back or say what it is about."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from quoth.text.quantities import quantities
from quoth.types import RegionKind, Sentence

Neighbours = Callable[[Sentence], tuple[Sentence | None, Sentence | None]]
"""Gives the sentence before and the one after."""


def _any(words: str) -> str:
    """A pattern for any of the words; `_` stands for a space."""
    return "(?:" + "|".join(word.replace("_", r"\s") for word in words.split()) + ")"


_RULE = _any(
    "rules? limits? requirements? restrictions? provisions? prohibitions? exemptions? allowances? maximum minimum ban"
    " thresholds? duty obligations? rates? deadlines? standards? covenants? permissions? recommendations?"
)
_POINTED = rf"(?:th(?:is|ese|ose|at)|such|the\s(?:above|foregoing|preceding|same))\s(?:[a-z]+\s){{0,2}}{_RULE}"
_NOT_APPLY = r"(?:does|do|did|shall|will|need)\snot\s(?:\w+\s)?apply|(?:is|are)\s(?:waived|relaxed|suspended)"
# A sentence that opens so takes back or narrows the one before it.
_TAKES_BACK = re.compile(
    r"\W*(?:"
    + _any("nevertheless nonetheless except excepting excluding unless notwithstanding even_so by_way_of_exception")
    + r"\b|however\b(?!\s(?:much|many|long|deep|high|far|small|large|often|little|hard|well)\b)"
    r"|but\b(?!\sfor\b)|yet\b(?!\s(?:another|to|again|more)\b)|still,|that\s(?:being\s)?said\b|having\ssaid\sthat\b"
    r"|provided,?\s(?:that|however)\b|otherwise\b(?!\s(?:healthy|identical|similar|sound|good|normal|equal)\b)"
    r"|(?:(?:an?|the|one|two|three|several|some)\s(?:\w+\s)?)?exceptions?\b"
    r"|(?:th(?:is|at|ese|ose)|it|they|the\s(?:above|foregoing|same))\s(?:does|do|shall|will)\snot\sapply\b"
    rf"|{_POINTED}\s(?:{_NOT_APPLY})"
    r"|in\sno\s(?:case|event)\b|only\s(?:if|where|when)\b|not\s(?:if|where|when)\b"
    r"|nothing\sin\s(?:this|these|the\sforegoing)\s(?:sub)?(?:section|paragraph|article|rule|title|clause|chapter)s?\b"
    r"|[^.;:,]{1,60},\s(?:however|though|on\sthe\sother\shand),\s"
    r")",
    re.IGNORECASE,
)
# Further on, only what names the rule that it is about can be taken for an exception to it.
_TAKES_BACK_LATER = re.compile(
    rf"\b{_POINTED}\b.*\b(?:{_NOT_APPLY}|except|unless|exceeded|exempt|waived)\b"
    rf"|\b(?:exempt|excepted|excused|free)\sfrom\s{_POINTED}\b|\bexceptions?\sto\s{_POINTED}\b",
    re.IGNORECASE | re.DOTALL,
)
_ANNOUNCES = re.compile(
    r"\bexcept(?:ions?)?\b[^.]{0,60}\b(?:below|follow(?:s|ing)?|hereafter|hereinafter)\b"
    r"|\b(?:following|below|these)\s(?:\w+\s)?exceptions?\b|\bsee\s(?:the\s)?exceptions?\b",
    re.IGNORECASE,
)
_NORM = re.compile(r"\b(?:shall|must|may|should|can|cannot|required|prohibited|allowed|permitted)\b", re.IGNORECASE)

_DOCUMENT = _any(
    "agreement contract article section subsection document guide guideline handbook manual chapter amendment"
    " declaration policy study paper review report page book table figure appendix annex schedule exhibit form letter"
    " notice license licence website site version release standard bulletin factsheet publication leaflet lease act"
    " ordinance code year month week season spring summer autumn fall winter morning afternoon evening decade century"
)
_OPINION = _any(
    "advisable advised agreed assumed believed best better clear common critical crucial customary desirable difficult"
    " easier easy essential estimated expected good hard helpful hoped illegal imperative important impossible known"
    " lawful likely mandatory necessary normal noted permissible possible preferable prudent recommended required safe"
    " said suggested tempting thought true understood unlawful unlikely unsafe unwise useful usual vital wise worth"
    " worthwhile"
)
# `It is important to ...` points to what follows; `It rains` to nothing.
_EXPLETIVE = (
    r"it\s(?:(?:is|was|has\sbeen|(?:may|might|can|will|would|should|must)(?:\salso)?\sbe)\s(?:[a-z]+ly\s|not\s|also\s"
    rf"|often\s|now\s|very\s|always\s|still\s|more\s|a\s)*{_OPINION}\s(?:[a-z]+\s)?"
    r"(?:to|that|for|whether|when|if|not|practice)\b"
    r"|(?:seems|appears|follows|happens)\sthat\b|takes\b|took\b|rains\b|rained\b|snows\b|pays\sto\b|helps\sto\b"
    r"|makes\ssense\b|depends\son\b|is\sup\sto\b|is\stime\sto\b|goes\swithout\b)"
)
# A sentence that opens so means nothing without the one before it.
_LOOKS_BACK = re.compile(
    rf"\W*(?:(?!(?i:{_EXPLETIVE}))(?i:it|they|he|she)\b|(?i:its|their|his|her)\b(?=\s\w)"
    r"|(?!(?i:that)\s(?i:said|being|is\sto\ssay|which)\b)(?i:this|that|these|those|such)\b"
    rf"(?!\s[A-Z])(?!\s(?i:{_DOCUMENT}|who|whose|which|wishing|wanting|with|as)\b)"
    r"|(?i:both)\b(?!\s[^.;,]{1,60}\sand\s)"
    r"|(?i:the\s(?:former|latter|above|foregoing|aforementioned|same\s(?:is|are|was|applies|apply|goes|holds|must|may|can)))\b"
    r"|(?i:in\s(?:this|that|such|these|those|either)\s(?:an?\s)?(?:cases?|events?|situations?))\b"
    r"|(?i:"
    + _any("if_so if_not for_this_reason for_these_reasons doing_so doing_this to_do_so to_do_this otherwise")
    + r")\b)"
)
_PROSE = frozenset(
    {RegionKind.PARAGRAPH, RegionKind.QUOTE, RegionKind.LIST_ITEM, RegionKind.FOOTNOTE, RegionKind.CAPTION}
)
_CHAIN = 2
"""How many steps a chain of references, or of exceptions, is followed."""
_AHEAD = 6
"""How many sentences on an exception is looked for that is announced."""
_LONGEST_LIST = 12


def companions_of(sentence: Sentence, neighbours: Neighbours) -> tuple[list[Sentence], list[Sentence]]:
    """What takes the sentence back, in reading order, and what it refers back to, the nearest first."""
    if sentence.kind not in _PROSE:
        return [], []
    return _taken_back(sentence, neighbours), _looked_back_to(sentence, neighbours)


def _looked_back_to(sentence: Sentence, neighbours: Neighbours) -> list[Sentence]:
    found: list[Sentence] = []
    at = sentence
    while len(found) < _CHAIN and _LOOKS_BACK.match(at.text):
        before = neighbours(at)[0]
        if before is None or not _same_thought(before, at):
            break
        found.append(before)
        at = before
    return found


def _taken_back(sentence: Sentence, neighbours: Neighbours) -> list[Sentence]:
    ahead = list(_following(sentence, neighbours, count=_CHAIN))
    if chain := list(_opening_so(ahead)):
        return chain
    if len(ahead) > 1 and _TAKES_BACK_LATER.search(ahead[1].text):
        # What stands between may be the very rule that is meant; then it has to be seen.
        ruling = _NORM.search(ahead[0].text) or quantities(ahead[0].text)
        return ahead[:2] if ruling else ahead[1:2]
    if _ANNOUNCES.search(sentence.text):
        return _announced(sentence, list(_following(sentence, neighbours, count=_AHEAD)))
    if sentence.kind is RegionKind.LIST_ITEM:
        return _after_the_list(sentence, neighbours)
    return []


def _opening_so(ahead: list[Sentence]) -> Iterator[Sentence]:
    for one in ahead:
        if not _TAKES_BACK.match(one.text):
            return
        yield one


def _announced(sentence: Sentence, ahead: list[Sentence]) -> list[Sentence]:
    """The exceptions that a sentence announces: the list that it leads, or the first exception that follows."""
    led = [one for one in ahead if one.lead is not None and one.lead.span == sentence.quote.span]
    return led or [one for one in ahead if _TAKES_BACK.match(one.text)][:1]


def _after_the_list(item: Sentence, neighbours: Neighbours) -> list[Sentence]:
    """An exception right after a list holds for every item of it."""
    for one in _following(item, neighbours, count=_LONGEST_LIST):
        if one.kind is not RegionKind.LIST_ITEM:
            return [one] if _TAKES_BACK.match(one.text) else []
    return []


def _following(sentence: Sentence, neighbours: Neighbours, *, count: int) -> Iterator[Sentence]:
    """Up to `count` sentences that go on in the same section, in reading order."""
    at = sentence
    for _ in range(count):
        after = neighbours(at)[1]
        if after is None or not _same_thought(at, after):
            return
        yield after
        at = after


def _same_thought(first: Sentence, second: Sentence) -> bool:
    return first.section == second.section and first.kind in _PROSE and second.kind in _PROSE
