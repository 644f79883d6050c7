"""Write a corpus of hostile files: what crashes, hangs, floods or fools a program that reads other people's documents.

    python tests/hostile/hostile_corpus.py FOLDER [--scale 0.1] [--ingest]

Every file has a name that says what it is. The same arguments write the same files. `--scale` makes the large ones
smaller; `--ingest` ingests them with the default limits and prints what became of each. No file does harm by itself;
some, unpacked without a limit, fill a disk.
"""

from __future__ import annotations

import argparse
import os
import random
import socket
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import hostile_archives
import hostile_books
import hostile_docx
import hostile_html
import hostile_json
import hostile_mail
import hostile_pdf
import hostile_sheets
import hostile_slides
import hostile_sources
import hostile_text
from hostile_parts import Expect, Hostile, World, hostile

ENDINGS = (
    *(".md", ".txt", ".pdf", ".docx", ".html", ".rtf", ".doc", ".odt", ".xlsx", ".csv", ".pptx", ".json"),
    *(".epub", ".eml", ".mbox", ".msg", ".rst", ".adoc", ".tex", ".vtt", ".srt"),
)
AS_TEXT = frozenset({".md", ".txt", ".csv", ".json", ".rst", ".adoc", ".tex"})
OUTSIDE = "The combination of the safe behind the granary is 4711."
SPARSE_BYTES = 10 << 30
NOT_UNICODE = b"name-that-is-not-unicode-\xff\xfe.md"


def files() -> tuple[Hostile, ...]:
    """Every file with content, the odd ones of the file system aside."""
    return (
        *_of_every_ending(),
        *hostile_pdf.FILES,
        *hostile_docx.FILES,
        *hostile_html.FILES,
        *hostile_sheets.FILES,
        *hostile_slides.FILES,
        *hostile_json.FILES,
        *hostile_archives.FILES,
        *(one for one, _, _ in hostile_archives.MEMBERS),
        *hostile_text.FILES,
        *hostile_books.FILES,
        *hostile_mail.FILES,
        *hostile_sources.FILES,
        *_odd_names(),
    )


def _of_every_ending() -> Iterator[Hostile]:
    for ending in ENDINGS:
        text = ending in AS_TEXT
        # Nothing at all is a text, and so is a page, without a sentence.
        nothing = Expect.TAKEN if text else Expect.EITHER if ending == ".html" else Expect.REFUSED
        yield hostile(f"endings/empty{ending}", nothing, lambda _: b"")
        yield hostile(f"endings/only-a-mark{ending}", nothing, lambda _: b"\xef\xbb\xbf")
        yield hostile(
            f"endings/lone-nul{ending}", Expect.EITHER if ending == ".html" else Expect.REFUSED, lambda _: b"\x00"
        )
        yield hostile(f"endings/random{ending}", Expect.EITHER, partial(_random, ending))
        yield hostile(
            f"endings/is-really-a-picture{ending}",
            Expect.EITHER,
            lambda _: b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 8,
        )


def _random(seed: str, _world: World) -> bytes:
    return random.Random(seed).randbytes(20_000)


def _odd_names() -> Iterator[Hostile]:
    for name in (
        "names/new\nline.md",
        "names/\x1b[2Jcontrol\x07.md",
        "names/" + "long" * 60 + ".md",
        "names/-rf.md",
        "names/--index.md",
        "names/$(touch owned) `id` ;&|.md",
        "names/ spaces .md",
        "names/\u202efdp.md",
        "names/e\u0301.md",
        "names/%2e%2e%2f.md",
        "names/a.pdf/inside-a-folder-called-a.pdf.md",
    ):
        yield hostile(name, Expect.TAKEN, lambda _: b"The name of this file is odd.\n")


def write_corpus(folder: Path, world: World, *, slow: bool) -> dict[str, Expect]:
    """Write the files below `folder`, and give what must become of each by its id. `slow` ones may be left away."""
    expected: dict[str, Expect] = {}
    for one in files():
        if slow or not one.slow:
            path = folder / one.name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(one.make(world))
            expected[one.name] = one.expect
    expected |= {f"{one.name}/{name}": Expect(expect) for one, name, expect in hostile_archives.MEMBERS}
    return expected | _write_oddities(folder / "odd", world)


def _write_oddities(odd: Path, world: World) -> dict[str, Expect]:
    """What only a file system can do: pipes, links in circles or to the outside, a file that is mostly holes."""
    odd.mkdir(parents=True)
    world.outside.parent.mkdir(parents=True, exist_ok=True)
    world.outside.write_text(OUTSIDE, encoding="utf-8")
    for name in ("pipe.pdf", "pipe.md"):
        os.mkfifo(odd / name)
    for name in ("s.pdf", "s.md"):
        _socket(odd / name)
    links: dict[str, Path | str] = {
        "link-to-passwd.md": "/etc/passwd",
        "link-outside.md": world.outside,
        "link-outside.pdf": world.outside,
        "link-to-a-folder-outside": world.outside.parent,
        "link-to-nothing.md": "nowhere.md",
        "link-to-itself.md": "link-to-itself.md",
        "link-to-the-folder-above": "..",
        "link-there.md": "link-back.md",
        "link-back.md": "link-there.md",
        "link-to-a-device.md": "/dev/zero",
    }
    for name, target in links.items():
        (odd / name).symlink_to(target)
    expected = {f"odd/{path.name}": Expect.LEFT_OUT for path in odd.iterdir()}
    for ending in (".pdf", ".md", ".html"):
        with (odd / f"ten-gigabytes-of-holes{ending}").open("wb") as file:
            file.truncate(SPARSE_BYTES)
        expected[f"odd/ten-gigabytes-of-holes{ending}"] = Expect.REFUSED
    (odd / "link-inside.md").symlink_to("../names/-rf.md")
    expected["odd/link-inside.md"] = Expect.TAKEN
    if os.geteuid() != 0:  # root reads what it may not
        (odd / "not-for-us.md").write_text("Not for us.")
        (odd / "not-for-us.md").chmod(0)
        expected["odd/not-for-us.md"] = Expect.REFUSED
    with open(os.path.join(os.fsencode(odd), NOT_UNICODE), "wb") as file:  # noqa: PTH118, PTH123 - no Path holds it
        file.write(b"Who calls me?")
    expected["odd/" + NOT_UNICODE.decode(errors="backslashreplace")] = Expect.REFUSED
    return expected


def _socket(path: Path) -> None:
    """A socket's path may have some hundred bytes at most, so it is made from inside its folder."""
    before = Path.cwd()
    os.chdir(path.parent)
    try:
        with socket.socket(socket.AF_UNIX) as made:
            made.bind(path.name)
    finally:
        os.chdir(before)


def main() -> int:
    options = _options()
    world = World("http://127.0.0.1:9", options.folder.absolute() / "outside" / "secret.md", options.scale)
    expected = write_corpus(options.folder / "corpus", world, slow=True)
    print(f"{len(expected)} files written to {options.folder / 'corpus'}")
    return _ingest(options.folder / "corpus", expected) if options.ingest else 0


def _ingest(folder: Path, expected: dict[str, Expect]) -> int:
    """Ingest the files and print the outcome of each; 1 when one is not as it must be."""
    from quoth.library import ingest_paths
    from quoth.overrides import Overrides

    overrides = Overrides(file={}, environment={"embedding.model_name": "hash"}, flags={})
    with tempfile.TemporaryDirectory() as index:
        report = ingest_paths([folder], Path(index) / "index", profile=None, prune=False, overrides=overrides)
    outcomes = dict.fromkeys(report.written, Expect.TAKEN) | {one.path: Expect.REFUSED for one in report.refused}
    why = {one.path: one.why for one in report.refused}
    wrong = 0
    for name in sorted(expected):
        outcome = outcomes.get(name, Expect.LEFT_OUT)
        fits = outcome is expected[name] or (expected[name] is Expect.EITHER and outcome is not Expect.LEFT_OUT)
        wrong += not fits
        print(f"{'  ' if fits else '! '}{outcome:9}{name!r}: {why.get(name, '')}")
    print(", ".join(f"{count} {outcome}" for outcome, count in Counter(outcomes.values()).items()))
    return int(wrong > 0)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--scale", type=float, default=1.0, help="the size of the large files (default: 1)")
    parser.add_argument("--ingest", action="store_true", help="ingest the files and print what became of each")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
