"""Plots of laws: what is drawn, on which axes, for every kind of law."""

import io
import math
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sympy as sp

from rational_anova.discovery.law import Evidence, Groups, Law, Noise, Parameter, Rival, Sample
from rational_anova.discovery.law._panels import logarithmic, tick
from rational_anova.symbols import Names

S, k, m = sp.symbols("S k m")


def one_column(rows=30, log=False, **options):
    rng = np.random.default_rng(0)
    X = (np.geomspace(0.01, 100, rows) if log else np.linspace(0.1, 3, rows))[:, None]
    y = 2 * X[:, 0] / (0.5 + X[:, 0]) + 0.02 * rng.normal(size=rows)
    options = {"data": Sample(X, y), "units": {"S": "mM", "v": "mol/s"}, **options}
    numbers = (Parameter("m", 2.0, 0.02), Parameter("k", 0.5, 0.02))
    box = ((X.min(), X.max()),)
    return Law(
        m * S / (k + S), numbers, Names(["S"]), "v", box, np.diag([4e-4, 4e-4]),
        Evidence(rows, 0.05, 0.05, spread=0.4), **options,
    )  # fmt: skip


def drawn(figure):
    """Return the axes, once the figure was really drawn."""
    figure.savefig(io.BytesIO(), format="png")
    return figure.axes


def words(axes):
    legend = axes.get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_one_column():
    rivals = (
        Rival(2.0 * S / (0.5 + S), "Michaelis-Menten", 0.6, 0.05, 2, 3, True),
        Rival(1.8 * (1 - sp.exp(-S)), "saturating exponential", 0.3, 0.06, 2, 4),
        Rival(S, "", 0.01, 0.6, 0, 0),
    )
    law = one_column(name="Michaelis-Menten", rivals=rivals, outliers=(4, 7))
    main, by_fit, by_input = drawn(law.plot())
    assert main.get_xlabel() == "S / mM"
    assert main.get_ylabel() == "v / mol/s"
    assert set(words(main)) == {
        "measured", "outlier", "95% of measurements", "95% of the law", "Michaelis-Menten, 60%",
        "saturating exponential, 30%",
    }  # fmt: skip
    assert main.get_xlim() == pytest.approx((0, 4.45))  # half the width on, but not below zero
    assert by_fit.get_xlabel() == "v by the law / mol/s"
    assert by_input.get_ylabel() == "residual / noise"
    marks = [line for line in by_input.lines if line.get_marker() == "x"]
    assert len(marks[0].get_xdata()) == 2
    title = main.figure.get_suptitle()
    assert title.endswith("Michaelis-Menten, one of several")


def test_axes():
    main, _, by_input = drawn(one_column(log=True).plot())
    assert main.get_xscale() == "log"
    assert by_input.get_xscale() == "log"
    assert main.get_xlim() == pytest.approx((1e-4, 1e4), rel=1e-6)
    assert logarithmic(np.geomspace(1, 1000, 9))
    assert not logarithmic(np.linspace(1, 1000, 9))
    assert not logarithmic(np.geomspace(1, 40, 9))
    assert not logarithmic(np.r_[0, np.geomspace(1, 1000, 9)])


@pytest.mark.parametrize(
    ("value", "step", "text"),
    [(0.3, 0.1, "0.3"), (0, 1, "0"), (1.5e6, 5e5, "1.5e6"), (2500, 500, "2500"), (1e-5, 0, "1e-5"),
     (1000.25, 0.25, "1000.25"), (-0.5, 0.5, "-0.5"), (100, 0, "100"), (1e-17, 0.1, "0")],
)  # fmt: skip
def test_ticks(value, step, text):
    assert tick(value, step) == text


def test_errors_of_measurements_are_bars():
    sigma = np.full(30, 0.02)
    law = one_column(noise=Noise("given", 1.0))
    law = replace(law, data=Sample(law.data.X, law.data.y, sigma))
    main = drawn(law.plot())[0]
    assert len(main.containers) == 1
    assert "95% of measurements" in words(main)
    loaded = Law.from_json(law.to_json())
    main = drawn(loaded.plot(law.data.X, law.data.y, sigma=0.02))[0]
    assert len(main.containers) == 1


def test_without_data():
    law = replace(one_column(), data=None)
    (main,) = drawn(law.plot())
    assert "measured" not in words(main)
    with pytest.raises(ValueError, match="both X and y, or neither"):
        law.plot([1.0])
    frame = pd.DataFrame({"S": [1.0, 2.0, math.nan], "v": [1.3, 1.6, 1.0]})
    assert len(drawn(law.plot(frame, "v"))) == 3
    assert len(drawn(law.plot([1.0, 2.0], [1.3, 1.6]))) == 3


def test_several_columns():
    rng = np.random.default_rng(0)
    X = rng.uniform(1, 2, (2000, 3))
    y = 2 * X[:, 0] / X[:, 1] + 0.01 * rng.normal(size=2000)
    names = Names(["a", "b", "$c_d$"])
    A, B, _ = names.symbols
    law = Law(
        m * A / B, (Parameter("m", 2.0, 0.01),), names, "y", ((1, 2),) * 3, [[1e-4]],
        Evidence(2000, 0.02, 0.02, spread=0.5), data=Sample(X, y),
    )  # fmt: skip
    axes = drawn(law.plot())
    assert [a.get_xlabel() for a in axes] == ["a", "b", "y by the law", "y by the law", "a", "b"]
    assert axes[0].get_ylabel() == "y (adjusted)"
    assert all(len(line.get_xdata()) <= 702 for a in axes for line in a.lines)
    assert len(axes[0].figure.legends) == 1
    points = next(line for line in axes[0].lines if line.get_marker() == "o")
    middle = 2 * np.asarray(points.get_xdata()) / np.median(X[:, 1])
    assert np.std(points.get_ydata() - middle) < 0.015


def test_groups():
    rng = np.random.default_rng(0)
    count = 14
    names = [f"run {n}" for n in range(count)]
    top = rng.uniform(1, 3, count)
    X = np.tile(np.linspace(0.1, 3, 8), count)[:, None]
    groups = np.repeat(names, 8)
    y = np.repeat(top, 8) * X[:, 0] / (0.5 + X[:, 0])
    values = pd.DataFrame({"m": top, "m stderr": 0.1}, index=names)
    law = one_column(data=Sample(X, y, None, groups), groups=Groups("run", ("k",), ("m",), values))
    main, by_fit, _ = drawn(law.plot())
    assert words(main) == names[:12]
    residuals = [line for line in by_fit.lines if line.get_marker() == "o"]
    assert max(np.abs(line.get_ydata()).max() for line in residuals) < 1e-9
    frame = pd.DataFrame({"S": X[:, 0], "v": y, "run": groups})
    assert words(drawn(replace(law, data=None).plot(frame, "v"))[0]) == names[:12]


@pytest.mark.parametrize("formula", ["m", "m/(S - 1)", "m*log(S - 1)", "m*exp(300*S)"])
def test_odd_laws(formula):
    X = np.linspace(0, 2.5, 20)[:, None]
    law = replace(
        one_column(), template=Names(["S"]).parse(formula, ["m", "k"]), box=((0, 2.5),),
        data=Sample(X, np.ones(20)),
    )  # fmt: skip
    assert drawn(law.plot())


def test_bands_beyond_the_data_and_outliers_beyond_the_picture():
    law = one_column(outliers=(4, 7))
    y = law.data.y.copy()
    y[4] += 5.0
    main, _, by_input = drawn(replace(law, data=Sample(law.data.X, y)).plot())
    bands = [band.get_paths()[0].get_extents() for band in main.collections]
    assert max(band.x1 for band in bands) == pytest.approx(main.get_xlim()[1])
    arrows = [line for line in by_input.lines if line.get_marker() == "^"]
    assert len(arrows) == 1
    assert arrows[0].get_xdata()[0] == law.data.X[4, 0]
    assert [float(t.get_text()) > 50 for t in by_input.texts] == [True]


def test_exact_laws_have_raw_residuals():
    law = one_column()
    law = replace(
        law,
        data=Sample(law.data.X, law.predict(law.data.X)),
        evidence=replace(law.evidence, noise=1e-16, error=1e-16),
    )
    assert drawn(law.plot())[1].get_ylabel() == "measured minus law"
