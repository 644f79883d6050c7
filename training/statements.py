"""Statements made from questions and their answers: "Who wrote X?" with the answer "Y" becomes "Y wrote X."

    python training/statements.py --work DIR

People also put a statement to a corpus and want the sentence that decides it. For groups whose answering words are
known it writes statements with the same candidates to DIR/data/<set>.statements.jsonl. Only questions of a few plain
forms are turned; whatever would need a verb to be inflected is left out. A statement whose name or place is changed is
added for some of them, and nothing decides that any more.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jsonl import read

from stress.swap import SwapKind, pool_of, swaps

MOST_ANSWER_WORDS = 9
UNLIKE = ("qamr",)
"""Sets whose questions are made from single words of a sentence, and turn into statements that nobody would make."""
ABOUT_ANOTHER = frozenset({SwapKind.ENTITY, SwapKind.PLACE})
_HELPERS = "is are was were am be do does did can could will would has have had should shall may might must".split()
_HANGING = re.compile(r"\b(?:\w+ed|called|known|made|for|to|in|of|on|by|as|at|from|with|about|like|into|than)$")
_NOUN_PHRASE = re.compile(r"(?:(?i:the|a|an|his|her|its|their|one|our)\b|[A-Z])(?!.*\bsome(?:thing|one)\b)")
_PARTICIPLE = r"(?:\w+ed|born|built|held|made|written|begun|found|sold|won|lost|sent|set|given|taken|chosen|known|sown)"


def who(match: re.Match[str], answer: str) -> str | None:
    if match["verb"].lower() in _HELPERS:
        return None
    return f"{answer} {match['verb']}{match['rest']}"


def what_is(match: re.Match[str], answer: str) -> str | None:
    if _HANGING.search(match["subject"]) or not _NOUN_PHRASE.match(match["subject"]):
        return None
    return f"{match['subject']} {match['be']} {answer}"


def when_or_where(match: re.Match[str], answer: str) -> str | None:
    joined = answer if re.match(r"(?:in|on|at|from|near|by|during|after|before|between)\b", answer) else f"in {answer}"
    return f"{match['subject']} {match['be']} {match['done']} {joined}"


def how_many(match: re.Match[str], answer: str) -> str | None:
    if match["there"]:
        return f"there {match['be']} {answer} {match['what']}{match['rest']}"
    return f"{answer} {match['what']} {match['be']}{match['rest']}"


FORMS: tuple[tuple[re.Pattern[str], Callable[[re.Match[str], str], str | None]], ...] = (
    (re.compile(r"who (?P<verb>\w+)(?P<rest> .+)", re.IGNORECASE), who),
    (re.compile(r"(?:what|who) (?P<be>is|are|was|were) (?P<subject>.+)", re.IGNORECASE), what_is),
    (
        re.compile(rf"(?:when|where) (?P<be>is|are|was|were) (?P<subject>.+) (?P<done>{_PARTICIPLE})", re.IGNORECASE),
        when_or_where,
    ),
    (
        re.compile(r"how many (?P<what>.+?) (?P<be>are|were)(?P<there> there)?(?P<rest> .+|)", re.IGNORECASE),
        how_many,
    ),
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    data: Path = parser.parse_args().work / "data"
    for path in sorted(data.glob("*.jsonl")):
        if path.name.count(".") == 1 and path.stem not in UNLIKE:
            print(f"{path.stem}: {dict(write_statements(path))}", flush=True)
    return 0


def write_statements(path: Path) -> Counter[str]:
    rows = read(path)
    pool = pool_of([row["question"] for row in rows])
    counts: Counter[str] = Counter()
    with path.with_suffix(".statements.jsonl").open("w", encoding="utf-8") as file:

        def add(row: dict[str, Any], kind: str) -> None:
            file.write(json.dumps(row, ensure_ascii=False) + "\n")
            counts[kind] += 1

        for row in rows:
            text = statement_of(row)
            if text is None:
                continue
            add({**row, "question": text, "made": True}, "statement")
            every = [one["text"] for one in row["candidates"]]
            for swap in swaps(text, evidence=every, pool=pool, per_kind=1, seed=2):
                if swap.kind in ABOUT_ANOTHER and swap.stated:
                    changed = [{**one, "label": 0, "answer": None} for one in row["candidates"]]
                    fields = {"question": swap.question, "answerable": False, "made": True, "candidates": changed}
                    add({**row, **fields}, "changed")
                    break
    return counts


def statement_of(row: dict[str, Any]) -> str | None:
    """Return the question of a group with its answer filled in, or None when it has no form that can be turned."""
    known = [one for one in row["candidates"] if one["label"] and one["answer"]]
    if not known:
        return None
    start, end = known[0]["answer"]
    answer = known[0]["text"][start:end].strip(" .,;:\n")
    if not answer or len(answer.split()) > MOST_ANSWER_WORDS:
        return None
    question = " ".join(row["question"].split()).rstrip(" ?")
    for form, make in FORMS:
        match = form.fullmatch(question)
        text = make(match, answer) if match else None
        if text:
            return f"{text[0].upper()}{text[1:]}."
    return None


if __name__ == "__main__":
    sys.exit(main())
