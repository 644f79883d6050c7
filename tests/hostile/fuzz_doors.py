"""The doors that take no documents: questions, patterns, files beside the documents, receipts, MCP and HTTP."""

from __future__ import annotations

import hashlib
import json
import logging
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from random import Random
from typing import Any

import fuzz_texts as texts
from fuzz_door import Door, Tried, inexact, limited
from quoth.citations import verify_receipt
from quoth.citations.anchoring import QuotedPlace, anchor
from quoth.citations.cited_quotes import read_run
from quoth.citations.web_annotations import ImportedQuote, read_annotations
from quoth.domain.manifest import fields_beside, fields_for, read_manifest
from quoth.domain.profile import parse_profile
from quoth.errors import QuothError
from quoth.http.document_catalog import DocumentCatalog
from quoth.http.guard.api_keys import KeyFile, KeyScope
from quoth.library import Quoth, ingest_paths
from quoth.mcp.server import check_arguments
from quoth.mcp.tools import tools_for
from quoth.output.render import outcome_json, retrieval_json
from quoth.overrides import Overrides, read_settings_file, with_values
from quoth.search.question_files import question_of, read_questions
from quoth.settings import Settings
from quoth.types import EVERYTHING, Question, Span

DOCUMENTS = {
    "canola.md": "# Canola\n\nSow canola at 2.5 cm into moist soil. Roll the canola field after seeding.\n",
    "wheat.md": "# Wheat\n\nSow wheat at 4 cm in October. It needs a pH of 6.0-7.0.\n\n- one\n- two\n",
    "notes/windows.txt": "Store wheat below 15 °C.\r\nAerate the bin every week.\r\n",
    "rules.md": "---\ndocument_type: rule\n---\n\n# Rules\n\nBurning straw is forbidden from May to September.\n",
}
SETTINGS = {"embedding.model_name": "hash", "rerank.kind": "late"}
QUESTIONS = (
    "How deep is canola sown?",
    "What pH does wheat need, and when is it sown?",
    "Is burning straw forbidden in June?",
    "Which is deeper, canola or wheat?",
    "and for wheat?",
    "Wie tief wird Weizen gesät?",
)
_FILTERS = {
    "doc_id": ["canola.md"],
    "tags": {"crop": ["canola"]},
    "document_type": "rule",
    "is_binding": True,
    "as_of": "2026-03-01",
    "regions": ["references"],
    "author": "Lee",
    "year": "2015-2020",
    "doi": "10.1/x",
    "language": "en",
}


def _asked(random: Random) -> dict[str, Any]:
    """A right question with some filters; with all of them nothing would be left to find."""
    filters = {name: _FILTERS[name] for name in random.sample(sorted(_FILTERS), random.choice((0, 1, 1, 2)))}
    scope = {"doc_scope": ["wheat.md", "canola.md"]} if random.random() < 0.3 else {}
    previous = {"previous": [random.choice(QUESTIONS)]} if random.random() < 0.3 else {}
    return {"id": "1", "question": random.choice(QUESTIONS), "filters": filters, **scope, **previous}


@dataclass
class Simple:
    """A door that makes an input of bytes, and tries it; a `QuothError` refuses it."""

    name: str
    share: int
    make: Callable[[Random], bytes]
    attempt: Callable[[bytes], Iterator[str]]
    """Yield what is wrong; raise `QuothError` to refuse."""

    def try_one(self, random: Random) -> Tried:
        data = self.make(random)
        try:
            with limited():
                return Tried(data, taken=True, wrong=tuple(self.attempt(data)))
        except QuothError as error:
            said = error.code and str(error)
            return Tried(data, taken=False, wrong=() if said else (f"refused without a word: {error!r}",))


class SmallCorpus:
    """Four small documents and their index, with the embedder that ships as a fake."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        for name, text in DOCUMENTS.items():
            path = folder / "documents" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        overrides = Overrides({}, {}, dict(SETTINGS))
        ingest_paths([folder / "documents"], str(folder / "index"), profile=None, overrides=overrides)
        self.quoth = Quoth.open(folder / "index", settings=SETTINGS)
        self.texts = {info.id: self.quoth.document(info.id).text for info in self.quoth.documents()}  # type: ignore[union-attr]

    @cached_property
    def answer(self) -> dict[str, Any]:
        return outcome_json(
            self.quoth.ask(Question("1", QUESTIONS[0], question_of({"question": "x"}, default_id="1").filters))
        )

    @cached_property
    def receipt(self) -> dict[str, Any]:
        return self.quoth.receipt(self.answer, day="2026-03-02", program="quoth")

    def file(self, name: str, data: bytes) -> Path:
        path = self.folder / "files" / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(data)
        return path


def _json(data: bytes) -> Any:  # noqa: ANN401 - any JSON
    """What a door is given that leaves reading JSON to a library; None where that would refuse it."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return None


def question_doors(corpus: SmallCorpus) -> Iterator[Door]:
    quoth = corpus.quoth

    def ask(data: bytes) -> Iterator[str]:
        content = _json(data)
        try:
            asked = question_of(content if isinstance(content, dict) else {}, default_id="1")
        except ValueError:
            return
        yield from inexact(outcome_json(quoth.ask(asked)), corpus.texts)

    def retrieve(data: bytes) -> Iterator[str]:
        retrieved = retrieval_json(quoth.retrieve(data.decode("utf-8", "replace"), most=5))
        yield from inexact(retrieved, corpus.texts)

    def find(data: bytes) -> Iterator[str]:
        how, _, given = data.decode("utf-8", "surrogatepass").partition(":")
        regex, near = how == "regex", int(how) if how.isdigit() else None
        for found in quoth.find(given, regex=regex, near=near, case=how == "case", most=50, seconds=5).documents:
            for match in found.matches:
                span = match.quote.span
                if not match.quote.text or corpus.texts[found.doc_id][span.start : span.end] != match.quote.text:
                    yield f"{found.doc_id}:{span.start}-{span.end} is not {match.quote.text[:40]!r}"

    def made_pattern(random: Random) -> bytes:
        how = random.choice(("regex", "regex", "words", "case", "0", "3", "1000"))
        seeds = ("Sow (canola|wheat)", r"\d+\.\d+ cm", "moist soil", "6.0-7.0", "[A-Z]\\w+", "(?i)rules?$", "15 °C")
        made = texts.pattern(random, seeds) if random.random() < 0.8 else texts.question(random, seeds)
        return f"{how}:{made}".encode("utf-8", "surrogatepass")

    def lines(data: bytes) -> Iterator[str]:
        read = list(read_questions(data.decode("utf-8", "replace").splitlines()))
        asked = [one for one in read if isinstance(one, Question)]
        if any(not one.why for one in read if not isinstance(one, Question)):
            yield "a line is refused without a reason"
        if len(asked) > len(data):
            yield "there are more questions than characters"

    def made_lines(random: Random) -> bytes:
        return b"\n".join(texts.damaged_json(_asked(random), random) for _ in range(random.choice((1, 2, 5))))

    yield Simple(
        "questions",
        12,
        lambda random: (
            texts.damaged_json({"question": texts.question(random, QUESTIONS)}, random)
            if random.random() < 0.3
            else texts.json_bytes({"question": texts.question(random, QUESTIONS)})
        ),
        ask,
    )
    yield Simple("filters", 12, lambda random: texts.json_bytes(texts.changed(_asked(random), random)), ask)
    yield Simple("retrieve", 8, lambda random: texts.question(random, QUESTIONS).encode("utf-8", "replace"), retrieve)
    yield Simple("find", 60, made_pattern, find)
    yield Simple("question-files", 150, made_lines, lines)


_MANIFEST = (
    b'documents:\n  - match: "**/*.md"\n    title: "A"\n    document_type: rule\n    effective_date: 2024-02-29\n    '
    b'tags: {crop: [canola, "wheat"]}\n    authors: [Ann Lee]\n    year: 2018\n  - match: "notes/*"\n    '
    b'superseded_by:\n      - {section: "Section 4.2", by: wheat.md}\n    language: en\n    '
    b"is_binding: true\n    soil: sand\n"
)
_BESIDE = (
    b"title: A\ndocument_type: rule\nauthors: [Ann Lee, 'B. Low']\nyear: 2018\ndoi: 10.1000/x1\n"
    b"superseded_by: wheat.md\ncrop: canola\n"
)
_CONFIG = b"retrieval:\n  candidates: 50\nrerank: {kind: late}\nservice:\n  per_minute: 10\ncontext:\n  max: 5\n"
_PROFILE = (Path(__file__).resolve().parents[2] / "src/quoth/domain/profiles/governance.yaml").read_bytes()
_YAML_WORDS = [
    b"&a ",
    b"*a ",
    b"<<: *a\n",
    b"- ",
    b": ",
    b"!!python/object ",
    b"|\n",
    b">\n",
    b"{",
    b"}",
    b"[",
    b"]",
    b"? ",
    b"\t",
    b"2024-02-30",
    b"0x1F",
    b".inf",
    b"'",
    b'"',
    b"**/",
    b"[a-",
    b"~",
    b"null",
    b"\n  ",
    b"---\n",
]


def _yaml(random: Random, seed: bytes) -> bytes:
    made = bytearray(texts.damaged(seed, random, form="markdown") if random.random() < 0.6 else seed)
    for _ in range(random.choice((0, 1, 2, 6))):
        at = random.randint(0, len(made))
        made[at : at + random.choice((0, 0, 1, 4))] = random.choice(_YAML_WORDS)
    return bytes(made)


def setting_doors(corpus: SmallCorpus) -> Iterator[Door]:
    facets = ("crop", "soil")
    root = corpus.folder / "files"

    def manifest(data: bytes) -> Iterator[str]:
        corpus.file("corpus.yaml", data)
        rules = read_manifest(root, facets=facets)
        for doc_id in (*DOCUMENTS, "a" * 200 + "/b.md"):
            fields_for(doc_id, rules)
        yield from ()

    def beside(data: bytes) -> Iterator[str]:
        corpus.file("a.md.meta.yaml", data)
        fields_beside(root / "a.md", facets=facets)
        yield from ()

    def config(data: bytes) -> Iterator[str]:
        with_values(Settings(), read_settings_file(corpus.file("quoth.yaml", data)), source="quoth.yaml")
        yield from ()

    def profile(data: bytes) -> Iterator[str]:
        parse_profile(data.decode("utf-8", "replace"))
        yield from ()

    keys = corpus.file("keys.json", b"{}")
    keys.unlink()
    _, token = KeyFile(keys).add("fuzz", scopes=[KeyScope.READ], per_minute=5)
    stored = json.loads(keys.read_bytes())

    def key_file(data: bytes) -> Iterator[str]:
        keys.write_bytes(data)
        file = KeyFile(keys)
        holder, other = file.holder(token), file.holder(token[:-1] + ("a" if token[-1] != "a" else "b"))
        if other is not None:
            yield "another token is let in"
        if holder is not None and hashlib.sha256(token.encode()).hexdigest().encode() not in data:
            yield "a token is let in whose hash the file does not hold"
        file.all()

    yield Simple("corpus.yaml", 40, lambda random: _yaml(random, _MANIFEST), manifest)
    yield Simple("meta.yaml", 40, lambda random: _yaml(random, _BESIDE), beside)
    yield Simple("quoth.yaml", 40, lambda random: _yaml(random, _CONFIG), config)
    yield Simple("profile", 40, lambda random: _yaml(random, _PROFILE), profile)
    yield Simple("keys", 150, lambda random: texts.damaged_json(stored, random), key_file)


def citation_doors(corpus: SmallCorpus) -> Iterator[Door]:
    receipt, answer = corpus.receipt, corpus.answer
    original = verify_receipt.canonical(receipt)

    def find(cited: dict[str, Any]) -> verify_receipt.Found | str:
        text = corpus.texts.get(cited["doc_id"])
        return "it is not there" if text is None else verify_receipt.Found(text, None)

    def made_receipt(random: Random) -> bytes:
        made = texts.changed(receipt, random)
        if isinstance(made, dict) and random.random() < 0.5:  # so that what lies behind the digest is reached
            with suppress(verify_receipt.ReceiptFault, RecursionError):
                made["digest"] = verify_receipt.digest_of(made)
        data = json.dumps(made, ensure_ascii=random.random() < 0.5).encode("utf-8", "surrogatepass")
        return data if random.random() < 0.7 else texts.damaged(data, random)

    def receipts(data: bytes) -> Iterator[str]:
        try:
            read = verify_receipt.read_receipts(data)
        except verify_receipt.ReceiptFault:
            return
        verify_receipt.report(read, find)
        for one in read:
            if isinstance(one, verify_receipt.ReceiptFault):
                continue
            if one["digest"] == receipt["digest"] and verify_receipt.canonical(one) != original:
                yield "a receipt that was changed has the old digest"
            for quote in one["quotes"]:
                check = verify_receipt.check_quote(quote, find)
                if check.holds and corpus.texts[check.doc_id][check.start : check.end] != quote["quote"]:
                    yield f"{check.doc_id}:{check.start}-{check.end} is said to hold"

    def made_text(random: Random) -> bytes:
        old = random.choice(sorted(corpus.texts.values()))
        new = (
            texts.damaged(old.encode(), random, form="text")
            if random.random() < 0.9
            else random.choice(sorted(corpus.texts.values())).encode()
        )
        start = random.randrange(len(old) - 1)
        end = random.randint(start + 1, min(len(old), start + random.choice((2, 20, 80))))
        return json.dumps([old, start, end, new.decode("utf-8", "replace")]).encode()

    def anchors(data: bytes) -> Iterator[str]:
        old, start, end, new = json.loads(data)
        around = verify_receipt.AROUND
        place = QuotedPlace(
            Span(start, end), old[start:end], old[max(0, start - around) : start], old[end : end + around]
        )
        for found in anchor(place, new).places:
            if new[found.span.start : found.span.end] != found.text:
                yield f"{found.span} is not {found.text[:40]!r}"

    def run(data: bytes) -> Iterator[str]:
        read_run(data.decode("utf-8", "replace").splitlines(), name="run.jsonl")
        yield from ()

    quoted = answer["answer_sentences"] or answer["nearest"]
    one = quoted[0]
    selectors = [
        {"type": "TextPositionSelector", "start": one["start"], "end": one["end"]},
        {"type": "TextQuoteSelector", "exact": one["text"], "prefix": "", "suffix": " "},
    ]
    annotation = {
        "type": "Annotation",
        "id": "a",
        "body": [{"type": "TextualBody", "value": "note"}],
        "target": {"source": f"urn:quoth:document:{one['doc_id']}", "selector": selectors},
    }
    seeds = [
        annotation,
        {"type": "AnnotationPage", "items": [annotation, annotation]},
        {**annotation, "target": {"source": f"https://e.org/{one['doc_id']}", "selector": selectors}},
    ]

    def annotations(data: bytes) -> Iterator[str]:
        content = _json(data)
        with corpus.quoth.reading() as reader:
            for read in read_annotations(content, reader, base_url="https://e.org"):
                if isinstance(read, ImportedQuote) and not read.document.text[read.span.start : read.span.end]:
                    yield "an annotation of nothing is taken"

    yield Simple("receipts", 150, made_receipt, receipts)
    yield Simple("anchors", 80, made_text, anchors)
    yield Simple("runs", 80, lambda random: texts.damaged_json(answer, random), run)
    yield Simple("annotations", 40, lambda random: texts.damaged_json(random.choice(seeds), random), annotations)


_LIMITS = {
    "doc_ids": ["canola.md"],
    "document_types": ["rule"],
    "tags": {"crop": ["canola"]},
    "as_of": "2026-03-01",
    "regions": ["references"],
    "authors": ["Lee"],
    "years": "2015-2020",
    "dois": ["10.1/x"],
    "languages": ["en"],
}
_SEARCHES = frozenset({"ask", "retrieve", "find"})
_CALLS: dict[str, Mapping[str, Any]] = {
    "ask": {"question": QUESTIONS[0], "doc_ids": ["canola.md"], "previous": [QUESTIONS[1]]},
    "retrieve": {"query": QUESTIONS[1], "match_count": 3},
    "find": {"pattern": "canola soil", "regex": False, "near": 9},
    "verify": {"citations": [{"doc_id": "canola.md", "start": 10, "end": 20, "text": "Sow canola"}]},
    "list_documents": {"limit": 2, "prefix": "n"},
    "read_span": {"doc_id": "canola.md", "start": 0, "end": 20},
}


def mcp_doors(corpus: SmallCorpus) -> Iterator[Door]:
    tools = {tool.name: tool for tool in tools_for(corpus.quoth, DocumentCatalog(corpus.quoth))}

    def made(random: Random) -> bytes:
        name = random.choice(sorted(_CALLS))
        limits = random.sample(sorted(_LIMITS), 2) if name in _SEARCHES and random.random() < 0.3 else ()
        given = {**_CALLS[name], **{limit: _LIMITS[limit] for limit in limits}}
        return texts.json_bytes([name, texts.changed(given, random)])

    def call(data: bytes) -> Iterator[str]:
        name, arguments = json.loads(data)
        if not isinstance(arguments, dict):
            return  # the SDK takes no other
        tool = tools[name]
        result = tool.call(EVERYTHING, check_arguments(name, arguments, tool.input))
        if not all(tool.texts(result)):
            yield "an empty text"
        yield from inexact(result, corpus.texts)

    yield Simple("mcp-tools", 20, made, call)
    yield McpMessages(corpus)


_MCP_SECONDS = 300
"""How long the server may take for its start and a message, on however busy a machine."""


class McpMessages:
    """The messages that a client writes to `quoth mcp`, which must answer the next one whatever came before."""

    name, share = "mcp-messages", 10

    def __init__(self, corpus: SmallCorpus) -> None:
        self._index = corpus.folder / "index"
        self._log = corpus.folder / "mcp.log"
        self._program: subprocess.Popen[bytes] | None = None
        self._asked = 0

    def try_one(self, random: Random) -> Tried:
        line = self._message(random).replace(b"\n", b" ").replace(b"\r", b" ")
        try:
            with limited(_MCP_SECONDS, waiting=True):
                return Tried(line, taken=self._answers(line))
        except Exception:
            self.close()
            raise

    def _message(self, random: Random) -> bytes:
        name = random.choice(sorted(_CALLS))
        params = {"name": name, "arguments": dict(_CALLS[name])}
        seeds = [
            {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params},
            {"jsonrpc": "2.0", "id": "x", "method": "resources/read", "params": {"uri": "quoth://document/canola.md"}},
            {"jsonrpc": "2.0", "id": 8, "method": "resources/list", "params": {"cursor": "YQ"}},
            {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}},
        ]
        return texts.damaged_json(random.choice(seeds), random)

    def _answers(self, line: bytes) -> bool:
        """Send a line and a ping after it, and return whether an answer came before that of the ping."""
        program = self._program or self._start()
        assert program.stdin and program.stdout
        self._asked += 1
        ping = {"jsonrpc": "2.0", "id": f"ping-{self._asked}", "method": "ping"}
        program.stdin.write(line + b"\n" + json.dumps(ping).encode() + b"\n")
        program.stdin.flush()
        answered = False
        while said := program.stdout.readline():
            if json.loads(said).get("id") == ping["id"]:
                return answered
            answered = True
        raise EOFError(f"it ended with {program.wait(10)}")

    def _start(self) -> subprocess.Popen[bytes]:
        set_to = [part for key, value in SETTINGS.items() for part in ("--set", f"{key}={value}")]
        command = [str(Path(sys.executable).with_name("quoth")), "mcp", "--index", str(self._index), *set_to]
        with self._log.open("ab") as log:
            self._program = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log)
        client = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "fuzz", "version": "1"}}
        self._answers(json.dumps({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": client}).encode())
        self._answers(b'{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        return self._program

    def close(self) -> None:
        if self._program is not None:
            self._program.kill()
            self._program.communicate()
            self._program = None


class HttpBodies:
    """Bodies that the service is sent, as they are: nothing of the description protects it from them."""

    name, share = "http-bodies", 6

    def __init__(self, corpus: SmallCorpus, stack: ExitStack) -> None:
        from starlette.testclient import TestClient

        from quoth.http.app import make_app
        from quoth.http.service import ServeOptions

        state = {"service.state": str(corpus.folder / "state"), "service.per_minute": "0", "service.max_upload_mb": "1"}
        overrides = Overrides({}, {}, {**SETTINGS, **state})
        app = make_app(ServeOptions(index=str(corpus.folder / "index"), overrides=overrides, profile=None, auth=False))
        self._client = stack.enter_context(TestClient(app, base_url="http://127.0.0.1", raise_server_exceptions=False))
        self._corpus = corpus
        self._bodies: dict[str, Callable[[Random], object]] = {
            "/answer": _asked,
            "/retrieve": lambda random: {"query": QUESTIONS[0], "match_count": 3, "filters": _asked(random)["filters"]},
            "/find": lambda random: {"pattern": "canola", "regex": True, "filters": _asked(random)["filters"]},
            "/answer/batch": lambda random: {"questions": [_asked(random), _asked(random)]},
            "/verify": lambda _: corpus.answer,
            "/receipts": lambda _: corpus.answer,
            "/receipts/verify": lambda _: corpus.receipt,
            "/receipts/anchor": lambda _: corpus.receipt,
        }

    def try_one(self, random: Random) -> Tried:
        path = random.choice(sorted(self._bodies))
        data = texts.damaged_json(self._bodies[path](random), random)
        kind = random.choice(("application/json",) * 5 + ("application/jsonl", "text/plain", "", "multipart/form-data"))
        with limited():
            response = self._client.post(path, content=data, headers={"Content-Type": kind})
        return Tried(path.encode() + b"\n" + data, response.status_code < 400, tuple(self._wrong(response)))

    def _wrong(self, response: Any) -> Iterator[str]:  # noqa: ANN401 - of httpx
        if response.status_code >= 500:
            yield f"status {response.status_code}: {response.text[:200]}"
        elif response.status_code >= 400:
            fault = response.json().get("error")
            if not fault or set(fault) != {"code", "message", "hint"}:
                yield f"an error of another shape: {response.text[:200]}"
        else:
            for line in response.text.splitlines():
                yield from inexact(json.loads(line), self._corpus.texts)


def text_doors(stack: ExitStack) -> Iterator[Door]:
    """Every door that takes no documents. `stack` ends what they start."""
    logging.getLogger("quoth").setLevel(logging.CRITICAL)  # it says of every damaged file of keys that it is one
    corpus = SmallCorpus(Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="fuzz-"))))
    yield from question_doors(corpus)
    yield from setting_doors(corpus)
    yield from citation_doors(corpus)
    for door in mcp_doors(corpus):
        if isinstance(door, McpMessages):
            stack.callback(door.close)
        yield door
    yield HttpBodies(corpus, stack)
