"""The names that others may rely on. A change here is a change of the contract."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys

import pytest

import quoth
from quoth import errors


def test_the_package_offers_exactly_these_names() -> None:
    assert quoth.__all__ == [
        "Abstention",
        "Answer",
        "AskResult",
        "Citation",
        "Document",
        "Filters",
        "Question",
        "Quoth",
        "QuothError",
        "Reason",
        "Retrieval",
        "Sentence",
        "Span",
        "Status",
        "__version__",
    ]
    assert all(hasattr(quoth, name) for name in quoth.__all__)


def test_the_errors_and_their_codes_are_these() -> None:
    found = {
        one.__name__: one.code
        for one in vars(errors).values()
        if inspect.isclass(one) and issubclass(one, errors.QuothError)
    }

    assert found == {
        "QuothError": "error",
        "OffsetMismatch": "offset-mismatch",
        "MissingExtra": "missing-extra",
        "SettingsError": "settings",
        "CorpusError": "corpus",
        "NothingReadable": "corpus",
        "UnreadableFile": "unreadable-file",
        "QuestionError": "question",
        "CalibrationError": "calibration",
        "ModelError": "model",
        "ReceiptError": "receipt",
        "KeyFault": "key",
        "ClusterFault": "cluster",
        "ProviderFault": "provider",
        "IndexFault": "index",
        "NoIndex": "no-index",
        "IndexMismatch": "index-mismatch",
        "IndexBusy": "index-busy",
        "IndexDamaged": "index-damaged",
        "ShardMissing": "index-part",
        "ShardLost": "index-part",
        "IndexUnwritable": "index-unwritable",
        "JobsUnavailable": "jobs",
        "LabelsUnsupported": "labels-unsupported",
    }


def test_the_reasons_for_abstaining_are_these_in_the_order_of_the_policy() -> None:
    assert [reason.value for reason in quoth.Reason] == [
        "no_results",
        "unknown_entity",
        "ungrounded_number",
        "insufficient_support",
        "low_confidence",
        "superseded_only",
    ]


def test_the_error_tree_is_drawn_as_it_is() -> None:
    drawing = errors.__doc__ or ""

    assert all(
        one.__name__ in drawing
        for one in vars(errors).values()
        if inspect.isclass(one) and issubclass(one, errors.QuothError)
    )


def test_importing_the_package_loads_no_model_and_no_index() -> None:
    heavy = ("onnxruntime", "onnx", "tokenizers", "tantivy", "faiss", "nupunkt", "typer", "rich", "charset_normalizer")
    code = f"import sys; from quoth import *; print(*[name for name in {heavy!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout.split() == []


@pytest.mark.parametrize(
    "error",
    [
        errors.OffsetMismatch("a.md", 3, 9),
        errors.MissingExtra("a cluster", "ray"),
        errors.UnreadableFile("a.pdf", "it is empty", hint="Look at it."),
        errors.NoIndex("index/"),
        errors.IndexBusy("another writes", hint="Wait."),
    ],
)
def test_an_error_comes_whole_out_of_another_process(error: errors.QuothError) -> None:
    again = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own, just made

    assert type(again) is type(error)
    assert (str(again), again.hint, again.code, vars(again)) == (str(error), error.hint, error.code, vars(error))
