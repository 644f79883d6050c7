"""The command line: parse, call one function, render, map errors. It holds no policy."""

from __future__ import annotations

import errno
import io
import os
import sys
from functools import cache
from typing import Any, NoReturn

import typer
from typer.core import TyperGroup

from quoth.cli import answering, cluster, evaluating, gridding, indexing, inspecting, keys, servers, watching
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


app = typer.Typer(
    name="quoth",
    cls=_Edge,
    help="Answers in the very words of your documents, cited by exact offsets, or an honest abstention.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
)
app.command("ingest")(indexing.ingest)
app.command("watch")(watching.watch)
app.command("ask")(answering.ask)
app.command("retrieve")(answering.retrieve)
app.command("batch")(answering.batch)
app.command("grid")(gridding.grid)
app.command("compare-documents")(gridding.compare_documents)
app.command("verify")(inspecting.verify)
app.command("eval")(evaluating.evaluate_questions)
app.command("calibrate")(evaluating.calibrate)
app.command("fit")(evaluating.fit)
app.command("check")(evaluating.check)
app.command("remove")(indexing.remove)
app.command("migrate")(indexing.migrate)
app.command("maintain")(indexing.maintain)
app.command("docs")(inspecting.docs)
app.command("show")(inspecting.show)
app.command("status")(inspecting.status)
app.command("export")(indexing.export)
app.command("serve")(servers.serve)
app.command("mcp")(servers.serve_mcp)
app.add_typer(cluster.app, name="cluster")
app.add_typer(keys.app, name="keys")
app.command("demo")(answering.demo)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version and exit.", is_eager=True)) -> None:
    if version:
        from quoth import __version__

        typer.echo(f"quoth {__version__}")
        raise typer.Exit


@cache
def _command() -> Any:  # noqa: ANN401 - typer has no public type for it
    """Build the command line; a process that runs several commands builds it once."""
    return typer.main.get_command(app)


def main() -> None:
    """Run the command in `sys.argv`; whatever the locale, what is read and written is UTF-8."""
    sys.argv[1:] = _with_default_index(sys.argv[1:])
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(
                encoding="utf-8", errors="surrogateescape" if stream is sys.stdin else "backslashreplace"
            )
    _command()()


def _with_default_index(arguments: list[str]) -> list[str]:
    """`verify --index --sample 200`: a bare `--index` stands for the default place."""
    if arguments[:1] != ["verify"] or "--index" not in arguments:
        return arguments
    after = arguments.index("--index") + 1
    bare = after == len(arguments) or arguments[after].startswith("-")
    return [*arguments[: after - 1], *arguments[after:]] if bare else arguments
