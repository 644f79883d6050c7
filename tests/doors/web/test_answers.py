from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from quoth.citations.verify_receipt import read_receipts

from .conftest import NewPage
from .service import Service
from .town import FEE, FENCE, POOL, QUOTED, ROOF, UNKNOWN
from .visiting import ask, await_outcome, quotes


def test_a_question_typed_and_sent_with_enter_is_answered_by_quotes(page: Page, service: Service) -> None:
    page.goto(service.url)
    expect(page.locator(".stats")).to_contain_text("6 documents")
    page.get_by_label("Question", exact=True).fill(ROOF)
    page.keyboard.press("Enter")
    await_outcome(page)
    expect(quotes(page)).to_have_count(1)
    expect(quotes(page).locator(".words")).to_have_text(QUOTED)
    card = quotes(page).first
    expect(card.locator("cite")).to_have_text("Design Guidelines, Guidelines")
    expect(card.locator(".badge")).to_have_text("guidance")
    expect(card.locator("time")).to_have_text("2016-09-01")
    expect(card.locator(".tags")).to_contain_text("other")
    confidence = service.answer(ROOF)["confidence"]
    expect(page.locator(".confidence")).to_have_text(f"score {confidence:.2f}, not calibrated")
    expect(page.get_by_role("meter", name="Confidence")).to_have_attribute("aria-valuenow", f"{confidence:.2f}")
    expect(page.locator("#status")).to_contain_text("Answer: 1 quote")
    assert page.title().startswith(ROOF)


def test_a_conflict_shows_both_sides_with_the_words_that_disagree(page: Page, service: Service) -> None:
    ask(page, service, FENCE)
    conflict = page.locator(".conflict")
    expect(conflict.locator("h3")).to_have_text("The sources disagree")
    expect(conflict.locator(".says")).to_have_text(["six feet", "seven feet"])
    expect(conflict.locator("cite")).to_have_text(["First Amendment", "City Code"])
    expect(page.locator("#status")).to_contain_text("The sources disagree")


def test_a_sentence_and_what_takes_it_back_are_attached(page: Page, service: Service) -> None:
    ask(page, service, POOL)
    expect(quotes(page)).to_have_count(1)
    expect(quotes(page).locator(".companion .words")).to_have_text("However, a covered swimming pool may stay filled.")
    expect(quotes(page).locator(".companion")).to_contain_text("Read with what follows it")


def test_a_table_row_stands_under_its_header(page: Page, service: Service) -> None:
    ask(page, service, FEE)
    table = quotes(page).first.get_by_role("table")
    expect(table.get_by_role("columnheader")).to_have_text(["Matter", "Fee", "Days"])
    expect(table.get_by_role("cell")).to_have_text(["Review of a pool", "$75", "30"])


def test_the_words_that_answer_stand_out_in_a_sentence_and_in_a_row(page: Page, service: Service) -> None:
    """Real answers; what stands out in them is chosen here."""

    def change(route: Route) -> None:
        answer: dict[str, Any] = route.fetch().json()
        row = {"region": "table_row", "lead": {"text": "| Matter | Fee |", "start": 0, "end": 16}}
        parts = {True: ["| Pool | ", "$75 😀", " a year |"], False: ["Roofs should be ", "brown", "."]}
        is_row = "fee" in answer["question"]
        answer["answer_sentences"][0] |= {"display_parts": parts[is_row], **(row if is_row else {})}
        route.fulfill(body=json.dumps(answer), content_type="application/json")

    page.route("**/answer", change)
    ask(page, service, ROOF)
    expect(quotes(page).first.locator(".words")).to_have_text("Roofs should be brown.")
    expect(quotes(page).first.locator("strong.answers")).to_have_text(["brown"])
    ask(page, service, FEE)
    expect(quotes(page).first.get_by_role("cell")).to_have_text(["Pool", "$75 😀 a year"])
    expect(quotes(page).first.locator("td strong.answers")).to_have_text(["$75 😀"])


def test_an_abstention_explains_itself_and_shows_what_is_not_an_answer(page: Page, service: Service) -> None:
    ask(page, service, UNKNOWN)
    expect(page.get_by_role("heading", name="No answer", exact=True)).to_be_visible()
    expect(page.locator(".detail")).to_contain_text("'Halvorsen' is not mentioned")
    expect(page.locator(".missing li")).to_have_text(["Halvorsen"])
    expect(page.locator(".nearest .quote")).to_have_count(3)
    expect(page.locator(".nearest .quote").first).to_be_hidden()
    page.get_by_text("The nearest that was found").click()
    expect(page.locator(".nearest .quote").first).to_be_visible()
    expect(page.locator(".nearest .why").first).not_to_be_empty()
    expect(page.locator("#status")).to_contain_text("No answer.")


def test_what_else_is_near_is_folded_below_the_answer(page: Page, service: Service) -> None:
    ask(page, service, FEE)
    expect(page.locator(".nearest .quote")).to_be_hidden()
    page.get_by_text("See also").click()
    expect(page.locator(".nearest .quote")).to_be_visible()
    expect(page.locator(".nearest .quote")).to_contain_text("Review of a shed")
    expect(page.locator(".nearest .badge.context")).to_have_count(0)


def test_what_may_be_relevant_stands_open(page: Page, service: Service) -> None:
    ask(page, service, "When shall the swimming pool of Halvorsen be drained?")
    expect(page.get_by_role("heading", name="May be relevant", exact=True)).to_be_visible()
    expect(page.get_by_role("heading", name="This may apply")).to_be_visible()
    expect(page.locator(".nearest .quote").first).to_be_visible()


def test_a_superseded_rule_names_its_successor_and_leads_to_it(page: Page, service: Service) -> None:
    ask(page, service, FENCE, **{"in": "declaration.md"})
    card = page.locator(".quote.superseded")
    expect(card.locator(".superseded-note")).to_contain_text("Section 7.3 Fences is replaced by First Amendment")
    card.get_by_role("button", name="First Amendment").click()
    expect(page.locator(".words")).to_have_text("A fence in a rear yard shall not exceed six feet in height.")
    assert "in=amendment.md" in page.url


def test_what_to_be_careful_about_is_said(page: Page, service: Service) -> None:
    """These states need a failing model or a scanned page; the answer is a real one with them added."""

    def change(route: Route) -> None:
        answer: dict[str, Any] = route.fetch().json()
        answer["run_notes"] |= {"calibrated": True, "degraded": ["dense"], "warnings": ["The types differ."]}
        answer["unsupported_parts"] = ["how steep may they be"]
        answer["answer_sentences"][0] |= {"ocr_confidence": 0.874, "authority_guessed": True}
        answer["answer_sentences"][0] |= {"region": "list_item", "lead": {"text": "Roofs:", "start": 0, "end": 6}}
        route.fulfill(body=json.dumps(answer), content_type="application/json")

    page.route("**/answer", change)
    ask(page, service, ROOF)
    expect(page.locator(".careful li")).to_contain_text(
        ["The embedding model could not be reached", "The types differ."]
    )
    expect(page.locator(".notice", has_text="supports these parts")).to_contain_text("how steep may they be")
    expect(page.locator(".ocr")).to_contain_text("87 % sure")
    expect(page.locator(".lead")).to_have_text("Roofs:")
    expect(quotes(page).first.locator(".badge")).to_have_text("guidance, guessed")
    expect(page.locator(".confidence")).to_have_text(f"confidence {service.answer(ROOF)['confidence']:.2f}")


def test_copied_citations(new_page: NewPage, service: Service) -> None:
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    ask(page, service, ROOF)
    quote = service.answer(ROOF)["answer_sentences"][0]

    def copied(form: str) -> str:
        quotes(page).first.get_by_text("Copy citation").click()
        quotes(page).first.get_by_role("button", name=form).click()
        expect(page.locator("#toast")).to_contain_text(form)
        text: str = page.evaluate("navigator.clipboard.readText()")
        return text

    place = f"guidelines.md[{quote['start']}:{quote['end']}]"
    assert copied("Text") == f"“{QUOTED}”\n— Design Guidelines, Guidelines ({place})"
    link = copied("Link")
    query = f"doc=guidelines.md&start={quote['start']}&end={quote['end']}&sha={quote['doc_sha256'][:16]}"
    assert link == f"{service.url}/?{query}#:~:text=Roofs%20should%20be%20brown%20or%20slate%20grey."
    assert copied("Markdown") == f"> {QUOTED}\n>\n> — [Design Guidelines, Guidelines]({link})"
    (receipt,) = read_receipts(copied("Receipt").encode())
    assert isinstance(receipt, dict), receipt
    assert [one["quote"] for one in receipt["quotes"]] == page.locator("ol.quotes .words").all_text_contents()
    assert (receipt["question"]["text"], receipt["quotes"][0]["start"]) == (ROOF, quote["start"])

    page.goto(link)
    expect(page.locator("#reader mark")).to_have_text(QUOTED)


def test_a_broken_word_is_shown_joined_and_copied_exactly(new_page: NewPage, service: Service) -> None:
    """A real answer, with words that a line break of a PDF hyphenates."""

    def change(route: Route) -> None:
        answer: dict[str, Any] = route.fetch().json()
        answer["answer_sentences"][0] |= {"text": "Roof infor-\nmation.", "display": "Roof information."}
        del answer["answer_sentences"][0]["display_parts"]
        route.fulfill(body=json.dumps(answer), content_type="application/json")

    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    page.route("**/answer", change)
    ask(page, service, ROOF)
    expect(quotes(page).first.locator(".words")).to_have_text("Roof information.")
    quotes(page).first.get_by_text("Copy citation").click()
    quotes(page).first.get_by_role("button", name="Text").click()
    expect(page.locator("#toast")).to_contain_text("Text")
    assert page.evaluate("navigator.clipboard.readText()").startswith("“Roof infor-\nmation.”")


def test_an_answer_of_documents_that_changed_since_has_no_receipt(new_page: NewPage, service: Service) -> None:
    def change(route: Route) -> None:
        answer: dict[str, Any] = route.fetch().json()
        answer["run_notes"]["index"] = "another"
        route.fulfill(body=json.dumps(answer), content_type="application/json")

    page = new_page(allowed="409 (Conflict)")
    page.route("**/answer", change)
    ask(page, service, ROOF)
    quotes(page).first.get_by_text("Copy citation").click()
    quotes(page).first.get_by_role("button", name="Receipt").click()
    expect(page.locator("#toast")).to_contain_text("have changed since this answer was given. Ask the question again.")


def test_without_a_clipboard_the_citation_is_shown_to_be_copied_by_hand(page: Page, service: Service) -> None:
    ask(page, service, ROOF)
    page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('denied')); }")
    quotes(page).first.get_by_text("Copy citation").click()
    quotes(page).first.get_by_role("button", name="Text").click()
    box = page.get_by_label("Citation", exact=True)
    expect(box).to_be_focused()
    assert box.input_value().startswith(f"“{QUOTED}”")
    page.keyboard.press("Escape")
    expect(box).not_to_be_visible()


def test_the_address_holds_question_and_filters_for_another_visitor(new_page: NewPage, service: Service) -> None:
    first = new_page()
    ask(first, service, FENCE)
    first.get_by_text("Filters").click()
    first.get_by_role("checkbox", name="code 1").check()
    expect(quotes(first)).to_have_count(1)
    second = new_page()
    second.goto(first.url)
    await_outcome(second)
    expect(second.get_by_label("Question", exact=True)).to_have_value(FENCE)
    expect(second.locator(".chip")).to_contain_text(["code"])
    assert (
        second.locator("ol.quotes .words").all_text_contents() == first.locator("ol.quotes .words").all_text_contents()
    )


def test_recent_questions_stay_in_this_browser_and_can_be_cleared_and_switched_off(
    page: Page, service: Service
) -> None:
    ask(page, service, ROOF)
    ask(page, service, FENCE, as_of="2010-01-01")
    page.get_by_role("link", name="Quoth").click()
    recent = page.locator(".recent li")
    expect(recent).to_have_count(2)
    expect(recent.first).to_contain_text("1 filter")
    recent.nth(1).get_by_role("link").click()
    expect(page.locator(".words")).to_have_text(QUOTED)
    page.get_by_role("link", name="Quoth").click()
    page.get_by_role("button", name="Clear recent questions").click()
    expect(recent).to_have_count(0)
    page.get_by_label("Keep recent questions in this browser").uncheck()
    ask(page, service, ROOF)
    page.get_by_role("link", name="Quoth").click()
    expect(page.get_by_label("Keep recent questions in this browser")).not_to_be_checked()
    expect(recent).to_have_count(0)


@pytest.mark.parametrize(
    ("question", "verdict", "stored"),
    [(ROOF, "Right", "noted as right"), (UNKNOWN, "Right, it is not in the documents", "noted as right")],
)
def test_a_reader_marks_an_outcome(page: Page, service: Service, question: str, verdict: str, stored: str) -> None:
    ask(page, service, question)
    page.get_by_role("button", name=verdict, exact=True).click()
    expect(page.locator(".thanks")).to_contain_text(stored)
    expect(page.locator(".thanks")).to_be_focused()


def test_a_reader_says_which_sentence_does_answer(page: Page, service: Service) -> None:
    ask(page, service, UNKNOWN)
    page.get_by_role("button", name="Wrong, it is there").click()
    with page.expect_request("**/marks") as sent:
        page.locator(".marks").get_by_role("checkbox").first.check()
        page.get_by_role("button", name="Send").click()
    answer = service.answer(UNKNOWN)
    nearest = answer["nearest"][0]
    assert sent.value.post_data_json == {
        "question": UNKNOWN,
        "verdict": "wrong",
        "gold": [{"doc_id": nearest["doc_id"], "start": nearest["start"], "end": nearest["end"]}],
        "index": answer["run_notes"]["index"],
        "quoted": [],
    }
    expect(page.locator(".thanks")).to_contain_text("noted as wrong")


def test_a_wrong_abstention_without_a_sentence_is_not_stored(page: Page, service: Service) -> None:
    ask(page, service, UNKNOWN)
    page.get_by_role("button", name="Wrong, it is there").click()
    page.get_by_role("button", name="Send").click()
    expect(page.locator(".thanks")).to_contain_text(
        "It was not stored. Nothing was stored: say which sentence answers it."
    )
