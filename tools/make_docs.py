"""Write what is read from the code and never written by hand: parts of the documentation, and the published schemas.

    python tools/make_docs.py             write every part, and run the recorded sessions anew (about half a minute)
    python tools/make_docs.py --quick     leave the recorded sessions as they are
    python tools/make_docs.py --check     write nothing; exit 1 when a part is stale (with --quick: but for sessions)

A part stands between `<!-- generated:NAME -->` and `<!-- /generated:NAME -->`.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from itertools import pairwise
from pathlib import Path
from types import UnionType
from typing import Any, get_args, get_origin, get_type_hints

import typer.main

from http_reference import http_part
from quoth.cli import make_app
from quoth.domain.profile import load_profile, profile_names
from quoth.output.json_schema import published_schemas
from quoth.overrides import NOT_SETTINGS
from quoth.settings import Settings, setting_keys

ROOT = Path(__file__).resolve().parents[1]
COLUMNS = 80

MEANINGS = {
    "retrieval.mode": "How to search: by words and by meaning, or by one alone. `lexical` needs no model.",
    "retrieval.alpha_lexical": "Weight of the word score. Not set: by the kind of question (see ARCHITECTURE).",
    "retrieval.alpha_semantic": "Weight of the meaning score. Not set: the rest to 1.",
    "retrieval.candidates": "Sentences taken from each of the two searches.",
    "retrieval.tag_boost": "For each facet, what a sentence gains in the order when it shares a tag with the question.",
    "retrieval.tag_boost_mode": "Add the boost of a facet, or multiply by `tag_boost_factor` for each facet it names.",
    "retrieval.tag_boost_factor": "The factor of the mode `multiply`.",
    "retrieval.max_question_characters": "A longer question is refused.",
    "retrieval.detect_types": "Search only in the document types that the question names, as the profile knows them.",
    "rerank.kind": "Who scores the candidates again: late interaction, and the reader after it; or one of the others.",
    "rerank.topk": "Candidates that go on to selection.",
    "rerank.reads": "How many of the best candidates the reader reads together with the question.",
    "rerank.model": "A reader in place of the one in the package: a folder, or a name on the Hugging Face hub.",
    "rerank.download": "Allow fetching `rerank.model` from the hub (needs the extra `hub`).",
    "llm.base_url": "Of the judging model (`rerank.kind=llm`): any endpoint that speaks OpenAI's protocol.",
    "llm.model": "Its name.",
    "llm.key_variable": "The environment variable that holds its key, so that no file has to.",
    "llm.seconds": "How long a judgement may take, retries included; then the order before it stays.",
    "llm.retries": "How often a request is tried again that failed for a reason that may pass.",
    "llm.passages": "How many passages it judges, in one request.",
    "llm.prompt_price": "Dollars for a million tokens that it reads, for the cost in the trace; 0: not known.",
    "llm.completion_price": "Dollars for a million tokens that it writes.",
    "selection.mmr_lambda": "Relevance against variety among sentences that support equally; 1 means relevance alone.",
    "selection.max_sim_threshold": "A sentence more alike than this (cosine) to a chosen one is left out.",
    "selection.max_sentences": "At most this many sentences in an answer; a list that is asked for comes whole.",
    "selection.min_support": "Quote so many sentences, context included; if there are fewer: `insufficient_support`.",
    "selection.min_share": "Quote as an answer what scores at least this share of the best sentence.",
    "decision.abstain": "Off: answer with whatever was found, for measuring search. Quotes are still verified.",
    "decision.answer": "How sure an answer must be, in a word; the two settings below it say it in numbers.",
    "decision.abstain_score_thresh": "With a best score below this, abstain: `low_confidence`.",
    "decision.support_score": "A sentence that scores less (fused) never counts as support and is never quoted.",
    "context.token_budget": "Tokens of a context, headers included.",
    "context.max": "Passages that a retrieval gives, at most.",
    "context.low_max": "How many it gives at least, when fewer reach the floor: the best above `context.nothing`.",
    "context.floor": "The relevance of a passage that is clearly relevant; with none, the status is `low_confidence`.",
    "context.nothing": "With no passage of this relevance the status is `no_results`.",
    "context.scale_slope": "Of the map from the reranker's scores to relevances; not set: the one that ships.",
    "context.scale_intercept": "Of the same map.",
    "context.neighbours": "Add the sentences without which a passage begins or ends in the middle of a thought.",
    "context.references": "Add the sections that a passage refers to, while the budget allows.",
    "context.definitions": "Add the definitions of its defined terms, while the budget allows.",
    "context.tokenizer": "A `tokenizer.json` that counts the tokens; not set: that of the embedding model.",
    "embedding.provider": "A model on this machine, or one behind an endpoint that speaks OpenAI's protocol.",
    "embedding.dimension": "Length of the vectors of an endpoint; not set: 1536, for its default model alone.",
    "embedding.base_url": "The endpoint.",
    "embedding.key_variable": "The environment variable that holds its key.",
    "embedding.seconds": "How long one request to it may take when documents are embedded.",
    "embedding.question_seconds": "How long the vector of a question may take, retries included; then full text alone.",
    "embedding.retries": "How often a request is tried again that failed for a reason that may pass.",
    "embedding.model_name": "The model. `auto` is that of the index, and for a new one goes by the language of the "
    "documents: see [Languages](languages.md#models-for-other-languages). `hash` is a "
    "stand-in without weights, for tests and plumbing.",
    "embedding.path": "A folder with `model.safetensors`, `tokenizer.json` and `config.json`, instead of the package.",
    "embedding.download": "Allow fetching the weights from the model hub (needs the extra `hub`).",
    "embedding.query_prefix": "Stands in front of every question; not set: what the model's files say.",
    "embedding.passage_prefix": "Stands in front of every sentence; not set: what the model's files say.",
    "embedding.threads": "Threads of the model; 0 means every core this process may use.",
    "embedding.device": "Where the model runs; `cuda` needs a GPU and `onnxruntime-gpu` in place of `onnxruntime`.",
    "embedding.batch_size": "At most so many sentences in one run of the model.",
    "evidence.sentence": "Intercept and weights of the probability that a sentence answers; empty: those that ship.",
    "evidence.answer": "Intercept and weights of the probability that the quotes answer.",
    "evidence.questions": "How many labelled questions they were fitted to.",
    "evidence.made_for": "What they hold for, each part by its name; refused where anything differs.",
    "calibration.threshold": "With a lower score, abstain, in place of `decision.abstain_score_thresh`; not set: off.",
    "calibration.risk": "The share of wrong answers that was promised.",
    "calibration.confidence": "How sure the promise is.",
    "calibration.slope": "Of the map from scores to probabilities.",
    "calibration.intercept": "Of the map from scores to probabilities.",
    "calibration.questions": "How many labelled questions it rests on.",
    "calibration.answered": "How many of them are answered at the threshold.",
    "calibration.wrong": "How many of those are answered wrongly.",
    "calibration.made_for": "What it holds for, each part by its name; refused where anything differs.",
    "ingest.max_file_mb": "A larger file is refused by name.",
    "ingest.seconds": "How long the text of one file may take to extract; each page of a PDF earns more.",
    "ingest.memory_mb": "How much memory extracting one file may take.",
    "ingest.workers": "Processes that extract text; 0: one for each core.",
    "ingest.json_text": "The fields of a JSON file that hold text, such as `body, notes.text`; empty: all.",
    "ingest.json_title": "The field that names a record of a JSON file.",
    "ingest.language": "The language of documents that state none, such as `de`; empty: it is recognised.",
    "cache.vector_seconds": "How long the vector of a question is kept; 0: not at all.",
    "cache.result_seconds": "How long what was retrieved is kept; never across a change of the index.",
    "cache.memory_mb": "How much memory both may take; 0 keeps nothing.",
    "log.queries": "A SQLite file, or a database's address, that every retrieval is written to, with its question.",
    "access.default": (
        "Who sees the documents without [labels](access.md): `open` everybody, `closed` nobody but the owner."
    ),
    "receipts.watch": (
        "A file or a folder of saved receipts, or `table:NAME` in the database of the index; an ingest names those "
        "that quote what it changed."
    ),
    "service.state": (
        "Folder for the keys, uploads, jobs, the audit log and the marks of `quoth serve`. With PostgreSQL, uploads "
        "and jobs are in the database."
    ),
    "service.keys": "The file of the keys, where it is not `keys.json` in `service.state`: a mounted secret, say.",
    "service.threads": "How many questions each process answers at once.",
    "service.queue": "How many requests may wait for that in each process; one more gets 503.",
    "service.seconds": "How long a request may take; after that it gets 504.",
    "service.shard_seconds": "How long a shard of a cluster may take for one call; after that it is left out.",
    "service.grace_seconds": "How long a stop waits for the requests that are under way.",
    "service.per_minute": "Requests a minute for each key that has no limit of its own, on each machine; 0: no limit.",
    "service.max_body_kb": "Kilobytes of a request that is no upload.",
    "service.max_upload_mb": "Megabytes of an uploaded file.",
    "service.min_kb_per_second": "How fast a body must come once it is 30 s late, so that none drips on; 0: it may.",
    "service.max_batch": "Questions in one batch.",
    "service.max_cells": "Cells in one grid: documents times questions.",
    "service.uploads": "Whether documents can be uploaded and removed.",
    "service.quota_mb": "Megabytes of all uploaded files; 0: no limit.",
    "service.quota_documents": "How many documents may be uploaded; 0: no limit.",
    "service.key_quota_mb": "Megabytes of the files that one key or user has uploaded; 0: no limit.",
    "service.key_quota_documents": "How many documents one key or user may have uploaded; 0: no limit.",
    "service.open_metrics": "Whether `/metrics` can be read without a key.",
    "service.cors": "Origins whose pages may call the service, with blanks between them; none by default.",
    "service.webhook": "Path of the route that workflows call with the fields they send; empty for no such route.",
    "service.log_questions": "Whether the log holds the questions.",
    "service.traces": "Whether OpenTelemetry traces are sent (extra `otel`); `OTEL_*` variables say where to.",
    "oidc.issuer": "Address of an OpenID Connect provider, as its tokens name it; none: only keys open the service.",
    "oidc.audience": "The name of this service at the provider, which its tokens must be for.",
    "oidc.labels_claim": "The claim with somebody's groups: a name, or names with dots between them.",
    "oidc.labels": "The label that a group stands for; `*` is every document. Empty: a group is a label.",
    "oidc.scope_claim": "The claim with what somebody may do.",
    "oidc.read_scope": "The scope that reading needs; none: every token that holds may read.",
    "oidc.write_scope": "The scope that uploads and removals need; it may read too.",
    "oidc.skew_seconds": "By how much the clocks of the provider and the service may differ.",
    "proxy.addresses": "Addresses or networks of proxies that say who asks, with blanks between them; none by default.",
    "proxy.user_header": "The header in which they name the user.",
    "proxy.labels_header": "The header with the user's labels, with commas between them.",
    "proxy.scope": "What these users may do: read, or write too.",
    "audit.reads": "Whether `reads.jsonl` in `service.state` says who saw which quote of which document, and when.",
    "audit.when_full": "What happens to an answer that cannot be written down there: it goes on, or is refused.",
    "audit.days": "How many days that is kept; 0: for ever.",
    "audit.mb": "How many megabytes of it are kept; the oldest go first.",
    "store.schema": "The schema of the database that the index lives in; many can live in one database.",
    "store.vectors": "How a new index in a database keeps its vectors; `halfvec` takes half the room.",
    "store.ef_search": "How many neighbours its approximate search looks at, at least; more finds more, and is slower.",
    "store.faiss_threshold": "Above so many vectors search through FAISS (needs the extra `faiss`), rescored exactly.",
}
"""One line for each key; a key without one, or a line without a key, stops this script."""

PLACES = {
    "QUOTH_INDEX": "folder of the index, as `--index`",
    "QUOTH_STORE": "address of a database, as `--store`",
    "QUOTH_PROFILE": "profile for `quoth ingest`, as `--profile`",
    "QUOTH_CACHE_DIR": "where the built model graph is kept; else `quoth` in `XDG_CACHE_HOME`, else in `~/.cache`",
    "QUOTH_LANG": "the [language](languages.md#the-language-of-messages) that `quoth ask` speaks, as `--lang`",
}

MACHINE_DEFAULTS = {(command, "workers"): "one for each core" for command in ("batch", "grid", "compare-documents")}
"""Defaults that depend on the machine, in words."""


@dataclass(frozen=True)
class Shown:
    """A command of a recorded session; `quotes` limits how many quoted sentences are shown."""

    line: str
    quotes: int | None = None


SESSIONS: Mapping[str, Sequence[Shown]] = {
    "session": (
        Shown("quoth ingest examples/agriculture --profile agriculture"),
        Shown('quoth ask "What soil pH is best for canola?"', quotes=2),
        Shown('quoth ask "What was the price of soybeans in Pellworth on 14 March 2022?"', quotes=1),
        Shown("quoth batch examples/agriculture/questions.jsonl -o run.jsonl"),
        Shown("quoth verify run.jsonl --root examples/agriculture"),
    ),
    "session-governance": (
        Shown("quoth ingest examples/governance --profile governance --index rules"),
        Shown('quoth ask "How many days do I have to appeal a denial to the Board?" --index rules', quotes=1),
        Shown('quoth ask "What was the regular assessment in 2017?" --index rules', quotes=1),
    ),
    "session-find": (
        Shown("quoth ingest examples/governance --profile governance --index rules"),
        Shown('quoth find "thirty (30) days" --max 3 --index rules'),
        Shown("quoth find owner appeal --near 3 --index rules"),
        Shown("quoth find --regex '\\$[0-9,]+' --count --index rules"),
    ),
    "session-retrieval": (
        Shown("quoth ingest examples/governance --profile governance --index rules"),
        Shown('quoth retrieve "How high may a fence in the rear yard be?" --index rules --max 2'),
        Shown('quoth retrieve "What does the Declaration say about fences?" --index rules --as-of 2021-06-30 --max 1'),
        Shown('quoth retrieve "How many pets may I keep?" --index rules --context --max 1'),
    ),
    "session-formats": (
        Shown("quoth ingest examples/formats --index cooperative"),
        Shown("quoth show handbook.pdf --index cooperative"),
        Shown('quoth ask "What is the safe moisture of canola for a year?" --index cooperative', quotes=1),
        Shown('quoth ask "Which filter did the board decide to replace?" --index cooperative', quotes=1),
    ),
    "session-grid": (
        Shown("quoth ingest examples/versions/leases --index leases"),
        Shown("quoth grid examples/versions/questions.txt --index leases -o leases.jsonl"),
        Shown("quoth verify leases.jsonl --index leases"),
        Shown("quoth compare-documents lease-2023.md lease-2024.md examples/versions/questions.txt --index leases"),
    ),
    "session-citing": (
        Shown("quoth ingest examples/formats --index cooperative"),
        Shown("quoth batch examples/citing.txt --index cooperative -o run.jsonl"),
        Shown("quoth export-quotes run.jsonl --index cooperative --base-url https://example.org/lib"),
        Shown("quoth export-quotes run.jsonl --index cooperative --base-url https://example.org/lib --format links"),
        Shown("quoth export-quotes run.jsonl --index cooperative --format annotations -o quotes.jsonld"),
        Shown("quoth import-quotes quotes.jsonld --index cooperative"),
        Shown("quoth export-quotes run.jsonl --index cooperative --format bibtex"),
        Shown("quoth export-pdf run.jsonl --index cooperative --root examples/formats -o marked"),
    ),
    "session-evaluation": (
        Shown("quoth ingest examples/agriculture --profile agriculture"),
        Shown("quoth eval examples/agriculture/questions.jsonl --report report.html --save both.json"),
    ),
}


def main() -> int:
    options = _options()
    parts: dict[str, Callable[[], str]] = {
        "settings": settings_part,
        "profiles": profiles_part,
        "cli": cli_part,
        "http": http_part,
    }
    if not options.quick:
        parts |= {name: _session_part(commands) for name, commands in SESSIONS.items()}
    stale = [path for path in documents() if update(path, parts, write=not options.check)]
    stale += [path for path, text in schema_files().items() if replace(path, text, write=not options.check)]
    for path in stale:
        print(f"{'stale' if options.check else 'written'}: {path.relative_to(ROOT)}")
    if stale and options.check:
        print("run: python tools/make_docs.py", file=sys.stderr)
    return 1 if stale and options.check else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--quick", action="store_true")
    return parser.parse_args()


def documents() -> list[Path]:
    """Every page of the documentation."""
    return [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]


def update(path: Path, parts: Mapping[str, Callable[[], str]], *, write: bool) -> bool:
    """Put the parts in their places in a page; say whether it changed (or would)."""
    before = path.read_text(encoding="utf-8")
    after = before
    for name, make in parts.items():
        opening, closing = f"<!-- generated:{name} -->", f"<!-- /generated:{name} -->"
        if opening in after:
            head, _, rest = after.partition(opening)
            old, _, tail = rest.partition(closing)
            new = f"\n\n{make().strip()}\n\n"
            after = head + opening + (old if _settled(old) == _settled(new) else new) + closing + tail
    if write and after != before:
        path.write_text(after, encoding="utf-8")
    return after != before


def schema_files() -> dict[Path, str]:
    """The published schemas, by the file that each is written to."""
    return {ROOT / "src" / "quoth" / "output" / "schemas" / name: text for name, text in published_schemas().items()}


def replace(path: Path, text: str, *, write: bool) -> bool:
    """Write a file that is generated whole; say whether it changed (or would)."""
    changed = not path.is_file() or path.read_text(encoding="utf-8") != text
    if write and changed:
        path.write_text(text, encoding="utf-8")
    return changed


def _settled(part: str) -> str:
    """A part without its scores: their last digit may differ from one kind of processor to another."""
    return re.sub(r"(confidence) \d\.\d\d|-?\d\.\d{3}", r"\1", part)


def settings_part() -> str:
    """Every key in a table for each section, and the variables that name a place."""
    keys = setting_keys()
    if keys.keys() != MEANINGS.keys() or PLACES.keys() != NOT_SETTINGS:
        raise SystemExit(f"tools/make_docs.py must explain {sorted(keys.keys() ^ MEANINGS.keys()) or 'the places'}")
    lines = []
    for section in fields(Settings):
        cls = type(getattr(Settings(), section.name))
        hints = get_type_hints(cls)
        lines += ["", f"### {section.name}", "", "| key | default | type and range | meaning |", "|---|---|---|---|"]
        for one in fields(cls):
            key = f"{section.name}.{one.name}"
            kind = _kind(hints[one.name], one.metadata)
            lines.append(f"| `{key}` | {_value(keys[key])} | {kind} | {MEANINGS[key]} |")
    lines += ["", "### Variables", "", "| setting | variable |", "|---|---|"]
    lines += [f"| `{key}` | `QUOTH_{key.upper().replace('.', '_')}` |" for key in keys]
    lines += ["", "These are no settings:", "", "| variable | meaning |", "|---|---|"]
    lines += [f"| `{name}` | {meaning} |" for name, meaning in sorted(PLACES.items())]
    return "\n".join(lines)


def _kind(hint: Any, limits: Mapping[str, Any]) -> str:  # noqa: ANN401 - a type hint is any object
    if "choices" in limits:
        return " or ".join(f"`{choice}`" for choice in limits["choices"])
    optional = isinstance(hint, UnionType)
    wanted = next(one for one in get_args(hint) if one is not type(None)) if optional else hint
    words = {float: "number", int: "whole number", bool: "`true` or `false`", str: "text"}
    name = words.get(wanted) or f"mapping of name to {words[get_args(wanted)[1]]}"
    if "low" in limits:
        name += f", {limits['low']:,} to {limits['high']:,}"
    return name + (", or not set" if optional else "")


def _value(value: object) -> str:
    if value is None:
        return "not set"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    return f"`{value}`"


def profiles_part() -> str:
    """What each shipped profile knows and changes."""
    lines: list[str] = []
    for profile in map(load_profile, profile_names()):
        lines += ["", f"### {profile.name}", "", profile.description, ""]
        changed = [
            f"`{section}.{key}` = `{value}`" for section, own in profile.settings.items() for key, value in own.items()
        ]
        lines.append(f"- Settings: {', '.join(changed) or 'the defaults'}.")
        for facet in profile.facets:
            presumed = f" Questions presume it; {len(facet.others)} other names are known." if facet.presumed else ""
            lines.append(f"- Facet `{facet.name}`: {', '.join(value.name for value in facet.values)}.{presumed}")
        for group in profile.synonyms:
            lines.append(f"- Synonyms: {', '.join(group)}.")
        for name, kind in profile.document_types.items():
            factor = f", factor {kind.factor}" if kind.factor != 1 else ""
            lines.append(f"- Document type `{name}`: {kind.authority}{factor}.")
        if (authority := profile.authority) is not None:
            lines.append(
                f"- Order: binding x{authority.binding_factor}, superseded x{authority.superseded_factor}, "
                f"at most {authority.cap}."
            )
    return "\n".join(lines)


def cli_part() -> str:
    """Every command with its arguments, options, defaults and examples."""
    commands = dict(_commands(typer.main.get_command(make_app()), ""))
    lines = ["| command | what it does |", "|---|---|"]
    for name, command in commands.items():
        first = " ".join(command.help.split("\n\n")[0].split())
        lines.append(f"| [`quoth {name}`](#quoth-{name.replace(' ', '-')}) | {first} |")
    lines += ["", "`quoth --version` prints the version; `--help` after any command prints its help."]
    for name, command in commands.items():
        lines += _command(name, command)
    return "\n".join(lines)


def _commands(group: Any, above: str) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - typer ships click without its name
    """Every command by its whole name, such as `keys add`."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{above}{name} ")
        else:
            yield f"{above}{name}", command


def _command(name: str, command: Any) -> Iterator[str]:  # noqa: ANN401 - typer ships click without its name
    hints = get_type_hints(command.callback)
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option"]
    usage = " ".join(["quoth", name, "[OPTIONS]", *map(_placeholder, arguments)])
    *about, last = [" ".join(paragraph.split()) for paragraph in command.help.strip().split("\n\n")]
    examples = re.findall(r"`([^`]*)`", last) if last.startswith("Example") else []
    yield from ("", f"## quoth {name}", "", "```", usage, "```", "")
    for paragraph in about if examples else [*about, last]:
        yield from (*textwrap.wrap(paragraph, 100), "")
    if arguments:
        yield from ("| argument | meaning |", "|---|---|")
        yield from (f"| `{_placeholder(one)}` | {_cell(one.help)} |" for one in arguments)
        yield ""
    yield from ("| option | default | meaning |", "|---|---|---|")
    for one in options:
        variable = f" Variable: `{one.envvar}`." if one.envvar else ""
        yield f"| {_spelling(one, hints)} | {_default(name, one)} | {_cell(one.help)}{variable} |"
    if examples:
        yield from ("", "```console", *(f"$ {example}" for example in examples), "```")


def _cell(text: str) -> str:
    return " ".join(text.split()).replace("|", "\\|")


def _placeholder(argument: Any) -> str:  # noqa: ANN401
    name = str(argument.name).upper() + ("..." if argument.nargs == -1 else "")
    return name if argument.required else f"[{name}]"


def _spelling(option: Any, hints: Mapping[str, Any]) -> str:  # noqa: ANN401
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    if option.is_flag:
        return names
    hint = hints.get(option.name, str)
    kinds = [one for one in get_args(hint) if one is not type(None)] if isinstance(hint, UnionType) else [hint]
    kind = get_args(kinds[0])[0] if get_origin(kinds[0]) is list else kinds[0]
    value = option.metavar or {Path: "PATH", int: "NUMBER", float: "NUMBER"}.get(kind, "TEXT")
    return f"{names} `{value}`" + (", repeatable" if option.multiple and "repeatable" not in option.help else "")


def _default(command: str, option: Any) -> str:  # noqa: ANN401
    if (command, option.name) in MACHINE_DEFAULTS:
        return MACHINE_DEFAULTS[command, option.name]
    if option.default in (None, False):
        return "off" if option.is_flag else "none"
    return f"`{option.default}`"


def _session_part(commands: Sequence[Shown]) -> Callable[[], str]:
    def make() -> str:
        with tempfile.TemporaryDirectory() as scratch:
            shutil.copytree(ROOT / "examples", Path(scratch) / "examples")
            shown = [_recorded(command, Path(scratch)) for command in commands]
        return "```console\n" + "\n".join(shown) + "```"

    return make


def _recorded(command: Shown, folder: Path) -> str:
    program = "from quoth.cli import main; main()"
    environment = {name: value for name, value in os.environ.items() if not name.startswith("QUOTH_")}
    # The cache stays where it is: building the model's graph is no part of the session.
    environment |= {"COLUMNS": str(COLUMNS), "NO_COLOR": "1", "TERM": "dumb", "QUOTH_LANG": "en"}
    if cache := os.environ.get("QUOTH_CACHE_DIR"):
        environment["QUOTH_CACHE_DIR"] = cache
    done = subprocess.run(
        [sys.executable, "-c", program, *shlex.split(command.line)[1:]],
        cwd=folder,
        env=environment,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
    )
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    lines = [part for line in lines for part in (textwrap.wrap(line, COLUMNS) if len(line) > COLUMNS else [line])]
    return "\n".join([f"$ {command.line}", *_first_quotes(lines, command.quotes)]).rstrip() + "\n"


def _first_quotes(lines: Sequence[str], most: int | None) -> Iterator[str]:
    """The lines; the quoted sentences (indented, a blank line behind each) beyond `most` give way to a mark."""
    seen, cut = 0, False
    for before, line in pairwise(["", *lines]):
        quoted = line.startswith("    ") or (not line and before.startswith("    "))
        if most is not None and seen >= most and quoted:
            if not cut:
                yield from ("    [...]", "")
            cut = True
            continue
        yield line
        seen += quoted and not line


if __name__ == "__main__":
    raise SystemExit(main())
