"""The page of a model of a table: whole, and safe with hostile names."""

import numpy as np
import pandas as pd
import pytest

import rational_anova as ra
from rational_anova.report import write_model_report
from tests.report.test_report import BROWSER, needs_browser

BAD = '<script>alert("1")</script>'


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({
        BAD: rng.uniform(-1, 1, 300), "a $\\frac$ b": rng.uniform(-1, 1, 300),
        "g": rng.choice(["</svg><b>x", "y"], 300),
    })  # fmt: skip
    y = np.exp(X[BAD] + X[BAD] * X["a $\\frac$ b"]) + 0.1
    fitted = ra.RANRegressor(loss="gamma", refinements=0, monotone={"a $\\frac$ b": 0})
    return fitted.fit(X, y.rename("<i>cost</i>")).drop_term("g", reason="<b>by law</b>")


@pytest.fixture(scope="module")
def page(model, tmp_path_factory):
    path = tmp_path_factory.mktemp("page") / "page.html"
    write_model_report(model, path)
    return path


def test_page_has_all_of_the_model(page):
    text = page.read_text()
    for word in ("loss gamma", "of the deviance", "The largest effects", "Edits by hand", "Limits"):
        assert word in text
    assert text.count("<svg") >= 2


def test_hostile_names_are_text(page):
    text = page.read_text()
    for bad in ("<script", "<i>cost", "<b>by law", "</svg><b>"):
        assert bad not in text
    assert "&lt;i&gt;cost&lt;/i&gt;" in text


def test_same_model_same_page(model, page, tmp_path):
    write_model_report(model, tmp_path / "again.html")
    assert (tmp_path / "again.html").read_text() == page.read_text()


def test_what_is_no_model():
    with pytest.raises(TypeError, match="fitted estimator of a table, got int"):
        write_model_report(3, "page.html")


@needs_browser
def test_page_in_a_browser(page, tmp_path):
    import subprocess

    assert BROWSER is not None
    picture = tmp_path / "page.png"
    subprocess.run(
        [BROWSER, "--headless", "--no-sandbox", "--disable-gpu", f"--screenshot={picture}",
         page.as_uri()],
        check=True, capture_output=True, timeout=120,
    )  # fmt: skip
    assert picture.stat().st_size > 10_000
