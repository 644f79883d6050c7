"""The endings that words of profiles take in each language: patterns over folded texts."""

from __future__ import annotations

import re

_PLURAL = "(?:e?s)?"
# Turkish, folded: ı is i, ü is u, ö is o, and ş, ç and ğ are s, c and g. Each line is a place in the chain of endings.
_TURKISH = (
    "l[ae]r",
    "[iu]?m(?:[iu]z)?|[iu]?n(?:[iu]z)?|s?[iu]|l[ae]r[iu]",
    "[yn]?[iu]|[yn]?[ae]|n?[iu]n|n?[dt][ae]n?|y?l[ae]|n?c[ae]",
    "l[iu][kg]?|s[iu]z|n?[dt][ae]ki|n?[iu]nki|c[iu]|[dt][iu]r",
)
_ENDINGS = {
    "de": "(?:e[nmrs]?|n|s|ern)?",
    "es": "(?:e?s)?",
    "fr": "(?:e?s|x)?",
    "tr": f"(?:'?(?:{'|'.join(_TURKISH)}){{1,4}})?",
}
_SOFTENED = {"k": "[kg]", "p": "[pb]", "t": "[td]"}
"""The last consonants of Turkish stems that change before a vowel: `toprak`, `toprağı`."""


def inflected(word: str, language: str) -> str:
    """Return a pattern for the forms of a folded word; of several words the last one changes.

    A word that ends in `*` takes any ending; the others have those of nouns, so that `otel` is no form of `ot`.
    """
    if word.endswith("*"):
        return rf"{re.escape(word[:-1])}\w*"
    stem = re.escape(word)
    endings = _ENDINGS.get(language, _PLURAL)
    if language == "tr":
        stem = stem[:-1] + _SOFTENED.get(stem[-1], stem[-1])
        if not re.search("[aeiou]", word):  # abbreviations have their endings behind an apostrophe: pH'ı
            endings = endings.replace("'?", "'", 1)
    return stem + endings
