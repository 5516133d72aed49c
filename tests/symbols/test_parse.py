"""Names of a formula, and its check without building it."""

import pytest
import sympy as sp

from rational_anova.symbols import check_formula, names_in, parse


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a*exp(-b*x) + a*pi", ("a", "b", "x")),
        ("z + f(V)*1.e5 + 2e3", ("z", "V")),
        ("c0 + c1*x", ("c0", "c1", "x")),
        ("gamma*S + beta/N", ("gamma", "S", "beta", "N")),
        ("3.5", ()),
        ("b\n + a", ("b", "a")),
    ],
)
def test_names(text, names):
    assert names_in(text) == names


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lambda*x", "'lambda', which Python keeps for itself; write lambda_"),
        ("None + x", "write none_"),
        ("E*x", "'E', which is Euler's number"),
        ("I*x", "'I', which is the imaginary unit; write I_ for a name"),
        ("exp*x", "the function 'exp' without its argument"),
        ("a*x +", "cannot read the formula"),
        ("2x", "cannot read the formula"),
    ],
)
def test_names_that_a_formula_cannot_have(text, message):
    with pytest.raises(ValueError, match=message):
        names_in(text)
    with pytest.raises(TypeError, match="a formula must be text, got int"):
        names_in(3)


@pytest.mark.parametrize(
    "text",
    ["x^2", "a*bessel(x)", "x[0]", "a.b*x", "x if x else a", "x > 1", "'a'*x", "True + x", "x % 2",
     "sin(x, a)", "exp(x=1)", "atan2(x)", "x and a", "~x", "1j*x", "(x, a)", "sin()"],
)  # fmt: skip
def test_the_check_refuses_what_parse_refuses(text):
    symbols = {name: sp.Symbol(name) for name in "xab"}
    with pytest.raises(ValueError, match="formula"):
        parse(text, symbols)
    with pytest.raises(ValueError, match="formula"):
        check_formula(text)


@pytest.mark.parametrize("text", ["max(x, a, 2)", "atan2(x, a)", "log(x, 2)", "-x**+a", "ln(x)"])
def test_the_check_lets_pass_what_parse_reads(text):
    check_formula(text)
    assert parse(text, {"x": sp.Symbol("x"), "a": sp.Symbol("a")}).has(sp.Symbol("x"))
