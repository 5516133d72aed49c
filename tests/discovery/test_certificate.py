"""Certificates of laws: no sample beats a bound, poles are found, signs are proved."""

import numpy as np
import pytest
import sympy as sp

import rational_anova as ra
from rational_anova.certificates import PoleError
from rational_anova.discovery import Evidence
from rational_anova.symbols import Names


def law(text, names, box, target="y"):
    names = Names(names)
    evidence = Evidence(rows=50, noise=0.01, error=0.01)
    return ra.Law(names.parse(text), (), names, target, box, np.zeros((0, 0)), evidence)


LAWS = {
    "van der Waals": law("0.083*T/(V - 0.043) - 3.64/V**2", ["T", "V"], ((250, 400), (0.1, 1))),
    "Michaelis": law("2.5*S/(0.8 + S)", ["S"], ((0.05, 10),)),
    "waves": law("sin(x)*exp(-y) + sqrt(z + 1)", ["x", "y", "z"], ((-3, 3), (0, 2), (0, 1))),
    "absolute": law("Abs(x)*y", ["x", "y"], ((-1, 1), (1, 2))),
    "product": law("a*b*c/(d + e)", list("abcde"), ((1, 2),) * 5),
    "one column": law("x0**2", ["x0", "x1"], ((-1, 2), (0, 0))),
}


@pytest.mark.parametrize("name", LAWS)
def test_no_sample_beats_a_bound(name):
    found = ra.certify(LAWS[name])
    assert found.box == LAWS[name].box
    assert found.names == LAWS[name].names.columns
    ends = np.array(found.box)
    share = np.random.default_rng(0).random((5000, len(ends)))
    share[:500] = share[:500].round()
    X = ends[:, 0] + (ends[:, 1] - ends[:, 0]) * share
    y = LAWS[name].predict(X)
    ((low, high),) = found.range
    assert low - 1e-9 <= y.min() <= y.max() <= high + 1e-9
    assert high - low <= 1.2 * np.ptp(y) + 0.3
    slopes = np.stack([gradient(LAWS[name], X, n) for n in range(len(ends))], 1)
    assert np.linalg.norm(slopes, axis=1).max() <= found.lipschitz * (1 + 1e-9)
    assert found.lipschitz <= 1.05 * found.sampled
    for verdict in found.monotone:
        own = slopes[:, verdict.input]
        assert verdict.slopes[0] - 1e-9 <= own.min() <= own.max() <= verdict.slopes[1] + 1e-9


def gradient(law, X, n):
    if law.formula.has(sp.Abs):  # SymPy's derivative is that for complex numbers
        return np.sign(X[:, 0]) * X[:, 1] if n == 0 else np.abs(X[:, 0])
    slope = sp.lambdify(law.names.symbols, law.formula.diff(law.names.symbols[n]), "numpy")
    return np.broadcast_to(slope(*X.T), len(X))


def test_signs_are_proved_or_refuted():
    rising, bent = ra.certify(LAWS["van der Waals"]).monotone
    assert (rising.increasing, rising.decreasing) == ("proved", "refuted")
    assert (bent.increasing, bent.decreasing) == ("refuted", "refuted")
    T, V = bent.rises_at
    assert -0.083 * T / (V - 0.043) ** 2 + 7.28 / V**3 > 0
    (only,) = ra.certify(LAWS["one column"]).monotone  # x1 is not in the law
    assert only.input == 0
    assert only.falls_at[0] < 0 < only.rises_at[0]


def test_another_box_and_poles():
    found = ra.certify(LAWS["Michaelis"], [(0, 1)], tolerance=0.001)
    assert found.lipschitz == pytest.approx(2.5 / 0.8, rel=0.002)
    assert found.denominator_min == pytest.approx(0.8)
    assert found.range[0] == pytest.approx((0, 2.5 / 1.8), abs=2e-3)
    with pytest.raises(PoleError, match=r"at -0.8\), so nothing is certified") as error:
        ra.certify(LAWS["Michaelis"], [(-1, 1)])
    assert error.value.point == pytest.approx((-0.8,))
    with pytest.raises(PoleError, match="V - 0.043 is not free of zeros.*choose a box"):
        ra.certify(LAWS["van der Waals"], [(250, 400), (0.01, 1)])
    with pytest.raises(ValueError, match="box needs 1 pairs"):
        ra.certify(LAWS["Michaelis"], [(0, 1)] * 2)
    with pytest.raises(ValueError, match=r"box\[0\] must be finite"):
        ra.certify(LAWS["Michaelis"], [(0, np.inf)])


def test_what_has_no_bound_says_so():
    root = ra.certify(law("sqrt(x)", ["x"], ((0, 1),)), budget=50)
    assert root.lipschitz == np.inf
    assert root.range[0] == pytest.approx((0, 1), abs=1e-3)
    assert root.denominator_min == np.inf
    larger = ra.certify(law("Max(x, y)", ["x", "y"], ((-1, 1), (0, 2))), budget=50)
    assert larger.lipschitz == np.inf
    assert larger.monotone[0].increasing == "undecided"
    assert ra.Certificate.from_json(larger.to_json()) == larger
