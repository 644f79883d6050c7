from __future__ import annotations

import os
from pathlib import Path

from doors.command_line import finish, start

MEGABYTE = 2**20
LAST = "The last crop of the valley is the \N{EAR OF RICE} blue buckwheat."
# Work grows with the number of words, and the promise is about bytes, so the words are long.
_SENTENCE = (
    "In year {} agrometeorological measurements, micronutrient supplementation recommendations, straightforwardly "
    "reproducible phytopathological characterisations, electrophoretically distinguishable glycophosphoproteins, "
    "chlorofluorohydrocarbon concentrations, counterrevolutionary mechanisation programmes, incomprehensibly "
    "disproportionate administrative responsibilities, interdisciplinary photosynthetically oriented experimentation, "
    "electroencephalographically uncharacteristic hypersensitivities, and internationally institutionalised "
    "telecommunications infrastructures overwhelmingly contradicted straightforward interpretations. "
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
