"""Which language a text is written in, told offline from its script, its words and a small model of letters."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection
from functools import lru_cache
from typing import TYPE_CHECKING

from quoth.errors import ModelError
from quoth.language.rarity import known_english
from quoth.language.words import FUNCTION_WORDS

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

RECOGNITION_VERSION = 1
"""Changes when the same text may be taken for another language, so that an index knows to read it again."""

_BY_SCRIPT = {
    "ARMENIAN": "hy",
    "BENGALI": "bn",
    "ETHIOPIC": "am",
    "GEORGIAN": "ka",
    "GREEK": "el",
    "GUJARATI": "gu",
    "GURMUKHI": "pa",
    "HANGUL": "ko",
    "HEBREW": "he",
    "HIRAGANA": "ja",
    "KANNADA": "kn",
    "KATAKANA": "ja",
    "KHMER": "km",
    "LAO": "lo",
    "MALAYALAM": "ml",
    "MYANMAR": "my",
    "ORIYA": "or",
    "SINHALA": "si",
    "TAMIL": "ta",
    "TELUGU": "te",
    "THAI": "th",
}
"""Scripts that one language is mostly written in. Han is Chinese unless kana stand beside it."""
_VARIETIES = {
    "nb": "no",
    "nn": "no",
    "pcm": "en",
    "wuu": "zh",
    "yue": "zh",
    "ary": "ar",
    "arz": "ar",
    "grc": "el",
    "hbo": "he",
}
"""What the model calls a variety, by the language whose rules and words serve it."""
_WIDESPREAD = frozenset(
    "af am ar az be bg bn ca cs cy da de el en es et eu fa fi fr ga gu he hi hr hu hy id is it ja ka kk km kn ko ky"
    " lo lt lv mk ml mn mr ms my ne nl no pa pl pt ro ru sa si sk sl sq sr sv sw ta te th tl tr uk ur uz vi zh".split()
)
"""Languages that much is written in; a few words of another one are more likely one of these."""
_RARE = 0.1
_LIKELY = 10.0
"""How much more likely a language of the corpus is than another, and how much less likely a rare one."""
_SURE = 0.5
_FEWEST_LETTERS = 12
"""So many letters say something about a language whose script others share; a name or two does not."""
_FEW_WORDS = 40
_EVIDENTLY, _AS_EXPECTED = 0.8, 0.5
"""So much of a short text is known in English that the model need not be asked, and the same where only English is
expected: nearly all English questions reach the second, and 3 in 100 German ones."""
_SAMPLE = 1_000
_WORD = re.compile(r"[^\W\d_]+")
_ONLY_ENGLISH = frozenset(
    "the of and what which who how does did are were where when why this that these with from should would could their"
    " they have has been your you any shall must not by or".split()
)
"""Function words that hardly occur in another language that is written without accents."""
_MARKUP = re.compile(r"https?://\S+|<[^<>]{1,200}>|`[^`]{1,200}`|[\w.+-]+@[\w.-]+|&\w+;")


def language_of(text: str, likely: Collection[str] = ()) -> str | None:
    """Return the ISO 639-1 code of the language that `text` is written in, None when unsure.

    `likely` are primary codes that are expected, such as those of the corpus: in doubt one of them is taken. The same
    text and codes always give the same answer. A long text is judged by samples from its whole length.
    """
    sample = _MARKUP.sub(" ", _sample(text))
    words = _WORD.findall(sample)
    scripts = Counter(_script(letter) for word in words for letter in word)
    if not scripts:
        return None
    script = min(scripts, key=lambda name: (-scripts[name] * _weight(name), name))
    if script in {"CJK", "HIRAGANA", "KATAKANA"}:
        kana = scripts["HIRAGANA"] + scripts["KATAKANA"]
        return "ja" if 10 * kana >= scripts["CJK"] else "zh"
    if script in _BY_SCRIPT:
        return _BY_SCRIPT[script]
    if script == "LATIN" and (_is_plain_english(words) or _is_short_english(words, likely)):
        return "en"
    if scripts[script] < _FEWEST_LETTERS:
        return None
    # What is written in another alphabet than most of the corpus is better taken for a neighbour than for unknown.
    return _by_letters(sample, frozenset(likely), sure=_SURE if script == "LATIN" else 0.0)


def _sample(text: str) -> str:
    """Return the start, the middle and the end of a long text."""
    if len(text) <= 3 * _SAMPLE:
        return text
    middle = (len(text) - _SAMPLE) // 2
    return "\n".join((text[:_SAMPLE], text[middle : middle + _SAMPLE], text[-_SAMPLE:]))


@lru_cache(maxsize=4_096)
def _script(letter: str) -> str:
    """Return the script of a letter by its Unicode name: `LATIN`, `CYRILLIC`, `CJK`."""
    if letter < "\u0250":
        return "LATIN"
    return unicodedata.name(letter, "UNKNOWN").partition(" ")[0].partition("-")[0].removesuffix("WIDTH")


def _weight(script: str) -> int:
    """Return how many letters of an alphabet one sign is worth."""
    return 3 if script in {"CJK", "HIRAGANA", "KATAKANA", "HANGUL"} else 1


def _is_plain_english(words: list[str]) -> bool:
    """Return whether so many words are function words of English, and of no other language, that no model is needed."""
    folded = [word.lower() for word in words]
    share = sum(word in FUNCTION_WORDS for word in folded) / len(folded)
    distinct = len(_ONLY_ENGLISH.intersection(folded))
    return (share >= 0.4 and distinct >= 2) or (share >= 0.25 and distinct >= 6)


def _is_short_english(words: list[str], likely: Collection[str]) -> bool:
    """Return whether most words of a question or a line are known in English; a word or two may be a name."""
    if not (1 if "en" in likely else 3) <= len(words) <= _FEW_WORDS:
        return False
    return known_english(" ".join(words)) >= (_AS_EXPECTED if set(likely) == {"en"} else _EVIDENTLY)


def _by_letters(sample: str, likely: frozenset[str], *, sure: float) -> str | None:
    chances: Counter[str] = Counter()
    for code, chance in _model().rank(sample):
        language = _VARIETIES.get(code, code)
        weight = _LIKELY if language in likely else 1.0 if language in _WIDESPREAD else _RARE
        chances[language] += chance * weight
    best = min(chances, key=lambda language: (-chances[language], language))
    return best if chances[best] >= sure * chances.total() and len(best) == 2 else None


@lru_cache(maxsize=1)
def _model() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier  # a third of a second that English seldom needs

    try:
        return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)
    except OSError as error:  # it is unpacked into a temporary file
        raise ModelError(
            f"the model that recognises languages cannot be unpacked: {error.strerror}",
            hint="Free some space for temporary files (TMPDIR), or state the language of the documents (--language).",
        ) from error
