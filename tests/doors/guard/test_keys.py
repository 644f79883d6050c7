"""API keys: who gets in, what is stored, and what happens to a file that is changed, shared or broken."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import os
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.errors import KeyFault
from quoth.http.guard.api_keys import ApiKey, KeyFile, KeyScope

from .processes import add_ten_keys, side_by_side

BOTH = frozenset({KeyScope.READ, KeyScope.WRITE})


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / "keys.json"


def added(path: Path, name: str = "web") -> tuple[ApiKey, str]:
    return KeyFile(path).add(name, scopes={KeyScope.READ}, per_minute=None)


def rewrite(path: Path, change: Callable[[dict[str, Any]], None]) -> None:
    """Change the first key in the file, as someone with an editor would."""
    content = json.loads(path.read_bytes())
    change(content["keys"][0])
    path.write_text(json.dumps(content))


def test_a_token_opens_and_carries_256_random_bits(path: Path) -> None:
    key, token = added(path)
    word, key_id, secret = token.split("_", 2)

    assert (word, key_id, len(secret)) == ("quoth", key.id, 43)
    assert len(base64.urlsafe_b64decode(secret + "=")) == 32
    assert KeyFile(path).holder(token) == key


def test_only_the_hash_of_a_token_is_stored(path: Path) -> None:
    key, token = added(path)

    assert key.sha256 == hashlib.sha256(token.encode()).hexdigest()
    assert token.split("_", 2)[2] not in path.read_text()
    assert [one.name for one in path.parent.iterdir() if token.encode() in one.read_bytes()] == []


def test_only_the_owner_may_read_the_file(path: Path) -> None:
    added(path)
    path.chmod(0o644)
    added(path)

    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700
    assert sorted(one.name for one in path.parent.iterdir()) == ["keys.json", "keys.json.lock"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to someone else")
def test_what_root_adds_belongs_to_the_user_of_the_service(path: Path) -> None:
    path.parent.mkdir()
    os.chown(path.parent, 12345, 12345)
    added(path)
    assert {(one.stat().st_uid, one.stat().st_gid) for one in path.parent.iterdir()} == {(12345, 12345)}

    os.chown(path, 23456, 23456)
    added(path)
    assert (path.stat().st_uid, path.stat().st_gid) == (23456, 23456)


def test_a_link_in_the_place_of_the_lock_is_not_followed(path: Path, tmp_path: Path) -> None:
    path.parent.mkdir()
    path.with_name("keys.json.lock").symlink_to(tmp_path / "elsewhere")

    with pytest.raises(KeyFault, match="cannot write"):
        added(path)
    assert not (tmp_path / "elsewhere").exists()


def test_whoever_may_write_may_read(path: Path) -> None:
    key, token = KeyFile(path).add("editor", scopes=[KeyScope.WRITE], per_minute=7)

    assert key.scopes == BOTH
    assert KeyFile(path).holder(token) == key
    assert (added(path)[0].scopes, key.per_minute) == (frozenset({KeyScope.READ}), 7)


def test_keys_are_listed_oldest_first_revoked_ones_too(path: Path) -> None:
    keys = KeyFile(path)
    assert keys.all() == ()

    first, second = added(path, "first")[0], added(path, "second")[0]
    gone = keys.revoke(first.id)

    assert gone.revoked is not None
    assert keys.all() == (gone, second)
    assert keys.revoke(first.id) == gone, "a second revocation keeps the date of the first"


def test_an_open_file_notices_what_others_change(path: Path) -> None:
    service = KeyFile(path)
    assert service.holder("quoth_00000000_" + "A" * 43) is None

    key, token = added(path)
    assert service.holder(token) == key

    KeyFile(path).revoke(key.id)
    assert service.holder(token) is None


@pytest.mark.parametrize("change", [str.upper, str.title, lambda one: one[:-1], lambda one: one + "\n"])
def test_a_changed_token_opens_nothing(path: Path, change: Callable[[str], str]) -> None:
    _, token = added(path)

    assert KeyFile(path).holder(change(token)) is None


def test_the_id_of_one_key_with_the_secret_of_another_opens_nothing(path: Path) -> None:
    (key, _), (_, other) = added(path), added(path)

    assert KeyFile(path).holder(f"quoth_{key.id}_{other.split('_', 2)[2]}") is None


@given(st.text() | st.from_regex(r"quoth_[0-9a-f]{8}_[A-Za-z0-9_-]{43}", fullmatch=True))
def test_no_other_text_opens_anything(tmp_path_factory: pytest.TempPathFactory, text: str) -> None:
    path = tmp_path_factory.getbasetemp() / "one-key" / "keys.json"
    if not path.exists():
        added(path)

    assert KeyFile(path).holder(text) is None


BROKEN: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda content: b"",
    "half": lambda content: content[: len(content) // 2],
    "not JSON": lambda content: b"\x00\xff garbage",
    "nested": lambda content: b"[" * 100_000,
    "a list": lambda content: b"[]",
    "null": lambda content: b"null",
    "no keys": lambda content: b'{"format": 1}',
    "keys that are no list": lambda content: b'{"format": 1, "keys": 3}',
    "a later format": lambda content: content.replace(b'"format": 1', b'"format": 2'),
    "an id twice": lambda content: json.dumps(
        {"format": 1, "keys": json.loads(content)["keys"] * 2},
    ).encode(),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_damaged_file_opens_to_nobody_and_says_so(path: Path, name: str, caplog: pytest.LogCaptureFixture) -> None:
    key, token = added(path)
    service, sound = KeyFile(path), path.read_bytes()
    assert service.holder(token) == key

    path.write_bytes(BROKEN[name](sound))
    with caplog.at_level(logging.WARNING):
        assert [service.holder(token) for _ in range(3)] == [None] * 3
    for call in (service.all, lambda: added(path), lambda: service.revoke(key.id)):
        with pytest.raises(KeyFault, match="damaged") as caught:
            call()
        assert caught.value.hint
    assert [one.levelname for one in caplog.records] == ["WARNING"], "one line, not one for each request"
    assert path.read_bytes() == BROKEN[name](sound), "a damaged file is left for its owner to look at"

    path.write_bytes(sound)
    assert service.holder(token) == key


FIELDS: dict[str, Callable[[dict[str, Any]], None]] = {
    "a field that may forbid": lambda key: key.update(expires="2020-01-01"),
    "no date of revocation": lambda key: key.pop("revoked"),
    "a number as date": lambda key: key.update(revoked=0),
    "an unknown scope": lambda key: key.update(scopes=["admin"]),
    "scopes as text": lambda key: key.update(scopes="read"),
    "a scope that is a list": lambda key: key.update(scopes=[["read"]]),
    "a short hash": lambda key: key.update(sha256="00"),
    "a strange id": lambda key: key.update(id="../../etc"),
    "a limit below 0": lambda key: key.update(per_minute=-1),
    "a limit that is true": lambda key: key.update(per_minute=True),
    "a limit as text": lambda key: key.update(per_minute="5"),
}


@pytest.mark.parametrize("name", FIELDS)
def test_a_key_that_is_not_understood_opens_nothing(path: Path, name: str) -> None:
    _, token = added(path)
    rewrite(path, FIELDS[name])

    assert KeyFile(path).holder(token) is None
    with pytest.raises(KeyFault):
        KeyFile(path).all()


def test_a_file_that_disappears_opens_to_nobody_until_it_is_back(path: Path) -> None:
    key, token = added(path)
    service, elsewhere = KeyFile(path), path.with_name("elsewhere")
    assert service.holder(token) == key

    path.rename(elsewhere)
    assert service.holder(token) is None

    elsewhere.rename(path)
    assert service.holder(token) == key


def test_a_folder_in_the_place_of_the_file_opens_to_nobody(path: Path) -> None:
    path.mkdir(parents=True)

    assert KeyFile(path).holder("quoth_00000000_" + "A" * 43) is None
    for call in (KeyFile(path).all, lambda: added(path)):
        with pytest.raises(KeyFault, match="cannot read"):
            call()


def test_a_place_that_cannot_be_written_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    with pytest.raises(KeyFault, match="cannot write") as caught:
        added(tmp_path / "file" / "keys.json")
    assert caught.value.hint


@pytest.mark.skipif(os.geteuid() == 0, reason="nothing is forbidden to root")
def test_a_mounted_file_serves_and_is_not_changed(path: Path) -> None:
    key, token = added(path)
    path.chmod(0o400)
    path.parent.chmod(0o500)
    try:
        assert KeyFile(path).holder(token) == key
        for call in (lambda: added(path), lambda: KeyFile(path).revoke(key.id)):
            with pytest.raises(KeyFault, match="cannot write"):
                call()
    finally:
        path.parent.chmod(0o700)


def test_a_mounted_secret_that_is_swapped_is_noticed(tmp_path: Path) -> None:
    """Kubernetes puts links before the files of a secret, and turns one link over when the secret changes."""
    (_, old), (new_key, new) = added(tmp_path / "v1" / "keys.json"), added(tmp_path / "v2" / "keys.json")
    (tmp_path / "data").symlink_to("v1")
    (tmp_path / "keys.json").symlink_to("data/keys.json")
    service = KeyFile(tmp_path / "keys.json")
    assert service.holder(old) is not None

    (tmp_path / "next").symlink_to("v2")
    (tmp_path / "next").replace(tmp_path / "data")

    assert (service.holder(old), service.holder(new)) == (None, new_key)


def test_a_link_keeps_pointing_to_its_file(tmp_path: Path) -> None:
    added(tmp_path / "real" / "keys.json")
    (tmp_path / "keys.json").symlink_to("real/keys.json")
    _, token = added(tmp_path / "keys.json")

    assert (tmp_path / "keys.json").is_symlink()
    assert KeyFile(tmp_path / "real" / "keys.json").holder(token) is not None


def test_a_link_to_nothing_is_a_fault(tmp_path: Path) -> None:
    (tmp_path / "keys.json").symlink_to("gone.json")

    with pytest.raises(KeyFault, match="cannot read"):
        added(tmp_path / "keys.json")


@pytest.mark.parametrize("name", ["", " ", "two\nlines", "\x1b[31mred", "x" * 81, "\ud800"])
def test_a_name_is_short_and_printable(path: Path, name: str) -> None:
    with pytest.raises(KeyFault, match="1 to 80 printable"):
        added(path, name)
    assert not path.exists()


@pytest.mark.parametrize("name", ["x", "y" * 80, "Eskişehir – web", "[bold]"])
def test_a_name_comes_back_as_it_was_given(path: Path, name: str) -> None:
    added(path, name)

    assert [key.name for key in KeyFile(path).all()] == [name]


@pytest.mark.parametrize("per_minute", [-1, 10**6 + 1])
def test_a_limit_is_within_bounds(path: Path, per_minute: int) -> None:
    with pytest.raises(KeyFault, match="a minute"):
        KeyFile(path).add("web", scopes={KeyScope.READ}, per_minute=per_minute)


def test_a_key_needs_a_scope(path: Path) -> None:
    with pytest.raises(KeyFault, match="scope"):
        KeyFile(path).add("web", scopes=(), per_minute=None)


def test_an_unknown_key_cannot_be_revoked(path: Path) -> None:
    _, token = added(path)

    with pytest.raises(KeyFault, match="there is no key '12345678'"):
        KeyFile(path).revoke("12345678")
    with pytest.raises(KeyFault) as caught:
        KeyFile(path).revoke(token)
    assert token not in f"{caught.value} {caught.value.hint}"


def test_processes_that_add_keys_at_once_lose_none(path: Path) -> None:
    tokens = [token for added in side_by_side(add_ten_keys, path, ["one", "two", "three"]) for token in added]
    keys = KeyFile(path)

    assert len(set(tokens)) == 30
    assert sorted(key.id for key in keys.all()) == sorted(token.split("_")[1] for token in tokens)
    assert all(keys.holder(token) for token in tokens)


def test_a_key_keeps_its_labels_as_they_are_compared(path: Path) -> None:
    key, token = KeyFile(path).add("web", scopes=[KeyScope.READ], per_minute=None, access=["board", "legal"])
    held = KeyFile(path).holder(token)

    assert held == key
    assert held is not None
    assert held.labels == frozenset({"board", "legal"})
    assert KeyFile(path).add("ops", scopes=[KeyScope.READ], per_minute=None, access=["*"])[0].labels is None
    assert KeyFile(path).add("web", scopes=[KeyScope.READ], per_minute=None, access=["  BOARD "])[0].access == {"board"}


def test_a_file_from_before_there_were_labels_is_read_and_opens_nothing_labelled(path: Path) -> None:
    token = added(path)[1]
    rewrite(path, lambda key: key.pop("access"))
    key = KeyFile(path).holder(token)

    assert key is not None
    assert key.labels == frozenset()


def test_changed_labels_count_at_once_and_nothing_else_changes(path: Path) -> None:
    keys = KeyFile(path)
    before, token = keys.add("web", scopes=[KeyScope.WRITE], per_minute=7, access=["board"])

    assert keys.change(before.id, access=["legal"]) == msgspec.structs.replace(before, access=frozenset({"legal"}))
    assert KeyFile(path).holder(token) == keys.all()[0]
    assert keys.change(before.id, access=[]).access == frozenset()


@pytest.mark.parametrize("label", ["", " ", "a,b", "a\nb", "x" * 201])
def test_what_no_document_can_be_labelled_with_is_no_label_of_a_key(path: Path, label: str) -> None:
    with pytest.raises(KeyFault, match="a label has"):
        KeyFile(path).add("web", scopes=[KeyScope.READ], per_minute=None, access=[label])
    assert not path.exists()


def test_an_unknown_key_cannot_be_changed(path: Path) -> None:
    added(path)
    with pytest.raises(KeyFault, match="12345678"):
        KeyFile(path).change("12345678", access=["board"])
