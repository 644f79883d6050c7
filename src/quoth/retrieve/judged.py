"""A judging model's word on the best sentences; without it, the order that was there."""

from __future__ import annotations

from dataclasses import replace

from quoth.engine import Engine
from quoth.errors import ProviderFault
from quoth.protocols import Reader
from quoth.retrieve.find import boosted
from quoth.retrieve.fuse import ROUND
from quoth.retrieve.merge import Found
from quoth.types import Analysis

FALLBACK = "The judging model could not be used, so the order is the one before it: "


def judged(found: Found, analysis: Analysis, *, reader: Reader, engine: Engine) -> Found:
    """The best sentences with the judge's scores, in one request; the same when there is no judge or it fails."""
    if engine.judge is None or not found.ranked:
        return found
    best = found.ranked[: engine.judge.most]
    texts = [(one.sentence.id, "\n".join((*one.sentence.section, one.sentence.search_text))) for one in best]
    try:
        judgements, usage = engine.judge.judge(analysis.question.text, texts)
    except ProviderFault as fault:
        return replace(found, degraded=(*found.degraded, "rerank"), notes=(*found.notes, f"{FALLBACK}{fault}"))
    scored = tuple(
        replace(one, relevance=(score := round(judgement.score, ROUND)), order=score)
        for one, judgement in zip(best, judgements, strict=True)
    )
    return replace(found, ranked=boosted(scored, analysis, reader=reader, engine=engine), usage=usage)
