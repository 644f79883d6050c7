"""What the one who asks may see of an index."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Access:
    """The documents that somebody may see: those with any of `labels`, and those without labels if `unlabelled`.

    `labels` None sees every document, whatever its labels. Others are kept as `labels_of` writes them.
    """

    labels: frozenset[str] | None
    unlabelled: bool

    def __post_init__(self) -> None:
        if self.labels is not None:
            object.__setattr__(self, "labels", frozenset(labels_of(self.labels)))

    def sees(self, labels: Collection[str]) -> bool:
        """Return whether a document with these labels, as `labels_of` writes them, may be seen."""
        if self.labels is None:
            return True
        return not self.labels.isdisjoint(labels) if labels else self.unlabelled


EVERYTHING = Access(labels=None, unlabelled=True)


def labels_of(written: Iterable[str]) -> tuple[str, ...]:
    """Return labels in the form in which they are stored and compared: sorted, each once, none empty.

    Case, the width of letters, the way accents are encoded and runs of blanks make no difference.
    """
    return tuple(sorted({folded for label in written if (folded := _folded(label))}))


def _folded(label: str) -> str:
    alike = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", label).casefold())
    return " ".join(alike.split())
