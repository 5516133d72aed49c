"""README, docs and llms.txt: their Python blocks run, their links lead somewhere, they leave nothing out.

Notebooks (`code-cell`) and the gallery run when the site is built, and not here.
"""

import importlib
import inspect
import re
import sys
from pathlib import Path

import matplotlib.pyplot as plt
import pytest

import rational_anova as ra
from experiments.tables import filled
from rational_anova.functional import BASES, DENOMINATORS
from rational_anova.units import unregister

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"
MADE = {DOCS / "gallery"}  # by the build
PAGES = [
    ROOT / "README.md",
    *sorted(p for p in DOCS.rglob("*.md") if not MADE & set(p.parents)),
]
WITH_CODE = [*PAGES, ROOT / "llms.txt"]
BLOCK = re.compile(r"^```python\n(.*?)^```", re.M | re.S)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")


def name(page):
    return str(page.relative_to(ROOT))


@pytest.fixture
def own_units():
    """Forget what a page registers: other tests go through all there are."""
    known = {*DENOMINATORS, *BASES}
    yield
    for name in {*DENOMINATORS, *BASES} - known:
        unregister(name)


@pytest.mark.parametrize("page", [p for p in WITH_CODE if BLOCK.search(p.read_text())], ids=name)
def test_python_blocks_run(page, monkeypatch, tmp_path, own_units):
    monkeypatch.chdir(tmp_path)
    namespace = {}
    for block in BLOCK.findall(page.read_text()):
        exec(compile(block, page.name, "exec"), namespace)
    plt.close("all")


def test_readme_has_code():
    assert len(BLOCK.findall(WITH_CODE[0].read_text())) >= 3


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    made = [DOCS / "gallery" / "index.md", DOCS / "gallery" / "index"]
    for target in LINK.findall(page.read_text()):
        found = (page.parent / target).resolve()
        assert found.exists() or found in made, target


def test_every_deviation_in_the_code_is_listed():
    tags = [
        (path.name, line.split("NOTE[DIFF]")[1].strip())
        for path in (ROOT / "rational_anova").rglob("*.py")
        for line in path.read_text().splitlines()
        if "NOTE[DIFF]" in line
    ]
    page = (DOCS / "results" / "deviations.md").read_text()
    listed = set(re.findall(r"`(_\w+\.py)`", page))
    assert listed == {name for name, _ in tags}, "tags in the code and rows in the docs must agree"


def test_tables_are_those_of_the_recorded_results():
    for page in PAGES:
        text = page.read_text()
        if "<!-- table: " in text:
            assert filled(text) == text, f"{name(page)}: run python -m experiments.tables"


def test_numbers_beside_the_papers_claims_stand_on_the_pages_they_name():
    page = DOCS / "results" / "paper.md"
    section = ""
    for line in page.read_text().splitlines():
        if line.startswith("Percent on"):  # the first table has one page for all its rows
            section = LINK.findall(page.read_text().split(line)[1])[0]
        cells = [cell.strip() for cell in line.strip("|").split(" | ")]
        links = LINK.findall(line)
        if not line.startswith("| ") or cells[0] in ("claim", "data, parameters"):
            continue
        if len(cells) == 6:
            ours, where = f"{cells[2]} {cells[3]} {cells[5]}", section
        else:
            ours, where = cells[2], links[-1]
        text = (page.parent / where).read_text()
        for number in re.findall(r"\d[\d,]*\.\d+(?:e[-+]\d+)?|\d+e[-+]\d+|\d+,\d+", ours):
            assert number.rstrip(",") in text, f"{number} of {cells[0]!r} is not in {where}"


def test_every_public_name_has_its_place_in_the_reference():
    pages = "".join(page.read_text() for page in (DOCS / "reference").glob("*.md"))
    words = set(re.findall(r"\w+", pages))
    public = {each for each in ra.__all__ if not inspect.ismodule(getattr(ra, each))}
    assert public <= words, public - words


@pytest.fixture
def extension(monkeypatch):
    """Return a module of the site by name, forgotten after the test."""
    monkeypatch.syspath_prepend(DOCS / "_extensions")
    before = set(sys.modules)
    yield importlib.import_module
    for each in set(sys.modules) - before:
        if "_extensions" in str(getattr(sys.modules[each], "__file__", "")):
            del sys.modules[each]


def test_parameters_of_the_reference_are_in_groups(extension):
    groups = extension("parameter_groups").GROUPS
    for function, headings in groups.items():
        listed = [each for names in headings.values() for each in names.split()]
        assert sorted(listed) == sorted(inspect.signature(getattr(ra, function)).parameters)


@pytest.mark.parametrize(
    ("piece", "fetched"),
    [
        ('<script src="https://cdn.example/x.js"></script>', ["https://cdn.example/x.js"]),
        ('<link rel="stylesheet" href="//fonts.example/a.css">', ["//fonts.example/a.css"]),
        ("<style>@import 'https://x.example/b.css'</style>", ["https://x.example/b.css"]),
        ('<p style="background: url(http://x.example/c.png)">', ["http://x.example/c.png"]),
        ('<img src="_images/own.png"><a href="https://x.example">a link</a>', []),
    ],
)
def test_what_a_page_fetches_from_other_hosts_is_seen(extension, piece, fetched):
    site = extension("check_site")
    assert site.foreign(site.read(f"<html>{piece}</html>")) == fetched


def test_dead_links_in_the_site_are_seen(extension, tmp_path):
    (tmp_path / "a.html").write_text('<p id="x"><a href="b.html">b</a><a href="#y">y</a>')
    found = "\n".join(extension("check_site").findings(tmp_path))
    assert "b.html, which is not there" in found
    assert "#y, whose place is not there" in found
    assert "no index to search in" in found


def test_docstrings_become_marked_up_text(extension):
    written = extension("docstrings").written
    doc = "Fit `x`s with a*b.\n\nArgs:\n    data: rows, or\n        a table.\n\nReturns:\n    It."
    text = written(doc, "anything", inspect.signature(lambda data=1: None))
    assert "Fit ``x``\\ s with a\\*b." in text
    assert "``data`` : ``= 1``\n    rows, or\n    a table." in text
    assert ".. rubric:: Returns\n\nIt." in text
