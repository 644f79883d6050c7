from __future__ import annotations

import io
from itertools import pairwise
from pathlib import Path

import pytest

from quoth.cli import terminal
from quoth.library import Quoth
from quoth.output.render import outcome_json

from .command_line import failed, run, write_files
from .small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus

FIRST_NINE = [
    "question_id",
    "question",
    "abstained",
    "answer_sentences",
    "final_answer",
    "confidence",
    "reason",
    "nearest",
    "run_notes",
]


def test_an_answer_shows_the_sentence_its_place_and_the_confidence(small: SmallCorpus) -> None:
    ran = run("ask", CANOLA, "--index", small.index)

    assert (ran.code, ran.talk) == (0, "")
    assert ran.lines[0].strip() == CANOLA
    assert ran.lines[1].strip() == "[1] Canola"
    assert "confidence " in ran.text


def test_the_file_the_offsets_and_the_tags_are_shown_if_asked_for(small: SmallCorpus) -> None:
    start = small.source("canola.md").index(CANOLA)
    place = f"[1] Canola · canola.md[{start}:{start + len(CANOLA)}] · crop canola"

    assert place in run("ask", CANOLA, "--index", small.index, "--offsets").text
    assert place in run("ask", CANOLA, "--index", small.index, "--why").text


def test_the_words_that_answer_are_bold_on_a_terminal_and_offsets_in_the_json(
    small: SmallCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    quoth = Quoth.open(small.index, settings={"embedding.model_name": "hash"})
    outcome = quoth.ask("How deep should canola be sown?")
    console = terminal.OutputConsole(file=io.StringIO(), force_terminal=True, width=100, highlight=False)
    monkeypatch.setattr(terminal, "OUT", console)
    with console.capture() as shown:
        terminal.print_outcome(outcome)

    cited, *_ = outcome_json(outcome)["answer_sentences"]
    (words,) = [small.source(cited["doc_id"])[start:end] for start, end in cited["highlights"]]
    assert words.startswith("2.5 cm")
    assert shown.get().startswith(f"    Sow canola at \x1b[1m{words}\x1b[0m")


def test_an_abstention_exits_with_0_and_shows_what_came_nearest(small: SmallCorpus) -> None:
    ran = run("ask", HALVORSEN, "--index", small.index)

    assert (ran.code, ran.talk) == (0, "")
    assert ran.text.startswith("May be relevant. 'Halvorsen' is not mentioned in the corpus.")
    assert "unknown_entity, confidence " in ran.lines[-1]


def test_what_the_nearest_lack_is_said_once(small: SmallCorpus) -> None:
    ran = run("ask", HALVORSEN, "--index", small.index)
    result = run("ask", HALVORSEN, "--index", small.index, "--json").object

    assert "does not mention Halvorsen" not in ran.text
    assert result["nearest"][0]["why"] == "It does not mention Halvorsen."


def test_no_line_ends_with_spaces_or_is_blank_twice(small: SmallCorpus) -> None:
    for question in (CANOLA, HALVORSEN):
        lines = run("ask", question, "--index", small.index).text.split("\n")

        assert lines == [line.rstrip() for line in lines]
        assert ("", "") not in list(pairwise(lines[:-1]))


def test_where_nothing_is_relevant_only_the_nearest_is_shown(small: SmallCorpus) -> None:
    ran = run("ask", "Who directed the telescope at Neptune?", "--index", small.index)

    assert ran.text.startswith("No answer. ")
    assert "[1]" in ran.text
    assert "[2]" not in ran.text


def test_an_answer_to_only_some_parts_says_so_first(small: SmallCorpus) -> None:
    question = "Compare the sowing of canola and dandelions"
    ran = run("ask", question, "--index", small.index, "--set", "decision.abstain_score_thresh=0.1")
    traced = run("ask", question, "--index", small.index, "--set", "decision.abstain_score_thresh=0.1", "--why")

    assert ran.lines[0].startswith("Only a part of the question is answered. No evidence for: dandelions.")
    assert "part      canola: " in traced.text
    assert "part      dandelions: " in traced.text


def test_the_json_of_an_answer_cites_exact_slices(small: SmallCorpus) -> None:
    ran = run("ask", CANOLA, "--index", small.index, "--json")
    result = ran.object

    assert list(result)[:9] == FIRST_NINE
    assert (result["question_id"], result["question"], result["abstained"]) == ("1", CANOLA, False)
    assert (result["reason"], result["nearest"], result["offset_unit"]) == (None, [], "codepoint")
    assert result["answer_sentences"][0]["text"] == CANOLA
    assert result["answer_sentences"][0]["tags"] == {"crop": "canola"}
    assert result["final_answer"] == "\n".join(one["text"] for one in result["answer_sentences"])
    for one in result["answer_sentences"]:
        assert small.source(one["doc_id"])[one["start"] : one["end"]] == one["text"]


def test_the_json_of_an_abstention_has_its_reason_and_no_answer(small: SmallCorpus) -> None:
    result = run("ask", HALVORSEN, "--index", small.index, "--json").object

    assert (result["abstained"], result["answer_sentences"], result["final_answer"]) == (True, [], "")
    assert set(result["reason"]) == {"code", "detail"}
    assert result["reason"]["code"] == "unknown_entity"
    assert result["run_notes"]["decision"] == ["abstained", "unknown_entity"]
    for one in result["nearest"]:
        assert small.source(one["doc_id"])[one["start"] : one["end"]] == one["text"]


def test_why_shows_every_check_and_every_score(small: SmallCorpus) -> None:
    ran = run("ask", CANOLA, "--index", small.index, "--why")

    assert ran.code == 0
    for part in ("terms", "presumes", "lexical", "dense", "check     no_results: passed"):
        assert part in ran.text


def test_why_with_json_adds_the_trace_and_changes_nothing_else(small: SmallCorpus) -> None:
    plain = run("ask", CANOLA, "--index", small.index, "--json").object
    traced = run("ask", CANOLA, "--index", small.index, "--json", "--why").object
    trace = traced.pop("trace")

    assert traced == plain
    assert trace["ranked"][0]["text"] == CANOLA
    assert trace["selected"][0]["id"] == trace["ranked"][0]["id"]
    assert {one["check"] for one in trace["checks"]} >= {"no_results", "unknown_entity", "low_confidence"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("--doc", "wheat.md"), {"wheat.md"}),
        (("--doc", "wheat.md", "--doc", "canola.md"), {"wheat.md", "canola.md"}),
        (("--tag", "crop=wheat"), {"wheat.md", "notes/windows.txt"}),
        (("--type", "guide"), {"canola.md"}),
        (("--type", "rule", "--doc", "wheat.md"), set()),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_filter_keeps_the_search_inside(small: SmallCorpus, arguments: tuple[str, ...], expected: set[str]) -> None:
    found = run("ask", "Sow wheat or canola into soil", "--index", small.index, "--why", "--json", *arguments).object

    documents = {one["id"].rsplit(":", 1)[0] for one in found["trace"]["ranked"]}
    assert documents == expected


def test_a_question_comes_from_standard_input(small: SmallCorpus) -> None:
    piped = run("ask", "-", "--index", small.index, "--json", stdin=f"{WHEAT}\n".encode())

    assert piped == run("ask", WHEAT, "--index", small.index, "--json")


@pytest.mark.parametrize("question", ["", "   ", "?!… — 。", "\N{EAR OF RICE}"], ids=ascii)
def test_a_question_without_words_is_an_error(small: SmallCorpus, question: str) -> None:
    assert failed(run("ask", question, "--index", small.index), "the question has no words", "Ask a whole question")
    assert failed(run("ask", "-", "--index", small.index, stdin=question.encode()), "the question has no words")


def test_a_question_of_100_000_characters_is_refused_unless_it_is_allowed(small: SmallCorpus) -> None:
    long = ("sow canola at 2.5 cm into moist soil, " * 2_632)[:100_000]
    ask = ("ask", "-", "--index", small.index, "--json")

    assert failed(run(*ask, stdin=long.encode()), "100,000 characters", "retrieval.max_question_characters")
    allowed = run(*ask, "--set", "retrieval.max_question_characters=100000", stdin=long.encode())
    assert allowed.code == 0
    assert allowed.object["question"] == long.strip()


def test_a_setting_limits_the_number_of_sentences(small: SmallCorpus) -> None:
    ask = ("ask", "Sow canola or wheat at cm into soil in October", "--index", small.index, "--json")

    assert len(run(*ask, "--set", "decision.abstain=false").object["answer_sentences"]) > 1
    one = run(*ask, "--set", "decision.abstain=false", "--set", "selection.max_sentences=1").object
    assert len(one["answer_sentences"]) == 1


def test_timings_are_talk(small: SmallCorpus) -> None:
    plain = run("ask", CANOLA, "--index", small.index, "--json")
    timed = run("ask", CANOLA, "--index", small.index, "--json", "--timings")

    assert timed.data == plain.data
    assert timed.talk.startswith("opened in ")


def test_the_terminal_shows_the_words_and_nothing_that_drives_it(tmp_path: Path) -> None:
    write_files(tmp_path / "odd", {"a.md": "# Head \x1b[31mred\n\nMix a:b:c and see :x: or :corn: there.\n"})
    assert run("ingest", tmp_path / "odd", "--index", tmp_path / "index").code == 0

    ran = run("ask", "Mix a:b:c and see :x: or :corn: there", "--index", tmp_path / "index")

    assert ran.lines[0].strip() == "Mix a:b:c and see :x: or :corn: there."
    assert "\x1b" not in ran.text


BROKEN = (
    "The well-known seed drill gives infor-\nmation about the depth  of every seed-\ning row, and is a well-\nknown "
    "tool.\n"
)


def test_words_that_a_line_breaks_are_joined_for_people_and_cited_exactly(tmp_path: Path) -> None:
    folder = write_files(tmp_path / "corpus", {"drill.txt": BROKEN})
    index, saved = tmp_path / "index", tmp_path / "run.jsonl"
    assert run("ingest", folder, "--index", index).code == 0
    question = "What gives information about the depth of every seeding row?"
    shown = (
        "The well-known seed drill gives information about the depth of every seeding row, and is a well-known tool."
    )

    asked = run("ask", question, "--index", index, "--set", "decision.abstain=false")
    answered = run("ask", question, "--index", index, "--set", "decision.abstain=false", "--json")
    answer = answered.object
    (quote,) = answer["answer_sentences"]
    saved.write_text(answered.text, encoding="utf-8")

    assert " ".join(asked.text.split()).startswith(shown)
    assert (quote["text"], quote["display"]) == (BROKEN.strip(), shown)
    assert answer["final_answer"] == BROKEN.strip()
    assert run("verify", saved, "--index", index).text.strip() == "1 of 1 citations are exact"
    found = run("retrieve", question, "--index", index, "--set", "context.nothing=0")
    assert shown in " ".join(found.text.split())
    assert BROKEN.strip() in run("retrieve", question, "--index", index, "--context", "--set", "context.nothing=0").text
