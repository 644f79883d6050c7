"""The published schema holds for every kind of outcome, and for nothing that contradicts itself."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from engines import engine_of
from quoth.answer.ask import ask
from quoth.documents.files import find_files
from quoth.documents.ingest import ingest
from quoth.domain.profile import load_profile
from quoth.models.hash_embedder import HashEmbedder
from quoth.output.json_schema import published_schemas
from quoth.output.render import outcome_json
from quoth.overrides import Overrides
from quoth.search.question_files import read_questions
from quoth.settings import IngestSettings
from quoth.stores.embedded import EmbeddedStore
from quoth.types import Question, Reason

SCHEMA = json.loads(files("quoth.output").joinpath("schemas/answer.schema.json").read_text(encoding="utf-8"))
VALIDATOR = Draft202012Validator(SCHEMA)
ASK_ANYTHING = Overrides({}, {}, {"decision.abstain": "false"})

DOCUMENTS = {
    "fences.md": "---\ndocument_type: ccr\neffective_date: 2009-06-01\n"
    "superseded_by: [{section: Height, by: amendment.md}]\n---\n\n"
    "# Height\n\nA fence must not exceed five feet. However, a gate may be higher.\n\n"
    "# Materials\n\nAllowed materials of fences:\n\n- cedar wood\n- brick\n\n"
    "| Material | Colour |\n|---|---|\n| Cedar fence | brown |\n",
    "amendment.md": "A fence must not exceed six feet since the amendment.",
}


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., dict[str, Any]]:
    """Answers a question under a profile, from a real index."""
    place = tmp_path_factory.mktemp("schema")
    (place / "corpus").mkdir()
    for name, text in DOCUMENTS.items():
        (place / "corpus" / name).write_text(text)
    stores: dict[str, EmbeddedStore] = {}
    embedder = HashEmbedder()

    def answer(question: str, *, profile: str = "general", overrides: Overrides = ASK_ANYTHING) -> dict[str, Any]:
        chosen = load_profile(profile)
        if profile not in stores:
            stores[profile] = EmbeddedStore(place / profile)
            ingest(
                find_files([place / "corpus"]),
                store=stores[profile],
                embedder=embedder,
                profile=chosen,
                settings=IngestSettings(),
                prune=False,
                progress=None,
            )
        settings = overrides.over(chosen.settings, profile=profile)
        engine = engine_of(chosen, settings, embedder=embedder)
        (one,) = read_questions([question])
        assert isinstance(one, Question)
        with stores[profile].read() as reader:
            return outcome_json(ask(one, reader=reader, engine=engine).outcome)

    return answer


Asked = Callable[..., dict[str, Any]]
NO_FLAGS = Overrides({}, {}, {})


def test_the_schema_is_one() -> None:
    Draft202012Validator.check_schema(SCHEMA)


def test_every_object_of_the_schema_is_closed_and_described() -> None:
    objects = {"answer": SCHEMA, **SCHEMA["$defs"]}

    for name, one in objects.items():
        if one.get("type") == "object":
            assert one["additionalProperties"] is False, name
            assert set(one["required"]) <= set(one["properties"]), name


def test_the_reasons_of_the_schema_are_those_of_the_program() -> None:
    assert SCHEMA["$defs"]["Reason"]["enum"] == sorted(Reason)
    assert SCHEMA["$defs"]["AbstentionReason"]["properties"]["code"] == {"$ref": "#/$defs/Reason"}


@pytest.mark.parametrize("profile", ["general", "agriculture", "governance"])
def test_an_answer_is_valid_under_every_profile(asked: Asked, profile: str) -> None:
    result = asked("How high may a fence be, which must not exceed feet?", profile=profile)

    assert result["abstained"] is False
    VALIDATOR.validate(result)


@pytest.mark.parametrize("profile", ["general", "agriculture", "governance"])
def test_an_abstention_is_valid_under_every_profile(asked: Asked, profile: str) -> None:
    result = asked("What did Ivan Smith build in 1994?", profile=profile, overrides=NO_FLAGS)

    assert result["abstained"] is True
    VALIDATOR.validate(result)


def test_an_abstention_with_nothing_near_is_valid(asked: Asked) -> None:
    result = asked('{"question": "How high?", "doc_scope": ["none.md"]}', overrides=NO_FLAGS)

    assert (result["reason"]["code"], result["nearest"]) == ("no_results", [])
    VALIDATOR.validate(result)


@pytest.mark.parametrize(
    ("question", "lead"),
    [("cedar wood", "Allowed materials of fences:"), ("Cedar fence brown", "Material | Colour")],
)
def test_a_sentence_with_a_lead_is_valid(asked: Asked, question: str, lead: str) -> None:
    result = asked(question)

    assert lead in next(one["lead"]["text"] for one in result["answer_sentences"] if one["lead"])
    VALIDATOR.validate(result)


def test_a_superseded_citation_with_its_companion_is_valid(asked: Asked) -> None:
    result = asked("A fence must not exceed five feet", profile="governance")
    first, second = (one for one in result["answer_sentences"] if one["section"] == ["Height"])

    assert first["superseded_by"] == [{"section": "Height", "by": "amendment.md"}]
    assert first["authority"] == "binding"
    assert second["companion_of"] == f"fences.md:{first['start']}-{first['end']}"
    VALIDATOR.validate(result)


def changed(result: dict[str, Any], path: str, value: object) -> dict[str, Any]:
    """A copy of a result with one value changed; `...` takes it away."""
    copied = copy.deepcopy(result)
    *above, last = path.split(".")
    at: Any = copied
    for step in above:
        at = at[int(step) if step.isdigit() else step]
    if value is ...:
        del at[last]
    else:
        at[last] = value
    return copied


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("question_id", 7),
        ("question", ...),
        ("abstained", True),
        ("answer_sentences", []),
        ("final_answer", ""),
        ("confidence", 1.2),
        ("confidence", None),
        ("reason", {"code": "low_confidence", "detail": "No."}),
        ("offset_unit", "byte"),
        ("took_ms", 12),
        ("run_notes.index", ...),
        ("run_notes.retriever", "magic"),
        ("run_notes.scores.best", 1),
        ("answer_sentences.0.text", ""),
        ("answer_sentences.0.start", -1),
        ("answer_sentences.0.start", "0"),
        ("answer_sentences.0.doc_sha256", "abc"),
        ("answer_sentences.0.kind", "front_matter"),
        ("answer_sentences.0.tags", {"crop": ["canola"]}),
        ("answer_sentences.0.lead", {"text": "a"}),
        ("answer_sentences.0.authority", ...),
        ("answer_sentences.0.effective_date", "June 2009"),
        ("answer_sentences.0.superseded_by", []),
        ("answer_sentences.0.colour", "red"),
        ("answer_sentences.0.why", "It does not mention rye."),
        ("unsupported_parts", None),
        ("unsupported_parts", [3]),
        ("missing", ["rye"]),
        ("missing", ...),
    ],
)
def test_a_result_that_breaks_the_contract_is_invalid(asked: Asked, path: str, value: object) -> None:
    result = asked("A fence must not exceed five feet", profile="governance")

    with pytest.raises(ValidationError):
        VALIDATOR.validate(changed(result, path, value))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("abstained", False),
        ("final_answer", "Six."),
        ("reason", None),
        ("reason.code", "bored"),
        ("reason.detail", ""),
        ("nearest.0.why", ...),
        ("nearest.0.why", ""),
        ("missing", [""]),
    ],
)
def test_an_abstention_that_contradicts_itself_is_invalid(asked: Asked, path: str, value: object) -> None:
    result = asked("What did Ivan Smith build in 1994?", overrides=NO_FLAGS)

    with pytest.raises(ValidationError):
        VALIDATOR.validate(changed(result, path, value))


def test_the_published_files_are_what_the_types_say() -> None:
    folder = Path(str(files("quoth.output").joinpath("schemas")))

    assert {path.name: path.read_text(encoding="utf-8") for path in folder.iterdir()} == published_schemas()
