"""The maintainers' scripts start, and what `make train` and `make bench` do first still runs."""

from __future__ import annotations

import json
import os
import runpy
import shutil
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from citations.receipts import quote_of, receipt_of, save
from end_to_end.samples import EXAMPLES, sample_index

ROOT = Path(__file__).parents[2]
NEEDS = {"train.py": "torch", "reference.py": "sentence_transformers"}
"""Scripts that run in an environment of their own, and what it has."""
SCRIPTS = sorted(
    path
    for folder in ("tools", "training", "bench", "tests/hostile")
    for path in (ROOT / folder).glob("*.py")
    if "__main__" in path.read_text(encoding="utf-8") and (path.name not in NEEDS or find_spec(NEEDS[path.name]))
)


@pytest.fixture
def apart() -> Iterator[None]:
    """Forget what a script imported from the files beside it: names in `bench` and `training` may be the same."""
    yield
    for name, module in list(sys.modules.items()):
        if str(getattr(module, "__file__", None)).startswith((f"{ROOT}/bench/", f"{ROOT}/training/")):
            del sys.modules[name]


@pytest.mark.usefixtures("apart")
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_script_explains_itself(
    script: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if script.parent.name == "hostile":  # some register checks with a library, which it accepts once in a process
        assert python(str(script), "--help").startswith(f"usage: {script.name}")
        return
    monkeypatch.setattr(sys, "argv", [str(script), "--help"])
    monkeypatch.syspath_prepend(str(script.parent))

    with pytest.raises(SystemExit) as ended:
        runpy.run_path(str(script), run_name="__main__")

    assert ended.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: {script.name}")


def python(script: str, *arguments: str | Path, stdin: str = "") -> str:
    """Run a script as `training/run.sh` does, and return what it prints."""
    ran = subprocess.run(
        [sys.executable, ROOT / script, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
        env={**os.environ, "PYTHONPATH": str(ROOT / "tools")},
    )
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


def test_training_prepares_groups_and_changed_questions(tmp_path: Path) -> None:
    docs = tmp_path / "train" / "doqa" / "docs"
    docs.mkdir(parents=True)
    sentence = "Sow canola 2 cm deep in Ohio."
    (docs / "canola.md").write_text(f"# Canola\n\n{sentence} Ann Lee wrote the Ohio guide.\n", encoding="utf-8")
    start = len("# Canola\n\n")
    rows = [
        {"id": "doqa-1", "question": "How deep is canola sown in Ohio?", "answerable": True, "doc_scope": ["canola.md"]}
        | {"gold": [{"doc_id": "canola.md", "start": start, "end": start + len(sentence)}]},
        {"id": "doqa-3", "question": "Who wrote the Ohio guide?", "answerable": True, "doc_scope": ["canola.md"]}
        | {"gold": [{"doc_id": "canola.md", "start": start + len(sentence) + 1, "end": start + len(sentence) + 8}]},
        {"id": "doqa-2", "question": "Who buys it?", "answerable": False, "doc_scope": ["canola.md"], "gold": []},
    ]
    (docs.parent / "questions.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    work = tmp_path / "work"

    python("training/prepare.py", "--work", work, "--root", tmp_path / "train", "doqa")
    python("training/swapped.py", "--work", work)
    python("training/statements.py", "--work", work)

    data = work / "data"
    groups = [json.loads(line) for line in (data / "doqa.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [group["id"] for group in groups] == ["doqa-1", "doqa-2", "doqa-3"]
    assert [one["text"] for one in groups[0]["candidates"] if one["label"]] == [sentence]
    assert len(groups[0]["candidates"]) == 2
    changed = [json.loads(line) for line in (data / "doqa.swapped.jsonl").read_text(encoding="utf-8").splitlines()]
    assert changed
    assert not any(one["label"] for group in changed for one in group["candidates"])
    made = [json.loads(line) for line in (data / "doqa.statements.jsonl").read_text(encoding="utf-8").splitlines()]
    assert made[0]["question"] == "Ann Lee wrote the Ohio guide."
    assert [one["answer"] for one in made[0]["candidates"] if one["label"]] == [[0, 7]]


def test_training_makes_questions_of_the_rules_in_documents(tmp_path: Path) -> None:
    docs = tmp_path / "train" / "cuad_other" / "docs"
    docs.mkdir(parents=True)
    rules = {
        "lease.txt": "Tenant shall not sublet the entire apartment. The rent is due on Monday. Rain fell all day.\n",
        "hire.txt": "Tenant must return every rented bicycle promptly. The shop closes at noon.\n",
    }
    for name, text in rules.items():
        (docs / name).write_text(text, encoding="utf-8")
    work = tmp_path / "work"
    (work / "data").mkdir(parents=True)

    python("training/clauses.py", "--work", work, "--root", tmp_path / "train", "cuad_other")

    path = work / "data" / "cuad_other.clauses.jsonl"
    groups = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    own = {group["scope"][0]: group for group in groups if group["answerable"]}
    assert set(own) == set(rules)
    for name, group in own.items():
        ((doc_id, start, end),) = group["gold"]
        (right,) = [one["text"] for one in group["candidates"] if one["label"]]
        assert (doc_id, right) == (name, rules[name][start:end])
        assert group["question"] != right
    assert not any(one["label"] for group in groups if not group["answerable"] for one in group["candidates"])


def test_training_takes_up_what_was_written_on_passages(tmp_path: Path) -> None:
    docs = tmp_path / "train" / "doqa" / "docs"
    docs.mkdir(parents=True)
    text = "Sow canola 2 cm deep. Roll the field. Store wheat dry.\n"
    (docs / "canola.txt").write_text(text, encoding="utf-8")
    asked = [["How deep do I put the seed?", [0, 21]], ["Who owns the field?"]]
    passage = {"set": "doqa", "doc": "canola.txt", "passage": [0, 37], "asked": asked}
    (tmp_path / "written.jsonl").write_text(json.dumps(passage) + "\n", encoding="utf-8")
    work = tmp_path / "work"
    (work / "data").mkdir(parents=True)

    root = ("--root", tmp_path / "train", "--source", tmp_path / "written.jsonl")
    python("training/written.py", "--work", work, *root)

    lines = (work / "data" / "doqa.written.jsonl").read_text(encoding="utf-8").splitlines()
    groups = [json.loads(line) for line in lines]
    labels = [{one["text"]: one["label"] for one in group["candidates"]} for group in groups]
    assert labels == [
        {"Sow canola 2 cm deep.": 1, "Roll the field.": 0},
        {"Sow canola 2 cm deep.": 0, "Roll the field.": 0},
    ]
    assert [group["answerable"] for group in groups] == [True, False]


def test_training_takes_up_what_was_judged_outside_the_passage(tmp_path: Path) -> None:
    docs = tmp_path / "train" / "doqa" / "docs"
    docs.mkdir(parents=True)
    text = "Sow canola 2 cm deep. Roll the field. Store wheat dry. Ann owns the field. The field is wide.\n"
    (docs / "canola.txt").write_text(text, encoding="utf-8")
    passage = {"set": "doqa", "doc": "canola.txt", "passage": [0, 37], "asked": [["Who owns the field?"]]}
    (tmp_path / "written.jsonl").write_text(json.dumps(passage) + "\n", encoding="utf-8")
    spans = [
        (text.index(words), text.index(words) + len(words)) for words in ("Ann owns the field.", "The field is wide.")
    ]
    answers = [[*spans[0], 1], [*spans[1], 0]]
    judged = {"set": "doqa", "doc": "canola.txt", "text": "Who owns the field?", "judged": answers}
    (tmp_path / "judged.jsonl").write_text(json.dumps(judged) + "\n", encoding="utf-8")
    work = tmp_path / "work"
    (work / "data").mkdir(parents=True)

    sources = ("--source", tmp_path / "judged.jsonl", "--written", tmp_path / "written.jsonl")
    python("training/judged.py", "--work", work, "--root", tmp_path / "train", *sources)

    (group,) = [json.loads(line) for line in (work / "data" / "doqa.judged.jsonl").read_text().splitlines()]
    assert {one["text"]: one["label"] for one in group["candidates"]} == {
        "Ann owns the field.": 1,
        "The field is wide.": 0,
        "Sow canola 2 cm deep.": 0,
        "Roll the field.": 0,
    }
    assert group["gold"] == [["canola.txt", *spans[0]]]


def test_what_was_written_on_a_passage_is_answered_within_it() -> None:
    lines = (ROOT / "training" / "written.jsonl").read_text(encoding="utf-8").splitlines()
    for passage in map(json.loads, lines):
        first, last = passage["passage"]
        texts = [text for text, *_ in passage["asked"]]
        assert len(set(texts)) == len(texts)
        for text, *spans in passage["asked"]:
            assert text.strip() == text != ""
            assert all(first <= start < end <= last for start, end in spans)


def test_the_benchmark_exports_the_sample_and_answers_over_its_pipe(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    index = sample_index("agriculture", tmp_path_factory)

    exported = json.loads(python("bench/quoth_side.py", "export", "--index", index, "--out", tmp_path))

    sentences = (tmp_path / "sentences.jsonl").read_text(encoding="utf-8").splitlines()
    assert len(sentences) == len(np.load(tmp_path / "vectors.npy")) == exported["sentences"] > 100
    assert len(exported["documents"]) == len(list((EXAMPLES / "agriculture").rglob("*.md")))

    question = json.dumps({"question": "How deep is canola sown?"})
    ready, answered = python("bench/quoth_side.py", "serve", "--index", index, stdin=f"{question}\n").splitlines()
    assert json.loads(ready) == {"ready": True}
    assert json.loads(answered)["ranked"]
    assert set(json.loads(answered)["ranked"]) <= {json.loads(line)["id"] for line in sentences}


def test_settings_are_timed_side_by_side(tmp_path_factory: pytest.TempPathFactory) -> None:
    index = sample_index("agriculture", tmp_path_factory)
    questions = EXAMPLES / "agriculture" / "questions.jsonl"

    table = python("tools/question_speed.py", index, questions, "--limit", "3").splitlines()

    assert [line.split(" | ")[0] for line in table[2:4]] == ["| `rerank.kind=late`", "| `rerank.kind=reader`"]
    assert table[2].split(" | ")[3] == table[2].split(" | ")[6] == "1.00"
    assert table[-1] == "3 questions"


def test_two_source_trees_are_timed_by_turns(tmp_path_factory: pytest.TempPathFactory) -> None:
    index = sample_index("agriculture", tmp_path_factory)
    questions = EXAMPLES / "agriculture" / "questions.jsonl"
    before = tmp_path_factory.mktemp("before") / "src"
    shutil.copytree(ROOT / "src", before, ignore=shutil.ignore_patterns("__pycache__"))

    late = ("--limit", "2", "--compare", "rerank.kind=late")
    table = python("tools/question_speed.py", index, questions, *late, "--beside", before).splitlines()

    names = [line.split(" | ")[0] for line in table[2:4]]
    assert names == ["| `rerank.kind=late`", f"| `rerank.kind=late` of {before}"]


def small_set(root: Path, name: str) -> None:
    """A question set of one document and one question, as those in `../shared/eval`."""
    docs = root / name / "docs"
    docs.mkdir(parents=True)
    sentence = "Sow canola 2 cm deep."
    (docs / "a.md").write_text(f"# Canola\n\n{sentence} Roll the field.\n", encoding="utf-8")
    gold = [{"doc_id": "a.md", "start": 10, "end": 10 + len(sentence), "text": sentence}]
    row = {"id": "1", "question": "How deep is canola sown?", "answerable": True, "gold": gold}
    (root / name / "questions.jsonl").write_text(json.dumps(row) + "\n", encoding="utf-8")


def test_the_candidates_of_each_embedding_are_counted(tmp_path: Path) -> None:
    small_set(tmp_path / "eval", "nda")

    table = python("tools/candidates.py", "nda", "--root", tmp_path / "eval", "--indexes", tmp_path).splitlines()

    assert [line.split(" | ")[:6] for line in table[2:]] == [
        ["| nda", label, "1.000", "1.000", "1.000", "1.000"] for label in ("shipped", "shipped, headings")
    ]


def test_retrieval_is_measured(tmp_path: Path) -> None:
    small_set(tmp_path / "eval", "nda")

    root = ("--root", tmp_path / "eval", "--indexes", tmp_path, "--limit", "1")
    tables = python("tools/retrieval.py", "nda", *root)

    assert "| nda | hybrid + late | 1.000 | 1.000 | 1.000 | 1.000 |" in tables
    assert "| nda | 1 answerable |" in tables


def test_the_structure_of_a_package_is_told(tmp_path: Path) -> None:
    for name, text in {
        "p/__init__.py": "",
        "p/a/ask.py": "from p.b import store\n\nclass Row: ...\n",
        "p/a/store.py": "class Row: ...\n\ndef g(): ...\n",
        "p/b/store.py": "def f():\n    from p.a import ask\n    return ask\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")

    table = dict(line.strip("| ").split(" | ") for line in python("tools/structure.py", tmp_path).splitlines()[2:])

    assert table["modules"] == "3"
    assert table["cycles between rooms"] == "1: a, b"
    assert table["cycles between modules"] == "1: p.a.ask, p.b.store"
    assert table["import closure of ask"] == "2 modules, 6 lines"
    assert table["repeated file names"] == "1 names, 2 uses"
    assert table["repeated class names"] == "1 names, 2 uses"
    assert table["modules with a single importer"] == "2"


def test_every_character_of_a_receipt_and_of_what_it_quotes_is_changed(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "soy.md").write_text("# Soy\n\nSow at 2.5 cm, in Zoë's field. Roll it.\n", encoding="utf-8")
    receipt = receipt_of(quote_of(tmp_path / "docs", "soy.md", "Sow at 2.5 cm, in Zoë's field."))
    saved = save(tmp_path / "receipts.jsonl", receipt)

    said = python("tools/change_receipts.py", saved, "--root", tmp_path / "docs").splitlines()

    assert len(said) == 2
    assert f"1 receipts: {3 * len(saved.read_text('utf-8').strip()):,} changes of the receipts" in said[0]
    assert f"1 receipts: {3 * (7 + 30 + 10):,} changes of the texts" in said[1]
    assert all(line.endswith(", 0 NOT FOUND") for line in said)
