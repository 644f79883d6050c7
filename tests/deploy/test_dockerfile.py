"""The image: what it is made from, who runs in it, and that its commands work. No container engine is needed."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from deploy.dockerfile import DOCKERFILE, ROOT, ignore_patterns, ignored, stages
from quoth import __version__

BUILD, FINAL = stages(DOCKERFILE.read_text(encoding="utf-8"))
PATTERNS = ignore_patterns((ROOT / ".dockerignore").read_text(encoding="utf-8"))


def copied() -> list[str]:
    """The paths of the repository that go into the build."""
    sources = (one.body.split()[:-1] for one in BUILD.all("COPY") if "from" not in one.flags)
    return [path for paths in sources for path in paths]


def test_both_stages_start_from_the_small_python_image() -> None:
    assert [BUILD.base, FINAL.base] == ["python:3.11-slim", "python:3.11-slim"]


def test_nothing_is_fetched_but_locked_wheels() -> None:
    commands = " ".join(one.rest for one in (*BUILD.all("RUN"), *FINAL.all("RUN")))
    installs = [line for line in commands.split("&&") if "pip install" in line]

    assert not BUILD.all("ADD")
    assert not FINAL.all("ADD")
    assert not re.search(r"curl|wget|https?://", commands)
    for install in installs:
        locked = "--require-hashes" in install and "--only-binary :all:" in install
        assert locked or "--no-deps --no-build-isolation ." in install


def test_what_is_copied_exists_and_reaches_the_build() -> None:
    for path in copied():
        assert (ROOT / path).exists(), path
        assert not ignored(path, PATTERNS), path


def test_the_build_has_what_the_package_is_made_from() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    wanted = [project["project"]["readme"], *project["project"]["license-files"], *wheel["packages"]]

    for path in ["pyproject.toml", *wanted, *wheel["force-include"]]:
        assert any(path == one or path.startswith(f"{one}/") for one in copied()), path


@pytest.mark.parametrize(
    "path",
    [
        ".env",
        ".git/config",
        ".quoth-service/keys.json",
        ".quoth/quoth.db",
        ".venv/bin/python",
        "deploy/.env",
        "requirements/dev.txt",
        "src/quoth/__pycache__/types.cpython-311.pyc",
        "tests/conftest.py",
    ],
)
def test_what_is_private_or_not_needed_stays_out_of_the_build(path: str) -> None:
    assert ignored(path, PATTERNS)


def test_the_service_is_nobody_in_particular() -> None:
    assert FINAL.only("USER").rest == "10001:10001"
    after = FINAL.instructions[FINAL.instructions.index(FINAL.only("USER")) :]
    assert not [one for one in after if one.name == "COPY"]


def test_the_service_gets_its_signals_itself() -> None:
    assert FINAL.only("STOPSIGNAL").rest == "SIGTERM"
    assert FINAL.only("ENTRYPOINT").words == ["quoth"]
    assert FINAL.only("CMD").words == ["serve", "--host", "0.0.0.0", "--port", FINAL.only("EXPOSE").rest]  # noqa: S104


def test_no_secret_and_no_default_place_of_the_index_is_in_the_image() -> None:
    # QUOTH_INDEX would win over the QUOTH_STORE that somebody sets.
    assert {"QUOTH_INDEX", "QUOTH_STORE"}.isdisjoint(FINAL.environment)
    assert not [name for name in FINAL.environment if re.search(r"PASSWORD|SECRET|TOKEN|KEY", name)]


def test_the_model_library_reports_to_nobody() -> None:
    assert BUILD.environment["ORT_DISABLE_TELEMETRY"] == FINAL.environment["ORT_DISABLE_TELEMETRY"] == "1"


def test_the_graph_is_built_where_the_service_looks_for_it() -> None:
    models = FINAL.environment["QUOTH_CACHE_DIR"]

    assert BUILD.environment["QUOTH_CACHE_DIR"] == models
    assert f"--from=build {models} {models}" in [one.rest for one in FINAL.all("COPY")]


def test_the_line_that_builds_the_graph_does(tmp_path: Path) -> None:
    code = FINAL.all("RUN")[-1].words[2]
    assert f'python -c "{code}"' in BUILD.all("RUN")[-1].rest

    subprocess.run([sys.executable, "-c", code], env={**os.environ, "QUOTH_CACHE_DIR": str(tmp_path)}, check=True)

    assert sorted(path.suffix for path in tmp_path.iterdir()) == [".data", ".json", ".onnx"]


def test_the_labels_name_the_version() -> None:
    assert f'org.opencontainers.image.version="{__version__}"' in FINAL.only("LABEL").rest
    assert f"-t quoth:{__version__} " in DOCKERFILE.read_text(encoding="utf-8")


def test_the_lock_of_the_image_holds_every_extra_that_a_service_uses() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = ("faiss", "hub", "mcp", "multilingual", "otel", "postgres", "ray", "serve")
    wanted = [*project["dependencies"], *(one for extra in extras for one in project["optional-dependencies"][extra])]
    pins = {name: _pins(name) for name in ("image.txt", "dev.txt")}

    # `quoth[serve]`, which an extra asks for, is among the extras.
    assert {re.split(r"[\[<>=;]", one)[0] for one in wanted} - {"quoth"} <= {name for name, _ in pins["image.txt"]}
    assert pins["image.txt"] <= pins["dev.txt"]


def _pins(name: str) -> set[tuple[str, str]]:
    lock = (ROOT / "requirements" / name).read_text(encoding="utf-8")
    return set(re.findall(r"^([\w.-]+)==(\S+)", lock, re.MULTILINE))


@contextmanager
def answering(status: int) -> Iterator[int]:
    """The port of a server on this machine that answers every request with a status."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            found = status if self.path == "/healthz" else 404
            self.send_response(found)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - as the base class has it
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


def healthy(port: int) -> bool:
    """What the health check says of a port, in an environment that sends everything to a proxy that is not there."""
    check = json.loads(FINAL.only("HEALTHCHECK").body.removeprefix("CMD "))
    words = [word.replace(":8080/", f":{port}/") for word in check]
    assert words[0] == "python"
    proxies = {"http_proxy": "http://127.0.0.1:9", "HTTP_PROXY": "http://127.0.0.1:9", "no_proxy": ""}
    done = subprocess.run(
        [sys.executable, *words[1:]], env={**os.environ, **proxies}, capture_output=True, check=False, timeout=60
    )
    return done.returncode == 0


def test_the_health_check_tells_a_healthy_service_from_another() -> None:
    with answering(200) as port:
        assert healthy(port)
    assert not healthy(port)
    with answering(503) as port:
        assert not healthy(port)
