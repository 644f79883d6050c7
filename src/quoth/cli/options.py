"""Options that several commands share, the files they name, and progress bars."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, nullcontext
from pathlib import Path
from typing import Annotated, TextIO

import typer

from quoth.errors import QuothError, SettingsError
from quoth.library import Quoth
from quoth.machine import replaced_file, usual_mode
from quoth.overrides import Overrides, environment_settings, read_settings_file
from quoth.protocols import Progress
from quoth.settings import StoreSettings
from quoth.wiring import open_store

DEFAULT_INDEX = ".quoth"
CONFIG_NAME = Path("quoth.yaml")
AS_WIDE_AS_NEEDED = 10_000
"""Columns: in a pipe, each document stays on one line."""


def complete_doc_id(context: typer.Context, incomplete: str) -> list[str]:
    """Return document ids for shell completion; empty without a readable index."""
    index = context.params.get("index") or os.environ.get("QUOTH_INDEX") or os.environ.get("QUOTH_STORE")
    try:
        with closing(open_store(index or DEFAULT_INDEX, store_settings(None, None))) as store, store.read() as reader:
            return [info.id for info in reader.documents() if info.id.startswith(incomplete)]
    except QuothError:
        return []


Index = Annotated[
    str,
    typer.Option(
        "--index",
        "--store",
        metavar="PLACE",
        envvar=["QUOTH_INDEX", "QUOTH_STORE"],
        help="Folder of the index, or the address of a database: `postgresql://user@host/name`.",
    ),
]
Config = Annotated[
    Path | None, typer.Option("--config", help="Settings file; `quoth.yaml` in this folder when there is one.")
]
Assignments = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="A setting, e.g. `selection.max_sentences=3`.")
]
Preset = Annotated[
    str | None,
    typer.Option("--answer", metavar="HOW", help="How sure an answer must be: `careful`, `balanced` or `eager`."),
]
Language = Annotated[
    str | None,
    typer.Option(
        "--language", metavar="CODE", help="The language of documents that state none (`de`), in place of recognition."
    ),
]
SignWith = Annotated[
    Path | None, typer.Option("--sign-with", metavar="KEYFILE", help="Sign with this key (`quoth receipt-key new`).")
]
SeenAs = Annotated[
    str | None,
    typer.Option(
        "--as", metavar="LABEL[,LABEL]", help="Only what a holder of these labels sees; empty: one without labels."
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Lang = Annotated[
    str | None,
    typer.Option(
        "--lang",
        metavar="LANGUAGE",
        envvar="QUOTH_LANG",
        help="Speak this language, `de`, `en`, `es`, `fr` or `tr`; that of the locale if absent.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress.")]
ProfileName = Annotated[
    str | None,
    typer.Option(envvar="QUOTH_PROFILE", help="A shipped profile (agriculture, general, governance) or a YAML file."),
]
Prune = Annotated[bool, typer.Option("--prune", help="Remove the documents whose files are gone from these folders.")]
RayAddress = Annotated[
    str | None,
    typer.Option(envvar="RAY_ADDRESS", metavar="HOST:PORT", help="The Ray cluster; one is started here if absent."),
]
Questions = Annotated[str, typer.Argument(help="Text (one question a line) or JSONL; - for standard input.")]


def location_of(index: str, given: Overrides) -> str:
    """Return the location of an index without its password."""
    return open_store(index, given.without_profile().store).location


def overrides(config: Path | None, assignments: Sequence[str] | None) -> Overrides:
    """Return the user's settings: file, then environment, then `--set`."""
    path = config or (CONFIG_NAME if CONFIG_NAME.is_file() else None)
    return Overrides(
        file=read_settings_file(path) if path else {},
        environment=environment_settings(os.environ),
        flags=dict(pair(assignment, option="--set") for assignment in assignments or ()),
    )


def with_preset(assignments: Sequence[str] | None, preset: str | None) -> list[str]:
    """Return the settings of `--set` after the one of `--answer`, which they override."""
    return [*([f"decision.answer={preset}"] if preset else []), *(assignments or ())]


def with_language(assignments: Sequence[str] | None, language: str | None) -> list[str]:
    """Return the settings of `--set`, and after them the one of `--language`."""
    return [*(assignments or ()), *([f"ingest.language={language}"] if language else [])]


def pair(text: str, *, option: str) -> tuple[str, str]:
    """Split `key=value`."""
    key, equals, value = text.partition("=")
    if not equals or not key.strip():
        example = {"--set": "selection.max_sentences=3", "--tag": "crop=canola"}[option]
        raise SettingsError(f"{option} {text} is not KEY=VALUE", hint=f"For example: {option} {example}")
    return key.strip(), value.strip()


def open_quoth(
    index: str,
    *,
    config: Path | None = None,
    assignments: Sequence[str] | None = None,
    seen_as: str | None = None,
) -> Quoth:
    """Open the index for questions; `NoIndex` when there is none. `seen_as`: see `SeenAs`; None sees everything."""
    given = overrides(config, assignments)
    opened = Quoth(open_store(index, given.without_profile().store), given)
    if seen_as is not None:
        opened = opened.seen_by(opened.holder_of(seen_as.split(",")))
    _ = opened.info
    return opened


def store_settings(config: Path | None, assignments: Sequence[str] | None) -> StoreSettings:
    return overrides(config, assignments).without_profile().store


@contextmanager
def interruptible(message: str) -> Iterator[None]:
    """On Ctrl-C, say what was done so far and exit with 130."""
    try:
        yield
    except KeyboardInterrupt:
        # Whoever presses the keys again, while threads still end, wants it to stop and no traceback.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        typer.echo(f"interrupted: {message}", err=True)
        raise typer.Exit(130) from None


def print_values(values: Mapping[str, object]) -> None:
    for key, value in values.items():
        typer.echo(f"{key:<11} {value:,}" if key in {"documents", "sentences", "bytes"} else f"{key:<11} {value}")


def exit_after(problems: Iterable[str]) -> None:
    """Print what went wrong; exit with 1 if anything did."""
    lines = list(problems)
    for line in lines:
        typer.secho(line, err=True, fg="yellow")
    if lines:
        raise typer.Exit(1)


@contextmanager
def progress_bars(*, quiet: bool = False) -> Iterator[Progress | None]:
    """Yield a function that draws a bar for each kind of work; None when stderr is no terminal, or `quiet`."""
    if quiet or not (sys.stderr and sys.stderr.isatty()):
        yield None
        return
    from rich import progress
    from rich.console import Console

    columns = (
        progress.TextColumn("{task.description:<12}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeRemainingColumn(),
    )
    with progress.Progress(*columns, console=Console(stderr=True), transient=True) as bars:
        tasks: dict[str, progress.TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bars.add_task(what, total=total or None)
            bars.update(tasks[what], completed=done, total=total or None)

        yield report


def lines_of(source: str) -> TextIO:
    """Open a file of UTF-8 lines; an invalid byte becomes a lone surrogate, so that only its line is refused."""
    if source == "-":
        return io.TextIOWrapper(sys.stdin.buffer, encoding="utf-8", errors="surrogateescape", newline="\n")
    try:
        return Path(source).open(encoding="utf-8", errors="surrogateescape", newline="\n")
    except OSError as error:
        raise QuothError(f"cannot read {source}: {error.strerror}", hint="Give a file with questions.") from error


def line_count(source: str) -> int:
    """Count the questions of a file for the progress bar; 0 for a pipe, which cannot be read twice."""
    if not Path(source).is_file():
        return 0
    with lines_of(source) as lines:
        return sum(1 for line in lines if line.strip())


def check_output(path: Path, *, questions: str) -> None:
    """Raise when the output would overwrite the questions."""
    check_other(path, questions, what="the questions")


def check_other(path: Path, source: str | Path, *, what: str) -> None:
    """Raise when the output would overwrite the file that `source` names, which holds `what`."""
    if path.exists() and Path(source).exists() and path.samefile(source):
        raise QuothError(f"{path} holds {what}", hint="Choose another file with -o.")


def open_output(path: Path | None, *, questions: str) -> nullcontext[TextIO] | TextIO:
    """Open a file to write to, which may not be that of the `questions`; None is standard output."""
    if path is None:
        return nullcontext(sys.stdout)
    check_output(path, questions=questions)
    try:
        return path.open("w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise QuothError(f"cannot write {path}: {error.strerror}", hint="Choose another file with -o.") from error


def write_output(text: str, path: Path | None) -> None:
    """Write a text in one step; None is standard output."""
    data = text.encode("utf-8", "backslashreplace")
    if path is None:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    else:
        write_file(data, path)


def write_file(data: bytes, path: Path) -> None:
    """Write a file in one step: nothing half-written ever stands in its place. A pipe or device is written to."""
    try:
        if path.exists() and not path.is_file():
            path.write_bytes(data)
            return
        target = path.resolve()  # what a link leads to is replaced, not the link
        mode = target.stat().st_mode & 0o777 if target.exists() else usual_mode()
        target.parent.mkdir(parents=True, exist_ok=True)
        with replaced_file(target) as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
    except OSError as error:
        hint = "Choose another place with -o or --receipt."
        raise QuothError(f"cannot write {path}: {error.strerror}", hint=hint) from error
