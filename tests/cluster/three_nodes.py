"""A real cluster of three nodes on this machine, in a process of its own.

Ray's warnings are not ours, and its processes must be gone whatever happens to the tests. Started as a program, it
obeys lines on standard input (`kill 1`, `add`, `nodes`, `stop`) and answers each with a line of JSON. It ends with
all its nodes when its input ends.
"""

from __future__ import annotations

import json
import logging
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_STORE_BYTES = 100 * 2**20
_PATIENCE = 300
"""Seconds after which the cluster counts as hanging, and is ended."""
_QUICK_TO_NOTICE = {
    "health_check_initial_delay_ms": 1000,
    "health_check_period_ms": 500,
    "health_check_timeout_ms": 2000,
}
"""Ray takes some fifteen seconds to call a node dead; a test need not wait for that."""
_UNASKED = {"no_monitor": True, "include_log_monitor": False}
"""No test wants more nodes for more work, or the logs of workers: these processes only cost time."""


class ThreeNodes:
    """The cluster as a test sees it. Node 0 is the head, where a driver sits; the others may be killed."""

    def __init__(self, program: subprocess.Popen[str]) -> None:
        self._program = program
        told = self._answer()
        self.address: str = told["address"]
        self._home = Path(told["home"])

    def kill(self, number: int) -> None:
        """SIGKILL for all processes of a node, its workers among them; others keep their numbers."""
        self._tell(f"kill {number}")

    def add(self) -> int:
        """Another node; gives its number."""
        return int(self._tell("add")["number"])

    @contextmanager
    def altered(self, code: str, *numbers: int) -> Iterator[None]:
        """Have every process that these nodes start within the block run `code` first.

        Ray gives each driver processes of its own, so the code reaches no command outside the block.
        """
        files = [_folder(self._home, number) / "sitecustomize.py" for number in numbers]
        for file in files:
            file.write_text(code, encoding="utf-8")
        try:
            yield
        finally:
            for file in files:
                file.unlink()
                shutil.rmtree(file.with_name("__pycache__"), ignore_errors=True)

    def nodes(self) -> list[int]:
        """The numbers of the nodes that were not killed."""
        return list(self._tell("nodes")["nodes"])

    def _tell(self, line: str) -> dict[str, Any]:
        assert self._program.stdin is not None
        self._program.stdin.write(line + "\n")
        self._program.stdin.flush()
        return self._answer()

    def _answer(self) -> dict[str, Any]:
        assert self._program.stdout is not None
        watch = threading.Timer(_PATIENCE, self._program.kill)
        watch.start()
        line = self._program.stdout.readline()
        watch.cancel()
        assert line, "the cluster ended; see what it said on standard error"
        answer: dict[str, Any] = json.loads(line)
        assert "error" not in answer, answer["error"]
        return answer


@contextmanager
def three_nodes() -> Iterator[ThreeNodes]:
    program = subprocess.Popen(
        [sys.executable, "-W", "ignore", __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is for the tests, which end the cluster themselves
        env={
            **os.environ,
            **{"RAY_USAGE_STATS_ENABLED": "0", "RAY_DEDUP_LOGS": "0"},
            "RAY_SERVE_PROXY_READY_CHECK_TIMEOUT_S": "60",  # a busy machine is slow to start listeners
        },
    )
    assert program.stdin is not None
    assert program.stdout is not None
    with program.stdin, program.stdout:
        try:
            yield ThreeNodes(program)
        finally:
            program.stdin.close()
            try:
                program.wait(_PATIENCE)
            except subprocess.TimeoutExpired:
                program.kill()
                program.wait()


def main() -> None:
    said, sys.stdout = sys.stdout, sys.stderr  # whatever else is printed must not be taken for an answer
    home = Path(tempfile.mkdtemp(prefix="ray-", dir="/tmp"))  # a socket's path is at most 107 bytes
    # Ray keeps everything below this folder, also the address of its newest cluster. Without it Ray takes /tmp/ray for
    # that address, which exists only where Ray ran before.
    os.environ["RAY_TMPDIR"] = str(home)
    cluster = _Cluster(home)
    try:
        print(json.dumps({"address": cluster.address, "home": str(home)}), file=said, flush=True)
        for line in sys.stdin:
            command, _, argument = line.strip().partition(" ")
            if command == "stop":
                break
            try:
                answer = cluster.obey(command, argument)
            except Exception as error:  # the test shall see it
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), file=said, flush=True)
    finally:
        cluster.stop()
        shutil.rmtree(home, ignore_errors=True)


class _Cluster:
    def __init__(self, home: Path) -> None:
        from ray.cluster_utils import Cluster

        logging.getLogger("ray").setLevel(logging.ERROR)
        self._home = home
        head = {**_limits(), **_UNASKED, "_system_config": _QUICK_TO_NOTICE, "env_vars": self._variables(0)}
        self._cluster = Cluster(initialize_head=True, head_node_args=head)
        self._nodes: dict[int, Any] = {0: self._cluster.head_node}
        self._next = 1
        for _ in range(2):
            self._add()

    @property
    def address(self) -> str:
        return str(self._cluster.address)

    def obey(self, command: str, argument: str) -> dict[str, Any]:
        if command == "kill":
            self._kill(int(argument))
        elif command == "add":
            return {"number": self._add()}
        return {"nodes": sorted(self._nodes)}

    def stop(self) -> None:
        for number in sorted(self._nodes, reverse=True):  # the head last
            self._kill(number)

    def _add(self) -> int:
        number, self._next = self._next, self._next + 1
        self._nodes[number] = self._cluster.add_node(**_limits(), env_vars=self._variables(number))
        return number

    def _variables(self, number: int) -> dict[str, str]:
        """Return the environment of a node: it imports first from a folder of its own, where `altered` puts code."""
        folder = _folder(self._home, number)
        folder.mkdir()
        return {**os.environ, "PYTHONPATH": str(folder)}

    def _kill(self, number: int) -> None:
        """Workers are children of the node's own process, and would live a moment longer than it does."""
        import psutil  # type: ignore[import-untyped]  # Ray brings it

        node = self._nodes.pop(number)
        started = [psutil.Process(one.process.pid) for some in node.all_processes.values() for one in some]
        workers = [worker for one in started for worker in one.children(recursive=True)]
        self._cluster.remove_node(node, allow_graceful=False)
        for worker in workers:
            try:
                worker.kill()
            except psutil.NoSuchProcess:
                continue
        psutil.wait_procs(workers, timeout=10)


def _folder(home: Path, number: int) -> Path:
    return home / f"node-{number}"


def _limits() -> dict[str, Any]:
    """Return the limits of a node. Ray starts a worker for each processor and driver, needed or not: so it has one."""
    return {"num_cpus": 1, "object_store_memory": _STORE_BYTES, "include_dashboard": False}


if __name__ == "__main__":
    main()
