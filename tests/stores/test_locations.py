"""A folder and a prefix in object storage can do the same, and say the same of what they cannot."""

from __future__ import annotations

import pickle
from pathlib import Path

import pytest

from quoth.errors import IndexFault, SettingsError
from quoth.stores.locations import Location, VersionConflict, digest_file, open_location, put_idempotent

from .object_storage import Storage


def test_what_is_put_is_found_and_replaced_only_over_its_version(place: Location) -> None:
    assert place.get("a/b.json") is None
    first = place.put("a/b.json", b"1", over=None)
    assert place.get("a/b.json") == (b"1", first)

    with pytest.raises(VersionConflict):
        place.put("a/b.json", b"2", over=None)
    second = place.put("a/b.json", b"2", over=first)
    with pytest.raises(VersionConflict):
        place.put("a/b.json", b"3", over=first)

    assert place.get("a/b.json") == (b"2", second)
    with pytest.raises(VersionConflict):
        place.put("missing.json", b"3", over=first)


def test_large_files_go_there_and_back(place: Location, tmp_path: Path) -> None:
    source = tmp_path / "large"
    source.write_bytes(bytes(range(256)) * 50_000)

    place.upload(source, "shard/large file.bin")
    place.upload(source, "shard/large file.bin")
    place.download("shard/large file.bin", tmp_path / "new" / "copy")

    assert digest_file(tmp_path / "new" / "copy") == digest_file(source)
    with pytest.raises(FileNotFoundError):
        place.download("shard/nothing", tmp_path / "new" / "none")


def test_names_are_those_below_a_folder_and_can_be_removed(place: Location) -> None:
    for name in ("a/1", "a/b/2", "ab/3", "4"):
        place.put(name, b"", over=None)

    assert sorted(place.names("a")) == ["a/1", "a/b/2"]
    place.remove(["a/1", "a/b/2", "never/was"])

    assert sorted(place.names("")) == ["4", "ab/3"]
    assert list(place.names("nothing")) == []


def test_a_place_can_be_sent_to_another_process(place: Location) -> None:
    place.put("a", b"1", over=None)
    sent: Location = pickle.loads(pickle.dumps(place))  # noqa: S301 - our own

    assert (sent.uri, sent.get("a")) == (place.uri, place.get("a"))


def test_a_bucket_that_is_not_there(storage: Storage) -> None:
    with pytest.raises(IndexFault, match="s3://no-such-bucket/x"):
        open_location("s3://no-such-bucket/x").put("a", b"", over=None)


@pytest.mark.parametrize("uri", ["s3://KEY:SECRET@bucket/p", "s3://bucket/p?sig=SECRET", "s3://bucket/p#SECRET"])
def test_an_address_with_a_secret_is_refused_and_not_repeated(uri: str) -> None:
    with pytest.raises(SettingsError) as caught:
        open_location(uri)

    assert "SECRET" not in str(caught.value) + caught.value.hint.replace("AWS_SECRET", "")


@pytest.mark.parametrize("uri", ["s3:/bucket/p", "file:/index"])
def test_an_address_with_one_slash_is_no_folder(uri: str) -> None:
    with pytest.raises(SettingsError, match="one slash"):
        open_location(uri)


def test_a_write_that_is_done_again_finds_its_own(place: Location) -> None:
    put_idempotent(place, "a", b"1", over=None)
    put_idempotent(place, "a", b"1", over=None)

    with pytest.raises(VersionConflict):
        put_idempotent(place, "a", b"2", over=None)
    assert (place.get("a") or (b"",))[0] == b"1"


def test_addresses_of_other_kinds_are_refused() -> None:
    with pytest.raises(SettingsError, match="begins with 'ftp:'"):
        open_location("ftp://host/x")
