"""Archives that lie, grow, nest or lead outside. A member is named by its path inside the archive."""

from __future__ import annotations

import struct

from hostile_docx import archive, overlapping
from hostile_parts import SAID, Hostile, World, hostile

TEXT = SAID.encode()


def _quine(_world: World) -> bytes:
    """Archives in archives, each of ten copies of the one below."""
    inner = archive({f"{n}.md": TEXT for n in range(10)})
    for _ in range(4):
        inner = archive({f"{n}.zip": inner for n in range(10)})
    return inner


def _lying(_world: World) -> bytes:
    """A member that says it is 100 bytes long, and is twenty megabytes."""
    content = b" " * (20 << 20)
    return archive({"text.md": content}).replace(struct.pack("<I", len(content)), struct.pack("<I", 100))


def _many(world: World) -> bytes:
    return archive({f"{number}.md": b"" for number in range(max(10_001, world.many(50_000)))})


FILES: tuple[Hostile, ...] = (
    hostile("archives/truncated.zip", "refused", lambda _: archive({"a.md": TEXT})[:-30]),
    hostile("archives/not-an-archive.zip", "left out", lambda _: TEXT),
    hostile("archives/empty.zip", "left out", lambda _: archive({})),
    hostile("archives/fifty-thousand-members.zip", "refused", _many),
    hostile("archives/overlapping.zip", "refused", overlapping),
)
MEMBERS: tuple[tuple[Hostile, str, str], ...] = (
    (
        hostile("archives/leads-outside.zip", "left out", lambda _: archive({"../../a.md": TEXT})),
        "../../a.md",
        "refused",
    ),
    (hostile("archives/bomb.zip", "left out", lambda _: archive({"a.md": b"0" * (20 << 20)})), "a.md", "refused"),
    (hostile("archives/lying.zip", "left out", _lying), "text.md", "refused"),
    (hostile("archives/nested.zip", "left out", _quine), "0.zip/0.zip", "refused"),
    (hostile("archives/good.zip", "left out", lambda _: archive({"a.md": TEXT})), "a.md", "taken"),
)
"""Archives with one member each that is looked at, and what must become of it."""
