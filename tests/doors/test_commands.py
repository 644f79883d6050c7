"""What holds for every command: help, exit codes, where data and talk go, completion."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from quoth import __version__

from .command_line import HASH, PATIENCE, PROGRAM, environment, failed, finish, run, start
from .small_corpus import CANOLA, SmallCorpus

COMMANDS = ("ingest", "ask", "batch", "verify", "docs", "show", "status", "export", "demo")


def test_help_names_every_command() -> None:
    ran = run("--help")

    assert ran.code == 0
    assert [command for command in COMMANDS if f" {command} " not in ran.text] == []


@pytest.mark.parametrize("command", COMMANDS)
def test_the_help_of_a_command_holds_an_example(command: str) -> None:
    ran = run(command, "--help")

    assert ran.code == 0
    assert f"quoth {command}" in ran.text[ran.text.index("Example") :]


def test_the_version_is_printed() -> None:
    assert run("--version").text == f"quoth {__version__}\n"


@pytest.mark.parametrize(
    "arguments",
    [
        (),
        ("bogus",),
        ("ask",),
        ("ask", "one", "two"),
        ("ask", "What?", "--bogus"),
        ("batch", "questions.txt", "--workers", "0"),
        ("verify", "--sample", "none"),
        ("verify", "--root", "no-such-folder"),
        ("show",),
        ("ingest",),
    ],
    ids=" ".join,
)
def test_wrong_usage_exits_with_2(arguments: tuple[str, ...]) -> None:
    ran = run(*arguments)

    assert ran.code == 2
    assert "Traceback" not in ran.talk


@pytest.mark.parametrize("command", ["ask", "batch", "verify", "docs", "show", "status", "export"])
def test_without_an_index_the_hint_says_how_to_make_one(command: str, tmp_path: Path) -> None:
    questions = tmp_path / "questions.txt"
    questions.write_text("How deep?\n", encoding="utf-8")
    argument: dict[str, list[str | Path]] = {
        "ask": ["How deep?"],
        "batch": [questions],
        "show": ["a.md"],
        "export": [tmp_path / "out"],
    }

    ran = run(command, *argument.get(command, []), "--index", tmp_path / "none")

    assert failed(ran, "there is no index at", "quoth ingest FOLDER --index")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--set", "selection.max_sentence=3"), "Did you mean 'selection.max_sentences'?"),
        (("--set", "selection.max_sentences=many"), "must be a whole number"),
        (("--set", "selection.max_sentences=0"), "between 1 and 100"),
        (("--set", "retrieval.mode=psychic"), "hybrid, lexical, dense"),
        (("--set", "selection"), "--set selection.max_sentences=3"),
        (("--tag", "crop"), "--tag crop=canola"),
        (("--config", "no-such.yaml"), "cannot read no-such.yaml"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_setting_is_named(small: SmallCorpus, arguments: tuple[str, ...], message: str) -> None:
    assert failed(run("ask", "How deep?", "--index", small.index, *arguments), message)


def test_an_unknown_variable_is_an_error_because_a_typo_would_go_unnoticed(small: SmallCorpus) -> None:
    ran = run("ask", CANOLA, "--index", small.index, variables={**HASH, "QUOTH_SELECTION_MAX_SENTENCE": "1"})

    assert failed(ran, "QUOTH_SELECTION_MAX_SENTENCE", "Did you mean 'QUOTH_SELECTION_MAX_SENTENCES'?")


def test_the_later_of_profile_file_variable_and_flag_wins(small: SmallCorpus, tmp_path: Path) -> None:
    config = tmp_path / "quoth.yaml"
    config.write_text("retrieval: {mode: lexical}\n", encoding="utf-8")
    ask = ("ask", CANOLA, "--index", small.index, "--json")
    variable = {**HASH, "QUOTH_RETRIEVAL_MODE": "dense"}

    ways = [
        run(*ask),
        run(*ask, "--config", config),
        run(*ask, folder=tmp_path),
        run(*ask, folder=tmp_path, variables=variable),
        run(*ask, "--set", "retrieval.mode=hybrid", folder=tmp_path, variables=variable),
    ]

    used = [ran.object["run_notes"]["retriever"] for ran in ways]
    assert used == ["hybrid_bm25_dense", "bm25", "bm25", "dense", "hybrid_bm25_dense"]


def test_the_index_is_found_by_flag_by_variable_and_in_its_default_place(small: SmallCorpus, tmp_path: Path) -> None:
    (tmp_path / ".quoth").symlink_to(small.index)

    ways = [
        run("status", "--json", "--index", small.index),
        run("status", "--json", variables={**HASH, "QUOTH_INDEX": str(small.index)}),
        run("status", "--json", folder=tmp_path),
    ]

    assert [ran.object["documents"] for ran in ways] == [4, 4, 4]


def test_the_installed_program_answers_on_stdout_and_talks_on_stderr(own: SmallCorpus) -> None:
    ingested = finish(start("ingest", own.folder, "--index", own.index, "--profile", own.profile))
    asked = finish(start("ask", CANOLA, "--index", own.index, "--timings"))

    assert (ingested.code, ingested.data) == (0, b"")
    assert "4 unchanged" in ingested.talk
    assert (asked.code, asked.talk.startswith("opened in ")) == (0, True)
    assert CANOLA in asked.text


def test_output_is_utf8_in_any_locale(small: SmallCorpus) -> None:
    ascii_only = {**HASH, "PYTHONIOENCODING": "ascii:strict", "LC_ALL": "C", "PYTHONUTF8": "0"}

    ask = finish(start("ask", "-", "--index", small.index, variables=ascii_only), b"Store wheat below 15 \xb0\xff?")
    shown = finish(start("show", "rules.md", "--sentences", "--index", small.index, variables=ascii_only))

    assert (ask.code, ask.talk) == (0, "")
    assert (shown.code, shown.talk) == (0, "")
    assert "α-warden" in shown.text


@pytest.mark.parametrize(
    "arguments",
    [("ask", CANOLA, "--why"), ("ask", CANOLA, "--json"), ("docs",), ("show", "rules.md", "--text"), ("batch", "-")],
    ids=" ".join,
)
def test_a_reader_that_has_gone_is_no_error(small: SmallCorpus, arguments: tuple[str, ...]) -> None:
    program = start(*arguments, "--index", small.index)
    assert program.stdout is not None
    program.stdout.close()
    program.stdout = None

    ran = finish(program, CANOLA.encode())

    assert (ran.code, ran.talk) == (0, "")


@pytest.mark.parametrize(
    "arguments", [("ask", CANOLA), ("docs", "--json"), ("show", "rules.md", "--text"), ("batch", "-")], ids=" ".join
)
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_output_that_cannot_be_written_is_an_error(small: SmallCorpus, arguments: tuple[str, ...]) -> None:
    with Path("/dev/full").open("wb") as full:
        ran = finish(start(*arguments, "--index", small.index, stdout=full.fileno()), CANOLA.encode())

    assert failed(ran, "cannot write the output: No space left on device")


def _complete(words: str, small: SmallCorpus) -> list[str]:
    """What the shell offers for the last of the words."""
    variables = {
        **HASH,
        "_QUOTH_COMPLETE": "complete_bash",
        "COMP_WORDS": words,
        "COMP_CWORD": str(len(words.split(" ")) - 1),
        "QUOTH_INDEX": str(small.index),
    }
    return [line for line in finish(start(variables=variables)).lines if line]


def test_the_shell_completes_commands_options_and_document_ids(small: SmallCorpus, tmp_path: Path) -> None:
    assert "verify" in _complete("quoth ver", small)
    assert "--json" in _complete("quoth ask --js", small)
    assert _complete("quoth show notes", small) == ["notes/windows.txt"]
    assert sorted(_complete("quoth ask canola --doc ", small)) == sorted(
        ["canola.md", "notes/windows.txt", "rules.md", "wheat.md"]
    )
    assert _complete(f"quoth show --index {tmp_path} ca", small) == []


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_completion_script_can_be_shown() -> None:
    # The program asks which shell has started it; the second command keeps bash from replacing itself.
    ran = subprocess.run(
        ["bash", "-c", f'"{PROGRAM}" --show-completion; exit $?'],
        env={**environment(HASH), "SHELL": "/bin/bash"},
        capture_output=True,
        timeout=PATIENCE,
        check=False,
    )

    assert ran.returncode == 0
    assert b"_QUOTH_COMPLETE=complete_bash" in ran.stdout
