"""What the machine, or the container on it, grants this process."""

from __future__ import annotations

import math
import os
from pathlib import Path

_CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_PLAIN = frozenset(
    "PATH HOME LANG LANGUAGE TZ TMPDIR LD_LIBRARY_PATH QUOTH_CACHE_DIR XDG_CACHE_HOME ORT_DISABLE_TELEMETRY".split()
)
_PLAIN_BEGINNINGS = ("LC_", "PYTHON", "OMP_", "OPENBLAS_", "COVERAGE_")
_STATUS = Path("/proc/self/status")


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
    """The rights of a file that is made without further ado; temporary ones, and those of some libraries, have less."""
    return 0o666 & ~_mask()


def _mask() -> int:
    """The process's mask for new files. Where the system does not tell it, it can be read only by setting it."""
    try:
        lines = _STATUS.read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)
    except (OSError, StopIteration):
        mask = os.umask(0o077)  # what another thread makes in this moment is for nobody else
        os.umask(mask)
        return mask


def plain_environment() -> dict[str, str]:
    """The variables that a program needs to run, and no others: those hold passwords and keys.

    For programs that read files of strangers, which may be made to take them over.
    """
    return {name: value for name, value in os.environ.items() if name in _PLAIN or name.startswith(_PLAIN_BEGINNINGS)}
