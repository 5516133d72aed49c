"""Whole paths through the studio in a browser: from a table to a law, and what is done with it."""

import json

import pytest

from rational_anova.tables import demo_table

from .conftest import DESK, PHONE
from .test_work import SMALL

LONG = 40_000  # ms, for what a worker does on a busy machine


def drop(page, content, name="table.csv"):
    """Drop a file at the place of the start page."""
    page.set_input_files("[data-testid=drop] input[type=file]", {
        "name": name, "mimeType": "text/csv", "buffer": content,
    })  # fmt: skip


def find_law(page, limit=None):
    """Start the search for a law of the table that is shown."""
    page.click("[data-testid=find-law]", timeout=LONG)
    page.wait_for_url("**/law/*")


@pytest.fixture(scope="module")
def small_law(studio):
    """The address of the law of a small table, found once."""
    return {}


def test_the_demo_from_drop_to_law_to_export(open_page, studio):
    page = open_page("/")
    drop(page, demo_table(), "co2.csv")
    page.wait_for_selector("[data-testid=columns]", timeout=LONG)
    assert "P = f(T, V)" in page.inner_text("[data-testid=choice]")
    page.wait_for_selector("[data-testid=used] >> text=400 rows and 2 inputs", timeout=LONG)
    find_law(page)
    # while it runs: the best law so far, over the points
    page.wait_for_selector("[data-testid=best] [role=img]", timeout=LONG)
    page.wait_for_selector("[data-testid=live-figure] .main-svg")
    page.reload()  # in the middle of the run
    page.wait_for_selector("[data-testid=best] [role=img]", timeout=LONG)
    other = open_page(page.url.removeprefix(studio.address))  # and in a second tab
    other.wait_for_selector("[data-testid=best] [role=img]", timeout=LONG)
    # the first formula is the mean, and a search that ends with it has no law to show
    page.wait_for_selector("[data-testid=best] [role=img][aria-label*=V]", timeout=LONG)
    page.click("[data-testid=cancel]")
    for one in (page, other):
        one.wait_for_selector("[data-testid=law]", timeout=LONG)
        assert "best so far" in one.inner_text("[data-testid=ended]")
    assert "P" in page.get_attribute("[data-testid=law] [role=img]", "aria-label")
    page.wait_for_selector("[data-testid=slice] .main-svg")
    texts = {}
    for kind in ("report", "json", "python", "c", "latex"):
        with page.expect_download() as found:
            page.click(f"[data-testid=export-{kind}]")
        texts[kind] = found.value.path().read_text()
    assert texts["report"].startswith("<!DOCTYPE html>")
    assert json.loads(texts["json"])["kind"] == "law"
    assert "def law(T, V)" in texts["python"]
    assert "double law(double T, double V)" in texts["c"]
    assert "T" in texts["latex"]


def test_a_second_run_beside_the_first(open_page):
    page = open_page("/")
    page.click("[data-testid=paste-open]")
    page.fill("textarea[data-testid=paste], [data-testid=paste] textarea", SMALL.replace(",", "\t"))
    page.click("[data-testid=paste-use]")
    page.wait_for_selector("[data-testid=columns]", timeout=LONG)
    find_law(page)
    page.wait_for_selector("[data-testid=grade] >> text=established", timeout=LONG)
    first = page.url
    page.click("[data-testid=forbid-sin]")
    page.click("[data-testid=know-R]")
    page.click("[data-testid=search-beside]")
    page.wait_for_url(lambda url: url != first)
    page.wait_for_selector("[data-testid=apart] >> text=They are the same law", timeout=LONG)
    assert "no sin, R known" in page.inner_text("h1")
    # a formula of the front in the place of the law, and back
    if page.locator("[data-testid=front]").count():
        page.click("[data-testid=front] >> text=As a list")
        page.click("[data-testid=front-0]")
        page.click("[data-testid=back]")
    page.wait_for_selector("[data-testid=trust]")


def test_a_run_that_was_under_way_can_be_started_again(open_page):
    page = open_page("/law")
    page.click("text=law of nothing")
    assert "closed while this was under way" in page.inner_text("[data-testid=ended]")
    page.click("[data-testid=start-again]")
    page.wait_for_selector("[data-testid=ended] >> text=table", timeout=LONG)  # its table is gone


def test_hostile_tables_are_text(open_page):
    evil = "<script>document.title='x'</script>"
    page = open_page("/")
    rows = "\n".join(f"{k},{2 * k},<img src=x onerror=document.title='x'>" for k in range(1, 9))
    drop(page, f"{evil},<b>y</b>,$z$\n{rows}".encode(), f"{evil}.csv")
    page.wait_for_selector("[data-testid=used] >> text=8 rows", timeout=LONG)
    assert evil in page.inner_text("[data-testid=columns]")
    assert page.locator("main script, main img").count() == 0
    find_law(page)
    page.wait_for_selector("[data-testid=law]", timeout=LONG)
    page.wait_for_selector("[data-testid=slice] .main-svg")
    assert page.locator("main script, main img, main b").count() == 0
    assert page.title() == "Law - ran studio"


def test_tables_that_are_none(open_page):
    page = open_page("/")
    drop(page, b"", "empty.csv")
    page.wait_for_selector("text='empty.csv' is empty")
    drop(page, bytes(range(256)) * 20, "binary.csv")
    page.wait_for_selector("text=This table cannot be read", timeout=LONG)
    page.goto(page.url.rpartition("/table")[0] + "/table/0000000000000000")
    page.wait_for_selector("text=There is no such table")


def test_ten_thousand_columns(open_page):
    page = open_page("/")
    names = ",".join(f"c{k}" for k in range(10_000))
    rows = [",".join(str((k * r) % 7 + r) for k in range(10_000)) for r in range(3)]
    drop(page, "\n".join([names, *rows]).encode(), "wide.csv")
    page.wait_for_selector("[data-testid=columns]", timeout=LONG)
    assert page.locator(".column-row").count() == 25
    page.fill("input[data-testid=find], [data-testid=find] input", "c9999")
    page.wait_for_selector(".column-row >> text=c9999")


def test_the_keyboard_is_enough(open_page):
    page = open_page("/")

    def tab_to(testid, most=60):
        for _ in range(most):
            page.keyboard.press("Tab")
            found = "document.activeElement.closest('[data-testid]')?.dataset.testid"
            if page.evaluate(found) == testid:
                return
        raise AssertionError(f"{testid} cannot be reached")

    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the content"
    tab_to("nav-law")
    tab_to("demo")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-testid=find-law]", timeout=LONG)
    tab_to("find-law")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-testid=cancel]")
    tab_to("cancel")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-testid=law], [data-testid=ended]", timeout=LONG)
    tab_to("export-python")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_a_table_and_a_law_fit_the_width(open_page, size):
    page = open_page("/law", size)
    page.click("ul.links a >> text=law of rate")
    page.wait_for_selector("[data-testid=slice] .main-svg", timeout=LONG)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    page.goto(page.url.rpartition("/law")[0] + "/table")
    page.click("[data-testid=tables] a >> nth=-1")
    page.wait_for_selector("[data-testid=choice], .notice", timeout=LONG)
    assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
