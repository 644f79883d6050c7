from __future__ import annotations

import base64
import hashlib
import re
from collections import Counter
from dataclasses import replace
from html.parser import HTMLParser
from importlib.resources import files
from xml.etree import ElementTree

import pytest

from quoth.evaluation.evaluate import evaluate
from quoth.evaluation.judgements import Judgement
from quoth.evaluation.report import OUTCOMES, outcome_of, report_html

from .samples import GOLD, abstention, answer, item, lost, quote, six, staged

EVIL = "<script>alert(1)</script><img src=x onerror=alert(2)>\"'&amp;</td>"
VOID = {"meta", "link", "input", "img", "br"}


class Page(HTMLParser):
    """The elements of a page; an element that is not closed in its turn is an error."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.texts: list[tuple[str, str]] = []
        self.feed(source)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.texts.append((self.open[-1] if self.open else "", data))

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.tags if name == tag]

    def text_in(self, tag: str) -> str:
        return "".join(text for inside, text in self.texts if inside == tag)


def evil() -> list[Judgement]:
    """Hostile text wherever a report shows any."""
    labelled = item(f"1{EVIL}", GOLD, text=f"Is {EVIL} safe?")
    labelled = replace(labelled, gold=(replace(labelled.gold[0], doc_id=EVIL, text=EVIL),))
    quoted = replace(quote(8, 8 + len(EVIL)), doc_id=EVIL, text=EVIL, tags={EVIL: EVIL})
    one = replace(abstention(labelled, 0.5, quoted), reason=EVIL, detail=EVIL)
    assert one.origin is not None
    return [replace(one, origin=replace(one.origin, profile=EVIL)), replace(lost(six()[0]), fault=EVIL)]


def page(judged: list[Judgement], *, title: str = "A report") -> tuple[str, Page]:
    source = report_html(evaluate(judged, notes=(EVIL,)), title=title, trials=())
    return source, Page(source)


def test_every_question_is_a_row_with_its_quotes_gold_scores_and_reason() -> None:
    judged = [*six(), lost(answer(item("q7", GOLD), 0.5))]
    _, found = page(judged)

    rows = [one for one in found.all("tr") if "data-outcome" in one]
    assert Counter(one["data-outcome"] for one in rows) == {
        "right": 3,
        "wrong": 1,
        "false": 1,
        "declined": 1,
        "fault": 1,
    }
    cells = found.text_in("td")
    assert all(words in cells for words in ("question q1?", "0.900", "low_confidence: Not sure.", "it crashed"))
    assert "a.md[10:20]" in found.text_in("span")


def test_gold_is_marked_inside_the_quote_and_nowhere_else() -> None:
    source, _ = page([answer(item("1", (12, 15)), 0.5, replace(quote(10, 18), text="ab<&>fgh"))])

    assert "ab<mark>&lt;&amp;&gt;</mark>fgh" in source


def test_a_hostile_text_is_inert() -> None:
    source, found = page(evil(), title=EVIL)

    assert len(found.all("script")) == 1
    assert found.all("img") == []
    assert "alert(1)</script>" not in source
    assert not any(name.startswith("on") for _, attributes in found.tags for name in attributes)
    assert f"Is {EVIL} safe?" in found.text_in("td")


def test_the_page_needs_nothing_from_elsewhere() -> None:
    source, found = page([staged(one, *[(1,) * len(one.labelled.gold)] * 5) for one in six()])
    links = [value for _, attributes in found.tags for name, value in attributes.items() if name in {"src", "href"}]

    assert sorted(map(str, links)) == ["#questions", "data:,"]
    assert not re.search(r"@import|url\(|https?:|fetch\(|XMLHttpRequest|innerHTML|eval\(", source)


def test_the_policy_allows_the_page_s_own_script_and_style_and_nothing_else() -> None:
    _, found = page(evil())
    (policy,) = [one["content"] for one in found.all("meta") if one.get("http-equiv") == "Content-Security-Policy"]

    for kind, tag in (("js", "script"), ("css", "style")):
        own = files("quoth.evaluation").joinpath(f"report.{kind}").read_text("utf-8")
        assert found.text_in(tag) == own
        digest = base64.b64encode(hashlib.sha256(own.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in str(policy)
    assert str(policy).startswith("default-src 'none'")
    assert not any("style" in attributes for _, attributes in found.tags)


def test_the_plots_are_well_formed_and_named_for_those_who_cannot_see_them() -> None:
    source, _ = page([staged(one, *[(1,) * len(one.labelled.gold)] * 5) for one in six()])
    drawings = re.findall(r"<svg.*?</svg>", source, re.DOTALL)

    assert len(drawings) == 4
    for drawing in drawings:
        root = ElementTree.fromstring(drawing)  # noqa: S314 - our own
        named = {one.get("id") for one in root.iter() if one.tag in {"title", "desc"}}
        assert set(str(root.get("aria-labelledby")).split()) <= named
        assert not re.search(r"\b(?:nan|inf)\b", drawing)


def test_a_run_without_stages_has_no_plot_of_them_and_says_so() -> None:
    source, _ = page(six())

    assert source.count("<svg") == 3
    assert "not measured: recall by stage, recall@20, precision@5" in source


def test_every_column_can_be_sorted_and_every_label_has_its_field() -> None:
    _, found = page(six())

    headings = [one for one in found.all("th") if one.get("scope") == "col"]
    assert len(found.all("button")) == 10 <= len(headings)
    assert {one["id"] for one in [*found.all("input"), *found.all("select")]} == {"search", "outcome", "reason"}
    assert len(found.all("label")) == 3
    script = files("quoth.evaluation").joinpath("report.js").read_text("utf-8")
    ids = {one.get("id") for _, one in found.tags}
    assert set(re.findall(r'getElementById\("(\w+)"\)', script)) <= ids


def test_the_same_evaluation_gives_the_same_bytes() -> None:
    assert page(six())[0] == page(list(reversed(six())))[0]


@pytest.mark.parametrize(
    ("one", "outcome"),
    [
        (answer(item("1", GOLD), 0.5, quote(10, 20)), "right"),
        (answer(item("1", GOLD), 0.5, quote(50, 60)), "wrong"),
        (answer(item("1"), 0.5, quote(10, 20)), "false"),
        (abstention(item("1", GOLD), 0.5), "missed"),
        (abstention(item("1"), 0.5), "declined"),
        (lost(answer(item("1"), 0.5)), "fault"),
    ],
)
def test_an_outcome_has_one_of_six_names(one: Judgement, outcome: str) -> None:
    assert outcome_of(one) == outcome
    assert outcome in OUTCOMES
