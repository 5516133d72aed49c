"""`rational_1d` and `rational_2d`: the functions behind the modules, with their checks."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from .._core import checks as check
from ._autograd import apply
from ._bases import BASES
from ._denominators import DENOMINATORS
from ._form import Form
from ._pairs import check_pairs


def rational_1d(
    x: Tensor,  # (..., features) with features on axis `dim`
    numerator: Tensor,  # (m + 1, units) or (heads, m + 1, units), lowest power first
    denominator: Tensor,  # (n, units) or (heads, n, units), a row more with a constant
    gate: Tensor | None = None,  # (units,)
    *,
    kind: str = "softplus",
    base: str = "identity",
    eps: float | None = None,
    constant: bool = False,
    reach: float | None = None,
    dim: int = -1,
) -> Tensor:
    r"""Apply gated rational functions of one variable, feature by feature (paper Eq. 4 and 6).

    r(x) = b(x) + gate * (p(x)/d(x) - b(x)), summed over heads inside the bracket. Without a gate,
    r = p/d.

    Args:
        x: input of any rank, stride and real floating dtype. Half precision is computed in
            float32; the output has the dtype of x.
        numerator: coefficients of p.
        denominator: coefficients of q, from which `kind` makes d.
        gate: one number for each unit, or None.
        kind: a name in `DENOMINATORS`.
        base: a name in `BASES`.
        eps: added to d; None means the default of the kind (1e-6 for softplus, else 0).
        constant: whether q has a constant term, its first coefficient.
        reach: outside of [-reach, reach] p/d goes on as the base does; None for no end.
        dim: the feature axis.

    Shape: like x. `units` must divide the number of features; when it is smaller, each run of
    features / units neighbouring channels shares one unit.

    Example:
        >>> x = torch.tensor([[0.0], [1.0], [2.0]])
        >>> one, q = torch.ones(1, 1), torch.tensor([[0.0], [1.0]])
        >>> rational_1d(x, one, q, kind="sos").squeeze(1)  # 1 / (1 + x^2)
        tensor([1.0000, 0.5000, 0.2000])
    """
    check.floating(x)
    units = _coefficients(numerator, denominator, gate)
    check.integer(dim, "dim", -x.dim())
    if x.dim() == 0 or not -x.dim() <= dim < x.dim():
        raise ValueError(f"x of shape {tuple(x.shape)} has no axis dim={dim}")
    if x.shape[dim] == 0 or x.shape[dim] % units:
        raise ValueError(
            f"the coefficients describe {units} units, which must divide the features of x: "
            f"axis {dim} has {x.shape[dim]} (shape {tuple(x.shape)})"
        )
    degrees = (numerator.shape[-2] - 1, denominator.shape[-2] - bool(constant))
    if not degrees[1]:
        raise ValueError(
            "with constant=True the denominator needs at least two rows, the constant and x, got 1"
        )
    form = _form(1, degrees, kind, base, eps, constant, reach)
    return apply(x, numerator, denominator, gate, None, form, dim)


def rational_2d(
    x: Tensor,  # (..., d)
    pairs: Tensor,  # (2, K), integer
    numerator: Tensor,  # (T, K) or (heads, T, K), monomials 1, u, v, u^2, u v, v^2, ...
    denominator: Tensor,  # (S, K) or (heads, S, K), the same without 1 or, with a constant, all
    gate: Tensor | None = None,  # (K,)
    *,
    kind: str = "softplus",
    base: str = "zero",
    eps: float | None = None,
    constant: bool = False,
) -> Tensor:
    r"""Apply gated rational functions of two variables to pairs of features (paper Eq. 5).

    r(u, v) = b + gate * (p(u, v)/d(u, v) - b), with b the base of (u + v)/2.

    Args:
        x: input, features on the last axis.
        pairs: row 0 holds the feature that is u, row 1 the feature that is v.
        numerator: coefficients of p over all monomials up to a total degree.
        denominator: coefficients of q over all monomials up to a total degree, without 1 unless
            there is a constant.
        gate: one number for each pair, or None.
        kind: a name in `DENOMINATORS`.
        base: a name in `BASES`.
        eps: added to d; None means the default of the kind.
        constant: whether q has a constant term, its first coefficient.

    Shape: (..., d) to (..., K).

    Example:
        >>> x = torch.tensor([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0]])
        >>> q = torch.tensor([[1.0], [1.0]])
        >>> rational_2d(x, torch.tensor([[0], [1]]), torch.ones(1, 1), q, kind="sos").squeeze(1)
        tensor([1.0000, 0.5000, 0.3333])
    """
    check.floating(x)
    units = _coefficients(numerator, denominator, gate)
    if not isinstance(pairs, Tensor):
        raise TypeError(f"pairs must be an int64 torch.Tensor, got {type(pairs).__name__}")
    if pairs.dim() != 2 or pairs.shape != (2, units) or pairs.dtype != torch.long:
        raise ValueError(
            f"pairs must be an int64 tensor of shape (2, {units}) for {units} units, "
            f"got {pairs.dtype} of shape {tuple(pairs.shape)}"
        )
    if x.dim() == 0:
        raise ValueError("x needs a feature axis, got a tensor of shape ()")
    if not torch.compiler.is_compiling():
        check_pairs(pairs, x.shape[-1])
    degrees = (
        _total_degree(numerator.shape[-2], "numerator", True),
        _total_degree(denominator.shape[-2], "denominator", constant),
    )
    form = _form(2, degrees, kind, base, eps, constant)
    return apply(x, numerator, denominator, gate, pairs, form, -1)


def _form(
    variables: int,
    degrees: tuple[int, int],
    kind: str,
    base: str,
    eps: float | None,
    constant: bool,
    reach: float | None = None,
) -> Form:
    check.choice(kind, DENOMINATORS, "kind")
    check.choice(base, BASES, "base")
    given = check.boolean(constant, "constant"), Form.checked_reach(reach)
    return Form.make(variables, degrees, kind, base, Form.checked_eps(eps), *given)


def _coefficients(numerator: Tensor, denominator: Tensor, gate: Tensor | None) -> int:
    """Return the number of units of coefficients that fit together."""
    check.floating(numerator, "numerator")
    check.floating(denominator, "denominator")
    shapes = f"numerator {tuple(numerator.shape)}, denominator {tuple(denominator.shape)}"
    if numerator.dim() not in (2, 3) or denominator.dim() != numerator.dim():
        raise ValueError(f"coefficients must be (k, units) or (heads, k, units), got {shapes}")
    if numerator.shape[-1] != denominator.shape[-1] or 0 in (*numerator.shape, *denominator.shape):
        raise ValueError(f"both polynomials need the same units and at least one row, got {shapes}")
    if numerator.dim() == 3 and numerator.shape[0] != denominator.shape[0]:
        raise ValueError(f"both polynomials need the same number of heads, got {shapes}")
    units = numerator.shape[-1]
    if gate is not None and check.floating(gate, "gate").shape != (units,):
        raise ValueError(f"gate must have shape ({units},), got {tuple(gate.shape)}")
    return units


def _total_degree(rows: int, name: str, constant: bool) -> int:
    """Degree k with (k + 1)(k + 2)/2 monomials, 1 among them or not."""
    count = rows + (not constant)
    degree = (math.isqrt(8 * count + 1) - 3) // 2
    least = 1 if name == "denominator" else 0
    if (degree + 1) * (degree + 2) // 2 != count or degree < least:
        sizes = [(k + 1) * (k + 2) // 2 - (not constant) for k in range(least, least + 4)]
        raise ValueError(
            f"{name} must hold all monomials of a total degree: "
            f"{', '.join(map(str, sizes))}, ... rows, got {rows}"
        )
    return degree
