"""The catalogue of named laws, search by name, and forms that users give."""

import pickle
import warnings
from collections import Counter
from functools import cache

import numpy as np
import pytest
import sympy as sp

from rational_anova.discovery.catalogue import NamedForm, catalogue, find, read_forms
from rational_anova.symbols import names_in

FORMS = catalogue()
# Real and finite only on a part of x in (0.5, 5), by nature: beyond a critical point, an edge, an
# end point, a mole fraction of 1, a right angle, or where the second input is the larger one.
PARTLY_REAL = {
    "Balmer", "Brière", "beta temperature response", "Henderson-Hasselbalch", "Flory-Huggins",
    "Rouse", "Lorentz factor", "Sellmeier", "Sellmeier with free constant",
    "Sellmeier with two terms", "Sellmeier with three terms", "cosine power",
    "Fresnel reflectance, s polarization", "direct gap absorption", "shifted log-normal peak",
    "shifted power law", "critical power law", "gamma variate with delay", "Luong", "BET",
    "non-rectangular hyperbola", "non-rectangular hyperbola with offset", "superconducting gap",
    "Watson", "Guggenheim-Katayama", "Rackett", "constant elasticity of substitution",
    "orifice flow",
}  # fmt: skip
LAWS = """
[[form]]
name = "Bleaching"
aliases = ["fading"]
formula = "a + b*exp(-t/tau)"
inputs = ["t"]
holds = "Dyes under a lamp."
parameters = { a = "what stays", tau = "life time" }
positive = ["tau"]
common = 2

[[form]]
name = "my isotherm"
formula = "q*x*z/(1 + k*x)"
"""


@cache
def function(form):
    """The values of a form by its inputs and parameters."""
    arguments = [sp.Symbol(name) for name in (*form.inputs, *form.parameters)]
    return sp.lambdify(arguments, form.expression, ["scipy", "numpy"])


def values(form, draws, rng):
    """Values at x in (0.5, 5) and parameters in (0.5, 2), draw by draw."""
    inputs = [np.linspace(0.5, 5, 37), np.linspace(4.7, 0.6, 37)][: len(form.inputs)]
    for _ in range(draws):
        yield function(form)(*inputs, *rng.uniform(0.5, 2, len(form.parameters)))


def test_the_catalogue_is_wide():
    fields = Counter(form.field for form in FORMS)
    assert len(FORMS) >= 150
    assert len(catalogue(inputs=2)) >= 25
    assert len(fields) >= 15
    assert min(fields.values()) >= 5
    assert 40 <= sum(form.common == 1 for form in FORMS) <= 150


def test_every_form_is_documented():
    for form in FORMS:
        assert all(form.parameters.values()), form.name
        assert form.holds.endswith("."), form.name
        assert form.formula == form.formula.strip(), form.name
        assert all(name == name.lower() for name in form.parameters), form.name
        assert form.inputs in (("x",), ("x", "z")), form.name


def test_every_formula_parses_and_keeps_its_names():
    for form in FORMS:
        free = {symbol.name for symbol in form.expression.free_symbols}
        assert free == set(names_in(form.formula)), form.name


def test_names_are_unique():
    plain = [name.casefold() for form in FORMS for name in (form.name, *form.aliases)]
    assert [name for name, count in Counter(plain).items() if count > 1] == []
    for form in FORMS:
        assert all(find(name) is form for name in (form.name, *form.aliases))


def test_forms_have_real_values():
    rng = np.random.default_rng(0)
    odd = set()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for form in FORMS:
            if not all(np.isrealobj(y) and np.isfinite(y).all() for y in values(form, 8, rng)):
                odd.add(form.name)
    assert odd <= PARTLY_REAL


def signature(form):
    """The formula with parameters renamed by first appearance in the tree, and without signs."""
    found = [node for node in sp.preorder_traversal(form.expression) if node in names(form)]
    order = {symbol: sp.Symbol(f"p{n}") for n, symbol in enumerate(dict.fromkeys(found))}
    return form.expression.xreplace(order)


def names(form):
    return {sp.Symbol(name) for name in form.parameters}


def test_no_form_is_another_with_other_letters():
    # rewritings that change more than letters are looked for by fits of all pairs
    seen = {}
    for form in FORMS:
        key = (form.inputs, signature(form))
        assert key not in seen, f"{form.name} is {seen[key]}"
        seen[key] = form.name


def test_every_parameter_counts():
    """No two parameters do the same: the slopes are independent at some point."""
    rng = np.random.default_rng(1)
    smooth = [form for form in FORMS if not form.expression.has(sp.sign, sp.floor)]
    with np.errstate(all="ignore"):
        same = [form.name for form in smooth if not any(ranks(form, rng))]
    assert same == []


def ranks(form, rng):
    """Whether the parameters have independent slopes, at points drawn one after the other."""
    t = np.linspace(0, 1, 40)
    for low, high in ((0.52, 4.7), (0.12, 0.93), (3.1, 9.3)) * 8:
        x = [low + (high - low) * u for u in (t, (7.3 * t + 0.2) % 1)][: len(form.inputs)]
        point = rng.uniform(0.3, 3, len(form.parameters))
        steps = 1e-6 * np.eye(len(point))
        slopes = np.array([
            np.ones(40) * (function(form)(*x, *(point + h)) - function(form)(*x, *(point - h)))
            for h in steps
        ])  # fmt: skip
        slopes[:, ~np.isfinite(slopes).all(axis=0)] = 0.0
        lengths = np.maximum(np.linalg.norm(slopes, axis=1, keepdims=True), 1e-30)
        yield np.linalg.svd(slopes / lengths, compute_uv=False)[-1] > 1e-5


def test_catalogue_selects():
    assert {form.field for form in catalogue("thermal")} == {"thermal"}
    assert {form.inputs for form in catalogue(inputs=2)} == {("x", "z")}
    with pytest.raises(ValueError, match="field must be one of .*'thermal'.*, got 'termal'"):
        catalogue("termal")
    with pytest.raises(ValueError, match="inputs must be 1 or 2, got 3"):
        catalogue(inputs=3)


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("michaelis menten", "Michaelis-Menten"),
        ("LANGMUIR", "Michaelis-Menten"),
        ("Toth", "Tóth"),
        ("newtons cooling", "exponential with offset"),
        ("debye hueckel", "extended Debye-Hückel"),
        ("Kepler's third law", "three halves power"),
        ("vogel–fulcher–tammann", "Antoine"),
    ],
)
def test_find_overlooks_case_accents_and_hyphens(name, found):
    assert find(name).name == found


def test_find_offers_near_names():
    with pytest.raises(
        ValueError, match="no named law is called 'Michaelis-Mentem'.*Michaelis-Men"
    ):
        find("Michaelis-Mentem")
    with pytest.raises(ValueError, match=r"'qqqqqqq'; ra.discovery.catalogue\(\) has them all"):
        find("qqqqqqq")
    with pytest.raises(TypeError, match="must be text, got 3"):
        find(3)


def test_forms_of_nist_and_textbooks_are_there():
    x, z = sp.symbols("x z")
    a, b, c, d = sp.symbols("a b c d")
    assert find("Roszman").expression == a - b * x - sp.atan(c / (x - d)) / sp.pi
    assert find("Kowalik-Osborne").expression == a * (x**2 + b * x) / (x**2 + c * x + d)
    assert find("broken line").expression == a + b * x + c * sp.Max(0, x - d)
    assert find("Cobb-Douglas").expression == a * x**b * z**c
    nist = "Misra1a Misra1b Misra1c Misra1d Chwirut Lanczos Gauss1 Kirby2 Hahn1 Thurber MGH09 "
    for name in (nist + "MGH10 MGH17 Rat42 Rat43 ENSO Roszman Eckerle4 BoxBOD Nelson").split():
        find(name)


def test_a_form_on_columns():
    form = find("Michaelis-Menten").on("conc")
    assert form.formula == "vmax*conc/(km + conc)"
    assert form.inputs == ("conc",)
    renamed = find("Cobb-Douglas").on("b", "a", taken=["c"])
    assert renamed.formula == "a_*b**b_*a**c_"
    assert renamed.parameters == {"a_": "factor", "b_": "first exponent", "c_": "second exponent"}
    assert form.on("x").expression == find("Michaelis-Menten").expression
    with pytest.raises(ValueError, match=r"it has 1 input\(s\), conc; got 2 column\(s\): a, b"):
        form.on("a", "b")


def test_numbers_with_exponents_are_no_names():
    form = NamedForm("n", "a*x*1.e5 + e5", parameters={"e5": "level"})
    assert form.on("t").formula == "a*t*1.e5 + e5"
    assert tuple(form.parameters) == ("a", "e5")


def test_forms_are_values():
    form = find("Hill")
    again = pickle.loads(pickle.dumps(form))
    assert again == form
    assert hash(again) == hash(form)
    with pytest.raises(AttributeError):
        form.name = "x"


def test_meanings_follow_the_formula():
    form = NamedForm("n", "b*x + a", parameters={"a": "level"})
    assert dict(form.parameters) == {"b": "", "a": "level"}
    assert form.inputs == ("x",)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"formula": "a*x +"}, "the form 'n': cannot read the formula"),
        ({"formula": "a*gamma(x)"}, "the form 'n': the formula has the unknown function 'gamma'"),
        ({"formula": "lambda*x"}, "'lambda', which Python keeps for itself; write lambda_"),
        ({"formula": "E*x"}, "'E', which is Euler's number"),
        ({"formula": "I*x"}, "'I', which is the imaginary unit; write I_"),
        ({"formula": "exp*x"}, "the function 'exp' without its argument"),
        ({"formula": "a*S"}, "has neither x nor z; name its inputs, for example inputs=('a',)"),
        ({"formula": "a*x", "inputs": ("S",)}, "lacks the input 'S'"),
        ({"formula": "a*x", "inputs": ("x", "z")}, "lacks the input 'z'"),
        ({"formula": "a*x", "inputs": ("x", "x")}, "inputs has 'x' twice"),
        ({"formula": "a*x", "parameters": {"b": "b"}}, "'b', which is no free name of the formula"),
        ({"formula": "a*x", "positive": ("b",)}, "positive has 'b', which is no parameter; there are a"),
        ({"formula": "a*x", "common": 4}, "common must be 1 .* got 4"),
        ({"formula": "a*x", "holds": 3}, "holds must be text, got 3"),
        ({"formula": "a*x", "aliases": "b"}, "aliases must be a list of names, got 'b'"),
        ({"formula": " "}, "formula must not be empty"),
    ],
)  # fmt: skip
def test_wrong_forms(arguments, message):
    message = message.replace("(", r"\(").replace(")", r"\)").replace("1 .*", "1 .*")
    with pytest.raises((TypeError, ValueError), match=message):
        NamedForm("n", **arguments)


def test_forms_from_text():
    given = NamedForm("mine", "a + b/S", inputs=("S",))
    forms = read_forms(["a*S/(b + S)", given, "a*x", "T*S*k"], columns=["S", "T"])
    assert [form.inputs for form in forms] == [("S",), ("S",), ("x",), ("S", "T")]
    assert [form.name for form in forms] == ["a*S/(b + S)", "mine", "a*x", "T*S*k"]
    assert tuple(forms[0].parameters) == ("a", "b")
    assert read_forms(given) == (given,)
    assert len(read_forms(["a*x + b", "a*x - b"])) == 2
    assert find("a*x+b", read_forms(["a*x + b", "a*x - b"])).formula == "a*x + b"


def test_forms_from_a_file(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('field = "dyes"\n' + LAWS)
    bleaching, isotherm = read_forms(path)
    assert read_forms(str(path)) == (bleaching, isotherm)
    assert bleaching.inputs == ("t",)
    assert bleaching.field == "dyes"
    assert dict(bleaching.parameters) == {"a": "what stays", "b": "", "tau": "life time"}
    assert isotherm.inputs == ("x", "z")
    assert isotherm.common == 1
    assert find("FADING", (bleaching, isotherm)) is bleaching


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[[form", "mine.toml is no TOML"),
        ("", "has no form; begin each"),
        ("a = 1", "unknown key 'a' at the top"),
        ('[form]\nname = "a"', "in double brackets"),
        ('[[form]]\nname = "a"', r"form 1 \('a'\) lacks the key 'formula'"),
        ('[[form]]\nformula = "a*x"', "form 1 lacks the key 'name'"),
        ('[[form]]\nname = "a"\nformula = "a*x"\nalias = ["b"]', "'alias'; did you mean 'aliases'"),
        ('[[form]]\nname = "a"\nformula = 3', "formula must be text, got 3"),
        ('[[form]]\nname = "a"\nformula = "f(x)"', "unknown function 'f'"),
        (LAWS + '[[form]]\nname = "Fading"\nformula = "a*x"', "'Fading' is that of two forms"),
        (LAWS + '[[form]]\nname = "b"\nformula = "a*x"\ncommon = "often"', "got 'often'"),
    ],
)
def test_wrong_files(tmp_path, text, message):
    path = tmp_path / "mine.toml"
    path.write_text(text)
    with pytest.raises((TypeError, ValueError), match=message):
        read_forms(path)


def test_wrong_sources():
    with pytest.raises(FileNotFoundError, match="there is no file 'none.toml' of forms"):
        read_forms("none.toml")
    with pytest.raises(ValueError, match=r"for one formula write \['a\*x'\]"):
        read_forms("a*x")
    with pytest.raises(
        TypeError, match="every form must be a formula as text or a NamedForm, got 3"
    ):
        read_forms([3])
    with pytest.raises(TypeError, match="forms must be a list of formulas"):
        read_forms(3)
