"""An embedding model behind an API, really broken: questions go on with full text, and say so."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from doors.command_line import Ran, run, write_files
from fake_openai import FakeOpenAI

FILES: dict[str, bytes | str] = {
    "canola.md": "# Canola\n\nSow canola at 2.5 cm into moist soil. Roll the field after seeding.\n",
    "wheat.md": "# Wheat\n\nSow wheat at 4 cm in October. Store wheat below 15 degrees.\n",
}
QUESTION = "How deep to sow canola into moist soil?"
BROKEN = {
    "down": {},
    "slow": {"seconds": 30},
    "drip": {"seconds": 1},
    "garbage": {},
    "status:429": {},
    "status:500": {},
    "wrong_dimension": {},
}


def settings_for(server: FakeOpenAI) -> dict[str, str]:
    return {
        "QUOTH_EMBEDDING_PROVIDER": "openai",
        "QUOTH_EMBEDDING_MODEL_NAME": "some-model",
        "QUOTH_EMBEDDING_DIMENSION": "64",
        "QUOTH_EMBEDDING_BASE_URL": server.base_url,
        "QUOTH_EMBEDDING_QUESTION_SECONDS": "0.5",
        "QUOTH_EMBEDDING_SECONDS": "2",
        "QUOTH_EMBEDDING_RETRIES": "1",
        "QUOTH_CACHE_MEMORY_MB": "0",
    }


@contextmanager
def service() -> Iterator[FakeOpenAI]:
    """Each with a port of its own, so that no test meets the fault of another."""
    with FakeOpenAI(dimension=64) as server:
        yield server


def ingested(place: Path, server: FakeOpenAI) -> Ran:
    folder = write_files(place / "guides", FILES)
    return run("ingest", folder, "--index", place / "index", variables=settings_for(server))


def test_an_index_is_made_and_asked_through_an_api(tmp_path: Path) -> None:
    with service() as server:
        assert ingested(tmp_path, server).code == 0
        answer = run("ask", QUESTION, "--index", tmp_path / "index", "--json", variables=settings_for(server)).object
        status = run("status", "--index", tmp_path / "index", "--json").object

    assert answer["answer_sentences"][0]["text"] == "Sow canola at 2.5 cm into moist soil."
    assert "dense" not in answer["run_notes"]["degraded"]
    assert (status["model"], status["dimension"]) == ("some-model", 64)


@pytest.mark.parametrize("mode", BROKEN)
@pytest.mark.parametrize("command", ["ask", "retrieve"])
def test_a_question_goes_on_without_it(tmp_path: Path, command: str, mode: str) -> None:
    with service() as server:
        assert ingested(tmp_path, server).code == 0
        server.behave(mode, **BROKEN[mode])
        ran = run(command, QUESTION, "--index", tmp_path / "index", "--json", variables=settings_for(server))

    assert ran.code == 0, ran.talk
    found = ran.object
    if command == "ask":
        notes = found["run_notes"]
        assert "dense" in notes["degraded"]
        assert "only full text was searched" in notes["warnings"][0]
        assert found["answer_sentences"][0]["text"] == "Sow canola at 2.5 cm into moist soil."
    else:
        assert found["degraded"] == ["dense"]
        assert "only full text was searched" in found["warning"]
        assert found["passages"][0]["doc_id"] == "canola.md"


def test_people_are_told_on_the_terminal(tmp_path: Path) -> None:
    with service() as server:
        assert ingested(tmp_path, server).code == 0
        server.behave("down")
        ran = run("ask", QUESTION, "--index", tmp_path / "index", variables=settings_for(server))

    assert "only full text was searched" in ran.text
    assert "Sow canola at 2.5 cm" in ran.text


def test_an_ingest_without_it_stops_with_the_next_step_and_keeps_the_old_index(tmp_path: Path) -> None:
    with service() as server:
        assert ingested(tmp_path, server).code == 0
        server.behave("down")
        write_files(tmp_path / "guides", {"new.md": "# Rye\n\nSow rye early.\n"})
        ran = run("ingest", tmp_path / "guides", "--index", tmp_path / "index", variables=settings_for(server))
        assert ran.code == 1
        assert "embedding.base_url" in ran.talk
        assert run("status", "--index", tmp_path / "index", "--json").object["documents"] == 2

        server.behave("ok")
        assert ingested(tmp_path, server).code == 0
        assert run("status", "--index", tmp_path / "index", "--json").object["documents"] == 3


def test_another_dimension_in_the_settings_is_refused(tmp_path: Path) -> None:
    with service() as server:
        assert ingested(tmp_path, server).code == 0
        other = settings_for(server) | {"QUOTH_EMBEDDING_DIMENSION": "32"}
        ran = run("ask", QUESTION, "--index", tmp_path / "index", variables=other)

    assert ran.code == 1
    assert "64 dimensions" in ran.talk and "32 dimensions" in ran.talk


def test_a_model_without_its_dimension_is_refused_with_the_setting(tmp_path: Path) -> None:
    with service() as server:
        without = {name: value for name, value in settings_for(server).items() if "DIMENSION" not in name}
        ran = run("ingest", write_files(tmp_path / "guides", FILES), "--index", tmp_path / "index", variables=without)

    assert ran.code == 1
    assert "embedding.dimension" in ran.talk


def test_the_default_model_of_an_api_is_asked_for_1536_dimensions(tmp_path: Path) -> None:
    with FakeOpenAI(dimension=1536) as server:
        default = {
            name: value for name, value in settings_for(server).items() if "MODEL" not in name and "DIM" not in name
        }
        ran = run("ingest", write_files(tmp_path / "guides", FILES), "--index", tmp_path / "index", variables=default)

        assert ran.code == 0, ran.talk
        assert (server.last.body["model"], server.last.body["dimensions"]) == ("text-embedding-3-large", 1536)
