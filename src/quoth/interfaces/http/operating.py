"""Routes for operators and for the page: health, readiness, metrics, facets."""

from __future__ import annotations

import asyncio
from typing import Any

from fastapi import APIRouter, Request
from prometheus_client import CONTENT_TYPE_LATEST
from starlette.responses import Response

from quoth import __version__
from quoth.interfaces.guard.keys import Key, Scope
from quoth.interfaces.http import described, metrics
from quoth.interfaces.http.asking import Served, json_response

router = APIRouter(tags=["operation"])
_HEALTHY: dict[int | str, dict[str, Any]] = {200: {"model": described.Health, "description": "It runs."}}

_NOTHING_KNOWN = {"store": False, "index": False, "model": False}
"""Where the store does not answer in time."""


@router.get("/healthz", summary="Is it alive?", responses=_HEALTHY)
@router.get("/health", summary="Is it alive?", responses=_HEALTHY)
async def health() -> Response:
    return json_response({"status": "ok", "version": __version__})


@router.get(
    "/readyz",
    summary="Can it answer?",
    description=(
        "Whether the store can be reached, there is an index, and its model is loaded. A service on a cluster answers "
        "without the shards named in `degraded`, and says so in each answer; `notes` are for operators, and say "
        "whether a generation was published that could not be taken into service."
    ),
    responses={
        200: {"model": described.Readiness, "description": "It can."},
        503: {"model": described.Readiness, "description": "Not yet, or not now."},
    },
)
async def ready(service: Served) -> Response:
    checks = await service.readiness() or _NOTHING_KNOWN
    fine = all(checks.values())
    degraded = service.degraded()
    message = f"without {', '.join(degraded)}" if degraded else ""
    return json_response(
        {
            "ready": fine,
            "checks": checks,
            "degraded": degraded,
            "notes": service.notes(),
            "message": message if fine else "not ready",
        },
        200 if fine else 503,
    )


@router.get(
    "/metrics",
    summary="Metrics for Prometheus",
    responses={200: {"description": "Counts and times.", "content": {"text/plain": {"schema": {"type": "string"}}}}},
)
async def scrape(service: Served) -> Response:
    index = await service.index_values() or {}  # the other metrics are worth the more where the store hangs
    shards = service.cluster.states() if service.cluster is not None else ()
    text = await asyncio.to_thread(metrics.scrape, index, version=__version__, shards=shards)
    return Response(text, headers={"Content-Type": CONTENT_TYPE_LATEST})


@router.get(
    "/facets",
    summary="What can be filtered by",
    responses={200: {"model": described.Facets, "description": "Document types, tags, and what the index holds."}},
)
async def facets(request: Request, service: Served) -> Response:
    def work() -> dict[str, Any]:
        catalogue, info, profile = service.catalogue(), service.quoth.info, service.profile()
        return {
            "profile": info.profile_name,
            "authority": profile.authority is not None,
            "documents": info.documents,
            "sentences": info.sentences,
            "document_types": [{"value": kind, "documents": count} for kind, count in catalogue.types],
            "degraded": list(catalogue.missing),
            "tags": {facet.name: [one.name for one in facet.values] for facet in profile.facets},
            "uploads": service.writing is not None and may_write(request),
            "index": info.digest,
            "offset_unit": "codepoint",
        }

    return json_response(await service.run(request, work))


def may_write(request: Request) -> bool:
    """Whether whoever asks may upload; without keys everyone may."""
    key: Key | None = request.scope["state"].get("key")
    return key is None or Scope.WRITE in key.scopes
