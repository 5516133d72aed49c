"""README and docs: their Python blocks run, their links lead somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_python_blocks_run(page, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    blocks = BLOCK.findall(page.read_text())
    namespace = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), namespace)
    if page.name == "README.md":
        assert blocks


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text()):
        assert (page.parent / target).exists(), target


def test_every_deviation_in_the_code_is_listed():
    tags = [
        (path.name, line.split("NOTE[DIFF]")[1].strip())
        for path in (ROOT / "rational_anova").rglob("*.py")
        for line in path.read_text().splitlines()
        if "NOTE[DIFF]" in line
    ]
    listed = set(re.findall(r"`(_\w+\.py)`", (ROOT / "docs" / "deviations.md").read_text()))
    assert listed == {name for name, _ in tags}, "tags in the code and rows in the docs must agree"


@pytest.mark.parametrize("page", PAGES, ids=lambda p: p.name)
def test_tables_are_those_of_the_recorded_results(page):
    from experiments.tables import filled

    assert filled(page.read_text()) == page.read_text(), "run python -m experiments.tables"
