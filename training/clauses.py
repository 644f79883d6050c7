"""Statements and yes-or-no questions made from rules: "Tenant shall not sublet" becomes "Can the tenant sublet?"

    python training/clauses.py --work DIR [--root ../shared/train] [SET ...]

Contracts and manuals are full of sentences that say what somebody must, may or may not do, and people ask about them
in other words. Each rule of a document gives a statement or a question in plainer words, with the candidates that
search brings, to DIR/data/<set>.clauses.jsonl. Asked of another document of the set, nothing decides it. A candidate
that shares most words with what was asked may decide it too, and is left out.
"""

from __future__ import annotations

import argparse
import random
import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from prepare import CANDIDATES, Row, copy_documents, group, side, unit, words_index, write

from quoth.language.words import fold
from quoth.library import Quoth
from quoth.types import Sentence

MOST = {
    "cuad_other": (150, 36),
    "msdocs_faq": (260, 8),
    "medquad": (220, 5),
    "doqa": (250, 3),
    "pubmedqa_pqal": (150, 2),
}
"""Of each set so many documents, and of each document so many rules."""
SAME_THING = 0.6
"""The share of the words asked from which another sentence may say the same."""
AWAY = 0.7
"""The share of rules that are asked of another document."""
SHORTER = 0.4
"""The share of long rules that are asked without their last words."""

_MODAL = re.compile(
    r"(?P<subject>.+?) (?P<modal>shall|must|may|will|can|should|agrees to|is required to|is entitled to)"
    r"(?P<no> not|not)? (?P<predicate>.+)"
)
_END = re.compile(
    r"[,;:.()\[\]\"“”]| (?:unless|except|provided|if|where|when|as set forth|in accordance|pursuant|subject to"
    r"|to the extent|in the event|including|which|whereby|and shall|and will|and may)\b"
)
_NUMBERED = re.compile(r"^\W*(?:(?:section|article)\s)?(?:\d+(?:\.\d+)*|[a-zA-Z]|[ivxIVX]+)[.)]\s+", re.IGNORECASE)
_PRONOUN = re.compile(
    r"\b(?:it|its|they|them|their|he|she|this|these|those|such|said|which|that|thereof|hereof)\b", re.IGNORECASE
)
_PERSON = re.compile(
    r"\b(?:owner|tenant|user|customer|employee|member|resident|licensee|consultant|patient|buyer)s?\b", re.IGNORECASE
)
_OPENING = re.compile(
    r"(?:if|when|where|without|in|on|upon|as|for|to|at|there|neither|no|nothing|nor|except)\b", re.IGNORECASE
)
_HANGING = re.compile(
    r"\b(?:of|to|in|on|by|for|with|at|from|or|and|the|a|an|any|all|as|that|either|only|not)$", re.IGNORECASE
)
_TAIL = re.compile(r" (?:to|in|on|by|for|with|at|from|without|upon|within|under|during|through|after|before) ")
_WORD = re.compile(r"[^\W_]+")
_EMPTY = frozenset(
    "the a an of to in on for by with at from or and any all each such other as is be are not no shall must may will"
    " can should its their his her it they this that these those under upon within party parties agreement".split()
)
_PLAIN = (  # a written form, and the plainer words that people ask with
    ("prior to", ("before",)),
    ("subsequent to", ("after",)),
    ("commence", ("start", "begin")),
    ("terminate", ("end", "cancel")),
    ("purchase", ("buy",)),
    ("obtain", ("get",)),
    ("utilize", ("use",)),
    ("disclose", ("reveal", "share")),
    ("provide", ("give", "supply")),
    ("assign", ("transfer", "hand over")),
    ("notify", ("inform", "tell")),
    ("retain", ("keep",)),
    ("maintain", ("keep",)),
    ("remit", ("pay",)),
    ("indemnify", ("compensate", "cover the losses of")),
    ("engage in", ("do", "take part in")),
    ("furnish", ("give", "supply")),
    ("permit", ("allow",)),
    ("enable", ("turn on", "allow")),
    ("disable", ("turn off",)),
    ("modify", ("change",)),
    ("delete", ("remove",)),
    ("configure", ("set up",)),
    ("require", ("need",)),
    ("perform", ("carry out", "do")),
    ("sublicense", ("pass on a licence for",)),
    ("designate", ("name", "choose")),
    ("promptly", ("quickly", "without delay")),
    ("sole", ("only",)),
    ("third party", ("others", "somebody else")),
    ("third parties", ("others", "other people")),
    ("written consent", ("permission", "approval")),
    ("consent", ("permission", "approval")),
    ("written notice", ("notice",)),
    ("products", ("goods",)),
    ("personnel", ("staff",)),
    ("premises", ("property",)),
    ("additional", ("more", "further")),
    ("sufficient", ("enough",)),
    ("approximately", ("about",)),
    ("assist", ("help",)),
    ("select", ("choose", "pick")),
    ("reimburse", ("pay back",)),
    ("solicit", ("try to hire", "approach")),
    ("confidential information", ("secrets", "confidential details")),
)
_MUST = ("must", "shall", "has to", "is required to", "is obliged to")
_MAY = ("may", "can", "is allowed to", "is permitted to", "has the right to")
_NOT = ("may not", "must not", "shall not", "is not allowed to", "is prohibited to")


@dataclass(frozen=True)
class Rule:
    """Who must, may or may not do what; `force` is "must", "may" or "not"."""

    subject: str
    force: str
    predicate: str


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sets", nargs="*", default=list(MOST))
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[1].parent / "shared" / "train")
    parser.add_argument("--work", type=Path, required=True)
    options = parser.parse_args()
    for name in options.sets:
        counts = write(
            clause_groups(options.root / name, options.work), options.work / "data" / f"{name}.clauses.jsonl"
        )
        print(f"{name}: {dict(counts)}", flush=True)
    return 0


def clause_groups(source: Path, work: Path) -> Iterator[dict[str, Any]]:
    documents, rules_a_document = MOST[source.name]
    every = (path.relative_to(source / "docs").as_posix() for path in (source / "docs").rglob("*.txt"))
    chosen = sorted(every, key=lambda doc: unit("clauses", doc))[:documents]
    corpus = work / "docs" / source.name
    copy_documents(source / "docs", corpus, chosen)
    quoth = words_index(corpus, work / "indexes" / source.name)
    rules: dict[str, list[tuple[Sentence, Rule]]] = {}
    for doc_id in chosen:
        found = [(sentence, rule) for sentence in quoth.sentences(doc_id) if (rule := rule_of(sentence))]
        rules[doc_id] = sorted(found, key=lambda pair: unit("rule", pair[0].id))[:rules_a_document]
    for doc_id, found in rules.items():
        others = [other for other in chosen if rules[other] and other != doc_id and of_one_side(other, doc_id)]
        for sentence, rule in found:
            chance = random.Random(sentence.id)
            yield asked_of_its_own(sentence, rule, quoth, chance)
            if others and chance.random() < AWAY and not re.search(r"[A-Z]{2}", rule.predicate):
                other = chance.choice(others)
                subject = chance.choice(rules[other])[1].subject
                yield asked_of_another(sentence, replace(rule, subject=subject), quoth, chance, other=other)


def of_one_side(first: str, second: str) -> bool:
    return side("document", first) == side("document", second)


def asked_of_its_own(sentence: Sentence, rule: Rule, quoth: Quoth, chance: random.Random) -> dict[str, Any]:
    span, doc_id = sentence.quote.span, sentence.doc_id
    gold = ((doc_id, span.start, span.end),)
    row = Row(sentence.id, in_other_words(rule, chance), True, (doc_id,), gold, weak=False, made=True)
    return {"split": side("document", doc_id), "gold": gold} | without_doubles(group(row, quoth, scope=(doc_id,)))


def asked_of_another(
    sentence: Sentence, rule: Rule, quoth: Quoth, chance: random.Random, *, other: str
) -> dict[str, Any]:
    """Return the rule asked of a document that does not hold it, about somebody whom that document names."""
    row = Row(f"{sentence.id}-away", in_other_words(rule, chance), False, (other,), (), weak=False, made=True)
    return {"split": side("document", other), "gold": ()} | without_doubles(group(row, quoth, scope=row.scope))


def without_doubles(line: dict[str, Any]) -> dict[str, Any]:
    """Return a group without the wrong candidates that may decide the rule as well."""
    wanted = content(line["question"])
    kept = [
        one
        for one in line["candidates"]
        if one["label"] or len(wanted & content(one["text"])) < SAME_THING * max(1, len(wanted))
    ]
    return {**line, "candidates": kept[:CANDIDATES]}


def content(text: str) -> set[str]:
    """Return the beginnings of the words that say something: `assign` and `assigns` are one."""
    return {word[:6] for word in _WORD.findall(fold(text)) if word not in _EMPTY}


def rule_of(sentence: Sentence) -> Rule | None:
    """Return the rule that a sentence states in its first clause, or None when it has no plain form."""
    if not sentence.kind.evidence or len(sentence.text) > 600:
        return None
    text = _NUMBERED.sub("", " ".join(sentence.text.split()))
    match = _MODAL.match(text)
    if not match:
        return None
    subject = re.sub(
        r"^(?:and|or|but|also|however|furthermore|in addition)\b,? ", "", match["subject"], flags=re.IGNORECASE
    )
    end = _END.search(match["predicate"])
    predicate = (match["predicate"][: end.start()] if end else match["predicate"]).strip()
    words = predicate.split()
    if _OPENING.match(subject) or _HANGING.search(predicate):
        return None
    if not 3 <= len(words) <= 20 or len(subject.split()) > 6 or _END.search(subject) or _PRONOUN.search(subject):
        return None
    if (
        len(content(predicate)) < 3
        or words[0].lower() in {"be", "have", "not", "also", "mean", "include"}
        or _PRONOUN.search(predicate)
    ):
        return None
    modal = match["modal"]
    may = modal in {"may", "can", "is entitled to"}
    return Rule(subject, "not" if match["no"] else "may" if may else "must", predicate)


def in_other_words(rule: Rule, chance: random.Random) -> str:
    """Return the rule as a statement or a question, some of its words in plainer ones."""
    subject, predicate = plain_subject(rule.subject, chance), plainer(shorter(rule.predicate, chance), chance)
    if chance.random() < 0.45:
        force = rule.force
        if chance.random() < 0.15:  # a sentence that refutes a statement decides it
            force = "not" if force == "may" else "may"
        says = chance.choice({"must": _MUST, "may": _MAY, "not": _NOT}[force])
        return sentence_case(f"{agreeing(subject, says)} {predicate}.")
    if subject == "you" or (_PERSON.search(subject) and chance.random() < 0.5):
        predicate = re.sub(r"\byour\b", "my", re.sub(r"\byou\b", "me", predicate))
        forms = {
            "must": ("Do I have to {}?", "Must I {}?", "Am I required to {}?", "Do I need to {}?"),
            "may": ("Can I {}?", "May I {}?", "Am I allowed to {}?"),
            "not": ("Can I {}?", "May I {}?", "Am I allowed to {}?", "Is it forbidden to {}?"),
        }
        return chance.choice(forms[rule.force]).format(predicate)
    plural = is_plural(subject)
    be, do = ("Are", "Do") if plural else ("Is", "Does")
    forms = {
        "must": (
            f"Must {subject} {{}}?",
            f"{do} {subject} have to {{}}?",
            f"{be} {subject} required to {{}}?",
            "Who must {}?",
        ),
        "may": (f"May {subject} {{}}?", f"Can {subject} {{}}?", f"{be} {subject} allowed to {{}}?", "Who may {}?"),
        "not": (
            f"May {subject} {{}}?",
            f"Can {subject} {{}}?",
            f"{be} {subject} allowed to {{}}?",
            "Is it allowed to {}?",
        ),
    }
    return chance.choice(forms[rule.force]).format(predicate)


def plain_subject(subject: str, chance: random.Random) -> str:
    """Return the subject as people name it: `Licensee` becomes `the licensee`, or now and then `a party`."""
    words = subject.split()
    if subject.lower() == "you":
        return "you"
    if len(words) == 1 and subject[0].isupper() and chance.random() < 0.3:
        return chance.choice(("a party", "one of the parties"))
    lower = [word.lower() if not word.isupper() or len(word) > 5 else word for word in words]
    if len(words) == 1 and not subject.endswith("s"):
        return f"the {lower[0]}"
    return " ".join(lower)


def shorter(predicate: str, chance: random.Random) -> str:
    """Return a long predicate now and then without its last phrase: nobody asks for every detail."""
    tails = [match.start() for match in _TAIL.finditer(predicate) if len(predicate[: match.start()].split()) >= 4]
    return predicate[: tails[-1]] if tails and chance.random() < SHORTER else predicate


def plainer(text: str, chance: random.Random) -> str:
    for written, plain in _PLAIN:
        if re.search(rf"\b{written}\b", text, re.IGNORECASE) and chance.random() < 0.6:
            text = re.sub(rf"\b{written}\b", chance.choice(plain), text, count=1, flags=re.IGNORECASE)
    words = [word.lower() if word.istitle() else word for word in text.split()]
    return " ".join(words)


def is_plural(subject: str) -> bool:
    return subject == "you" or (
        subject.endswith("s") and not subject.endswith("ss") and not subject.startswith(("a ", "one "))
    )


def agreeing(subject: str, says: str) -> str:
    if is_plural(subject):
        says = re.sub(r"^is\b", "are", re.sub(r"^has\b", "have", says))
    return f"{subject} {says}"


def sentence_case(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}"


if __name__ == "__main__":
    sys.exit(main())
