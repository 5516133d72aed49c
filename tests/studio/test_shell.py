"""The frame of the pages: navigation, colours, phone and desk."""

import pytest

from .conftest import DESK, PHONE

VIEWS = ("table", "law", "model", "unit", "files")


@pytest.mark.parametrize("size", [DESK, PHONE], ids=["desk", "phone"])
def test_every_view_opens_and_fits_the_width(open_page, size):
    page = open_page("/", size)
    for name in VIEWS:
        page.click(f"[data-testid=nav-{name}]")
        page.wait_for_url(f"**/{name}")
        page.wait_for_selector(f"[data-testid=nav-{name}][aria-current=page]")
        page.wait_for_selector("main.page h1")
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]


def test_the_colours_are_kept(open_page):
    page = open_page("/")
    button = page.locator("[data-testid=theme]")
    for name in ("light", "dark"):
        button.click()
        page.wait_for_selector(f"[aria-label='Colours: {name}']")
    assert "body--dark" in page.get_attribute("body", "class")
    page.reload()
    page.wait_for_selector("body.body--dark")
    button.click()
    page.wait_for_selector("[aria-label='Colours: auto']")
