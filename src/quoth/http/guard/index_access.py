"""Which documents of an index an asker may see, whatever keeps the index."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from quoth.errors import LabelsUnsupported
from quoth.http.guard.askers import Asker
from quoth.library import Quoth
from quoth.types import EVERYTHING, Access

_AGAIN_SECONDS = 60.0
_UNLABELLED = Access(frozenset(), unlabelled=True)


class IndexAccess:
    """Says what askers may see of one index. It reads the index: call it in a thread; threads may share it.

    Some stores cannot be limited. While none of their documents has a label, everybody sees all of them, as everybody
    would elsewhere; else a limited asker gets `LabelsUnsupported` from the first read.
    """

    def __init__(self, quoth: Quoth, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._quoth = quoth
        self._clock = clock
        self._lock = threading.Lock()
        self._can_limit: bool | None = None
        self._unlabelled_state: object = None

    def of(self, asker: Asker) -> Access:
        access = asker.access_to(self._quoth)
        if access.labels is None or not access.unlabelled or self._limits() or not self._is_unlabelled():
            return access
        return EVERYTHING

    def _limits(self) -> bool:
        if self._can_limit is None:
            try:
                with self._quoth.seen_by(_UNLABELLED).reading():
                    self._can_limit = True
            except LabelsUnsupported:
                self._can_limit = False
        return self._can_limit

    def _is_unlabelled(self) -> bool:
        """Return whether no document has a label; it is looked up for each published state of the index.

        It is looked up every minute, too: a change of labels alone publishes nothing and leaves the digest as it is.
        """
        state = self._quoth.info.digest, self._quoth.published(), self._clock() // _AGAIN_SECONDS
        with self._lock:
            if self._unlabelled_state == state:
                return True
        if self._quoth.read(lambda reader: bool(reader.missing) or any(info.access for info in reader.documents())):
            return False
        with self._lock:
            self._unlabelled_state = state
        return True
