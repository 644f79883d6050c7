"""The command line: parse, call one function, render, map errors. It holds no policy."""

from __future__ import annotations

import errno
import io
import os
import sys
from functools import cache
from importlib import import_module
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from quoth.errors import QuothError

_NO_ROOM = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO})


class _Edge(TyperGroup):
    """An error on purpose becomes a sentence and a hint on stderr, and exit code 1."""

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as typer declares it
        try:
            result = super().invoke(ctx)
            if sys.stdout:  # None where the caller closed it (`>&-`)
                sys.stdout.flush()
        except QuothError as error:
            _complain(str(error), hint=error.hint)
        except BrokenPipeError:
            # The reader of our output has gone (`| head`): that is no error.
            _abandon_output()
            raise typer.Exit(0) from None
        except OSError as error:
            if error.errno not in _NO_ROOM:
                _complain(str(error), hint="Check the path and its rights.")
            _abandon_output()
            _complain(f"cannot write the output: {error.strerror}", hint="Free some space, or write elsewhere.")
        return result


def _complain(message: str, *, hint: str) -> NoReturn:
    typer.secho(f"error: {message}", err=True, fg="red")
    if hint:
        typer.echo(f"hint: {hint}", err=True)
    raise typer.Exit(1)


def _abandon_output() -> None:
    """Python flushes at exit what could not be written, and would complain again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


_COMMANDS = {
    "ingest": ("indexing", "ingest"),
    "watch": ("watching", "watch"),
    "ask": ("answering", "ask"),
    "retrieve": ("answering", "retrieve"),
    "find": ("finding", "find"),
    "batch": ("answering", "batch"),
    "grid": ("gridding", "grid"),
    "compare-documents": ("gridding", "compare_documents"),
    "verify": ("inspecting", "verify"),
    "receipt": ("receipts", "receipt"),
    "verify-receipt": ("receipts", "verify_receipt"),
    "receipt-key": ("receipts", "app"),
    "anchor": ("anchoring", "anchor"),
    "eval": ("evaluating", "evaluate_questions"),
    "calibrate": ("evaluating", "calibrate"),
    "fit": ("evaluating", "fit"),
    "check": ("evaluating", "check"),
    "remove": ("indexing", "remove"),
    "migrate": ("indexing", "migrate"),
    "maintain": ("indexing", "maintain"),
    "docs": ("inspecting", "docs"),
    "access": ("labels", "app"),
    "show": ("inspecting", "show"),
    "status": ("inspecting", "status"),
    "export": ("indexing", "export"),
    "serve": ("servers", "serve"),
    "mcp": ("servers", "serve_mcp"),
    "cluster": ("cluster", "app"),
    "keys": ("keys", "app"),
    "export-quotes": ("exporting", "export_quotes"),
    "import-quotes": ("exporting", "import_quotes"),
    "export-pdf": ("exporting", "export_pdf"),
    "demo": ("answering", "demo"),
}
"""The commands, in the order of the help: the module that each is in, and its function or group there."""


def make_app(only: str | None = None) -> typer.Typer:
    """Return the command line with every command, or with `only` one.

    Importing and building all of them takes longer than many a command.
    """
    app = typer.Typer(
        name="quoth",
        cls=_Edge,
        help="Answers in the very words of your documents, cited by exact offsets, or an honest abstention.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
        rich_markup_mode="markdown",
    )
    app.callback(invoke_without_command=True)(_root)
    for name, (module, attribute) in _COMMANDS.items():
        if only in {None, name}:
            command = getattr(import_module(f"quoth.cli.{module}"), attribute)
            if isinstance(command, typer.Typer):
                app.add_typer(command, name=name)
            else:
                app.command(name)(command)
    return app


def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True)) -> None:
    if version:
        from quoth import __version__

        typer.echo(f"quoth {__version__}")
        raise typer.Exit


@cache
def _command(only: str | None) -> Any:  # noqa: ANN401 - typer has no public type for it
    """Build the command line; a process that runs several commands builds each once."""
    return typer.main.get_command(make_app(only))


def main() -> None:
    """Run the command in `sys.argv`; whatever the locale, what is read and written is UTF-8."""
    sys.argv[1:] = _with_default_index(sys.argv[1:])
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                encoding="utf-8", errors="surrogateescape" if stream is sys.stdin else "backslashreplace"
            )
    # For completion and help, which name every command, all of them are built.
    named = sys.argv[1] if sys.argv[1:] and "_QUOTH_COMPLETE" not in os.environ else ""
    _command(named if named in _COMMANDS else None)()


def _with_default_index(arguments: list[str]) -> list[str]:
    """`verify --index --sample 200`: a bare `--index` stands for the default place."""
    if arguments[:1] != ["verify"] or "--index" not in arguments:
        return arguments
    after = arguments.index("--index") + 1
    bare = after == len(arguments) or arguments[after].startswith("-")
    return [*arguments[: after - 1], *arguments[after:]] if bare else arguments
