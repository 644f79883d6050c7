"""Words: how they are folded for comparison, how many tokens they make, and which carry no content.

A folded string has other offsets than its source and is never quoted.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

from quoth.types import unbroken

_MARKS = re.compile(r"[\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff\ufe20-\ufe2f]+")
# Letters that are variants of a plain one but do not decompose to it.
_PLAIN = str.maketrans(
    {"ı": "i", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "’": "'", "‘": "'", "‐": "-", "‑": "-"}
)


def fold(text: str) -> str:
    """Return `text` without case, accents and typographic variants: `Eskişehir` becomes `eskisehir`."""
    text = unbroken(text)
    if text.isascii():
        return text.casefold()
    return _MARKS.sub("", unicodedata.normalize("NFKD", text).casefold().translate(_PLAIN))


Compounds = tuple[tuple[str, str], ...]
"""Pairs of words with the one word that means the same and is shorter: `("set back", "setback")`."""


def joined_compounds(text: str, compounds: Compounds) -> str:
    """Return `text` with each compound as one word, filled up with spaces so that no offset changes."""
    for words, joined in compounds:
        text = text.replace(f" {words} ", f" {joined} ".ljust(len(words) + 2))
    return text


@lru_cache(maxsize=65_536)
def singular(word: str) -> str:
    """Return a folded word without its plural or possessive ending; crude, but equal on both sides of a comparison."""
    word = word.removesuffix("'s").removesuffix("'")
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "y"
    if len(word) > 4 and word.endswith(("ses", "xes", "zes", "ches", "shes", "oes")):
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def listed(texts: Sequence[str], joint: str) -> str:
    """Return `texts` as a list for people; with the joint `and`: `a, b and c`."""
    return f" {joint} ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


FUNCTION_WORDS = word_set("""
    a about above according across after again against all almost along already also although always am among an and
    another any anyone anything are aren't around as at away be became because become becomes been before being below
    besides between both but by can can't cannot could couldn't did didn't do does doesn't doing don't done down during
    each either else enough especially etc even ever every everyone everything for from further generally given had
    hadn't has hasn't have haven't having he hence her here hers herself him himself his how however i i'm if in indeed
    instead into is isn't it it's its itself just kind kinds least less let like likely made mainly make makes many may
    maybe me might mine more most mostly much must my myself near need needs neither never no nobody none nor not
    nothing now of off often on once one ones only onto or other others otherwise ought our ours ourselves out over own
    per perhaps please quite rather really regarding said same say says shall she should shouldn't since so some
    somehow someone something sometimes somewhat still such than that that's the their theirs them themselves then
    there there's thereby therefore these they they're this those though through throughout thus to together too toward
    towards type types typically under unless until up upon us use used uses using usually various very via was wasn't
    we were weren't what what's whatever when whenever where whereas whereby wherein whether which whichever while who
    who's whoever whole whom whose why will with within without won't would wouldn't yes yet you you're your yours
    yourself
    describe explain list name give tell show state define discuss compare identify summarize summarise find provide
    mention mentions mentioned mean means called
""")

POLAR_OPENERS = word_set("am are can could did do does had has have is may might must shall should was were will would")
CONDITIONALS = word_set("if when whenever suppose assuming given unless provided with")

CONTRACTIONS = {
    "can't": "cannot",
    "won't": "will not",
    **{f"{word}'s": f"{word} is" for word in ("what", "who", "where", "when", "how", "that", "there", "it")},
    **{"n't": " not", "'re": " are", "'ve": " have", "'ll": " will", "i'm": "i am", "'d": " would"},
}

FIXED_PAIRS = word_set("""
    advantages/disadvantages arts/crafts assets/liabilities back/forth bed/breakfast benefits/drawbacks black/white
    checks/balances command/control conditions/restrictions copy/paste costs/benefits covenants/conditions
    covenants/restrictions cut/fill day/night dos/don'ts ebb/flow fair/equitable food/beverage food/drink full/final
    give/take goods/services health/safety heating/cooling hide/seek hopes/fears husband/wife in/out income/expenditure
    law/order loss/damage lost/found mergers/acquisitions name/address null/void nuts/bolts odds/ends pain/suffering
    parts/labor parts/labour peace/quiet pick/choose policies/procedures profit/loss pros/cons push/pull pushes/pulls
    questions/answers rank/file representations/warranties research/development restaurants/bars rights/duties
    rights/obligations risks/benefits rock/roll room/board rules/regulations sales/marketing salt/pepper
    science/technology search/rescue storage/handling strengths/weaknesses supply/demand terms/conditions time/materials
    track/field trial/error up/down ups/downs wear/tear weights/measures
""")
"""`A/B` for words that make one expression with `and` between them: not two subjects."""

_TOKEN = re.compile(r"[^\W\d_]+|\d{1,3}|[^\w\s]|_")
_WHOLE_WORD = 8
"""A word counts as one token for every so many letters that it has, or has begun."""


def count_tokens(text: str) -> int:
    """Return the estimated number of tokens of `text`, the same for every model.

    On English prose it is within a tenth of what MiniLM's own tokenizer counts. Passages must not depend on a model.
    """
    return sum(1 + (len(token) - 1) // _WHOLE_WORD for token in _TOKEN.findall(text))
