from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Route, expect

from .conftest import NewPage
from .service import Service, new_key
from .town import QUOTED, ROOF
from .visiting import ask, await_outcome, sign_in

REFUSED = "the server responded with a status of"
"""How Chromium reports each refused request, whatever the page makes of it."""


def test_a_key_is_asked_for_kept_for_the_tab_and_forgotten(new_page: NewPage, keyed: Service) -> None:
    page = new_page(allowed=REFUSED)
    page.goto(f"{keyed.url}/?q={ROOF}")
    dialog = page.get_by_role("dialog", name="An API key is needed")
    expect(page.get_by_label("API key", exact=True)).to_be_focused()
    page.keyboard.type("quoth_00000000_wrong")
    page.keyboard.press("Enter")
    expect(dialog).to_contain_text("does not accept the key")
    page.get_by_label("API key", exact=True).fill(keyed.token or "")
    page.keyboard.press("Enter")
    await_outcome(page)
    expect(page.locator(".words")).to_have_text(QUOTED)
    assert page.evaluate("[localStorage.length, sessionStorage.length]") == [1, 1]
    page.reload()
    await_outcome(page)
    page.get_by_role("button", name="Forget key").click()
    assert page.evaluate("sessionStorage.length") == 0
    page.get_by_role("button", name="Ask").click()
    expect(dialog).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.locator(".problem")).to_contain_text("A key is needed")
    page.get_by_role("button", name="Try again").click()
    expect(dialog).to_be_visible()


def test_a_key_that_may_only_read_cannot_upload(new_page: NewPage, keyed: Service, keyed_state: Path) -> None:
    page = new_page(allowed=REFUSED)
    sign_in(page, keyed, new_key(keyed_state))
    page.get_by_role("link", name="Documents").click()
    expect(page.locator(".documents > li")).to_have_count(6)
    expect(page.get_by_label("Choose files")).to_have_count(0)
    expect(page.get_by_role("button", name="Remove")).to_have_count(0)


def test_too_many_requests_are_explained_with_the_time_to_wait(
    new_page: NewPage, keyed: Service, keyed_state: Path
) -> None:
    page = new_page(allowed=REFUSED)
    sign_in(page, keyed, new_key(keyed_state, "--per-minute", "1"))
    page.get_by_label("Question", exact=True).fill(ROOF)
    page.keyboard.press("Enter")
    problem = page.locator(".problem")
    expect(problem.get_by_role("heading")).to_have_text("Too many requests")
    expect(problem).to_contain_text("Try again in ")
    expect(problem.get_by_role("button", name="Try again")).to_be_disabled()


def test_a_lost_connection_is_told_and_retried(new_page: NewPage, service: Service) -> None:
    page = new_page(allowed="net::ERR_INTERNET_DISCONNECTED")
    ask(page, service, ROOF)
    page.context.set_offline(True)
    page.get_by_label("Question", exact=True).fill("Which colours should roofs have?")
    page.keyboard.press("Enter")
    expect(page.locator(".problem")).to_contain_text("This device is offline.")
    page.context.set_offline(False)
    page.get_by_role("button", name="Try again").click()
    await_outcome(page)


def test_a_busy_and_a_failing_service_are_told_apart(new_page: NewPage, service: Service) -> None:
    page = new_page(allowed=REFUSED)
    busy = '{"error": {"code": "busy", "message": "Too much is waiting.", "hint": "Ask later."}}'
    replies = [(500, "no JSON", {}), (503, busy, {"Retry-After": "1"})]

    def refuse(route: Route) -> None:
        status, body, headers = replies.pop()
        route.fulfill(status=status, body=body, headers=headers)

    page.route("**/answer", refuse, times=2)
    page.goto(f"{service.url}/?q={ROOF}")
    problem = page.locator(".problem")
    expect(problem).to_contain_text("The service is busy")
    expect(problem).to_contain_text("Too much is waiting. Ask later. Try again in 1 second.", use_inner_text=True)
    problem.get_by_role("button", name="Try again").click()
    expect(problem).to_contain_text("The service failed")
    problem.get_by_role("button", name="Try again").click()
    await_outcome(page)
