"""One process of `quoth serve`: what it should do stands in the environment, where its parent put it."""

from __future__ import annotations

import json
import os

from starlette.types import ASGIApp

from quoth.interfaces.http import logs
from quoth.interfaces.http.app import make_app
from quoth.interfaces.http.service import Plan
from quoth.settings import Overrides

VARIABLE = "QUOTH_SERVE"


def written(plan: Plan) -> str:
    """A plan as text."""
    given = plan.overrides
    return json.dumps(
        {
            "index": plan.index,
            "profile": plan.profile,
            "auth": plan.auth,
            "file": given.file,
            "environment": given.environment,
            "flags": given.flags,
        },
        default=str,
    )


def read(text: str) -> Plan:
    content = json.loads(text)
    given = Overrides(content["file"], content["environment"], content["flags"])
    return Plan(index=content["index"], overrides=given, profile=content["profile"], auth=content["auth"])


def make() -> ASGIApp:
    """Called by the server in each of its processes."""
    logs.set_up()
    return make_app(read(os.environ[VARIABLE]))
