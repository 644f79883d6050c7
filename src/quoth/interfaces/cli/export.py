"""`quoth export`."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path, PurePosixPath
from typing import Annotated

import numpy as np
import typer

from quoth.errors import QuothError
from quoth.interfaces.cli.options import DEFAULT_INDEX, ConfigOption, IndexOption, SetOption, overrides
from quoth.interfaces.cli.progress import progress_bars
from quoth.protocols import Progress, Reader
from quoth.render import document_json, json_line, sentence_json
from quoth.wiring import open_store


def command(
    folder: Annotated[Path, typer.Argument(help="A new or empty folder.")],
    index: IndexOption = DEFAULT_INDEX,
    config: ConfigOption = None,
    assignments: SetOption = None,
) -> None:
    """Write the whole index as plain files: documents, sentences.jsonl and embeddings.npy.

    Row `embedding` of embeddings.npy belongs to the sentence that names it; headings have none.

    Example: `quoth export out/`
    """
    store = open_store(index, overrides(config, assignments).over({}, profile="none").store)
    with closing(store), store.read() as reader, progress_bars() as progress:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            if any(folder.iterdir()):
                raise QuothError(f"{folder} is not empty", hint="Name a new folder.")
            sentences = _write(reader, folder, progress)
        except OSError as error:
            raise QuothError(f"cannot write {folder}: {error.strerror}", hint="Name another folder.") from error
    typer.echo(f"{sentences} sentences written to {folder}", err=True)


def _write(reader: Reader, folder: Path, progress: Progress | None) -> int:
    documents = reader.documents()
    vectors = [np.zeros((0, reader.info.model.dimension), dtype=np.float32)]
    count = rows = 0
    with (
        (folder / "documents.jsonl").open("w", encoding="utf-8", newline="\n") as listing,
        (folder / "sentences.jsonl").open("w", encoding="utf-8", newline="\n") as lines,
    ):
        for number, info in enumerate(documents, 1):
            listing.write(json_line(document_json(info)) + "\n")
            document = reader.document(info.id)
            if document is not None:
                _write_text(folder / "documents", info.id, document.text)
            for sentence in reader.sentences(info.id):
                row = rows if sentence.kind.evidence else None
                rows += sentence.kind.evidence
                count += 1
                lines.write(json_line({**sentence_json(sentence), "embedding": row}) + "\n")
            vectors.append(reader.vectors(info.id))
            if progress:
                progress("exporting", number, len(documents))
    np.save(folder / "embeddings.npy", np.concatenate(vectors))
    return count


def _write_text(root: Path, doc_id: str, text: str) -> None:
    parts = PurePosixPath(doc_id).parts
    if not parts or ".." in parts or PurePosixPath(doc_id).is_absolute():
        raise QuothError(
            f"the id '{doc_id}' is no path inside a folder", hint="Ingest the document under another name."
        )
    path = root.joinpath(*parts)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))
