from __future__ import annotations

import os
from pathlib import Path

from doors.command_line import finish, start

MEGABYTE = 2**20
LAST = "The last crop of the valley is the \N{EAR OF RICE} blue buckwheat."
_SENTENCE = (
    "In year {} canola that was seeded early into firm and moist soil came up evenly, covered the ground before the "
    "weeds did, flowered ahead of the worst heat of July, and was ready for the swather in the second half of August, "
    "when the days were still long and the straw dried well behind the machine, so that the combine followed within "
    "days, while the fields that were seeded late stood thin, lost their first flowers to the heat, ripened unevenly "
    "on every slope that faced north, and had to wait for a second dry week that did not come before the frost. "
)


def _write(path: Path, *, size: int) -> None:
    """Paragraphs of fifty different sentences over and over, Windows newlines between them, and `LAST` at the end."""
    page = "\r\n\r\n".join("".join(_SENTENCE.format(10 * row + one) for one in range(10)) for row in range(5))
    with path.open("w", encoding="utf-8", newline="") as file:
        for _ in range(size // len(page) + 1):
            file.write(page + "\r\n\r\n")
        file.write(LAST + "\r\n")


def test_a_file_of_50_megabytes_is_ingested_and_quoted_exactly_at_its_end(tmp_path: Path) -> None:
    (tmp_path / "corpus").mkdir()
    big = tmp_path / "corpus" / "big.txt"
    _write(big, size=50 * MEGABYTE)
    assert big.stat().st_size >= 50 * MEGABYTE

    program = start("ingest", tmp_path / "corpus", "--index", tmp_path / "index", "--quiet")
    _, status, used = os.wait4(program.pid, 0)
    program.returncode = os.waitstatus_to_exitcode(status)
    assert finish(program).code == 0
    assert used.ru_maxrss < 2048 * 1024  # kilobytes: some 600 MB when this was written

    question = "What is the last crop of the valley, the blue buckwheat?"
    asked = finish(start("ask", question, "--index", tmp_path / "index", "--json"))
    (first, *_) = asked.object["answer_sentences"]
    assert first["text"] == LAST
    assert big.read_bytes().decode("utf-8")[first["start"] : first["end"]] == LAST
    assert first["end"] == len(big.read_bytes().decode("utf-8")) - len("\r\n")
