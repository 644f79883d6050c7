"""What a pattern finds in a text, and where: exact offsets, whatever the text holds."""

from __future__ import annotations

import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import QuestionError
from quoth.language.spellings import ends_word, spelling
from quoth.search.patterns import LONGEST_PATTERN, EncodedText, compile_pattern


def spans(pattern: str, text: str, *, regex: bool = False, near: int | None = None, case: bool = False) -> list[str]:
    """Return the text of each match."""
    compiled = compile_pattern(pattern, regex=regex, near=near, case=case)
    return [text[start:end] for start, end in compiled.spans(EncodedText(text.encode("utf-8")))]


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("soil", "Soil, SOIL and topsoil; soils", ["Soil", "SOIL"]),
        ("soil pH", "soil pH. The soil\r\n   ph; soil\N{NO-BREAK SPACE}pH; soil-pH", 3),
        ("  soil \t pH ", "soil pH", ["soil pH"]),
        ("information", "infor-\nmation, infor\N{SOFT HYPHEN}mation, infor\N{HYPHEN}\r\n  mation, infor- mation", 3),
        ("well-known", "well-known, well\N{NON-BREAKING HYPHEN}known, well-\nknown, well known", 3),
        ("appeal is pending", "> An appeal is\n> pending.", ["appeal is\n> pending"]),
        ("6.0-7.0", "pH 6.0\N{EN DASH}7.0", ["6.0\N{EN DASH}7.0"]),
        ("don't", "don\N{RIGHT SINGLE QUOTATION MARK}t", ["don\N{RIGHT SINGLE QUOTATION MARK}t"]),
        ("\uf900", "\uf900", ["\uf900"]),  # Unicode composes it to another sign
        ("straße", "Straße STRASSE strasse", ["Straße", "STRASSE", "strasse"]),
        ("STRASSE", "Straße", ["Straße"]),
        ("office", "oﬃce, oﬀice, ofﬁce, OFFICE", 4),
        ("istanbul", "İstanbul and ISTANBUL", ["İstanbul", "ISTANBUL"]),
        ("kelvin", "\N{KELVIN SIGN}elvin", ["\N{KELVIN SIGN}elvin"]),
        ("5 µg", "5 \N{GREEK SMALL LETTER MU}g", ["5 \N{GREEK SMALL LETTER MU}g"]),
        ("ΛΌΓΟΣ", "λόγος", ["λόγος"]),
        ("été", unicodedata.normalize("NFD", "Été"), [unicodedata.normalize("NFD", "Été")]),
        (unicodedata.normalize("NFD", "été"), "Été", ["Été"]),
        ("ete", unicodedata.normalize("NFD", "été"), []),
        ("İSTANBUL", "istanbul'da", ["istanbul"]),
        ("\ufa15", "\ufa15 \u51de", 2),
        ("الجامعة", "الْجَامِعَة الجـامعة", ["الْجَامِعَة", "الجـامعة"]),
        ("الْأَمريكية", "الامريكية", ["الامريكية"]),
        ("שלום", "שָׁלוֹם", ["שָׁלוֹם"]),
        ("대학", "서울의 대학교에서", ["대학"]),
        ("țară", "ţară ŢARĂ tara", ["ţară", "ŢARĂ"]),
        ("农业", "发展农业生产", ["农业"]),
        ("ข้าว", "ปลูกข้าวนา", ["ข้าว"]),
        ("हिन्दी", "हिन्दी में", ["हिन्दी"]),
        ("हिन", "हिन्दी में", []),
        ("👍", "👍 and 👍🏽", ["👍"]),
        ("§", "see § 4.2", ["§"]),
        ("C++", "C++, C+++", ["C++", "C++"]),
        ("_", "a_b", ["_"]),
        ("Brassica napus", "_Brassica napus_", ["Brassica napus"]),
        ("\0", "a\0b", ["\0"]),
        ("a\0b", "a\0b", ["a\0b"]),
        ("(?:", "an odd (?: sign", ["(?:"]),
    ],
)
def test_words_are_found_in_every_spelling(pattern: str, text: str, found: list[str] | int) -> None:
    matches = spans(pattern, text)

    assert (len(matches) if isinstance(found, int) else matches) == found


@pytest.mark.parametrize(
    ("pattern", "text", "found"),
    [
        ("5 cm", "2.5 cm or 5 cm", 1),
        ("2", "2.5, 1.2 and 2.", 1),
        ("000", "1,000", 0),
        ("1", "1,000 and [1,2]", 1),
        ("2", "[1,2,3]", 1),
        ("2020", "in 2020.", 1),
    ],
)
def test_no_match_is_a_part_of_a_number(pattern: str, text: str, found: int) -> None:
    assert len(spans(pattern, text)) == found


def test_case_counts_when_it_is_asked_to() -> None:
    text = "Bt corn, BT corn, straße, ﬁeld, Field"

    assert spans("BT", text, case=True) == ["BT"]
    assert spans("strasse", text, case=True) == []
    assert spans("شدة", "شِدّة", case=True) == []
    assert spans("field", text, case=True) == ["ﬁeld"]


def test_a_phrase_that_fails_does_not_hide_the_one_that_it_overlaps() -> None:
    assert spans("a a", "ba a a") == ["a a"]


def test_plain_and_odd_spellings_far_apart_come_in_order() -> None:
    filler = "\N{EN DASH} water \n" * 3_000
    forms = ["kiss", "ki\N{LATIN SMALL LETTER LONG S}s", "KISS", "ki-\nss", "Kiss"]
    text = filler.join(["", *forms, ""])
    compiled = compile_pattern("kiss")
    found = list(compiled.spans(EncodedText(text.encode("utf-8"))))

    assert [text[start:end] for start, end in found] == forms
    assert found == sorted(found)


@pytest.mark.parametrize(
    ("distance", "found"),
    [(1, ["pH soil"]), (3, ["soil has a pH", "pH soil"]), (2, ["pH soil"])],
)
def test_near_words_come_in_any_order(distance: int, found: list[str]) -> None:
    assert spans("soil ph", "The soil has a pH. Then, and much later than that, pH soil", near=distance) == found


def test_all_near_words_must_be_there() -> None:
    assert spans("soil ph canola", "soil pH soil pH", near=9) == []
    assert spans("soil ph canola", "canola: soil, wheat; pH", near=3) == ["canola: soil, wheat; pH"]


def test_a_regular_expression_matches_lines_and_never_nothing() -> None:
    assert spans(r"^\w+", "One two\nthree", regex=True) == ["One", "three"]
    assert spans(r"x*", "a xx b", regex=True) == ["xx"]
    assert spans(r"(?<=a)|$", "a", regex=True) == []
    assert spans(r"[A-Z]{2}", "ab AB", regex=True, case=True) == ["AB"]


@pytest.mark.parametrize("pattern", ["(", "[a", "a{2,1}", "(?P<n>a)(?P<n>b", "*a", "\\", "(" * 900])
def test_an_expression_that_cannot_be_read_is_an_error_with_a_hint(pattern: str) -> None:
    with pytest.raises(QuestionError, match="cannot be read") as raised:
        compile_pattern(pattern, regex=True)
    assert raised.value.hint


def test_an_expression_that_would_never_end_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("quoth.search.patterns._LEAST_SECONDS", 0.2)
    with pytest.raises(QuestionError, match="took more than"):
        spans("(a|aa)+$", "a" * 100 + "b", regex=True)


@pytest.mark.parametrize(
    ("pattern", "options"),
    [
        ("", {}),
        (" \n", {}),
        ("", {"regex": True}),
        ("soil", {"near": 3}),
        ("soil soil", {"near": 3}),
        ("soil pH", {"near": 0}),
        ("soil pH", {"near": 3, "regex": True}),
        ("\udc80", {}),
        ("\N{SOFT HYPHEN}", {}),
        ("a" * (LONGEST_PATTERN + 1), {}),
    ],
)
def test_what_cannot_be_looked_for_is_an_error_with_a_hint(pattern: str, options: dict[str, int]) -> None:
    with pytest.raises(QuestionError) as raised:
        compile_pattern(pattern, **options)  # type: ignore[arg-type]
    assert raised.value.hint


@pytest.mark.parametrize("letters", ["ffi", "ß", "é", "a"])
def test_the_longest_pattern_finds_itself(letters: str) -> None:
    longest = (letters * LONGEST_PATTERN)[:LONGEST_PATTERN]
    assert spans(longest, f"before {longest} after") == [longest]


ODD = "aAsSkKiIfl-'. \n\r\tßẞſﬁﬀﬃİıK\u0301\u00ad\u2010\u2013\u2019éÉ5,2农"
SOFT = "\N{SOFT HYPHEN}"
LETTERS = st.text(alphabet=ODD, max_size=60)
PATTERNS = st.one_of(st.sampled_from(["ss", "ffi", "is", "k", "a", "as as", "2", "é", "a-f", "fl"]), LETTERS)


def every_way(pattern: str, text: str) -> list[tuple[int, int]]:
    """Return the matches by trying every place: slow, and without any way round."""
    exact = re.compile(
        r"(?:[^\S\n]*\n[^\S\n]*>[>\s]*|\s+)".join(spelling(word, case=False) for word in pattern.split())
    )
    found: list[tuple[int, int]] = []
    for start in range(len(text)):
        here = exact.match(text, start)
        last = found[-1][1] if found else 0
        if here and start >= last and ends_word(text, start) and ends_word(text, here.end()):
            found.append(here.span())
    return found


@given(pattern=PATTERNS.map(lambda given: given.replace(SOFT, "")).filter(str.strip), text=LETTERS)
def test_the_short_cuts_miss_nothing_and_shift_nothing(pattern: str, text: str) -> None:
    compiled = compile_pattern(pattern)

    assert list(compiled.spans(EncodedText(text.encode("utf-8")))) == every_way(pattern, text)


@given(
    word=st.text(min_size=1, max_size=12), before=st.text(max_size=12), behind=st.text(max_size=12), case=st.booleans()
)
def test_a_text_that_stands_alone_finds_itself_at_its_offsets(word: str, before: str, behind: str, case: bool) -> None:
    pattern = " ".join(word.split())
    surrogates = any("\ud800" <= one <= "\udfff" for one in word + before + behind)
    if not pattern or surrogates or "\N{SOFT HYPHEN}" in pattern or pattern.endswith("\N{ZERO WIDTH JOINER}"):
        return  # no text holds the first, and the others are never seen alone
    text = f"{before} \n{pattern} {behind}"
    start = len(before) + 2
    compiled = compile_pattern(pattern, case=case)
    found = list(compiled.spans(EncodedText(text.encode("utf-8"))))

    assert all(0 <= low < high <= len(text) for low, high in found)
    assert any(low < start + len(pattern) and start < high for low, high in found)


@given(text=st.text(alphabet=ODD, max_size=80), expression=st.sampled_from(["[a-zß]+", r"\S+\s", "ß|ss", "."]))
def test_the_spans_of_an_expression_are_those_of_the_text(text: str, expression: str) -> None:
    compiled = compile_pattern(expression, regex=True, case=True)
    found = list(compiled.spans(EncodedText(text.encode("utf-8"))))

    assert found == [match.span() for match in re.finditer(expression, text, re.MULTILINE)]
