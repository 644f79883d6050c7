"""`quoth anchor` finds quotes in documents that were changed, renamed or converted, and refuses bad receipts."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from citations.receipts import quote_of, receipt_of, save
from doors.command_line import HASH, Ran, run
from quoth.citations.anchored_documents import anchor_quotes
from quoth.citations.anchoring import AnchorOutcome, QuotedPlace
from quoth.citations.saved_receipts import ReceiptQuote, RefusedReceipt, SavedReceipt, read_receipts, stale_receipts
from quoth.documents.encodings import text_sha256
from quoth.types import Span

GUIDE = "# Canola\n\nSow at 2 cm in moist soil.\n\nRoll the field after rain, and not before it.\n"
SOW, ROLL = "Sow at 2 cm in moist soil.", "Roll the field after rain, and not before it."


@pytest.fixture
def root(tmp_path: Path) -> Path:
    folder = tmp_path / "guides"
    folder.mkdir()
    (folder / "canola.md").write_text(GUIDE, encoding="utf-8")
    (folder / "wheat.md").write_text("# Wheat\n\nHarvest in July, when it is dry.\n", encoding="utf-8")
    return folder


@pytest.fixture
def receipt(tmp_path: Path, root: Path) -> Path:
    quotes = [quote_of(root, "canola.md", quote) for quote in (SOW, ROLL)]
    return save(tmp_path / "receipts" / "depth.json", receipt_of(*quotes))


def anchored(receipt: Path, root: Path) -> list[dict[str, Any]]:
    ran = run("anchor", receipt, "--root", root, "--json")
    assert ran.code == 0, ran.talk
    return ran.objects


class Texts(dict[str, str]):
    """Documents by their id."""

    def ids(self) -> Sequence[str]:
        return list(self)

    def source_sha256(self, doc_id: str) -> str:
        return text_sha256(self[doc_id])

    def text(self, doc_id: str) -> str:
        return self[doc_id]


def quoted(text: str, quote: str) -> ReceiptQuote:
    """A quote of a document `a.md`."""
    start = text.index(quote)
    end = start + len(quote)
    place = QuotedPlace(Span(start, end), quote, text[max(0, start - 32) : start], text[end : end + 32])
    return ReceiptQuote("r", 1, "?", "a.md", "0" * 64, "1" * 64, (), place)


def became(text: str, quote: str, **now: str) -> tuple[str, list[tuple[str | None, str]]]:
    """Return what became of a quote of `a.md` in documents, by name without `.md`, and where it stands."""
    (one,) = anchor_quotes([quoted(text, quote)], Texts({f"{name}.md": there for name, there in now.items()}))
    return one.anchor.outcome.value, [(place.doc_id, place.text) for place in one.anchor.places]


def outcomes(ran: list[dict[str, Any]]) -> list[str]:
    return [line["outcome"] for line in ran]


def test_unchanged_documents_hold_every_quote(receipt: Path, root: Path) -> None:
    assert outcomes(anchored(receipt, root)) == ["exact", "exact"]


def test_moved_and_changed_quotes_have_their_new_places(receipt: Path, root: Path) -> None:
    new = GUIDE.replace("# Canola\n", "# Canola\n\nRevised.\n").replace("after rain", "after heavy rain")
    (root / "canola.md").write_text(new, encoding="utf-8")
    moved, changed = anchored(receipt, root)

    assert outcomes([moved, changed]) == ["moved", "changed"]
    for line in (moved, changed):
        (place,) = line["places"]
        assert new[place["start"] : place["end"]] == place["text"]
    assert moved["places"][0]["text"] == SOW
    assert [edit for edit in changed["edits"] if edit["op"] != "equal"] == [{"op": "insert", "a": "", "b": "heavy"}]


def test_a_table_for_people_tells_the_new_place_and_the_edit(receipt: Path, root: Path) -> None:
    (root / "canola.md").write_text(GUIDE.replace("2 cm", "3 cm"), encoding="utf-8")
    ran = run("anchor", receipt, "--root", root)

    assert ran.code == 0
    assert "changed   canola.md[10:36]" in ran.text
    assert "[-2-] {+3+}" in ran.text
    assert "2 quotes: 1 exact, 1 changed" in ran.text


def test_a_renamed_document_is_found_by_its_bytes(receipt: Path, root: Path) -> None:
    (root / "canola.md").rename(root / "oilseed.md")
    lines = anchored(receipt, root)

    assert outcomes(lines) == ["moved", "moved"]
    assert [line["places"][0]["doc_id"] for line in lines] == ["oilseed.md", "oilseed.md"]


def test_a_renamed_document_with_edits_is_found_among_all(receipt: Path, root: Path) -> None:
    (root / "canola.md").unlink()
    (root / "oilseed.md").write_text("# Oilseed\n\n" + GUIDE.replace("not before it", "never before"), encoding="utf-8")

    assert outcomes(anchored(receipt, root)) == ["moved", "changed"]


def test_a_converted_document_is_found_by_its_text(receipt: Path, root: Path) -> None:
    (root / "canola.md").unlink()
    html = f"<html><body><h1>Canola</h1><p>{SOW}</p><p>{ROLL}</p></body></html>"
    (root / "canola.html").write_text(html, encoding="utf-8")
    lines = anchored(receipt, root)

    assert outcomes(lines) == ["moved", "moved"]
    assert [line["places"][0]["text"] for line in lines] == [SOW, ROLL]


def test_a_document_that_is_gone_or_ten_times_larger(receipt: Path, root: Path) -> None:
    (root / "canola.md").write_text("Another line about rain and soil.\n" * 200 + GUIDE, encoding="utf-8")
    assert outcomes(anchored(receipt, root)) == ["moved", "moved"]

    (root / "canola.md").unlink()
    assert outcomes(anchored(receipt, root)) == ["gone", "gone"]


@pytest.mark.parametrize("data", [b"\x00\x01\x02" * 100, b"%PDF-1.7 nothing"])
def test_a_document_that_cannot_be_read_is_named(receipt: Path, root: Path, data: bytes) -> None:
    (root / "canola.md").write_bytes(data)
    ran = run("anchor", receipt, "--root", root, "--json")

    assert ran.code == 1
    assert outcomes(ran.objects) == ["unreadable", "unreadable"]
    assert "canola.md" in ran.talk
    assert "Traceback" not in ran.talk


def altered(receipt: dict[str, Any], **quote: Any) -> dict[str, Any]:  # noqa: ANN401 - any JSON
    return receipt_of({**receipt["quotes"][0], **quote})


def test_bad_receipts_are_refused_by_name_and_the_others_are_anchored(tmp_path: Path, root: Path) -> None:
    good = receipt_of(quote_of(root, "canola.md", SOW))
    tampered = {**good, "question": {**good["question"], "text": "How deep, really?"}}
    bad = [
        {**good, "receipt": 2},
        tampered,
        altered(good, start=5, end=900),
        altered(good, start=-3),
        altered(good, start=2.5),
        altered(good, quote="", start=3, end=3),
        altered(good, document=None),
        altered(good, before="x" * 9),
        altered(good, after="x" * 33),
        {"answer": 42},
    ]
    folder = tmp_path / "receipts"
    save(folder / "many.jsonl", good, *bad)
    (folder / "broken.json").write_text('{"receipt": 1,', encoding="utf-8")
    (folder / "binary.json").write_bytes(b"\xff\xfe\x00")
    (folder / "deep.json").write_text("[" * 100_000, encoding="utf-8")
    ran = run("anchor", folder, "--root", root, "--json")

    assert ran.code == 1
    assert outcomes(ran.objects) == ["exact"]
    for number in range(2, len(bad) + 2):
        assert f"refused many.jsonl, receipt {number}: " in ran.talk
    for name in ("broken.json", "binary.json", "deep.json"):
        assert f"refused {name}: " in ran.talk
    assert "its digest does not fit" in ran.talk
    assert "Traceback" not in ran.talk


def test_progress_is_reported_for_every_quote(receipt: Path, root: Path) -> None:
    (saved,) = read_receipts(receipt)
    assert isinstance(saved, SavedReceipt)
    reports: list[tuple[str, int, int]] = []
    texts = Texts({"canola.md": GUIDE, "wheat.md": ""})
    anchor_quotes(saved.quotes * 50, texts, progress=lambda *report: reports.append(report))

    assert len(reports) > 100


def test_an_indented_receipt_and_windows_line_ends_are_read(tmp_path: Path, root: Path) -> None:
    good = receipt_of(quote_of(root, "canola.md", SOW))
    path = tmp_path / "one.json"
    path.write_bytes(json.dumps(good, indent=2).replace("\n", "\r\n").encode())

    assert outcomes(anchored(path, root)) == ["exact"]


def test_a_file_of_receipts_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.json"
    with path.open("wb") as file:
        file.truncate(100 * 2**20)

    assert list(read_receipts(path)) == [RefusedReceipt("large.json", "the file of receipts has more than 50 MB")]


def test_no_receipts_are_an_error_with_a_hint(tmp_path: Path, root: Path) -> None:
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "empty", tmp_path / "nowhere.json"):
        ran = run("anchor", path, "--root", root)
        assert ran.code == 1
        assert "hint: " in ran.talk


def test_a_receipt_that_never_held_says_so(tmp_path: Path, root: Path) -> None:
    quote = quote_of(root, "canola.md", SOW)
    path = save(tmp_path / "false.json", receipt_of({**quote, "quote": SOW.replace("2", "9")}))
    (line,) = anchored(path, root)

    assert line["outcome"] == "changed"
    assert "the quote does not stand where the receipt says" in line["why"]


def ingest(root: Path, index: Path, receipts: Path, *flags: str) -> Ran:
    variables = {**HASH, "QUOTH_RECEIPTS_WATCH": str(receipts)}
    ran = run("ingest", root, "--index", index, *flags, variables=variables)
    assert ran.code == 0, ran.talk
    return ran


def test_an_index_tells_what_superseded_a_quote(tmp_path: Path, root: Path) -> None:
    (root / "new.md").write_text("# New\n\nSow at 3 cm, says the new guide.\n", encoding="utf-8")
    (root / "canola.md").write_text(f"---\nsuperseded_by: new.md\n---\n{GUIDE}", encoding="utf-8")
    path = save(tmp_path / "r.json", receipt_of(quote_of(root, "canola.md", SOW)))
    index = tmp_path / "index"
    ingest(root, index, tmp_path / "none")
    ran = run("anchor", path, "--index", index, "--json")

    assert ran.object["outcome"] == "exact"
    assert ran.object["superseded_by"] == ["new.md"]
    assert "superseded by new.md" in run("anchor", path, "--index", index).text


def test_an_ingest_names_the_receipts_that_it_made_stale(tmp_path: Path, root: Path, receipt: Path) -> None:
    index, folder = tmp_path / "index", receipt.parent
    (folder / "notes.json").write_text("no receipt", encoding="utf-8")
    assert "saved receipts" not in ingest(root, index, folder).talk

    (root / "wheat.md").write_text("# Wheat\n\nHarvest in August.\n", encoding="utf-8")
    assert "saved receipts" not in ingest(root, index, folder).talk

    (root / "canola.md").write_text(GUIDE + "\nMore.\n", encoding="utf-8")
    talk = ingest(root, index, folder).talk
    assert "1 of 1 saved receipts quote documents that changed (depth.json); quoth anchor" in talk
    assert "notes.json: it is not JSON" in talk

    (root / "canola.md").unlink()
    assert "1 of 1 saved receipts" in ingest(root, index, folder, "--prune").talk


def test_a_folder_of_receipts_that_is_not_there_is_no_failure(tmp_path: Path, root: Path) -> None:
    assert "a receipt that is watched cannot be read" in ingest(root, tmp_path / "index", tmp_path / "none").talk


def test_stale_receipts_are_those_whose_texts_differ(root: Path, receipt: Path) -> None:
    same = {"canola.md": quote_of(root, "canola.md", SOW)["document"]["text_sha256"]}

    assert stale_receipts(receipt.parent, same).stale == {}
    assert stale_receipts(receipt.parent, {}).stale == {"depth.json": ("canola.md",)}
    assert stale_receipts(receipt.parent, {}, touched=["wheat.md"]).stale == {}
    assert stale_receipts(receipt.parent / "none", {}).refused != ()


MONDAYS = "The weighbridge is open on Mondays and Thursdays only."


def test_words_that_several_other_documents_hold_are_ambiguous_and_not_gone() -> None:
    old = f"# Depth\n\n{MONDAYS}\n\nOther\n"
    in_two = became(old, MONDAYS, a="# Depth\n", b=f"x\n\n{MONDAYS}\n", c=f"z\n\n{MONDAYS}\n")
    assert in_two == ("ambiguous", [("b.md", MONDAYS), ("c.md", MONDAYS)])

    short = became(
        "Intro of it.\n\nSow early.\n\nMore of it.\n", "Sow early.", a="Intro.", b="So:\n\nSow early.\n\nNo.\n"
    )
    assert short == ("ambiguous", [("b.md", "Sow early.")])


def test_the_very_words_in_another_document_win_over_a_similar_sentence() -> None:
    quote = "Plant soybeans at a depth of 3 cm."
    old = f"# Depth\n\n{quote}\n\nOther things follow here today.\n"
    similar = "# Depth\n\nPlant the maize at a depth of 5 cm in spring.\n\nOther things follow.\n"

    assert became(old, quote, a=similar)[0] == "changed"
    assert became(old, quote, a=similar, b=f"# Beans\n\n{quote}\n") == ("moved", [("b.md", quote)])
    twice = became(old, quote, a=similar, b=f"# Beans\n\n{quote}\n", c=f"# Peas\n\n{quote}\n")
    assert twice[0] == "changed"


def test_a_small_edit_in_place_wins_over_an_old_copy() -> None:
    quote = "Plant soybeans at a depth of 3 cm."
    old = f"# Depth\n\n{quote}\n\nOther things follow here today.\n"
    new = old.replace("3 cm", "4 cm")

    assert became(old, quote, a=new, archive=old) == ("changed", [("a.md", quote.replace("3", "4"))])


@pytest.mark.parametrize("mark", ["", "# "])
def test_the_start_of_a_document_is_no_context(mark: str) -> None:
    old, new = f"{mark}Sow early.\n\nThe rest is about soybeans.", f"{mark}Sow early.\n\nOther matter of maize."

    assert became(old, "Sow early.", b=new) == ("ambiguous", [("b.md", "Sow early.")])
    assert became(old, "Sow early.", a="The rest is about soybeans.", b=new)[0] == "ambiguous"
    assert became(old, "Sow early.", a="The rest is about soybeans.", b=new.replace("Sow e", "So e"))[0] == "gone"
    assert became(old, "Sow early.", b=old.replace("\n\n", "\n\n\n")) == ("moved", [("b.md", "Sow early.")])


@pytest.mark.parametrize("doc_id", ["", ".", "..", "/"])
def test_any_name_of_a_document_is_taken(doc_id: str) -> None:
    quote = replace(quoted(GUIDE, SOW), doc_id=doc_id)
    (one,) = anchor_quotes([quote], Texts({"b.md": GUIDE}))

    assert one.anchor.outcome is AnchorOutcome.MOVED
