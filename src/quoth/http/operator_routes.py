"""Routes for operators and for the web page: health, readiness, metrics, facets."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request
from msgspec import UNSET
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from quoth import __version__
from quoth.domain.profile import names_in
from quoth.http import telemetry
from quoth.http.answer_routes import Served, in_pool
from quoth.http.guard.api_keys import KeyScope
from quoth.http.http_faults import json_response
from quoth.http.response_types import FacetsJson, HealthJson, ReadinessJson, TypeCountJson, gives
from quoth.http.service import asker_of

router = APIRouter(tags=["operation"])
metrics_router = APIRouter(tags=["operation"])
"""Beside the others, since the metrics are those of a process and not of one corpus of several."""
facets_router = APIRouter(tags=["operation"])
_Lang = Annotated[str | None, Query(description="A language, such as `tr`: `names` are those of the tags in it.")]
HEALTHY: dict[int | str, dict[str, Any]] = {200: gives(HealthJson, "It runs.")}
READY: dict[int | str, dict[str, Any]] = {
    200: gives(ReadinessJson, "It can."),
    503: gives(ReadinessJson, "Not yet, or not now."),
}
METRICS: dict[int | str, dict[str, Any]] = {
    200: {"description": "Counts and times.", "content": {"text/plain": {"schema": {"type": "string"}}}}
}
_NOT_TAKEN = "what is published could not be taken into service at the last look: the generation before answers"


@router.get("/healthz", summary="Is it alive?", responses=HEALTHY)
@router.get("/health", summary="Is it alive?", responses=HEALTHY)
async def health() -> Response:
    return json_response(HealthJson("ok", version=__version__))


@router.get("/readyz", summary="Can it answer?", responses=READY)
async def ready(service: Served) -> Response:
    """Whether the store can be reached, there is an index, and its model is loaded. A service on a cluster answers
    without the shards named in `degraded`, and says so in each answer; `notes` are for operators, and say whether a
    generation was published that could not be taken into service."""
    checks = await service.readiness() or {"store": False, "index": False, "model": False}
    is_ready = all(checks.values())
    shards = service.cluster.states() if service.cluster is not None else ()
    degraded = [shard.name for shard in shards if not shard.up]
    message = f"without {', '.join(degraded)}" if degraded else ""
    return json_response(
        ReadinessJson(
            ready=is_ready,
            checks=checks,
            degraded=degraded,
            notes=[_NOT_TAKEN] if service.cluster is not None and service.cluster.trouble else [],
            message=message if is_ready else "not ready",
        ),
        200 if is_ready else 503,
    )


@metrics_router.get("/metrics", summary="Metrics for Prometheus", responses=METRICS)
async def scrape(request: Request, service: Served) -> Response:
    index = await service.index_values(asker_of(request))  # if the store hangs, the other metrics matter all the more
    shards = service.cluster.states() if service.cluster is not None else ()
    text = await asyncio.to_thread(telemetry.scrape, index, version=__version__, shards=shards)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


@facets_router.get(
    "/facets",
    summary="What can be filtered by",
    responses={200: gives(FacetsJson, "Document types, tags, and what the index holds.")},
)
@in_pool
def facets(request: Request, service: Served, lang: _Lang = None) -> Response:
    listing, info, profile = service.listing(request), service.seen(request).info, service.profile()
    may_write = KeyScope.WRITE in asker_of(request).scopes
    return json_response(
        FacetsJson(
            profile=info.profile_name,
            authority=profile.authority is not None,
            documents=info.documents,
            sentences=info.sentences,
            document_types=[TypeCountJson(kind, documents=count) for kind, count in listing.types.items()],
            degraded=list(listing.missing),
            tags={facet.name: [value.name for value in facet.values] for facet in profile.facets},
            uploads=service.uploads is not None and may_write,
            index=info.digest,
            offset_unit="codepoint",
            names=names_in(profile.facets, lang) if lang else UNSET,
        )
    )
