"""The cores, the file permissions and the environment of this process; files that are replaced in one step."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

WITNESS = "QUOTH_WITNESS"
"""The environment variable with the number of the pipe that `witnesses` returns."""
_CPU_QUOTA = Path("/sys/fs/cgroup/cpu.max")
_PLAIN = frozenset(
    "PATH HOME LANG LANGUAGE TZ TMPDIR LD_LIBRARY_PATH QUOTH_CACHE_DIR XDG_CACHE_HOME ORT_DISABLE_TELEMETRY".split()
)
_PLAIN_BEGINNINGS = ("LC_", "PYTHON", "OMP_", "OPENBLAS_", "COVERAGE_")
_STATUS = Path("/proc/self/status")


def available_cores() -> int:
    """Return the number of cores in the affinity of this process, limited by the quota of its container."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else os.cpu_count() or 1
    try:
        quota, period = _CPU_QUOTA.read_text().split()
        return max(1, min(cores, math.ceil(int(quota) / int(period))))
    except (OSError, ValueError):  # no such file, or "max": no quota
        return cores


def usual_mode() -> int:
    """Return the permission bits that a new file gets by default; temporary files have fewer."""
    return 0o666 & ~_mask()


def _mask() -> int:
    """Return the umask of the process. Without /proc, the only way to read it is to set it."""
    try:
        lines = _STATUS.read_text().splitlines()
        return int(next(line for line in lines if line.startswith("Umask:")).split()[1], 8)
    except (OSError, StopIteration):
        mask = os.umask(0o077)  # strict, in case another thread creates a file meanwhile
        os.umask(mask)
        return mask


def plain_environment() -> dict[str, str]:
    """Return the environment variables that a program needs to run. The others may hold secrets.

    Use it to start programs that read untrusted files, since such a file may take over its reader.
    """
    return {name: value for name, value in os.environ.items() if name in _PLAIN or name.startswith(_PLAIN_BEGINNINGS)}


def witnesses() -> tuple[int, ...]:
    """Return the pipe that every program we start must inherit: it ends when the last of them has ended."""
    return tuple(int(number) for number in os.environ.get(WITNESS, "").split())


@contextmanager
def replaced_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file that takes the place of `path` when the block ends; after an error or a crash the old one stays.

    Only its owner may read it, unless the block changes its permissions.
    """
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
    sync(path.parent)


def sync(path: Path) -> None:
    """Write a file, or the names in a folder, to disk, so that a new or renamed file survives a power cut."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
