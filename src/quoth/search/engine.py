"""The engine: what stays the same from question to question, for every path that reads an index."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace

from quoth.domain.profile import Profile
from quoth.protocols import Embedder, LlmReranker, Reader, Reranker, TokenCounter
from quoth.search.language_pairs import LanguageFits, LanguagePair
from quoth.search.logistic import EvidenceModel, Logistic, Scale
from quoth.search.reading import SentenceReader
from quoth.settings import Settings
from quoth.types import EncodedQuestion, RegionKind

Stage = Callable[[str], None]
"""Called with the name of each stage when it is done, to measure how long it took."""


def silent(_: str) -> None:
    """Ignore the stages."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """The least confidence of an answer, and the least relevance of its sentences.

    The best sentence must reach `support`, every other one that supports the answer `quote`, and one that only
    complements it `context`.
    """

    answer: float
    support: float
    quote: float
    context: float
    share: float = 1.0
    """The most that `selection.min_share` may be: without the reader it is less sure which sentence is the best."""


_WITH_READER = {
    "careful": Thresholds(answer=0.7, support=0.4, quote=0.6, context=0.1),
    "balanced": Thresholds(answer=0.5, support=0.2, quote=0.5, context=0.03),
    "eager": Thresholds(answer=0.35, support=0.1, quote=0.4, context=0.02),
}
_WITHOUT_READER = {
    "careful": Thresholds(answer=0.5, support=0.3, quote=0.3, context=0.3),
    "balanced": Thresholds(answer=0.3, support=0.3, quote=0.3, context=0.3),
    "eager": Thresholds(answer=0.15, support=0.2, quote=0.2, context=0.2),
}
_IN_OTHER_LANGUAGES = {
    "careful": Thresholds(answer=0.5, support=0.05, quote=0.05, context=0.02, share=0.25),
    "balanced": Thresholds(answer=0.35, support=0.03, quote=0.03, context=0.02, share=0.25),
    "eager": Thresholds(answer=0.25, support=0.02, quote=0.02, context=0.01, share=0.25),
}


@dataclass(frozen=True, slots=True)
class Engine:
    """The models, the profile and the settings that answer questions; without an embedder, by full text alone."""

    embedder: Embedder | None
    reranker: Reranker | None
    sentence_reader: SentenceReader | None
    """None: the reranker has the last word on sentences."""
    llm_reranker: LlmReranker | None
    evidence: EvidenceModel | None
    """For questions whose tokens the reranker compares. None: the best fused score is the confidence."""
    evidence_without_tokens: EvidenceModel | None
    """For other questions; only the reader can do without tokens."""
    scales: Mapping[str, Scale]
    """By the name of the scorer: maps the scores of passages to the scale of `context.floor`."""
    open_counter: Callable[[], TokenCounter]
    """Only a context needs it."""
    view_regions: Callable[[Reader, Collection[RegionKind]], Reader]
    """Returns a view of an index whose searches find these parts beside the text; without any, the index itself."""
    profile: Profile
    settings: Settings
    settings_digest: str
    """See `digest_of`."""
    language_fits: LanguageFits = field(default_factory=dict)
    """Empty where the confidence is only the best fused score."""
    language_rerankers: Mapping[LanguagePair, Reranker] = field(default_factory=dict)
    """What takes the place of `reranker` for a pair of languages."""
    fitted_language: str | None = None
    """The language, other than English, of the user's questions that the weights for `SAME` were fitted to."""
    pair: LanguagePair = LanguagePair.ENGLISH

    def scorer(self, encoded: EncodedQuestion) -> str:
        """Return the name of the scorer: the reranker if it can score this question, else the search itself."""
        if self.reranker is not None and (encoded.tokens is not None or not self.reranker.needs_tokens):
            return self.reranker.name
        return "none" if encoded.vector is not None else "lexical"

    def evidence_for(self, encoded: EncodedQuestion) -> EvidenceModel | None:
        """Return the weights for what is known of a question, or None if it has only the score of the search."""
        compared = self.reranker is not None and self.scorer(encoded) == self.reranker.name
        return self.evidence if compared else self.evidence_without_tokens

    def confidence_model(self, encoded: EncodedQuestion) -> Logistic | None:
        evidence = self.evidence_for(encoded)
        return evidence.answer if evidence else None

    @property
    def thresholds(self) -> Thresholds:
        """The thresholds of the settings, or where they leave one open, the value that `decision.answer` stands for.

        The reader gives probabilities, so a balanced answer is more likely right than wrong. Without it the balanced
        values were set on training questions: 95% of the right sentences and 92% of the right answers pass. In other
        languages 98% of the right answers to training questions pass; where only words can tell, 82%. A fit of the
        user's own gives probabilities, so then a balanced answer is more likely right than wrong.
        """
        presets = _WITH_READER if self.sentence_reader is not None else _WITHOUT_READER
        given = self.settings.decision
        preset = presets[given.answer]
        if self.pair is not LanguagePair.ENGLISH:
            preset = _IN_OTHER_LANGUAGES[given.answer]
            across, fitted = self.pair is LanguagePair.ACROSS, bool(self.fitted_language)
            more = 0.15 if not self.language_rerankers or (fitted and not across) else 0.1 if across else 0.0
            preset = replace(preset, answer=round(preset.answer + more, 2))
        return Thresholds(
            answer=preset.answer if given.abstain_score_thresh is None else given.abstain_score_thresh,
            support=preset.support if given.support_score is None else given.support_score,
            quote=preset.quote if given.support_score is None else given.support_score,
            context=preset.context,
            share=preset.share,
        )

    @property
    def models(self) -> tuple[str, ...]:
        """The name and revision of the embedding model and of the reader, as far as they are used."""
        model, reader = self.embedder and self.embedder.identity, self.sentence_reader
        embedder = [f"{model.name} {model.revision} {model.precision} {model.dimension}"] if model else []
        named = self.settings.rerank.model or "reader"
        return (*embedder, *([f"{named} {reader.encoder.revision}"] if reader else ()))

    @property
    def passage_support(self) -> float:
        """The least relevance of a supporting sentence in a passage, which the reader does not judge."""
        given = self.settings.decision.support_score
        return _WITHOUT_READER[self.settings.decision.answer].support if given is None else given

    def search_mode(self, encoded: EncodedQuestion) -> str:
        """Return the retrieval mode in force: a question without a vector is searched by full text alone."""
        return "lexical" if encoded.vector is None else self.settings.retrieval.mode

    def searching_for(self, pair: LanguagePair) -> Engine:
        """Return the engine that searches for such a pair; it reranks by what these languages share."""
        return replace(self, reranker=self.language_rerankers.get(pair, self.reranker))

    def judging(self, pair: LanguagePair) -> Engine:
        """Return the engine that judges evidence for such a pair: only English is judged by the English reader."""
        fit = self.language_fits.get(pair)
        if fit is None:
            return self
        return replace(self, sentence_reader=None, evidence=fit, evidence_without_tokens=fit, pair=pair)

    def judged_in(self, language: str) -> str | None:
        """Return the language that a question in `language` is judged in, None where that is as English is."""
        if self.pair is LanguagePair.ACROSS:
            return f"{language}, across"
        return language if self.pair is LanguagePair.SAME else None

    def with_settings(self, settings: Settings) -> Engine:
        """Return the same engine under other settings; only for settings that choose no model."""
        return replace(self, settings=settings, settings_digest=digest_of(settings, self.sentence_reader))


def digest_of(settings: Settings, sentence_reader: SentenceReader | None) -> str:
    """Return the digest of the settings; another model in the folder of `rerank.model` has another digest."""
    if sentence_reader is None or settings.rerank.model is None:
        return settings.digest
    return hashlib.sha256(f"{settings.digest} {sentence_reader.encoder.revision}".encode()).hexdigest()[:12]
