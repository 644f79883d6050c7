"""Where the model runs: on the CPU unless told otherwise, and never silently somewhere else."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnxruntime
import pytest

from quoth.errors import ModelError, SettingsError
from quoth.models.onnx_embedder import OnnxEmbedder
from quoth.models.onnx_model import check_device
from quoth.models.weights import Weights
from quoth.overrides import with_strings
from quoth.settings import EmbeddingSettings, Settings
from quoth.wiring import open_embedder

without_gpu = pytest.mark.skipif(
    "CUDAExecutionProvider" in onnxruntime.get_available_providers(), reason="this ONNX Runtime knows CUDA"
)


def test_by_default_the_model_runs_on_the_cpu(tiny: Weights, tmp_path: Path) -> None:
    assert EmbeddingSettings().device == "cpu"
    plain, named = (
        OnnxEmbedder(tiny, cache_dir=tmp_path, threads=1),
        OnnxEmbedder(tiny, cache_dir=tmp_path, threads=1, device="cpu"),
    )

    assert plain.identity == named.identity
    assert np.array_equal(plain.embed(["sow canola"]), named.embed(["sow canola"]))


@without_gpu
def test_a_gpu_that_the_package_does_not_know_is_an_error_with_a_next_step(tiny: Weights, tmp_path: Path) -> None:
    with pytest.raises(
        ModelError, match=r"embedding\.device=cuda needs ONNX Runtime's CUDAExecutionProvider"
    ) as caught:
        OnnxEmbedder(tiny, cache_dir=tmp_path / "cache", threads=1, device="cuda")

    assert caught.value.hint == "Install onnxruntime-gpu in place of onnxruntime, or set embedding.device=cpu."
    assert not (tmp_path / "cache").exists()  # nothing was built for a device that is not there


@without_gpu
def test_the_setting_reaches_the_model(tiny: Weights) -> None:
    with pytest.raises(ModelError, match="CUDAExecutionProvider"):
        open_embedder(EmbeddingSettings(model_name="tiny", path=str(tiny.model.parent), device="cuda"))


def test_a_session_that_ended_up_on_the_cpu_is_refused() -> None:
    check_device("cuda", in_use=["CUDAExecutionProvider", "CPUExecutionProvider"])
    check_device("cpu", in_use=["CPUExecutionProvider"])

    with pytest.raises(ModelError, match="it would run on CPUExecutionProvider"):
        check_device("cuda", in_use=["CPUExecutionProvider"])


def test_another_device_is_refused_with_the_choices() -> None:
    with pytest.raises(SettingsError, match=r"embedding\.device is 'tpu'") as caught:
        with_strings(Settings(), {"embedding.device": "tpu"}, source="--set")

    assert caught.value.hint == "Choose one of: cpu, cuda."


def test_the_device_changes_no_digest_and_no_index() -> None:
    on_gpu = with_strings(Settings(), {"embedding.device": "cuda"}, source="--set")

    assert on_gpu.digest == Settings().digest
