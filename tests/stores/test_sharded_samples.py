"""The sample corpora with the real model: one index and four shards give the same bytes."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from end_to_end.samples import EXAMPLES, sample_index
from quoth.library import Quoth
from quoth.output.render import json_line, outcome_json, retrieval_json
from quoth.overrides import Overrides
from quoth.search.question_files import read_questions
from quoth.stores.embedded import EmbeddedStore
from quoth.stores.sharded import ShardedStore
from quoth.types import Question

from .replay import ReplayEmbedder, documents_of
from .shards import write_shards

SEARCHED = Overrides({"cache": {"result_seconds": 0}}, {}, {})
"""What one index found is not kept: it would be given again for the other, which has the same digest."""


@pytest.fixture(scope="session", params=["agriculture", "governance"])
def pair(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Quoth, Quoth]:
    """The name of a corpus, one index of it, and four shards with the same vectors."""
    index = sample_index(request.param, tmp_path_factory)
    one = EmbeddedStore(index)
    with one.read() as reader:
        info = reader.info
    place = tmp_path_factory.mktemp("shards") / request.param
    made = write_shards(
        place,
        documents_of(one),
        shards=4,
        embedder=ReplayEmbedder(index),
        profile=(info.profile_name, info.profile_source),
        progress=None,
    )
    assert made.digest == info.digest
    return request.param, Quoth(one, SEARCHED), Quoth(ShardedStore(place), SEARCHED)


def questions(name: str) -> Iterator[Question]:
    lines = (EXAMPLES / name / "questions.jsonl").read_text(encoding="utf-8").splitlines()
    for question in read_questions(lines):
        assert isinstance(question, Question)
        yield question


def test_answers_are_the_same_to_the_byte(pair: tuple[str, Quoth, Quoth]) -> None:
    name, one, several = pair
    asked = list(questions(name))

    assert len(asked) > 30
    for question in asked:
        assert json_line(outcome_json(several.ask(question))) == json_line(outcome_json(one.ask(question)))


def test_passages_are_the_same_to_the_byte(pair: tuple[str, Quoth, Quoth]) -> None:
    name, one, several = pair

    for question in questions(name):
        assert json_line(retrieval_json(several.retrieve(question))) == json_line(
            retrieval_json(one.retrieve(question))
        )
