"""What a replica of a shard does: it opens what is published, and answers what it is asked. Nothing here needs Ray."""

from __future__ import annotations

import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quoth.cluster.handles import Said
from quoth.errors import QuothError
from quoth.stores.embedded.shards import Layout
from quoth.stores.places import open_place
from quoth.stores.sharded import manifest
from quoth.stores.sharded.fetched import tidy
from quoth.stores.sharded.host import ShardHost, Version, version_of
from quoth.stores.sharded.manifest import ShardEntry

_KNOWN = 256
"""Entries that a replica remembers: those of a few generations, however many shards it hosts."""
_log = logging.getLogger("ray.serve")


class Hosting:
    """Hosts the shards of one place among `hosts`: one, unless the index has more of them by now. Threads share it."""

    def __init__(self, index: str, place: int, hosts: int, *, cache: Path, layout: Layout) -> None:
        self._home = open_place(index)
        self._place = place
        self._hosts = hosts
        self._cache = cache
        self._host = ShardHost(index, cache=cache, layout=layout)
        self._lock = threading.Lock()
        self._entries: OrderedDict[Version, ShardEntry] = OrderedDict()
        self._version = ""
        self._current: tuple[ShardEntry, ...] = ()
        self._names: frozenset[str] = frozenset()

    def ask(self, key: Version, method: str, args: Sequence[Any]) -> Said:
        """Nothing is said (`unknown`) of a shard that has not been opened here."""
        with self._lock:
            entry = self._entries.get(key)
        return Said("unknown", None) if entry is None else self._answered(entry, method, args)

    def ask_of(self, entry: ShardEntry, method: str, args: Sequence[Any]) -> Said:
        said = self._answered(entry, method, args)
        if said.kind == "given":
            self._note(entry)
        return said

    def check(self) -> None:
        """Whether what is open can be read. What cannot be opened is told to whoever asks, and no restart helps."""
        self._host.check()

    def look(self) -> None:
        """Open what is published now; where that fails, whoever asks for it is told why."""
        try:
            found = self._home.get(manifest.NAME)
            if found is not None and found[1] != self._version:
                self._open(*found)
            if self._current and self._host.let_go(self._current):
                tidy(self._home, cache=self._cache, keep=self._names)
        except QuothError as error:
            _log.error("shard %d cannot be opened: %s", self._place + 1, error)
        except Exception:  # of this machine: the next look may find it gone
            _log.exception("shard %d cannot be opened", self._place + 1)

    def close(self) -> None:
        self._host.close()

    def _open(self, content: bytes, version: str) -> None:
        cluster = manifest.parsed(content, self._home.uri)
        own = cluster.shards[self._place :: self._hosts]
        for entry in own:
            self._host.call(entry, "ping", ())
            self._note(entry)
        self._version, self._current = version, own
        self._names = frozenset(entry.folder for entry in cluster.shards)
        tidy(self._home, cache=self._cache, keep=self._names)

    def _answered(self, entry: ShardEntry, method: str, args: Sequence[Any]) -> Said:
        try:
            return Said("given", self._host.call(entry, method, args))
        except QuothError as error:
            return Said("refused", str(error))
        except Exception as error:  # whatever it is: the others can answer without this shard
            _log.exception("shard %d cannot answer", self._place + 1)
            return Said("refused", f"{type(error).__name__}: {error}")

    def _note(self, entry: ShardEntry) -> None:
        with self._lock:
            self._entries[version_of(entry)] = entry
            self._entries.move_to_end(version_of(entry))
            while len(self._entries) > _KNOWN:
                self._entries.popitem(last=False)
