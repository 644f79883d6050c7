"""`quoth serve --watch`: the service answers from what a folder holds now, without a restart."""

from __future__ import annotations

from pathlib import Path

import pytest

from ..command_line import failed, write_files
from .serving import Program, serving, wait_for
from .test_serve import not_started

pytest.importorskip("watchfiles", reason="watchfiles is not installed")

OATS, RYE = "Sow oats at 4 cm in April.\n", "Sow rye at 2 cm in September.\n"


def _quoted(program: Program, question: str) -> list[str]:
    found = program.send("POST", "/answer", json={"question": question}).json()
    return [sentence["text"] for sentence in found["answer_sentences"]]


@pytest.mark.parametrize("workers", ["1", "2"])
def test_what_changes_in_the_folder_is_answered_from_without_a_restart(tmp_path: Path, workers: str) -> None:
    folder = write_files(tmp_path / "fields", {"oats.md": OATS})
    options = ("--no-auth", "--workers", workers, "--watch", str(folder))
    with serving(tmp_path / "index", tmp_path / "state", *options, folder=tmp_path) as program:
        program.wait_until_ready()
        assert _quoted(program, "Do we sow oats at 4 cm in April?") == [OATS.strip()]

        write_files(folder, {"rye.md": RYE})
        wait_for(lambda: _quoted(program, "Do we sow rye at 2 cm in September?") == [RYE.strip()])
        (folder / "oats.md").unlink()
        wait_for(lambda: program.send("GET", "/documents/oats.md").status_code == 404)

        write_files(folder, {"bad.txt": b"x\0y"})
        wait_for(lambda: program.logged("refused"))
        assert [(one["doc_id"], one["message"]) for one in program.logged("refused")] == [
            ("bad.txt", "it holds NUL bytes")
        ]
    assert program.process.returncode == 0


def test_what_is_no_folder_is_not_watched(tmp_path: Path) -> None:
    options = ("--no-auth", "--set", f"service.state={tmp_path}", "--index", tmp_path / "index")
    ran = not_started("--port", "0", *options, "--watch", tmp_path / "none")

    assert failed(ran, "--watch", "is no folder"), ran.talk


def test_an_index_on_ray_watches_nothing(tmp_path: Path) -> None:
    ran = not_started("--cluster", str(tmp_path), "--watch", tmp_path)

    assert failed(ran, "--watch cannot be given with --cluster"), ran.talk
