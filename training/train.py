"""Teach the reader whether a sentence answers a question, and with which of its words.

    python training/train.py --work DIR --steps 6000 [--start FILE] [--threads 2]
    python training/train.py --work DIR --steps 6600 --cool-down 600
    python training/train.py --work NEW --steps 6000 --seed 8 --start src/quoth/models/shipped/reader.onnx

Reads the groups that `prepare.py` and its companions wrote to DIR/data, and DIR/base. Every 100 steps it saves all that
it needs to go on (weights, moving average, optimizer, place in the data) to DIR/run; a run that was stopped goes on
there when the command is given again. The rate stays level, so that a run can be made longer, until `--cool-down` lets
it fall to nothing over the last steps. The weights to use are the moving average: DIR/run/reader.safetensors. Held-out
questions are scored every 1,000 steps, into DIR/run/log.jsonl. A folder without a run begins one; the last form goes on
with the reader in the package, on the data in another order.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jsonl import read
from network import ReaderNetwork
from pairs import Pair, encode_pair
from safetensors.torch import save_file
from torch import Tensor, nn

from quoth.models.cross_encoder import PairTokenizer
from quoth.types import SentenceInContext

SEED = 7
RATE = 3e-5
WARM_UP = 100
AVERAGE = 0.999
BATCH_TOKENS = 3000
CANDIDATES_A_GROUP = 5
CONTEXT_SHARE = 0.6
"""The share of groups that are read with heading and the sentence before; the others learn to do without."""
NO_CONTEXT = {"heading": "", "before": ""}
SAVE_EVERY, JUDGE_EVERY = 100, 1000
_PROCESSOR = Path("/proc/cpuinfo")
HAS_BFLOAT16 = _PROCESSOR.is_file() and "avx512_bf16" in _PROCESSOR.read_text()
"""Whether this processor multiplies in bfloat16; others would only imitate it, slower than single precision."""
HELD_OUT = {"judged": 120, "mined": 160, "written": 80}
HELD_OUT_A_SET = 12
"""How many held-out questions of a set are judged, where `HELD_OUT` does not say it."""

SHARES = {  # how often a set is seen in one pass: strong labels more often, weak or easy ones less
    "adversarialqa_passages": 0.3,
    "covidqa": 1.0,
    "cuad_other": 1.0,
    "disflqa_squad2": 2.0,
    "doqa": 0.7,
    "fairytaleqa": 0.6,
    "foolmetwice": 1.5,
    "iirc_pairs": 0.7,
    "judged": 15.0,
    "medquad": 0.5,
    "mined": 12.0,
    "msdocs_faq": 1.5,
    "pubmedqa_pqal": 0.8,
    "qamr": 0.4,
    "qasper_paragraphs": 1.0,
    "quotesum_dev": 1.0,
    "scitail": 1.0,
    "selqa": 1.0,
    "squad2_rhine": 2.0,
    "strategyqa_facts": 0.3,
    "tatqa": 1.0,
    "written": 2.0,
    "xquad_en": 1.0,
}


@dataclass(frozen=True, slots=True)
class Text:
    """A candidate: its label, and the span of the answering words where they are known."""

    sentence: SentenceInContext
    label: int
    answer: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Group:
    set: str
    question: str
    candidates: tuple[Text, ...]


Batch = list[tuple[list[Pair], list[int]]]
"""For each group its pairs and their labels."""


def main() -> int:
    options = _options()
    torch.manual_seed(options.seed)
    torch.set_num_threads(options.threads)
    tokenizer = PairTokenizer(options.work / "base" / "tokenizer.json")
    rows = load_rows(options.work / "data")
    groups = [group for name, share in SHARES.items() for group in shared(rows[name, "train"], share)]
    judged = [group for name in SHARES for group in rows[name, "held_out"][: HELD_OUT.get(name, HELD_OUT_A_SET)]]
    run = Run(options.work / "run", ReaderNetwork.from_base(options.work / "base", options.start))
    print(f"{len(groups)} groups a pass, {len(judged)} held out; step {run.step} of {options.steps}", flush=True)
    if run.step == 0:
        run.judge(tokenizer, judged)
    losses: list[float] = []
    began, pairs = time.monotonic(), 0
    for step, batch in enumerate(endless(groups, tokenizer, seed=options.seed), 1):
        if step <= run.step:
            continue
        if step > options.steps:
            break
        losses.append(run.learn(batch, rate=RATE * schedule(step, options.steps, options.cool_down)))
        pairs += sum(len(labels) for _, labels in batch)
        if step % 20 == 0:
            speed = pairs / (time.monotonic() - began)
            print(f"step {step} loss {np.mean(losses[-100:]):.4f} {speed:.1f} pairs/s", flush=True)
        if step % SAVE_EVERY == 0 or step == options.steps:
            run.save()
        if step % JUDGE_EVERY == 0 or step == options.steps:
            run.judge(tokenizer, judged)
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=Path, required=True)
    parser.add_argument("--steps", type=int, required=True, help="how many steps the run has in all")
    parser.add_argument("--cool-down", type=int, default=0, help="over how many of the last steps the rate falls")
    parser.add_argument("--start", type=Path, help="weights to begin with instead of the base model's")
    parser.add_argument("--seed", type=int, default=SEED, help="what the order of the data is drawn from")
    parser.add_argument("--threads", type=int, default=2)
    return parser.parse_args()


class Run:
    """The network with its optimizer and the moving average of its weights, saved in a folder."""

    def __init__(self, folder: Path, network: ReaderNetwork) -> None:
        self.folder = folder
        self.network = network
        self.step = 0
        self.trained = {name: value for name, value in network.named_parameters() if value.requires_grad}
        self.optimizer = torch.optim.AdamW(self.trained.values(), lr=RATE, weight_decay=0.01)
        self.average = {name: value.detach().clone() for name, value in self.trained.items()}
        folder.mkdir(parents=True, exist_ok=True)
        if (folder / "state.pt").is_file():
            state = torch.load(folder / "state.pt", weights_only=True)
            network.load_state_dict({**network.state_dict(), **state["trained"]})
            self.optimizer.load_state_dict(state["optimizer"])
            self.average = state["average"]
            self.step = state["step"]

    def learn(self, batch: Batch, *, rate: float) -> float:
        for parameters in self.optimizer.param_groups:
            parameters["lr"] = rate
        loss = batch_loss(self.network, batch)
        self.optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(self.trained.values(), 1.0)
        self.optimizer.step()
        self.step += 1
        keep = min(AVERAGE, self.step / (self.step + 10))
        with torch.no_grad():
            for name, value in self.trained.items():
                self.average[name].lerp_(value, 1 - keep)
        return float(loss.item())

    def save(self) -> None:
        """Write all or nothing: a run may be killed at any moment."""
        state = {
            "trained": {name: value.detach() for name, value in self.trained.items()},
            "optimizer": self.optimizer.state_dict(),
            "average": self.average,
            "step": self.step,
        }
        torch.save(state, self.folder / "state.new")
        (self.folder / "state.new").replace(self.folder / "state.pt")
        tensors = {name: value.contiguous() for name, value in {**self.network.state_dict(), **self.average}.items()}
        save_file(tensors, self.folder / "reader.new")
        (self.folder / "reader.new").replace(self.folder / "reader.safetensors")

    def judge(self, tokenizer: PairTokenizer, groups: Sequence[Group]) -> None:
        """Score held-out questions with the moving average, and write the measures to the log."""
        current = {name: value.detach().clone() for name, value in self.trained.items()}
        self.network.load_state_dict({**self.network.state_dict(), **self.average})
        measures = {"step": self.step, **measured(self.network, tokenizer, groups)}
        self.network.load_state_dict({**self.network.state_dict(), **current})
        with (self.folder / "log.jsonl").open("a", encoding="utf-8") as log:
            log.write(json.dumps(measures) + os.linesep)
        print({name: value for name, value in measures.items() if name != "sets"}, flush=True)


def load_rows(data: Path) -> dict[tuple[str, str], list[Group]]:
    """Return the groups of each set and split; the made ones of a set stand in files of their own beside it.

    What was written on passages of any set is a set of its own, and so is what was judged, and what `mined.py` found.
    """
    rows: dict[tuple[str, str], list[Group]] = defaultdict(list)
    for path in sorted(data.glob("*.jsonl")):
        name, form = path.name.split(".")[:2]
        name = form if form in ("judged", "mined", "written") else name
        for row in read(path):
            if row["candidates"]:
                rows[name, row["split"]].append(group_of(name, row))
    chance = random.Random(SEED)
    for groups in rows.values():
        chance.shuffle(groups)
    return rows


def group_of(name: str, row: dict[str, Any]) -> Group:
    return Group(
        name,
        row["question"],
        tuple(
            Text(SentenceInContext(one["text"], one["heading"], one["before"]), one["label"], one["answer"])
            for one in row["candidates"]
        ),
    )


def shared(groups: list[Group], share: float) -> list[Group]:
    whole = int(share)
    return groups * whole + groups[: round((share - whole) * len(groups))]


def schedule(step: int, steps: int, cool_down: int) -> float:
    level = min(1.0, step / WARM_UP)
    return level * min(1.0, (steps - step + 1) / cool_down) if cool_down else level


def endless(groups: Sequence[Group], tokenizer: PairTokenizer, *, seed: int) -> Iterator[Batch]:
    """Batches of about `BATCH_TOKENS`, the same in every run; every group is seen once before any is seen again."""
    around = 0
    while True:
        around += 1
        order = list(range(len(groups)))
        random.Random(f"{seed}-{around}").shuffle(order)
        batch: Batch = []
        tokens = 0
        for index in order:
            pairs, labels = encode_group(groups[index], tokenizer, random.Random(f"{seed}-{around}-{index}"))
            batch.append((pairs, labels))
            tokens += sum(len(pair.ids) for pair in pairs)
            if tokens >= BATCH_TOKENS:
                yield batch
                batch, tokens = [], 0


def encode_group(group: Group, tokenizer: PairTokenizer, chance: random.Random) -> tuple[list[Pair], list[int]]:
    texts = some_of(group, chance)
    return encode_texts(group.question, texts, tokenizer, context=chance.random() < CONTEXT_SHARE)


def encode_texts(
    question: str, texts: Sequence[Text], tokenizer: PairTokenizer, *, context: bool
) -> tuple[list[Pair], list[int]]:
    pairs = [
        encode_pair(tokenizer, question, one.sentence if context else replace(one.sentence, **NO_CONTEXT), one.answer)
        for one in texts
    ]
    return pairs, [one.label for one in texts]


def some_of(group: Group, chance: random.Random) -> list[Text]:
    """Up to two answers, then the candidates that were found best, one in four of them left to chance."""
    right = [one for one in group.candidates if one.label]
    wrong = [one for one in group.candidates if not one.label]
    room = CANDIDATES_A_GROUP - min(2, len(right))
    hard = [one for one in wrong if chance.random() < 0.75][:room]
    return chance.sample(right, min(2, len(right))) + (hard or wrong[:room])


def batch_loss(network: ReaderNetwork, batch: Batch) -> Tensor:
    scores, marks = score_all(network, [pair for pairs, _ in batch for pair in pairs])
    total = 0.3 * mark_loss(marks)
    start = 0
    for _, labels in batch:
        total = total + group_loss(scores[start : start + len(labels)], torch.tensor(labels)) / len(batch)
        start += len(labels)
    return total


def group_loss(scores: Tensor, labels: Tensor) -> Tensor:
    """A softmax over the candidates and a zero for "none of them", plus half the cross-entropy of each pair."""
    everything = torch.logsumexp(torch.cat([torch.zeros(1), scores]), 0)
    right = torch.logsumexp(scores[labels == 1], 0) if labels.any() else torch.zeros(())
    pairwise = nn.functional.binary_cross_entropy_with_logits(scores, labels.float())
    return everything - right + 0.5 * pairwise


def mark_loss(marks: Sequence[tuple[Tensor, Tensor]]) -> Tensor:
    """The cross-entropy of the tokens of sentences whose answering words are known."""
    scores = torch.cat([scores[wanted >= 0] for scores, wanted in marks])
    wanted = torch.cat([wanted[wanted >= 0] for _, wanted in marks])
    if not len(wanted):
        return torch.zeros(())
    return nn.functional.binary_cross_entropy_with_logits(scores, wanted.float())


def score_all(
    network: ReaderNetwork, pairs: Sequence[Pair], chunk: int = 16
) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
    """Scores in the order given, and token scores with their marks; run in chunks of like length."""
    order = sorted(range(len(pairs)), key=lambda index: len(pairs[index].ids))
    scores: list[Tensor] = []
    marks: list[tuple[Tensor, Tensor]] = []
    for start in range(0, len(order), chunk):
        rows = [pairs[index] for index in order[start : start + chunk]]
        width = max(len(row.ids) for row in rows)
        ids = torch.tensor([[*row.ids] + [0] * (width - len(row.ids)) for row in rows])
        types = torch.tensor([[*row.types] + [0] * (width - len(row.ids)) for row in rows])
        mask = torch.tensor([[1] * len(row.ids) + [0] * (width - len(row.ids)) for row in rows])
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=HAS_BFLOAT16):
            pair_scores, token_scores = network(ids, types, mask)
        scores.append(pair_scores)
        marks.append((token_scores, torch.tensor([[*row.marks] + [-1] * (width - len(row.ids)) for row in rows])))
    back = torch.empty(len(order), dtype=torch.long)
    back[torch.tensor(order)] = torch.arange(len(order))
    return torch.cat(scores)[back], marks


def measured(network: ReaderNetwork, tokenizer: PairTokenizer, groups: Sequence[Group]) -> dict[str, Any]:
    """hit@1, AUROC of the best score and the loss, each set counting the same."""
    by_set: dict[str, list[tuple[list[float], list[int], float]]] = defaultdict(list)
    with torch.no_grad():
        for group in groups:
            pairs, labels = encode_texts(group.question, group.candidates, tokenizer, context=True)
            scores, _ = score_all(network, pairs)
            by_set[group.set].append((scores.tolist(), labels, group_loss(scores, torch.tensor(labels)).item()))
    sets = {name: of_set(scored) for name, scored in by_set.items()}
    means = {
        measure: round(float(np.mean([one[measure] for one in sets.values() if one[measure] is not None])), 4)
        for measure in ("hit", "auroc", "loss")
    }
    return {**means, "sets": sets}


def of_set(scored: Sequence[tuple[list[float], list[int], float]]) -> dict[str, float | None]:
    hits = [labels[int(np.argmax(scores))] for scores, labels, _ in scored if any(labels) and not all(labels)]
    right = np.array([max(scores) for scores, labels, _ in scored if any(labels)])
    wrong = np.array([max(scores) for scores, labels, _ in scored if not any(labels)])
    auroc = None
    if len(right) and len(wrong):
        auroc = round(float((right[:, None] > wrong).mean() + 0.5 * (right[:, None] == wrong).mean()), 4)
    return {
        "hit": round(float(np.mean(hits)), 4) if hits else None,
        "auroc": auroc,
        "loss": round(float(np.mean([loss for _, _, loss in scored])), 4),
    }


if __name__ == "__main__":
    sys.exit(main())
