from __future__ import annotations

import pytest
from playwright.sync_api import Page, expect

from .service import Service
from .town import CITED, FENCE
from .visiting import ask, quotes


def test_type_and_tag_filters_ask_again_and_can_be_taken_back(page: Page, service: Service) -> None:
    ask(page, service, FENCE)
    expect(quotes(page)).to_have_count(2)
    page.get_by_text("Filters").click()
    page.get_by_role("checkbox", name="amendment 1").check()
    expect(page.locator("ol.quotes .words")).to_have_text(
        ["A fence in a rear yard shall not exceed six feet in height."]
    )
    page.get_by_role("checkbox", name="fences").check()
    expect(page.locator(".chip")).to_contain_text(["amendment", "fences"])
    assert "type=amendment&tag=topic%3Afences" in page.url
    page.get_by_role("button", name="Remove the filter type").click()
    expect(quotes(page)).to_have_count(2)
    expect(page.get_by_role("button", name="Remove the filter topic")).to_be_focused()
    expect(page.get_by_role("checkbox", name="amendment 1")).not_to_be_checked()
    page.go_back()
    expect(page.get_by_role("checkbox", name="amendment 1")).to_be_checked()
    page.get_by_role("button", name="Clear all").click()
    expect(page.locator(".chip")).to_have_count(0)


def test_a_document_is_found_by_its_title_and_searched_alone(page: Page, service: Service) -> None:
    ask(page, service, FENCE)
    page.get_by_text("Filters").click()
    documents = page.locator(".picker").get_by_role("checkbox")
    expect(documents).to_have_count(6)
    page.get_by_label("Find a document").fill("city")
    expect(documents).to_have_count(1)
    page.get_by_role("checkbox", name="City Code").check()
    expect(page.locator("ol.quotes .words")).to_contain_text(["seven feet"])
    expect(page.locator(".chip")).to_contain_text("City Code")
    page.get_by_label("Find a document").fill("nothing of the kind")
    expect(page.locator(".picker")).to_contain_text("No document has that in its title or id.")


@pytest.mark.parametrize(("day", "feet"), [("2010-01-01", "five feet"), ("2019-01-01", "seven feet")])
def test_a_question_is_answered_as_of_a_day(page: Page, service: Service, day: str, feet: str) -> None:
    ask(page, service, FENCE)
    page.get_by_text("Filters").click()
    page.get_by_label("Day").fill(day)
    expect(page.locator("ol.quotes")).to_contain_text(feet)
    expect(page.locator("ol.quotes")).not_to_contain_text("six feet")
    assert f"as_of={day}" in page.url


def test_a_part_beside_the_text_is_asked_by_its_name(page: Page, service: Service) -> None:
    ask(page, service, "Which work of 2014 is on roofs of slate in rainy towns?")
    expect(page.locator(".outcome")).not_to_contain_text(CITED)
    page.get_by_text("Filters").click()
    page.get_by_role("checkbox", name="references").check()
    expect(page.locator(".outcome .words").first).to_have_text(CITED)
    assert "regions=references" in page.url
    expect(page.locator(".chip")).to_contain_text("references")
    page.get_by_role("button", name="Remove the filter beside the text").click()
    expect(page.locator(".outcome")).not_to_contain_text(CITED)
