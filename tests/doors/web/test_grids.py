from __future__ import annotations

from pathlib import Path

from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Page, expect

from ..command_line import MINILM, run
from .conftest import NewPage
from .service import Service
from .town import QUOTED, ROOF, Town
from .visiting import has_no_sideways_scroll

NOWHERE = "Who won the chess tournament of 1912?"


def _make(page: Page, service: Service) -> None:
    page.goto(f"{service.url}/?view=grid")
    page.get_by_label("Questions, one on each line").fill(f"{ROOF}\n\n{NOWHERE}\n")
    page.get_by_role("button", name="Make the grid").click()
    expect(page.locator("table.grid tbody tr")).to_have_count(6)


def test_a_grid_is_made_and_a_cell_opens_its_quote_in_the_document(page: Page, service: Service) -> None:
    _make(page, service)

    assert page.locator("table.grid thead th").all_inner_texts() == ["Document", ROOF, NOWHERE]
    expect(page.locator(".grid-head")).to_contain_text("6 documents, 2 questions")
    cell = page.locator("table.grid td a").filter(has_text=QUOTED)
    cell.click()
    expect(page.locator("#reader mark")).to_have_text(QUOTED)
    page.keyboard.press("Escape")
    expect(page.locator("#reader")).to_be_hidden()
    expect(cell).to_be_focused()
    expect(page.locator("table.grid td em").first).to_have_text("not stated")
    made = page.url
    page.get_by_role("button", name="All grids").click()
    page.get_by_role("button", name="6 documents, 2 questions").first.click()
    expect(page.locator("table.grid tbody tr")).to_have_count(6)
    page.goto(made)
    expect(page.locator("table.grid tbody tr")).to_have_count(6)


def test_a_grid_is_downloaded_as_the_command_writes_it(
    new_page: NewPage, service: Service, town: Town, tmp_path: Path
) -> None:
    page = new_page()
    _make(page, service)
    (tmp_path / "q.txt").write_text(f"{ROOF}\n{NOWHERE}\n", encoding="utf-8")
    assert run("grid", tmp_path / "q.txt", "--index", town.index, "-o", tmp_path / "g.csv", variables=MINILM).code == 0

    with page.expect_download() as downloading:
        page.get_by_role("button", name="CSV").click()

    assert downloading.value.suggested_filename == "grid.csv"
    assert Path(downloading.value.path()).read_bytes() == (tmp_path / "g.csv").read_bytes()


def test_what_cannot_be_asked_is_told(new_page: NewPage, service: Service) -> None:
    page = new_page(allowed="404 (Not Found)")
    page.goto(f"{service.url}/?view=grid")
    page.get_by_label("Questions, one on each line").fill(ROOF)
    page.get_by_label("Documents: ids").fill("nowhere/*.pdf")
    page.get_by_role("button", name="Make the grid").click()

    expect(page.locator(".problem")).to_contain_text("no document 'nowhere/*.pdf'")
    page.get_by_label("Documents: ids").fill("*.md")
    page.get_by_role("button", name="Make the grid").click()
    expect(page.locator("table.grid")).to_be_visible()


def test_the_grid_can_be_used_by_everybody(new_page: NewPage, service: Service) -> None:
    for options in ({"color_scheme": "light"}, {"color_scheme": "dark", "viewport": {"width": 375, "height": 700}}):
        page = new_page(**options)
        _make(page, service)
        page.get_by_role("button", name=ROOF).click()
        page.get_by_label("Cells").select_option("stated")

        assert has_no_sideways_scroll(page)
        assert not [found["id"] for found in Axe().run(page).response["violations"]]


def test_a_grid_is_filtered_and_the_page_says_how_much_is_left(page: Page, service: Service) -> None:
    _make(page, service)
    rows, shown = page.locator("table.grid tbody tr:visible"), page.get_by_role("status").filter(has_text="of 6")

    expect(shown).to_have_text("6 of 6 documents")
    page.get_by_label("Find").fill("roof")
    expect(shown).to_have_text(f"{rows.count()} of 6 documents")
    assert 0 < rows.count() < 6
    page.get_by_label("Find").fill("zebra")
    expect(shown).to_have_text("0 of 6 documents")
    page.get_by_label("Find").fill("")
    page.get_by_label("Cells").select_option("stated")
    expect(page.locator("table.grid td:not(.out) em")).to_have_count(0)
    expect(shown).to_have_text(f"{page.locator('tr:has(td:not(.out)):visible').count()} of 6 documents")
    page.get_by_label("Cells").select_option("")
    page.get_by_label("Confidence at least").fill("100")
    expect(shown).to_have_text("0 of 6 documents")
    page.get_by_label("Confidence at least").fill("0")
    page.get_by_label("Questions", exact=True).fill("chess")
    expect(page.locator("table.grid thead th:visible")).to_have_text(["Document", NOWHERE])
    expect(shown).to_have_text("6 of 6 documents")


def test_a_grid_is_sorted_with_the_keyboard_by_confidence_and_by_name(page: Page, service: Service) -> None:
    _make(page, service)
    rows, heads = page.locator("table.grid tbody tr"), page.locator("table.grid thead th")
    names = rows.locator("th").all_inner_texts()

    page.get_by_role("button", name=ROOF).press("Enter")
    expect(heads.nth(1)).to_have_attribute("aria-sort", "descending")
    expect(rows.first.locator("td").first).to_contain_text(QUOTED)
    page.keyboard.press("Enter")
    expect(heads.nth(1)).to_have_attribute("aria-sort", "ascending")
    expect(rows.last.locator("td").first).to_contain_text(QUOTED)
    page.get_by_role("button", name="Document", exact=True).press("Space")
    expect(heads.first).to_have_attribute("aria-sort", "ascending")
    expect(page.locator("table.grid [aria-sort]")).to_have_count(1)
    assert rows.locator("th").all_inner_texts() == sorted(names, key=str.lower)


def test_the_arrow_keys_pass_over_cells_that_are_filtered_out(page: Page, service: Service) -> None:
    _make(page, service)
    page.get_by_role("button", name=ROOF).click()
    cells = page.locator("table.grid tbody td:first-of-type")

    cells.first.locator("a").focus()
    page.keyboard.press("ArrowDown")
    expect(cells.nth(1).locator("a")).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.get_by_label("Cells").select_option("stated")
    cells.first.locator("a").focus()
    page.keyboard.press("ArrowRight")
    expect(cells.first.locator("a")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#reader mark")).to_have_text(QUOTED)
    page.keyboard.press("Escape")
    expect(cells.first.locator("a")).to_be_focused()
    expect(page.get_by_label("Cells")).to_have_value("stated")


def test_the_heads_of_a_grid_stay_in_view(new_page: NewPage, service: Service) -> None:
    page = new_page(viewport={"width": 700, "height": 500})
    _make(page, service)

    page.locator("table.grid tbody tr").last.locator("td a").last.focus()
    region, head, cell = (
        page.locator(place).last.bounding_box()
        for place in (".grid-scroll", "table.grid thead th", "table.grid tbody tr:last-child td:last-child")
    )
    corner = page.get_by_role("button", name="Document", exact=True).bounding_box()

    assert region and head and cell and corner
    assert head["y"] - region["y"] <= 1
    assert (corner["x"] - region["x"], corner["y"] - region["y"]) <= (1, 1)
    assert cell["x"] >= corner["x"] + corner["width"] - 1
    assert cell["y"] >= head["y"] + head["height"] - 1


def test_the_page_of_a_grid_works_without_a_service(new_page: NewPage, town: Town, tmp_path: Path) -> None:
    (tmp_path / "q.txt").write_text(f"{ROOF}\n{NOWHERE}\n", encoding="utf-8")
    output = tmp_path / "grid.html"
    assert run("grid", tmp_path / "q.txt", "--index", town.index, "-o", output, variables=MINILM).code == 0
    page = new_page(viewport={"width": 1280, "height": 800})
    page.goto(output.as_uri())

    rows = page.locator("tbody tr:visible")
    expect(page.locator("#shown")).to_have_text("6 of 6 documents")
    page.get_by_role("button", name=ROOF).click()
    expect(rows.first.locator("td").first).to_contain_text(QUOTED)
    page.get_by_label("Cells").select_option("stated")
    expect(page.locator("td:not(.out) b")).to_have_count(0)
    page.get_by_label("Cells").select_option("")
    page.get_by_label("Find").fill("roof")
    assert 0 < rows.count() < 6
    page.get_by_label("Find").fill("")
    page.get_by_label("Questions").fill("chess")
    expect(page.locator("thead th:visible")).to_have_count(2)
    page.get_by_label("Questions").fill("")
    rows.first.locator("td button").first.focus()
    page.keyboard.press("ArrowDown")
    expect(rows.nth(1).locator("td button").first).to_be_focused()
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog", name=ROOF)).to_be_visible()
    expect(page.locator("dialog mark").first).to_have_text(QUOTED)
    page.keyboard.press("Escape")
    expect(rows.first.locator("td button").first).to_be_focused()
    assert not [found["id"] for found in Axe().run(page).response["violations"]]
