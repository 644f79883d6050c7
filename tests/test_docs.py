"""The documentation is true of the code: generated parts are current, links lead somewhere, commands and code parse."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main
import yaml

import quoth.errors
from quoth.cli import make_app
from quoth.domain.profile import parse_profile
from quoth.errors import QuothError
from quoth.overrides import NO_OVERRIDES
from quoth.settings import setting_keys
from quoth.types import Reason

ROOT = Path(__file__).resolve().parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [page.relative_to(ROOT).as_posix() for page in PAGES]

_FENCE = re.compile(r"^```(?P<language>\w*)\n(?P<code>.*?)^```$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!!)\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_FOLDERS = "src|docs|tests|tools|examples|bench|training|requirements"
_PATH = re.compile(rf"`((?:{_FOLDERS})/[\w./-]*|[\w/-]+\.(?:toml|in|py))`")
_SOURCE = re.compile(r"    \[\d+\] \S")


def text_of(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def blocks(name: str, *languages: str) -> list[str]:
    return [found["code"] for found in _FENCE.finditer(text_of(name)) if found["language"] in languages]


def headings(name: str) -> set[str]:
    """The anchors of a page, as GitHub makes them."""
    prose = _FENCE.sub("", text_of(name))
    titles = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


def commands(name: str) -> Iterator[list[str]]:
    """The arguments of every `quoth …` in the code blocks of a page, pipes and comments cut off."""
    for block in blocks(name, "console", "bash", "sh"):
        for line in block.splitlines():
            if line.startswith("$ "):
                words = shlex.split(line[2:], comments=True)
                while "quoth" in words:
                    words = words[words.index("quoth") + 1 :]
                    end = next((place for place, word in enumerate(words) if word in {"|", ">"}), len(words))
                    yield words[:end]


def test_the_generated_parts_are_current() -> None:
    done = subprocess.run(
        [sys.executable, "tools/make_docs.py", "--check", "--quick"],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", NAMES)
def test_every_link_leads_somewhere(name: str) -> None:
    for found in _LINK.finditer(_FENCE.sub("", text_of(name))):
        path, _, anchor = found["target"].partition("#")
        if path.startswith("https://"):
            continue
        target = ((ROOT / name).parent / path).resolve() if path else ROOT / name
        assert target.exists(), found["target"]
        if anchor:
            assert anchor in headings(target.relative_to(ROOT).as_posix()), found["target"]


@pytest.mark.parametrize("name", NAMES)
def test_every_file_that_is_named_exists(name: str) -> None:
    for path in _PATH.findall(text_of(name)):
        assert (ROOT / path).exists() or (ROOT / "src" / "quoth" / path).exists(), path


@pytest.mark.parametrize("name", NAMES)
def test_every_command_is_one_that_quoth_knows(name: str) -> None:
    group: Any = typer.main.get_command(make_app())
    for words in commands(name):
        command, rest = group.commands.get(words[0]), iter(words[1:])
        if hasattr(command, "commands"):  # `keys add`
            command = command.commands.get(next(rest))
        assert command is not None, words
        options = {spelling: one for one in command.params for spelling in (*one.opts, *one.secondary_opts)}
        for word in rest:
            if word.startswith("-") and word != "-":
                assert word in options, words
                if not options[word].is_flag:
                    next(rest)


def test_the_readme_and_the_guide_show_commands() -> None:
    assert {words[0] for words in commands("README.md")} >= {"ingest", "ask", "batch", "verify"}
    assert {words[0] for words in commands("docs/guide.md")} >= {"ingest", "ask", "batch", "verify", "export"}


@pytest.mark.parametrize("name", NAMES)
def test_code_blocks_can_be_read(name: str) -> None:
    for code in blocks(name, "python"):
        compile(code, name, "exec")
    for code in blocks(name, "json"):
        for line in code.splitlines():
            json.loads(line)
    for code in blocks(name, "yaml"):
        list(yaml.safe_load_all(code))


def test_every_setting_is_documented() -> None:
    page = text_of("docs/settings.md")

    for key in setting_keys():
        assert f"| `{key}` |" in page
        assert f"`QUOTH_{key.upper().replace('.', '_')}`" in page


def test_every_error_code_is_documented() -> None:
    page = text_of("docs/guide.md")
    classes = [one for one in vars(quoth.errors).values() if isinstance(one, type) and issubclass(one, QuothError)]

    for one in classes:
        assert f"| `{one.code}` | `{one.__name__}` |" in page


def test_every_reason_for_abstaining_is_documented() -> None:
    for reason in Reason:
        assert f"| `{reason}` |" in text_of("docs/guide.md")
        assert f"`{reason}`" in text_of("docs/json.md")


def test_every_field_of_the_answer_is_documented() -> None:
    page = text_of("docs/json.md")
    schema = json.loads(text_of("src/quoth/output/schemas/answer.schema.json"))
    described = [schema, *(schema["$defs"][name] for name in ("Citation", "RunNotes"))]

    for part in described:
        for field in part["properties"]:
            assert f"`{field}`" in page or f"`{field}." in page, field


def test_the_example_profile_can_be_used() -> None:
    source = next(code for code in blocks("docs/profiles.md", "yaml") if code.startswith("# bakery.yaml"))
    profile = parse_profile(source)

    assert profile.name == "bakery"
    assert [value.name for value in profile.facets[0].values] == ["bread", "pastry"]
    assert NO_OVERRIDES.over(profile.settings, profile=profile.name).selection.min_support == 2


@pytest.mark.parametrize(("name", "sample"), [("README.md", "agriculture"), ("docs/guide.md", "governance")])
def test_the_quotes_of_a_session_are_verbatim(name: str, sample: str) -> None:
    quotes = list(shown_quotes(name))
    files = (ROOT / "examples" / sample).rglob("*.md")
    # A terminal wraps lines; the words and their order are what must agree.
    sources = [" ".join(file.read_bytes().decode("utf-8").split()) for file in files]

    assert quotes
    for lines in quotes:
        without_lead = " ".join(lines), " ".join(lines[1:])
        assert any(quote and quote in source for quote in without_lead for source in sources), lines


def shown_quotes(name: str) -> Iterator[list[str]]:
    """The lines above every source in the sessions of a page; the first may be a lead."""
    for block in blocks(name, "console"):
        above: list[str] = []
        for line in block.splitlines():
            if _SOURCE.match(line) is not None:
                yield above
            above = [*above, line.strip()] if line.startswith("    ") else []


def test_offsets_in_the_corpus_page_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)

    for code in blocks("docs/corpus.md", "python"):
        exec(compile(code, "docs/corpus.md", "exec"), {})  # noqa: S102 - our own example
