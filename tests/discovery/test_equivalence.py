"""Whether two formulas are the same law, by SRBench's rule."""

import time

import pytest
import sympy as sp

from rational_anova.discovery._equivalence import Verdict, equivalent
from rational_anova.symbols import Names

NAMES = Names([*"xyzuvwcmnthkTqijd", "m_0", "sigma", "theta"])
VELOCITIES = "(u+v)/(1+u*v/c**2)"
MASS = "m_0/sqrt(1-v**2/c**2)"
FAST = {"v": (1, 2), "c": (3, 10)}


def judge(law, truth, **options):
    return equivalent(NAMES.parse(law), NAMES.parse(truth), **options)


@pytest.mark.parametrize(
    ("law", "truth", "box"),
    [
        ("0.398942*exp(-0.5*theta**2/sigma**2)/sigma", "exp(-(theta/sigma)**2/2)/(sqrt(2*pi)*sigma)", None),
        ("(3*u*c**2+3*v*c**2)/(3*c**2+3*u*v)", VELOCITIES, None),
        ("(1.00003*u+v)/(1+0.99996*u*v/c**2)", VELOCITIES, None),
        ("(0.3334*u+0.3333*v)/(0.3332+0.3331*u*v/c**2)", VELOCITIES, None),
        ("m_0*c/sqrt(c**2-v**2)", MASS, FAST),
        ("n*exp(x)/(exp(2*x)+1)", "n/(exp(x)+exp(-x))", None),
        ("n*(exp(2*x)-1)/(exp(2*x)+1)", "n*tanh(x)", None),
        ("asin(1.0002*n*sin(t))", "asin(n*sin(t))", None),
        ("0.5-0.5*cos(2.0*x)", "sin(x)**2", None),
        ("0.4999*m*v**2+0.5003*m*u**2+0.5001*m*w**2", "m*(v**2+u**2+w**2)/2", None),
        ("x**2+0.667*x+0.111", "(x+1/3)**2", None),
        ("0.399*exp(-x/3)", "exp(-x/3)/sqrt(2*pi)", None),
        ("exp(-0.3331*x)", "exp(-x/3)", None),
        ("x**0.5003", "sqrt(x)", None),
        ("sqrt(x**2)", "x", {"x": (0.5, 2)}),
        ("log(x)-log(y)", "log(x/y)", None),
        ("i+j+2*sqrt(i)*sqrt(j)*cos(d)", "i+j+2*sqrt(i*j)*cos(d)", None),
        ("0.101321*h*w**3/(c**2*(exp(h*w/(k*T))-1))", "h*w**3/(pi**2*c**2*(exp(h*w/(k*T))-1))", None),
        ("sin(n*t/2)**2/sin(t/2)**2", "(1-cos(n*t))/(1-cos(t))", None),
        ("x*pi/2", "1.5708*x", None),
    ],
)  # fmt: skip
def test_the_same_law(law, truth, box):
    begun = time.perf_counter()
    verdict = judge(law, truth, box=box)
    assert verdict
    assert verdict.solved
    assert verdict.by.startswith("sympy")
    assert time.perf_counter() - begun < 4  # most take 0.05 s


@pytest.mark.parametrize(
    ("law", "truth", "box"),
    [
        ("(u+v)/(1+1.01*u*v/c**2)", VELOCITIES, None),
        ("(u+v)*(1-u*v/c**2)", VELOCITIES, None),
        ("0.4994*m*v**2+0.5003*m*u**2+0.5001*m*w**2", "m*(v**2+u**2+w**2)/2", None),
        ("m_0*(1+v**2/c**2/2)", MASS, FAST),
        ("sqrt(x**2)", "x", {"x": (-2, 2)}),
        ("x+x**2/2", "exp(x)", None),
        ("1.0", "tanh(20*x)", {"x": (1, 5)}),
        ("0", "x", None),
        ("cos(2*x)", "sin(x)**2 + y", None),
        # the expansion of exp is as good as float64 in the box, and not beyond it
        ("+".join(f"x**{n}/{sp.factorial(n)}" for n in range(1, 13)) + "+1.0", "exp(x)", {"x": (-0.1, 0.1)}),
        ("6.6743000001e-11*x/y**3", "6.6743e-11*x/y**2", None),
        ("1000000+2*x", "1000000.0+x", None),
    ],
)  # fmt: skip
def test_another_law(law, truth, box):
    verdict = judge(law, truth, box=box)
    assert not verdict
    assert not verdict.solved


def test_up_to_a_constant():
    added, scaled = judge("x/y+1.5", "x/y"), judge("-2.002*x/y", "x/y")
    assert (added.identical, added.difference_constant, added.ratio_constant) == (
        False,
        True,
        False,
    )
    assert (scaled.identical, scaled.difference_constant, scaled.ratio_constant) == (
        False,
        False,
        True,
    )
    assert added.solved
    assert scaled.solved
    flipped = judge("m_0*c/sqrt(c**2-v**2)", MASS, box={"v": (1, 2), "c": (-10, -3)})
    assert not flipped
    assert flipped.ratio_constant
    assert judge("cos(2*x)/2", "sin(x)**2").solved is False
    assert judge("-cos(2*x)/2", "sin(x)**2").difference_constant


def test_rounding_is_to_decimals():
    assert judge("1.0004*x", "x")
    assert not judge("1.0006*x + y", "x + y").solved
    assert judge("1.0006*x + y", "x + y", digits=2)
    assert judge("0.043*x/(y-0.0427)", "0.0427*x/(y-0.0427)")


def test_without_rounding_small_numbers_count_too():
    assert judge("6.6743000001e-11*x/y**2", "6.6743e-11*x/y**2")
    assert judge("0.33333333333331*x/(1+0.33333333333332*y)", "x/(3+y)").by == "evaluation"


def test_what_algebra_does_not_show_evaluation_does():
    verdict = judge("atan(x)", "asin(x/sqrt(1+x**2))")
    assert verdict
    assert verdict.by in ("sympy", "evaluation")


def test_symbols_are_one_if_their_names_are():
    x, positive = sp.Symbol("x"), sp.Symbol("x", positive=True)
    assert equivalent(2 * x, 2 * positive)
    assert equivalent(x, positive, box={x: (1, 2)})
    assert equivalent(sp.Float(2.0), sp.Integer(2))
    assert not equivalent(sp.Integer(2), x).solved


def test_formulas_without_values():
    x = sp.Symbol("x")
    assert equivalent(sp.nan * x, x) == Verdict()
    assert not equivalent(sp.sqrt(-1 - x**2), x).solved
    assert not equivalent(sp.log(-x), x, box={"x": (1, 2)}).solved


def test_a_range_without_width():
    assert not judge("x*y", "2*x", box={"x": (1, 3), "y": (2, 2)}).solved


def test_bad_input():
    with pytest.raises(TypeError, match="Names.parse"):
        equivalent("x", sp.Symbol("x"))
    with pytest.raises(ValueError, match="digits"):
        equivalent(sp.Symbol("x"), sp.Symbol("x"), digits=-1)


def test_large_formulas_do_not_hang():
    x = sp.symbols("x0:6")
    law = sum(sp.sin(a * b) ** 3 / (1 + sp.exp(a + b)) for a in x for b in x)
    begun = time.perf_counter()
    assert equivalent(law, sp.expand(law))
    assert not equivalent(law + x[0] / 100, law).solved
    assert time.perf_counter() - begun < 20
