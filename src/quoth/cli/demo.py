"""`quoth demo`."""

from __future__ import annotations

import tempfile
from importlib.resources import files
from pathlib import Path
from typing import Annotated

import typer

from quoth.cli import options
from quoth.errors import CorpusError
from quoth.library import Quoth, ingest_paths
from quoth.overrides import NO_OVERRIDES
from quoth.settings import Settings
from quoth.wiring import open_store

QUESTIONS = (
    "What soil pH is best for canola?",
    "How deep should soybeans be planted?",
    "What did Halvorsen AgriTech's 2023 canola trials show?",
)


def demo(index: Annotated[Path | None, typer.Option(help="Keep the demo's index in this folder.")] = None) -> None:
    """Read the sample guides that come with Quoth and answer three questions, one of which they cannot answer.

    Example: `quoth demo`
    """
    from quoth.cli.terminal import OUT, print_outcome

    with tempfile.TemporaryDirectory() as scratch:
        place = index or Path(scratch) / "index"
        with options.progress_bars() as progress:
            report = ingest_paths(
                [sample_corpus("agriculture")], place, profile="agriculture", overrides=NO_OVERRIDES, progress=progress
            )
        OUT.print(f"{report.info.documents} documents, {report.info.sentences:,} sentences")
        quoth = Quoth(open_store(place, Settings().store), NO_OVERRIDES)
        for question in QUESTIONS:
            OUT.rule()
            OUT.print(f"[bold cyan]{question}[/bold cyan]\n")
            print_outcome(quoth.ask(question))


def sample_corpus(name: str) -> Path:
    """Return the sample corpus inside the installed package, or beside the source tree."""
    package = Path(str(files("quoth")))
    for place in (package / "examples" / name, package.parent.parent / "examples" / name):
        if place.is_dir():
            return place
    raise CorpusError(f"the sample corpus '{name}' is not installed", hint="Reinstall quoth, or clone its repository.")
