"""What holds for every adapter: verbatim texts, exact places, stable ids, the same metadata."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from quoth import Quoth
from quoth.adapters.cited_evidence import SHARED, CitedEvidence
from quoth.errors import MissingExtra, NoIndex, QuestionError, SettingsError
from quoth.output.render import found_json

from ..small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus
from .conftest import SETTINGS

Ask = Callable[..., list[CitedEvidence]]
FENCE = "What is the maximum height in feet of a fence in a rear yard or side yard?"


def ask_langchain(index: Any, query: str, **options: Any) -> list[CitedEvidence]:  # noqa: ANN401 - a place or an index
    from quoth.adapters.langchain import QuothRetriever

    if "tags" in options:
        options["corpus_tags"] = options.pop("tags")
    found = QuothRetriever(index=index, **options).invoke(query)
    # LangChain's documents have no score of their own, and a `source` beside the rest.
    return [
        CitedEvidence(
            str(one.id),
            one.page_content,
            one.metadata["relevance_score"],
            {name: value for name, value in one.metadata.items() if name != "source"},
        )
        for one in found
    ]


def ask_llama_index(index: Any, query: str, **options: Any) -> list[CitedEvidence]:  # noqa: ANN401 - a place or an index
    from quoth.adapters.llama_index import QuothRetriever

    found = QuothRetriever(index, **options).retrieve(query)
    return [CitedEvidence(one.node_id, one.text, round(one.get_score(), 4), one.metadata) for one in found]


def ask_haystack(index: Any, query: str, **options: Any) -> list[CitedEvidence]:  # noqa: ANN401 - a place or an index
    from quoth.adapters.haystack import QuothRetriever

    if "most" in options:
        options["top_k"] = options.pop("most")
    found = QuothRetriever(index, **options).run(query)["documents"]
    return [CitedEvidence(one.id, one.content or "", round(one.score or 0, 4), one.meta) for one in found]


ASK: dict[str, Ask] = {"langchain": ask_langchain, "llama_index": ask_llama_index, "haystack": ask_haystack}


@pytest.fixture(params=list(ASK))
def ask(request: pytest.FixtureRequest) -> Ask:
    return ASK[request.param]


@pytest.mark.parametrize("kind", ["passages", "sentences"])
@pytest.mark.parametrize("question", [CANOLA, WHEAT, "Burning straw is forbidden; Paddy is exempt."])
def test_every_text_is_the_slice_that_its_metadata_names(quoth: Quoth, ask: Ask, kind: str, question: str) -> None:
    found = ask(quoth, question, kind=kind)

    assert found
    for one in found:
        document = quoth.document(one.metadata["doc_id"])
        assert document is not None
        assert one.text == document.text[one.metadata["start"] : one.metadata["end"]]
        assert one.metadata["doc_sha256"] == document.sha256
        assert one.metadata["offset_unit"] == "codepoint"
        assert one.id == one.metadata["chunk_id"] == f"{document.id}:{one.metadata['start']}-{one.metadata['end']}"
        assert one.score == one.metadata["relevance_score"]


@pytest.mark.parametrize("kind", ["passages", "sentences"])
def test_the_three_tell_the_same(rules: Quoth, kind: str) -> None:
    first, second, third = (ask(rules, FENCE, kind=kind) for ask in ASK.values())

    assert first == second == third
    for one in first:
        assert tuple(one.metadata)[: len(SHARED)] == SHARED
        assert json.loads(json.dumps(one.metadata)) == one.metadata


def test_a_passage_has_all_that_a_retrieval_tells_of_it(rules: Quoth, ask: Ask) -> None:
    renamed = {"section_hierarchy": "section", "page_number": "page", "source": "found_by"}
    expected = [found_json(one) for one in rules.retrieve(FENCE).passages]

    for one, told in zip(ask(rules, FENCE), expected, strict=True):
        assert one.text == told.pop("content")
        assert {name: one.metadata[renamed.get(name, name)] for name in told} == told
        assert one.metadata["kind"] == "passage"
        assert one.metadata["status"] == "success"


def test_a_sentence_knows_its_authority_and_what_disagrees_with_it(rules: Quoth, ask: Ask) -> None:
    found = {one.metadata["doc_id"]: one.metadata for one in ask(rules, FENCE, kind="sentences") if "feet" in one.text}

    amendment = found["amendment-2022-fences.md"]
    assert amendment["kind"] == "sentence"
    assert (amendment["authority"], amendment["is_binding"]) == ("binding", True)
    assert (amendment["document_type"], amendment["effective_date"]) == ("amendment", "2022-04-01")
    assert amendment["document_name"] == "First Amendment to the Declaration (Fences)"
    assert any("six (6) feet" in said and "seven (7) feet" in said for said in amendment["conflicts"])
    assert 0 < amendment["confidence"] <= 1


@pytest.mark.parametrize("kind", ["passages", "sentences"])
def test_a_replaced_rule_names_its_successor(rules: Quoth, ask: Ask, kind: str) -> None:
    asked = "No fence or wall in a Rear Yard or side yard shall exceed five (5) feet in height."

    (replaced,) = [one for one in ask(rules, asked, kind=kind) if "exceed five (5) feet" in one.text]

    assert replaced.metadata["doc_id"] == "declaration-ccr.md"
    assert replaced.metadata["superseded_by"] == [{"section": "Section 7.3", "by": "amendment-2022-fences.md"}]


def test_a_search_is_kept_inside_documents_types_tags_and_days(quoth: Quoth, rules: Quoth, ask: Ask) -> None:
    def documents(index: Quoth, question: str, **options: Any) -> set[str]:  # noqa: ANN401 - as the adapters take them
        return {one.metadata["doc_id"] for one in ask(index, question, **options)}

    asked = "Sow wheat or canola into soil"
    assert documents(quoth, asked, doc_ids=["wheat.md"]) == {"wheat.md"}
    assert documents(quoth, asked, document_types="guide") == {"canola.md"}
    assert documents(quoth, asked, tags={"crop": "canola"}) == {"canola.md"}
    assert "amendment-2022-fences.md" in documents(rules, FENCE)
    assert "amendment-2022-fences.md" not in documents(rules, FENCE, as_of="2021-06-30")


def test_a_part_beside_the_text_is_asked_by_its_name(tmp_path: Path, ask: Ask) -> None:
    cited = "Lee S, Glick B (2014) Ethylene and the waterlogging of maize. FEMS Lett 251: 1-7."
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "maize.md").write_text(
        "# Maize\n\nMaize likes wet soil.\n\n## References\n\n"
        f"1. {cited}\n\n2. Das S, Vasudevan D (2006) Tulsi and its uses. Indian J Nat Prod 5: 279-283.\n",
        encoding="utf-8",
    )
    index = Quoth.build(
        tmp_path / "corpus",
        index=tmp_path / "index",
        settings=SETTINGS | {"decision.abstain": False, "context.nothing": 0},
    )

    for kind in ("passages", "sentences"):
        found = ask(index, "Which work is on ethylene and the waterlogging of maize?", kind=kind, regions="references")
        assert found[0].text == cited


def test_an_abstention_gives_no_documents(quoth: Quoth, ask: Ask) -> None:
    assert ask(quoth, HALVORSEN, kind="sentences") == []


def test_at_most_so_many_are_given(rules: Quoth, ask: Ask) -> None:
    passages = ask(rules, FENCE)
    sentences = ask(rules, FENCE, kind="sentences")

    assert [one.id for one in ask(rules, FENCE, most=1)] == [passages[0].id]
    assert len(sentences) > 1
    assert ask(rules, FENCE, kind="sentences", most=1) == sentences[:1]
    assert ask(rules, FENCE, kind="sentences", most=100) == sentences


def test_a_sentence_is_never_parted_from_the_one_that_takes_it_back(tmp_path: Path, ask: Ask) -> None:
    (tmp_path / "corpus").mkdir()
    (tmp_path / "corpus" / "sowing.md").write_text(
        "# Sowing\n\nSow canola seed at a depth of 2.5 cm. However, sow deeper in dry soil.\n", encoding="utf-8"
    )
    index = Quoth.build(tmp_path / "corpus", index=tmp_path / "index", settings=SETTINGS)

    found = ask(index, "How deep should I sow canola seed?", kind="sentences", most=1)

    assert [one.text for one in found] == ["Sow canola seed at a depth of 2.5 cm.", "However, sow deeper in dry soil."]
    assert found[1].metadata["companion_of"] == found[0].id


def test_a_place_is_opened_with_its_settings(small: SmallCorpus, quoth: Quoth, ask: Ask) -> None:
    assert ask(str(small.index), CANOLA, settings=SETTINGS) == ask(quoth, CANOLA)
    assert ask(small.index, CANOLA, settings=SETTINGS | {"context.max": 1}) == ask(quoth, CANOLA, most=1)


def test_what_is_wrong_is_an_error_with_a_hint(quoth: Quoth, tmp_path: Path, ask: Ask) -> None:
    wrong: list[tuple[type[NoIndex | QuestionError | SettingsError], object, str, dict[str, Any]]] = [
        (NoIndex, tmp_path / "none", CANOLA, {}),
        (QuestionError, quoth, "?", {}),
        (QuestionError, quoth, CANOLA, {"as_of": "May"}),
        (QuestionError, quoth, CANOLA, {"regions": "footnote"}),
        (SettingsError, quoth, CANOLA, {"settings": SETTINGS}),
        (SettingsError, quoth, CANOLA, {"most": 0}),
        (SettingsError, quoth, CANOLA, {"most": 101}),
    ]
    for kind, index, question, options in wrong:
        with pytest.raises(kind) as caught:
            ask(index, question, **options)
        assert caught.value.hint


@pytest.mark.parametrize(
    ("module", "package", "extra"),
    [
        ("langchain", "langchain_core", "langchain"),
        ("llama_index", "llama_index", "llama-index"),
        ("haystack", "haystack", "haystack"),
    ],
)
def test_a_package_that_is_not_installed_is_named(
    monkeypatch: pytest.MonkeyPatch, module: str, package: str, extra: str
) -> None:
    for name in [package, *(one for one in sys.modules if one.startswith(f"{package}."))]:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, f"quoth.adapters.{module}", raising=False)

    with pytest.raises(MissingExtra, match=extra) as caught:
        importlib.import_module(f"quoth.adapters.{module}")
    assert caught.value.hint == f"pip install 'quoth[{extra}]'"


def test_no_framework_is_imported_before_its_adapter() -> None:
    code = (
        "import sys, quoth.adapters.cited_evidence\n"
        "print([one for one in ('langchain_core', 'llama_index', 'haystack', 'pydantic') if one in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, encoding="utf-8", check=True)

    assert done.stdout == "[]\n"
