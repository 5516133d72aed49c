"""Laws: what they say, write, predict, prove, and survive."""

import ctypes
import json
import math
import pickle
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sympy as sp

from rational_anova.discovery.law._expressions import operations
from rational_anova.discovery.law._law import Entry, Evidence, Law, Parameter
from rational_anova.discovery.law._words import as_good, own_entry, rivals
from rational_anova.symbols import Names

ODD = ["lambda", "E", "1/x", "température"]


def make(template, parameters=(), columns=("T", "V"), box=None, target="P", **options):
    names = Names(list(columns))
    box = tuple((1.0, 2.0) for _ in columns) if box is None else box
    size = len(parameters)
    evidence = options.pop("evidence", Evidence(rows=50, noise=0.01, error=0.01, spread=2.0))
    covariance = options.pop(
        "covariance", np.diag([p.stderr**2 for p in parameters]).reshape(size, size)
    )
    return Law(
        names.parse(template),
        tuple(parameters),
        names,
        target,
        box,
        covariance,
        evidence,
        **options,
    )


def van_der_waals(**options):
    parameters = [
        Parameter("c0", 8.314, 1e-4),
        Parameter("c1", 0.0427, 1e-6),
        Parameter("c2", 3.5912345, 2e-3),
    ]
    return make("c0*T/(V-c1)-c2/V**2", parameters, box=((200, 500), (0.1, 1)), **options)


def rows(law, count=200, seed=0):
    low, high = np.array(law.box).T
    return np.random.default_rng(seed).uniform(low, high, (count, len(low)))


LAWS = {
    "gas": van_der_waals(),
    "odd": make(
        "c0*{}*sqrt({})/(1+c1*{}) + exp(-{})".format(*Names(ODD).symbols),
        [Parameter("c0", 1 / 3, 0.1, sp.Rational(1, 3)), Parameter("c1", math.pi, 0.1, sp.pi)], ODD),
    "constant": make("c0", [Parameter("c0", 2.5, 0.1)]),
    "number": make("3"),
    "functions": make(
        "c0*sin(T)**3*tanh(V)/(2+cos(V))+atan(T)-log(T)*T**(1/3)+asin(V/3)*Abs(T-V)+2*T/7+pi*V**-3+0.1*T",
        [Parameter("c0", 0.1, 0.01)]),
    "extremes": make("Max(T, V, 3/2)/Min(T, V)+cosh(T)+acos(V/4)+sign(V-T)"),
}  # fmt: skip


def test_formula_and_what_is_shown():
    law = van_der_waals(units={"T": "K"})
    assert law.formula.atoms(sp.Float) >= {sp.Float(8.314, 17)}
    assert str(law.rounded(4)) == "8.314*T/(V - 0.0427) - 3.591/V**2"
    assert repr(law) == "Law(P = 8.314*T/(V - 0.0427) - 3.5912/V**2, rmse 0.02)"
    assert law.latex() == r"\frac{8.314 T}{V - 0.0427} - \frac{3.5912}{V^{2}}"
    assert law._repr_latex_().startswith(r"$\displaystyle P = \frac")
    assert "no compact law" in repr(replace(law, found=False))
    exact = make("c0*(T+V)", [Parameter("c0", 0.5, 0.1, sp.Rational(1, 2))])
    assert str(exact.formula) == "(T + V)/2"
    assert r"\mathrm{1/x}" in LAWS["odd"].latex()


def test_rounding_follows_the_errors():
    def seen(value, stderr, digits=6):
        return str(make("c0*T", [Parameter("c0", value, stderr)]).rounded(digits))

    assert seen(8.31446, 0.02) == "8.314*T"
    assert seen(8.31446, math.nan) == "8.31446*T"
    assert seen(8.31446, 0.0, 3) == "8.31*T"
    assert seen(1234567.0, 1e5) == "1.23e+6*T"
    assert seen(0.3, 50.0) == "0.3*T"
    assert seen(0.0, 1.0) == "0"


@pytest.mark.parametrize("name", LAWS)
def test_python_is_predict(name):
    law = LAWS[name]
    X = rows(law)
    scope = {}
    exec(law.to_python("model"), scope)
    assert np.array_equal(scope["model"](*X.T), law.predict(X))
    function = sp.lambdify(law.names.symbols, law.formula, "mpmath")
    for row, value in zip(X[:5], law.predict(X), strict=False):
        assert value == pytest.approx(float(function(*row)), rel=1e-13)
    assert law.predict(X[:1]).shape == (1,)
    assert law.predict(X[:0]).shape == (0,)


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("name", LAWS)
def test_c_is_predict(name, tmp_path):
    law = LAWS[name]
    source, library = tmp_path / "law.c", tmp_path / "law.so"
    source.write_text(law.to_c())
    flags = ["-O2", "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    subprocess.run(["cc", *flags, str(source), "-o", str(library), "-lm"], check=True)
    function = ctypes.CDLL(str(library)).law
    function.restype = ctypes.c_double
    X = rows(law, 50)
    ours = [function(*map(ctypes.c_double, row)) for row in X]
    np.testing.assert_allclose(ours, law.predict(X), rtol=1e-14)


@pytest.mark.parametrize("name", LAWS)
def test_json_loses_nothing(name, tmp_path):
    entry = Entry(sp.Symbol("T") * 0.1 if name != "odd" else sp.Float(0.1), 1, 0.5, 1)
    evidence = Evidence(
        7, math.nan, math.inf, None, 0.25, route=("depends on T only",), stage="a", stopped=True
    )
    law = replace(LAWS[name], pareto=(entry,), evidence=evidence, units={"T": "K"})
    law.save(tmp_path / "law.json")
    back = Law.load(tmp_path / "law.json")
    assert back.template == law.template
    assert back.formula == law.formula
    assert back.parameters == law.parameters
    assert back.names.columns == law.names.columns
    assert (back.target, back.box, back.units, back.found) == (
        law.target,
        law.box,
        law.units,
        law.found,
    )
    assert back.pareto == law.pareto
    assert repr(back.evidence) == repr(law.evidence)  # nan is not equal to itself
    np.testing.assert_array_equal(back.covariance, law.covariance)
    np.testing.assert_array_equal(back.predict(rows(law)), law.predict(rows(law)))
    assert back.to_json() == law.to_json()
    assert "NaN" not in law.to_json()
    copy = pickle.loads(pickle.dumps(law))
    np.testing.assert_array_equal(copy.predict(rows(law)), law.predict(rows(law)))


def test_damaged_files(tmp_path):
    path = tmp_path / "law.json"
    path.write_text("{")
    with pytest.raises(ValueError, match=r"law\.json.*not JSON"):
        Law.load(path)
    with pytest.raises(ValueError, match="holds no law"):
        Law.from_json("[1]")
    content = json.loads(van_der_waals().to_json())
    with pytest.raises(ValueError, match="upgrade"):
        Law.from_json(json.dumps({**content, "version": 99}))
    with pytest.raises(ValueError, match="damaged"):
        Law.from_json(json.dumps({k: v for k, v in content.items() if k != "box"}))
    with pytest.raises(ValueError, match="unknown name"):
        Law.from_json(json.dumps({**content, "template": "__import__"}))


def test_predict_takes_tables_by_name():
    law = van_der_waals()
    X = rows(law, 5)
    table = pd.DataFrame({"V": X[:, 1], "other": "text", "T": X[:, 0]})
    np.testing.assert_array_equal(law.predict(table), law.predict(X))
    np.testing.assert_array_equal(law.predict(X.tolist()), law.predict(X))
    with pytest.raises(ValueError, match="no column 'V'; the law needs T, V"):
        law.predict(table[["T"]])
    with pytest.raises(ValueError, match="'V' must be numbers"):
        law.predict(table.assign(V="a"))
    with pytest.raises(ValueError, match=r"rows of 2 columns \(T, V\), got the shape \(5, 3\)"):
        law.predict(np.ones((5, 3)))
    with pytest.raises(ValueError, match=r"got the shape \(2,\)"):
        law.predict([300.0, 0.5])
    with pytest.raises(ValueError, match="must be numbers"):
        law.predict([["a", "b"]])
    assert math.isinf(make("1/T", columns=["T"]).predict([0])[0])
    assert make("T**-2", columns=["T"]).predict([2, 4]).tolist() == [0.25, 0.0625]


def test_intervals():
    law = make("c0*T+c1", [Parameter("c0", 2.0, 0.1), Parameter("c1", 1.0, 0.2, sp.Integer(1))])
    t = 2.0095752371292397  # of 49 degrees of freedom: the exact one is not fitted
    assert law.intervals()["c0"] == pytest.approx((2 - 0.1 * t, 2 + 0.1 * t))
    assert law.intervals()["c1"] == (1, 1)
    low, high = law.predict_interval([[3.0, 1.0]])
    assert (low[0], high[0]) == pytest.approx((7 - 0.3 * t, 7 + 0.3 * t))
    low, high = law.predict_interval([[3.0, 1.0]], noise=True)
    assert high[0] == pytest.approx(7 + t * math.hypot(0.3, 0.02))
    assert law.stderr == {"c0": 0.1, "c1": 0.2}
    table = law.coefficients
    assert list(table) == ["value", "exact", "stderr", "low", "high"]
    assert table.loc["c1", "exact"] == "1"
    few = replace(law, evidence=replace(law.evidence, rows=1))
    assert math.isnan(few.intervals()["c0"][0])
    low, high = LAWS["number"].predict_interval([[1.0, 2.0]])
    assert low[0] == high[0] == 3
    assert LAWS["number"].coefficients.empty
    with pytest.raises(ValueError, match="level"):
        law.intervals(95)


@pytest.mark.parametrize(
    ("formula", "count"),
    [
        ("R*T/(V-b)-a/V**2", 5), ("a*S/(K+S)", 3), ("1/((x**2-M**2)**2+M**2*b**2)", 5),
        ("(u+v)/(1+u*v/R**2)", 5), ("1/(1/a+b/R)", 4), ("(a*R+b*S)/(a+b)", 5), ("K*(T-R)*a/b", 4),
        ("8.314*T/(V-0.0427)-3.59/V**2", 5), ("x", 0), ("-x", 0), ("3", 0), ("x/2", 1), ("sqrt(x)", 1),
        ("exp(-x)", 1), ("2*sin(x+1)", 3), ("x**b", 1), ("3*x/2", 2), ("(x+1)**2", 2), ("x**9", 0),
    ],
)  # fmt: skip
def test_operations(formula, count):
    assert operations(Names([*"RTVabSKMuvx"]).parse(formula)) == count


def test_domain():
    law = van_der_waals()
    assert law.domain.certified
    assert law.domain.widest == pytest.approx(1.127, abs=0.02)  # V reaches 0.0427
    tight = replace(law, box=((200, 500), (0.01, 1)))
    assert not tight.domain.certified
    assert tight.domain.widest == 0
    assert tight.domain.reasons == ("V - 0.0427 is not free of zeros in all of the box",)
    assert [str(sp.N(pole, 4)) for pole in tight.poles()] == ["V - 0.0427"]
    assert law.poles() == ()


@pytest.mark.parametrize(
    ("formula", "ends", "certified"),
    [
        ("sqrt(1-x**2)", (-1, 1), True), ("sqrt(x)", (0, 1), True), ("sqrt(x)", (-1e-9, 1), False),
        ("log(x)", (0, 1), False), ("log(x)", (1e-9, 1), True), ("asin(x)", (-1, 1), True),
        ("asin(x)", (0, 1.0000001), False), ("1/(x**2-2*x+1.01)", (-5, 5), True), ("exp(x)", (0, 1000), False),
        ("1/(1+2*cos(x)**2-2*sin(x)*cos(x))", (-3, 3), True), ("tan(x)", (0, 1.5), True),
        ("tan(x)", (0, 1.6), False), ("x**0.3", (0, 1), True), ("x**-0.3", (0, 1), False),
        ("1/(exp(x)-1)", (1e-6, 5), True), ("1/x", (0, 0), False), ("1/x", (3, 3), True), ("7", (1, 1), True),
        ("atanh(x)", (-0.9, 0.9), True), ("acosh(x)", (0.5, 2), False), ("Max(x,1)/(1+Abs(x))", (-3, 3), True),
    ],
)  # fmt: skip
def test_certificates(formula, ends, certified):
    law = make(formula, columns=["x"], box=[ends])
    assert law.domain.certified is certified
    assert bool(law.domain.reasons) is not certified
    if certified:
        assert np.isfinite(law.predict(np.linspace(*ends, 1001))).all()


def test_nothing_is_proven_of_unknown_functions():
    x = sp.Symbol("x")
    domain = replace(make("x", columns=["x"]), template=sp.gamma(x) / (x - 10)).domain
    assert domain.reasons == ("there is no proof that gamma(x) is finite in all of the box",)


def test_expanded_denominators_are_certified():
    law = make(
        "1/(u**2-2*u*v+v**2+w**2-2*w*z+z**2)", columns=["u", "v", "w", "z"],
        box=[(3, 4), (1, 2), (3, 4), (1, 2)],
    )  # fmt: skip
    assert law.domain.certified


def test_poles_of_one_column():
    def poles(formula, low, high):
        return make(formula, columns=["x"], box=[(low, high)]).poles()

    assert poles("1/(x**2-2)", -4, 4) == pytest.approx((-math.sqrt(2), math.sqrt(2)))
    assert poles("1/(x**2-2*x+1)", 0, 4) == pytest.approx((1,))
    assert poles("(x**2-1)/(x-1)", 0, 4) == ()
    assert poles("1/sin(x)+1/(x-5)", 1, 7) == pytest.approx((math.pi, 5, 2 * math.pi), rel=1e-15)
    assert poles("1/(1-sin(x))", 0, 10) == pytest.approx((math.pi / 2, 5 * math.pi / 2), rel=1e-7)
    assert poles("1/(x**2+1)", -5, 5) == ()
    assert poles("2", 0, 1) == ()
    law = make("1/(x-1.5)", columns=["x"], box=[(2, 3)])
    assert law.poles() == ()
    assert law.poles([(1, 2)]) == (1.5,)
    with pytest.raises(ValueError, match="box needs 1 pair"):
        law.poles([(2, 1)])
    with pytest.raises(TypeError, match="pairs"):
        law.poles((1, 2))


def test_equals():
    law = van_der_waals()
    assert law.equals(law)
    assert law.equals("8.314*T/(V-0.0427)-3.591/V**2")
    assert not law.equals("8.314*T/(V-0.0527)-3.591/V**2").solved
    assert law.equals(2 * law.formula).ratio_constant


def test_words():
    gas = van_der_waals(
        evidence=Evidence(400, 2e-13, 2e-13, 3e-13, 1e-12, 5.0, 1e-5), units={"T": "K"}
    )
    assert "to rounding error (2e-13)" in gas.trust
    assert "proven" in gas.trust
    noisy = replace(
        gas,
        evidence=replace(gas.evidence, error=0.01, held_out=0.011, surrogate=0.0095, stopped=True),
    )
    assert "1% of the spread of P, the level of the noise" in noisy.trust
    assert "not seen its error is 1.1%" in noisy.trust
    assert "ran out of time" in noisy.trust
    poor = replace(noisy, evidence=replace(noisy.evidence, surrogate=0.001))
    assert "gets to 0.1%" in poor.trust
    none = replace(noisy, found=False)
    assert none.trust.startswith("No compact law was found")
    lines = gas.summary()
    assert "P = 8.314*T/(V - 0.0427)" in lines
    assert "T: 200 to 500 K" in lines
    assert "5 operations" in lines
    assert "lambda_ = 'lambda'" in LAWS["odd"].summary()
    for law in LAWS.values():
        assert law.trust
        assert law.summary()


def test_bad_laws():
    with pytest.raises(ValueError, match="neither the symbol of a column nor a parameter"):
        make("c0*T")
    with pytest.raises(ValueError, match="'c0', 'c1'"):
        Parameter("a", 1.0)
    with pytest.raises(ValueError, match="finite"):
        Parameter("c0", math.nan)
    with pytest.raises(ValueError, match="real number"):
        Parameter("c0", 1.0, 0.1, sp.Symbol("x"))
    with pytest.raises(ValueError, match="box"):
        make("T", box=[(1, 2)])
    with pytest.raises(ValueError, match="covariance"):
        make("c0*T", [Parameter("c0", 1.0)], covariance=np.eye(2))
    with pytest.raises(ValueError, match="one name"):
        make("c0*T", [Parameter("c0", 1.0), Parameter("c0", 2.0)])
    with pytest.raises(ValueError, match="name of a function"):
        van_der_waals().to_c("two words")
    with pytest.raises(ValueError, match="cannot be written as code"):
        make("erf(T)").to_python()


def test_words_of_caution():
    gas = van_der_waals(evidence=Evidence(400, 0.01, 0.01, 0.011, 0.02, 5.0, 0.0095))
    few = replace(gas, evidence=replace(gas.evidence, rows=12))
    assert "level of the noise" in gas.trust
    assert "level of the noise" not in few.trust
    assert "So few rows" in few.trust
    assert "not to be trusted" not in gas.trust
    astray = replace(gas, evidence=replace(gas.evidence, extrapolation=1.5))
    assert "predicts the outer part to 150%: outside of the data it is not" in astray.trust
    noise = replace(gas, found=False, evidence=replace(gas.evidence, error=1.0, held_out=None))
    assert "an error of 100% of the spread" in noise.trust
    note = "3.001 +- 0.01 was taken as 3"
    taken = replace(gas.evidence, route=("it is a sum", note), made_exact=(note,))
    assert "exact       3.001 +- 0.01 was taken as 3" in replace(gas, evidence=taken).summary()


def test_other_formulas():
    gas = van_der_waals(evidence=Evidence(400, 0.01, 0.01, 0.011, 0.02, 5.0, 0.0095))
    T, V = gas.names.symbols
    near = gas.formula.xreplace({f: f * 1.001 for f in gas.formula.atoms(sp.Float)})
    own = Entry(near, gas.complexity, 0.0102, 3)
    close, poor = Entry(8.3 * T / V, 2, 0.01021, 1), Entry(T / 2, 1, 0.5, 0)
    law = replace(gas, pareto=(own, close, poor))
    assert own_entry(law) is law.pareto[0]
    assert rivals(law) == [law.pareto[2], law.pareto[1]]
    assert as_good(law) == [law.pareto[1]]
    assert "The rows do not tell it from P = 8.3*T/V." in law.trust
    assert own_entry(gas) is None
    assert as_good(replace(law, evidence=replace(law.evidence, error=0.0), pareto=(close,))) == []
    alone = replace(gas, pareto=(own,))
    assert rivals(alone) == []
    assert "do not tell" not in alone.trust
