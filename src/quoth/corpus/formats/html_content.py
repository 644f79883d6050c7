"""What of a page is its document: the main part is found, and menus, banners and the page's own furniture go.

A block that holds a sentence is never left out for looking like a menu: to lose content is worse than to keep a menu.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from quoth.corpus.formats.html_measure import BLOCKS, HEADINGS, MENU_SHARE, Measure, is_article, measured, preorder
from quoth.corpus.formats.html_tree import Element, Tree

_MAY_BE_MENU = frozenset({"ul", "ol", "menu", "dir", "div", "section", "p", "center", "form", "fieldset", "address"})
"""A table of links is data more often than not."""

_FURNITURE = frozenset({"header", "footer", "aside"})
_FURNITURE_ROLES = frozenset({"banner", "contentinfo", "complementary"})
_FURNITURE_NAMES = frozenset(
    """footer sidebar masthead topbar navbar site-header site-footer page-footer global-header global-footer
    widget-area""".split()
)
_LABELS = frozenset({"summary", "dt", "legend"})
NOTES = frozenset(
    """doc-endnote doc-endnotes doc-footnote endnote endnotes footnote footnotes footnote-list footnotes-list rearnote
    rearnotes references reflist""".split()
)
"""Classes, roles and meanings of the notes of a document."""
_CONTENTS_NAMES = frozenset(
    "toc table-of-contents tableofcontents toc-container doc-toc contents toctree-wrapper".split()
)
_TRAILS = frozenset({"breadcrumb", "breadcrumbs", "mw-editsection", "skip-link", "headerlink", "footnote-backref"})
_CONSENT = re.compile(r"cookie|consent|gdpr")
_LINK_SIGNS = frozenset("¶#§🔗↩↑^⇧↵")
_SENTENCE_LETTERS = 30
"""Fewer letters are a label or a credit, whatever sign they end with."""
_CONTENTS_TITLE = 60
"""Letters that the title of a table of contents may have, and its numbers."""
_MOST_OF_THE_TEXT = {"main": 0.5, "article": 0.7}
_CONSENT_LETTERS = 2_500


@dataclass(frozen=True, slots=True)
class Content:
    """What is to be read: the roots in order, without what is left out. Elements are known by their `id()`.

    `rescued` names, for a piece of furniture, the blocks in it that hold sentences and are read in its place.
    """

    roots: tuple[Element, ...]
    left_out: frozenset[int]
    rescued: Mapping[int, Sequence[Element]]
    measures: Mapping[int, Measure]


def content(tree: Tree) -> Content:
    """Choose what is read of a page. Where nothing would be left, everything is read."""
    measures = measured(tree.body)
    main = _main(tree.body, measures)
    roots: tuple[Element, ...] = (tree.body,) if main is None else (*_title_outside(tree.body, main, measures), main)
    left_out: set[int] = set()
    rescued: dict[int, list[Element]] = {}
    for root in roots:
        _choose(root, _Place(root is main, section=False, label=False), measures, left_out, rescued)
    found = Content(roots, frozenset(left_out), rescued, measures)
    return found if _letters_left(found) else Content((tree.body,), frozenset(), {}, measures)


def _main(body: Element, measures: Mapping[int, Measure]) -> Element | None:
    """The one main element or the one article, if it holds most of what is not furniture."""
    articles, furniture = _landmarks(body, measures)
    mains = [element for element in articles if element.tag == "main" or element.role == "main"]
    candidates = mains or articles
    if len(candidates) != 1:
        return None
    share = _MOST_OF_THE_TEXT["main" if mains else "article"]
    whole = measures[id(body)].prose - sum(measures[id(element)].prose for element in furniture)
    return candidates[0] if 0 < share * whole <= measures[id(candidates[0])].prose else None


def _landmarks(body: Element, measures: Mapping[int, Measure]) -> tuple[list[Element], list[Element]]:
    """The outermost main elements and articles, and the outermost furniture."""
    articles: list[Element] = []
    furniture: list[Element] = []
    waiting = [(body, False)]
    while waiting:
        element, in_section = waiting.pop()
        if is_article(element):
            articles.append(element)
        elif _is_furniture(element, measures[id(element)], in_section=in_section):
            furniture.append(element)
        else:
            in_section = in_section or element.tag == "section"
            waiting += [(child, in_section) for child in reversed(element.children) if isinstance(child, Element)]
    return articles, furniture


def _is_furniture(element: Element, measure: Measure, *, in_section: bool) -> bool:
    """Whether an element outside the articles is of the page, not of the document.

    The header of a section is its title. A column that is named after its menu may hold the document as well.
    """
    if measure.articles:
        return False
    if element.tag in _FURNITURE:
        of_section = in_section and element.tag != "aside"
        return not of_section and element.names.isdisjoint(NOTES)
    return element.role in _FURNITURE_ROLES or (
        element.tag in {"div", "section", "ul"} and not _FURNITURE_NAMES.isdisjoint(element.names)
    )


def _title_outside(body: Element, main: Element, measures: Mapping[int, Measure]) -> tuple[Element, ...]:
    """The page's title, where it stands above the main part and not in it."""
    titles = [element for element in preorder(body) if element.tag == "h1" and measures[id(element)].letters]
    if len(titles) != 1 or any(element is titles[0] for element in preorder(main)):
        return ()
    return (titles[0],)


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an element stands: inside an article, a section, or a heading or another label."""

    article: bool
    section: bool
    label: bool

    def inside(self, element: Element) -> _Place:
        return _Place(
            self.article or is_article(element),
            self.section or element.tag == "section",
            self.label or element.tag in HEADINGS or element.tag in _LABELS,
        )


def _choose(
    root: Element, place: _Place, measures: Mapping[int, Measure], left_out: set[int], rescued: dict[int, list[Element]]
) -> None:
    """Collect what is left out below `root`, and the sentences that are kept of furniture."""
    waiting = [(root, place)]
    while waiting:
        element, place = waiting.pop()
        measure = measures[id(element)]
        if element is not root and _no_content(element, measure, place):
            left_out.add(id(element))
            continue
        if element is not root and not place.article and _is_furniture(element, measure, in_section=place.section):
            kept = _worth_keeping(element, measures)
            if element not in kept:  # it may be such a block itself, and is then kept whole
                rescued[id(element)] = kept
            continue
        inner = place.inside(element)
        before = ""
        for child in element.children:
            if isinstance(child, str):
                before = child.rstrip()[-1:] or before
                continue
            inside = measures[id(child)]
            # What a line with a colon introduces belongs to it, be it all links.
            if (
                not inner.article
                and inside.menu
                and before != ":"
                and child.tag in BLOCKS
                and child.tag not in HEADINGS
            ):
                left_out.add(id(child))
            else:
                waiting.append((child, inner))
            before = inside.last or before


def _no_content(element: Element, measure: Measure, place: _Place) -> bool:
    """Whether an element is no part of any document: a table of contents, a trail, a button, a consent banner."""
    if element.tag == "button":
        return not place.label and not measure.sentences
    if element.tag == "a":
        href = element.get("href").strip()
        return href.startswith("#") and 0 < measure.letters <= 2 and _only_signs(element)
    names = element.names
    if not _TRAILS.isdisjoint(names) and not measure.sentences:
        return True
    if measure.links >= 2 and measure.anchors == measure.links:
        if not _CONTENTS_NAMES.isdisjoint(names):
            return not measure.sentences and measure.prose <= max(_CONTENTS_TITLE, measure.linked)
        if element.tag in {"ul", "ol"} and measure.links >= 3:
            return measure.linked >= MENU_SHARE * measure.letters
    return (
        not place.article
        and measure.buttons > 0
        and measure.letters < _CONSENT_LETTERS
        and any(_CONSENT.search(name) for name in names)
    )


def _only_signs(element: Element) -> bool:
    text = "".join(child for inner in preorder(element) for child in inner.children if isinstance(child, str)).strip()
    return bool(text) and all(sign in _LINK_SIGNS or sign in "\ufe0e\ufe0f" for sign in text)


def _worth_keeping(furniture: Element, measures: Mapping[int, Measure]) -> list[Element]:
    """The innermost blocks with a sentence in them, and the title of the page."""
    kept = []
    for element in preorder(furniture):
        measure = measures[id(element)]
        innermost = element.tag in BLOCKS and measure.blocks == 1
        speaks = measure.sentences and measure.letters >= _SENTENCE_LETTERS and 2 * measure.linked < measure.letters
        if element.tag == "h1" or (innermost and speaks and not _claims_rights(element)):
            kept.append(element)
    return kept


def _claims_rights(element: Element) -> bool:
    return any("©" in child for inner in preorder(element) for child in inner.children if isinstance(child, str))


def _letters_left(found: Content) -> int:
    letters = 0
    waiting: list[Element] = list(found.roots)
    while waiting:
        element = waiting.pop()
        if id(element) in found.left_out:
            continue
        if (kept := found.rescued.get(id(element))) is not None:
            letters += sum(found.measures[id(block)].letters for block in kept)
            continue
        letters += sum(len(child.strip()) for child in element.children if isinstance(child, str))
        waiting += [child for child in element.children if isinstance(child, Element)]
    return letters
