"""Words of languages other than English as full text compares them: stems, and n-grams where no spaces part words.

English, and text whose language is unknown, is left to `terms`. The stemmers are those of Snowball. They know words as
they are written, so a word is stemmed with its accents, which are folded afterwards.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

from quoth.language.terms import MAX_FORM, Word, apart_from_raised
from quoth.types import IndexInfo, primary_language, unbroken

STEMS_VERSION = 1
"""Changes when the same text in one of these languages would be indexed otherwise."""

_STEMMERS = {
    **{"ar": "arabic", "ca": "catalan", "cs": "czech", "da": "danish", "de": "german", "el": "greek", "es": "spanish"},
    **{"et": "estonian", "eu": "basque", "fa": "persian", "fi": "finnish", "fr": "french", "ga": "irish"},
    **{"hi": "hindi", "hu": "hungarian", "hy": "armenian", "id": "indonesian", "it": "italian", "lt": "lithuanian"},
    **{"ne": "nepali", "nl": "dutch", "no": "norwegian", "pl": "polish", "pt": "portuguese", "ro": "romanian"},
    **{"ru": "russian", "sr": "serbian", "sv": "swedish", "ta": "tamil", "tr": "turkish"},
}
_VARIETIES = {"nb": "no", "nn": "no", "yue": "zh", "wuu": "zh", "arz": "ar"}
_LIKE_ENGLISH = frozenset({"en", "mis", "mul", "und", "zxx"})
"""Tags of English, and of no language in particular."""
_DOTTED_AND_DOTLESS = frozenset({"az", "crh", "tr"})
"""Languages whose `I` is a capital `ı`, and whose names have their endings behind an apostrophe: `Ankara'dan`."""

# Letters that follow each other without a space over several words. Full text keeps n-grams of them: of two letters in
# Chinese and Japanese, and in Korean, which writes its particles onto the words. Thai, Lao, Burmese and Khmer letters
# say less each: of Thai words drawn by their frequency, n-grams of three found more than those of two or four.
_HAN = (
    "\u3005-\u3007\u3041-\u3096\u309d-\u309f\u30a1-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\U00020000-\U0003ffff"
)
_HANGUL = "\uac00-\ud7a3"
_THAI = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e81-\u0ecd\u0edc-\u0edf\u1000-\u103f\u1050-\u108f\u1780-\u17d3\u17dc\u17dd"
_PAIRED = re.compile(f"[{_HAN}{_HANGUL}]")
_SIGNS = _HAN + _HANGUL + _THAI
_SIGN = re.compile(f"[{_SIGNS}]")
UNSPACED = re.compile(f"[{_HAN}]+|[{_HANGUL}]+|[{_THAI}]+")
"""A run of letters that may hold several words."""
# The vowel signs of other scripts belong to their words, though `\w` does not hold them.
_MARKS = "".join(
    mark
    for mark in map(chr, range(0x300, 0x1E00))
    if unicodedata.category(mark) in {"Mn", "Mc"} and not _SIGN.match(mark)
)
INSIDE_WORDS = _MARKS + _THAI
"""Characters, as inside a set of a regular expression, that belong to words and that `\\w` does not hold."""
_RUN = rf"(?:[^\W_{_SIGNS}]|[{_MARKS}])+"
QUESTION_WORD = re.compile(rf"[^\W_](?:[\w{_SIGNS}{_MARKS}'./%°&+-]*[\w{_SIGNS}{_MARKS}%])?")
"""A word as a question writes it, with the signs inside it."""
_WRITTEN = re.compile(
    rf"(?P<unspaced>{UNSPACED.pattern})"
    rf"|(?:(?<![^\W_])\.(?=\d))?{_RUN}"
    rf"(?:[-./&@_]{_RUN}"
    rf"|(?<=\d)[,:]\d+{_RUN[:-1]}*"
    rf"|(?<=[\d)])\([^\W_]{{1,4}}\)"
    r")*"
)
_PART = re.compile(rf"\d+(?:\.\d+)*|{_RUN}")
_JOINT = re.compile(r"(?<=[^\W\d_])[-.]|[-.](?=[^\W\d_])")
_GROUPED = re.compile(r"(?<![\d,.])\d{1,3}([.,])\d{3}(?:\1\d{3})*(?!\d|\1\d)")
_DECIMAL_COMMA = re.compile(r"(?<=\d),(?=\d)")


def word_language(language: str | None) -> str:
    """Return the code of a language whose words this module makes; `""` for what is left to `terms`."""
    code = primary_language(language) or ""
    return "" if code in _LIKE_ENGLISH else _VARIETIES.get(code, code)


def word_languages(info: IndexInfo) -> tuple[str, ...]:
    """Return the languages whose words the documents of an index have, the most common one first.

    `""` stands for English, and for documents of an unknown language.
    """
    counts = Counter({"": info.documents - sum(count for _, count in info.language_counts)})
    for code, count in info.language_counts:
        counts[word_language(code)] += count
    found = sorted((-count, language) for language, count in counts.items() if count > 0)
    return tuple(language for _, language in found) or ("",)


def word_language_in(info: IndexInfo, tag: str | None) -> str:
    """Return the one of `word_languages` that a document of this language has.

    A language that `info` does not know was of no account when the index was made.
    """
    return word_language(tag) if primary_language(tag) in info.languages else ""


def stemmed_words(text: str, language: str) -> list[Word]:
    """Return the words of `text` in order, stemmed and folded; of letters without spaces the n-grams."""
    found: list[Word] = []
    for match in _WRITTEN.finditer(_plain(text, language)):
        if match["unspaced"]:
            found.extend(Word(gram, ()) for gram in grams(match[0]))
        else:
            found.append(_word(match[0], language))
    return found


def index_stems(text: str, language: str) -> list[str]:
    """Return what full text indexes of `text`: every form of every word, and each letter that n-grams of two hold."""
    forms = [form for word in stemmed_words(text, language) for form in word.forms]
    return forms + [sign for form in forms if len(form) == 2 for sign in form if _PAIRED.match(sign)]


def grams(run: str) -> Iterator[str]:
    """Yield the n-grams of a run of `UNSPACED`; the run itself where it is shorter."""
    length = gram_length(run)
    yield from (run[at : at + length] for at in range(max(1, len(run) - length + 1)))


def gram_length(run: str) -> int:
    """Return how many letters the n-grams of a run of `UNSPACED` have."""
    return 2 if _PAIRED.match(run) else 3


def plain_form(word: str, language: str) -> str:
    """Return a word folded as full text does, but not stemmed."""
    return _folded(_plain(word, language), language)


def apart_from_elided(text: str, language: str) -> str:
    """Return `text` with a space in place of the apostrophe of `l'eau`."""
    return text if language in _DOTTED_AND_DOTLESS else _ELIDED.sub(" ", text)


def _plain(text: str, language: str) -> str:
    """Return `text` in lower case, without what only typesetting or vocalisation writes."""
    plain = unicodedata.normalize("NFKC", apart_from_raised(unbroken(text)))
    if language in _DOTTED_AND_DOTLESS:
        plain = plain.replace("İ", "i").replace("I", "ı")
    plain = plain.lower().translate(_UNWRITTEN)
    if "'" not in plain:
        return plain
    if language in _DOTTED_AND_DOTLESS:
        plain = _ENDING.sub("", plain)
    return apart_from_elided(plain, language).replace("'", "")


_ENDING = re.compile(r"(?<=\w\w)'\w+")
_ELIDED = re.compile(r"(?<=[A-Za-z\u00c0-\u024f])'(?=\w)")  # `l'eau` is two words; Cyrillic letters are joined by it
_ZEROS = "\u0660\u06f0\u0966\u09e6\u0a66\u0ae6\u0b66\u0be6\u0c66\u0ce6\u0d66\u0e50\u0ed0\u0f20\u1040\u17e0"
"""The digit 0 in other scripts; the others follow it."""
_UNWRITTEN = str.maketrans(
    {
        **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\u05be", "-"),
        **dict.fromkeys("\u2019\u2018\u02bc\u2032\u05f3\uff07", "'"),
        # Invisible characters, the Arabic stretching sign, and the vowels of Arabic and Hebrew, which few texts write.
        **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff\u0640\u0670\u05f4", None),
        **dict.fromkeys([*range(0x64B, 0x660), *range(0x591, 0x5BE), *range(0x5BF, 0x5C8)], None),
        **{"\u093c": None, "\u0901": "\u0902", "\u066b": ".", "\u066c": ","},  # Devanagari dots; Arabic separators
        **{chr(ord(zero) + digit): str(digit) for zero in _ZEROS for digit in range(10)},
    }
)


@lru_cache(maxsize=65_536)
def _word(written: str, language: str) -> Word:
    plain = "0" + written if written.startswith(".") else written
    if plain[0].isdigit():
        plain = _GROUPED.sub(lambda number: re.sub("[.,]", "", number[0]), plain)
        plain = _DECIMAL_COMMA.sub(".", plain)
    whole = _JOINT.sub("", plain)[:MAX_FORM]
    parts = tuple(part[:MAX_FORM] for part in _PART.findall(plain))
    return Word(_stem(whole, language), () if parts == (whole,) else tuple(_stem(part, language) for part in parts))


def _stem(form: str, language: str) -> str:
    stem = form
    if (name := _STEMMERS.get(language)) and not any(map(str.isdigit, form)):
        stem = _settled(form, _stemmer(name))
    return (stem if stem.isascii() else _folded(stem, language)) or form


def _settled(form: str, stemmer: Stemmer.Stemmer) -> str:
    """Stem a word until nothing comes off: `universities` must meet `university` where one pass leaves them apart."""
    stem: str = stemmer.stemWord(form)
    while len(again := stemmer.stemWord(stem)) >= _SHORTEST and len(again) < len(stem):
        stem = again
    return stem


_SHORTEST = 3


def _folded(stem: str, language: str) -> str:
    if language == "vi":
        return stem
    return unicodedata.normalize("NFC", stem).translate(_WITHOUT_ACCENTS)


def _stemmer(name: str) -> Stemmer.Stemmer:
    """Return this thread's stemmer: they are not made to be shared."""
    found = vars(_MADE).get(name)
    if found is None:
        found = vars(_MADE)[name] = Stemmer.Stemmer(name, 0)
    return found


_MADE = threading.local()


def _accents() -> dict[int, str | None]:
    """Map letters with accents to plain ones: Latin and Greek, and `ё`; the other letters of Cyrillic stay apart."""
    letters = map(chr, [*range(0xC0, 0x250), *range(0x370, 0x400), *range(0x1E00, 0x2000), ord("ё")])
    table: dict[int, str | None] = {}
    for letter in letters:
        base = unicodedata.normalize("NFD", letter)[0]
        if base != letter:
            table[ord(letter)] = base
    return table | dict.fromkeys(range(0x300, 0x370))


_PLAIN: dict[str, str | None] = {
    **{"ı": "i", "ø": "o", "đ": "d", "ł": "l", "æ": "ae", "œ": "oe", "ß": "ss", "ð": "d", "þ": "th", "ς": "σ"},
    **{"آ": "ا", "أ": "ا", "إ": "ا", "ٱ": "ا", "ى": "ي", "ی": "ي", "ک": "ك", "ة": "ه"},
}
_WITHOUT_ACCENTS = {**_accents(), **str.maketrans(_PLAIN)}
