"""Print how a source tree is built: size, cycles, import closures, repeated names and function lengths.

    python tools/structure.py [BEFORE] AFTER        # folders that hold the package, such as `src`

With two folders the table has a column for each. Imports inside functions count like those at the top of a module;
those under `if TYPE_CHECKING` do not. A room is a folder of the package, or a module that stands beside the folders.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median, quantiles

LONG = 30
Graph = Mapping[str, set[str]]


@dataclass(frozen=True)
class Module:
    """One file, parsed: `lines` counts all lines, `functions` holds the length of each function."""

    path: Path
    lines: int
    imports: frozenset[str]
    classes: tuple[str, ...]
    functions: tuple[int, ...]


def read_package(source: Path) -> dict[str, Module]:
    """Return the modules of the one package in `source` by their dotted names."""
    files = {_dotted(path, source): path for path in sorted(source.rglob("*.py"))}
    return {name: _read(path, set(files)) for name, path in files.items()}


def _dotted(path: Path, source: Path) -> str:
    names = path.relative_to(source).with_suffix("").parts
    return ".".join(names[:-1] if names[-1] == "__init__" else names)


def _read(path: Path, names: set[str]) -> Module:
    text = path.read_text(encoding="utf-8")
    tree = ast.parse(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    return Module(
        path,
        len(text.splitlines()),
        frozenset(_imports(tree, names)),
        tuple(node.name for node in ast.walk(tree) if isinstance(node, ast.ClassDef)),
        tuple((node.end_lineno or node.lineno) - node.lineno + 1 for node in functions),
    )


def _imports(node: ast.AST, names: set[str]) -> Iterator[str]:
    """Yield the modules of the package that are imported below `node`, leaving out `if TYPE_CHECKING`."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test).endswith("TYPE_CHECKING"):
            continue
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names if alias.name in names)
        elif isinstance(child, ast.ImportFrom) and child.module:
            targets = {f"{child.module}.{alias.name}": child.module for alias in child.names}
            yield from {deep if deep in names else shallow for deep, shallow in targets.items()} & names
        else:
            yield from _imports(child, names)


def room(name: str) -> str:
    return name.split(".")[1] if "." in name else name


def import_graph(modules: Mapping[str, Module]) -> dict[str, set[str]]:
    """Return who imports whom. A package's `__init__` may gather names of its own modules; that is no cycle."""
    return {
        name: {there for there in module.imports if there != name and not name.startswith(f"{there}.")}
        for name, module in modules.items()
    }


def room_graph(graph: Graph) -> dict[str, set[str]]:
    rooms: dict[str, set[str]] = {}
    for name, imports in graph.items():
        rooms.setdefault(room(name), set()).update(room(there) for there in imports if room(there) != room(name))
    return rooms


def cycles(graph: Graph) -> list[list[str]]:
    """Return the strongly connected components with more than one member (Tarjan)."""
    order: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(name: str) -> None:
        order[name] = lowest[name] = len(order)
        stack.append(name)
        for there in sorted(graph.get(name, ())):
            if there not in order:
                visit(there)
                lowest[name] = min(lowest[name], lowest[there])
            elif there in stack:
                lowest[name] = min(lowest[name], order[there])
        if lowest[name] == order[name]:
            component = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(component) > 1:
                found.append(sorted(component))

    for name in sorted(graph):
        if name not in order:
            visit(name)
    return found


def closure(graph: Graph, start: str) -> set[str]:
    """Return every module that importing `start` can lead to, `start` included."""
    seen, waiting = {start}, [start]
    while waiting:
        new = graph[waiting.pop()] - seen
        seen |= new
        waiting += sorted(new)
    return seen


def _closure_size(modules: Mapping[str, Module], graph: Graph, file: str) -> str:
    """Return modules and lines that a reader of `file` can reach; of files of that name, the largest closure's."""
    doors = {"cli", "http", "mcp", "interfaces", "cluster"}
    starts = [name for name, module in modules.items() if module.path.name == file and room(name) not in doors]
    reached = max((closure(graph, start) for start in starts), key=len, default=set())
    return f"{len(reached)} modules, {sum(modules[name].lines for name in reached):,} lines"


def _repeated(names: Iterator[str]) -> str:
    repeated = {name: count for name, count in Counter(names).items() if count > 1}
    return f"{len(repeated)} names, {sum(repeated.values())} uses"


def describe(source: Path) -> dict[str, str]:
    """Return every figure of the table, as text, in the order it is printed."""
    modules = read_package(source)
    graph = import_graph(modules)
    own = {name: module for name, module in modules.items() if module.path.stem != "__init__"}
    package = next(iter(modules)).split(".")[0]
    lengths = sorted(length for module in modules.values() for length in module.functions)
    importers = Counter(there for imports in graph.values() for there in imports)
    top = {path.stem for path in (source / package).iterdir() if path.suffix == ".py" or path.is_dir()}
    return {
        "lines": f"{sum(module.lines for module in modules.values()):,}",
        "modules": f"{len(own)}",
        "files beside the rooms": f"{len(list((source / package).glob('*.py')))}",
        "names at the top": f"{len(top - {'__pycache__'})}",
        "cycles between rooms": _cycles(room_graph(graph)),
        "cycles between modules": _cycles(graph),
        "import closure of ask": _closure_size(modules, graph, "ask.py"),
        "import closure of ingest": _closure_size(modules, graph, "ingest.py"),
        "repeated file names": _repeated(module.path.name for module in own.values()),
        "repeated class names": _repeated(name for module in modules.values() for name in module.classes),
        "function length, median": f"{median(lengths):.0f}",
        "function length, 95th percentile": f"{quantiles(lengths, n=20)[-1]:.0f}",
        "function length, longest": f"{lengths[-1]}",
        f"functions over {LONG} lines": f"{sum(length > LONG for length in lengths)} of {len(lengths):,}",
        "modules with a single importer": f"{sum(importers[name] == 1 for name in own)}",
    }


def _cycles(graph: Graph) -> str:
    found = cycles(graph)
    return f"{len(found)}: {'; '.join(', '.join(names) for names in found)}" if found else "0"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sources", nargs="+", type=Path, metavar="SRC", help="one folder, or the one before and after")
    sources: list[Path] = parser.parse_args().sources
    columns = [describe(source) for source in sources]
    heads = ["before", "after"] if len(columns) == 2 else [str(source) for source in sources]
    print("| | " + " | ".join(heads) + " |\n|---|" + "---|" * len(columns))
    for name in columns[-1]:
        print(f"| {name} | " + " | ".join(column.get(name, "") for column in columns) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
