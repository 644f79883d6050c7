"""The web page, in the language of its visitor."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from html import escape
from html.parser import HTMLParser
from importlib.resources import files

from fastapi import Request

from quoth.output.messages import ENGLISH, Messages, languages, spoken

COOKIE = "quoth_language"
REMEMBERED = 365 * 24 * 3600
"""Seconds for which a choice is kept."""
_ATTRIBUTE = re.compile(r'\b(aria-label|content|placeholder|data-(?:dark|light)(?:-mode)?)="([^"]+)"')
_VOID = frozenset({"input", "link", "meta"})


def language_for(request: Request) -> str:
    """Return the language that the address names, else the one chosen before, else the browser's."""
    asked = (request.query_params.get("lang", ""), request.cookies.get(COOKIE, ""))
    chosen = next(filter(None, map(spoken, asked)), None)
    return chosen or _preferred(request.headers.get("accept-language", ""))


def _preferred(header: str) -> str:
    """Return the first language of an `Accept-Language` header that there is, by its weights."""
    weighed: list[tuple[float, str]] = []
    for part in header.split(",")[: 4 * len(languages())]:
        tag, _, weight = part.partition(";")
        number = re.fullmatch(r"\s*q=([01](?:\.\d{0,3})?)\s*", weight)
        language = spoken(tag)
        if language and (number or not weight):
            weighed.append((float(number[1]) if number else 1.0, language))
    best = max((weight for weight, _ in weighed), default=0.0)
    return next((language for weight, language in weighed if 0 < weight == best), ENGLISH)


@cache
def page_in(language: str) -> str:
    """Return the page as HTML; scripts find its language in `lang` of its root."""
    page = files("quoth").joinpath("web", "index.html").read_text(encoding="utf-8")
    if language == ENGLISH:
        return page
    return translated(page, Messages(language)).replace('<html lang="en">', f'<html lang="{language}">')


def translated(page: str, say: Callable[[str], str]) -> str:
    """Return the page with what `say` makes of its words, except in elements with `translate="no"`."""
    translator = _Translator(say)
    translator.feed(page)
    translator.close()
    return "".join(translator.parts)


class _Translator(HTMLParser):
    """Copies a page as it is, but for its words."""

    def __init__(self, say: Callable[[str], str]) -> None:
        super().__init__(convert_charrefs=False)
        self.parts: list[str] = []
        self._say = say
        self._open: list[bool] = []
        """For each open element whether its words stay as they are."""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        kept = any(self._open[-1:]) or ("translate", "no") in attrs
        source = self.get_starttag_text() or ""
        is_page_setting = tag == "meta" and ("name", "description") not in attrs
        if not kept and not is_page_setting:
            source = _ATTRIBUTE.sub(lambda found: f'{found[1]}="{escape(self._say(found[2]))}"', source)
        self.parts.append(source)
        if tag not in _VOID:
            self._open.append(kept)

    def handle_endtag(self, tag: str) -> None:
        self.parts.append(f"</{tag}>")
        self._open.pop()

    def handle_data(self, data: str) -> None:
        words = data.strip()
        said = data if not words or any(self._open[-1:]) else data.replace(words, escape(self._say(words), quote=False))
        self.parts.append(said)

    def handle_decl(self, decl: str) -> None:
        self.parts.append(f"<!{decl}>")
