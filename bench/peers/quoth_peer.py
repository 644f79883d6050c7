"""Quoth itself, with its defaults: no profile of a subject, no setting changed.

Why so: it is measured like the others, installed from its own package in an environment of its own. What it says of a
question is its confidence; what it returns are the citations of its answer, none when it abstains.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from peer import Reply, Text, run

from quoth import Answer, Quoth
from quoth.types import Citation


class QuothTool:
    def __init__(self, index: Path, models: Path) -> None:
        self.index = index

    def check(self) -> None: ...

    def ingest(self, folder: Path, documents: Sequence[str]) -> int:
        return Quoth.build(folder, index=self.index).info.sentences

    def open(self) -> None:
        self.quoth = Quoth.open(self.index)

    def ask(self, question: str) -> Reply:
        outcome = self.quoth.ask(question)
        if isinstance(outcome, Answer):
            return Reply([_text(one) for one in outcome.citations], [], outcome.confidence)
        return Reply([], [_text(one) for one in outcome.nearest], outcome.confidence)


def _text(citation: Citation) -> Text:
    sentence = citation.sentence
    span = sentence.quote.span
    return Text(sentence.text, sentence.doc_id, span.start, span.end, citation.score)


if __name__ == "__main__":
    raise SystemExit(run(QuothTool))
