"""`quoth ask --receipt`, `receipt`, `verify-receipt` and `receipt-key`, as users start them."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from doors.command_line import failed, run
from doors.small_corpus import CANOLA, HALVORSEN, WHEAT, SmallCorpus, ingest_small_corpus
from quoth.citations.receipts import in_folder
from quoth.citations.verify_receipt import Found
from quoth.documents.worker.pool import Extraction
from quoth.settings import IngestSettings

FORMATS = Path(__file__).resolve().parents[2] / "examples" / "formats"


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> SmallCorpus:
    return ingest_small_corpus(tmp_path_factory.mktemp("small"))


@pytest.fixture(scope="module")
def run_file(small: SmallCorpus) -> Path:
    path = small.folder.parent / "run.jsonl"
    ran = run("batch", "-", "-o", path, "--index", small.index, stdin=f"{CANOLA}\n{WHEAT}\n{HALVORSEN}\n".encode())
    assert ran.code == 0, ran.talk
    return path


@pytest.fixture(scope="module")
def receipts(small: SmallCorpus, run_file: Path) -> Path:
    path = small.folder.parent / "receipts.jsonl"
    ran = run("receipt", run_file, "-o", path, "--index", small.index, "--day", "2026-11-18")
    assert (ran.code, ran.data) == (0, b""), ran.talk
    return path


def test_a_receipt_of_each_line_holds_for_the_files_and_the_index(small: SmallCorpus, receipts: Path) -> None:
    made = [json.loads(line) for line in receipts.read_text(encoding="utf-8").splitlines()]

    assert [receipt["decision"]["outcome"] == "answer" for receipt in made] == [True, True, False]
    assert {receipt["made"]["day"] for receipt in made} == {"2026-11-18"}
    for place in (("--root", small.folder), ("--index", small.index)):
        checked = run("verify-receipt", receipts, *place)
        assert checked.code == 0, checked.text
        assert ", 0 FAILED, 0 unchecked of" in checked.lines[-1]


def test_a_changed_file_is_found(small: SmallCorpus, receipts: Path, tmp_path: Path) -> None:
    changed = tmp_path / "wheat.md"
    changed.write_text(small.source("wheat.md").replace("4 cm", "5 cm"), encoding="utf-8")
    checked = run("verify-receipt", receipts, "--source", changed, "--doc", "wheat.md")

    assert checked.code == 1
    assert "FAILED    wheat.md" in checked.text
    assert "Sow wheat at 5 cm" in checked.text


def test_ask_writes_the_receipt_that_its_run_would_have(small: SmallCorpus, receipts: Path, tmp_path: Path) -> None:
    path = tmp_path / "r.json"
    asked = run("ask", CANOLA, "--index", small.index, "--receipt", path)
    made = json.loads(path.read_text(encoding="utf-8"))
    first = json.loads(receipts.read_text(encoding="utf-8").splitlines()[0])

    assert asked.code == 0
    assert {**made, "made": None, "digest": None} == {**first, "made": None, "digest": None}


def test_another_index_is_refused_and_nothing_is_overwritten(run_file: Path, receipts: Path, tmp_path: Path) -> None:
    other, before = ingest_small_corpus(tmp_path), receipts.read_bytes()
    run("remove", "rules.md", "--index", other.index)
    refused = run("receipt", run_file, "-o", receipts, "--index", other.index)

    assert failed(refused, "was answered from the index", "--index")
    assert receipts.read_bytes() == before


def test_other_settings_are_refused(small: SmallCorpus, run_file: Path) -> None:
    refused = run("receipt", run_file, "--index", small.index, "--answer", "eager")

    assert failed(refused, "under other settings", "--answer")


def test_a_signature_is_checked(small: SmallCorpus, run_file: Path, tmp_path: Path) -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    key, signed = tmp_path / "key.pem", tmp_path / "signed.jsonl"
    public = run("receipt-key", "new", key).text.strip()
    other = run("receipt-key", "new", tmp_path / "other.pem").text.strip()
    run("receipt", run_file, "-o", signed, "--index", small.index, "--sign-with", key)

    assert key.stat().st_mode & 0o777 == 0o600
    assert failed(run("receipt-key", "new", key), "cannot write", "never overwritten")
    assert run("verify-receipt", signed, "--root", small.folder, "--key", public).code == 0
    assert "another key" in run("verify-receipt", signed, "--root", small.folder, "--key", other).text
    line = json.loads(signed.read_text(encoding="utf-8").splitlines()[0])
    for name in ("value", "public_key"):
        for at in range(len(line["signature"][name])):
            text = line["signature"][name]
            forged = text[:at] + ("B" if text[at] == "A" else "A") + text[at + 1 :]
            (tmp_path / "forged.json").write_text(
                json.dumps({**line, "signature": {**line["signature"], name: forged}}), encoding="utf-8"
            )
            checked = run("verify-receipt", tmp_path / "forged.json", "--text", small.folder / "canola.md")
            assert (checked.code, "signature does not fit" in checked.text) == (1, True)


def test_an_unsigned_receipt_does_not_pass_for_a_signed_one(small: SmallCorpus, receipts: Path) -> None:
    checked = run("verify-receipt", receipts, "--root", small.folder, "--key", "A" * 44)

    assert (checked.code, "it is not signed" in checked.text) == (1, True)


def test_signing_without_the_extra_says_how_to_install_it(
    monkeypatch: pytest.MonkeyPatch, small: SmallCorpus, run_file: Path, tmp_path: Path
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography", None)
    monkeypatch.setattr("quoth.citations.signatures.find_spec", lambda _: None)

    assert failed(run("receipt-key", "new", tmp_path / "k.pem"), "needs the optional extra 'sign'", "pip install")
    ran = run("receipt", run_file, "--index", small.index, "--sign-with", tmp_path / "k.pem")
    assert failed(ran, "needs the optional extra 'sign'", "pip install")


def test_wrong_usage_exits_with_2(small: SmallCorpus, receipts: Path) -> None:
    assert run("verify-receipt", receipts).code == 2
    assert run("verify-receipt", receipts, "--root", small.folder, "--doc", "wheat.md").code == 2
    assert run("ask", CANOLA, "--index", small.index, "--sign-with", "k.pem").code == 2
    assert run("receipt", receipts, "--day", "today", "--index", small.index).code == 2


def test_a_receipt_of_a_pdf_names_page_and_boxes_and_holds_for_the_file(tmp_path: Path) -> None:
    index, path = tmp_path / "index", tmp_path / "r.json"
    assert run("ingest", FORMATS / "handbook.pdf", "--index", index).code == 0
    sentence = run("show", "handbook.pdf", "--sentences", "--json", "--index", index).objects[5]
    run("ask", sentence["text"], "--index", index, "--receipt", path)
    (quote, *_) = json.loads(path.read_text(encoding="utf-8"))["quotes"]
    checked = run("verify-receipt", path, "--source", FORMATS / "handbook.pdf")

    assert quote["document"]["format"] == "pdf"
    assert quote["document"]["extractor"]
    assert {box["page"] for box in quote["boxes"]} >= {quote["page"]}
    assert all(box["left"] < box["right"] and box["top"] < box["bottom"] for box in quote["boxes"])
    assert checked.code == 0, checked.text
    assert ", 0 FAILED, 0 unchecked of" in checked.lines[-1]


def test_a_receipt_cannot_lead_out_of_the_folder(small: SmallCorpus) -> None:
    with Extraction(IngestSettings()) as extraction:
        find = in_folder(small.folder, extraction, most_mb=1)

        assert isinstance(find({"doc_id": "wheat.md"}), Found)
        for doc_id in ("../fields.yaml", "/etc/hostname", "missing.md", "bad\x00name.md"):
            assert not isinstance(find({"doc_id": doc_id}), Found)


def test_receipts_never_take_the_place_of_the_key_or_the_run(
    small: SmallCorpus, run_file: Path, tmp_path: Path
) -> None:
    pytest.importorskip("cryptography", reason="cryptography is not installed")
    key, link, copied = tmp_path / "k.pem", tmp_path / "link.pem", tmp_path / "run.jsonl"
    run("receipt-key", "new", key)
    link.symlink_to(key)
    copied.write_bytes(run_file.read_bytes())
    before, at = key.read_bytes(), ("--index", small.index)

    for place in (key, link):
        assert failed(run("receipt", run_file, "-o", place, "--sign-with", key, *at), "holds the key")
        assert failed(run("ask", CANOLA, "--receipt", place, "--sign-with", key, *at), "holds the key")
    assert failed(run("receipt", copied, "-o", copied, *at), "holds the run")
    assert (key.read_bytes(), copied.read_bytes()) == (before, run_file.read_bytes())


def test_receipts_are_written_in_one_step(
    monkeypatch: pytest.MonkeyPatch, small: SmallCorpus, run_file: Path, tmp_path: Path
) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    place = tmp_path / "receipts.jsonl"
    place.write_text("as it was")
    place.chmod(0o600)
    with monkeypatch.context() as patch:
        patch.setattr("quoth.machine.os.fsync", full)
        ran = run("receipt", run_file, "-o", place, "--index", small.index)
    assert failed(ran, "No space left on device")
    assert (place.read_text(), list(tmp_path.iterdir())) == ("as it was", [place])

    assert run("receipt", run_file, "-o", place, "--index", small.index).code == 0
    assert (place.stat().st_mode & 0o777, len(place.read_text().splitlines())) == (0o600, 3)
    assert run("receipt", run_file, "-o", "/dev/null", "--index", small.index).code == 0
    assert not Path("/dev/null").is_file()
