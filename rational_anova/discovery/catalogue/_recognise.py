"""The name of a form that a user brings: the same formula up to the names of its parameters."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import permutations, product

import sympy as sp
from sympy.core.function import Application

from ._catalogue import catalogue
from ._form import NamedForm

_CALL = re.compile(r"[A-Za-z]\w*(?=\()")
_MOST = 8  # parameters: of more, too many ways to name them would have to be tried
_Places = dict[sp.Symbol, Counter[tuple[str, ...]]]


def recognised(
    expression: sp.Expr, inputs: Sequence[sp.Symbol], values: Mapping[sp.Symbol, float]
) -> NamedForm | None:
    """Return the law of the catalogue that a formula is; None if it is none.

    A parameter of another name, of the opposite sign, or the inverse of the catalogue's makes no
    other law: exp(-x/tau) is exp(-k*x). What must be positive is so with these values.

    Args:
        expression: in the symbols of its inputs and parameters.
        inputs: symbols of the columns.
        values: the fitted numbers by their symbols.

    Example:
        >>> S, a, b = sp.symbols("S a b")
        >>> recognised(a * S / (b + S), [S], {a: 2.0, b: 0.5}).name
        'Michaelis-Menten'
        >>> recognised(a * S / (b - S), [S], {a: 2.0, b: 0.5}) is None
        True
    """
    used = [s for s in inputs if expression.has(s)]
    if len(used) not in (1, 2) or not 0 < len(values) <= _MOST:
        return None
    for written in _writings(expression):
        plain, ways = _normal(written, tuple(values))
        signs = {p: _placed(v, ways[p]) for p, v in values.items()}
        for form in _alike(written, used, len(values)):
            if _is(form, plain, used, signs):
                return form
    return None


def _is(
    form: NamedForm, plain: sp.Expr, used: Sequence[sp.Symbol], signs: Mapping[sp.Symbol, float]
) -> bool:
    """Return whether a formula is a form, with numbers of the sign that the form asks for."""
    own, turned = _normal(form.expression, tuple(map(sp.Symbol, form.parameters)))
    for order in permutations(used):
        columns = dict(zip(map(sp.Symbol, form.inputs), order, strict=True))
        for names in _matches(own, plain, tuple(turned), tuple(signs), columns):
            meant = {p.name: _placed(signs[names[p]], turned[p]) for p in turned}
            if all(meant[name] > 0 for name in form.positive):
                return True
    return False


def _alike(
    expression: sp.Expr, inputs: Sequence[sp.Symbol], parameters: int
) -> Iterator[NamedForm]:
    """Forms with as many parameters and the same functions of the inputs, the best known first."""
    functions = {f.func.__name__.casefold() for f in expression.atoms(Application)}
    frame = _frame(expression, tuple(inputs))
    for form in sorted(catalogue(inputs=len(inputs)), key=lambda f: f.common):
        # read off the text, since to parse hundreds of formulas takes half a second
        called = {name.casefold() for name in _CALL.findall(form.formula)} - {"sqrt"}
        if len(form.parameters) != parameters or called != functions:
            continue
        if _frame(form.expression, tuple(map(sp.Symbol, form.inputs))) == frame:
            yield form


@lru_cache(1024)
def _frame(expression: sp.Expr, inputs: tuple[sp.Symbol, ...]) -> Counter[tuple[str, ...]]:
    """Sums and functions around the inputs: what no sign and no inverse of a parameter changes."""
    out: Counter[tuple[str, ...]] = Counter()
    places = _places(expression)
    for symbol in inputs:
        for place, count in places[symbol].items():
            out[tuple(name for name in place if name not in ("Mul", "Pow"))] += count
    return out


def _placed(value: float, way: int) -> float:
    """A number turned around or inverted; each way is its own inverse."""
    value = -value if way < 0 else value
    return value if abs(way) == 1 or not value else 1 / value


@lru_cache(1024)
def _normal(
    expression: sp.Expr, parameters: tuple[sp.Symbol, ...]
) -> tuple[sp.Expr, dict[sp.Symbol, int]]:
    """The formula with each parameter such that least of it is inverse or negative.

    Ways: 1 for a parameter as it is, -1 for its negative, 2 and -2 for the inverse of these.
    """
    ways = {}
    for p in parameters:
        tried = {1: expression}
        for way, other in ((-1, -p), (2, 1 / p), (-2, -1 / p)):
            tried[way] = expression.xreplace({p: other})
        ways[p] = min(tried, key=lambda w: (*_awkward(tried[w]), abs(w), -w))
        expression = tried[ways[p]]
    return expression, ways


def _writings(expression: sp.Expr) -> Iterator[sp.Expr]:
    """The formula as it is, what is common drawn out, and as one fraction."""
    yield expression
    drawn = sp.factor_terms(expression)
    whole = sp.factor_terms(sp.together(expression))
    yield from dict.fromkeys(e for e in (drawn, whole) if e != expression)


def _awkward(expression: sp.Expr) -> tuple[int, int]:
    """Parts of a formula, and negative numbers among them."""
    parts = list(sp.preorder_traversal(expression))
    return len(parts), sum(1 for e in parts if e.is_Number and e.is_negative)


def _matches(
    form: sp.Expr, plain: sp.Expr, parameters: Sequence[sp.Symbol], others: Sequence[sp.Symbol],
    columns: Mapping[sp.Symbol, sp.Symbol],
) -> Iterator[dict[sp.Symbol, sp.Symbol]]:  # fmt: skip
    """Names of the other formula's parameters for those of a form that make the two equal."""
    left, right = _places(form), _places(plain)
    alike = [[o for o in others if right[o] == left[p]] for p in parameters]
    for chosen in product(*alike):
        if len(set(chosen)) < len(chosen):
            continue
        names = dict(zip(parameters, chosen, strict=True))
        if form.xreplace({**names, **columns}) == plain:
            yield names


def _places(expression: sp.Expr) -> _Places:
    """Where each symbol stands: what is applied to it, up to the whole, each time."""
    out: _Places = defaultdict(Counter)

    def walk(part: sp.Expr, above: tuple[str, ...]) -> None:
        if part.is_Symbol:
            out[part][above] += 1
        for argument in part.args:
            walk(argument, (*above, part.func.__name__))

    walk(expression, ())
    return out
