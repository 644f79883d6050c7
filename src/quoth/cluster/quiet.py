"""Keep what libraries write past Python off the user's terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

_STDERR = 2


@contextmanager
def native_talk_aside() -> Iterator[None]:
    """Let only Python write to the standard error, and not the libraries in C++; those of Ray keep their own logs."""
    talk = sys.stderr
    try:
        ours = talk is not None and talk.fileno() == _STDERR
    except (OSError, ValueError):  # it is no file, as in a test
        ours = False
    if not ours:
        yield
        return
    talk.flush()
    kept = os.dup(_STDERR)
    with open(os.devnull, "wb") as nowhere:  # noqa: PTH123 - no path of ours
        os.dup2(nowhere.fileno(), _STDERR)
    sys.stderr = os.fdopen(kept, "w", encoding=talk.encoding, errors=talk.errors, buffering=1)
    try:
        yield
    finally:
        aside, sys.stderr = sys.stderr, talk
        aside.flush()
        os.dup2(kept, _STDERR)
        aside.close()
