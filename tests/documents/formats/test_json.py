"""JSON and JSONL: short values of an object make a row, long ones paragraphs, lists of objects tables."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quoth.documents.formats.json import json_blocks
from quoth.documents.formats.json.json_document import extract
from quoth.documents.formats.json.json_fields import JsonFields
from quoth.errors import UnreadableFile
from quoth.types import Extract
from quoth.types import RegionKind as Kind

from .docx_files import regions

LONG = "Sow the barley at 3 cm when the soil is warm. " * 4


def read(value: Any, text: str = "", title: str = "title") -> Extract:  # noqa: ANN401 - JSON holds anything
    data = value if isinstance(value, bytes) else json.dumps(value).encode()
    return extract(data, JsonFields.parsed(text, title))


def said(value: Any, text: str = "", title: str = "title") -> list[tuple[Kind, str]]:  # noqa: ANN401
    return regions(read(value, text, title))


def texts(value: Any, text: str = "", title: str = "title") -> list[str]:  # noqa: ANN401
    return [words for _, words in said(value, text, title)]


def test_short_values_of_an_object_make_one_row() -> None:
    value = {"crop": "barley", "depth": 3.50, "deep": False, "none": None, "tags": ["spring", "malt"], "empty": {}}

    assert said(value) == [(Kind.TABLE_ROW, "crop: barley | depth: 3.5 | deep: false | tags: spring, malt")]


def test_numbers_are_quoted_as_they_are_written() -> None:
    assert texts(b'{"a": 3.50, "b": 1e5, "c": 12345678901234567890123, "d": NaN}') == [
        "a: 3.50 | b: 1e5 | c: 12345678901234567890123 | d: NaN"
    ]


def test_a_long_string_is_a_paragraph_under_its_key() -> None:
    extracted = read({"id": 7, "advice": {"text": f"{LONG}\n\nRoll."}})

    assert regions(extracted) == [
        (Kind.TABLE_ROW, "id: 7"),
        (Kind.HEADING, "advice"),
        (Kind.HEADING, "text"),
        (Kind.PARAGRAPH, LONG.strip()),
        (Kind.PARAGRAPH, "Roll."),
    ]
    assert (extracted.regions or ())[-1].section == ("advice", "text")


def test_a_row_below_a_key_is_led_by_it() -> None:
    extracted = read({"barley": {"depth": "3 cm"}})
    heading, row = extracted.regions or ()

    assert (row.kind, row.lead) == (Kind.TABLE_ROW, heading.span)


def test_a_list_of_flat_objects_is_a_table() -> None:
    crops = [{"crop": "barley", "depth": 3}, {"crop": "rye", "note": "late"}, {"depth": 4, "crop": "oats"}]
    extracted = read({"crops": crops})
    found = extracted.regions or ()

    assert regions(extracted) == [
        (Kind.HEADING, "crops"),
        (Kind.TABLE_HEADER, "crop | depth | note"),
        (Kind.TABLE_ROW, "barley | 3"),
        (Kind.TABLE_ROW, "rye |  | late"),
        (Kind.TABLE_ROW, "oats | 4"),
    ]
    assert found[2].lead == found[1].span
    assert texts([["a", 1], ["b", 2]]) == ["a | 1", "b | 2"]


def test_other_lists_are_items_or_numbered_sections() -> None:
    assert said({"steps": [LONG, "Roll."]})[1:] == [(Kind.LIST_ITEM, LONG.strip()), (Kind.LIST_ITEM, "Roll.")]
    assert texts({"plots": [{"soil": {"ph": 6}}, {"title": "South", "soil": {"ph": 7}}]}) == [
        *("plots", "plots[0]", "soil", "ph: 6", "South", "title: South", "soil", "ph: 7")
    ]


def test_long_lists_of_numbers_are_left_out_and_named() -> None:
    extracted = read({"name": "field", "line": [[n, n] for n in range(20)]})

    assert extracted.text == "name: field"
    assert extracted.notes == ("Long lists of numbers are not read: line.",)


def test_a_line_of_jsonl_is_a_section_under_its_title_or_number() -> None:
    extracted = read(b'{"title": "Rye", "depth": 2}\n\n{"depth": 4}\r\n')

    assert extracted.text.split("\n\n") == ["Rye", "title: Rye | depth: 2", "line 3", "depth: 4"]
    assert [region.section for region in extracted.regions or ()][1::2] == [("Rye",), ("line 3",)]
    assert (extracted.regions or ())[3].lead is None
    assert extracted.properties == {}


def test_mapped_fields_alone_are_read_below_their_titles() -> None:
    record = {
        "headline": "Rye",
        "body": "Sow it. Roll it.",
        "id": 7,
        "notes": [{"text": "Late."}, {"text": ["a", "b"]}],
    }

    assert said(record, "body, notes.text", "headline") == [
        (Kind.HEADING, "Rye"),
        (Kind.PARAGRAPH, "Sow it. Roll it."),
        (Kind.PARAGRAPH, "Late."),
        (Kind.PARAGRAPH, "a"),
        (Kind.PARAGRAPH, "b"),
    ]
    assert texts({"items": [{"t": "A", "x": "one"}, {"t": "B", "x": "two"}]}, "items.x", "items.t") == [
        *("A", "one", "B", "two")
    ]


def test_a_mapped_object_states_its_metadata() -> None:
    record = {"title": "Rye", "body": "x", "language": "en", "document_type": "memo", "effective_date": "2024-03-05"}

    assert read(record, "body").properties == {**{key: record[key] for key in record if key != "body"}}
    assert read({**record, "effective_date": "soon"}, "body").properties.get("effective_date") is None
    assert read(record).properties == {"title": "Rye"}


def test_a_file_without_the_mapped_fields_is_read_whole() -> None:
    extracted = read({"crop": "rye"}, "body")

    assert extracted.text == "crop: rye"
    assert extracted.notes == ("It has no field body; all its fields were read.",)


def test_what_no_text_can_hold_is_marked() -> None:
    assert texts(b'{"a": "x\\u0000y", "b": "\\ud800", "c": "\\ud83c\\udf3d"}') == ["a: x\ufffdy | b: \ufffd | c: 🌽"]


def test_encodings_are_read() -> None:
    assert texts("\ufeff".encode() + b'{"a": 1}') == ["a: 1"]
    assert texts('{"größe": 1}'.encode("utf-16")) == ["größe: 1"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"{", "it is not JSON: Expecting property name enclosed in double quotes in line 1"),
        (b'{"a": 1}\n{"a"', "its line 2 is not JSON"),
        (b'{"a": "\x00"}', "NUL"),
        (b"[" * 100_000, "nested too deeply"),
        (b"\x89PNG\r\n\x1a\n", "it is not JSON"),
    ],
)
def test_what_is_no_json_is_refused(data: bytes, why: str) -> None:
    with pytest.raises(UnreadableFile, match=why) as refused:
        read(data)
    assert refused.value.hint


def test_too_many_values_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_blocks, "MOST_BLOCKS", 10)

    with pytest.raises(UnreadableFile, match="more than 10 values"):
        read({f"key {n}": {"a": n} for n in range(20)})


def test_nothing_says_nothing() -> None:
    assert [read(data).text for data in (b"", b"\n", b"{}", b"[]", b"null", b'""', b'{"a": [[], {}]}')] == [""] * 7


_values = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=8), st.just(LONG)),
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(st.text(max_size=4), inner, max_size=4)),
    max_leaves=25,
)


@given(_values, st.sampled_from(["", "a", "a.b", ".", ","]))
def test_any_value_gives_a_whole_text(value: object, text: str) -> None:
    extracted = read(value, text)
    covered = {place for region in extracted.regions or () for place in range(region.span.start, region.span.end)}

    assert all(extracted.text[place].isspace() for place in set(range(len(extracted.text))) - covered)
    assert "\x00" not in extracted.text
