"""The judge of families is just, NIST's files are read, and tables are what they claim to be."""

import os
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import sympy as sp

from experiments.measurements import (
    coverage,
    curves,
    curves_peers,
    errors_in_x,
    groups,
    nist,
    outliers,
    shared,
    smooth,
    textbook,
)
from experiments.measurements.family import Form, opened
from experiments.measurements.nist_files import read

needs_data = pytest.mark.skipif("RAN_DATA" not in os.environ, reason="needs RAN_DATA")
BOX = ((0.1, 9.0),)
CURVES = curves.curves()


def form(text, box=BOX, **values):
    return Form(text, ("x",), box, (values,))


HILL = form("a*x**n/(k**n + x**n)", a=5.0, k=3.0, n=2.6)
GAUSS = form("a*exp(-(x - b)**2/(2*c**2)) + d", a=4.0, b=5.0, c=1.1, d=0.7)


@pytest.mark.parametrize(
    ("family", "text"),
    [
        # Written in another way, with other numbers.
        (HILL, "4.81234567/(1 + (2.91234567/x)**2.71234567)"),
        (HILL, "4.81234567 - 4.81234567/(1 + 0.06123456*x**2.71234567)"),
        (GAUSS, "0.81234567 + 0.00012345678*exp(4.27123456*x - 0.42712345678*x**2)"),
        (form("a/(1 + exp(-(x - b)/c))", a=8.0, b=4.0, c=0.9), "3.81234567*tanh(0.51234567*x - 2.21234567) + 3.81234567"),
        (form("a*exp(-b*x) + c*exp(-d*x)", a=6.0, b=1.9, c=2.7, d=0.2), "2.51234567*exp(-0.19123456*x) + 6.31234567*exp(-2.01234567*x)"),
        (form("a*sin(b*x + c)", a=2.0, b=1.3, c=0.7), "1.61234567*sin(1.31234567*x) + 1.21234567*cos(1.31234567*x)"),
        (form("a*x/(b + x)", a=5.0, b=1.3), "x/(0.26123456 + 0.20123456*x)"),
    ],
)  # fmt: skip
def test_forms_that_are_written_differently_are_one_family(family, text):
    assert family.same(sp.sympify(text))


@pytest.mark.parametrize(
    ("family", "text"),
    [
        # A special case, a form with a further term, an approximation, another function.
        (HILL, "6.81234567*x/(3.91234567 + x)"),
        (HILL, "4.81234567*x**2/(9.11234567 + x**2)"),
        (GAUSS, "4.11234567*exp(-(x - 5.01234567)**2/2.41234567)"),
        (GAUSS, "4.1123456/(1 + (x - 5.0123456)**2/1.4123456) + 0.2123456"),
        (form("a*x/(b + x)", a=5.0, b=1.3), "5.1123456*x/(1.31123456 + x) + 0.00123456"),
        (form("a*x/(b + x)", a=5.0, b=1.3), "5.0123456*x**1.0112345/(1.29123456 + x**1.0112345)"),
        (form("a + b*x", a=1.0, b=0.4), "1.0123456 + 0.40123456*x + 0.000123456*x**2"),
        (form("a*x**b", a=2.0, b=1.43), "2.01234567*x**(3/2)"),
        (form("a*x**b", a=2.0, b=1.43), "3.1234567"),
    ],
)
def test_another_family_is_another(family, text):
    assert not family.same(sp.sympify(text))


def test_a_special_case_is_right_if_the_truth_is_special():
    special = form("a*x**n/(k**n + x**n)", a=5.0, k=3.0, n=1.0)
    assert special.same(sp.sympify("5.11234567*x/(2.91234567 + x)"))
    kepler = form("a*x**b", a=2.0, b=1.5)
    assert kepler.same(sp.sympify("2.01234567*x**(3/2)"))


def test_numbers_made_exact_are_numbers_of_the_same_form():
    family = form("a*x/(b + x)", a=5.03, b=1.27)
    assert family.same(sp.sympify("5*x/(5/4 + x)", rational=True))
    assert family.same(sp.sympify("5*x/(1.25 + x)"))


def test_given_numbers_may_be_freed():
    cooling = form("60 + 70*exp(-a*x)", a=0.3)
    found = sp.sympify("58.1234567 + 71.1234567*exp(-0.31234567*x)")
    assert not cooling.same(found)
    assert cooling.freed().same(found)
    assert str(form("a*x**1.5 + x**2", a=2.0).freed().formula) == "a*x**given0 + x**2"


def test_several_columns():
    family = Form("a*x1*exp(-b*x2)", ("x1", "x2"), ((1, 2), (0, 3)), ({"a": 2.0, "b": 0.5},))
    assert family.same(sp.sympify("exp(0.71234567 - 0.51234567*x2)*x1"))
    assert not family.same(sp.sympify("2.1123456*x1 - 0.51234567*x2"))


def test_equal_numbers_stay_tied_and_exponents_stay():
    formula = sp.sympify("2.25123456*exp(-3*x) - 2.25123456*x**2")
    assert len(opened(formula)[1]) == 1
    assert sorted(opened(formula, more=True)[1].values()) == [2.25123456, 3.0]


@pytest.mark.parametrize("curve", CURVES, ids=lambda curve: curve.name)
def test_a_curve_can_be_measured(curve):
    x, y = curve.table(0.01, 0)
    clean = curve.at(x)
    assert 40 <= len(x) <= 80
    assert np.isfinite(y).all()
    assert (y - clean).std() / clean.std() == pytest.approx(0.01, rel=0.4)
    assert not np.array_equal(y, curve.table(0.01, 1)[1])
    near = {name: sp.Float(value * 1.001, 17) for name, value in curve.values.items()}
    assert curve.truth.same(
        curve.truth.formula.xreplace({sp.Symbol(k): v for k, v in near.items()})
    )


def test_there_are_sixty_curves():
    assert len({curve.name for curve in CURVES}) == 60
    assert sum(curve.named for curve in CURVES) == 40


def rival(text, weight, parameters=2):
    return SimpleNamespace(
        formula=sp.sympify(text), weight=weight, parameters=parameters, name="", error=0.01
    )


def law_of(rivals, grade="established", names=("x",)):
    symbols = tuple(map(sp.Symbol, names))
    return SimpleNamespace(
        formula=rivals[0].formula, rivals=rivals, grade=grade, groups=None,
        names=SimpleNamespace(symbols=symbols, columns=names),
    )  # fmt: skip


RIGHT = "8.40123456*x/(1.70123456 + x)"
WRONG = "1.1123456 + 4.2123456*log(x)"


def test_the_verdict_on_a_curve():
    enzyme = CURVES[0]
    x, y = enzyme.table(0.01, 0)
    told = SimpleNamespace(parameters=[])
    good = curves.verdict(enzyme, x, y, law_of([rival(RIGHT, 0.9), rival(WRONG, 0.1)]), told)
    assert (good["first"], good["rank"], good["can_tell"]) == (True, 1, True)
    assert not good["wrongly_established"]
    bad = curves.verdict(enzyme, x, y, law_of([rival(WRONG, 0.6), rival(RIGHT, 0.4)]), told)
    assert (bad["first"], bad["rank"], bad["level"]) == (False, 2, True)
    assert bad["wrongly_established"]
    none = curves.verdict(enzyme, x, y, law_of([rival(WRONG, 1.0)], "interpolation"), told)
    assert (none["rank"], none["level"], none["wrongly_established"]) == (0, False, False)


def test_peers_are_judged_alike():
    enzyme = CURVES[0]
    x, y = enzyme.table(0.01, 0)
    front = [WRONG.replace("x", "X0"), "8.41234567*Abs(X0)/(1.71234567 + X0)"]
    seen = curves_peers.verdict(enzyme, x, y, front)
    assert (seen["first"], seen["on_front"]) == (False, True)
    seen = curves_peers.verdict(enzyme, x, y, [f"{front[1]} + 0.0123456"])
    assert (seen["first"], seen["first_shifted"]) == (False, True)


def test_bic_knows_noise_models():
    random = np.random.default_rng(0)
    clean = np.geomspace(1, 1000, 400)
    y = clean * np.exp(0.2 * random.standard_normal(400))
    wrong = clean + 3.0  # off at the small end, where constant noise does not look
    for model, tells in (("constant", False), ("proportional", True), ("log-normal", True)):
        lead = shared.bic(y, wrong, 2, model) - shared.bic(y, clean, 2, model)
        assert (lead > 50) == tells


NELSON = """
Model:         Exponential Class
               3 Parameters (b1 to b3)

               log[y] = b1 - b2*x1 * exp[-b3*x2]  +  e

          Starting values                  Certified Values

        Start 1     Start 2           Parameter     Standard Deviation
  b1 =    2           2.5          2.5E+00  1.9E-02
  b2 =    0.0001      0.000000005  5.6E-09  6.1E-09
  b3 =   -0.01       -0.05        -5.7E-02  3.9E-03

Residual Sum of Squares:                    3.7976833176E+00

Data:   y              x1           x2
       15.00E0         1E0         180E0
       17.00E0         1D0         180E0
"""


def test_a_file_of_two_predictors_and_a_logarithm_is_read(tmp_path):
    path = tmp_path / "Nelson.dat"
    path.write_text(NELSON)
    known = read(path)
    assert known.text == "log(y) = b1 - b2*x1 * exp(-b3*x2)"
    assert known.columns == ("x1", "x2")
    assert known.near["b2"] == 5e-9
    assert known.far["b3"] == -0.01
    np.testing.assert_allclose(known.fitted_target, np.log([15, 17]))
    assert np.isfinite(known.right.at(known.values)(known.X)).all()


def test_a_file_without_an_equation_is_named(tmp_path):
    path = tmp_path / "Odd.dat"
    path.write_text(NELSON.replace("log[y] =", "log[y]"))
    with pytest.raises(ValueError, match=r"Odd\.dat has no equation"):
        read(path)


@needs_data
def test_certified_values_have_the_certified_sum_of_squares():
    known = nist.sets()
    assert len(known) >= 13
    for one in known:
        left = one.right.at(one.values)(one.X) - one.fitted_target
        assert np.sum(left**2) == pytest.approx(one.rss, rel=1e-9)


@needs_data
def test_certified_values_are_found_without_starts():
    for known in nist.sets():
        row = nist.one(known, "fit_law", "none")
        assert row["digits"] > nist.ENOUGH, known.name
        assert row["error_digits"] > nist.ENOUGH, known.name


def test_digits():
    assert nist.digits(1.001, 1.0) == pytest.approx(3.0)
    assert nist.digits(1.0, 1.0) == 11
    assert nist.digits(float("nan"), 1.0) == 0


def test_exponentials_may_be_exchanged_and_widths_change_their_sign(tmp_path):
    path = tmp_path / "two.dat"
    path.write_text(
        NELSON.replace("log[y] = b1 - b2*x1 * exp[-b3*x2]", "y = exp[-b1*x1] + exp[-b2*x1] + b3**2")
        .replace("2.5E+00  1.9E-02", "2.0E+00  1.0E-01")
        .replace("5.6E-09  6.1E-09", "5.0E-01  2.0E-02")
    )
    known = read(path)
    row = nist.compared(
        known, {"b1": 0.5, "b2": 2.0, "b3": 0.057}, {"b1": 0.02, "b2": 0.1, "b3": 3.9e-3}
    )
    assert row["digits"] == 11
    assert row["error_digits"] == 11


def test_tables_of_textbooks_are_read():
    entry = {"file": "t.csv", "target": "rate", "inputs": ["n.pent"], "by": "run", "form": "a*n_pent", "name": ""}  # fmt: skip
    frame = pd.DataFrame({"n.pent": ["1", "2*", "3"], "rate": [1.0, 2.0, 3.0], "run": [1, 1, 2]})
    measured = textbook.from_entry(entry, frame)
    assert measured.columns == ["n_pent", "run"]
    assert measured.y.tolist() == [1.0, 3.0]


@needs_data
def test_all_forms_of_textbooks_can_be_computed():
    for measured in textbook.textbook_tables():
        free = set("abcd") & {s.name for s in sp.sympify(measured.form).free_symbols}
        values = dict.fromkeys(sorted(free - set(measured.inputs)), 0.5)
        known = Form(measured.form, measured.inputs, measured.box, (values,))
        assert known.at(values)(measured.X).shape == measured.y.shape


@needs_data
def test_numbers_of_r_follow_from_our_form():
    (study,) = (s for s in groups.studies() if s.name == "datasets_DNase")
    row = {"a": 2.34518, "b": np.exp(1.48309), "c": 1 / 1.04146}
    law = SimpleNamespace(parameters=[], groups=SimpleNamespace(values=pd.DataFrame({"1": row}).T))
    assert groups.beside(study, law, "told, all own")[0] == "Asym of 1: ours 2.3452, known 2.345"
    first = study.frame[study.frame.Run == "1"]
    density = row["a"] / (1 + (row["b"] / first.conc) ** row["c"])
    assert np.sqrt(np.mean((density - first.density) ** 2)) < 0.02


def test_smooth_curves_turn_and_noise_is_noise():
    for seed in range(8):
        X, y, words = smooth.smooth_table(seed)
        assert 40 <= len(X) == len(y) <= 80
        assert 1 <= int(words.split()[-1]) <= 6
        X, y, _ = smooth.noise_table(seed)
        assert X.shape == (len(y), 1 + seed % 3)
        assert np.isfinite(y).all()


def test_noise_of_each_kind_has_its_size():
    clean = np.linspace(1, 10, 4000)
    for kind, relative in (("constant", None), ("proportional", 0.06), ("log-normal", 0.15)):
        y = coverage.measured(clean, kind, np.random.default_rng(0), 2.0)
        size = (y - clean).std() / 2 if relative is None else np.log(y / clean).std()
        assert size == pytest.approx(relative or 0.04, rel=0.1)


def test_true_numbers_are_mapped_into_the_form_of_the_law():
    enzyme = coverage.FORMS[0].truth({"a": 2.0, "b": 0.5})
    parameters = [SimpleNamespace(name="c0", value=0.3), SimpleNamespace(name="c1", value=0.6)]
    law = SimpleNamespace(
        template=sp.sympify("x/(c0 + c1*x)"), parameters=parameters,
        names=SimpleNamespace(symbols=(sp.Symbol("x"),)),
    )  # fmt: skip
    assert coverage.true_numbers(law, enzyme) == {
        "c0": pytest.approx(0.25), "c1": pytest.approx(0.5)
    }  # fmt: skip


def test_three_rows_are_spoilt():
    X, y, values, spoilt = outliers.table_of(outliers.FORMS[1], 0)
    clean = outliers.FORMS[1].truth(values).at(values)(X)
    far = np.abs(y - clean) > 6 * outliers.NOISE * clean.std()
    assert set(np.flatnonzero(far)) == spoilt
    assert outliers.named_rows(SimpleNamespace(outliers=(*spoilt, 99)), spoilt) == {
        "named": 4, "hit": 3
    }  # fmt: skip


def test_errors_in_x_are_there():
    X, y, x_sigma, sigma, _ = errors_in_x.table_of(errors_in_x.FORMS[0], 0)
    true = errors_in_x.FORMS[0].inputs(errors_in_x.ROWS)
    assert (X - true).std() == pytest.approx(x_sigma, rel=0.3)
    assert len(y) == len(X)
    assert 0 < sigma < y.std()
