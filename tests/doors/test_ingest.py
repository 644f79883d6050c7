from __future__ import annotations

from pathlib import Path

import pytest

from .command_line import HASH, failed, run, write_files
from .small_corpus import CANOLA, FILES, SmallCorpus


def _status(index: Path) -> dict[str, object]:
    status = run("status", "--index", index, "--json").object
    return {key: status[key] for key in ("documents", "generation", "digest", "profile")}


def test_only_what_changed_is_read_again(own: SmallCorpus) -> None:
    ingest = ("ingest", own.folder, "--index", own.index)
    before = _status(own.index)

    unchanged = run(*ingest)
    assert "0 documents read, 4 unchanged" in unchanged.talk
    assert _status(own.index) == before

    write_files(own.folder, {"wheat.md": "# Wheat\n\nSow wheat at 5 cm in October.\n", "rye.md": "Sow rye at 2 cm.\n"})
    changed = run(*ingest)
    assert "2 documents read, 3 unchanged" in changed.talk
    assert "5 cm" in run("ask", "Sow wheat at 5 cm in October", "--index", own.index).text
    assert "4 cm" not in run("show", "wheat.md", "--text", "--index", own.index).text


def test_the_profile_of_an_index_is_kept(own: SmallCorpus) -> None:
    write_files(own.folder, {"rye.md": "Sow rye at 2 cm.\n"})

    assert run("ingest", own.folder, "--index", own.index).code == 0
    assert _status(own.index)["profile"] == "fields"


def test_another_profile_needs_every_document_again(own: SmallCorpus, tmp_path: Path) -> None:
    write_files(tmp_path / "more", {"rye.md": "Sow rye at 2 cm.\n"})
    before = _status(own.index)

    partly = run("ingest", tmp_path / "more", "--index", own.index, "--profile", "governance")
    assert failed(partly, "4 other documents", "'fields' profile")
    assert _status(own.index) == before

    assert run("ingest", own.folder, "--index", own.index, "--profile", "general").code == 0
    assert _status(own.index)["profile"] == "general"


def test_the_profile_may_come_from_a_variable(tmp_path: Path) -> None:
    write_files(tmp_path / "corpus", FILES)

    ran = run(
        "ingest",
        tmp_path / "corpus",
        "--index",
        tmp_path / "index",
        variables={**HASH, "QUOTH_PROFILE": "governance"},
    )

    assert ran.code == 0
    assert _status(tmp_path / "index")["profile"] == "governance"


def test_single_files_and_several_folders_are_read_together(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"one/a.md": CANOLA, "two/deep/b.txt": "Roll.", "three/c.markdown": "Sow.", "three/d.md": "No."}
    )

    ran = run(
        "ingest", tmp_path / "one", tmp_path / "two", tmp_path / "three/c.markdown", "--index", tmp_path / "index"
    )

    assert ran.code == 0
    ids = [one["doc_id"] for one in run("docs", "--index", tmp_path / "index", "--json").objects]
    assert ids == ["a.md", "c.markdown", "deep/b.txt"]


def test_files_of_other_formats_are_counted_and_hidden_ones_and_links_outside_are_left_out(tmp_path: Path) -> None:
    write_files(
        tmp_path, {"secret.md": "Outside.", "corpus/a.md": CANOLA, "corpus/b.jpg": b"", "corpus/.git/c.md": "Hidden."}
    )
    (tmp_path / "corpus" / "link.md").symlink_to(tmp_path / "secret.md")

    ran = run("ingest", tmp_path / "corpus", "--index", tmp_path / "index")

    assert (ran.code, ran.data) == (0, b"")
    assert "left out files of other formats: 1 .jpg" in ran.talk
    assert [one["doc_id"] for one in run("docs", "--index", tmp_path / "index", "--json").objects] == ["a.md"]


def test_quiet_says_nothing(own: SmallCorpus) -> None:
    ran = run("ingest", own.folder, "--index", own.index, "--quiet")

    assert (ran.code, ran.data, ran.talk) == (0, b"", "")


@pytest.mark.parametrize("name", ["with space.md", "ümlaut.md", "[brackets].md", "-dash.md", "a;b&c.md", "🌾.md"])
def test_a_document_may_have_any_name(tmp_path: Path, name: str) -> None:
    write_files(tmp_path / "corpus", {f"folder/{name}": CANOLA})

    assert run("ingest", tmp_path / "corpus", "--index", tmp_path / "index").code == 0
    assert f"folder/{name}[0:{len(CANOLA)}]" in run("ask", CANOLA, "--index", tmp_path / "index", "--offsets").text
    assert run("show", f"folder/{name}", "--text", "--index", tmp_path / "index").text == CANOLA
    assert name in run("docs", "--index", tmp_path / "index").text
    assert run("export", tmp_path / "out", "--index", tmp_path / "index").code == 0


def test_what_is_gone_is_named_and_pruned_on_demand(own: SmallCorpus) -> None:
    run("ingest", own.folder, "--index", own.index)
    (own.folder / "wheat.md").unlink()

    kept = run("ingest", own.folder, "--index", own.index)
    assert "1 documents have no file any more (wheat.md); --prune removes them" in kept.talk
    assert _status(own.index)["documents"] == 4

    pruned = run("ingest", own.folder, "--index", own.index, "--prune")
    assert "removed wheat.md: its file is gone" in pruned.talk
    assert _status(own.index)["documents"] == 3
    assert failed(run("show", "wheat.md", "--index", own.index), "no document 'wheat.md'")


def test_a_renamed_file_is_told(own: SmallCorpus) -> None:
    run("ingest", own.folder, "--index", own.index)
    (own.folder / "wheat.md").rename(own.folder / "winter-wheat.md")

    assert "renamed wheat.md to winter-wheat.md" in run("ingest", own.folder, "--index", own.index).talk


def test_documents_are_removed_by_id(own: SmallCorpus) -> None:
    ran = run("remove", "wheat.md", "canola.md", "--index", own.index)

    assert (ran.code, ran.data) == (0, b"")
    assert "2 documents removed" in ran.talk
    assert _status(own.index)["documents"] == 2


def test_removing_an_unknown_document_removes_nothing(own: SmallCorpus) -> None:
    assert failed(run("remove", "wheat.md", "weat.md", "--index", own.index), "no document 'weat.md'", "wheat.md")
    assert _status(own.index)["documents"] == 4


def test_a_page_is_read_and_quoted_from_its_canonical_text(tmp_path: Path) -> None:
    page = "<html><body><nav><a href='/'>Home</a></nav><h1>Rye</h1><p>Sow rye at 2 cm in October.</p></body></html>"
    write_files(tmp_path / "pages", {"rye.html": page})
    index = tmp_path / "index"

    assert run("ingest", tmp_path / "pages", "--index", index).code == 0
    answer = run("ask", "Sow rye at 2 cm in October", "--json", "--index", index).object["answer_sentences"][0]
    text = run("show", "rye.html", "--text", "--index", index).text
    assert text[answer["start"] : answer["end"]] == answer["text"] == "Sow rye at 2 cm in October."
    assert answer["section"] == ["Rye"]
    assert run("verify", "--index", index, "--root", tmp_path / "pages").code == 0
    about = run("show", "rye.html", "--json", "--index", index).object
    assert (about["format"], about["encoding"]) == ("html", None)
    assert about["extractor"].startswith("selectolax")
