from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from quoth import Quoth
from quoth.language.display import Vocabulary
from quoth.output.render import outcome_json, sentence_json

AGRICULTURE = Path(__file__).resolve().parents[2] / "examples" / "agriculture"
FAKE_MODEL = {"embedding.model_name": "hash", "rerank.kind": "late"}
DAY, PROGRAM = "2026-11-18", "quoth 0.1.0"


@dataclass(frozen=True)
class Receipts:
    """Receipts of every second sentence of the sample guides, and the texts that they quote."""

    quoth: Quoth
    made: list[dict[str, Any]]
    texts: dict[str, str]


def quoted(template: dict[str, Any], citation: dict[str, Any]) -> dict[str, Any]:
    """Return a result that quotes one sentence, in the form of a result that was really given."""
    known = {name: value for name, value in template["answer_sentences"][0].items() if name != "display_parts"}
    answered = {**known, **citation, "highlights": []}
    return {**template, "answer_sentences": [answered], "final_answer": answered["text"], "see_also": []}


@pytest.fixture(scope="session")
def receipts(tmp_path_factory: pytest.TempPathFactory) -> Receipts:
    place = tmp_path_factory.mktemp("receipts") / "index"
    quoth = Quoth.build(
        AGRICULTURE, index=place, profile="agriculture", settings={**FAKE_MODEL, "decision.abstain": False}
    )
    template = outcome_json(quoth.ask("How deep should soybeans be planted?"))
    made, texts = [], {}
    for info in quoth.documents():
        document = quoth.document(info.id)
        assert document is not None
        texts[info.id] = document.text
        vocabulary = Vocabulary(document.text)
        for sentence in quoth.sentences(info.id)[::2]:
            citation = {**sentence_json(sentence, vocabulary), "doc_sha256": info.sha256}
            made.append(quoth.receipt(quoted(template, citation), day=DAY, program=PROGRAM))
    return Receipts(quoth, made, texts)
