"""What the machine, or the container on it, grants this process."""

from __future__ import annotations

import math
import os
from pathlib import Path

_CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def available_cores() -> int:
    """Count the cores this process may use: its affinity, cut by the quota of its container."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    try:
        quota, period = _CPU_QUOTA.read_text().split()
        return max(1, min(cores, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max": no quota
        return cores


def usual_mode() -> int:
    """The rights of a file that is made without further ado; temporary ones, and those of some libraries, have fewer.

    The process's mask can be read only by setting it.
    """
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
