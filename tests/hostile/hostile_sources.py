"""Sources of documents and subtitles that nest, never close what they open, or repeat it without end."""

from __future__ import annotations

from hostile_parts import SAID, Hostile, hostile


def _text(text: str) -> bytes:
    return f"{text}\n\n{SAID}\n".encode()


def _stairs(step: str, between: str, levels: int) -> bytes:
    return _text(between.join(" " * level + step for level in range(levels)))


_CUE = "00:00:01,000 --> 00:00:02,000\n"

FILES: tuple[Hostile, ...] = (
    hostile("source/nested-blocks.rst", "taken", lambda w: _stairs("- x", "\n", w.many(3_000))),
    hostile("source/nested-quotes.rst", "taken", lambda w: _stairs("x", "\n\n", w.many(2_000))),
    hostile("source/bullets-in-a-line.rst", "taken", lambda w: _text("- " * w.many(20_000))),
    hostile("source/adornments.rst", "taken", lambda w: _text("====\n" * w.many(50_000))),
    hostile("source/directives.rst", "taken", lambda w: _text(".. note::\n" * w.many(50_000))),
    hostile("source/table-that-never-ends.rst", "taken", lambda w: _text("===  ===\n" + "a    b\n" * w.many(50_000))),
    hostile(
        "source/includes-a-file.rst",
        "taken",
        lambda w: _text(f".. include:: {w.outside}\n\n.. raw:: html\n   :file: {w.outside}"),
    ),
    hostile("source/nul.rst", "refused", lambda _: b"Sow\x00"),
    hostile("source/crlf-and-a-mark.rst", "taken", lambda _: b"\xef\xbb\xbf" + _text("A\r\n=\r\n")),
    hostile("source/open-braces.tex", "taken", lambda w: _text("\\section{" * w.many(100_000))),
    hostile("source/open-environments.tex", "taken", lambda w: _text("\\begin{itemize}\\item " * w.many(50_000))),
    hostile("source/ends-alone.tex", "taken", lambda w: _text("\\begin{a}" * 500 + "\\end{b}" * w.many(50_000))),
    hostile("source/switches-in-a-line.tex", "taken", lambda w: _text("a \\small " * w.many(100_000))),
    hostile("source/open-formulas.tex", "taken", lambda w: _text("$$ \\[ \\begin{align} " * w.many(30_000))),
    hostile(
        "source/macros-that-grow.tex", "taken", lambda w: _text("\\def\\a{\\b\\b}\\def\\b{\\a\\a}\\a" * w.many(10_000))
    ),
    hostile("source/includes-a-file.tex", "taken", lambda w: _text(f"\\input{{{w.outside}}}\\include{{{w.outside}}}")),
    hostile("source/shell-escape.tex", "taken", lambda _: _text("\\write18{touch owned}\\immediate\\write18{id}")),
    hostile(
        "source/open-blocks.adoc",
        "taken",
        lambda w: _text("".join("=" * length + "\n" for length in range(4, 4 + w.many(2_000)))),
    ),
    hostile("source/cells-without-end.adoc", "taken", lambda w: _text("|===\n" + "999*|x " * w.many(50_000))),
    hostile("source/brackets.adoc", "taken", lambda w: _text("[" * w.many(50_000) + "]" * w.many(50_000))),
    hostile("source/terms.adoc", "taken", lambda w: _text("a::\n" * w.many(50_000))),
    hostile("source/includes-a-file.adoc", "taken", lambda w: _text(f"include::{w.outside}[]\n\ninclude::{w.url}/a[]")),
    hostile("subtitles/times-that-are-none.srt", "taken", lambda _: _text("99:99:99,999 --> 00:00:00,000\nx")),
    hostile("subtitles/cues-without-end.srt", "taken", lambda w: _text(f"{_CUE}x.\n\n" * w.many(100_000))),
    hostile("subtitles/one-sentence.vtt", "taken", lambda w: _text("WEBVTT\n\n" + f"{_CUE}and\n\n" * w.many(50_000))),
    hostile(
        "subtitles/tags.vtt",
        "taken",
        lambda w: _text(f"WEBVTT\n\n{_CUE}{SAID}" + "<v " * w.many(50_000) + "<i>" * w.many(50_000)),
    ),
    hostile("subtitles/nothing-said.vtt", "refused", lambda _: _text("WEBVTT")),
)
