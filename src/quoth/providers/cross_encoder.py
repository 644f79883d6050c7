"""The cross-encoder on ONNX Runtime: reads a question and a sentence together."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from quoth.errors import ModelError
from quoth.providers.evidence_tokens import pair_tokens
from quoth.providers.weights import Weights

MODELS = Path(str(files("quoth.providers"))) / "models"
_HINT = "Install quoth again, or set rerank.cross_encoder to false."


class OnnxCrossEncoder:
    """Implements `CrossEncoder`. It shares the tokenizer of the sentence encoder that it was made from."""

    def __init__(self, weights: Weights, *, threads: int, folder: Path = MODELS) -> None:
        content, self.revision = _verified(folder)
        self._session = _session(content, threads=threads)
        self._tokenizer = _tokenizer(weights.tokenizer)

    def score(self, question: str, sentences: Sequence[tuple[str, str]]) -> list[float]:
        # One at a time: activations are quantised by the range of all that runs together, so that a score would depend
        # on its company; and padding would be work for nothing.
        asked = self._ids(question)
        rows = (pair_tokens(asked, self._ids(text), self._ids(context)) for text, context in sentences)
        return [round(self._run(ids, types), 6) for ids, types in rows]

    def _ids(self, text: str) -> list[int]:
        ids: list[int] = self._tokenizer.encode(text, add_special_tokens=False).ids if text else []
        return ids

    def _run(self, ids: list[int], types: list[int]) -> float:
        tokens = np.array([ids], dtype=np.int64)
        inputs = {
            "input_ids": tokens,
            "token_types": np.array([types], dtype=np.int64),
            "attention_mask": np.ones_like(tokens),
        }
        return float(self._session.run(["score"], inputs)[0][0])


def shipped_revision(folder: Path = MODELS) -> str | None:
    """The name of the cross-encoder in the package; None when it has none."""
    try:
        listed = json.loads((folder / "cross_encoder.json").read_bytes())
    except FileNotFoundError:
        return None
    return str(listed["sha256"])[:12]


def _verified(folder: Path) -> tuple[bytes, str]:
    try:
        listed = json.loads((folder / "cross_encoder.json").read_bytes())
        content = (folder / str(listed["file"])).read_bytes()
    except (OSError, ValueError, KeyError) as error:
        raise ModelError(f"the cross-encoder in {folder} cannot be read: {error}", hint=_HINT) from error
    digest = hashlib.sha256(content).hexdigest()
    if digest != listed["sha256"]:
        raise ModelError(f"the cross-encoder in {folder} is damaged: its sha256 is {digest}", hint=_HINT)
    return content, digest[:12]


def _session(content: bytes, *, threads: int) -> Any:  # noqa: ANN401 - onnxruntime has no types
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    options.enable_cpu_mem_arena = False
    options.log_severity_level = 3
    try:
        return onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    except Exception as error:  # onnxruntime's errors share no other base
        raise ModelError(f"the cross-encoder cannot be loaded: {error}", hint=_HINT) from error


@lru_cache(maxsize=2)
def _tokenizer(path: Path) -> Any:  # noqa: ANN401 - tokenizers has no types
    from tokenizers import Tokenizer

    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:  # tokenizers raises Exception itself
        raise ModelError(f"{path} cannot be read: {error}", hint=_HINT) from error
    tokenizer.no_padding()
    tokenizer.no_truncation()
    return tokenizer
