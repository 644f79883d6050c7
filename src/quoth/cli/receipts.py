"""`quoth receipt`, `verify-receipt` and `receipt-key`: quotes that can be checked without the index."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from quoth import __version__
from quoth.citations.receipts import in_folder, in_index, read_source
from quoth.citations.signatures import new_key, read_key, signature_checked, signed
from quoth.citations.verify_receipt import MOST_BYTES, Found, Receipt, ReceiptFault, one_file, read_receipts, report
from quoth.cli import options
from quoth.cli.inspecting import results_of
from quoth.documents.worker.pool import Extraction
from quoth.errors import QuothError, ReceiptError
from quoth.library import Quoth

app = typer.Typer(help="Keys that receipts are signed with.", no_args_is_help=True)


def receipt(
    run: Annotated[Path, typer.Argument(help="A run file, as `quoth batch` writes it.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where to write; standard output if absent.")
    ] = None,
    index: options.Index = options.DEFAULT_INDEX,
    day: Annotated[
        str | None, typer.Option(metavar="DAY", help="The day of the receipts (YYYY-MM-DD); today, in UTC, if absent.")
    ] = None,
    sign_with: options.SignWith = None,
    answer: options.Preset = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Write a receipt for every line of a run, answers and abstentions, with which anybody can check its quotes.

    It needs the index that made the run, and the same settings.

    Example: `quoth receipt run.jsonl -o receipts.jsonl`
    """
    if output is not None:
        options.check_other(output, run, what="the run")
    quoth = options.open_quoth(index, config=config, assignments=options.with_preset(assignments, answer))
    make = _maker(quoth, _checked(day), sign_with, output)
    lines = [json.dumps(make(result), ensure_ascii=False) for result in results_of(run)]
    options.write_output("".join(f"{line}\n" for line in lines), output)


def write_receipt(quoth: Quoth, result: Mapping[str, Any], path: Path, sign_with: Path | None) -> None:
    """Write the receipt of one result, indented for people."""
    made = _maker(quoth, None, sign_with, path)(result)
    options.write_output(json.dumps(made, ensure_ascii=False, indent=2) + "\n", path)


def verify_receipt(
    receipts: Annotated[Path, typer.Argument(metavar="RECEIPT", help="One receipt as JSON, or several as JSON Lines.")],
    text: Annotated[Path | None, typer.Option(help="Compare with this file: the canonical text, as UTF-8.")] = None,
    source: Annotated[Path | None, typer.Option(help="Compare with this file, in any format that can be read.")] = None,
    root: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="Compare with the files under this folder.")
    ] = None,
    index: Annotated[
        str | None, typer.Option("--index", "--store", metavar="PLACE", help="Compare with the texts of this index.")
    ] = None,
    doc: Annotated[
        str | None, typer.Option("--doc", metavar="ID", help="The document that --text or --source is.")
    ] = None,
    key: Annotated[
        str | None, typer.Option(metavar="PUBLIC", help="Demand a signature by this public key, in base64.")
    ] = None,
    config: options.Config = None,
    assignments: options.Assignments = None,
) -> None:
    """Check receipts: their digests and signatures, and every quote against its document; exit code 1 when one fails.

    Examples: `quoth verify-receipt r.json --source guide.pdf` and `quoth verify-receipt receipts.jsonl --root guides/`
    """
    if sum(place is not None for place in (text, source, root, index)) != 1 or (doc and (root or index)):
        raise typer.BadParameter("give one of --text, --source, --root and --index; --doc goes with the first two")
    limits = options.overrides(config, assignments).without_profile().ingest
    try:
        read = [signature_checked(each, key) for each in read_receipts(_bytes(receipts, MOST_BYTES + 1))]
        with Extraction(limits) as extraction:
            if index is not None:
                quoth = options.open_quoth(index, config=config, assignments=assignments)
                lines, holds = quoth.read(lambda reader: report(read, in_index(reader)))
            elif root is not None:
                lines, holds = report(read, in_folder(root, extraction, most_mb=limits.max_file_mb))
            else:
                file = _canonical(text) if text else read_source(source or Path(), extraction, limits)
                lines, holds = report(read, one_file(read, file, doc_id=doc, formats=None))
    except ReceiptFault as fault:
        raise ReceiptError(f"{receipts}: {fault}", hint="Give what quoth receipt or ask --receipt wrote.") from fault
    for line in lines:
        typer.echo(line)
    if not holds:
        raise typer.Exit(1)


@app.command("new")
def new(file: Annotated[Path, typer.Argument(metavar="KEYFILE", help="Where to write the private key.")]) -> None:
    """Make a key to sign receipts with, which only you may read, and print the public key for those who check them.

    Example: `quoth receipt-key new receipts.pem`
    """
    typer.echo(new_key(file))
    typer.echo(f"the private key is in {file}: keep it to yourself, and publish the public key above", err=True)


@app.callback()
def _group() -> None:
    """Keep `new` a command of its own, although it is the only one."""


def _maker(
    quoth: Quoth, day: str | None, sign_with: Path | None, output: Path | None
) -> Callable[[Mapping[str, Any]], Receipt]:
    if sign_with and output:
        options.check_other(output, sign_with, what="the key")
    key = read_key(sign_with) if sign_with else None
    day = day or datetime.now(UTC).date().isoformat()

    def make(result: Mapping[str, Any]) -> Receipt:
        made = quoth.receipt(result, day=day, program=f"quoth {__version__}")
        return signed(made, key) if key else made

    return make


def _checked(day: str | None) -> str | None:
    try:
        return None if day is None else date.fromisoformat(day).isoformat()
    except ValueError as error:
        raise typer.BadParameter(f"'{day}' is no day; write it as YYYY-MM-DD", param_hint="--day") from error


def _canonical(path: Path) -> Found:
    """Return a canonical text. What is not UTF-8 becomes what no receipt can hold."""
    return Found(_bytes(path).decode("utf-8", "surrogateescape"), None)


def _bytes(path: Path, most: int = -1) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise QuothError(f"cannot read {path}: {error.strerror}", hint="Check the path and its rights.") from error
