"""Subtitles are read as what is said: sentences across cues, each with the time at which it begins."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from quoth.documents.formats.subtitles import subrip, webvtt
from quoth.errors import UnreadableFile
from quoth.types import Extract

SRT = """1
00:00:01,000 --> 00:00:03,000
Sow the barley at

2
00:00:03,100 --> 00:00:06,000
<i>2.5 cm</i> when the soil
is warm. Then {\\an8}wait.

3
00:01:20,500 --> 00:01:22,000
Reap it &amp; rest.
"""


def said(found: Extract) -> list[tuple[tuple[str, ...], str]]:
    return [(region.section, found.text[region.span.start : region.span.end]) for region in found.regions or ()]


def vtt(*cues: str, head: str = "WEBVTT") -> list[tuple[tuple[str, ...], str]]:
    return said(webvtt.extract("\n\n".join([head, *cues]).encode()))


def cue(start: int, text: str, *, seconds: int = 2) -> str:
    def clock(at: int) -> str:
        return f"{at // 60:02d}:{at % 60:02d}.000"

    return f"{clock(start)} --> {clock(start + seconds)}\n{text}"


def test_sentences_go_on_over_cues_and_know_when_they_begin() -> None:
    assert said(subrip.extract(SRT.encode())) == [
        (("00:00:01",), "Sow the barley at 2.5 cm when the soil is warm."),
        (("00:00:01", "00:00:03"), "Then wait."),
        (("00:01:20",), "Reap it & rest."),
    ]


def test_times_and_numbers_are_no_text() -> None:
    assert subrip.extract(SRT.encode()).text == (
        "Sow the barley at 2.5 cm when the soil is warm. Then wait.\n\nReap it & rest."
    )


def test_notes_styles_and_settings_are_no_text() -> None:
    head = "WEBVTT - Sowing in spring\nLanguage: en\n\nSTYLE\n::cue { color: red }\n\nNOTE words of a note"
    cues = (
        cue(1, "Sow <c.red>it</c>."),
        "intro\n00:05.000 --> 00:06.000 align:start position:0%\nReap<00:05.500><c> it</c>.",
    )
    found = webvtt.extract("\n\n".join([head, *cues]).encode())

    assert said(found) == [(("00:00:01",), "Sow it."), (("00:00:01", "00:00:05"), "Reap it.")]
    assert dict(found.properties) == {"title": "Sowing in spring", "language": "en"}


def test_a_speaker_is_named_when_another_one_begins() -> None:
    assert vtt(cue(1, "<v Ann>Sow it."), cue(3, "<v Ann>Now."), cue(5, "<v.loud Bob>Why?</v>")) == [
        (("00:00:01",), "Ann: Sow it."),
        (("00:00:01", "00:00:03"), "Now."),
        (("00:00:01", "00:00:05"), "Bob: Why?"),
    ]


def test_a_dash_begins_a_turn() -> None:
    assert [text for _, text in vtt(cue(1, "- Sow it\n- Why"))] == ["- Sow it", "- Why"]


def test_lines_that_roll_up_are_said_once() -> None:
    cues = (
        "00:01.000 --> 00:02.000\nsow the",
        "00:02.000 --> 00:03.000\nsow the\nbarley now",
        "00:03.010 --> 00:04.000\nbarley now",
    )

    assert [text for _, text in vtt(*cues)] == ["sow the barley now"]


def test_what_is_said_twice_stays() -> None:
    assert [text for _, text in vtt(cue(1, "No."), cue(4, "No."))] == ["No.", "No."]


def test_a_scene_lasts_about_a_minute() -> None:
    sections = [section for section, _ in vtt(*(cue(3 * at, f"Row {at} is sown.", seconds=3) for at in range(45)))]

    assert sections[0] == ("00:00:00",)
    assert sections[1] == ("00:00:00", "00:00:03")
    assert sections[20] == ("00:01:00",)
    assert len({section[0] for section in sections}) == 3


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_line_ends_and_encodings_change_nothing(end: str, encoding: str) -> None:
    assert subrip.extract(SRT.replace("\n", end).encode(encoding)) == subrip.extract(SRT.encode())


def test_a_guessed_encoding_is_told() -> None:
    found = subrip.extract("1\n00:00:01,000 --> 00:00:02,000\nÜber den Äckern.\n".encode("cp1252"))

    assert found.text == "Über den Äckern."
    assert found.notes == ("it was read as cp1252, since it is not UTF-8",)


@pytest.mark.parametrize(
    ("data", "why"),
    [(b"", "no subtitles"), (b"WEBVTT\n", "no subtitles"), (b"Sow it.", "no subtitles"), (b"1\x00", "NUL")],
)
def test_what_holds_no_subtitles_is_refused(data: bytes, why: str) -> None:
    for module in (subrip, webvtt):
        with pytest.raises(UnreadableFile, match=why) as refused:
            module.extract(data)
        assert refused.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "99:99:99,999 --> 00:00:00,000\nSow it.",
        "00:00:01,000 --> 00:00:02,000\n00:00:01,000 --> 00:00:02,000\nSow it.",
        "1\n00:00:01,000 --> 00:00:02,000\nSow it.\n2\n00:00:03,000 --> 00:00:04,000\nReap.",
        "0:0:1.0-->0:0:2.0\n<v " + "<" * 1_000,
        "00:00:01,000 --> 00:00:02,000\n&#xD800;&#0;\x02\x03\u202e",
        "00:00:01,000 --> 00:00:02,000\n" + "<i>" * 20_000 + "x",
        "00:00:01,000 --> 00:00:02,000\nx\n\n" * 3_000,
    ],
)
def test_what_is_broken_is_still_read(text: str) -> None:
    found = subrip.extract(text.encode())

    found.text.encode()
    assert "-->" not in found.text


LINES = [
    "1",
    "00:00:01,000 --> 00:00:02,500",
    "00:10.000 --> 00:11.000 align:start",
    "Sow it.",
    "at 2.5 cm",
    "- Why?",
    "<v Ann>Now",
    "",
    "",
]


@settings(max_examples=200, deadline=None)
@given(st.lists(st.sampled_from(LINES), max_size=30))
def test_any_order_of_lines_is_covered(lines: list[str]) -> None:
    try:
        found = webvtt.extract("\n".join(lines).encode())
    except UnreadableFile:
        return
    at = 0
    for region in found.regions or ():
        assert region.span.start >= at and not found.text[at : region.span.start].strip()
        at = region.span.end
    assert not found.text[at:].strip()
