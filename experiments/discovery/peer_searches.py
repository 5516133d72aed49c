"""How each peer searches: its settings, and its answer as formulas.

They get one thread; arithmetic, roots, exp, log, sin and cos; and, a hint we do not get, the rarer
functions (tanh, asin) where the law has them. pyoperon is told the true noise, which its criterion
asks for. pykan trains on rows scaled to [-1, 1], fewer of them, as it would not end otherwise.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import sympy as sp

RARE = ("tanh", "asin")
_POPULATION = 1000
_KAN_HIDDEN, _KAN_ROWS, _KAN_FEW, _KAN_STEPS = 3, 500, 100, 30
_KAN_FUNCTIONS = ["x", "x^2", "1/x", "sqrt", "exp", "log", "sin", "0"]
_KAN_RARE = {"asin": "arcsin", "tanh": "tanh"}
_LEAST_NOISE = 1e-6  # of the spread; pyoperon divides by it


@dataclass(frozen=True)
class Task:
    """A table, and what a peer is told about it.

    Args:
        X: inputs.
        y: target.
        noise: relative to the spread of y.
        seconds: budget.
        seed: of the search.
        rare: which of the rarer functions the law has.
    """

    X: np.ndarray
    y: np.ndarray
    noise: float
    seconds: float
    seed: int = 0
    rare: tuple[str, ...] = ()

    @property
    def names(self) -> list[str]:
        """Names of the inputs in a peer's formula."""
        return [f"X{i}" for i in range(self.X.shape[1])]


def gplearn(task: Task) -> list[sp.Expr]:
    """Evolve generation by generation until the time is over."""
    from gplearn.functions import make_function
    from gplearn.genetic import SymbolicRegressor

    more = {"exp": _guarded_exp, "tanh": np.tanh, "asin": _guarded_asin}
    made = [make_function(function=more[n], name=n, arity=1) for n in ("exp", *task.rare)]
    plain = ["add", "sub", "mul", "div", "sqrt", "log", "sin", "cos"]
    spread = float(task.y.std())
    model = SymbolicRegressor(
        population_size=_POPULATION, generations=1, function_set=[*plain, *made],
        const_range=(-5.0, 5.0), metric="rmse", parsimony_coefficient=1e-3 * spread,
        warm_start=True, random_state=task.seed, n_jobs=1,
    )  # fmt: skip
    began = time.perf_counter()
    while time.perf_counter() - began < task.seconds:
        model.fit(task.X, task.y)
        model.generations += 1
        if model._program.raw_fitness_ < 1e-9 * spread:
            break
    front: dict[int, Any] = {}
    for program in model._programs[-1]:
        best = front.get(program.length_)
        if best is None or program.raw_fitness_ < best.raw_fitness_:
            front[program.length_] = program
    programs = [model._program, *front.values()]
    return [_from_prefix(list(program.program)) for program in programs]


def _guarded_exp(x: np.ndarray) -> np.ndarray:
    return np.exp(np.clip(x, -50, 50))


def _guarded_asin(x: np.ndarray) -> np.ndarray:
    return np.arcsin(np.clip(x, -1, 1))


_SYMPY: dict[str, Callable[..., sp.Expr]] = {
    "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": lambda a, b: a * b,
    "div": lambda a, b: sp.Integer(1) if b == 0 else a / b, "sqrt": lambda a: sp.sqrt(sp.Abs(a)),
    "log": lambda a: sp.log(sp.Abs(a)), "sin": sp.sin, "cos": sp.cos,
    "exp": sp.exp, "tanh": sp.tanh, "asin": sp.asin,
}  # fmt: skip


def _from_prefix(program: list[Any]) -> sp.Expr:
    """Return a program, functions before their arguments, as a formula; it is used up."""
    head = program.pop(0)
    if isinstance(head, (int, np.integer)):
        return sp.Symbol(f"X{head}", real=True)
    if isinstance(head, (float, np.floating)):
        return sp.Float(float(head), 17)
    arguments = [_from_prefix(program) for _ in range(head.arity)]
    return _SYMPY[head.name](*arguments)


def pyoperon(task: Task) -> list[sp.Expr]:
    """Evolve for error and length, and choose by its own default criterion."""
    from pyoperon.sklearn import SymbolicRegressor

    symbols = "add,sub,mul,div,square,sqrt,exp,log,sin,cos,constant,variable"
    model = SymbolicRegressor(
        allowed_symbols=",".join([symbols, *task.rare]), objectives=["r2", "length"],
        optimizer_iterations=10, population_size=_POPULATION, generations=10**6,
        max_evaluations=10**9, max_time=int(task.seconds), n_threads=1, epsilon=1e-12,
        uncertainty=[max(task.noise, _LEAST_NOISE) * float(task.y.std())], random_state=task.seed,
    )  # fmt: skip
    model.fit(task.X, task.y)
    trees = [model.model_, *(entry["tree"] for entry in model.pareto_front_)]
    known = {**{n: sp.Symbol(n) for n in task.names}, "square": lambda a: a**2}
    texts = [model.get_model_string(tree, 17, task.names).replace("^", "**") for tree in trees]
    return [sp.sympify(text, locals=known) for text in texts]


def pykan(task: Task) -> list[sp.Expr]:
    """Train, prune, train, turn every edge into a function, train: its tutorial's order."""
    import kan
    import torch

    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    X, y = task.X[:_KAN_ROWS], task.y[:_KAN_ROWS]
    middle, half = (X.max(0) + X.min(0)) / 2, np.ptp(X, 0) / 2
    inputs = torch.as_tensor((X - middle) / half)
    label = torch.as_tensor((y - y.mean()) / y.std())[:, None]
    data = {"train_input": inputs, "train_label": label, "test_input": inputs, "test_label": label}
    options = {"opt": "LBFGS", "steps": _KAN_STEPS, "update_grid": False, "log": 10**9}
    functions = [*_KAN_FUNCTIONS, *(_KAN_RARE[name] for name in task.rare)]
    columns = zip(task.names, middle, half, strict=True)
    scaled = [(sp.Symbol(n) - float(m)) / float(h) for n, m, h in columns]
    with tempfile.TemporaryDirectory() as folder:
        width = [X.shape[1], _KAN_HIDDEN, 1]
        model = kan.KAN(
            width=width, grid=5, k=3, seed=task.seed, auto_save=False, device="cpu",
            ckpt_path=folder,
        )  # fmt: skip
        # Without its symbolic branch, which is idle until edges are named, it is much faster.
        model.symbolic_enabled = False
        model.fit(data, lamb=1e-3, **options)
        model(inputs)
        model = model.prune()
        model.symbolic_enabled = False
        model.fit(data, **options)
        model.symbolic_enabled = True
        model(inputs[:_KAN_FEW])
        model.auto_symbolic(lib=functions, verbose=0)
        formulas = [model.symbolic_formula(var=list(task.names))[0][0]]
        model.fit(data, **options)
        formulas.insert(0, model.symbolic_formula(var=list(task.names))[0][0])
    known = dict(zip(map(sp.Symbol, task.names), scaled, strict=True))
    return [sp.sympify(f).xreplace(known) * float(y.std()) + float(y.mean()) for f in formulas]


PEERS = {"gplearn": gplearn, "pyoperon": pyoperon, "pykan": pykan}
