"""The processes of `quoth serve`: what each should do stands in the environment, where their parent put it."""

from __future__ import annotations

import json
import logging
import os
import socket
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

import uvicorn
from starlette.types import ASGIApp
from uvicorn.config import STARTUP_FAILURE
from uvicorn.supervisors import Multiprocess

from quoth.errors import QuothError, SettingsError
from quoth.interfaces.http import logs
from quoth.interfaces.http.app import make_app
from quoth.interfaces.http.connection import server_config
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
    """The application of a process that is alone."""
    logs.set_up()
    return make_app(read(os.environ[VARIABLE]))


def make_one_of_many() -> ASGIApp:
    """The application of a process among others. Where it cannot be made, the next could not either: all stop."""
    try:
        return make()
    except (QuothError, OSError, sqlite3.Error) as error:
        logs.log("cannot start", level=logging.ERROR, message=str(error), hint=getattr(error, "hint", ""))
        raise SystemExit(STARTUP_FAILURE) from error


@dataclass(frozen=True, slots=True)
class Listening:
    sockets: Sequence[socket.socket]
    port: int


@contextmanager
def listen(host: str, port: int) -> Iterator[Listening]:
    """Sockets on every address of a host; `SettingsError` where that cannot be. A port of 0 is any that is free."""
    with ExitStack() as opened:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            sockets = []
            for family, address in dict.fromkeys((one[0], one[4]) for one in found):
                given = (address[0], port, *address[2:])
                sockets.append(opened.enter_context(socket.create_server(given, family=family)))
                port = sockets[0].getsockname()[1]
        except OSError as error:
            hint = "Is another service running there? Choose another with --port, or an address of this machine."
            why = error.strerror or str(error)
            raise SettingsError(f"cannot listen on {host}, port {port}: {why.lower()}", hint=hint) from error
        yield Listening(sockets, port)


def serve(plan: Plan, sockets: Sequence[socket.socket], *, workers: int) -> None:
    """Answer until told to stop, and then end what is under way."""
    config = server_config(
        make if workers == 1 else f"{__name__}:{make_one_of_many.__name__}",
        grace_seconds=plan.settings.grace_seconds,
        factory=True,
        workers=workers,
    )
    if workers == 1:
        uvicorn.Server(config).run(list(sockets))
        return
    processes = Multiprocess(config, list(sockets))
    processes.run()
    if any(process.exitcode == STARTUP_FAILURE for process in processes.processes):
        raise SettingsError("the service cannot start", hint="Its log says why, above.")
