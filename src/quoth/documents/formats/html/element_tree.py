"""The visible elements of a web page as a tree, and what each of them holds. Nothing here recurses."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import TypeAlias

from selectolax.lexbor import LexborHTMLParser, LexborNode

from quoth.errors import UnreadableFile

MOST_NODES = 2_000_000
"""Elements and text nodes of one page together."""
HEADINGS = frozenset({"h1", "h2", "h3", "h4", "h5", "h6"})
BLOCKS = HEADINGS | frozenset(
    """address article aside blockquote body caption center dd details dir div dl dt fieldset figcaption figure footer
    form header hgroup hr legend li listing main menu ol optgroup option p plaintext pre section summary table tbody td
    tfoot th thead tr ul xmp""".split()
)
"""Elements that begin and end a line; all others are inline."""
_LABELS = HEADINGS | {"summary", "dt", "legend"}
MENU_SHARE = 0.8
"""The share of a menu's letters that lie in links, at least."""

_HIDDEN_TAGS = frozenset(
    """area applet audio base canvas col colgroup datalist del dialog embed frameset head iframe input link map meta
    meter nav noembed noframes noscript object param progress rp s script search select source strike style svg template
    textarea title track video""".split()
)
"""No text, not for readers, or (`nav`, controls, dialogs) no part of the document. Struck-out text is not read."""
_HIDDEN_ROLES = frozenset(
    """alertdialog dialog doc-backlink doc-pagelist doc-toc menu menubar navigation search tablist toolbar""".split()
)
_NEVER_HIDDEN = frozenset({"html", "body"})  # a script shows them once it has run
_SPACES = re.compile(r"\s+")
_SENTENCE_END = re.compile(r"[^\W_]{2}['\"”’)\]]*[.!?…]['\"”’)\]]*(?:\s|$)|[。！？।]")


@dataclass(slots=True)
class ElementCounts:
    """What lies inside an element, itself included. The counts start at zero and grow while the tree is walked."""

    buttons: int = 0
    headings: int = 0
    blocks: int = 0
    tables: int = 0
    articles: int = 0
    captions: int = 0
    code: int = 0
    letters: int = 0
    """Visible characters other than white space."""
    linked: int = 0
    """Letters inside links."""
    links: int = 0
    anchors: int = 0
    """Links to other places on the same page."""
    sentences: int = 0
    last: str = ""
    """The last visible character."""

    @property
    def is_menu(self) -> bool:
        return self.links >= 2 and self.linked >= MENU_SHARE * self.letters and not self.sentences

    @property
    def prose(self) -> int:
        """Letters outside links."""
        return self.letters - self.linked

    def add(self, inner: ElementCounts) -> None:
        for name in _SUMS:
            setattr(self, name, getattr(self, name) + getattr(inner, name))
        self.last = inner.last or self.last


_SUMS = tuple(field.name for field in fields(ElementCounts) if field.name != "last")


@dataclass(slots=True, eq=False)
class Element:
    """An element with its visible children, in order."""

    tag: str
    attributes: Mapping[str, str]
    children: list[Child]
    in_article: bool = False
    in_section: bool = False
    in_label: bool = False
    """Whether it stands in a heading or another label."""
    inside: ElementCounts = field(default_factory=ElementCounts)
    """What it holds, once the whole tree was read."""

    def get(self, name: str) -> str:
        return self.attributes.get(name, "")

    @property
    def role(self) -> str:
        return self.attributes["role"].strip().lower() if "role" in self.attributes else ""

    @property
    def style(self) -> str:
        """The style attribute without spaces, in lower case."""
        return _SPACES.sub("", self.get("style")).lower()

    @property
    def names(self) -> frozenset[str]:
        """The words of the element's class, id, role and e-book type, in lower case."""
        if not self.attributes:
            return frozenset()
        words = f"{self.get('class')} {self.get('id')} {self.get('epub:type')} {self.role}"
        return frozenset(words.lower().split())

    @property
    def is_article(self) -> bool:
        return self.tag in {"main", "article"} or self.role == "main"

    def visible_children(self) -> list[Child]:
        """Return the child elements, and the texts that are more than white space."""
        return [child for child in self.children if isinstance(child, Element) or child.strip()]


Child: TypeAlias = Element | str


@dataclass(frozen=True, slots=True)
class Tree:
    """The visible tree of a page, its title and its language; each empty where the page names none."""

    body: Element
    title: str
    language: str


def parse(text: str) -> Tree:
    parser = LexborHTMLParser(text)
    root = parser.root
    top = Element("body", {}, [])
    if root is None:
        return Tree(top, "", "")
    _copy_visible(root, top, _revealed(parser))
    _count_elements(top)
    return Tree(top, _title(parser), root.attributes.get("lang") or root.attributes.get("xml:lang") or "")


def _copy_visible(root: LexborNode, top: Element, revealed: frozenset[str]) -> None:
    """Copy what is visible below `root` into `top`."""
    waiting: list[tuple[LexborNode | None, Element]] = [(root.first_child, top)]
    nodes = 0
    while waiting:
        node, parent = waiting.pop()
        in_article = parent.in_article or parent.is_article
        in_section = parent.in_section or parent.tag == "section"
        in_label = parent.in_label or parent.tag in _LABELS
        while node is not None:
            nodes += 1
            if nodes > MOST_NODES:
                hint = "Split it, or ingest the text that it was made from."
                raise UnreadableFile("", f"the page has more than {MOST_NODES:,} elements", hint=hint)
            tag = node.tag
            if tag == "-text":
                parent.children.append(node.text_content or "")
            elif tag and not tag.startswith("-") and tag not in _HIDDEN_TAGS:
                attributes = {name: value or "" for name, value in node.attributes.items()}
                element = Element(tag, attributes, [], in_article, in_section, in_label)
                if not element.attributes or not _is_hidden(element, revealed):
                    parent.children.append(element)
                    waiting.append((node.first_child, element))
            node = node.next


def _is_hidden(element: Element, revealed: frozenset[str]) -> bool:
    if element.tag in _NEVER_HIDDEN:
        return False
    if element.role in _HIDDEN_ROLES:
        return True
    hidden = "hidden" in element.attributes and element.get("hidden").lower() != "until-found"
    # A page that was saved while a dialog was open marks its main part like this.
    hidden = hidden or (element.get("aria-hidden").lower() == "true" and element.tag not in {"main", "article"})
    if not hidden and "style" in element.attributes:
        style = element.style
        hidden = "display:none" in style or "visibility:hidden" in style
    return hidden and element.get("id") not in revealed


def _revealed(parser: LexborHTMLParser) -> frozenset[str]:
    """Return the ids that a control shows and hides: the panel of a tab or an accordion is meant to be read."""
    return frozenset(
        name for node in parser.css("[aria-controls]") for name in (node.attributes.get("aria-controls") or "").split()
    )


def _title(parser: LexborHTMLParser) -> str:
    title = parser.css_first("head > title")
    text = " ".join((title.text() if title is not None else "").split())
    if text:
        return text
    named = parser.css_first('meta[property="og:title"]')
    return " ".join((named.attributes.get("content") or "").split()) if named is not None else ""


def preorder(root: Element) -> Iterator[Element]:
    """Yield `root` and every element below it, in the order of the page."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        yield element
        waiting += [child for child in reversed(element.children) if isinstance(child, Element)]


def texts(root: Element) -> Iterator[str]:
    """Yield every text below `root`: the texts of an element before the texts of its child elements."""
    return (child for element in preorder(root) for child in element.children if isinstance(child, str))


def _count_elements(body: Element) -> None:
    """Count what every element holds; the innermost elements are counted first."""
    for element in reversed(list(preorder(body))):
        tag, total = element.tag, element.inside
        total.buttons = int(tag == "button")
        total.headings = int(tag in HEADINGS)
        total.blocks = int(tag in BLOCKS)
        total.tables = int(tag == "table")
        total.articles = int(element.is_article)
        total.captions = int(tag == "figcaption")
        total.code = int(tag in {"code", "samp", "kbd"})
        for child in element.children:
            if not isinstance(child, str):
                total.add(child.inside)
            elif visible := child.rstrip():
                total.letters += len(visible) - sum(map(visible.count, " \n\t\r\f"))
                total.sentences += len(_SENTENCE_END.findall(child))
                total.last = visible[-1]
        if tag == "a" and "href" in element.attributes:
            total.linked, total.links = total.letters, 1
            total.anchors = int(element.get("href").strip().startswith("#"))
            if total.last == "?" and total.sentences == 1:
                total.sentences = 0  # in a list of questions, it leads to the answer
