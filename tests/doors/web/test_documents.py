from __future__ import annotations

from pathlib import Path

from playwright.sync_api import Page, expect

from .conftest import NewPage
from .service import Service, serving
from .visiting import ask, sent_file, sign_in

FERRET = "A ferret shall be kept on a leash of four feet."


def test_documents_are_uploaded_asked_and_removed(new_page: NewPage, keyed: Service) -> None:
    page = new_page(allowed="401 (Unauthorized)")
    sign_in(page, keyed, keyed.token or "")
    page.get_by_role("link", name="Documents").click()
    expect(page.locator(".documents > li")).to_have_count(6)
    page.get_by_label("Choose files").set_input_files(
        [sent_file("ferrets.md", f"# Pets\n\n{FERRET}\n".encode()), sent_file("broken.pdf", b"%PDF-1.4 this is no PDF")]
    )
    rows = page.locator(".upload-rows > li")
    expect(rows).to_have_count(2)
    rows.nth(0).get_by_label("Title").fill("Pet Rules")
    rows.nth(0).get_by_label("Document type").fill("guidelines")
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(rows.nth(0)).to_contain_text("Ready: it can be asked about now.", timeout=60_000)
    expect(rows.nth(1).locator(".failed")).to_contain_text("Not uploaded.", timeout=60_000)
    expect(page.locator(".documents")).to_contain_text("Pet Rules")
    expect(page.locator("#library-count")).to_have_text("7 documents")

    page.get_by_role("button", name="Ask within Pet Rules").click()
    expect(page.get_by_label("Question", exact=True)).to_be_focused()
    page.keyboard.type("How long may the leash of a ferret be?")
    page.keyboard.press("Enter")
    expect(page.locator("ol.quotes .words")).to_have_text(FERRET)
    expect(page.locator("ol.quotes cite")).to_have_text("Pet Rules, Pets")

    page.get_by_role("link", name="Documents").click()
    page.get_by_role("button", name="Remove Pet Rules").click()
    expect(page.get_by_role("dialog", name="Remove this document?")).to_contain_text("Pet Rules")
    said = "the next ingest of that folder brings it back"
    expect(page.get_by_role("dialog", name="Remove this document?")).to_contain_text(said)
    page.keyboard.press("Escape")
    expect(page.get_by_role("button", name="Remove Pet Rules")).to_be_focused()
    page.get_by_role("button", name="Remove Pet Rules").click()
    page.get_by_role("button", name="Remove", exact=True).click()
    expect(page.locator("#library-count")).to_have_text("6 documents", timeout=60_000)
    expect(page.locator("#library-count")).to_be_focused()
    expect(page.locator(".documents")).not_to_contain_text("Pet Rules")


def test_dropped_files_wait_to_be_uploaded(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/?view=documents")
    page.locator(".drop").evaluate(
        """zone => {
            const carried = new DataTransfer();
            carried.items.add(new File(["# A"], "a.md"));
            zone.dispatchEvent(new DragEvent("drop", { dataTransfer: carried, bubbles: true, cancelable: true }));
        }"""
    )
    row = page.locator(".upload-rows > li")
    expect(row).to_contain_text("a.md")
    expect(row.get_by_label("Title")).to_be_focused()
    row.get_by_role("button", name="Do not upload a.md").click()
    expect(row).to_have_count(0)


def test_a_file_of_an_unknown_kind_is_refused_with_a_hint(new_page: NewPage, service: Service) -> None:
    page = new_page(allowed="415 (Unsupported Media Type)")
    page.goto(f"{service.url}/?view=documents")
    page.get_by_label("Choose files").set_input_files(sent_file("x.exe", b"MZ"))
    page.get_by_role("button", name="Upload", exact=True).click()
    expect(page.locator(".failed")).to_contain_text("Readable are: .md")
    expect(page.get_by_label("Document id")).to_have_value("x.exe")


def test_a_question_keeps_its_answer_while_documents_are_looked_at(page: Page, service: Service) -> None:
    ask(page, service, "Which colour should roofs be?")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    page.get_by_role("link", name="Documents").click()
    expect(page.locator(".documents > li")).to_have_count(6)
    expect(page.get_by_role("heading", name="Documents", exact=True)).to_be_focused()
    page.get_by_role("link", name="Ask", exact=True).click()
    expect(page.locator(".outcome")).to_be_visible()
    assert not [url for url in asked if url.endswith("/answer")]


def test_the_first_document_of_a_new_service_is_uploaded(new_page: NewPage, tmp_path: Path) -> None:
    page = new_page(allowed="503 (Service Unavailable)")
    with serving(tmp_path / "index", tmp_path / "state", tmp_path / "log", token=None, is_new=True) as new:
        page.goto(new.url)
        expect(page.locator(".stats")).to_contain_text("There are no documents yet.")
        page.get_by_role("link", name="Documents").click()
        page.get_by_label("Choose files").set_input_files(sent_file("ferrets.md", f"# Pets\n\n{FERRET}\n".encode()))
        page.get_by_role("button", name="Upload", exact=True).click()
        expect(page.locator("#library-count")).to_have_text("1 document", timeout=60_000)
        page.get_by_role("link", name="Ask", exact=True).click()
        page.keyboard.type("How long may the leash of a ferret be?")
        page.keyboard.press("Enter")
        expect(page.locator("ol.quotes .words")).to_have_text(FERRET)
