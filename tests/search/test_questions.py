"""Questions from text or JSONL; a line that cannot be read is named and the others go on."""

from __future__ import annotations

import pytest

from quoth.search.question_files import UnreadableLine, read_questions
from quoth.types import NO_FILTERS, Filters, Question


def read(*lines: str) -> list[Question | UnreadableLine]:
    return list(read_questions(lines))


def only(line: str) -> Question:
    (one,) = read(line)
    assert isinstance(one, Question)
    return one


def why(line: str) -> str:
    (one,) = read(line)
    assert isinstance(one, UnreadableLine)
    return one.why


def test_plain_text_holds_one_question_a_line_numbered_by_line() -> None:
    assert read("How deep?\n", "\n", "  How wide?\r\n") == [
        Question("1", "How deep?", NO_FILTERS),
        Question("3", "How wide?", NO_FILTERS),
    ]


def test_the_first_line_with_text_tells_the_format() -> None:
    assert read("", '{"question": "How deep?"}') == [Question("2", "How deep?", NO_FILTERS)]
    assert read("How deep?", '{"question": "How wide?"}')[1] == Question("2", '{"question": "How wide?"}', NO_FILTERS)


@pytest.mark.parametrize("line", ["\ufeffHow deep?", "\ufeff  How deep?", '\ufeff {"question": "How deep?"}'])
def test_a_byte_order_mark_is_no_part_of_a_question(line: str) -> None:
    assert only(line).text == "How deep?"


def test_a_file_without_questions_gives_none() -> None:
    assert read() == read("", "\n", "  ") == []


@pytest.mark.parametrize(
    ("line", "question_id"),
    [
        ('{"id": "q7", "question": "x"}', "q7"),
        ('{"id": 7, "question": "x"}', "7"),
        ('{"id": 0, "question": "x"}', "0"),
        ('{"id": null, "question": "x"}', "1"),
        ('{"question": "x"}', "1"),
    ],
)
def test_the_id_is_the_given_one_or_the_number_of_the_line(line: str, question_id: str) -> None:
    assert only(line).id == question_id


def test_the_text_of_a_question_is_kept_as_it_is() -> None:
    assert only('{"question": "  What\\u2019s \\ud83c\\udf3e??  "}').text == "  What’s 🌾??  "


@pytest.mark.parametrize(
    ("more", "filters"),
    [
        ('"doc_scope": ["a.md", "b.md"]', Filters(("a.md", "b.md"), {}, (), None, None)),
        ('"doc_scope": "a.md"', Filters(("a.md",), {}, (), None, None)),
        ('"doc_scope": null', NO_FILTERS),
        ('"filters": {"doc_id": "a.md"}', Filters(("a.md",), {}, (), None, None)),
        ('"filters": {"crop": "canola"}', Filters((), {"crop": ("canola",)}, (), None, None)),
        ('"filters": {"tags": {"crop": ["corn", "rye"]}}', Filters((), {"crop": ("corn", "rye")}, (), None, None)),
        ('"filters": {"as_of": "2022-04-01"}', Filters((), {}, (), None, "2022-04-01")),
        ('"filters": {"regions": "references"}', Filters(regions="references")),
        ('"filters": {"regions": ["masthead", "back_matter"]}', Filters(regions=["masthead", "back_matter"])),
        ('"filters": {"document_type": ["ccr"], "is_binding": true}', Filters((), {}, ("ccr",), True, None)),
        ('"filters": {"is_binding": false}', Filters((), {}, (), False, None)),
        ('"filters": {}', NO_FILTERS),
        ('"filters": null', NO_FILTERS),
        ('"answerable": true, "gold": []', NO_FILTERS),
    ],
)
def test_a_scope_and_filters_are_read(more: str, filters: Filters) -> None:
    assert only(f'{{"question": "x", {more}}}').filters == filters


def test_the_questions_before_are_read() -> None:
    assert only('{"question": "why?", "previous": ["May I?", "how?"]}').previous == ("May I?", "how?")
    assert only('{"question": "why?", "previous": "May I?"}').previous == ("May I?",)
    assert only('{"question": "why?"}').previous == ()


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "it is not JSON: Expecting property name enclosed in double quotes at column 2"),
        ('{"question": "x"', "it is not JSON"),
        ("{}", 'it has no "question" text'),
        ('{"question": 3}', 'it has no "question" text'),
        ('{"question": null}', 'it has no "question" text'),
        ('{"question": ' + "1" * 5000 + "}", "it holds a number that is too long"),
        ('{"a": ' + "[" * 200_000, "it is nested too deeply"),
        ('{"question": "x", "filters": 3}', '"filters" must be an object'),
        ('{"question": "x", "filters": {"tags": ["a"]}}', '"filters.tags" must be an object'),
        ('{"question": "x", "filters": {"is_binding": "yes"}}', '"filters.is_binding" must be true or false'),
        ('{"question": "x", "filters": {"crop": 3}}', '"filters.crop" must be a text or a list of texts'),
        ('{"question": "x", "doc_scope": [3]}', '"doc_scope" must be a text or a list of texts'),
        ('{"question": "x", "previous": [3]}', '"previous" must be a text or a list of texts'),
        ('{"question": "x", "doc_scope": {"a": 1}}', '"doc_scope" must be a text or a list of texts'),
    ],
)  # fmt: skip
def test_a_line_that_cannot_be_read_says_why(line: str, message: str) -> None:
    assert why(line).startswith(message)


def test_an_unreadable_line_has_its_number_and_the_others_go_on() -> None:
    found = read('{"question": "a"}', "how deep?", "[1]", '{"question": "b"}')

    assert [one.number if isinstance(one, UnreadableLine) else one.text for one in found] == ["a", 2, 3, "b"]
