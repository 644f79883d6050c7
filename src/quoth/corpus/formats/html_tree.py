"""The visible part of a web page as a tree, walked once and without recursion, however deep it is nested."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TypeAlias

from selectolax.lexbor import LexborHTMLParser, LexborNode

from quoth.errors import UnreadableFile

MOST_NODES = 2_000_000
"""Elements and texts of a page together."""

_UNSEEN = frozenset(
    """area applet audio base canvas col colgroup datalist del dialog embed frameset head iframe input link map meta
    meter nav noembed noframes noscript object param progress rp s script search select source strike style svg template
    textarea title track video""".split()
)
"""Not text, not for the reader, or (`nav`, controls, dialogs) not of the document. What is struck out holds no more."""

_UNSEEN_ROLES = frozenset(
    """alertdialog dialog doc-backlink doc-pagelist doc-toc menu menubar navigation search tablist toolbar""".split()
)
_NEVER_HIDDEN = frozenset({"html", "body"})
"""A script shows them once it has run."""

_SPACES = re.compile(r"\s+")


@dataclass(slots=True, eq=False)
class Element:
    """An element with its visible children, in order."""

    tag: str
    attributes: Mapping[str, str]
    children: list[Child]

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
        """The words of its class and id, and the meaning that an e-book gives it; in lower case."""
        if not self.attributes:
            return frozenset()
        words = f"{self.get('class')} {self.get('id')} {self.get('epub:type')} {self.role}"
        return frozenset(words.lower().split())


Child: TypeAlias = Element | str


@dataclass(frozen=True, slots=True)
class Tree:
    body: Element
    title: str
    language: str


def parse(text: str) -> Tree:
    """The visible tree of a page, its title and its language (`""` where it names none)."""
    parser = LexborHTMLParser(text)
    root = parser.root
    top = Element("body", {}, [])
    if root is None:
        return Tree(top, "", "")
    revealed = _revealed(parser)
    _build(root, top, revealed)
    return Tree(top, _title(parser), root.attributes.get("lang") or root.attributes.get("xml:lang") or "")


def _build(root: LexborNode, top: Element, revealed: frozenset[str]) -> None:
    """Copy what is visible below `root` into `top`."""
    parents = [top]
    node: LexborNode | None = root.first_child
    depth = 0
    nodes = 0
    while node is not None:
        nodes += 1
        if nodes > MOST_NODES:
            hint = "Split it, or ingest the text that it was made from."
            raise UnreadableFile("", f"the page has more than {MOST_NODES:,} elements", hint=hint)
        tag = node.tag
        below: LexborNode | None = None
        if tag == "-text":
            parents[-1].children.append(node.text_content or "")
        elif tag and not tag.startswith("-") and tag not in _UNSEEN:
            attributes = {name: value or "" for name, value in node.attributes.items()}
            element = Element(tag, attributes, [])
            if not attributes or not _unseen(element, revealed):
                parents[-1].children.append(element)
                below = node.first_child
                if below is not None:
                    parents.append(element)
        if below is not None:
            node, depth = below, depth + 1
            continue
        # Upwards until there is something to the right; the root's own neighbours are no part of the page.
        while node is not None and (beside := node.next) is None:
            node = node.parent if depth else None
            if node is not None:
                depth -= 1
                parents.pop()
        node = beside if node is not None else None


def _unseen(element: Element, revealed: frozenset[str]) -> bool:
    if element.tag in _NEVER_HIDDEN:
        return False
    if element.role in _UNSEEN_ROLES:
        return True
    hidden = "hidden" in element.attributes and element.get("hidden").lower() != "until-found"
    # The main part is hidden so where a dialog happened to be open when the page was saved.
    hidden = hidden or (element.get("aria-hidden").lower() == "true" and element.tag not in {"main", "article"})
    if not hidden and "style" in element.attributes:
        style = element.style
        hidden = "display:none" in style or "visibility:hidden" in style
    return hidden and element.get("id") not in revealed


def _revealed(parser: LexborHTMLParser) -> frozenset[str]:
    """The ids that a control of the page shows and hides: the panel of a tab or an accordion is there to be read."""
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
