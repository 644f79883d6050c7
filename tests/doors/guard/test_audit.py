"""The audit log: whole lines, whoever writes, and an error when a line cannot be kept."""

from __future__ import annotations

import json
import stat
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from quoth.http.jobs import AuditLog

from .processes import record_fifty, side_by_side


def test_an_entry_is_one_line_of_json_with_the_time(tmp_path: Path) -> None:
    path = tmp_path / "state" / "audit.jsonl"
    AuditLog(path).record(request_id="r1", key_id="3f9a12c4", action="put", doc_id="a\nb.md", outcome="done")
    AuditLog(path).record(doc_id="Eskişehir\ud800.md", place=tmp_path)

    first, second = map(json.loads, path.read_bytes().splitlines())
    time = datetime.fromisoformat(first.pop("time"))
    assert time.utcoffset() == timedelta(0)
    assert first == {"request_id": "r1", "key_id": "3f9a12c4", "action": "put", "doc_id": "a\nb.md", "outcome": "done"}
    assert (second["doc_id"], second["place"]) == ("Eskişehir\ud800.md", str(tmp_path))
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_processes_write_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "state" / "audit.jsonl"
    names = ["one", "two", "three"]
    side_by_side(record_fifty, path, names)

    entries = [json.loads(line) for line in path.read_bytes().splitlines()]
    for name in names:
        assert [one["number"] for one in entries if one["key"] == name] == list(range(50))
    assert len(entries) == 150


def test_a_line_that_was_cut_off_spoils_no_other(tmp_path: Path) -> None:
    path = tmp_path / "audit.jsonl"
    path.write_bytes(b'{"action": "put"}\n{"acti')
    AuditLog(path).record(action="delete")
    AuditLog(path).record(action="put")

    lines = path.read_bytes().splitlines()
    assert lines[:2] == [b'{"action": "put"}', b'{"acti']
    assert [json.loads(line)["action"] for line in lines[2:]] == ["delete", "put"]


def test_a_log_that_is_rotated_goes_on_in_a_new_file(tmp_path: Path) -> None:
    path, log = tmp_path / "audit.jsonl", AuditLog(tmp_path / "audit.jsonl")
    log.record(action="put")
    path.rename(tmp_path / "audit.1.jsonl")
    log.record(action="delete")

    assert json.loads(path.read_bytes())["action"] == "delete"


def test_an_entry_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")

    for path in (tmp_path, tmp_path / "file" / "audit.jsonl"):
        with pytest.raises(OSError, match=r"directory"):
            AuditLog(path).record(action="put")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_a_full_disk_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "audit.jsonl").symlink_to("/dev/full")

    with pytest.raises(OSError, match="No space left"):
        AuditLog(tmp_path / "audit.jsonl").record(action="put")
