"""Requests to a program on this machine, each over a connection of its own."""

from __future__ import annotations

import ssl
from typing import Any

import httpx

from .command_line import PATIENCE

_NO_TLS = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""httpx would read the certificates of all authorities for each request, a hundred times the work of the request."""


def send(method: str, url: str, **options: Any) -> httpx.Response:  # noqa: ANN401 - as httpx takes them
    return httpx.request(method, url, verify=_NO_TLS, timeout=PATIENCE, **options)


def client(**options: Any) -> httpx.Client:  # noqa: ANN401 - as httpx takes them
    """A client that keeps its connections."""
    return httpx.Client(verify=_NO_TLS, timeout=PATIENCE, **options)
