"""Chooses which part of a page is its document: menus, banners and the furniture of the page are left out.

A block that holds a sentence is never left out for looking like a menu: losing content is worse than keeping a menu.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from quoth.documents.formats.html.element_tree import BLOCKS, HEADINGS, MENU_SHARE, Element, Tree, preorder, texts

NOTES = frozenset(
    """doc-endnote doc-endnotes doc-footnote endnote endnotes footnote footnotes footnote-list footnotes-list rearnote
    rearnotes references reflist""".split()
)
"""Classes, roles and e-book types of the notes of a document."""

_FURNITURE = frozenset({"header", "footer", "aside"})
_FURNITURE_ROLES = frozenset({"banner", "contentinfo", "complementary"})
_FURNITURE_NAMES = frozenset(
    """footer sidebar masthead topbar navbar navheader navfooter site-header site-footer page-footer global-header
    global-footer widget-area""".split()
)
_CONTENTS_NAMES = frozenset(
    "toc table-of-contents tableofcontents toc-container doc-toc contents toctree-wrapper".split()
)
_TRAILS = frozenset({"breadcrumb", "breadcrumbs", "mw-editsection", "skip-link", "headerlink", "footnote-backref"})
_CONSENT = re.compile(r"cookie|consent|gdpr")
_LINK_SIGNS = frozenset("¶#§🔗↩↑^⇧↵\ufe0e\ufe0f")
_SENTENCE_LETTERS = 30  # a block with fewer letters is a label or a credit, whatever sign it ends with
_CONTENTS_TITLE = 60  # letters that the title and the numbers of a table of contents may have together
_MAIN_SHARE, _ARTICLE_SHARE = 0.5, 0.7
"""The share of the text that a main element, or an article, must hold to be the document."""
_CONSENT_LETTERS = 2_500


@dataclass(frozen=True, slots=True)
class Content:
    """The content of a page: read the roots in order, without the elements in `left_out`. Keys are elements' `id()`.

    `rescued` maps a piece of page furniture to the blocks with sentences in it, which are read in its place.
    """

    roots: tuple[Element, ...]
    left_out: frozenset[int]
    rescued: Mapping[int, Sequence[Element]]

    def texts(self, root: Element) -> Iterator[str]:
        """Yield the texts that are read below `root`, in the order of the page."""
        waiting: list[Element | str] = [root]
        while waiting:
            child = waiting.pop()
            if isinstance(child, str):
                yield child
            elif id(child) not in self.left_out:
                waiting += reversed(self.rescued.get(id(child), child.children))


def choose_content(tree: Tree) -> Content:
    """Choose what to read of a page. Where nothing would be left, read everything."""
    main = _main_element(tree.body)
    roots: tuple[Element, ...] = (tree.body,) if main is None else (*_title_outside(tree.body, main), main)
    left_out: set[int] = set()
    rescued: dict[int, list[Element]] = {}
    for root in roots:
        _leave_out(root, left_out, rescued)
    content = Content(roots, frozenset(left_out), rescued)
    holds_text = any(text.strip() for root in roots for text in content.texts(root))
    return content if holds_text else Content((tree.body,), frozenset(), {})


def _main_element(body: Element) -> Element | None:
    """Return the only main element or the only article, if it holds most of the text outside the furniture."""
    articles, furniture = _landmarks(body)
    mains = [element for element in articles if element.tag == "main" or element.role == "main"]
    candidates = mains or articles
    if len(candidates) != 1:
        return None
    share = _MAIN_SHARE if mains else _ARTICLE_SHARE
    whole = body.inside.prose - sum(element.inside.prose for element in furniture)
    return candidates[0] if 0 < share * whole <= candidates[0].inside.prose else None


def _landmarks(body: Element) -> tuple[list[Element], list[Element]]:
    """Return the outermost main elements and articles, and the outermost furniture."""
    articles: list[Element] = []
    furniture: list[Element] = []
    waiting = [body]
    while waiting:
        element = waiting.pop()
        if element.is_article:
            articles.append(element)
        elif _is_furniture(element):
            furniture.append(element)
        else:
            waiting += [child for child in reversed(element.children) if isinstance(child, Element)]
    return articles, furniture


def _is_furniture(element: Element) -> bool:
    """Return whether an element outside the articles belongs to the page, not to the document.

    The header of a section is its title. A column that is named after its menu may hold the document as well.
    """
    if element.inside.articles:
        return False
    if element.tag in _FURNITURE:
        of_section = element.in_section and element.tag != "aside"
        return not of_section and element.names.isdisjoint(NOTES)
    return element.role in _FURNITURE_ROLES or (
        element.tag in {"div", "section", "ul"} and not _FURNITURE_NAMES.isdisjoint(element.names)
    )


def _title_outside(body: Element, main: Element) -> tuple[Element, ...]:
    """Return the title of the page, if it stands outside the main element; else nothing."""
    titles = [element for element in preorder(body) if element.tag == "h1" and element.inside.letters]
    if len(titles) != 1 or any(element is titles[0] for element in preorder(main)):
        return ()
    return (titles[0],)


def _leave_out(root: Element, left_out: set[int], rescued: dict[int, list[Element]]) -> None:
    """Add to `left_out` and `rescued` what is not read below `root`, and what is read of its furniture."""
    waiting = [root]
    while waiting:
        element = waiting.pop()
        if element is not root and _is_no_content(element):
            left_out.add(id(element))
            continue
        if element is not root and not element.in_article and _is_furniture(element):
            speaking = _speaking_blocks(element)
            if element not in speaking:  # furniture that is such a block itself is read whole
                rescued[id(element)] = speaking
            continue
        before = ""
        for child in element.children:
            if isinstance(child, str):
                before = child.rstrip()[-1:] or before
                continue
            in_child = child.inside
            is_menu = in_child.is_menu and child.tag in BLOCKS and child.tag not in HEADINGS
            # A list of links belongs to the line with a colon that introduces it.
            if is_menu and not child.in_article and before != ":":
                left_out.add(id(child))
            else:
                waiting.append(child)
            before = in_child.last or before


def _is_no_content(element: Element) -> bool:
    """Return whether an element is part of no document: a table of contents, a trail, a button, a consent banner."""
    inside = element.inside
    if element.tag == "button":
        return not element.in_label and not inside.sentences
    if element.tag == "a":
        href = element.get("href").strip()
        text = "".join(texts(element)).strip() if href.startswith("#") and 0 < inside.letters <= 2 else ""
        return bool(text) and _LINK_SIGNS.issuperset(text)
    names = element.names
    if not _TRAILS.isdisjoint(names) and not inside.sentences:
        return True
    if inside.links >= 2 and inside.anchors == inside.links:
        if not _CONTENTS_NAMES.isdisjoint(names):
            return not inside.sentences and inside.prose <= max(_CONTENTS_TITLE, inside.linked)
        if element.tag in {"ul", "ol"} and inside.links >= 3:
            return inside.linked >= MENU_SHARE * inside.letters
    return (
        not element.in_article
        and inside.buttons > 0
        and inside.letters < _CONSENT_LETTERS
        and any(_CONSENT.search(name) for name in names)
    )


def _speaking_blocks(furniture: Element) -> list[Element]:
    """Return the innermost blocks with a sentence in them, and the title of the page."""
    blocks = []
    for element in preorder(furniture):
        inside = element.inside
        innermost = element.tag in BLOCKS and inside.blocks == 1
        speaks = inside.sentences and inside.letters >= _SENTENCE_LETTERS and 2 * inside.linked < inside.letters
        if element.tag == "h1" or (innermost and speaks and not any("©" in text for text in texts(element))):
            blocks.append(element)
    return blocks
