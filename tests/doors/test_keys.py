"""`quoth keys`: a token once on stdout, talk on stderr, and a listing without hashes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from quoth.http.guard.api_keys import KeyFile, KeyScope

from .command_line import failed, run


def keys_in(state: Path) -> KeyFile:
    return KeyFile(state / "keys.json")


def test_add_prints_the_token_alone_and_the_rest_on_stderr(tmp_path: Path) -> None:
    ran = run("keys", "add", "website", "--per-minute", "120", "--state", tmp_path)
    key = keys_in(tmp_path).holder(ran.text.removesuffix("\n"))

    assert ran.code == 0
    assert key is not None
    assert (key.name, key.scopes, key.per_minute) == ("website", frozenset({KeyScope.READ}), 120)
    assert ran.text.count("\n") == 1
    assert ran.text.strip() not in ran.talk
    assert all(words in ran.talk for words in (key.id, "website", "120 requests a minute", "shown once"))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "read, as many requests as the service allows"),
        (("--scope", "write"), "write, "),
        (("--per-minute", "0"), "no limit"),
    ],
)
def test_add_says_what_the_key_may_do(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    assert words in run("keys", "add", "web", *arguments, "--state", tmp_path).talk


def test_list_shows_every_key_and_no_hash(tmp_path: Path) -> None:
    first = run("keys", "add", "Eskişehir [bold]", "--scope", "write", "--state", tmp_path).text.split("_")[1]
    second = run("keys", "add", "web", "--state", tmp_path).text.split("_")[1]
    run("keys", "revoke", first, "--state", tmp_path)

    table = run("keys", "list", "--state", tmp_path, variables={"COLUMNS": "200"})
    listed = run("keys", "list", "--json", "--state", tmp_path)

    assert [line.split()[0] for line in table.lines] == ["id", first, second]
    assert "Eskişehir [bold]" in table.lines[1]
    assert [(one["id"], one["scopes"]) for one in listed.objects] == [(first, ["read", "write"]), (second, ["read"])]
    assert [one["revoked"] is None for one in listed.objects] == [False, True]
    assert set(listed.objects[0]) == {"id", "name", "scopes", "created", "revoked", "per_minute", "access"}
    for key in keys_in(tmp_path).all():
        assert key.sha256 not in table.text + listed.text


def test_list_of_no_keys_says_how_to_make_one(tmp_path: Path) -> None:
    ran = run("keys", "list", "--state", tmp_path)

    assert (ran.code, ran.data) == (0, b"")
    assert "quoth keys add" in ran.talk
    assert run("keys", "list", "--json", "--state", tmp_path).data == b""


def test_revoke_says_what_it_did(tmp_path: Path) -> None:
    token = run("keys", "add", "web", "--state", tmp_path).text.strip()
    key_id = token.split("_")[1]

    first = run("keys", "revoke", key_id, "--state", tmp_path)
    second = run("keys", "revoke", key_id, "--state", tmp_path)

    assert (first.code, first.data, second.code) == (0, b"", 0)
    assert f"key {key_id} for web is revoked" in first.talk
    assert "was revoked already" in second.talk
    assert keys_in(tmp_path).holder(token) is None


def test_labels_are_given_shown_changed_and_taken_away(tmp_path: Path) -> None:
    added = run("keys", "add", "web", "--access", "legal", "--access", "board", "--state", tmp_path)
    key_id = added.text.split("_")[1]
    table = run("keys", "list", "--state", tmp_path, variables={"COLUMNS": "200"})
    listed = run("keys", "list", "--json", "--state", tmp_path)

    assert "allows, sees documents without labels and those labelled 'board', 'legal'. " in added.talk
    assert "board, legal" in table.lines[1]
    assert listed.objects[0]["access"] == ["board", "legal"]
    assert "sees every document" in run("keys", "change", key_id, "--access", "*", "--state", tmp_path).talk
    assert keys_in(tmp_path).all()[0].access == frozenset({"*"})
    assert "sees documents without labels\n" in run("keys", "change", key_id, "--no-access", "--state", tmp_path).talk
    assert keys_in(tmp_path).all()[0].access == frozenset()
    for wrong in ((), ("--access", "board", "--no-access")):
        assert run("keys", "change", key_id, *wrong, "--state", tmp_path).code == 2


def test_the_state_is_a_setting_that_the_option_overrides(tmp_path: Path) -> None:
    (tmp_path / "quoth.yaml").write_text("service: {state: from-file}\n")
    run("keys", "add", "one", folder=tmp_path)
    run("keys", "add", "two", "--set", "service.state=from-flag", folder=tmp_path)
    run("keys", "add", "three", folder=tmp_path, variables={"QUOTH_SERVICE_STATE": "from-environment"})
    run("keys", "add", "four", "--state", "from-option", "--set", "service.state=from-flag", folder=tmp_path)

    for place, name in (("file", "one"), ("flag", "two"), ("environment", "three"), ("option", "four")):
        assert [key.name for key in keys_in(tmp_path / f"from-{place}").all()] == [name]


def test_what_cannot_be_done_is_a_sentence_and_a_hint(tmp_path: Path) -> None:
    assert failed(run("keys", "revoke", "12345678", "--state", tmp_path), "12345678", "quoth keys list")
    assert failed(run("keys", "add", "two\nlines", "--state", tmp_path), "printable")

    (tmp_path / "keys.json").write_text(json.dumps({"keys": []}))
    for arguments in (("list",), ("list", "--json"), ("add", "web"), ("revoke", "12345678")):
        assert failed(run("keys", *arguments, "--state", tmp_path), "damaged")


@pytest.mark.parametrize(
    "arguments",
    [(), ("add",), ("add", "web", "--scope", "admin"), ("add", "web", "--per-minute", "-1"), ("revoke",), ("change",)],
)
def test_wrong_usage_exits_with_2(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    assert run("keys", *arguments, folder=tmp_path).code == 2
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", ["add", "change", "list", "revoke"])
def test_the_help_holds_an_example(command: str) -> None:
    ran = run("keys", command, "--help")

    assert ran.code == 0
    assert f"quoth keys {command}" in ran.text[ran.text.index("Example") :]
