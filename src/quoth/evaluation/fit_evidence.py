"""Fit the evidence model to labelled questions, and check on held-out questions whether the fit predicts better."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from quoth.errors import CalibrationError, QuestionError
from quoth.evaluation.calibrate import without_calibration
from quoth.evaluation.fit_quality import FOLDS, HeldOut, Rows, compare
from quoth.evaluation.fitting import fit
from quoth.evaluation.judgements import judge_asked, touches_gold
from quoth.evaluation.labelled_questions import LabelledQuestion, asked_language, linked_groups, reporting, same_words
from quoth.evaluation.measures import Floats
from quoth.library import Quoth
from quoth.overrides import Overrides
from quoth.protocols import Progress, Store
from quoth.search.language_pairs import READER, LanguagePair
from quoth.search.logistic import ANSWER_SIGNS, INTERCEPT, SENTENCE_SIGNS, EvidenceModel, Logistic
from quoth.wiring import fit_circumstances_of

SECTION = "evidence"
FEWEST_ANSWERABLE, FEWEST_UNANSWERABLE = 20, 10
_CONSTANT = 1e-6
RIDGE = 10.0
"""The weights in force count as much as forty questions, each of which adds at most a quarter to the curvature."""
_HELD_OUT = (*range(FOLDS), -1)
"""The fold that each model is fitted without. The last one is fitted to all questions; it is the one to keep."""


@dataclass(frozen=True, slots=True)
class Example:
    """A question as it was answered: features and label of each ranked sentence, and of the answer.

    The label of a sentence is whether it touches gold, that of the answer whether a quote does. The answer has no
    features when nothing was found.
    """

    sentences: tuple[tuple[Mapping[str, float], bool], ...]
    answer: Mapping[str, float]
    right: bool


@dataclass(frozen=True, slots=True)
class EvidenceFit:
    """The weights before and after, and how well both predict and decide.

    `sentences` is None when only the weights of the answer were fitted. `well` is the share of questions that are
    answered rightly, or declined because nothing answers them, before and after; each held out when it was asked.
    """

    questions: int
    answerable: int
    grouped_by: str
    in_force: EvidenceModel
    sentence: Logistic
    answer: Logistic
    sentences: HeldOut | None
    answers: HeldOut
    well: tuple[float, float]
    made_for: Mapping[str, str]

    @property
    def models(self) -> dict[str, HeldOut]:
        """The models that were fitted, by what they are about."""
        return ({"sentences": self.sentences} if self.sentences else {}) | {"answers": self.answers}

    @property
    def better(self) -> bool:
        """Whether every model predicts better, one of them clearly, and no fewer questions are decided well."""
        models = self.models.values()
        predicts = all(model.better for model in models) and any(model.clear for model in models)
        return predicts and self.well[1] >= self.well[0]


@dataclass(frozen=True, slots=True, eq=False)
class _Trials:
    """The questions in folds, as they are answered with the weights in force, and a way to try other weights."""

    items: Sequence[LabelledQuestion]
    folds: Sequence[int]
    grouped_by: str
    in_force: EvidenceModel
    made_for: Mapping[str, str]
    before: Sequence[Example]
    decided: Sequence[bool]
    """Whether each question is decided well."""
    open_fitted: Callable[[EvidenceModel], Quoth]
    progress: Progress | None

    def fit_answers(
        self, models: Sequence[Logistic], asked: Sequence[Sequence[Example]], sentences: HeldOut | None
    ) -> EvidenceFit:
        """Fit the model for answers. `asked` holds, for each question, an example by each model for sentences."""
        rows = _answer_rows(self.before, self.folds)
        answers = [
            _answer_model(rows, _answer_rows([each[at] for each in asked], self.folds), held_out, self.in_force.answer)
            for at, held_out in enumerate(_HELD_OUT)
        ]
        after = [each[fold] for each, fold in zip(asked, self.folds, strict=True)]
        fitted = [self.open_fitted(EvidenceModel(*pair, revision="")) for pair in zip(models, answers, strict=True)]
        each = reporting(list(zip(self.items, self.folds, strict=True)), "deciding", self.progress)
        decided = [_decided_well(fitted[fold], item) for item, fold in each]
        count = len(self.items)
        return EvidenceFit(
            questions=count,
            answerable=sum(item.answerable for item in self.items),
            grouped_by=self.grouped_by,
            in_force=self.in_force,
            sentence=models[-1],
            answer=answers[-1],
            sentences=sentences,
            answers=compare(rows, self.in_force.answer, _answer_rows(after, self.folds), answers),
            well=(sum(self.decided) / count, sum(decided) / count),
            made_for=self.made_for,
        )


def fit_evidence(
    items: Sequence[LabelledQuestion], *, store: Store, overrides: Overrides, progress: Progress | None
) -> EvidenceFit:
    """Fit both models to all questions, or if that does not help, only the one for answers.

    Whether it helps is checked on five folds, each with models that were fitted without it. Raise `CalibrationError`
    when there are too few questions, or no weights to fit under these settings.
    """
    folds, grouped_by = folds_of(items)
    plain = _without_fit(overrides)
    quoth, deciding = Quoth(store, _answering(plain)), Quoth(store, plain)
    in_force, made_for = _fittable(quoth, store.kind, asked_language(items, quoth))
    asked = [(_ask(quoth, item), _decided_well(deciding, item)) for item in reporting(items, "asking", progress)]
    before, decided = [example for example, _ in asked], [well for _, well in asked]
    trials = _Trials(
        items=items,
        folds=folds,
        grouped_by=grouped_by,
        in_force=in_force,
        made_for=made_for,
        before=before,
        decided=decided,
        open_fitted=lambda model: Quoth(store, _with_fit(plain, model, made_for)),
        progress=progress,
    )
    rows = _sentence_rows(before, folds)
    models = [_sentence_model(rows, held_out, in_force.sentence) for held_out in _HELD_OUT]
    # The features of an answer rest on the model for sentences: so each of these models answers every question. One
    # question after the other, because the reader remembers what it read lately.
    changed = [_answering(_with_fit(plain, replace(in_force, sentence=model), made_for)) for model in models]
    variants = [Quoth(store, settings) for settings in changed]
    after = [[_ask(variant, item) for variant in variants] for item in reporting(items, "fitting", progress)]
    both = trials.fit_answers(models, after, compare(rows, in_force.sentence, rows, models))
    if both.better:
        return both
    same = [[example] * len(_HELD_OUT) for example in before]
    alone = trials.fit_answers([in_force.sentence] * len(_HELD_OUT), same, None)
    return alone if alone.better else both


def _fittable(quoth: Quoth, store: str, language: str | None) -> tuple[EvidenceModel, dict[str, str]]:
    """Return the weights in force for questions in a language, and what a fit depends on."""
    engine = quoth.engine()
    kind = engine.settings.rerank.kind
    in_force = engine.evidence or engine.evidence_without_tokens
    if language is not None:
        in_force = engine.language_fits[LanguagePair.SAME]
    if in_force is None or kind not in {"reader", "late"}:
        raise CalibrationError(
            f"there are no weights to fit: rerank.kind is {kind}, with the embedding model {quoth.info.model.name}",
            hint="Set rerank.kind to reader, or to late with an embedding model that has token vectors.",
        )
    return in_force, fit_circumstances_of(quoth.info, engine.settings, store=store, language=language)


def folds_of(items: Sequence[LabelledQuestion]) -> tuple[list[int], str]:
    """Return the fold of each question, and what never lies in two folds: the same text, or also the same document.

    A document is only kept together where no group of questions gets larger than a fold.
    """
    answerable = sum(item.answerable for item in items)
    if answerable < FEWEST_ANSWERABLE or len(items) - answerable < FEWEST_UNANSWERABLE:
        raise CalibrationError(
            f"{answerable} answerable and {len(items) - answerable} unanswerable questions are too few to fit weights "
            f"and to check them: at least {FEWEST_ANSWERABLE} and {FEWEST_UNANSWERABLE} are needed",
            hint="Label more questions of the kind you expect, with those that the documents do not answer.",
        )
    texts = [[f"text {same_words(item)}"] for item in items]
    both = [
        [*text, *(f"document {gold.doc_id}" for gold in item.gold)] for text, item in zip(texts, items, strict=True)
    ]
    groups, grouped_by = linked_groups(both), "text and document"
    if max(Counter(groups).values()) > len(items) / FOLDS:
        groups, grouped_by = linked_groups(texts), "text"
    if len(set(groups)) < FOLDS:
        raise CalibrationError(
            f"the {len(items)} questions have only {len(set(groups))} different texts, too few to hold some out",
            hint=f"Label at least {FOLDS} different questions, better some dozens.",
        )
    unanswerable = {group for group, item in zip(groups, items, strict=True) if not item.answerable}
    loads, fold_of = [0] * FOLDS, {}
    # The largest first, then the smallest fold takes the next: all get about as many questions of each kind.
    for group, size in sorted(Counter(groups).items(), key=lambda each: (-each[1], each[0] in unanswerable)):
        fold_of[group] = loads.index(min(loads))
        loads[fold_of[group]] += size
    return [fold_of[group] for group in groups], grouped_by


def _ask(quoth: Quoth, item: LabelledQuestion) -> Example:
    try:
        asked = quoth.explain(item.question)
    except QuestionError as error:
        hint = "Correct this question or take it out, then fit again."
        raise CalibrationError(f"question {item.question.id} cannot be asked: {error}", hint=hint) from error
    if degraded := [part for part in asked.outcome.notes.degraded if part != READER]:
        raise CalibrationError(
            f"question {item.question.id} was answered without a part: {', '.join(degraded)}",
            hint="Fit again when the embedding model can be reached.",
        )
    trace = asked.trace
    return Example(
        sentences=tuple(
            (ranked.support.features, touches_gold(item, ranked.sentence)) for ranked in trace.ranked if ranked.support
        ),
        answer=trace.confidence.features,
        right=judge_asked(item, asked, text_of=None).right,
    )


def _decided_well(quoth: Quoth, item: LabelledQuestion) -> bool:
    judged = judge_asked(item, quoth.explain(item.question), text_of=None)
    return not item.answerable if judged.abstained else judged.right


def _sentence_rows(examples: Sequence[Example], folds: Sequence[int]) -> Rows:
    """Each question counts the same, whatever the number of its sentences."""
    rows = [
        (*sentence, 1 / len(example.sentences), fold)
        for example, fold in zip(examples, folds, strict=True)
        for sentence in example.sentences
    ]
    return _rows(rows)


def _answer_rows(examples: Sequence[Example], folds: Sequence[int]) -> Rows:
    found = ((example, fold) for example, fold in zip(examples, folds, strict=True) if example.answer)
    kept = [(example, fold) for example, fold in found]
    # A question in another language than most others has fewer features.
    names = list(dict.fromkeys(name for example, _ in kept for name in example.answer))
    return _rows(
        [({name: example.answer.get(name, 0.0) for name in names}, example.right, 1.0, fold) for example, fold in kept]
    )


def _rows(rows: Sequence[tuple[Mapping[str, float], bool, float, int]]) -> Rows:
    if not rows:
        hint = "Check the index and the `doc_scope` of the questions."
        raise CalibrationError("nothing was found for any question", hint=hint)
    features, labels, shares, folds = zip(*rows, strict=True)
    return Rows(features, np.array(labels), np.array(shares), np.array(folds))


def _sentence_model(rows: Rows, held_out: int, prior: Logistic) -> Logistic:
    fitted = _fit(rows, held_out, SENTENCE_SIGNS, prior)
    return fitted if fitted.weights else prior  # without a weight there is no order


def _answer_model(before: Rows, after: Rows, held_out: int, prior: Logistic) -> Logistic:
    """Fit to features under other weights for sentences, which changed their scale.

    So the model is drawn towards the prior in units of what the features were before: a sentence as far above the
    average as before counts as much.
    """
    names = list(prior.weights)
    old, new = (_scale(rows, held_out, names) for rows in (before, after))
    weights = np.array(list(prior.weights.values()))
    varies = (old[1] > _CONSTANT) & (new[1] > _CONSTANT)  # the spread of a constant feature says nothing of its scale
    scaled = weights * np.where(varies, old[1], 1.0) / np.where(varies, new[1], 1.0)
    intercept = float(prior.intercept + weights @ old[0] - scaled @ new[0])
    carried_over = Logistic(intercept, dict(zip(names, scaled.tolist(), strict=True)))
    return _fit(after, held_out, ANSWER_SIGNS, carried_over)


def _scale(rows: Rows, held_out: int, names: Sequence[str]) -> tuple[Floats, Floats]:
    """Return the mean and the spread of each feature outside a fold."""
    used = np.flatnonzero(rows.folds != held_out).tolist()
    values = np.array([[rows.features[at][name] for name in names] for at in used])
    return values.mean(axis=0), values.std(axis=0) + 1e-9


def _fit(rows: Rows, held_out: int, signs: Mapping[str, int], prior: Logistic) -> Logistic:
    used = np.flatnonzero(rows.folds != held_out).tolist()
    features, labels, shares = [rows.features[at] for at in used], rows.labels[used], rows.shares[used]
    return fit(features, labels.tolist(), shares=shares.tolist(), signs=signs, ridge=RIDGE, prior=prior)


def _without_fit(overrides: Overrides) -> Overrides:
    """Return the settings without an earlier fit or calibration.

    An earlier fit may have seen the same questions: to begin with it would count them twice.
    """
    return without_calibration(replace(overrides, flags={**overrides.flags, f"{SECTION}.sentence": "{}"}))


def _answering(overrides: Overrides) -> Overrides:
    """Return the settings under which every question is answered: features must not depend on thresholds."""
    return replace(overrides, flags={**overrides.flags, "decision.abstain": "false"})


def _with_fit(overrides: Overrides, model: EvidenceModel, made_for: Mapping[str, str]) -> Overrides:
    values = {
        "sentence": weights_json(model.sentence),
        "answer": weights_json(model.answer),
        "made_for": dict(made_for),
    }
    flags = {f"{SECTION}.{name}": json.dumps(value) for name, value in values.items()}
    return replace(overrides, flags={**overrides.flags, **flags})


def weights_json(model: Logistic) -> dict[str, float]:
    return {INTERCEPT: model.intercept, **model.weights}
