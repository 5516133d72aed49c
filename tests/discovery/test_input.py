"""`discover` on the tables and options that people give: odd names, scales, sizes, mistakes."""

import re
import threading
import time

import numpy as np
import pandas as pd
import pytest
import sympy as sp
import torch

from rational_anova.discovery import Law, discover

RNG = np.random.default_rng(0)
X = RNG.uniform(0.1, 4, 200)
Z = RNG.uniform(1, 3, 200)
Y = 3 * X / (X + 0.5)
LAW = "3*x/(x + 1/2)"


def exact(law, error=1e-12):
    assert law.grade.claimed, repr(law)
    assert law.evidence.error < error


def attempt(*table, **options):
    """A law, or what a ValueError says; both are answers, any other error is none."""
    try:
        return discover(*table, **options), ""
    except ValueError as error:
        return None, str(error)


# ---- tables


@pytest.mark.parametrize(
    "columns",
    [
        pd.DataFrame({"x": X}),
        {"x": X},
        pd.Series(X, name="x"),
        pd.DataFrame({"x": X, "y": Y}),
    ],
    ids=["frame", "dict", "series", "frame with target"],
)
def test_kinds_of_tables(columns):
    y = "y" if getattr(columns, "ndim", 1) == 2 and "y" in columns else Y
    law = discover(columns, y)
    exact(law)
    assert law.equals(LAW)
    assert law.names.columns == ("x",)
    assert law.target == "y"


def test_tensors_and_lists():
    law = discover(torch.tensor(X)[:, None], torch.tensor(2 * X))
    assert law.equals("2*x0")
    assert discover(X.tolist(), (2 * X).tolist()).equals("2*x0")


def test_single_precision():
    """Tables of float32 are exact to seven digits only, and the law is found all the same."""
    law = discover({"x": X.astype(np.float32)}, (3 * X / (X + 0.5)).astype(np.float32))
    assert law.grade.claimed
    assert law.equals(LAW), repr(law)


def test_columns_that_cannot_be_used():
    frame = pd.DataFrame(
        {"kind": ["a", "b"] * 100, "x": X, "twice": 2 * X, "same": X, "g": 9.81, "y": Y}
    )
    law = discover(frame, "y")
    assert law.names.columns == ("x",)
    assert law.equals(LAW)


def test_missing_cells():
    x = X.copy()
    x[[3, 50]] = np.nan
    y = x * Z
    y[7] = np.nan
    law = discover({"x": x, "z": Z}, y)
    assert law.equals("x*z")
    assert law.evidence.rows == 197


def test_target_among_inputs():
    law = discover({"x": X, "y": Y}, Y, target="y")
    assert law.names.columns == ("x",)
    assert law.equals(LAW)
    law = discover({"x": X, "copy": Y}, Y)
    assert law.names.columns == ("x",)
    with pytest.raises(ValueError, match="'y'"):
        discover({"x": X, "y": Z}, Y, target="y")


@pytest.mark.parametrize(
    ("columns", "y", "message"),
    [
        ({"x": X[:4]}, Y[:4], "at least 5 rows"),
        ({"x": X}, Y[:-1], "200 rows, but y has 199"),
        ({"x": ["a", "b"] * 100}, Y, "no input is left"),
        ({"x": np.ones(200)}, Y, "no input is left"),
        ({"x": X}, ["a", "b"] * 100, "must be numbers"),
        ({"x": np.where(X > 3.9, np.inf, X)}, Y, "'x' is infinite"),
        ({"x": X}, "z", "'z'"),
        (np.zeros((2, 2, 2)), Y, "rows and columns"),
        ({"x": X}, np.c_[Y, Y], "one column"),
    ],
    ids=["few", "lengths", "text", "constant", "text y", "infinite", "no target", "cube", "two y"],
)
def test_tables_without_a_law(columns, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        discover(columns, y)


# ---- names

NAMES = ["lambda", "E", "1/x", "flow rate", "λ", "température", "c0", "I", "pi", "S", "if", "2"]
INNER = ["_F", "_u0", "_rate", "_c0", "_c1"]  # names that a program might keep for itself


@pytest.mark.parametrize("name", NAMES)
def test_names(name):
    columns = {name: X, "b": Z}
    law = discover(columns, X**2 * Z)
    exact(law)
    assert law.names.columns == (name, "b")
    np.testing.assert_allclose(law.predict(pd.DataFrame({"b": Z, name: X})), X**2 * Z, rtol=1e-12)
    np.testing.assert_allclose(law.predict(np.c_[X, Z]), X**2 * Z, rtol=1e-12)
    assert law.equals(str(law.formula))  # what is shown can be read back
    assert Law.from_json(law.to_json()).formula == law.formula
    source = {}
    exec(law.to_python(), source)
    np.testing.assert_allclose(source["law"](X, Z), X**2 * Z, rtol=1e-12)


@pytest.mark.parametrize("name", INNER)
def test_names_are_the_users(name):
    y = X * np.exp(-1.7 * Z)
    for columns in ({name: X, "b": Z}, {"b": Z, name: X}):
        law = discover(columns, y, time_limit=5)
        exact(law)
        np.testing.assert_allclose(law.predict(pd.DataFrame(columns)), y, rtol=1e-9)


def test_names_of_an_array():
    law = discover(np.c_[X, Z], X * Z, names=["a", "b"], target="area")
    assert law.equals("a*b")
    assert law.target == "area"
    assert discover(np.c_[X, Z], X * Z).names.columns == ("x0", "x1")
    with pytest.raises(ValueError, match="2 columns"):
        discover(np.c_[X, Z], X * Z, names=["a"])
    with pytest.raises(ValueError, match="two columns"):
        discover(np.c_[X, Z], X * Z, names=["a", "a"])
    with pytest.raises(TypeError, match="names"):
        discover(np.c_[X, Z], X * Z, names="ab")


# ---- scales and sizes


@pytest.mark.parametrize("scale", [1e-12, 1e12])
def test_scales(scale):
    for law, columns, y in (
        (discover(X * scale, Y), X * scale, Y),
        (discover(X, Y * scale), X, Y * scale),
    ):
        exact(law)
        assert len(law.formula.free_symbols) == 1
        np.testing.assert_allclose(law.predict(columns[:, None]), y, rtol=1e-10)
        # the same law in other units: it goes on beyond the data
        far = 100 * columns.max()
        at, size = (far / scale, 1.0) if columns is not X else (far, scale)
        np.testing.assert_allclose(law.predict([[far]]), [3 * at / (at + 0.5) * size], rtol=1e-9)


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_scales_beyond_reason(scale):
    """Numbers whose squares leave the range of floats: a law, or an error in words."""
    for columns, y in ((X * scale, Y), (X, Y * scale)):
        law, error = attempt({"x": columns}, y, time_limit=5)
        if law is None:
            assert "scale" in error or "unit" in error
        else:
            assert law.evidence.error < 0.1


def test_columns_of_unlike_scales():
    T, n = 1e12 * X, 1e-12 * Z
    law = discover({"T": T, "n": n}, 5 * T * n**2)
    exact(law)
    np.testing.assert_allclose(law.predict(np.c_[T, n]), 5 * T * n**2, rtol=1e-12)


def test_units_do_not_matter():
    """The same table in metres and millimetres has the same law."""
    law = discover({"x": X, "z": Z}, X / (X + 2 * Z))
    milli = discover({"x": 1000 * X, "z": 1000 * Z}, X / (X + 2 * Z))
    assert law.equals("x/(x + 2*z)")
    assert milli.equals(law)  # homogeneous: no unit appears
    other = discover({"x": 1000 * X}, 3 * X / (X + 0.5))
    assert other.equals("3*x/(x + 500)")


def test_integers_and_booleans():
    n = np.arange(1, 61)
    law = discover({"n": n}, n * (n + 1) // 2)
    exact(law)
    assert law.equals("n*(n + 1)/2")
    on = np.tile([True, False], 100)
    law = discover({"on": on, "x": X}, np.where(on, 3.0, 1.0) * X)
    exact(law)
    np.testing.assert_allclose(law.predict(np.c_[on, X]), np.where(on, 3.0, 1.0) * X, rtol=1e-12)


@pytest.mark.parametrize("rows", [5, 6, 8, 12])
def test_few_rows(rows):
    law = discover({"x": X[:rows], "z": Z[:rows]}, X[:rows] * Z[:rows])
    assert law.grade.claimed
    assert law.equals("x*z")
    law = discover({"x": X[:rows]}, Y[:rows])
    assert law.evidence.error < 1e-10
    assert law.evidence.rows == rows
    noise = np.random.default_rng(rows).normal(size=rows)
    assert not discover({"x": X[:rows]}, noise, time_limit=2).grade.claimed
    assert not discover({"x": X[:rows], "z": Z[:rows]}, noise, time_limit=2).grade.claimed


@pytest.mark.slow
def test_many_rows():
    rng = np.random.default_rng(1)
    a, b = rng.uniform(1, 3, (2, 20000))
    y = a / (a + 2 * b)
    law = discover({"a": a, "b": b}, y)
    exact(law)
    assert law.equals("a/(a + 2*b)")
    assert law.evidence.rows == 20000


@pytest.mark.slow
def test_many_rows_need_no_number_that_is_noise():
    """Every number that is left in a law is away from zero by more than its error."""
    rng = np.random.default_rng(2)
    a, b = rng.uniform(1, 3, (2, 20000))
    law = discover({"a": a, "b": b}, a * b / (a + 2 * b) + 0.01 * rng.normal(size=20000))
    assert all(abs(p.value) > 2 * p.stderr for p in law.parameters), law.coefficients
    assert law.equals("a*b/(a + 2*b)"), repr(law)


def test_correlated_columns():
    near = X + 0.02 * np.random.default_rng(2).uniform(-1, 1, 200)
    law = discover({"x": X, "near": near, "z": Z}, X * Z / near**2)
    exact(law)
    assert law.equals("x*z/near**2")


def test_repeated_rows():
    law = discover({"x": np.repeat(X[:20], 10)}, np.repeat(Y[:20], 10))
    exact(law)
    assert law.equals(LAW)


def test_levels_of_an_experiment():
    """A grid of few levels, as designed experiments have."""
    a, b = (g.ravel() for g in np.meshgrid([1.0, 2, 3, 4, 5], [0.5, 1, 2, 4]))
    law = discover({"a": a, "b": b}, 6 * a / b)
    exact(law)
    assert law.equals("6*a/b")


@pytest.mark.parametrize("value", [2.5, 0.0, -1e-9, 1e12])
def test_constant_target(value):
    law = discover({"x": X, "z": Z}, np.full(200, value))
    assert law.grade.claimed
    assert not law.formula.free_symbols
    np.testing.assert_allclose(law.predict(np.c_[X, Z]), value, rtol=1e-12)


# ---- time, order, threads


def hard():
    rng = np.random.default_rng(0)
    U = rng.uniform(1, 3, (300, 6))
    y = np.sin(U[:, 0] * U[:, 1]) + U[:, 2] / U[:, 3] * np.log(U[:, 4] + U[:, 5] ** 2)
    return U, y + 0.1 * rng.normal(size=300)


@pytest.mark.parametrize("limit", [1e-3, 0.05, 0.5])
def test_time_limit(limit):
    """However short the time, there is a law to look at, soon, that says it was cut short."""
    U, y = hard()
    start = time.monotonic()
    law = discover(U, y, time_limit=limit)
    assert time.monotonic() - start < limit + 4
    assert law.evidence.stopped
    assert np.isfinite(law.predict(U)).all()
    assert law.evidence.error <= 1.05


@pytest.mark.parametrize("stage", ["few terms", "named laws"])
def test_a_step_that_takes_all_the_time(stage, monkeypatch):
    """The clock jumps past the limit in a stage: no other is begun, and there still is a law."""
    U, y = hard()
    U, y = (U[:, :2], y) if stage == "named laws" else (U, y)
    clock, ahead, told = time.monotonic, [0.0], []
    monkeypatch.setattr(time, "monotonic", lambda: clock() + ahead[0])

    def jump(progress):
        told.append(progress.stage)
        ahead[0] = 1000.0 if stage in told else 0.0

    law = discover(U, y, time_limit=500, callbacks=[jump])
    assert set(told[told.index(stage) :]) <= {stage, "simplifying"}
    assert law.evidence.stopped
    assert not law.grade.claimed or law.doubts
    assert np.isfinite(law.predict(U)).all()


def test_same_call_same_law():
    S = X[:60]
    v = 2.5 * S / (0.8 + S) + 0.02 * np.random.default_rng(3).normal(size=60)
    one, two = (discover({"S": S}, v, seed=5) for _ in range(2))
    assert one.formula == two.formula
    assert one.parameters == two.parameters
    assert one.pareto == two.pareto
    assert one.evidence.held_out == two.evidence.held_out


def test_order_of_rows_and_columns_does_not_matter():
    order = np.random.default_rng(4).permutation(200)
    columns = {"x": X, "z": Z}
    y = X / (X + 2 * Z)
    law = discover(columns, y)
    turned = discover({name: c[order] for name, c in columns.items()}, y[order])
    swapped = discover({"z": Z, "x": X}, y)
    for other in (turned, swapped):
        exact(other)
        assert law.equals(other)
    assert swapped.names.columns == ("z", "x")
    np.testing.assert_allclose(swapped.predict(pd.DataFrame(columns)), y, rtol=1e-12)


def test_inputs_are_not_changed():
    frame = pd.DataFrame({"x": X, "z": Z, "y": X * Z})
    before = frame.copy()
    discover(frame, "y")
    pd.testing.assert_frame_equal(frame, before)
    x, y = X.copy(), Y.copy()
    x.flags.writeable = y.flags.writeable = False
    assert discover({"x": x}, y).equals(LAW)


def test_random_state_is_not_touched():
    np.random.seed(7)  # noqa: NPY002
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    discover({"x": X}, Y)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_callbacks_are_told_of_stages_and_of_the_best_so_far():
    said = []
    law = discover({"x": X, "z": Z}, X * Z, callbacks=[said.append])
    assert law.grade.claimed
    assert len(said) >= 2
    assert all(isinstance(progress.stage, str) and progress.stage for progress in said)
    assert all(progress.left >= 0 for progress in said)
    assert said[-1].formula is not None


def test_a_callback_that_answers_true_ends_the_search():
    law = discover({"x": X}, np.sin(5 * X) + X**3, callbacks=[lambda progress: True])
    assert law.evidence.stopped


def test_what_a_callback_raises_gets_out():
    def fail(progress):
        raise RuntimeError(progress.stage)

    with pytest.raises(RuntimeError):
        discover({"x": X}, Y, callbacks=[fail])


def test_an_interrupt_returns_the_best_so_far():
    calls = []

    def interrupt(progress):
        calls.append(progress)
        if len(calls) == 3:
            raise KeyboardInterrupt

    noisy = 2 * X / (1 + X) + np.random.default_rng(0).normal(0, 0.01, len(X))
    law = discover({"x": X}, noisy, callbacks=[interrupt])
    assert law.evidence.stopped
    assert law.evidence.error < 1


def test_off_the_main_thread():
    T = 250 + 50 * Z
    y = 0.08314 * T / (X + 0.2 - 0.0427) - 3.59 / (X + 0.2) ** 2
    columns, laws = {"T": T, "V": X + 0.2}, []
    thread = threading.Thread(target=lambda: laws.append(discover(columns, y)))
    thread.start()
    thread.join()
    exact(laws[0])
    assert laws[0].equals("0.08314*T/(V - 0.0427) - 3.59/V**2")
    here = discover(columns, y)
    assert laws[0].complexity == here.complexity, f"{laws[0]!r} where the main thread has {here!r}"
    assert laws[0].formula == here.formula
    assert laws[0].evidence.route == here.evidence.route


def test_two_threads_at_once():
    laws = {}

    def work(power):
        laws[power] = discover({"x": X, "z": Z}, X**power * Z)

    threads = [threading.Thread(target=work, args=(p,)) for p in (1, 2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert laws[1].equals("x*z")
    assert laws[2].equals("x**2*z")


# ---- options

FUNCTIONS = {
    "exp": (np.exp(-X) * Z, np.exp(X / 2) / Z),
    "log": (Z * np.log(X), np.log(X + Z)),
    "sqrt": (np.sqrt(X) * Z, np.sqrt(X**2 + Z**2)),
    "sin": (Z * np.sin(X), np.arcsin(np.sin(X / 3) / Z)),
    "cos": (Z * np.cos(X), np.cos(X) + Z),
    "tanh": (Z * np.tanh(X),),
    "power": (X**1.7 * Z,),
}


def has(formula, name):
    """Whether a formula has a function, by whatever name it is written."""
    if name == "sqrt":
        return any(p.exp.is_Rational and p.exp.q == 2 for p in formula.atoms(sp.Pow))
    if name == "power":
        powers = formula.atoms(sp.Pow)
        return any(p.exp.is_Float or (p.exp.is_Rational and p.exp.q > 2) for p in powers)
    return re.search(rf"\b{name}\(", str(formula)) is not None


@pytest.mark.slow
@pytest.mark.parametrize("name", FUNCTIONS)
def test_forbidden_functions_are_not_used(name):
    for y in FUNCTIONS[name]:
        law = discover({"x": X, "z": Z}, y, without=[name], time_limit=1)
        assert not has(law.formula, name), repr(law)


def test_all_functions_forbidden():
    """Then quotients of polynomials are left."""
    law = discover({"x": X, "z": Z}, np.exp(-X) * Z, without=list(FUNCTIONS), time_limit=2)
    assert law.formula.is_rational_function(), repr(law)
    law = discover({"x": X}, Y, without=tuple(FUNCTIONS))
    assert law.equals(LAW)


def test_periodic():
    t = RNG.uniform(0, 30, 200)
    law = discover({"t": t, "a": Z}, Z * np.cos(t) + 2, periodic=["t"])
    exact(law)
    assert law.equals("a*cos(t) + 2")
    # whatever the law of an angle is, it has the same value a turn later
    law = discover({"t": t}, 1 / (2 + np.sin(t)), periodic=["t"])
    exact(law)
    np.testing.assert_allclose(
        law.predict(t[:, None] + 2 * np.pi), law.predict(t[:, None]), rtol=1e-9
    )


def test_positive():
    assert discover({"x": X}, 2 * X, positive=["x"]).equals("2*x")
    with pytest.raises(ValueError, match="'x' is declared positive, but a row has -"):
        discover({"x": X - 2}, 2 * X, positive=["x"])


def test_known_constants_are_used():
    T = 250 + 50 * Z
    law = discover({"T": T, "V": X}, 8.314 * T / X, constants={"R": 8.314})
    exact(law)
    assert "R" in law.stderr  # the number is the one that was given, by its name
    assert law.equals("8.314*T/V")
    np.testing.assert_allclose(law.predict(np.c_[T, X]), 8.314 * T / X, rtol=1e-12)
    # it is in the law only if the data say so
    law = discover({"T": T, "V": X}, 3 * T / X, constants={"R": 8.314})
    assert law.equals("3*T/V")
    assert "R" not in law.stderr


@pytest.mark.parametrize("name", ["c0", "lambda", "E", "pi", "gas constant", "λ"])
def test_names_of_constants(name):
    """A constant of any name: a law that can be used, written and kept, or an error in words."""
    T = 250 + 50 * Z
    y = 8.314 * T / X + 0.35
    law, error = attempt({"T": T, "V": X}, y, constants={name: 8.314})
    if law is None:
        assert f"constant {name!r}" in error
        return
    exact(law)
    np.testing.assert_allclose(law.predict(np.c_[T, X]), y, rtol=1e-12)
    source = {}
    exec(law.to_python(), source)
    np.testing.assert_allclose(source["law"](T, X), y, rtol=1e-12)
    again = Law.from_json(law.to_json())
    assert again.formula == law.formula
    np.testing.assert_array_equal(again.predict(np.c_[T, X]), law.predict(np.c_[T, X]))


def test_known_noise():
    """A law that leaves much more than the noise is none; one that leaves less is."""
    S = X[:150]
    v = 2.5 * S / (0.8 + S)
    v = v + 0.02 * np.std(v) * np.random.default_rng(6).normal(size=150)
    assert discover({"S": S}, v, noise=0.02, time_limit=3).grade.claimed
    assert not discover({"S": S}, v, noise=0.001, time_limit=2).grade.claimed
    assert discover({"x": X}, Y, noise=0.0).grade.claimed


# ---- wrong options

WRONG = [
    ({"time_limit": 0}, "time_limit"),
    ({"time_limit": -1}, "time_limit"),
    ({"time_limit": "long"}, "time_limit"),
    ({"time_limit": float("nan")}, "time_limit"),
    ({"noise": -0.1}, "noise"),
    ({"noise": float("nan")}, "noise"),
    ({"noise": "little"}, "noise"),
    ({"noise": True}, "noise"),
    ({"positive": "x"}, "positive"),
    ({"positive": ["q"]}, "'q'"),
    ({"periodic": "x"}, "periodic"),
    ({"periodic": ["q"]}, "'q'"),
    ({"without": "exp"}, "'exp'"),
    ({"without": ["cosh"]}, "'cosh'"),
    ({"without": [3]}, "without"),
    ({"seed": -1}, "seed"),
    ({"seed": "x"}, "seed"),
    ({"seed": 1.5}, "seed"),
    ({"progress": 3}, "progress"),
    ({"constants": {"x": 2.0}}, "name of a column"),
    ({"constants": {"y": 2.0}}, "name of a column"),
    ({"constants": {"R": "x"}}, "'R'"),
    ({"constants": {"R": float("inf")}}, "'R'"),
    ({"constants": {"": 1.0}}, "name"),
    ({"constants": [8.314]}, "constants"),
    ({"target": 3}, "target"),
]


@pytest.mark.parametrize(("options", "message"), WRONG, ids=[str(o) for o, _ in WRONG])
def test_wrong_options(options, message):
    """Errors name the option or the value, before any time is spent."""
    start = time.monotonic()
    with pytest.raises((ValueError, TypeError), match=message):
        discover({"x": X}, 2 * X, **options)
    assert time.monotonic() - start < 2


def test_a_constant_of_zero():
    """No law can be a multiple of it, so that it is refused or left out."""
    law, error = attempt({"x": X}, 2.7182 * X, constants={"Z": 0.0})
    if law is None:
        assert "'Z'" in error
    else:
        exact(law)


def test_unknown_options():
    with pytest.raises(TypeError, match="forbidden"):
        discover({"x": X}, Y, forbidden=["exp"])
