"""Look at every sentence boundary of every document for one that a reader would call wrong.

    python tools/check_boundaries.py DIR... [--language de]

Without --language, the language of each document is recognised as `quoth ingest` does. The checks know only a text, its
sentence spans and its skipped spans. They share no code with the splitter, so that a mistake there is not repeated
here. Exit 1 when anything is found.
"""

from __future__ import annotations

import argparse
import re
import sys
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Violation:
    rule: str
    at: int
    context: str


@dataclass(frozen=True, slots=True)
class Boundary:
    """Two neighbouring sentences with nothing but whitespace between them, and no blank line."""

    text: str
    before: Pair
    after: Pair

    @property
    def left(self) -> str:
        return self.text[self.before[0] : self.before[1]]

    @property
    def right(self) -> str:
        return self.text[self.after[0] : self.after[1]]

    @property
    def gap(self) -> str:
        return self.text[self.before[1] : self.after[0]]

    @property
    def same_line(self) -> bool:
        return LINE_END.search(self.gap) is None


LINE_END = re.compile(r"\r\n?|[\n\f\v\x1c-\x1e\x85\u2028\u2029]")
MONTH = (
    r"(?:Jan(?:uary|\.)?|Feb(?:ruary|\.)?|Mar(?:ch|\.)?|Apr(?:il|\.)?|May|June?\.?|July?\.?|Aug(?:ust|\.)?"
    r"|Sept?(?:ember|\.)?|Oct(?:ober|\.)?|Nov(?:ember|\.)?|Dec(?:ember|\.)?)"
)
NUMBER = r"\d+(?:[.,]\d+)*"

WHOLE = {
    "number": re.compile(NUMBER),
    "range": re.compile(rf"{NUMBER}[ \t]*(?:[-–—−±×~/][ \t]*|\s+to\s+){NUMBER}"),
    "percent": re.compile(rf"{NUMBER}\s?[%‰°]"),
    "date": re.compile(
        rf"\b{MONTH}\s+\d{{1,2}}(?:st|nd|rd|th)?\b(?:,\s*\d{{4}}\b)?|\b\d{{1,2}}\.?\s+{MONTH},?\s+\d{{4}}\b"
    ),
    "url": re.compile(r"(?:https?://|www\.)[^\s<>\"]*[\w/]"),
    "e-mail": re.compile(r"[\w.+-]+@[\w-]+(?:\.[\w-]+)+"),
    "dotted name": re.compile(
        r"\b(?:[A-Za-z]\.){2,}|\bv?\d+(?:\.\d+){2,}\b|\b[\w-]+\.(?:md|txt|pdf|csv|html?|json|ya?ml|py|docx?)\b"
    ),
    "ellipsis": re.compile(r"\.{2,}|\.(?: \.){2,}"),
    "code span": re.compile(r"(?<!`)`[^`\n]{1,200}`(?!`)"),
    "link": re.compile(r"\[[^\[\]\n]{1,200}\]\([^()\s]*\)"),
    "reference": re.compile(
        r"\b(?:Figs?|Tables?|Eqs?|Nos?|Secs?|Sects?|Arts?|Vols?|pp?|Chap|paras?|Refs?|Bull|Handb|Circ|Publ|Suppl?|Subch|"
        r"Amend|Rs|Ksh|approx|ca|cf)\.\)?\s?\(?[A-Z]?\d+",
        re.I,
    ),
}
"""Things that are one: no boundary may fall inside."""

WHOLE_ELSEWHERE = {
    "grouped number": re.compile(r"(?<![\d.,])\d{1,3}(?:[ \u00a0\u202f]\d{3})+(?:,\d+)?(?!\d)|\d+(?:[.,٫٬'’]\d+)+"),
    "spaced abbreviation": re.compile(
        r"\b(?:z\. ?B|d\. ?h|u\. ?a|i\. ?d\. ?R|v\. ?Chr|n\. ?Chr|т\. ?е|т\. ?к|и т\. ?д|и т\. ?п|до н\. ?э|p\. ?ej"
        r"|EE\. ?UU|av\. ?J\.-C|M\. ?Ö|M\. ?S|π\. ?Χ|μ\. ?Χ|κ\. ?λπ|de ex|d\. ?Hr|î\. ?Hr|v\. ?v|ई\. ?पू|ق\. ?م)\."
    ),
    "reference elsewhere": re.compile(
        r"\b(?:S|Nr|Abs|Bd|Kap|Abb|pág|págs|núm|art|стр|рис|табл|гл|bkz\. s|σελ|pag|alin|tr|blz|pkt|čl)\. ?\d+", re.I
    ),
    "title": re.compile(r"\b(?:Hr|Fr|Sr|Sra|Srta|Dra|Doç|Yrd|Dl|Dna|TS|PGS|TP|κ|डॉ|г-н|проф|акад)\. ?\w"),
    "ordinal date": re.compile(
        r"\b\d{1,2}\. ?(?:Jan|Feb|März|Apr|Mai|Jun|Jul|Aug|Sep|Okt|Nov|Dez|Ocak|Şub|Nis|Haz|Tem|Ağu|Eyl|Eki|Kas|Ara"
        r"|yüzyıl|jahrhundert)\w*",
        re.I,
    ),
}
"""The same for documents in other languages than English."""

ABBREVIATION = re.compile(
    r"(?:^|[\s(\[“\"])(?:e\.g|i\.e|cf|viz|vs|approx|ca|Dr|Mr|Mrs|Ms|Prof|Rev|Hon|Messrs|subsp|var|incl|esp|resp)\.$",
    re.I,
)
GOES_ON_IN_LOWER_CASE = re.compile(r"[a-z]+(?:[\s,;:.)]|$)")
TERMINATED = re.compile(
    r"(?:[.!?…:;。！？｡؟।॥۔։።៕។။]|\.\d{1,3})(?:[\"'”’»›“«)\]}*_`~」』）】》†‡¹²³⁰⁴-⁹]|</\w+>|\[\^?[\w,;–\- ]{1,12}\])*$"
)
OPEN_LINE = re.compile(r"[\w,]$")
CLOSING = re.compile(r"[,;:.!?)\]}%”»]")
INITIALS = re.compile(r"(?:^|\s|\()(?:[A-Z]\.\s?)+$")
FUNCTION_WORD = re.compile(
    r"(?:An?|The|This|These|Those|That|There|Then|They|Their|It|Its|He|She|We|Our|You|Your|I|In|On|At|By|For|From|With|To|"
    r"As|If|When|Where|While|Although|Unless|And|But|Or|So|However|Each|Every|All|Any|No|Not|Such|Both|Some|Most|Many|"
    r"After|Before|During|Under|Upon|Since|Because|Of|Is|Are|Was|Were|Do|Does|Shall|May|Will|Notwithstanding|Other|"
    r"Subject|Neither|Either|Nothing|What|Which|Who|How|Why|Once|Until|Within|Without|Through|Both|One|Only|Also|Thus|"
    r"Therefore|Moreover|Furthermore|See|Use|Apply|Pursuant|Provided|Based|First|Second|Finally|Please|More|Less|Another|"
    r"According|Between|Third|[A-Z]\w+ly)\b",
    re.I,
)
UNIT = re.compile(
    r"(?:[mckdµμn]?m|ha|acres?|ac|ft|feet|in|inch(?:es)?|yd|mi|km|[mµμnk]?g|t|tonnes?|tons?|lbs?|oz|bu|gal|[mµμ]?[lL]|"
    r"°[CF]|hr?s?|hours?|min|minutes?|sec|seconds?|days?|weeks?|months?|years?|percent|ppm|kPa|MPa|psi|dollars)"
    r"(?:[²³23]|/\w+)?\b"
)
ENUMERATOR_ALONE = re.compile(r"\(?(?:\d{1,3}(?:\.\d{1,3})*|[A-Za-z]|[ivxIVX]{1,5})[.)]")
PAIRS = {")": "(", "”": "“"}
BRACKET = re.compile(r"[()“”]")
LONGEST_PAIR = 300
LONGEST_SENTENCE = 1_500
"""Beyond this a sentence may be cut without a terminator, between two words."""


def check(text: str, spans: Sequence[Pair], skipped: Sequence[Pair], *, language: str | None = None) -> list[Violation]:
    """Return what is wrong with the sentences of a text, in order of offset."""
    found = [*_coverage(text, spans, skipped), *_trimmed(text, spans)]
    edges = sorted({start for start, _ in spans} | {end for _, end in spans})
    english = language in {None, "en"}
    found += _inside(text, edges, WHOLE if english else WHOLE | WHOLE_ELSEWHERE)
    rules = {rule: broken for rule, broken in RULES.items() if english or rule not in ENGLISH_RULES}
    for boundary in _boundaries(text, spans):
        if language in BLANKS_END and boundary.gap:
            continue
        found += [_violation(rule, text, boundary.before[1]) for rule, broken in rules.items() if broken(boundary)]
    return sorted(found, key=lambda violation: (violation.at, violation.rule))


def _violation(rule: str, text: str, at: int) -> Violation:
    return Violation(rule, at, f"{text[max(0, at - 50) : at]}⟂{text[at : at + 50]}".replace("\n", "⏎"))


def _coverage(text: str, spans: Sequence[Pair], skipped: Sequence[Pair]) -> Iterator[Violation]:
    at = 0
    for start, end in sorted([*spans, *skipped]):
        if start < at:
            yield _violation("covered twice", text, start)
        elif text[at:start].strip():
            yield _violation("uncovered", text, at)
        at = max(at, end)
    if text[at:].strip():
        yield _violation("uncovered", text, at)
    if list(spans) != sorted(spans):
        yield _violation("out of order", text, 0)


def _trimmed(text: str, spans: Sequence[Pair]) -> Iterator[Violation]:
    for start, end in spans:
        if text[start:end] != text[start:end].strip() or start >= end:
            yield _violation("not trimmed", text, start)


def _inside(text: str, edges: Sequence[int], whole: Mapping[str, re.Pattern[str]]) -> Iterator[Violation]:
    """Yield every sentence edge that falls inside something that is one."""
    for rule, pattern in whole.items():
        for match in pattern.finditer(text):
            for edge in _strictly_inside(edges, match.span()):
                yield _violation(f"inside a {rule}", text, edge)
    for rule, pair in _pairs(text):
        for edge in _strictly_inside(edges, pair):
            yield _violation(f"inside a {rule}", text, edge)


def _strictly_inside(edges: Sequence[int], pair: Pair) -> Sequence[int]:
    return edges[bisect_right(edges, pair[0]) : bisect_left(edges, pair[1])]


def _pairs(text: str) -> Iterator[tuple[str, Pair]]:
    """Yield parentheses and quotations that open and close on one line, the outermost included."""
    line_start = 0
    for line_end in (*(match.start() for match in LINE_END.finditer(text)), len(text)):
        waiting: list[tuple[str, int]] = []
        for match in BRACKET.finditer(text, line_start, line_end):
            opener = PAIRS.get(match.group())
            if opener is None:
                waiting.append((match.group(), match.start()))
            elif waiting and waiting[-1][0] == opener:
                start = waiting.pop()[1]
                if match.end() - start <= LONGEST_PAIR:
                    yield ("parenthesis" if opener == "(" else "quotation"), (start, match.end())
        line_start = line_end


def _boundaries(text: str, spans: Sequence[Pair]) -> Iterator[Boundary]:
    for before, after in pairwise(spans):
        gap = text[before[1] : after[0]]
        if not gap.strip() and sum(1 for _ in LINE_END.finditer(gap)) <= 1:
            yield Boundary(text, before, after)


def _inside_a_token(boundary: Boundary) -> bool:
    if boundary.gap or re.search(r"[。！？｡؟।॥۔։።៕។။][”’»」』）】》\"')\]]*$", boundary.left):
        return False
    if re.match(r"[\u3040-\u9fff]", boundary.right) and boundary.left[-1] in "!?\"'）)":
        return False
    glued = re.search(r"[a-z]{3}[.!?][\"'”’)\]]*$", boundary.left) and re.match(r"[A-Z][a-z]", boundary.right)
    return not glued


def _after_abbreviation(boundary: Boundary) -> bool:
    return ABBREVIATION.search(boundary.left[-20:]) is not None and boundary.same_line


def _after_initials(boundary: Boundary) -> bool:
    tail = boundary.left[-12:]
    if not INITIALS.search(tail) or len(boundary.left) < 4:
        return False
    return boundary.same_line and boundary.right[0].isupper() and FUNCTION_WORD.match(boundary.right) is None


def _number_from_unit(boundary: Boundary) -> bool:
    return boundary.left[-1].isdigit() and UNIT.match(boundary.right) is not None


def _lower_case(boundary: Boundary) -> bool:
    goes_on = GOES_ON_IN_LOWER_CASE.match(boundary.right) is not None
    enumerated = ENUMERATOR_ALONE.match(boundary.right) is not None
    return goes_on and not enumerated and OPEN_LINE.search(boundary.left) is not None and not _overlong(boundary)


def _closing_first(boundary: Boundary) -> bool:
    return CLOSING.match(boundary.right) is not None


def _unterminated(boundary: Boundary) -> bool:
    return boundary.same_line and TERMINATED.search(boundary.left) is None and not _overlong(boundary)


def _enumerator_alone(boundary: Boundary) -> bool:
    return boundary.same_line and ENUMERATOR_ALONE.fullmatch(boundary.left) is not None


def _overlong(boundary: Boundary) -> bool:
    """Whether the two were one sentence too long to keep: a cut between words is then allowed."""
    long = len(boundary.left) + len(boundary.right) > LONGEST_SENTENCE
    return long and not boundary.left[-1].isdigit() and not boundary.right[0].isdigit()


RULES: dict[str, Callable[[Boundary], bool]] = {
    "inside a token": _inside_a_token,
    "after an abbreviation": _after_abbreviation,
    "after initials": _after_initials,
    "number from unit": _number_from_unit,
    "goes on in lower case": _lower_case,
    "closing punctuation first": _closing_first,
    "no terminator": _unterminated,
    "enumerator alone": _enumerator_alone,
}
ENGLISH_RULES = frozenset({"after initials", "number from unit"})
"""They know words of English."""
BLANKS_END = frozenset({"th", "lo"})
"""Languages in which a blank ends a sentence, and no mark."""


def documents(directories: Sequence[Path]) -> list[Path]:
    """Return the Markdown and text files under the directories, sorted."""
    return sorted(path for folder in directories for path in folder.rglob("*") if path.suffix in {".md", ".txt"})


def check_file(path: Path, language: str | None = None) -> list[Violation]:
    from quoth.documents.sentences import split  # the checks above must not know the splitter
    from quoth.language.identification import language_of

    text = path.read_bytes().decode("utf-8")
    language = language or language_of(text)
    parts = split(text, format="markdown" if path.suffix == ".md" else "text", language=language)
    spans = [(span.start, span.end) for _, sentences in parts for span in sentences]
    skipped = [(region.span.start, region.span.end) for region, _ in parts if region.kind.skipped]
    return check(text, spans, skipped, language=language)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("directories", nargs="+", type=Path, metavar="DIR")
    parser.add_argument("--language", metavar="CODE", help="of all documents, in place of recognition")
    parser.add_argument("--show", type=int, default=10, help="examples of each rule (default 10)")
    arguments = parser.parse_args()
    paths = documents(arguments.directories)
    counts: Counter[str] = Counter()
    for path in paths:
        for violation in check_file(path, arguments.language):
            counts[violation.rule] += 1
            if counts[violation.rule] <= arguments.show:
                sys.stdout.write(f"{violation.rule}: {path.name}[{violation.at}] {violation.context}\n")
    for rule, count in sorted(counts.items()):
        sys.stdout.write(f"{count:6d}  {rule}\n")
    sys.stdout.write(f"{len(paths)} documents, {counts.total()} violations\n")
    return 1 if counts or not paths else 0


if __name__ == "__main__":
    sys.exit(main())
