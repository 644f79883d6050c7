"""Plain text and Markdown: the worst cases of parsers, encodings and front matter."""

from __future__ import annotations

from hostile_parts import SAID, Hostile, World, hostile

_SAID = f"\n\n{SAID}\n".encode()


def _bomb(world: World) -> str:
    """Aliases that stand for ever more aliases; a few millions in a small corpus, else a thousand millions."""
    levels = 9 if world.scale >= 1 else 6
    rows = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, levels)]
    return "".join(["a0: &a0 [ha, ha]\n", *rows, f"last: &last [{', '.join([f'*a{levels - 1}'] * 10)}]\n"])


def _front(yaml: str) -> bytes:
    return f"---\n{yaml}\n---\n".encode() + _SAID


FILES: tuple[Hostile, ...] = (
    hostile("text/ten-mb-without-a-line-end.txt", "taken", lambda w: b"word " * w.many(2 << 20)),
    hostile("text/ten-mb-without-a-space.txt", "taken", lambda w: b"x" * w.many(10 << 20)),
    hostile("text/five-mb-of-dots.txt", "taken", lambda w: b". " * w.many(2_500_000)),
    hostile("text/five-mb-of-digits.txt", "taken", lambda w: b"1.2-3,4/" * w.many(600_000)),
    hostile("text/five-mb-of-line-ends.txt", "taken", lambda w: b"\r\n" * w.many(2_500_000) + _SAID),
    hostile("text/five-mb-of-capitals.txt", "taken", lambda w: b"A. B. Dr. No. " * w.many(350_000)),
    hostile("text/only-combining-marks.txt", "taken", lambda w: "\u0301\u20dd".encode() * w.many(200_000)),
    hostile("text/bidi-overrides.txt", "taken", lambda _: f"\u202e{SAID}\u202c \u2066{SAID}\u2069 \u200f.".encode()),
    hostile(
        "text/invalid-utf-8.txt",
        "either",
        lambda _: b"\xc3\x28 \xa0\xa1 \xe2\x28\xa1 \xf0\x90\x28\xbc \xed\xa0\x80" + _SAID,
    ),
    hostile("text/overlong-utf-8.txt", "either", lambda _: b"\xc0\xaf\xe0\x80\xaf\xf8\x88\x80\x80\x80" * 50 + _SAID),
    hostile("text/utf-16-with-half-a-pair.txt", "refused", lambda _: b"\xff\xfe\x00\xd8a\x00"),
    hostile("text/lone-nul.txt", "refused", lambda _: b"\x00"),
    hostile("text/lone-nul.md", "refused", lambda _: b"\x00"),
    hostile(
        "text/control-characters.txt",
        "taken",
        lambda _: bytes(range(1, 32)) * 40 + b"\x1b[2J\x1b]0;owned\x07\x7f" + _SAID,
    ),
    hostile("text/five-mb-of-brackets.md", "either", lambda w: b"[" * w.many(5 << 20) + _SAID),
    hostile("text/five-mb-of-parentheses.md", "either", lambda w: b"(" * w.many(5 << 20) + _SAID),
    hostile("text/five-mb-of-stars.md", "either", lambda w: b"*" * w.many(5 << 20) + _SAID),
    hostile("text/five-mb-of-quote-marks.md", "either", lambda w: b">" * w.many(5 << 20) + _SAID),
    hostile("text/five-mb-of-hashes.md", "either", lambda w: b"#" * w.many(5 << 20) + _SAID),
    hostile(
        "text/five-mb-of-pipes.md", "either", lambda w: b"|" * w.many(2 << 20) + b"\n" + b"|-" * w.many(1 << 20) + _SAID
    ),
    hostile("text/emphasis-bomb.md", "either", lambda w: b"*a **b _c __d " * w.many(50_000) + _SAID),
    hostile("text/link-bomb.md", "either", lambda w: b"[a](" * w.many(50_000) + _SAID),
    hostile(
        "text/link-definition-bomb.md",
        "either",
        lambda w: b"".join(b"[a%d]: x\n" % n for n in range(w.many(50_000))) + b"[a1]" * w.many(50_000) + _SAID,
    ),
    hostile("text/backtick-bomb.md", "either", lambda w: b" ".join(b"`" * n for n in range(w.many(2_000))) + _SAID),
    hostile("text/autolink-bomb.md", "either", lambda w: b"<a@" * w.many(100_000) + b"<!--" * w.many(100_000) + _SAID),
    hostile("text/html-bomb.md", "either", lambda w: b"<div>\n" * w.many(100_000) + b"<?" * w.many(100_000) + _SAID),
    hostile(
        "text/nested-lists.md", "either", lambda w: b"".join(b"  " * n + b"- x\n" for n in range(w.many(1_000))) + _SAID
    ),
    hostile("text/nested-quotes-and-lists.md", "either", lambda w: b"> - " * w.many(20_000) + b"x" + _SAID),
    hostile(
        "text/table-of-many-columns.md",
        "either",
        lambda w: (
            b"|a" * w.many(5_000)
            + b"|\n"
            + b"|-" * w.many(5_000)
            + b"|\n"
            + (b"|" * w.many(5_000) + b"\n") * 50
            + _SAID
        ),
    ),
    hostile("text/setext-without-end.md", "either", lambda w: b"a\n" * w.many(300_000) + b"===" + _SAID),
    hostile("text/fences-without-end.md", "either", lambda w: b"~~~\n```\n" * w.many(100_000) + _SAID),
    hostile(
        "text/remote-pictures.md",
        "taken",
        lambda w: f"![x]({w.url}/a.png) <img src='{w.url}/b.png'>\n\n![y][z]\n\n[z]: {w.url}/c.png\n".encode() + _SAID,
    ),
    hostile(
        "text/includes.md",
        "taken",
        lambda w: f"{{{{#include {w.outside}}}}}\n\n!include {w.outside}\n\n<<< {w.outside}\n".encode() + _SAID,
    ),
    hostile("text/front-matter-bomb.md", "either", lambda w: _front(_bomb(w))),
    hostile("text/front-matter-bomb-in-the-title.md", "refused", lambda w: _front(_bomb(w) + "title: *last\n")),
    hostile(
        "text/front-matter-bomb-in-a-tag.md",
        "either",
        lambda w: _front(_bomb(w) + "tags: {crop: *last}\nsuperseded_by: *last\n"),
    ),
    hostile("text/front-matter-that-holds-itself.md", "refused", lambda _: _front("title: &a [*a]")),
    hostile(
        "text/front-matter-that-runs-code.md",
        "refused",
        lambda _: _front('title: !!python/object/apply:os.system ["true"]'),
    ),
    hostile("text/front-matter-nested.md", "refused", lambda w: _front("a: " + "[" * w.many(50_000))),
    hostile("text/front-matter-without-end.md", "either", lambda w: b"---\n" + b"a: b\n" * w.many(50_000) + _SAID),
    hostile("text/front-matter-of-a-huge-number.md", "either", lambda _: _front("title: " + "9" * 100_000)),
)


def manifest_bomb(world: World) -> bytes:
    """A `corpus.yaml` whose title stands for a thousand million words."""
    bomb = _bomb(world).rstrip().replace("\n", "\n      ")
    return f"documents:\n  - match: '*'\n    title:\n      {bomb}\n".encode()
