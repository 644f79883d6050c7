"""What lies inside each element of a page: counted once, from the innermost outwards, for every later question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from quoth.corpus.formats.html_tree import Element

HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
BLOCKS = HEADINGS | frozenset(
    """address article aside blockquote body caption center dd details dir div dl dt fieldset figcaption figure footer
    form header hgroup hr legend li listing main menu ol optgroup option p plaintext pre section summary table tbody td
    tfoot th thead tr ul xmp""".split()
)
"""Elements that begin and end a line; all others run on inside it."""
_ARTICLES = frozenset({"main", "article"})
_SENTENCE_END = re.compile(r"[^\W_]{2}['\"”’)\]]*[.!?…]['\"”’)\]]*(?:\s|$)|[。！？।]")
MENU_SHARE = 0.8
"""Of the letters of a menu, how many at least are links."""


@dataclass(slots=True)
class Measure:
    """What lies inside an element, itself included."""

    letters: int
    """Visible characters other than white space."""
    linked: int
    """Those of them inside links."""
    links: int
    anchors: int
    """Links to places on this page."""
    sentences: int
    buttons: int
    headings: int
    blocks: int
    tables: int
    articles: int
    captions: int
    code: int
    last: str
    """The last visible character."""

    @property
    def menu(self) -> bool:
        return self.links >= 2 and self.linked >= MENU_SHARE * self.letters and not self.sentences

    @property
    def prose(self) -> int:
        return self.letters - self.linked


def preorder(root: Element) -> Iterator[Element]:
    """Every element below `root`, itself first, in the order of the page."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += [child for child in reversed(element.children) if isinstance(child, Element)]


def measured(body: Element) -> dict[int, Measure]:
    """Measure every element, from the innermost outwards."""
    measures: dict[int, Measure] = {}
    for element in reversed(list(preorder(body))):
        tag = element.tag
        total = _of_tag(element)
        for child in element.children:
            if not isinstance(child, str):
                _add(total, measures[id(child)])
            elif visible := child.rstrip():
                total.letters += len(visible) - sum(map(visible.count, " \n\t\r\f"))
                total.sentences += len(_SENTENCE_END.findall(child))
                total.last = visible[-1]
        if tag == "a" and "href" in element.attributes:
            total.linked, total.links = total.letters, 1
            total.anchors = int(element.get("href").strip().startswith("#"))
        measures[id(element)] = total
    return measures


def _of_tag(element: Element) -> Measure:
    """The measure of an empty element."""
    tag = element.tag
    return Measure(
        letters=0,
        linked=0,
        links=0,
        anchors=0,
        sentences=0,
        buttons=int(tag == "button"),
        headings=int(tag in HEADINGS),
        blocks=int(tag in BLOCKS),
        tables=int(tag == "table"),
        articles=int(is_article(element)),
        captions=int(tag == "figcaption"),
        code=int(tag in {"code", "samp", "kbd"}),
        last="",
    )


def is_article(element: Element) -> bool:
    return element.tag in _ARTICLES or element.role == "main"


def _add(total: Measure, part: Measure) -> None:
    total.letters += part.letters
    total.linked += part.linked
    total.links += part.links
    total.anchors += part.anchors
    total.sentences += part.sentences
    total.buttons += part.buttons
    total.headings += part.headings
    total.blocks += part.blocks
    total.tables += part.tables
    total.articles += part.articles
    total.captions += part.captions
    total.code += part.code
    total.last = part.last or total.last
