"""WebVTT, the subtitles of the web. Styles, regions and notes are no part of what is said."""

from __future__ import annotations

import re

from quoth.documents.formats.subtitles.cues import cues_extract, read_cues, subtitle_lines
from quoth.types import Extract

VERSION = "subtitles / 1"

_TITLE = re.compile(r"WEBVTT[ \t]+(?:-+[ \t]*)?(?=\S)")
_LANGUAGE = re.compile(r"(?:Language|X-LANGUAGE)\s*[:=]\s*([A-Za-z]{2,8}(?:-[A-Za-z0-9]{1,8})*)\s*$", re.IGNORECASE)


def extract(data: bytes) -> Extract:
    """Return what is said in the subtitles; raise `UnreadableFile` when there are none."""
    lines, notes = subtitle_lines(data)
    properties: dict[str, str] = {}
    for at, line in enumerate(lines):
        if not line.strip():
            break
        if at == 0 and (title := _TITLE.match(line)) and ":" not in line:
            properties["title"] = line[title.end() :].strip()
        elif language := _LANGUAGE.match(line):
            properties["language"] = language[1]
    return cues_extract(read_cues(lines), properties, notes)
