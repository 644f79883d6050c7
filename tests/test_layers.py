"""Dependencies point one way: between rooms, between modules, and never from the core to a door."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

import quoth

ROOT = Path(quoth.__file__).parent

# From the top down. A room is a folder of the package, or a module that stands beside the folders. A room may import
# from its own row and from the rows below it; a cycle inside a row is found by the test of cycles.
LAYERS = (
    ("doors", ("cli", "http", "mcp", "adapters", "cluster", "evaluation", "grid")),
    ("library", ("quoth", "library")),
    ("wiring", ("wiring",)),
    ("paths and adapters", ("answer", "passages", "documents", "stores", "models", "output", "citations")),
    ("stages", ("search", "domain")),
    ("language", ("language",)),
    ("contract", ("types", "protocols", "errors", "settings", "overrides", "machine")),
)
ADAPTERS = ("stores", "models")
MODULES = sorted(ROOT.rglob("*.py"))


def room(module: str) -> str:
    """Return the room of a module: `stores` for `quoth.stores.database_rows`."""
    names = module.split(".")
    return names[1] if len(names) > 1 else names[0]


def layer(module: str) -> int:
    """Return the row of a module's room in the table above; 0 is the highest."""
    return next(row for row, (_, rooms) in enumerate(LAYERS) if room(module) in rooms)


def module_of(path: Path) -> str:
    names = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


NAMES = {module_of(path): path for path in MODULES}


@cache
def imported(path: Path) -> tuple[str, ...]:
    """Return the modules of the package that a file imports, at the top or inside a function."""
    return tuple(_imported(path))


def _imported(path: Path) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "quoth")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: a relative import hides where it leads"
            if node.module and node.module.split(".")[0] == "quoth":
                yield from (_target(node.module, alias.name) for alias in node.names)


def _target(module: str, name: str) -> str:
    """Return the module that `from module import name` reads: a submodule of that name, or `module` itself."""
    return f"{module}.{name}" if f"{module}.{name}" in NAMES else module


def cycle(edges: Mapping[str, set[str]]) -> list[str]:
    """Return one cycle, first and last name equal; empty when there is none."""
    finished: set[str] = set()

    def walk(name: str, trail: list[str]) -> list[str]:
        if name in trail:
            return [*trail[trail.index(name) :], name]
        if name in finished:
            return []
        for there in sorted(edges.get(name, ())):
            if found := walk(there, [*trail, name]):
                return found
        finished.add(name)
        return []

    return next((found for name in sorted(edges) if (found := walk(name, []))), [])


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_every_module_has_a_layer(path: Path) -> None:
    assert any(room(module_of(path)) in rooms for _, rooms in LAYERS), "add its room to the table above"


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_imports_lead_to_the_same_layer_or_down(path: Path) -> None:
    here = module_of(path)
    upward = [there for there in imported(path) if layer(there) < layer(here)]

    assert upward == []


def test_no_room_imports_another_in_a_circle() -> None:
    edges: dict[str, set[str]] = {}
    for module, path in NAMES.items():
        edges.setdefault(room(module), set()).update(room(there) for there in imported(path))
    for here, there in edges.items():
        there.discard(here)

    assert cycle(edges) == []


def test_no_module_imports_another_in_a_circle() -> None:
    # A package's `__init__` that gathers names for its users is no part of a circle with the modules it gathers.
    edges = {
        module: {there for there in imported(path) if not module.startswith(f"{there}.")} - {module}
        for module, path in NAMES.items()
    }

    assert cycle(edges) == []


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_only_the_wiring_and_the_cluster_import_stores_and_models(path: Path) -> None:
    here = room(module_of(path))
    adapters = {room(there) for there in imported(path) if room(there) in ADAPTERS} - {here}

    # A cluster writes shards and hosts them, so it knows the stores.
    assert adapters <= {"wiring": {"stores", "models"}, "cluster": {"stores"}}.get(here, set())


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_values_and_errors_know_nothing_of_the_rest(path: Path) -> None:
    allowed: dict[str, set[str]] = {
        "errors": set(),
        "types": {"errors", "types"},
        "protocols": {"types"},
        "settings": set(),
        "overrides": {"errors", "settings"},
    }
    here = room(module_of(path))

    assert {room(there) for there in imported(path)} <= allowed.get(here, {room(there) for there in imported(path)})


def test_few_modules_stand_beside_the_rooms() -> None:
    assert len(list(ROOT.glob("*.py"))) <= 8


def test_an_import_that_leads_upward_would_be_found(tmp_path: Path) -> None:
    source = tmp_path / "stage.py"
    source.write_text("def f():\n    from quoth.stores.embedded import EmbeddedStore\n    from quoth import wiring\n")

    assert list(imported(source)) == ["quoth.stores.embedded", "quoth.wiring"]
    assert all(layer(there) < layer("quoth.search.hybrid_search") for there in imported(source))


def test_a_circle_would_be_found() -> None:
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []
