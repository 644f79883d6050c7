"""What every store that an ingest writes must remember about the files that were refused."""

from __future__ import annotations

from quoth.protocols import Store
from quoth.types import Refusals, Refused

from .fakes import PROFILE, HashEmbedder, split


def remember(store: Store, *found: tuple[str, Refused], folders: set[str], files: set[str]) -> None:
    store.write(
        [split("kept.md", "Sow at 2 cm.")],
        remove=(),
        embedder=HashEmbedder(),
        profile=PROFILE,
        progress=None,
        refusals=Refusals(frozenset(folders), frozenset(files), found),
    )


def check_refusals(store: Store) -> None:
    """Write refusals several times, and compare what the store gives back."""
    scan = Refused("scan.pdf", "its pages are pictures", "Install the reader.", kept=False)
    kept = Refused("kept.md", "it holds NUL \0 bytes", "Save it again.", kept=True)
    other = Refused("other.doc", "it is empty", "Copy it again.", kept=False)
    assert store.refused_files() == ()

    remember(store, ("/a", scan), ("/a", kept), folders={"/a"}, files={"scan.pdf", "kept.md"})
    assert store.refused_files() == (("/a", kept), ("/a", scan))

    remember(store, ("/b", other), folders={"/b"}, files={"other.doc"})
    assert store.refused_files() == (("/a", kept), ("/b", other), ("/a", scan))

    remember(store, folders=set(), files={"kept.md"})  # it was read, by itself
    assert store.refused_files() == (("/b", other), ("/a", scan))

    remember(store, folders={"/a"}, files={"kept.md"})  # the scan is no longer there
    assert store.refused_files() == (("/b", other),)
