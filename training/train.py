"""Fine-tune MiniLM to say whether a sentence answers a question.

    python training/train.py --work DIR --weights MINILM --out DIR/others --phase others --steps 1200
    python training/train.py --work DIR --weights MINILM --out DIR/all --phase all --steps 600 --start DIR/others

Reads the groups written by `prepare.py` and `swapped.py`. The loss is at the level of the question: a softmax over its
candidates and a fixed zero that stands for "none of them", so that a score means the same for every question; half of
it is added as a plain cross-entropy for each pair.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from jsonl import read
from network import CrossEncoder
from pairs import encode_pair
from safetensors.torch import load_file, save_file
from tokenizers import Tokenizer
from torch import Tensor, nn

SEED = 20
GROUPS_A_STEP = 6
CANDIDATES_A_GROUP = 7
RATE = 1e-4
WARM_UP = 150
CONTEXT_SHARE = 0.5
"""How often a sentence is seen with its context, so that the model can be used either way."""

PHASES = {
    # None of the domains that Quoth is measured on: neither contracts nor the SQuAD family.
    "others": {
        "doqa": 1.0,
        "selqa": 1.0,
        "tatqa": 1.0,
        "fairytaleqa": 1.0,
        "covidqa": 1.0,
        "pubmedqa_pqal": 1.0,
        "qasper_paragraphs": 1.0,
        "quotesum_dev": 1.0,
        "medquad": 0.5,
        "iirc_pairs": 0.7,
        "scitail": 0.7,
        "qamr": 0.4,
        "strategyqa_facts": 0.3,
    },
}
PHASES["all"] = {
    **{name: 0.2 * share for name, share in PHASES["others"].items()},  # so that what was learnt is not lost
    "disflqa_squad2": 1.5,
    "squad2_rhine": 1.5,
    "xquad_en": 0.7,
    "adversarialqa_passages": 0.5,
    "cuad_other": 1.0,
}
"""How often a set's groups are seen, against once each."""


@dataclass(frozen=True)
class Group:
    question: str
    candidates: tuple[tuple[str, str, int], ...]
    """(sentence, context, label), the best candidates first."""


def main() -> int:
    options = _options()
    torch.manual_seed(SEED)
    torch.set_num_threads(options.threads)
    tokenizer = Tokenizer.from_file(str(options.weights / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    model = CrossEncoder.from_weights(options.weights)
    if options.start:
        model.load_state_dict(load_file(options.start / "model.safetensors"))
    model.train()
    groups = load_groups(options.work, PHASES[options.phase])
    print(f"{len(groups)} groups, {sum(len(one.candidates) for one in groups)} pairs", flush=True)
    trained = [parameter for parameter in model.parameters() if parameter.requires_grad]
    optimizer = torch.optim.AdamW(trained, lr=RATE, weight_decay=0.01)
    losses: list[float] = []
    pairs = 0
    began = time.monotonic()
    for step, batch in enumerate(endless(groups, options.steps), 1):
        for rate_group in optimizer.param_groups:
            rate_group["lr"] = RATE * options.rate * schedule(step, options.steps)
        loss, count = batch_loss(model, tokenizer, batch, random.Random(f"{SEED}-{options.phase}-{step}"))
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(trained, 1.0)
        optimizer.step()
        losses.append(loss.item())
        pairs += count
        if step % 50 == 0:
            speed = pairs / (time.monotonic() - began)
            print(f"step {step} loss {sum(losses[-50:]) / 50:.4f} {speed:.1f} pairs/s", flush=True)
        if step % 200 == 0 or step == options.steps:
            options.out.mkdir(parents=True, exist_ok=True)
            save_file(model.state_dict(), options.out / "model.safetensors")
            report = {"step": step, "pairs": pairs, "seconds": round(time.monotonic() - began), "phase": options.phase}
            (options.out / "report.json").write_text(json.dumps(report))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--weights", type=Path, required=True, help="the folder of all-MiniLM-L6-v2")
    parser.add_argument("--phase", choices=PHASES, required=True)
    parser.add_argument("--steps", type=int, required=True)
    parser.add_argument("--start", type=Path, help="go on from this model")
    parser.add_argument("--rate", type=float, default=1.0, help="a factor on the learning rate")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


def load_groups(work: Path, shares: dict[str, float]) -> list[Group]:
    """The training groups of each set, as often as its share says, with the swapped questions beside them."""
    groups: list[Group] = []
    chance = random.Random(SEED)
    for name, share in shares.items():
        rows = read(work / f"{name}.jsonl")
        swapped = work / f"{name}.swapped.jsonl"
        if swapped.is_file():
            rows += read(swapped)
        kept = [group_of(row) for row in rows if row["split"] == "train" and row["candidates"]]
        for round_of in range(math.ceil(share)):
            groups += [one for one in kept if chance.random() < share - round_of]
    return groups


def group_of(row: dict[str, Any]) -> Group:
    return Group(
        row["question"],
        tuple(
            (one["text"], " ".join(filter(None, (one["section"], one["before"]))), one["label"])
            for one in row["candidates"]
        ),
    )


def schedule(step: int, steps: int) -> float:
    if step < WARM_UP:
        return step / WARM_UP
    return 0.02 + 0.98 * 0.5 * (1 + math.cos(math.pi * (step - WARM_UP) / max(1, steps - WARM_UP)))


def endless(groups: list[Group], steps: int) -> Iterator[list[Group]]:
    """`steps` batches; every group is seen once before any is seen again."""
    chance = random.Random(SEED + 1)
    left: list[Group] = []
    for _ in range(steps):
        if len(left) < GROUPS_A_STEP:
            left = groups[:]
            chance.shuffle(left)
        yield [left.pop() for _ in range(GROUPS_A_STEP)]


def batch_loss(
    model: CrossEncoder, tokenizer: Tokenizer, batch: list[Group], chance: random.Random
) -> tuple[Tensor, int]:
    encoded: list[tuple[list[int], list[int]]] = []
    labels: list[list[int]] = []
    for group in batch:
        few = some_of(group, chance)
        context = chance.random() < CONTEXT_SHARE
        encoded += [
            encode_pair(tokenizer, group.question, text, context=around if context else "") for text, around, _ in few
        ]
        labels.append([label for _, _, label in few])
    scores = score_all(model, encoded)
    total = torch.zeros(())
    start = 0
    for group_labels in labels:
        total = total + group_loss(scores[start : start + len(group_labels)], torch.tensor(group_labels))
        start += len(group_labels)
    return total / len(batch), len(encoded)


def some_of(group: Group, chance: random.Random) -> list[tuple[str, str, int]]:
    """All that fits: up to two answers, then the candidates that look best, one in four of them left to chance."""
    right = [one for one in group.candidates if one[2]]
    wrong = [one for one in group.candidates if not one[2]]
    room = CANDIDATES_A_GROUP - min(2, len(right))
    hard = [one for one in wrong if chance.random() < 0.75][:room]
    return chance.sample(right, min(2, len(right))) + (hard or wrong[:room])


def score_all(model: CrossEncoder, encoded: list[tuple[list[int], list[int]]], chunk: int = 14) -> Tensor:
    """Scores in the order given; run in chunks of like length, since padding is work for nothing."""
    order = sorted(range(len(encoded)), key=lambda index: len(encoded[index][0]))
    parts: list[Tensor] = []
    for start in range(0, len(order), chunk):
        rows = [encoded[index] for index in order[start : start + chunk]]
        width = max(len(ids) for ids, _ in rows)
        ids = torch.tensor([ids + [0] * (width - len(ids)) for ids, _ in rows])
        types = torch.tensor([types + [0] * (width - len(types)) for _, types in rows])
        mask = torch.tensor([[1] * len(ids) + [0] * (width - len(ids)) for ids, _ in rows])
        parts.append(model(ids, types, mask))
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(order))
    return torch.cat(parts)[back]


def group_loss(scores: Tensor, labels: Tensor) -> Tensor:
    everything = torch.logsumexp(torch.cat([torch.zeros(1), scores]), 0)
    right = torch.logsumexp(scores[labels == 1], 0) if labels.any() else torch.zeros(())
    pairwise = nn.functional.binary_cross_entropy_with_logits(scores, labels.float())
    return everything - right + 0.5 * pairwise


if __name__ == "__main__":
    sys.exit(main())
