"""`quoth verify`."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from collections.abc import Container, Iterator, Sequence
from dataclasses import asdict
from functools import lru_cache
from pathlib import Path
from typing import Annotated, Any

import typer

from quoth.answer.verification import CitationMismatch, TextOf, Verification, verify_run
from quoth.cli import options
from quoth.documents.encodings import text_sha256
from quoth.documents.files import read_bytes
from quoth.documents.formats.recognition import recognise
from quoth.documents.worker.pool import Extraction
from quoth.errors import QuothError, UnreadableFile
from quoth.evaluation.judgements import texts_of
from quoth.library import Quoth
from quoth.output.render import json_line, sentence_json
from quoth.settings import IngestSettings
from quoth.types import DocumentInfo

_LIMITS = IngestSettings()


def verify(
    run: Annotated[Path | None, typer.Argument(help="A run file; without one the index itself is checked.")] = None,
    index: options.Index = options.DEFAULT_INDEX,
    root: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="Check against the source files under this folder."),
    ] = None,
    sample: Annotated[int | None, typer.Option(min=1, help="Check this many random sentences of the index.")] = None,
    seed: Annotated[int, typer.Option(help="Seed of the sample.")] = 0,
    as_json: options.AsJson = False,
) -> None:
    """Slice every citation again and compare it with its source; exit code 1 when one does not hold.

    Examples: `quoth verify run.jsonl --root guides/` and `quoth verify --index .quoth --sample 200`
    """
    with Extraction(_LIMITS) as extraction:
        text_of = _from_files(root, extraction) if root else texts_of(options.open_quoth(index))
        if run is None:
            result = _verify_index(options.open_quoth(index), text_of, sample=sample, seed=seed)
        else:
            result = verify_run(_results(run), text_of)
    for failure in result.failures:
        quoted = f"{failure.doc_id}[{failure.start}:{failure.end}]"
        typer.secho(f"question {failure.question_id}: {quoted}: {failure.why}", err=True, fg="red")
    if as_json:
        typer.echo(json_line(asdict(result)))
    else:
        typer.echo(f"{result.citations - len(result.failures)} of {result.citations} citations are exact")
    if result.failures:
        raise typer.Exit(1)


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
    """Return whether a line has the shape of a result; its citations are checked later."""
    if not isinstance(line, dict):
        return False
    lists = [line.get(name, []) for name in ("answer_sentences", "nearest")]
    return all(isinstance(citations, list) for citations in lists) and all(
        isinstance(citation, dict) and isinstance(citation.get("lead") or {}, dict)
        for citations in lists
        for citation in citations
    )


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
        except (OSError, ValueError, RuntimeError, UnreadableFile):  # an id that is no valid path names no document
            return None

    return text_of


def _verify_index(quoth: Quoth, text_of: TextOf, *, sample: int | None, seed: int) -> Verification:
    """Check sentences against the texts of the index or the files, and the texts against their hashes."""
    documents = quoth.documents()
    failures = [
        CitationMismatch("-", info.id, 0, info.characters, "the text does not match its hash")
        for info in documents
        if (text := text_of(info.id)) is None or text_sha256(text) != info.sha256
    ]
    ordinals = _sampled(documents, sample, seed)
    checked = verify_run((_as_result(quoth, doc_id, ordinals[doc_id]) for doc_id in sorted(ordinals)), text_of)
    return Verification(checked.citations + len(failures), (*failures, *checked.failures))


def _sampled(documents: Sequence[DocumentInfo], sample: int | None, seed: int) -> dict[str, Container[int]]:
    """Return the ordinals of the sentences to check, by document."""
    if sample is None:
        return {info.id: range(info.sentences) for info in documents}
    every = [(info.id, ordinal) for info in documents for ordinal in range(info.sentences)]
    chosen = random.Random(seed).sample(every, min(sample, len(every)))  # noqa: S311 - a sample, not a secret
    ordinals: dict[str, set[int]] = defaultdict(set)
    for doc_id, ordinal in chosen:
        ordinals[doc_id].add(ordinal)
    return {**ordinals}


def _as_result(quoth: Quoth, doc_id: str, ordinals: Container[int]) -> dict[str, Any]:
    chosen = [sentence for ordinal, sentence in enumerate(quoth.sentences(doc_id)) if ordinal in ordinals]
    return {"question_id": "-", "answer_sentences": [sentence_json(sentence) for sentence in chosen]}
