from __future__ import annotations

import re
from urllib.parse import quote_plus

from playwright.sync_api import Locator, Page, expect

from .conftest import NewPage
from .service import Service
from .town import FENCE, POOL, QUOTED, ROOF, SEED
from .visiting import ask, open_quote, quotes


def test_the_marked_text_is_the_slice_of_the_document(page: Page, service: Service) -> None:
    ask(page, service, ROOF)
    reader = open_quote(page, 0)
    quote = service.answer(ROOF)["answer_sentences"][0]
    span = service.get("/documents/guidelines.md/span", start=quote["start"], end=quote["end"], around=800)
    assert reader.locator("mark").text_content() == span["quote"] == QUOTED
    assert reader.locator(".doc-text").text_content() == span["before"] + span["quote"] + span["after"]
    expect(reader.locator("h2")).to_have_text("Design Guidelines")
    expect(reader.locator(".badge")).to_have_text("guidance")
    assert f"doc=guidelines.md&start={quote['start']}&end={quote['end']}" in page.url


def test_more_of_the_document_is_loaded_on_demand(page: Page, service: Service) -> None:
    ask(page, service, ROOF)
    reader = open_quote(page, 0)
    before = len(reader.locator(".doc-text").text_content() or "")
    reader.get_by_role("button", name="More below").click()
    expect(reader.get_by_role("button", name="More below")).to_have_count(0)
    assert len(reader.locator(".doc-text").text_content() or "") > before
    assert reader.locator("mark").text_content() == QUOTED


def test_escape_closes_the_reader_and_returns_to_the_quote(page: Page, service: Service) -> None:
    ask(page, service, FENCE)
    open_quote(page, 1)
    page.keyboard.press("Escape")
    expect(page.locator("#reader")).not_to_be_visible()
    expect(quotes(page).nth(1).locator("a.open")).to_be_focused()
    assert "doc=" not in page.url
    page.go_forward()
    expect(page.locator("#reader mark")).to_be_visible()
    page.go_back()
    expect(page.locator("#reader")).not_to_be_visible()
    expect(quotes(page)).to_have_count(2)


def test_one_quote_after_another_is_opened_beside_the_answer(page: Page, service: Service) -> None:
    ask(page, service, FENCE)
    reader = open_quote(page, 0)
    assert not reader.evaluate("dialog => dialog.matches(':modal')")
    quoted = service.answer(FENCE)["answer_sentences"]
    first, second = (service.get(f"/documents/{quote['doc_id']}") for quote in quoted)
    expect(reader.locator("h2")).to_have_text(first["title"])
    quotes(page).nth(1).locator("a.open").click()
    expect(reader.locator("h2")).to_have_text(second["title"])
    page.go_back()
    expect(reader).not_to_be_visible()


def test_a_companion_opens_at_its_own_place(page: Page, service: Service) -> None:
    ask(page, service, POOL)
    page.locator(".companion a.open").click()
    expect(page.locator("#reader mark")).to_have_text("However, a covered swimming pool may stay filled.")


def test_a_link_to_a_place_that_is_not_there_is_answered_in_words(new_page: NewPage, service: Service) -> None:
    page = new_page(allowed="404 (Not Found)")
    page.goto(f"{service.url}/?doc=gone.md&start=3&end=9")
    problem = page.locator("#reader .problem")
    expect(problem.get_by_role("heading")).to_have_text("Not found")
    expect(problem.get_by_role("button", name="Try again")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    expect(page.locator("#reader")).not_to_be_visible()
    expect(page.get_by_label("Question", exact=True)).to_be_focused()


def test_a_link_names_the_text_that_it_was_made_of(page: Page, service: Service) -> None:
    ask(page, service, ROOF)
    quote = service.answer(ROOF)["answer_sentences"][0]
    sha = f"sha={quote['doc_sha256'][:16]}"
    assert sha in (quotes(page).first.locator("a.open").first.get_attribute("href") or "")
    requests: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    reader = open_quote(page, 0)
    assert sha in page.url
    assert [url for url in requests if "/span?" in url and sha.replace("sha=", "sha256=") in url]
    page.reload()
    expect(reader.locator("mark")).to_have_text(QUOTED)
    page.goto(f"{service.url}/?doc=guidelines.md&start={quote['start']}&end={quote['end']}")
    expect(reader.locator("mark")).to_have_text(QUOTED)


def test_a_link_into_a_document_that_was_replaced_marks_nothing(new_page: NewPage, service: Service) -> None:
    page = new_page(allowed="409 (Conflict)")
    place = "doc=guidelines.md&start=12&end=30&sha=0123456789abcdef"
    page.goto(f"{service.url}/?q={quote_plus(ROOF)}&{place}")
    problem = page.locator("#reader .problem")
    expect(problem.get_by_role("heading")).to_have_text("The document has changed")
    expect(problem).to_contain_text("other words")
    expect(page.locator("#reader mark")).to_have_count(0)
    with page.expect_request("**/answer"):
        problem.get_by_role("button", name="Ask again").click()
    expect(page.locator("#reader")).not_to_be_visible()
    expect(quotes(page).first).to_contain_text(QUOTED)

    page.goto(f"{service.url}/?{place}")
    problem.get_by_role("button", name="Ask again").click()
    expect(page.locator("#reader")).not_to_be_visible()
    expect(page.get_by_label("Question", exact=True)).to_be_focused()
    assert "in=guidelines.md" in page.url


def test_a_picture_of_a_page_that_was_replaced_gets_no_boxes(new_page: NewPage, service: Service) -> None:
    page = new_page(allowed="409 (Conflict)")
    ask(page, service, SEED)
    reader = open_quote(page, 0)
    replaced = {"error": {"code": "document-changed", "message": "it has changed", "hint": "Ask again."}}
    page.route("**/pages/**", lambda route: route.fulfill(status=409, json=replaced))
    with page.expect_request(re.compile(r"/pages/1\?.*sha256=[0-9a-f]{16}")):
        reader.get_by_role("button", name="Page").click()
    expect(reader.locator(".problem").get_by_role("heading")).to_have_text("The document has changed")
    expect(reader.locator(".box")).to_have_count(0)
    expect(reader.locator("mark")).to_have_count(0)


def test_the_page_of_a_pdf_has_boxes_over_the_quoted_words(page: Page, service: Service) -> None:
    ask(page, service, SEED)
    quote = service.answer(SEED)["answer_sentences"][0]
    span = service.get("/documents/handbook.pdf/span", start=quote["start"], end=quote["end"])
    (sheet,) = span["pages"]
    reader = open_quote(page, 0)
    reader.get_by_role("button", name="Page").click()
    picture = reader.get_by_role("img", name="Page 1 of Storage Handbook of the Larch Hollow Cooperative")
    expect(picture).to_be_visible()
    picture.evaluate("image => image.decode()")
    drawn = _box(picture)
    boxes = reader.locator(".box")
    expect(boxes).to_have_count(len(sheet["boxes"]))
    for i, wanted in enumerate(sheet["boxes"]):
        box = _box(boxes.nth(i))
        assert abs((box["x"] - drawn["x"]) / drawn["width"] - wanted["left"] / sheet["width"]) < 0.01
        assert abs((box["y"] - drawn["y"]) / drawn["height"] - wanted["top"] / sheet["height"]) < 0.01
        assert abs(box["width"] / drawn["width"] - (wanted["right"] - wanted["left"]) / sheet["width"]) < 0.01
        assert abs(box["height"] / drawn["height"] - (wanted["bottom"] - wanted["top"]) / sheet["height"]) < 0.01
    assert _ink(picture, sheet["boxes"][0], sheet) > 0.02, "there are no words under the box"
    reader.get_by_role("button", name="Text").click()
    assert reader.locator("mark").text_content() == quote["text"]


def _box(node: Locator) -> dict[str, float]:
    box = node.bounding_box()
    assert box is not None
    return {"x": box["x"], "y": box["y"], "width": box["width"], "height": box["height"]}


def _ink(picture: Locator, box: dict[str, float], sheet: dict[str, float]) -> float:
    """The part of dark points in a box of the picture as it is drawn."""
    part: float = picture.evaluate(
        """(image, [left, top, right, bottom]) => {
            const canvas = document.createElement("canvas");
            const [x, y] = [left * image.naturalWidth, top * image.naturalHeight];
            canvas.width = (right - left) * image.naturalWidth;
            canvas.height = (bottom - top) * image.naturalHeight;
            const context = canvas.getContext("2d");
            context.drawImage(image, -x, -y);
            const points = context.getImageData(0, 0, canvas.width, canvas.height).data;
            let dark = 0;
            for (let i = 0; i < points.length; i += 4) dark += points[i] < 128;
            return dark / (points.length / 4);
        }""",
        [
            box["left"] / sheet["width"],
            box["top"] / sheet["height"],
            box["right"] / sheet["width"],
            box["bottom"] / sheet["height"],
        ],
    )
    return part
