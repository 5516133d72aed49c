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

from rational_anova.discovery.law import (
    Entry,
    Evidence,
    Grade,
    Groups,
    Law,
    Noise,
    Parameter,
    Rival,
    Sample,
)
from rational_anova.discovery.law._expressions import operations, with_error
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
        names.parse(template, [p.name for p in parameters]),
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
    assert repr(law) == "Law(P = 8.314*T/(V - 0.0427) - 3.5912/V**2, rmse 0.02, one of several)"
    assert law.latex() == r"\frac{8.314 T}{V - 0.0427} - \frac{3.5912}{V^{2}}"
    assert law._repr_latex_().startswith(r"$\displaystyle P = \frac")
    named = replace(
        law, name="van der Waals", grade="established", noise=Noise("log-normal", 0.042)
    )
    assert repr(named).endswith("van der Waals, scatter 4.2%, established)")
    assert named.grade is Grade.ESTABLISHED
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
    rival = Rival(entry.formula, "a line", 0.25, 0.5, 1, 1)
    values = pd.DataFrame({"c0": [1.0, 2.0], "c0 stderr": [0.1, math.nan]}, index=["a", "b"])
    law = replace(
        LAWS[name], pareto=(entry,), evidence=evidence, units={"T": "K"}, grade="interpolation",
        name="a law", rivals=(rival,), doubts=("It is odd.",), outliers=(3, 7),
        noise=Noise("proportional", 0.1, 0.01, {"constant": 0.25, "proportional": 0.75}),
        groups=Groups("run", ("c1",), ("c0",), values, {"c0": 0.5}, True),
        provenance={"file": "a.csv", "rows": 7, "options": {"by": "run", "seed": None}},
        data=Sample(np.ones((1, len(LAWS[name].names))), np.ones(1)),
    )  # fmt: skip
    law.save(tmp_path / "law.json")
    back = Law.load(tmp_path / "law.json")
    assert back.data is None
    for field in ("template", "formula", "target", "box", "units", "grade", "name", "doubts",
                  "rivals", "outliers", "noise", "provenance"):  # fmt: skip
        assert getattr(back, field) == getattr(law, field), field
    assert repr(back.parameters) == repr(law.parameters)
    assert back.names.columns == law.names.columns
    assert (back.groups.column, back.groups.shared, back.groups.own) == ("run", ("c1",), ("c0",))
    assert (back.groups.spread, back.groups.shrunk) == ({"c0": 0.5}, True)
    pd.testing.assert_frame_equal(back.groups.values, law.groups.values)
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


def test_names_of_parameters_come_back():
    law = make(
        "vmax*T/(E + T)", [Parameter("vmax", 2.0, 0.1, meaning="largest rate", unit="mol/s"),
                           Parameter("E", 0.5, 0.1, low=0.3, high=0.8)],
    )  # fmt: skip
    back = Law.from_json(law.to_json())
    assert back.template == law.template
    assert back.parameters[0].unit == "mol/s"
    assert back.parameters[1].high == 0.8


def test_a_file_that_lacks_a_part():
    content = json.loads(van_der_waals().to_json())
    with pytest.raises(ValueError, match="damaged"):
        Law.from_json(json.dumps({k: v for k, v in content.items() if k != "grade"}))


def test_code_has_room_for_every_name(tmp_path):
    law = make(
        "numpy*T**exp + double/V + law + λ*erf(T)", [Parameter("numpy", 2.0), Parameter("exp", 1.5),
        Parameter("double", 3.0), Parameter("law", 0.5), Parameter("λ", 0.1)],
    )  # fmt: skip
    X = rows(law)
    expected = 2 * X[:, 0] ** 1.5 + 3 / X[:, 1] + 0.5
    error = [0.1 * math.erf(value) for value in X[:, 0]]
    np.testing.assert_allclose(law.predict(X), expected + error, rtol=1e-13)
    assert "erf(T)" in law.to_c()
    assert law.to_c().isascii()


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


def test_families():
    law = make("c0*T/(c1+T)", [Parameter("c0", 2.0), Parameter("c1", 0.7)])
    assert law.equals("a*T/(b + T)")
    assert law.equals("a*T/(b + T)").by == "fit"
    assert law.equals("c0*T/(c1 + T)")
    assert law.equals("1/(p + q/T)")
    assert not law.equals("a*(1 - exp(-b*T))")
    assert not law.equals("(a + b*T)/(c + T)")  # has more numbers
    assert law.equals(sp.sympify("a*T/(b + T)"))
    known = make("R*T/c0", [Parameter("R", 8.314, given=True), Parameter("c0", 2.0)])
    assert known.equals("R*T/a")
    assert known.equals("R*T/2").identical


def test_named():
    law = make("c0*T/(c1+T)", [Parameter("c0", 2.0), Parameter("c1", 0.7)])
    assert law.is_("Michaelis-Menten")
    assert law.is_("michaelis menten")
    assert not law.is_("Arrhenius")
    assert replace(law, name="My own law").is_("my own law")
    with pytest.raises(ValueError, match="no named law is called"):
        law.is_("Nobody's law")


def test_latex():
    law = make(
        "c0*rate/(k_cat + theta) - c1*exp(-c2)*x_long_name",
        [Parameter("c0", 2.2591, 0.0123), Parameter("c1", 1.2345e-5, 4e-7), Parameter("c2", 0.5, 0.1, sp.Rational(1, 2))],
        ["rate", "k_cat", "theta", "x_long_name"],
    )  # fmt: skip
    plain, told = law.latex(), law.latex(errors=True)
    assert r"\mathrm{rate}" in plain
    assert r"k_{\mathrm{cat}} + \theta" in plain
    assert r"2.259(12) \, \mathrm{rate}" in told
    assert r"1.23(4)\times 10^{-5}" in told
    assert "e^{- \\frac{1}{2}}" in told or r"e^{\frac{1}{2}}" in told
    minus = make(
        "c0*T + c1**2/V", [Parameter("c0", -3.14159, math.nan), Parameter("c1", -2.0, 0.5)]
    )
    assert r"-3.14159" in minus.latex(errors=True).replace("- 3", "-3")
    assert r"\left(2.0(5)\right)^{2}" in minus.latex(errors=True)
    assert replace(law, target="rate")._repr_latex_().startswith(r"$\displaystyle \mathrm{rate} =")


@pytest.mark.parametrize(
    ("value", "stderr", "text"),
    [
        (2.2591, 0.0123, "2.259(12)"), (1.2345e-5, 4e-7, "1.23(4)e-5"), (-12345.0, 120.0, "-1.234(12)e4"),
        (0.0, 0.1, "0.00(10)"), (0.3, 50.0, "0(5)e1"), (1.0, 0.0996, "1.00(10)"), (8.0, 0.4, "8.0(4)"),
        (1e10, 1.0, "10000000000.0(10)"), (123.0, 2.0, "123.0(20)"),
    ],
)  # fmt: skip
def test_numbers_with_errors(value, stderr, text):
    assert with_error(value, stderr) == text


def test_groups():
    values = pd.DataFrame({"c0": [1.0, 2.0], "c0 stderr": [0.1, 0.2]}, index=["a", "b"])
    law = make(
        "c0*T + c1", [Parameter("c0", 1.5, 0.1), Parameter("c1", 3.0, 0.1)], ["T"],
        groups=Groups("run", ("c1",), ("c0",), values),
    )  # fmt: skip
    assert law.for_group("b").predict([[2.0]])[0] == 7
    assert law.for_group("b").stderr == {"c0": 0.2, "c1": 0.1}
    assert "The 2 groups of run share c1 and differ in c0." in law.trust
    assert "a    1 +- 0.1" in law.summary()
    with pytest.raises(ValueError, match=r"no group 'c'; there are \['a', 'b'\]"):
        law.for_group("c")


def test_bad_laws():
    with pytest.raises(ValueError, match="neither the symbol of a column nor a parameter"):
        make("c0*T")
    for name in ("two words", "lambda", ""):
        with pytest.raises(ValueError, match="such as 'c0' or 'vmax'"):
            Parameter(name, 1.0)
    with pytest.raises(ValueError, match="'T' has the name of the column 'T'; give one"):
        make("T*V", [Parameter("T", 1.0)])
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
        replace(make("T"), template=sp.zeta(sp.Symbol("T"))).to_python()
