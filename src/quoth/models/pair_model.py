"""Another reader in place of the one in the package: any cross-encoder in the usual layout of Hugging Face."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from quoth.errors import ModelError
from quoth.models.cross_encoder import PairRunner, TokenPair
from quoth.models.onnx_model import OnnxModel
from quoth.models.weights import Weights
from quoth.types import SentenceInContext, TokenMark

_USUAL_WINDOW = 512
"""Tokens that a model reads whose files do not say it."""


class PairModel:
    """Implements `PairReader`. Any number of threads may call `read` at once.

    Each pair runs alone: with padding or with 8-bit weights its score would depend on what is in the same batch.
    """

    def __init__(self, weights: Weights, *, cache_dir: Path, threads: int) -> None:
        """Raise `ModelError` when this is no cross-encoder with one or two labels."""
        window = weights.window(unsaid=_USUAL_WINDOW)
        self._model = OnnxModel(weights, window=window, cache_dir=cache_dir, threads=1, logits=True)
        self._output = "logits" if "logits" in self._model.outputs else self._model.outputs[0]
        self.name, self.revision = weights.name, self._model.revision()
        self._runner = PairRunner(self._run, threads=threads)
        self.read("", [SentenceInContext("", "", "")])  # a model of another kind is refused now

    def read(self, question: str, sentences: Sequence[SentenceInContext]) -> list[float]:
        """Return for each sentence the logit that it answers, on the model's own scale."""
        # The bare text: only Quoth's own reader was trained to tell a sentence from its context. In front of the text,
        # headings and the sentence before lowered the hits of a MiniLM trained on MS MARCO.
        encoded = [self._model.encode_pair(question, sentence.text) for sentence in sentences]
        return self._runner.each([(tuple(pair.ids), tuple(pair.type_ids)) for pair in encoded])

    def mark(self, question: str, sentences: Sequence[SentenceInContext]) -> list[tuple[TokenMark, ...]]:
        """Return no tokens: these models judge pairs as a whole."""
        return [() for _ in sentences]

    def _run(self, pair: TokenPair) -> float:
        ids, types = pair
        [logits] = self._model.run([ids], self._output, types=[types])
        match logits.tolist():
            case [[float(logit)]]:
                return round(logit, 4)
            case [[float(no), float(yes)]]:
                return round(yes - no, 4)
        raise ModelError(
            f"{self._model.graph.path}: the output {self._output} has the shape {logits.shape}, not 1 x 1 or 1 x 2",
            hint="Set rerank.model to a reranker: a cross-encoder with one label, or with two for no and yes.",
        )
