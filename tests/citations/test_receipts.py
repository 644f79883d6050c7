"""Receipts hold for the documents they were made of, and no single character of either can be changed unnoticed."""

from __future__ import annotations

import copy
import functools
import json
import operator
import random
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from quoth import Filters, Quoth, QuothError
from quoth.citations import verify_receipt
from quoth.citations.verify_receipt import (
    MOST_BYTES,
    Found,
    ReceiptFault,
    canonical,
    check_quote,
    check_receipt,
    digest_of,
    mismatch,
    one_file,
    parse_receipt,
    read_receipts,
    report,
)
from quoth.errors import IndexMismatch, OffsetMismatch
from quoth.output.render import outcome_json

from .conftest import AGRICULTURE, DAY, FAKE_MODEL, PROGRAM, Receipts

DOCS = Path(__file__).resolve().parents[2] / "docs" / "receipts.md"
Change = Callable[[dict[str, Any]], object]


def _other(character: str) -> str:
    return "y" if character == "x" else "x"


def _changed(text: str, at: int) -> str:
    return text[:at] + _other(text[at]) + text[at + 1 :]


def _compared(quote: dict[str, Any], text: str) -> bool | None:
    return check_quote(quote, lambda _: Found(text, None)).holds


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:  # noqa: ANN401 - any JSON
    if isinstance(value, dict | list):
        for name, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _leaves(item, (*path, name))
    else:
        yield path


def _other_value(value: Any, choose: random.Random) -> Any:  # noqa: ANN401 - any JSON
    match value:
        case bool():
            return not value
        case int() | float():
            return value + choose.choice([-1, 1])
        case str() if value:
            return _changed(value, choose.randrange(len(value)))
    return "x"


def test_more_than_a_thousand_receipts_hold_as_they_were_made(receipts: Receipts) -> None:
    assert len(receipts.made) > 1000
    for receipt in receipts.made:
        (quote,) = receipt["quotes"]
        text = receipts.texts[quote["document"]["doc_id"]]

        assert parse_receipt(json.dumps(receipt)) == receipt
        assert quote["quote"] == text[quote["start"] : quote["end"]]
        assert check_quote(quote, lambda cited: Found(receipts.texts[cited["doc_id"]], cited["source_sha256"])).holds


def test_every_change_of_a_quoted_character_or_its_context_is_found(receipts: Receipts) -> None:
    tried = 0
    for receipt in receipts.made:
        (quote,) = receipt["quotes"]
        text, lead = receipts.texts[quote["document"]["doc_id"]], quote["lead"] or {"start": 0, "end": 0}
        around = range(quote["start"] - len(quote["before"]), quote["end"] + len(quote["after"]))
        for at in {*around, *range(lead["start"], lead["end"])}:
            assert mismatch(quote, _changed(text, at)), (quote, at)  # whatever the hashes say
            tried += 1

    assert tried > 100_000


def test_a_change_anywhere_else_in_the_text_is_found_by_its_hash(receipts: Receipts) -> None:
    choose = random.Random(1)  # noqa: S311 - a choice of changes, not a secret
    for receipt in receipts.made:
        (quote,) = receipt["quotes"]
        text = receipts.texts[quote["document"]["doc_id"]]
        at = choose.randrange(len(text))
        for changed in (_changed(text, at), text[:at] + text[at + 1 :], text[:at] + "x" + text[at:]):
            assert _compared(quote, changed) is False


def test_every_change_of_a_value_in_a_receipt_is_found(receipts: Receipts) -> None:
    choose = random.Random(2)  # noqa: S311 - a choice of changes, not a secret
    tried = 0
    for receipt in receipts.made:
        for *place, name in list(_leaves(receipt)):
            holder: Any = functools.reduce(operator.getitem, place, receipt)
            value = holder[name]
            holder[name] = _other_value(value, choose)
            with pytest.raises(ReceiptFault):
                check_receipt(receipt)
            holder[name] = value
            tried += 1
        check_receipt(receipt)

    assert tried > 25_000


def test_a_changed_quote_with_a_new_digest_is_found_in_the_text(receipts: Receipts) -> None:
    choose = random.Random(3)  # noqa: S311 - a choice of changes, not a secret
    for receipt in receipts.made:
        changed = copy.deepcopy(receipt)
        (quote,) = changed["quotes"]
        quote["quote"] = _changed(quote["quote"], choose.randrange(len(quote["quote"])))
        changed["digest"] = digest_of(changed)
        parse_receipt(json.dumps(changed))
        text = receipts.texts[quote["document"]["doc_id"]]

        assert _compared(quote, text) is False


def test_an_abstention_says_what_was_searched(receipts: Receipts) -> None:
    quoth = Quoth.open(receipts.quoth.location, settings=FAKE_MODEL)
    declined = outcome_json(quoth.ask("Who won the chess match in Oslo?", filters=Filters(doc_ids="soy/guide.md")))
    receipt = parse_receipt(json.dumps(quoth.receipt(declined, day=None, program=PROGRAM)))

    assert declined["abstained"]
    assert receipt["decision"]["reason"] == declined["reason"]
    assert receipt["searched"] == {
        "documents": len(receipts.texts),
        "sentences": quoth.info.sentences,
        "filters": {"doc_id": ["soy/guide.md"]},
        "degraded": ["evidence"],  # the stand-in for a model has no tokens to compare
    }
    assert receipt["made"]["index"] == quoth.info.digest
    assert [quote["why"] for quote in receipt["quotes"]] == [near["why"] for near in declined["nearest"]]
    assert {quote["kind"] for quote in receipt["quotes"]} <= {"nearest"}


def test_a_result_of_another_index_or_of_other_settings_is_refused(receipts: Receipts) -> None:
    quoth = receipts.quoth
    result = outcome_json(quoth.ask("How deep should soybeans be planted?"))
    notes = result["run_notes"]
    for name, message in (("index", "from the index 0"), ("settings", "under other settings")):
        with pytest.raises(IndexMismatch, match=message):
            quoth.receipt({**result, "run_notes": {**notes, name: "0"}}, day=DAY, program=PROGRAM)


@pytest.mark.parametrize("change", [{"text": "Not in the document."}, {"start": 5}, {"start": 9, "end": 3}])
def test_a_result_that_was_changed_gets_no_receipt(receipts: Receipts, change: dict[str, Any]) -> None:
    result = outcome_json(receipts.quoth.ask("How deep should soybeans be planted?"))
    result["answer_sentences"][0] |= change

    with pytest.raises(OffsetMismatch):
        receipts.quoth.receipt(result, day=DAY, program=PROGRAM)


@pytest.mark.parametrize("other", [{"question_id": 1}, {"\ud800": "half of a character"}])
def test_what_is_no_result_gets_no_receipt(receipts: Receipts, other: dict[str, Any]) -> None:
    result = outcome_json(receipts.quoth.ask("How deep should soybeans be planted?"))

    with pytest.raises(QuothError, match="no result"):
        receipts.quoth.receipt(result | other, day=DAY, program=PROGRAM)


def _sealed(receipt: dict[str, Any], change: Change) -> str:
    """Return a receipt that was changed by someone who can make digests."""
    changed = copy.deepcopy(receipt)
    change(changed)
    return json.dumps({**changed, "digest": digest_of(changed)}, ensure_ascii=False)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        (lambda it: it.update(receipt=2), "no receipt of version 1 but 2"),
        (lambda it: it.update(receipt=True), "no receipt of version 1"),
        (lambda it: it.pop("made"), "has no field 'made'"),
        (lambda it: it.update(more=1), "has an unknown field 'more'"),
        (lambda it: it["question"].update(text=None), r"question\.text is no text: None"),
        (lambda it: it["decision"].update(confidence="0.9"), r"confidence is no number"),
        (lambda it: it["decision"].update(calibrated=0), r"calibrated is no boolean"),
        (lambda it: it["made"].update(day="today"), r"made\.day is no day"),
        (lambda it: it.update(quotes={}), r"quotes is no list"),
        (lambda it: it["quotes"].append(1), r"quotes\[1\] is no object"),
        (lambda it: it["quotes"][0].update(start=-1), r"start is no count"),
        (lambda it: it["quotes"][0].update(start=1.5), r"start is no count"),
        (lambda it: it["quotes"][0].update(start=it["quotes"][0]["end"]), "do not fit their quote"),
        (lambda it: it["quotes"][0].update(end=it["quotes"][0]["end"] + 1), "do not fit their quote"),
        (lambda it: it["quotes"][0]["document"].update(text_sha256="0"), "text_sha256 is no sha256"),
    ],
)
def test_a_receipt_of_the_wrong_form_is_refused_in_words(receipts: Receipts, change: Change, why: str) -> None:
    with pytest.raises(ReceiptFault, match=why):
        parse_receipt(_sealed(receipts.made[0], change))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "not JSON"),
        ("[]", "no receipt"),
        ("null", "no receipt"),
        ('{"receipt": 1, "receipt": 1}', "the field 'receipt' twice"),
        ('{"receipt": NaN}', "the number 'NaN'"),
        ('{"receipt": -Infinity}', "the number '-Infinity'"),
        ('{"receipt": 1e400}', "the number '1e400'"),
        ('{"receipt": 1.0}', r"the number '1\.0'"),
        ('{"receipt": 0.50}', r"the number '0\.50'"),
        ('{"receipt": 1e2}', "the number '1e2'"),
        ('{"receipt": -0}', "the number '-0'"),
        (f'{{"receipt": {"9" * 5000}}}', "the number '9999"),
        ("[" * 200_000, "nested too deeply"),
        ('{"receipt": 1', "not JSON"),
    ],
)
def test_what_is_no_receipt_is_refused_in_words(text: str, why: str) -> None:
    with pytest.raises(ReceiptFault, match=why):
        parse_receipt(text)


def test_half_a_character_is_refused(receipts: Receipts) -> None:
    text = json.dumps(receipts.made[0]).replace("How deep", "How \\ud800deep")

    with pytest.raises(ReceiptFault, match="lone surrogate"):
        parse_receipt(text)


def test_a_file_that_cannot_hold_receipts_is_refused() -> None:
    with pytest.raises(ReceiptFault, match="50 MB"):
        read_receipts(bytes(MOST_BYTES + 1))
    with pytest.raises(ReceiptFault, match="UTF-8: see byte 3"):
        read_receipts(b'{" \xff')


def test_one_bad_line_does_not_hide_the_others(receipts: Receipts) -> None:
    lines = "\n".join([json.dumps(receipts.made[0]), "{}", json.dumps(receipts.made[1])])
    first, fault, last = read_receipts(lines.encode())

    assert (first, last) == (receipts.made[0], receipts.made[1])
    assert isinstance(fault, ReceiptFault)


def test_an_indented_receipt_is_read(receipts: Receipts) -> None:
    assert read_receipts(json.dumps(receipts.made[0], indent=2).encode()) == [receipts.made[0]]


def _alone(*arguments: str | Path) -> tuple[int, str]:
    program = Path(str(verify_receipt.__file__))
    done = subprocess.run([sys.executable, "-I", program, *arguments], capture_output=True, check=False)
    assert b"Traceback" not in done.stderr
    return done.returncode, (done.stdout + done.stderr).decode()


def test_the_file_checks_receipts_alone(receipts: Receipts, tmp_path: Path) -> None:
    own = next(it for it in receipts.made if it["quotes"][0]["document"]["doc_id"] == "soy/guide.md")
    other = next(it for it in receipts.made if it["quotes"][0]["document"]["doc_id"] != "soy/guide.md")
    given, changed = tmp_path / "receipts.jsonl", tmp_path / "changed.md"
    given.write_text(f"{json.dumps(own)}\n{json.dumps(other)}\n", encoding="utf-8")
    guide = (AGRICULTURE / "soy/guide.md").read_bytes()
    at = own["quotes"][0]["start"]
    changed.write_bytes(guide[:at] + b"~" + guide[at + 1 :])

    for option in ("--text", "--source"):
        code, said = _alone(given, option, AGRICULTURE / "soy/guide.md")
        assert code == 0, said
        assert "ok        soy/guide.md" in said
        assert "another document" in said
        assert "1 ok, 0 FAILED, 1 unchecked of 2 quotes" in said
        code, said = _alone(given, option, changed, "--doc", "soy/guide.md")
        assert (code, "FAILED    soy/guide.md" in said) == (1, True)
        code, said = _alone(given, option, changed)
        assert (code, "none of the 2 documents" in said) == (1, True)
    assert _alone(given, "--text", tmp_path / "missing.md")[0] == 2
    assert _alone(given)[0] == 2


def test_a_receipt_cannot_forge_a_line(receipts: Receipts) -> None:
    def forge(receipt: dict[str, Any]) -> None:
        for name in ("format", "doc_id"):
            receipt["quotes"][0]["document"][name] = "pdf\n  ok        other.pdf[0:9]\x1b[8m"

    made = parse_receipt(_sealed(receipts.made[0], forge))
    file = Found("", made["quotes"][0]["document"]["source_sha256"])
    lines, holds = report([made], one_file([made], file, doc_id=None, formats={"text"}))

    assert holds is False
    assert any("its text was extracted from 'pdf" in line for line in lines)
    assert all(line.isprintable() for line in lines)


def test_only_the_standard_library_is_imported_and_it_is_short() -> None:
    source = Path(str(verify_receipt.__file__)).read_text(encoding="utf-8")
    imported = {name.partition(".")[0] for name in re.findall(r"^(?:import|from) ([\w.]+)", source, re.MULTILINE)}

    assert imported <= sys.stdlib_module_names
    assert len(source.splitlines()) < 300


def test_the_vectors_in_the_documentation_are_those_of_the_code() -> None:
    page = DOCS.read_text(encoding="utf-8").partition("## Test vectors")[2]
    blocks = re.findall(r"^```(?:json|text)\n([^\n]*)\n```$", page, re.MULTILINE)
    pairs = list(zip(blocks[::2], blocks[1::2], strict=True))

    assert len(pairs) == 2
    for line, form in pairs:
        receipt = parse_receipt(line)
        assert canonical(receipt).decode("utf-8") == form
        assert receipt["digest"] in page
