"""Metadata from `corpus.yaml`: globs to fields, checked before any document is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from quoth.domain.manifest import ManifestRule, fields_for, merged, metadata, read_manifest, with_tags
from quoth.errors import SettingsError
from quoth.types import Metadata, Supersession

FACETS = ("crop", "practice")


def manifest(root: Path, content: str) -> tuple[ManifestRule, ...]:
    (root / "corpus.yaml").write_text(content, encoding="utf-8")
    return read_manifest(root, facets=FACETS)


def described(**fields: Any) -> Metadata:  # noqa: ANN401 - as YAML gives them
    return metadata(fields, source="a.md", facets=FACETS)


@pytest.mark.parametrize(
    ("glob", "doc_id", "matches"),
    [
        ("a.md", "a.md", True),
        ("a.md", "b/a.md", False),
        ("a.md", "axmd", False),
        ("*.md", "a.md", True),
        ("*.md", "b/a.md", False),
        ("**/*.md", "a.md", True),
        ("**/*.md", "b/c/a.md", True),
        ("letters/**", "letters/2021/a.md", True),
        ("letters/**", "letters.md", False),
        ("letters/*", "letters/2021/a.md", False),
        ("letter-?.md", "letter-1.md", True),
        ("letter-?.md", "letter-12.md", False),
        ("letter-?.md", "letter-/.md", False),
        ("**", "any/where.md", True),
        ("a[1].md", "a[1].md", True),
        ("a+.md", "aa.md", False),
    ],
)
def test_a_glob_stays_inside_a_folder_unless_it_says_otherwise(glob: str, doc_id: str, *, matches: bool) -> None:
    assert fields_for(doc_id, [ManifestRule(glob, {"title": "T"})]) == ({"title": "T"} if matches else {})


def test_a_later_rule_wins_and_tags_add_up() -> None:
    rules = [
        ManifestRule("**", {"title": "All", "language": "en", "tags": {"crop": "corn", "practice": "soil"}}),
        ManifestRule("a.md", {"title": "One", "tags": {"crop": "rice"}}),
    ]

    assert fields_for("a.md", rules) == {"title": "One", "language": "en", "tags": {"crop": "rice", "practice": "soil"}}
    assert fields_for("b.md", rules)["title"] == "All"


def test_a_document_that_no_rule_matches_has_no_fields() -> None:
    assert fields_for("b.md", [ManifestRule("a.md", {"title": "One"})]) == {}


def test_a_corpus_without_a_manifest_has_no_rules(tmp_path: Path) -> None:
    assert read_manifest(tmp_path, facets=FACETS) == ()


def test_rules_are_read_in_their_order(tmp_path: Path) -> None:
    rules = manifest(tmp_path, 'documents:\n  - {match: "**", language: en}\n  - {match: a.md, crop: canola}\n')

    assert rules == (ManifestRule("**", {"language": "en"}), ManifestRule("a.md", {"tags": {"crop": "canola"}}))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("documents: [", "not valid YAML"),
        ("documents:\n  - {match: a.md, effective_date: 2022-13-01}", "not valid YAML"),
        ("rules: []", "must hold one key, 'documents'"),
        ("documents: []\nrules: []", "must hold one key, 'documents'"),
        ("documents: {}", "must hold one key, 'documents'"),
        ("- a", "must hold one key, 'documents'"),
        ("", "must hold one key, 'documents'"),
        ("documents: [{title: x}]", "rule 1 needs a 'match'"),
        ("documents: [{match: a}, b]", "rule 2 needs a 'match'"),
        ("documents: [{match: a, titel: x}]", "rule 1: unknown fields titel"),
        ("documents: [{match: a, tags: {crpo: canola}}]", "rule 1: unknown tags crpo"),
        ("documents: [{match: a, tags: [canola]}]", "rule 1: tags must be a mapping"),
        ("documents: [{match: a}, {match: b, is_binding: 3}]", "rule 2: is_binding must be true or false, not 3"),
        ("documents: [{match: a, effective_date: soon}]", "rule 1: effective_date must be a date such as"),
    ],
)
def test_a_mistake_in_the_manifest_is_named_with_its_rule(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(SettingsError, match=rf"corpus\.yaml.*{message}"):
        manifest(tmp_path, content)


def test_all_fields_are_read() -> None:
    found = described(
        title="Rules",
        document_type="ccr",
        is_binding=True,
        effective_date="2022-04-01",
        superseded_by="b.md",
        language="en",
        crop="canola",
    )

    successors = (Supersession("b.md", None),)
    assert found == Metadata(
        "Rules", "ccr", True, "2022-04-01", successors, "en", {"crop": ("canola",)}, False, (), None, None
    )


def test_fields_that_are_not_given_are_none() -> None:
    assert described() == Metadata(None, None, None, None, (), None, {}, False, (), None, None)


def test_fields_of_other_tools_are_left_alone() -> None:
    assert described(layout="post", draft=True, tags=["a", "b"]) == described()


@pytest.mark.parametrize("authors", [["Ada Ek", "Bo Li"], "Ada Ek; Bo Li", [{"name": "Ada  Ek"}, "Bo Li"]])
def test_authors_are_a_list_or_a_text_with_semicolons(authors: object) -> None:
    assert described(authors=authors).authors == ("Ada Ek", "Bo Li")


def test_year_and_doi_are_read_from_texts_too() -> None:
    about = described(year="2018", doi="https://doi.org/10.1234/ab.5")

    assert (about.year, about.doi) == (2018, "10.1234/ab.5")


def test_authors_year_and_doi_in_the_form_of_another_tool_are_left_out() -> None:
    assert described(authors=[{"id": 3}, 7], year="MMXX", doi=["none"]) == described()


@pytest.mark.parametrize(
    ("authors", "year", "byline"),
    [
        (["Ada Ek"], 2018, "Ada Ek, 2018"),
        (["Ada Ek", "Bo Li"], None, "Ada Ek and Bo Li"),
        (["Ada Ek", "Bo Li", "Cy Wu"], 2018, "Ada Ek et al., 2018"),
        ([], 2018, "2018"),
        ([], None, None),
    ],
)
def test_a_byline_is_short(authors: list[str], year: int | None, byline: str | None) -> None:
    assert described(authors=authors, year=year).byline == byline


def test_a_number_is_a_title_all_the_same() -> None:
    assert described(title=2021).title == "2021"


@pytest.mark.parametrize(
    ("key", "value", "wanted"),
    [
        ("title", ["a"], "text"),
        ("title", True, "text"),
        ("document_type", {"a": 1}, "text"),
        ("is_binding", "yes", "true or false"),
        ("is_binding", 1, "true or false"),
        ("effective_date", "April", "a date"),
        ("effective_date", 2022, "a date"),
        ("effective_date", "2022-02-30", "a date"),
        ("superseded_by", 3, "a document id"),
        ("superseded_by", {"section": "7.3"}, "a document id"),
        ("superseded_by", [{"by": "b.md", "since": 2022}], "a document id"),
        ("crop", 3, "a value or a list"),
        ("crop", {"name": "canola"}, "a value or a list"),
    ],
)
def test_a_wrong_value_is_named_with_what_is_wanted(key: str, value: object, wanted: str) -> None:
    field = "tags" if key == "crop" else key

    with pytest.raises(SettingsError, match=rf"a\.md: {field} must be {wanted}"):
        described(**{key: value})


def test_a_part_of_a_document_can_be_superseded() -> None:
    found = described(superseded_by=[{"section": 7.3, "by": "b.md"}, "c.md"])

    assert found.superseded_by == (Supersession("b.md", "7.3"), Supersession("c.md", None))


def test_tags_are_a_value_or_a_list_of_values() -> None:
    assert described(tags={"crop": ["corn", "soy"]}, practice="soil").tags == {
        "crop": ("corn", "soy"),
        "practice": ("soil",),
    }


def test_what_is_put_over_wins_and_its_facets_join_the_others() -> None:
    under = with_tags({"title": "Manifest", "tags": {"crop": "corn", "practice": "soil"}}, FACETS)
    over = with_tags({"title": "Front matter", "crop": "rice"}, FACETS)

    assert merged(under, over) == {"title": "Front matter", "tags": {"crop": "rice", "practice": "soil"}}


def test_the_tags_of_a_blog_engine_do_not_erase_those_of_the_manifest() -> None:
    under = with_tags({"tags": {"crop": "corn"}}, FACETS)

    assert merged(under, with_tags({"tags": ["news"]}, FACETS)) == {"tags": {"crop": "corn"}}
