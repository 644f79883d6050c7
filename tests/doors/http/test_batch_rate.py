"""A key's limit counts questions, not requests."""

from __future__ import annotations

from pathlib import Path

from ..small_corpus import CANOLA, SmallCorpus
from .serving import bearer, new_key, opened, plan

PER_MINUTE = 120
AT_ONCE = 20
"""What a key of that limit may ask in one go."""


def test_a_batch_counts_question_by_question(small: SmallCorpus, tmp_path: Path) -> None:
    _, token = new_key(tmp_path, per_minute=PER_MINUTE)
    questions = [{"question": CANOLA}] * (AT_ONCE + 1)  # the last has to wait until the limit lets it through
    with opened(plan(small.index, tmp_path, auth=True), **bearer(token)) as client:
        answered = client.post("/answer/batch", json={"questions": questions})
        after = client.get("/jobs")

    assert len(answered.text.splitlines()) == AT_ONCE + 1
    assert after.status_code == 429 or int(after.headers["RateLimit-Remaining"]) <= 2


def test_without_a_limit_a_batch_is_not_slowed_down(small: SmallCorpus, tmp_path: Path) -> None:
    _, token = new_key(tmp_path, per_minute=0)
    with opened(plan(small.index, tmp_path, auth=True), **bearer(token)) as client:
        answered = client.post("/answer/batch", json={"questions": [{"question": CANOLA}] * 30})

    assert len(answered.text.splitlines()) == 30
