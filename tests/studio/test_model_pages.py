"""The Model, Unit and Files views in a browser: by mouse, by keyboard, on a phone."""

import re

import pytest

import rational_anova as ra
from rational_anova.studio._workspace import Workspace
from rational_anova.studio.work import Job
from rational_anova.studio.work._reading import read

from .conftest import PHONE
from .test_models import table


@pytest.fixture(scope="module")
def hash_of_table(studio):
    """A table of the running studio that was read."""
    place = Workspace(studio.workspace)
    entry = place.add_table(table().to_csv(index=False).encode(), "houses <i>.csv")
    folder = place.table_folder(entry.hash)
    read(Job("r", folder, place.source(entry.hash), folder, entry.name, {}, id, lambda: False))
    return entry.hash


@pytest.fixture(scope="module")
def model(hash_of_table):
    """Where the address of the model is kept that the first test fits."""
    return {}


def near(page, locator, dy):
    """Drag the middle of an element up by some pixels."""
    box = locator.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.mouse.down()
    page.mouse.move(x, y - dy, steps=4)
    page.mouse.up()


def value(page, name):
    return page.inner_text(f"[data-testid={name}]")


def test_a_model_is_fitted_edited_and_asked(open_page, hash_of_table, model):
    page = open_page(f"/model/{hash_of_table}")
    assert "houses <i>.csv" in page.inner_text("h1")
    page.click("[data-testid=model-target]")
    page.click(".q-menu >> text=price")
    page.click("[data-testid=model-pairs]")
    page.click(".q-menu >> text=None: curves only")
    page.fill("[data-testid=model-limit]", "1")
    page.click("[data-testid=model-fit]")
    page.wait_for_url(re.compile(r"/model/\d{8}-"))
    page.wait_for_selector("[data-testid=model-scores] table", timeout=60_000)
    model["path"] = page.url.partition("/model")[1] + page.url.partition("/model")[2]

    page.click("[data-testid=tab-edit]")
    points = page.locator("[data-testid=edit-figure] .shapelayer path")
    points.nth(3).wait_for()
    near(page, points.nth(4), 50)
    assert (
        "rows get another prediction"
        in page.wait_for_selector("[data-testid=edit-moved]").inner_text()
    )
    page.fill("[data-testid=edit-reason]", "a <b>known</b> fault")
    page.click("[data-testid=edit-keep]")
    page.wait_for_selector("[data-testid=edit-history] >> text=a <b>known</b> fault")
    page.click("[data-testid=edit-undo]")
    page.wait_for_selector("[data-testid=edit-history] >> text=taken back")
    page.click("[data-testid=edit-redo]")
    page.wait_for_selector("[data-testid=edit-history] >> text=taken back", state="detached")

    page.click("[data-testid=tab-card]")
    page.wait_for_selector("[data-testid=model-card] >> text=a <b>known</b> fault")
    with page.expect_download() as got:
        page.click("[data-testid=export-ran]")
    assert ra.load(got.value.path()).edits_[0]["reason"].endswith("(a <b>known</b> fault)")


def test_the_keyboard_is_enough(open_page, model):
    page = open_page(model["path"] + "?tab=whatif")
    page.wait_for_selector("[data-testid=whatif-parts] .main-svg")
    before = value(page, "whatif-value")
    page.focus("[data-testid=whatif-0] [tabindex='0']")
    page.keyboard.press("PageUp")
    page.wait_for_function(
        "old => document.querySelector('[data-testid=whatif-value]').innerText != old", arg=before
    )
    page.focus("[data-testid=tab-edit]")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-testid=edit-raise]")
    page.focus("[data-testid=edit-raise] [tabindex='0']")
    page.keyboard.press("PageUp")
    page.wait_for_selector("[data-testid=edit-moved]")
    page.focus("[data-testid=edit-discard]")
    page.keyboard.press("Enter")
    page.wait_for_selector("[data-testid=edit-moved]", state="detached")


def test_two_pages_show_the_same_edits_and_fit_a_phone(open_page, model):
    desk, phone = (
        open_page(model["path"] + "?tab=edit"),
        open_page(model["path"] + "?tab=edit", PHONE),
    )
    for page in (desk, phone):
        page.wait_for_selector("[data-testid=edit-undo]:not([disabled])")
    assert phone.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    desk.click("[data-testid=edit-undo]")
    phone.wait_for_selector("[data-testid=edit-history] >> text=taken back")


def test_a_unit_on_sliders(open_page):
    page = open_page("/unit")
    page.wait_for_selector("[data-testid=unit-proof] table")
    before = value(page, "unit-formula")
    page.focus("[data-testid=unit-p1] [tabindex='0']")
    page.keyboard.press("ArrowRight")
    page.wait_for_function(
        "old => document.querySelector('[data-testid=unit-formula]').innerText != old", arg=before
    )
    page.click("[data-testid=unit-fit]")
    page.wait_for_selector("text=root mean square")


def test_files_are_opened_or_refused(open_page, studio, tmp_path, model):
    ra.save(ra.Rational1d(2), tmp_path / "unit.safetensors")
    page = open_page("/files")
    page.set_input_files("[data-testid=file] input[type=file]", tmp_path / "unit.safetensors")
    assert "Rational1d(2" in page.wait_for_selector("[data-testid=file-summary] pre").inner_text()
    page.wait_for_selector("img.picture")
    (tmp_path / "bad <i>.json").write_text("{}")
    page.goto(studio.address + "/files")
    page.set_input_files("[data-testid=file] input[type=file]", tmp_path / "bad <i>.json")
    said = page.wait_for_selector("[data-testid=file-opened] [role=alert]").inner_text()
    assert "bad <i>.json" in said
    assert str(studio.workspace) not in said
