"""The coefficients of a `RAN` one by one: what each stands for, and which are known exactly."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

import torch

from ..units import RationalUnit, number

if TYPE_CHECKING:
    import sympy

    from ._ran import RAN

_EXACT = "_exact_numbers"
Key = tuple[str, tuple[int, ...], tuple[int, ...]]


class Coefficient(NamedTuple):
    """One number of a network.

    Attributes:
        parameter: name of the tensor that holds it.
        place: its index there.
        term: the inputs of its term; empty for the bias.
        power: the powers of its monomial; empty for gates and the read-out.
        label: what it is, in words.
    """

    parameter: str
    place: tuple[int, ...]
    term: tuple[int, ...]
    power: tuple[int, ...]
    label: str

    @property
    def key(self) -> Key:
        """A name that stays the same when terms come and go."""
        rest = self.place[:1] if self.parameter.startswith("head") else self.place[:-1]
        return self.parameter, self.term, rest

    @property
    def part(self) -> str:
        """Which part of a unit it is in: numerator, denominator, gate, weight, bias."""
        return self.parameter.rpartition(".")[2]


def coefficients(model: RAN) -> list[Coefficient]:
    """Return all coefficients, in the order of `parameters()`, flattened."""
    terms = terms_of(model)
    result = []
    for name, parameter in model.named_parameters():
        bank = name.partition(".")[0]
        for place in itertools.product(*map(range, parameter.shape)):
            if bank == "head":
                term = terms[place[1]] if len(place) == 2 else ()
                label = f"{_term(term)} weight" if term else "bias"
                if model.out_features > 1:
                    label = f"output {place[0]} {label}"
                result.append(Coefficient(name, place, term, (), label))
                continue
            unit: RationalUnit = getattr(model, bank)
            term = terms[place[-1] + (0 if bank == "main" else model.topology.num_mains)]
            part = name.rpartition(".")[2]
            power, words = _meaning(unit, part, place, term)
            result.append(Coefficient(name, place, term, power, f"{_term(term)} {words}"))
    return result


def terms_of(model: RAN) -> list[tuple[int, ...]]:
    """Return the inputs of each term, main effects first."""
    mains: list[tuple[int, ...]] = [(n,) for n in model.topology.mains]
    return mains + [tuple(pair) for pair in model.topology.pairs]


def _term(term: tuple[int, ...]) -> str:
    return f"r({', '.join(f'x{n}' for n in term)})"


def _meaning(
    unit: RationalUnit, part: str, place: tuple[int, ...], term: tuple[int, ...]
) -> tuple[tuple[int, ...], str]:
    if part == "gate":
        return (), "gate"
    row = place[-2]
    form = unit.form
    squares = [(n, p) for n, powers in enumerate(form.denominator) for p in powers]
    which, power = (0, form.numerator[row]) if part == "numerator" else squares[row]
    factors = [f"x{n}" + (f"^{k}" if k > 1 else "") for n, k in zip(term, power, strict=True) if k]
    words = [part, "*".join(factors) or "1"]
    if part == "denominator" and len(form.denominator) > 1:
        words[0] += f" square {which}"
    if unit.heads > 1:
        words.insert(0, f"head {place[0]}")
    return power, " ".join(words)


def remember(model: RAN, known: dict[Key, sympy.Expr]) -> None:
    """Note which coefficients stand for exact numbers; nothing else is known from then on."""
    vars(model)[_EXACT] = dict(known)


def exact_numbers(model: RAN) -> Iterator[tuple[Coefficient, sympy.Expr]]:
    """Yield the coefficients that are exact: those that still are the float next to the number."""
    known: dict[Key, sympy.Expr] = vars(model).get(_EXACT, {})
    if not known:
        return
    values = dict(model.named_parameters())
    for each in coefficients(model):
        if each.key in known:
            value = values[each.parameter][each.place].detach()
            nearest = torch.tensor(float(known[each.key]), dtype=torch.float64).to(value)
            if nearest == value:  # else it was trained or set since
                yield each, known[each.key]


def lookup(model: RAN) -> Callable[[str, tuple[int, ...]], Any]:
    """Return a function from the place of a coefficient to its sympy number."""
    known = {(c.parameter, c.place): exact for c, exact in exact_numbers(model)}
    values = {n: p.detach().double().cpu().numpy() for n, p in model.named_parameters()}

    def find(parameter: str, place: tuple[int, ...]) -> Any:
        exact = known.get((parameter, place))
        return number(float(values[parameter][place])) if exact is None else exact

    return find
