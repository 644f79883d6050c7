"""Find companions: the sentences a quote needs beside it, since they restrict it or name what it refers to."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from itertools import takewhile

from quoth.language.quantities import quantities
from quoth.search.asking_sentences import asks
from quoth.types import RegionKind, Sentence

Neighbours = Callable[[Sentence], tuple[Sentence | None, Sentence | None]]
"""Return the sentences before and after a sentence; None at the ends of its document."""


def _any(words: str) -> str:
    """Return a pattern that matches any of the words; `_` stands for a space."""
    return "(?:" + "|".join(word.replace("_", r"\s") for word in words.split()) + ")"


_RULE = _any(
    "rules? limits? requirements? restrictions? provisions? prohibitions? exemptions? allowances? maximum minimum ban"
    " thresholds? duty obligations? rates? deadlines? standards? covenants? permissions? recommendations?"
)
_POINTED = rf"(?:th(?:is|ese|ose|at)|such|the\s(?:above|foregoing|preceding|same))\s(?:[a-z]+\s){{0,2}}{_RULE}"
_NOT_APPLY = r"(?:does|do|did|shall|will|need)\snot\s(?:\w+\s)?apply|(?:is|are)\s(?:waived|relaxed|suspended)"
# Openings of a sentence that revokes or narrows the sentence before it.
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
# A later sentence counts as an exception only if it refers to the rule.
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
# Here `it` refers to what follows (`It is important to ...`) or to nothing (`It rains`).
_EXPLETIVE = (
    r"it\s(?:(?:is|was|has\sbeen|(?:may|might|can|will|would|should|must)(?:\salso)?\sbe)\s(?:[a-z]+ly\s|not\s|also\s"
    rf"|often\s|now\s|very\s|always\s|still\s|more\s|a\s)*{_OPINION}\s(?:[a-z]+\s)?"
    r"(?:to|that|for|whether|when|if|not|practice)\b"
    r"|(?:seems|appears|follows|happens)\sthat\b|takes\b|took\b|rains\b|rained\b|snows\b|pays\sto\b|helps\sto\b"
    r"|makes\ssense\b|depends\son\b|is\sup\sto\b|is\stime\sto\b|goes\swithout\b)"
)
# Openings of a sentence that cannot be understood without the sentence before it.
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
_REPLIES = re.compile(r"\W*(?:yes|no)\b(?=\W*$|\s*[,;:!–—-]|\.\s+\D)", re.IGNORECASE)
"""The opening of a sentence that says nothing without the question before it; `No. 5` is a number."""
_PROSE = frozenset(
    {RegionKind.PARAGRAPH, RegionKind.QUOTE, RegionKind.LIST_ITEM, RegionKind.FOOTNOTE, RegionKind.CAPTION}
)
_CHAIN = 2
"""The longest chain of references, or of exceptions, in sentences."""
_AHEAD = 6
"""How many sentences are searched for an announced exception."""
_LONGEST_LIST = 12


def companions_of(sentence: Sentence, neighbours: Neighbours) -> tuple[list[Sentence], list[Sentence]]:
    """Return the exceptions to a sentence, in reading order, and the sentences it refers back to, nearest first."""
    if sentence.kind not in _PROSE:
        return [], []
    return _exceptions(sentence, neighbours), _referents(sentence, neighbours)


def _referents(sentence: Sentence, neighbours: Neighbours) -> list[Sentence]:
    chain = [sentence]
    while len(chain) <= _CHAIN:
        replies = _REPLIES.match(chain[-1].text)
        if not replies and not _LOOKS_BACK.match(chain[-1].text):
            break
        before = neighbours(chain[-1])[0]
        if before is None or not _same_thought(before, chain[-1]) or (replies and not asks(before)):
            break
        chain.append(before)
    return chain[1:]


def _exceptions(sentence: Sentence, neighbours: Neighbours) -> list[Sentence]:
    ahead = list(_following(sentence, neighbours, count=_CHAIN))
    if chain := list(takewhile(_takes_back, ahead)):
        return chain
    if len(ahead) > 1 and _TAKES_BACK_LATER.search(ahead[1].text):
        # The sentence in between may be the rule that the exception is for; then it has to be quoted too.
        ruling = _NORM.search(ahead[0].text) or quantities(ahead[0].text)
        return ahead[:2] if ruling else ahead[1:2]
    if _ANNOUNCES.search(sentence.text):
        further = list(_following(sentence, neighbours, count=_AHEAD))
        led = [later for later in further if later.lead is not None and later.lead.span == sentence.quote.span]
        return led or list(filter(_takes_back, further))[:1]
    if sentence.kind is RegionKind.LIST_ITEM:  # what follows the list applies to every item
        items = _following(sentence, neighbours, count=_LONGEST_LIST)
        behind = next((later for later in items if later.kind is not RegionKind.LIST_ITEM), None)
        return [behind] if behind is not None and _takes_back(behind) else []
    return []


def _takes_back(sentence: Sentence) -> bool:
    return _TAKES_BACK.match(sentence.text) is not None


def _following(sentence: Sentence, neighbours: Neighbours, *, count: int) -> Iterator[Sentence]:
    """Yield up to `count` sentences of prose that follow in the same section, in reading order."""
    for _ in range(count):
        after = neighbours(sentence)[1]
        if after is None or not _same_thought(sentence, after):
            return
        yield after
        sentence = after


def _same_thought(first: Sentence, second: Sentence) -> bool:
    return first.section == second.section and first.kind in _PROSE and second.kind in _PROSE
