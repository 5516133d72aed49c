"""Numbers of formulas that are too large are refused before sympy computes them."""

import pytest

from rational_anova.symbols import Names, parse

NAMES = Names(["x", "y"])


@pytest.mark.parametrize(
    "text",
    [
        "((9**9999)**9999)", "floor(exp(exp(100)))", "9**9**9", "((2*x)**9999)**9999",
        "(1 + 1/10**6)**(10**8)", "floor(exp(erf(1)*10**299))", "floor(exp(10**100*(1 + 1/10**20 - 1)))",
        "exp(1/exp(-exp(100)))", "1/(1 - 1)", "1.5e308", "floor(tan(pi/2))", "1"*400,
        "exp("*40 + "x" + ")"*40, "x + "*6000 + "x", "x**(9**999)", "Max(9**999, x)",
    ],
)  # fmt: skip
def test_too_large(text):
    with pytest.raises(ValueError, match="too large|letters|deep|cannot read"):
        NAMES.parse(text)


@pytest.mark.parametrize(
    "text",
    [
        "exp(-11604/x)", "exp(1000*x)", "6.62607015e-34*x", "x**10000", "(-8)**(1/3)*x", "1e-320*x",
        "2**(1/2)*x", "log(2)*x + pi", "acos(5)*x", "Max(1, x)", "0*x + 1/3", "1.380649e-23*x/y**12",
    ],
)  # fmt: skip
def test_formulas_of_laws_are_read(text):
    assert NAMES.parse(text) is not None


def test_numbers_that_are_put_in_count():
    symbols = {symbol.name: symbol for symbol in NAMES.symbols}
    assert parse("exp(exp(exp(c0)))*x", symbols, {"c0": 1.0})
    with pytest.raises(ValueError, match="too large"):
        parse("exp(exp(exp(c0)))*x", symbols, {"c0": 100.0})
