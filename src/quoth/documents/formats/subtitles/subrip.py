"""SubRip (`.srt`): numbered subtitles with their times."""

from __future__ import annotations

from quoth.documents.formats.subtitles.cues import cues_extract, read_cues, subtitle_lines
from quoth.types import Extract

VERSION = "subtitles / 1"


def extract(data: bytes) -> Extract:
    """Return what is said in the subtitles; raise `UnreadableFile` when there are none."""
    lines, notes = subtitle_lines(data)
    return cues_extract(read_cues(lines), {}, notes)
