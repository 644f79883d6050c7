"""A corpus of four short documents that the fake embedder can tell apart."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from .command_line import run, write_files

PROFILE = """\
name: fields
tags:
  crop:
    default: other
    values:
      canola: {synonyms: [rapeseed], keywords: []}
      wheat: {synonyms: [], keywords: [durum]}
"""

FILES: dict[str, bytes | str] = {
    "canola.md": (
        "---\ntitle: Canola\ndocument_type: guide\n---\n\n# Canola\n\n"
        "Sow canola at 2.5 cm into moist soil. Roll the canola field after seeding.\n\n"
        "| Stage | Days |\n|---|---|\n| Flowering | 14-21 |\n"
    ),
    "wheat.md": "# Wheat\n\nSow wheat at 4 cm in October.\n\nBefore harvest:\n\n- check the moisture of the wheat;\n",
    "notes/windows.txt": b"\xef\xbb\xbfStore wheat below 15 \xc2\xb0C.\r\nAerate the bin every week.\r\n",
    "rules.md": (
        "---\ndocument_type: rule\n---\n\n# Rules\n\nBurning straw is forbidden from May to September "
        "\N{EN DASH} ask the \N{GREEK SMALL LETTER ALPHA}-warden. \N{EAR OF RICE} Paddy is exempt.\n"
    ),
}

CANOLA = "Sow canola at 2.5 cm into moist soil."
WHEAT = "Sow wheat at 4 cm in October."
HALVORSEN = "Why does Halvorsen sow canola at 2.5 cm into moist soil?"
"""Declined, because no document mentions Halvorsen."""


@dataclass(frozen=True, slots=True)
class SmallCorpus:
    folder: Path
    index: Path
    profile: Path

    def source(self, doc_id: str) -> str:
        return (self.folder / doc_id).read_bytes().decode("utf-8")


def ingest_small_corpus(place: Path) -> SmallCorpus:
    corpus = SmallCorpus(write_files(place / "fields", FILES), place / "index", place / "fields.yaml")
    corpus.profile.write_text(PROFILE, encoding="utf-8")
    ran = run("ingest", corpus.folder, "--index", corpus.index, "--profile", corpus.profile)
    assert (ran.code, ran.data) == (0, b""), ran.talk
    return corpus
