"""The page of a law: whole, safe, readable on a phone."""

import html.parser
import re
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sympy as sp

from rational_anova.discovery.law import (
    Entry,
    Evidence,
    Groups,
    Law,
    Noise,
    Parameter,
    Rival,
    Sample,
)
from rational_anova.report import write_report
from rational_anova.report._math import _large, math_svg, readable
from rational_anova.symbols import Names

BROWSER = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
needs_browser = pytest.mark.skipif(BROWSER is None, reason="no chromium to look at the page with")
c0, c1, c2 = sp.symbols("c0 c1 c2")


def van_der_waals(columns=("T", "V"), target="P", rows=60):
    rng = np.random.default_rng(0)
    names = Names(list(columns))
    T, V = names.symbols
    X = np.stack([rng.uniform(280, 460, rows), rng.uniform(0.1, 2, rows)], 1)
    numbers = (
        Parameter("c0", 0.08314, 1e-5, sp.Rational(8314, 100000)),
        Parameter("c1", 0.042712, 2e-5),
        Parameter("c2", 3.5921, 3e-3),
    )
    evidence = Evidence(
        rows=rows, noise=0.0021, error=0.0021, held_out=0.0023, extrapolation=0.0031, spread=21.0,
        surrogate=0.004, seconds=4.2, candidates=2311, route=("it depends on <T> & V",),
    )  # fmt: skip
    front = (
        Entry(0.08 * T / V, 2, 0.2, 1),
        Entry(0.0831 * T / (V - 0.0427) - 3.59 / V**2, 5, 0.0, 3),
    )
    law = Law(
        c0 * T / (V - c1) - c2 / V**2, numbers, names, target, ((280, 460), (0.1, 2)),
        np.diag([1e-10, 4e-10, 1e-5]), evidence, front, "established",
        {columns[0]: "K", target: "bar"},
    )  # fmt: skip
    return law, X, law.predict(X) + 0.05 * rng.normal(size=rows)


def line(grade="one of several", column="x", target="y"):
    names = Names([column])
    return Law(c0 * names.symbols[0] / (names.symbols[0] - c1), (Parameter("c0", 2.5), Parameter("c1", 0.5)),
              names, target, ((0.0, 3.0),), np.full((2, 2), np.nan),
              Evidence(rows=20, noise=0.5, error=0.5, stopped=True), grade=grade)  # fmt: skip


class Tree(html.parser.HTMLParser):
    """Check that every element is closed, and gather what there is."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.attributes = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, self.open

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes
        if tag not in ("meta", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def written(tmp_path, *arguments, **options):
    path = tmp_path / "new" / "law.html"
    write_report(*arguments[:1], path, *arguments[1:], **options)
    text = path.read_text(encoding="utf-8")
    assert [file.name for file in path.parent.iterdir()] == ["law.html"]
    return text


def test_all_of_it(tmp_path):
    law, X, y = van_der_waals()
    text = written(tmp_path, law, X, y, notes=["rownames was left out: it numbers the rows."])
    tree = Tree(text)
    assert "<title>Law of P</title>" in text
    assert 'aria-label="P = 0.08314*T/(V - 0.042712) - 3.5921/V**2"' in text
    assert law.trust.split(".")[0] in text
    for part in ("0.042712", "2e-05", "exact", "0.23\N{NO-BREAK SPACE}%", "280", "0.31\N{NO-BREAK SPACE}%",
                 "it depends on &lt;T&gt; &amp; V", "def law(", "double law(", "numbers the rows",
                 "T / K", "P by the law / bar", "P (adjusted) / bar", "operations in the formula", "2,311",
                 "residual / noise", "Correlation of the parameters", "LaTeX with errors", "3.5921(30)"):  # fmt: skip
        assert part in text, part
    assert tree.tags.count("figure") == 7
    plots = re.findall(r"<figure[^>]*><svg[^>]*>", text)
    assert len(plots) == 7
    assert all('role="img"' in plot and "aria-label=" in plot for plot in plots)
    identifiers = [value for name, value in tree.attributes if name == "id"]
    assert len(set(identifiers)) == len(identifiers)
    assert len(text) < 1_000_000


def test_nothing_is_fetched(tmp_path):
    law, X, y = van_der_waals()
    text = written(tmp_path, law, X, y)
    assert "<script" not in text
    assert "Content-Security-Policy" in text
    links = [v for n, v in Tree(text).attributes if n in ("src", "href", "xlink:href")]
    assert all(link.startswith(("#", "data:")) for link in links)


def test_same_page_twice(tmp_path):
    law, X, y = van_der_waals()
    assert written(tmp_path, law, X, y) == written(tmp_path, law, X, y)


def test_without_data_and_without_a_law(tmp_path):
    text = written(tmp_path, line("interpolation"))
    Tree(text)
    assert "<title>No law of y, an interpolation</title>" in text
    assert 'class="trust no"' in text
    assert "is not proven to be defined" in text
    assert "time limit" in text
    assert text.count("<figure") == 1
    assert "<h1>No law of y</h1>" in written(tmp_path, line("nothing"))


def test_frames_and_gaps(tmp_path):
    law, X, y = van_der_waals()
    frame = pd.DataFrame({"P": y, "V": X[:, 1], "other": "a", "T": X[:, 0]})
    whole = written(tmp_path, law, frame, "P")
    assert whole == written(tmp_path, law, X, pd.Series(y, name="pressure"))
    frame.loc[3, "T"] = np.nan
    assert written(tmp_path, law, frame, "P") == written(
        tmp_path, law, np.delete(X, 3, 0), np.delete(y, 3)
    )


def test_large_tables_stay_small_pages(tmp_path):
    law, X, y = van_der_waals(rows=20_000)
    text = written(tmp_path, law, X, y)
    assert len(text) < 1_000_000
    assert re.search(r"(69\d|700) of 20,000 rows are drawn", text)


def test_constant_law(tmp_path):
    names = Names(["x"])
    law = Law(
        c0, (Parameter("c0", 3.0, 0.1),), names, "y", ((0, 1),), [[0.01]], Evidence(5, 0.1, 0.1)
    )
    text = written(tmp_path, law, np.linspace(0, 1, 5), np.full(5, 3.0))
    Tree(text)
    assert 'aria-label="y = 3.00"' in text or 'aria-label="y = 3.0"' in text


ODD = '<b>x</b> "q" & $m_1$'


@pytest.mark.parametrize(
    "column", [ODD, "Δt", "日本", "lambda", "a\\b", "x'y", "T {K}", "50 %", ""]
)
def test_names_are_escaped(tmp_path, column):
    law = line(column=column, target="<script>alert(1)</script>")
    X = np.linspace(1, 3, 20)
    text = written(tmp_path, law, X, law.predict(X), notes=[column])
    tags = Tree(text).tags
    assert "script" not in tags
    assert "b" not in tags
    assert column == "" or column.replace("&", "&amp;").split("<")[0] in text


def test_bad_input(tmp_path):
    law, X, y = van_der_waals()
    path = tmp_path / "law.html"
    with pytest.raises(TypeError, match="a report needs a Law, as discover returns it, got str"):
        write_report("law", path)
    with pytest.raises(ValueError, match="both X and y, or neither"):
        write_report(law, path, X)
    with pytest.raises(ValueError, match="X has 60 rows, but y has 59"):
        write_report(law, path, X, y[1:])
    with pytest.raises(TypeError, match="y is the name 'P'"):
        write_report(law, path, X, "P")
    assert not path.exists()


def test_formulas_as_pictures():
    x = sp.Symbol("x")
    for formula in (
        sp.asin(x),
        sp.Abs(x),
        sp.exp(-(x**2) / 2) / 3,
        sp.cbrt(x),
        sp.log(x) * sp.pi,
        1e-12 * x,
    ):
        svg = math_svg(sp.latex(formula))
        assert svg.startswith("<svg")
        Tree(svg)
    assert math_svg(r"\begin{cases} 1") is None
    assert math_svg("日本") is None
    assert math_svg("Δt") is not None
    assert (
        _large(r"\frac{x^{\frac{1}{2}}}{2} + \frac{1}{x}")
        == r"\dfrac{x^{\frac{1}{2}}}{2} + \dfrac{1}{x}"
    )
    assert (
        str(readable(sp.Rational(4157, 50000) * x + x**3 / 3 + x**2 / 16))
        == "x**3/3 + x**2/16 + 0.08314*x"
    )


def browse(page, width, *options):
    return subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr",
         f"--window-size={width},900", f"--user-data-dir={page.parent / 'browser'}", *options, page.as_uri()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip


@needs_browser
@pytest.mark.slow
@pytest.mark.parametrize(
    "names", [(("T", "V"), "P"), (("a_very_long_name_of_a_column" * 3, ODD), "P" * 90)]
)
def test_on_a_phone(tmp_path, names):
    width = 400
    law, X, y = van_der_waals(*names)
    page = tmp_path / "law.html"
    write_report(law, page, X, y, notes=["a note " * 30, "x" * 200])
    assert "CONSOLE" not in browse(page, width, f"--screenshot={tmp_path / 'page.png'}").stderr
    assert (tmp_path / "page.png").stat().st_size > 10_000
    # The page allows no scripts, so that a copy without this rule is measured, in a narrow frame:
    # windows cannot be as narrow.
    text = re.sub("<meta http-equiv[^>]*>", "", page.read_text())
    size = "[innerWidth, document.documentElement.scrollWidth]"
    send = f"<script>parent.postMessage({size}.join(), '*')</script></body>"
    (tmp_path / "copy.html").write_text(
        text.replace("<details>", "<details open>").replace("</body>", send)
    )
    outer = tmp_path / "outer.html"
    outer.write_text(
        "<!DOCTYPE html><script>onmessage = e => document.body.dataset.size = e.data</script>"
        f"<body><iframe src='copy.html' width='{width}' height='900' style='border:0'></iframe></body>"
    )
    found = browse(outer, 1000, "--dump-dom", "--virtual-time-budget=3000")
    inner, needed = map(int, re.search(r'data-size="(\d+),(\d+)"', found.stdout).groups())
    assert "CONSOLE" not in found.stderr
    assert inner == width
    assert needed <= inner


def test_front(tmp_path):
    law, X, y = van_der_waals()
    text = written(tmp_path, law, X, y)
    assert "The best formula of each complexity" in text
    assert "fitted parameters" in text
    alone = replace(law, pareto=(Entry(law.formula, law.complexity, 0.0021, 2),))
    text = written(tmp_path, alone, X, y)
    assert "The best formula" not in text
    assert "best of its complexity" not in text
    near = replace(law, pareto=(Entry(law.formula * 2, 4, 0.0025, 2), *alone.pareto))
    text = written(tmp_path, near, X, y)
    assert "0.0025" in text  # no powers of ten within a decade
    assert "this law" in text


def test_rivals_noise_groups_and_provenance(tmp_path):
    x = sp.Symbol("x")
    values = pd.DataFrame({"c0": [2.4, 2.6], "c0 stderr": [0.1, 0.1]}, index=["first", "second"])
    X = np.linspace(1, 3, 20)[:, None]
    law = replace(
        line(), evidence=Evidence(20, 0.62, 0.6, 0.7, 0.9), name="hyperbola",
        rivals=(
            Rival(2.5 * x / (x - 0.5), "hyperbola", 0.7, 0.6, 2, 3, True),
            Rival(x + 2, "straight line", 0.25, 0.623, 1, 1),
            Rival(x, "", 1e-6, 2.0, 0, 0),
        ),
        noise=Noise("log-normal", 0.042, 0.0, {"log-normal": 0.9, "constant": 0.1}),
        doubts=("A <pole> is near.",), outliers=(3,),
        groups=Groups("run", ("c1",), ("c0",), values),
        provenance={"file": "a<b.csv", "options": {"seed": 0, "forms": None, "by": ["run"]}},
    )  # fmt: skip
    law = replace(law, data=Sample(X, law.predict(X), None, np.repeat(["first", "second"], 10)))
    text = written(tmp_path, law)
    Tree(text)
    assert "<h1>One of several laws of y: hyperbola</h1>" in text
    for part in ("<li>A &lt;pole&gt; is near.</li>", "70% (this law)", "straight line", "1 more have less",
                 "by 4.2% of the value (log-normal)", "log-normal 90%, constant 10%",
                 "1.2 times that of the fit", "2.4 +- 0.1", "They share c1.", "a&lt;b.csv", "options seed",
                 "second"):  # fmt: skip
        assert part in text, part
    for other in (
        "62.3",
        "60\N{NO-BREAK SPACE}%",
        "62\N{NO-BREAK SPACE}%",
        "forms",
    ):  # one figure alone
        assert other not in text, other
