"""The cues of subtitles as a text that can be read: joined into sentences, and these into scenes.

A cue ends where the screen is full, not where a sentence does, so the cues of a scene are joined by spaces. Times are
no part of the text. The section of a sentence says when its scene begins, and when the cue in which it begins is shown.
"""

from __future__ import annotations

import html
import re
from bisect import bisect_right
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from quoth.documents.encodings import decode
from quoth.errors import UnreadableFile
from quoth.language.boundaries import cuts
from quoth.language.spans import trim
from quoth.types import Extract, Region, RegionKind, Span

_PAUSE, _LONG_PAUSE = 4.0, 8.0
"""Seconds without a cue that begin a scene after a sentence, and anywhere."""
_SCENE, _LONGEST_SCENE = 60.0, 120.0
"""Seconds after which the next sentence begins a scene, and after which the next cue does."""
_AT_ONCE = 0.02
"""Seconds between a cue and its repetition by a program that rolls lines up."""
_CLOCK = r"(?:(\d{1,4})\s*:\s*)?(\d{1,2})\s*:\s*(\d{1,2})(?:\s*[.,:]\s*(\d{1,3}))?"
TIMING = re.compile(rf"\s*{_CLOCK}\s*--?>\s*{_CLOCK}(?:\s|$)")
_LINE_END = re.compile(r"\r\n?|\n")
_VOICE = re.compile(r"<v(?:\.[^\s>]*)?[ \t]+([^>]{1,200})>")
_TAG = re.compile(r"</?[A-Za-z][^<>]*>|<[\d:.]+>|</?>|\{\\[^{}]*\}")
_INVISIBLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")
_TURN = re.compile(r"(?:[-–—]|>>+)\s*(?=\S)")
_ENDS = re.compile(r"[.!?…。！？][\"'”’)\]»]*$|[♪♫\])]$")


@dataclass(frozen=True, slots=True)
class Cue:
    """Lines that are shown together, from `start` to `end` in seconds."""

    start: float
    end: float
    lines: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Utterance:
    """What one person says in one cue; `turns` says whether another one begins to speak."""

    start: float
    end: float
    text: str
    turns: bool


def subtitle_lines(data: bytes) -> tuple[list[str], tuple[str, ...]]:
    """Return the lines of a file, and a note when its encoding was guessed; raise `UnreadableFile` if it is no text."""
    text, encoding = decode(data, label="")
    notes = () if encoding.startswith("utf-") else (f"it was read as {encoding}, since it is not UTF-8",)
    return _LINE_END.split(text.removeprefix("\ufeff")), notes


def read_cues(lines: Sequence[str]) -> list[Cue]:
    """Return the cues between lines: each begins with its times and ends at a blank line or before the next."""
    timings = [(at, found) for at, line in enumerate(lines) if "-" in line and (found := TIMING.match(line))]
    cues = []
    for number, (at, found) in enumerate(timings):
        stop = timings[number + 1][0] if number + 1 < len(timings) else len(lines)
        shown = []
        for line in range(at + 1, stop):
            if not lines[line].strip():
                break
            shown.append(lines[line])
        # Where no blank line comes before the next cue, its number would be read as text.
        if number + 1 < len(timings) and at + 1 + len(shown) == stop and shown and shown[-1].strip().isdigit():
            shown.pop()
        cues.append(Cue(_seconds(found.groups()[:4]), _seconds(found.groups()[4:8]), tuple(shown)))
    return cues


def _seconds(clock: Sequence[str | None]) -> float:
    hours, minutes, seconds, parts = (part or "0" for part in clock)
    return int(hours) * 3600 + int(minutes) * 60 + int(seconds) + int(parts.ljust(3, "0")) / 1000


def cues_extract(cues: Sequence[Cue], properties: Mapping[str, str], notes: tuple[str, ...]) -> Extract:
    """Return the text of all cues; raise `UnreadableFile` when there is none."""
    if not cues:
        raise UnreadableFile("", "it holds no subtitles", hint="Give it its true ending, or save it again.")
    texts: list[str] = []
    regions: list[Region] = []
    length = 0
    for scene in _scenes(list(_utterances(cues))):
        opened = _clock(scene[0].start)
        for paragraph in _paragraphs(scene):
            text = " ".join(utterance.text for utterance in paragraph)
            texts.append(text)
            regions += _regions(text, paragraph, opened, offset=length)
            length += len(text) + 2
    return Extract("\n\n".join(texts), tuple(regions), (), (), properties, notes)


def _utterances(cues: Sequence[Cue]) -> Iterator[_Utterance]:
    """Yield what is said, in order, without the lines that only stay on the screen."""
    before = Cue(0, 0, ())
    speaker = ""
    for cue in cues:
        lines = tuple(filter(None, map(_plain, cue.lines)))
        shown = lines
        rolled = bool(before.lines and lines and lines[0] == before.lines[-1])
        if rolled and (len(lines) > 1 or 0 <= cue.start - before.end <= _AT_ONCE):
            shown = lines[1:]
        before = Cue(cue.start, cue.end, lines or before.lines)
        for line in shown:
            for name, text in _voices(line):
                turns = bool(name) and name != speaker
                said = f"{name}: {text}" if turns else text
                speaker = name or speaker
                yield _Utterance(cue.start, cue.end, said, turns or _TURN.match(text) is not None)


def _plain(line: str) -> str:
    """Return a line as it is shown, but with the names of its speakers still marked."""
    kept = _VOICE.sub(lambda voice: f"\x02{voice[1].strip()}\x03", line.replace("\x02", "").replace("\x03", ""))
    bare = html.unescape(_TAG.sub("", kept).replace("\\N", " ").replace("\\h", " "))
    visible = "".join(
        part if part in {"\x02", "\x03"} else _INVISIBLE.sub("", part) for part in re.split("([\x02\x03])", bare)
    )
    return " ".join(visible.encode("utf-16", "surrogatepass").decode("utf-16", "replace").split())


def _voices(line: str) -> Iterator[tuple[str, str]]:
    """Yield the parts of a line with the name of who speaks, which may be empty."""
    first, *voices = line.split("\x02")
    if first.strip():
        yield "", first.replace("\x03", "").strip()
    for voice in voices:
        name, _, text = voice.partition("\x03")
        if text.strip():
            yield name.strip(), text.replace("\x03", "").strip()


def _scenes(utterances: Sequence[_Utterance]) -> Iterator[list[_Utterance]]:
    scene: list[_Utterance] = []
    for utterance in utterances:
        if scene:
            whole = _ENDS.search(scene[-1].text) is not None
            pause, lasts = utterance.start - scene[-1].end, utterance.start - scene[0].start
            forced = pause >= _LONG_PAUSE or lasts >= _LONGEST_SCENE or lasts < 0
            if forced or (whole and (pause >= _PAUSE or lasts >= _SCENE)):
                yield scene
                scene = []
        scene.append(utterance)
    if scene:
        yield scene


def _paragraphs(scene: Sequence[_Utterance]) -> Iterator[list[_Utterance]]:
    """Yield the runs of one speaker."""
    run: list[_Utterance] = []
    for utterance in scene:
        if run and utterance.turns:
            yield run
            run = []
        run.append(utterance)
    yield run


def _regions(text: str, paragraph: Sequence[_Utterance], opened: str, *, offset: int) -> Iterator[Region]:
    """Yield a region for the sentences that begin in the same cue."""
    begins: list[int] = []
    at = 0
    for utterance in paragraph:
        begins.append(at)
        at += len(utterance.text) + 1
    start, time = 0, _clock(paragraph[0].start)
    for cut in (*cuts(text, 0, len(text)), len(text)):
        behind = trim(text, cut, len(text))
        said = paragraph[bisect_right(begins, behind.start) - 1] if behind else None
        if said is not None and _clock(said.start) == time:
            continue
        span = trim(text, start, cut)
        if span is not None:
            section = (opened,) if time == opened else (opened, time)
            yield Region(Span(span.start + offset, span.end + offset), RegionKind.PARAGRAPH, section, lead=None)
        start, time = cut, _clock(said.start) if said else time


def _clock(seconds: float) -> str:
    """Return a time as `01:02:03`."""
    whole = int(seconds)
    return f"{whole // 3600:02d}:{whole // 60 % 60:02d}:{whole % 60:02d}"
