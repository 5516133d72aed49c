"""Column names as symbols: every name comes back, and so does every formula."""

import pickle
import shutil
import subprocess

import pytest
import sympy as sp
from hypothesis import given, settings
from hypothesis import strategies as st

from rational_anova.symbols import Names

ODD = [
    "lambda", "E", "I", "pi", "1/x", "a b", "a-b", "a_b", "x-1", "température", "Δt", "µ", "μ", "",
    "c0", "c1", "c12", "sin", "log", "Abs", "sqrt", "double", "int", "for", "np", "pow", "law", "N",
    "S", "Q", "O", "gamma", "beta", "zeta", "_", "__x", "_X", "x²", "日本", "class", "None", "oo",
    " ", "V_{m}", "%", "\\", "a\nb", "x__y", "unix", "true", "3", "(c0)", "e",
]  # fmt: skip


def formula(symbols):
    """Use every symbol, the functions and constants that bear columns' names, and parameters."""
    c0, c1 = sp.symbols("c0 c1")
    total = c0 * sp.pi + sp.E * c1
    for n, symbol in enumerate(symbols):
        total += sp.sin(symbol) ** (n % 3 + 1) / (symbol**2 + n) + sp.log(symbol) * sp.sqrt(symbol)
    return total + sp.exp(-symbols[0]) / 3


def check(columns):
    names = Names(columns)
    assert list(names) == list(columns)
    assert [names.original(symbol) for symbol in names.symbols] == list(columns)
    assert [names.original(str(symbol)) for symbol in names.symbols] == list(columns)
    assert len(set(names.symbols)) == len(set(names.identifiers)) == len(names) == len(columns)
    assert not {sp.Symbol(f"c{n}") for n in range(20)} & set(names.symbols)
    for identifier in names.identifiers:
        assert identifier.isidentifier()
        assert identifier.isascii()
        exec(f"{identifier} = 1.0", {})
    for symbol in names.symbols:
        assert names.parse(str(symbol)) == symbol
    if columns:
        given = formula(names.symbols)
        assert names.parse(str(given)) == given
    return names


def test_odd_names_together_and_alone():
    check(ODD)
    for column in ODD:
        check([column])


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(max_size=6) | st.sampled_from(ODD), max_size=4, unique=True))
def test_any_text(columns):
    check(columns)


def test_names_stay_where_they_can():
    plain = ["T", "temperature", "V_m", "N", "S", "gamma", "beta", "double", "Δt", "débit"]
    names = Names(plain)
    assert [symbol.name for symbol in names.symbols] == plain
    assert names.identifiers[7:] == ("double_", "Deltat", "debit")
    assert Names(["lambda", "E", "c0", "sin"]).identifiers == ("lambda_", "E_", "c0_", "sin_")


def test_names_that_collide_when_cleaned():
    names = check(["a b", "a-b", "a_b", "a_b_2", "lambda", "lambda_"])
    assert [s.name for s in names.symbols] == [
        "a_b_3",
        "a_b_4",
        "a_b",
        "a_b_2",
        "lambda_2",
        "lambda_",
    ]


def test_constants_and_columns_of_one_name_are_told_apart():
    names = Names(["E", "pi", "sin", "I"])
    E, pi, sine, unit = names.symbols
    given = E * sp.E**2 + pi * sp.pi + sp.sin(sine) * sine + sp.I * unit + sp.E
    back = names.parse(str(given))
    assert back == given
    assert back.has(sp.pi, sp.E, sp.I)


def test_columns_are_checked():
    with pytest.raises(ValueError, match="'T' is given twice"):
        Names(["T", "V", "T"])
    with pytest.raises(TypeError, match="a sequence of names, got the text 'TV'"):
        Names("TV")
    with pytest.raises(TypeError, match="must be text, got 3"):
        Names([3])
    with pytest.raises(ValueError, match="'P' is the symbol of no column; there are T, V"):
        Names(["T", "V"]).original("P")
    with pytest.raises(ValueError, match="no column 'P'"):
        Names(["T", "V"]).symbol("P")
    assert str(Names(["E"]).symbol("E")) == "E_"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("T + P", "unknown name 'P'; it may have T, V"),
        ("__import__('os')", "where a number should be"),
        ("T.real", "is not arithmetic"),
        ("(lambda: 0)()", "is not arithmetic"),
        ("open(T)", "unknown function 'open'"),
        ("factorial(T)", "unknown function 'factorial'"),
        ("sin(T, V)", "calls sin in a wrong way"),
        ("T +", "cannot read the formula"),
        ("9**9**9**9", "too large"),
        ("T // V", "it may have"),
        ("True", "where a number should be"),
        ("2j", "where a number should be"),
        ("(" * 500 + "T" + ")" * 500, "cannot read the formula"),
    ],
)
def test_text_that_is_no_formula(text, message):
    with pytest.raises(ValueError, match=message):
        Names(["T", "V"]).parse(text)


def test_extra_names():
    names = Names(["T"])
    assert names.parse("R*T + ln(T) + abs(T)", extra=["R"]).free_symbols == set(sp.symbols("R T"))
    with pytest.raises(TypeError, match="must be text"):
        names.parse(3)


@pytest.mark.parametrize(
    "value", [1 / 3, 0.1, 8.314462618, 1e-300, -2.5e17, 0.5, 123456.789012345678]
)
def test_floats_come_back_to_the_bit(value):
    names = Names(["T"])
    T = names.symbols[0]
    given = sp.Float(value, 17) * T + sp.exp(sp.Float(value, 17) / T)
    back = names.parse(str(given))
    assert sorted(map(float, back.atoms(sp.Float))) == sorted(map(float, given.atoms(sp.Float)))


@pytest.mark.parametrize(
    "text",
    ["2*(T + 1)", "T - 2*V*(T + 1)", "(T + 1)/2", "T**(1/3)/V**2", "-(T + 2)/6", "1/(T - V)"],
)
def test_factors_stay_factors(text):
    assert str(Names(["T", "V"]).parse(text)) == text


def test_latex():
    names = Names(["lambda", "1/x", "T_m", "", "__x", "50 %"])
    written = [sp.latex(symbol, symbol_names=names.latex) for symbol in names.symbols]
    assert written[:4] == [r"\lambda", r"\mathrm{1/x}", "T_{m}", "x_{3}"]
    assert written[4:] == [r"\mathrm{\_\_x}", r"\mathrm{50\ \%}"]


def test_pickle():
    names = Names(ODD)
    _ = names.symbols
    assert pickle.loads(pickle.dumps(names)) == names


@pytest.mark.skipif(shutil.which("gcc") is None, reason="no gcc")
def test_identifiers_are_arguments_in_c(tmp_path):
    arguments = Names(ODD).identifiers
    uses = " + ".join(f"sin({name}) * pow({name}, 2)" for name in arguments)
    source = tmp_path / "law.c"
    source.write_text(
        f"#include <math.h>\ndouble law({', '.join(f'double {n}' for n in arguments)})"
        f" {{ return {uses} + log(2) + fabs(1); }}\n"
    )
    subprocess.run(
        ["gcc", "-Wall", "-Werror", "-c", str(source), "-o", str(tmp_path / "law.o")], check=True
    )
