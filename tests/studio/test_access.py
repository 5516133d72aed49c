"""Accessibility: axe-core finds no serious fault, light and dark.

axe-core is taken from npm, for development only: `npm install --prefix build axe-core`, or the
file that the variable RAN_AXE names.
"""

import os
from pathlib import Path

import pytest

import rational_anova

ROOT = Path(rational_anova.__file__).parent.parent
AXE = Path(os.environ.get("RAN_AXE") or ROOT / "build/node_modules/axe-core/axe.min.js")
PAGES = ["/table", "/law", "/model", "/unit", "/files"]

pytestmark = pytest.mark.skipif(
    not AXE.exists(), reason="no axe-core here: npm install --prefix build axe-core"
)


def faults(page):
    """What axe-core calls serious or critical, with the first place of each."""
    page.wait_for_timeout(400)  # colours fade in
    page.evaluate(AXE.read_text())
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        (fault["id"], fault["nodes"][0]["html"][:200], fault["nodes"][0]["failureSummary"][:200])
        for fault in found["violations"]
        if fault["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_views_have_no_serious_fault(open_page, dark):
    page = open_page("/", dark=dark)
    base = page.url.rstrip("/")
    for path in PAGES:
        page.goto(base + path)
        page.wait_for_selector("main.page h1")
        assert faults(page) == [], path


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_a_table_and_a_law_have_no_serious_fault(open_page, dark):
    page = open_page("/", dark=dark)
    page.click("[data-testid=demo]")
    page.wait_for_selector("[data-testid=used] >> text=400 rows", timeout=40_000)
    assert faults(page) == []
    page.goto(page.url.partition("/table")[0] + "/law")
    page.click("ul.links a >> text=law of >> nth=0")
    page.wait_for_selector("[data-testid=law], [data-testid=live], .notice", timeout=40_000)
    assert faults(page) == []
