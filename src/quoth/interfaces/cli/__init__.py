"""The command line: parse, call one function, render, map errors. It holds no policy."""

from __future__ import annotations

import os
import sys

import typer

from quoth.errors import QuothError
from quoth.interfaces.cli import ask, batch, demo, export, ingest, inspect, verify

app = typer.Typer(
    name="quoth",
    help="Answers in the very words of your documents, cited by exact offsets, or an honest abstention.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("ingest")(ingest.command)
app.command("ask")(ask.command)
app.command("batch")(batch.command)
app.command("verify")(verify.command)
app.command("docs")(inspect.docs)
app.command("show")(inspect.show)
app.command("status")(inspect.status)
app.command("export")(export.command)
app.command("demo")(demo.command)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True)) -> None:
    if version:
        from quoth import __version__

        typer.echo(f"quoth {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command; an error on purpose is a sentence and a hint on stderr, and exit code 1."""
    sys.argv[1:] = _with_default_index(sys.argv[1:])
    try:
        app()
    except QuothError as error:
        typer.secho(f"error: {error}", err=True, fg="red")
        if error.hint:
            typer.echo(f"hint: {error.hint}", err=True)
        sys.exit(1)
    except BrokenPipeError:
        # The reader of our output has gone (`| head`): that is no error, but Python would complain at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)


def _with_default_index(arguments: list[str]) -> list[str]:
    """`verify --index --sample 200`: a bare `--index` stands for the default place."""
    if arguments[:1] != ["verify"] or "--index" not in arguments:
        return arguments
    after = arguments.index("--index") + 1
    bare = after == len(arguments) or arguments[after].startswith("-")
    return [*arguments[: after - 1], *arguments[after:]] if bare else arguments
