"""What a user says about a batch."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from quoth.settings import Overrides


class Placement(StrEnum):
    """Where the index is opened: all of it in each process, or each shard in one that the others ask."""

    AUTO = "auto"
    WHOLE = "whole"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True)
class Batch:
    """How questions are to be answered. `workers` None: as many as the cluster has processors at the time.

    A chunk whose process dies is answered again, `retries` times at the most.
    """

    index: str
    overrides: Overrides
    address: str | None
    workers: int | None
    placement: Placement
    retries: int
