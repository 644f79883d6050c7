"""Dependencies point one way: a module imports from its own layer or from one below it."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import quoth

ROOT = Path(quoth.__file__).parent

# From the top down. A name stands for the module or package of that name and for all below it.
LAYERS = (
    ("interfaces", ("quoth", "interfaces", "evaluation", "cluster")),
    ("wiring", ("wiring",)),
    ("paths and adapters", ("ingest", "ask", "retrieval", "context", "stores", "providers", "profiles")),
    (
        "stages",
        (
            "corpus",
            "retrieve",
            "select",
            "decide",
            "answer",
            "verify",
            "render",
            "questions",
            "calibration",
            "misses",
            "confidence",
            "engine",
            "conflicts",
            "quality",
            "caching",
            "plain",
            "render_retrieval",
            "machine",
        ),
    ),
    ("text", ("text",)),
    ("contract", ("types", "protocols", "errors", "settings", "profile")),
)
ADAPTERS = ("stores", "providers")
MODULES = sorted(ROOT.rglob("*.py"))


def part(module: str) -> str:
    """The part of the program that a module belongs to: `stores` for `quoth.stores.embedded.rows`."""
    names = module.split(".")
    return names[1] if len(names) > 1 else names[0]


def layer(module: str) -> int:
    """The place of a module from the top, 0 being the highest; an unknown one is an error."""
    return next(place for place, (_, parts) in enumerate(LAYERS) if part(module) in parts)


def module_of(path: Path) -> str:
    names = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def imported(path: Path) -> Iterator[str]:
    """The modules of the package that a file imports, at the top or inside a function."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.split(".")[0] == "quoth")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it leads"
            if node.module == "quoth":  # `from quoth import ask` names a module, unless the package itself offers it
                yield from (f"quoth.{one.name}" if _is_module(one.name) else "quoth" for one in node.names)
            elif node.module and node.module.startswith("quoth."):
                yield node.module


def _is_module(name: str) -> bool:
    return (ROOT / name).is_dir() or (ROOT / f"{name}.py").is_file()


def label(path: Path) -> str:
    return module_of(path)


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_every_module_has_a_layer(path: Path) -> None:
    assert any(part(module_of(path)) in parts for _, parts in LAYERS), "add it to the table above"


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_imports_lead_to_the_same_layer_or_down(path: Path) -> None:
    here = module_of(path)
    upward = [there for there in imported(path) if layer(there) < layer(here)]

    assert upward == []


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_only_the_wiring_imports_adapters(path: Path) -> None:
    here = part(module_of(path))
    adapters = [there for there in imported(path) if part(there) in ADAPTERS and part(there) != here]

    # A cluster writes shards and hosts them: that is all it is for.
    assert adapters == [] or here == "wiring" or (here == "cluster" and {part(one) for one in adapters} == {"stores"})


@pytest.mark.parametrize("path", MODULES, ids=label)
def test_values_and_errors_know_nothing_of_the_rest(path: Path) -> None:
    allowed = {"errors": set[str](), "types": {"errors"}, "protocols": {"types"}, "profile": set[str]()}
    here = part(module_of(path))

    assert {part(there) for there in imported(path)} <= allowed.get(here, {part(there) for there in imported(path)})


def test_an_import_that_leads_upward_would_be_found(tmp_path: Path) -> None:
    source = tmp_path / "stage.py"
    source.write_text("def f():\n    from quoth.stores.embedded import EmbeddedStore\n    from quoth import ask\n")

    assert list(imported(source)) == ["quoth.stores.embedded", "quoth.ask"]
    assert all(layer(there) < layer("quoth.decide") for there in imported(source))
