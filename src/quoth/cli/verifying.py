"""`quoth verify`."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import typer

from quoth.corpus.extraction import Extraction
from quoth.corpus.kinds import recognise
from quoth.corpus.load import read_bytes, text_sha256
from quoth.errors import QuothError, UnreadableFile
from quoth.interfaces.cli.options import DEFAULT_INDEX, IndexOption, JsonOption, open_quoth
from quoth.interfaces.python import Quoth
from quoth.render import json_line
from quoth.settings import IngestSettings
from quoth.types import DocumentInfo
from quoth.verify import Failure, TextOf, Verification, verify_run

_LIMITS = IngestSettings()


def command(
    run: Annotated[Path | None, typer.Argument(help="A run file; without one the index itself is checked.")] = None,
    index: IndexOption = DEFAULT_INDEX,
    root: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Check against the source files under this folder."),
    ] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Check this many random sentences of the index.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    as_json: JsonOption = False,
) -> None:
    """Slice every citation again and compare it with its source; exit code 1 when one does not hold.

    Examples: `quoth verify run.jsonl --root guides/` and `quoth verify --index .quoth --sample 200`
    """
    with Extraction(_LIMITS) as extraction:
        if run is None:
            quoth = open_quoth(index)
            text_of = _from_files(root, extraction) if root else _from_index(quoth)
            result = _verify_index(quoth, text_of, sample=sample, seed=seed)
        else:
            text_of = _from_files(root, extraction) if root else _from_index(open_quoth(index))
            result = verify_run(_results(run), text_of)
    _print(result, as_json=as_json)
    if result.failures:
        raise typer.Exit(1)


def _print(result: Verification, *, as_json: bool) -> None:
    for failure in result.failures:
        place = f"{failure.doc_id}[{failure.start}:{failure.end}]"
        typer.secho(f"question {failure.question_id}: {place}: {failure.why}", err=True, fg="red")
    if as_json:
        typer.echo(
            json_line({"citations": result.citations, "failures": [_failure_json(one) for one in result.failures]})
        )
    else:
        typer.echo(f"{result.citations - len(result.failures)} of {result.citations} citations are exact")


def _failure_json(failure: Failure) -> dict[str, Any]:
    return {name: getattr(failure, name) for name in ("question_id", "doc_id", "start", "end", "why")}


def _results(run: Path) -> Iterator[dict[str, Any]]:
    try:
        lines = run.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise QuothError(f"cannot read {run}: {error}", hint="Give the file that quoth batch wrote.") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            result = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise QuothError(f"{run}, line {number} is not JSON: {error}", hint="Was the run cut off?") from error
        if not _is_result(result):
            raise QuothError(f"{run}, line {number} is no result", hint="Give the file that quoth batch wrote.")
        yield result


def _is_result(line: object) -> bool:
    """Whether a line has the shape of a result; whether its citations hold is another question."""
    if not isinstance(line, dict):
        return False
    lists = [line.get(name, []) for name in ("answer_sentences", "nearest")]
    return all(isinstance(one, list) for one in lists) and all(
        isinstance(citation, dict) and isinstance(citation.get("lead") or {}, dict)
        for citations in lists
        for citation in citations
    )


def _from_index(quoth: Quoth) -> TextOf:
    @lru_cache(maxsize=64)
    def text_of(doc_id: str) -> str | None:
        document = quoth.document(doc_id)
        return document.text if document else None

    return text_of


def _from_files(root: Path, extraction: Extraction) -> TextOf:
    inside = root.resolve()

    @lru_cache(maxsize=64)
    def text_of(doc_id: str) -> str | None:
        try:
            path = (root / doc_id).resolve()
            if not path.is_relative_to(inside) or not path.is_file():
                return None
            form = recognise(path)
            data = read_bytes(path, label=doc_id, most_mb=_LIMITS.max_file_mb)
            return form and extraction.read(data, form=form, label=doc_id)[0].text
        except (OSError, ValueError, RuntimeError, UnreadableFile):  # an id that can be no path names no document
            return None

    return text_of


def _verify_index(quoth: Quoth, text_of: TextOf, *, sample: int | None, seed: int) -> Verification:
    """Every sentence, or a sample, against the stored texts (or the files), and those against their hashes."""
    documents = quoth.documents()
    failures = [
        Failure("-", info.id, 0, info.characters, "the text does not match its hash")
        for info in documents
        if (text := text_of(info.id)) is None or text_sha256(text) != info.sha256
    ]
    wanted = _sampled(documents, sample, seed)
    results = (_as_result(quoth, doc_id, places) for doc_id, places in wanted.items())
    checked = verify_run(results, text_of)
    return Verification(checked.citations + len(failures), (*failures, *checked.failures))


def _sampled(documents: tuple[DocumentInfo, ...], sample: int | None, seed: int) -> dict[str, set[int] | None]:
    """For each document the sentences to check, by their place; None means all."""
    if sample is None:
        return {info.id: None for info in documents}
    places = [(info.id, place) for info in documents for place in range(info.sentences)]
    chosen = random.Random(seed).sample(places, min(sample, len(places)))  # noqa: S311 - a sample, not a secret
    found: dict[str, set[int] | None] = {}
    for doc_id, place in sorted(chosen):
        held = found.setdefault(doc_id, set())
        if held is not None:
            held.add(place)
    return found


def _as_result(quoth: Quoth, doc_id: str, places: set[int] | None) -> dict[str, Any]:
    from quoth.render import sentence_json

    sentences = quoth.sentences(doc_id)
    chosen = [one for place, one in enumerate(sentences) if places is None or place in places]
    return {"question_id": "-", "answer_sentences": [sentence_json(one) for one in chosen]}
