"""A template with a hole: "R*T/(V - b) - f(V)" is known but for f, which is searched for."""

from __future__ import annotations

import ast
import contextlib
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import sympy as sp
from numpy.polynomial import chebyshev

from ..._core.types import Array
from ...symbols import Names, check_formula, names_in, parse
from ...tables import Table
from .._run import Options
from .._thresholds import CONCLUDED, EXACT, SEARCHED
from .._weighing import discovered
from ..claims import possible_noise
from ..fitting import Effort, Fit, Form, NoiseShape, Rows, deviations, evaluated, fitted
from ..law import Law, Parameter
from ._restored import Part, interrupted, parts_of, put_back, share

_DEGREES = {1: 12, 2: 4}  # of the curve that stands in for the hole
_MORE_DEGREES = 2  # of more than two arguments
_PATIENCE = 2  # degrees that do not help, before no more are tried
_DECADE = 3.0  # an argument that spans so much is looked at by its logarithm, too
_TINY = 1e-13  # standard errors below any scatter: their ratios alone count
_ROUNDS = 2  # the hole's own numbers move the others, so that it is looked at again
_STARTS = Effort(300, 12, 25, 300)
_HOLE = "hole__"


@dataclass(frozen=True)
class Hole:
    """A template, read: target = expression, with a symbol in place of the hole.

    Args:
        text: of the call, such as "f(V)".
        expression: in columns, constants, parameters and `symbol`.
        symbol: of the hole.
        arguments: symbols of the columns that the hole is a function of.
        parameters: symbols of the free numbers.
    """

    text: str
    expression: sp.Expr
    symbol: sp.Symbol
    arguments: tuple[sp.Symbol, ...]
    parameters: tuple[sp.Symbol, ...]

    @classmethod
    def read(cls, template: str, table: Table) -> Hole:
        """Read a template for the columns of a table; ValueError says what is wrong with it."""
        if not isinstance(template, str):
            raise TypeError(f"template must be a formula as text, got {template!r}")
        right = template.split("=")[-1]
        names_in(right)  # raises where this is no formula
        text, plain, arguments = _without_call(" ".join(right.split()), template)
        columns = {s.name: s for s in table.names.symbols}
        for name in arguments:
            if name not in columns:
                raise ValueError(
                    f"the hole {text} has the argument {name!r}, which is no column; there are "
                    f"{', '.join(columns)}"
                )
        check_formula(plain)
        free = [
            n for n in names_in(plain) if n not in columns and n != _HOLE and n not in table.known
        ]
        symbols = {n: sp.Symbol(n) for n in (*columns, *free, *table.known, _HOLE)}
        return cls(
            text,
            parse(plain, symbols),
            symbols[_HOLE],
            tuple(symbols[n] for n in arguments),
            tuple(symbols[n] for n in free),
        )


def _without_call(line: str, template: str) -> tuple[str, str, list[str]]:
    """The call of the hole, the line with a name in its place, and its arguments."""
    tree = ast.parse(line, mode="eval")
    calls = [n for n in ast.walk(tree) if isinstance(n, ast.Call) and not _known(n)]
    written = {ast.unparse(call) for call in calls}
    if len(written) != 1:
        found = f"has {', '.join(sorted(written))}" if written else "has none"
        raise ValueError(
            f"template must have one hole, such as f(x) in 'a*x + f(x)', but {template!r} {found}"
        )
    call = calls[0]
    if call.keywords or not call.args or not all(isinstance(a, ast.Name) for a in call.args):
        raise ValueError(f"the arguments of the hole must be columns, got {ast.unparse(call)}")

    class Swap(ast.NodeTransformer):
        def visit_Call(self, node: ast.Call) -> ast.AST:
            if ast.unparse(node) in written:
                return ast.Name(_HOLE, ast.Load())
            return self.generic_visit(node)

    names = [a.id for a in call.args if isinstance(a, ast.Name)]
    return ast.unparse(call), ast.unparse(Swap().visit(tree)), list(dict.fromkeys(names))


def _known(call: ast.Call) -> bool:
    """Return whether a function has a meaning, with one argument or with two."""
    name = ast.unparse(call.func)
    for arguments in ("1", "1, 1"):
        with contextlib.suppress(ValueError):
            check_formula(f"{name}({arguments})")
            return True
    return False


# -- the hole alone


@dataclass(frozen=True)
class Opened:
    """The template as changed(target) = base + slope * hole.

    Args:
        changed: in `target` and the columns; without free numbers.
        target: a symbol.
        base: in columns, constants and parameters.
        slope: the same.
    """

    changed: sp.Expr
    target: sp.Symbol
    base: sp.Expr
    slope: sp.Expr


_INVERSE = {
    sp.exp: sp.log, sp.log: sp.exp, sp.tanh: sp.atanh, sp.sinh: sp.asinh, sp.atan: sp.tan,
}  # fmt: skip


def opened(hole: Hole) -> Opened:
    """Undo what stands around a hole until it enters linearly; ValueError where that cannot be."""
    target, h, inner = sp.Dummy("y"), hole.symbol, hole.expression
    changed: sp.Expr = target
    while sp.diff(inner, h).has(h):
        before = inner
        if inner.is_Add or inner.is_Mul:
            outside, inner = inner.as_independent(h, as_Add=inner.is_Add)
            changed = changed - outside if before.is_Add else changed / outside
            _check_free_of_numbers(outside, hole)
        elif inner.func in _INVERSE:
            changed, inner = _INVERSE[inner.func](changed), inner.args[0]
        elif inner.is_Pow and not inner.exp.has(h):
            _check_free_of_numbers(inner.exp, hole)
            changed, inner = changed ** (1 / inner.exp), inner.base
        if inner == before:
            raise ValueError(
                f"{hole.text} cannot be solved for in {_shown(hole)}: it may enter linearly, or "
                "once inside of exp, log, tanh, sinh, atan or a power"
            )
    return Opened(changed, target, inner.xreplace({h: sp.Integer(0)}), sp.diff(inner, h))


def _check_free_of_numbers(outside: sp.Expr, hole: Hole) -> None:
    own = [p.name for p in hole.parameters if outside.has(p)]
    if own:
        raise ValueError(
            f"{hole.text} is inside of a function in {_shown(hole)}, and {own[0]} outside of it is "
            "not known: give it by constants=, or let the hole enter linearly"
        )


def _shown(hole: Hole) -> str:
    return str(hole.expression).replace(_HOLE, hole.text)


def told_apart(hole: Hole) -> Hole:
    """The hole without the free numbers that it could take up itself, such as a in a + f(x).

    A change of such a number is made good by a change of f, on any rows: its slope over that of f
    is a function of the arguments of f alone.
    """
    inside = {*hole.arguments, *hole.parameters}
    for p in reversed(hole.parameters):
        here = opened(hole)
        ratios = (sp.simplify(sp.diff(e, p) / here.slope) for e in (here.base, here.slope))
        if any({s for s in r.free_symbols if s not in inside} for r in ratios):
            continue
        zero = here.slope.subs(p, 0)
        value = 0 if zero.is_finite is not False and not zero.is_zero else 1
        left = tuple(q for q in hole.parameters if q != p)
        hole = replace(hole, expression=hole.expression.subs(p, value), parameters=left)
    return hole


# -- the numbers around the hole


def discovered_with_hole(template: str, table: Table, options: Options) -> Law:
    """Return the law of a table that a template leaves a hole in.

    The numbers around the hole are found with a smooth curve in it; what then is left for the hole
    on each row is searched as a table of its own. Its best formulas are put into the template,
    fitted together with the other numbers, weighed and graded.

    Args:
        template: such as "R*T/(V - b) - f(V)": columns, constants, free names, and one function
            that nobody knows, of columns.
        table: the whole table.
        options: of the discovery.
    """
    hole = told_apart(Hole.read(template, table))
    taken = {s.name for s in (*table.names.symbols, *hole.parameters)} | set(table.known)
    theta = _around(hole, table, options)
    best: Law | None = None
    for _ in range(_ROUNDS):
        own = share(replace(options, allowed=lambda fit: True), 0.6)
        found = discovered(_inside(hole, table, theta, options), own)
        parts = [_put(hole, part.renamed(taken), theta) for part in parts_of(found, options.forms)]
        over = interrupted(found.evidence, own)
        stopped = over or time.monotonic() > options.after(CONCLUDED)
        evidence = replace(found.evidence, route=_route(hole, found), stopped=stopped)
        law = put_back(table, parts, options, evidence, beyond=False)
        if best is None or _better(law, best):
            best = law
        exact = law.evidence.error < EXACT
        if stopped or not hole.parameters or (law.grade.claimed and not exact):
            break
        # what was left for the hole is known better by now, without noise to the last digit
        theta = {p.symbol: p.value for p in law.parameters if p.symbol in hole.parameters}
    assert best is not None, "there is at least one round"
    return replace(best, name="")


def _better(one: Law, other: Law) -> bool:
    def order(law: Law) -> tuple[bool, bool, float]:
        exact = law.evidence.error < EXACT
        numbers = sum(p.exact is None and not p.given for p in law.parameters)
        return law.grade.claimed, exact, -numbers if exact else -law.evidence.error

    return order(one) > order(other)


def _route(hole: Hole, found: Law) -> tuple[str, ...]:
    name = f", {found.name}" if found.name else ""
    return (f"In the template, {hole.text} = {found.rounded()}{name}.", *found.evidence.route)


def _put(hole: Hole, part: Part, theta: Mapping[sp.Symbol, float]) -> Part:
    """A formula for the hole, in the template."""
    numbers = [Parameter(p.name, theta[p]) for p in hole.parameters]
    return part.put(hole.expression.xreplace({hole.symbol: part.expression}), numbers)


def _around(hole: Hole, table: Table, options: Options) -> dict[sp.Symbol, float]:
    """The numbers around the hole, with the smooth curve in it that the rows speak for."""
    if not hole.parameters:
        return {}
    rows, here = _changed(hole, table, options)
    fits = [
        fit
        for arguments in _arguments(hole, table.names.symbols, rows.X)
        for fit in _curves(hole, here, table, rows, arguments, options.after(SEARCHED))
    ]
    if not fits:
        raise ValueError(
            f"{_shown(hole)} has no value on some rows, whatever its numbers; look for logarithms "
            "or roots of columns that are negative there"
        )
    best = min(fits, key=_criterion)
    return dict(zip(hole.parameters, best.values[: len(hole.parameters)].tolist(), strict=True))


def _criterion(fit: Fit) -> float:
    return fit.deviance + fit.numbers * math.log(fit.rows)


def _arguments(hole: Hole, symbols: Sequence[sp.Symbol], X: Array) -> Iterator[Array]:
    """The arguments on [-1, 1], as they are and by their logarithms."""
    columns = X[:, [symbols.index(a) for a in hole.arguments]]
    views = [columns]
    if (columns > 0).all() and (columns.max(0) > _DECADE * columns.min(0)).any():
        views.append(np.log(columns))
    for view in views:
        low, high = view.min(0), view.max(0)
        yield 2 * (view - low) / np.where(high > low, high - low, 1.0) - 1


def _curves(
    hole: Hole, here: Opened, table: Table, rows: Rows, arguments: Array, until: float
) -> Iterator[Fit]:
    """Fits with curves of growing degree in the hole, while they help and there is time."""
    known = {sp.Symbol(n): sp.Float(v, 17) for n, v in table.known.items()}
    noise = NoiseShape() if rows.sigma is None else NoiseShape("given")
    count, least, idle = arguments.shape[1], np.inf, 0
    for degree in range(_DEGREES.get(count, _MORE_DEGREES) + 1):
        basis = _basis(arguments, degree)
        if len(hole.parameters) + basis.shape[1] + 3 > len(rows.y) or idle > _PATIENCE:
            return
        if degree and time.monotonic() > until:
            return
        columns = tuple(sp.Dummy(f"t{k}") for k in range(basis.shape[1]))
        weights = tuple(sp.Dummy(f"w{k}") for k in range(basis.shape[1]))
        curve = sum(w * t for w, t in zip(weights, columns, strict=True))
        form = Form(
            (here.base + here.slope * curve).xreplace(known),
            (*table.names.symbols, *columns),
            (*hole.parameters, *weights),
        )
        fit = fitted(form, replace(rows, X=np.c_[rows.X, basis], x_sigma=None), noise, _STARTS)
        if fit is None:
            continue
        yield fit
        idle = 0 if _criterion(fit) < least else idle + 1
        least = min(least, _criterion(fit))


def _basis(arguments: Array, degree: int) -> Array:
    """Products of Chebyshev polynomials up to a total degree, (rows, terms)."""
    powers = [chebyshev.chebvander(x, degree) for x in arguments.T]
    terms = [
        np.prod([p[:, k] for p, k in zip(powers, order, strict=True)], axis=0)
        for order in product(range(degree + 1), repeat=len(powers))
        if sum(order) <= degree
    ]
    return np.stack(terms, axis=1)


def _changed(hole: Hole, table: Table, options: Options) -> tuple[Rows, Opened]:
    """The rows with the target changed so that the hole enters linearly, with its errors."""
    here = opened(hole)
    known = {sp.Symbol(n): sp.Float(v, 17) for n, v in table.known.items()}
    names = (*table.names.symbols, here.target)
    changed = here.changed.xreplace(known)
    X = np.c_[table.X, table.y]
    y, slope = evaluated((changed, sp.diff(changed, here.target)), names, X)
    rows = Rows(table.X, table.y, table.sigma)
    error = np.abs(slope) * deviations(rows, table.y, possible_noise(rows, options.noise_model)[0])
    good = np.isfinite(y) & np.isfinite(error) & (error > 0)
    if good.sum() < 5:
        raise ValueError(
            f"on {good.sum()} of {len(y)} rows only can {_shown(hole)} be solved for {hole.text}"
        )
    even = table.sigma is None and np.ptp(error[good]) <= 1e-9 * error[good].max()
    size = 1.0 if table.sigma is not None else _TINY * (float(np.std(y[good])) or 1.0)
    sigma = None if even else size * error / (1.0 if table.sigma is not None else error[good].max())
    return Rows(table.X, y, sigma).some(np.flatnonzero(good)), here


def _inside(hole: Hole, table: Table, theta: Mapping[sp.Symbol, float], options: Options) -> Table:
    """The table of the hole: its arguments, and what is left for it on each row."""
    rows, here = _changed(hole, table, options)
    numbers = {s: sp.Float(v, 17) for s, v in theta.items()}
    numbers |= {sp.Symbol(n): sp.Float(v, 17) for n, v in table.known.items()}
    both = (here.base.xreplace(numbers), here.slope.xreplace(numbers))
    base, slope = evaluated(both, table.names.symbols, rows.X)
    with np.errstate(all="ignore"):
        y = (rows.y - base) / slope
        sigma = (1.0 if rows.sigma is None else rows.sigma) / np.abs(slope)
    good = np.isfinite(y) & np.isfinite(sigma) & (np.abs(slope) > 1e-9 * np.nanmax(np.abs(slope)))
    y, sigma, X = y[good], sigma[good], rows.X[good]
    places = [table.names.symbols.index(a) for a in hole.arguments]
    if rows.sigma is None:
        even = np.ptp(sigma) <= 1e-9 * sigma.max()
        errors = None if even else _TINY * (float(np.std(y)) or 1.0) * sigma / sigma.max()
    else:
        errors = sigma
    return Table(
        X[:, places], y, Names([table.names.columns[k] for k in places]),
        hole.text.split("(")[0], known=table.known, sigma=errors,
    )  # fmt: skip
