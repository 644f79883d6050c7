"""The corpus of the browser tests: rules that were replaced, sources that disagree, a PDF, and hostile text."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from ..command_line import MINILM, run, write_files

FORMATS = Path(__file__).resolve().parents[3] / "examples" / "formats"

PROFILE = """\
name: town
tags:
  topic:
    default: other
    values:
      fences: {synonyms: [fence], keywords: []}
      pools: {synonyms: [pool, swimming pool], keywords: []}
document_types:
  declaration: {authority: binding}
  amendment: {authority: binding}
  code: {authority: binding}
  guidelines: {authority: guidance}
authority:
  binding_factor: 1.10
  superseded_factor: 0.50
  cap: 1.0
languages:
  de:
    topic:
      name: Thema
      values:
        fences: {synonyms: [Zäune, Zaun]}
        pools: {synonyms: [Schwimmbecken]}
"""

LONG_WORD = "xylo" * 2500
OVERRIDE, ISOLATE = "\N{RIGHT-TO-LEFT OVERRIDE}", "\N{RIGHT-TO-LEFT ISOLATE}"
SCRIPT = (
    "The vault of the ferry office opens with <script>alert(1)</script> and <img src=x onerror=alert(2)> on Mondays."
)
TURNED = f"The lighthouse keeper is paid {OVERRIDE}54 crowns{ISOLATE} for each night of fog."
STRETCHED = f"The archive shelf of the harbour is labelled {LONG_WORD} by the clerk."

CITED = "Lee S, Alder B (2014) Roofs of slate in rainy towns. Plain Build 25: 101-107."

FILES: dict[str, bytes | str] = {
    "declaration.md": (
        "---\ntitle: Declaration of Alder Court\ndocument_type: declaration\neffective_date: 2009-06-01\n"
        "superseded_by:\n  - {section: Section 7.3 Fences, by: amendment.md}\n---\n\n# Declaration\n\n"
        "## Section 7.3 Fences\n\nA fence in a rear yard shall not exceed five feet in height.\n\n"
        "## Section 7.4 Pools\n\nA swimming pool shall be drained before the first of November. However, a covered "
        "swimming pool may stay filled.\n\n"
        "## Section 9 Fees\n\n| Matter | Fee | Days |\n|---|---|---|\n| Review of a pool | $75 | 30 |\n"
        "| Review of a shed | $40 | 14 |\n"
    ),
    "amendment.md": (
        "---\ntitle: First Amendment\ndocument_type: amendment\neffective_date: 2022-04-01\n---\n\n# Amendment\n\n"
        "## Section 1 Fences\n\nA fence in a rear yard shall not exceed six feet in height.\n"
    ),
    "city-code.md": (
        "---\ntitle: City Code\ndocument_type: code\neffective_date: 2018-07-01\n---\n\n# Zoning\n\n"
        "## Height Limits\n\nA fence in a rear yard shall not exceed seven feet in height.\n\n"
        "A fence around a swimming pool shall have a gate that closes by itself.\n"
    ),
    "guidelines.md": (
        "---\ntitle: Design Guidelines\ndocument_type: guidelines\neffective_date: 2016-09-01\n---\n\n# Guidelines\n\n"
        "Roofs should be brown or slate grey.\n\n"
        + "Plain walls are preferred to panelled ones. "
        * 60
        + f"\n\n## References\n\n1. {CITED}\n\n"
        "2. Das S, Vasudevan D (2006) Walls and their colours. Plain Build 17: 279-283.\n"
    ),
    "hostile.md": (
        '---\ntitle: "<img src=x onerror=alert(3)> Harbour"\n---\n\n# <b>Harbour</b>\n\n'
        f"{SCRIPT}\n\n{TURNED}\n\n{STRETCHED}\n"
    ),
}

FENCE = "How high may a fence in a rear yard be?"
ROOF = "Which colour should roofs be?"
SEED = "How hot may seed grain be dried?"
FEE = "What is the fee for the review of a pool?"
POOL = "When shall a swimming pool be drained?"
UNKNOWN = "What did Halvorsen write about roofs?"
HOSTILE = (
    "With what does the vault of the ferry office open?",
    "What is the lighthouse keeper paid for a night of fog?",
    "How is the archive shelf of the harbour labelled?",
)
QUOTED = "Roofs should be brown or slate grey."


@dataclass(frozen=True, slots=True)
class Town:
    index: Path


def ingest_town(place: Path) -> Town:
    folder = write_files(place / "town", FILES)
    shutil.copyfile(FORMATS / "handbook.pdf", folder / "handbook.pdf")
    profile = place / "town.yaml"
    profile.write_text(PROFILE, encoding="utf-8")
    ran = run("ingest", folder, "--index", place / "index", "--profile", profile, variables=MINILM)
    assert ran.code == 0, ran.talk
    return Town(place / "index")
