"""A network, its data, and the verdict of the data on other coefficients.

Near a point the network is a linear function of its coefficients: steps and uncertainties follow.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import torch
from torch import Tensor
from torch.nn.utils import parameters_to_vector, vector_to_parameters

if TYPE_CHECKING:
    from ._ran import RAN


_NUMBERS = 2**24  # in a Jacobian; of more rows an even selection is taken
_UNSEEN = 1e-6  # share of a coefficient in directions that the data do not see


class Linear(NamedTuple):
    """A singular value decomposition of the scaled Jacobian, and the residuals in it.

    Attributes:
        step: the damped Gauss-Newton step needs these: right vectors, values, projected residual.
        reach: how far each coefficient moves if all others follow and the predictions move by one
            root of the sum of squares; inf where the data say nothing of it.
        alone: the same if the others stay.
        rank: how many directions the data see.
    """

    step: tuple[Tensor, Tensor, Tensor]
    reach: Tensor
    alone: Tensor
    rank: int


@torch.no_grad()
def linearise(
    model: RAN,
    x: Tensor,  # (rows, features)
    target: Tensor,  # (rows, outputs)
    spread: Tensor,  # (outputs,)
    free: Tensor,  # (size,) of bool
) -> Linear:
    """Linearise f/spread in the free coefficients."""
    stride = max(1, -(-len(x) * len(spread) * len(free) // _NUMBERS))
    value, jacobian = model.jacobian_matrix(x[::stride])
    rows = (jacobian / spread[:, None]).reshape(-1, len(free))[:, free]
    residual = ((value - target[::stride]) / spread).reshape(-1, 1)
    norms = rows.norm(dim=0)
    scale = torch.where(norms > 0, norms, torch.ones_like(norms))
    triangle = torch.linalg.qr(torch.cat([rows / scale, residual], 1), mode="r").R
    left, values, right = torch.linalg.svd(triangle[:, :-1], full_matrices=False)
    # The whole square of right vectors, since those without a value are what is not seen.
    seen = values > max(rows.shape) * torch.finfo(values.dtype).eps * values.amax()
    vectors = right[seen].T
    unseen = (1 - vectors.square().sum(1)).clamp(min=0)
    inverse = (vectors / values[seen]).norm(dim=1)
    # An even selection of the rows holds as much of the sum of squares as it has rows.
    whole = stride**-0.5
    reach = torch.where(unseen > _UNSEEN, torch.full_like(inverse, torch.inf), inverse / scale)
    alone = torch.where(norms > 0, 1 / scale, torch.full_like(norms, torch.inf))
    projected = left.T @ triangle[:, -1]
    return Linear(
        (right.T / scale[:, None], values, projected), whole * reach, whole * alone, int(seen.sum())
    )


def step(linear: Linear, damping: float) -> Tensor:
    """Return the damped Gauss-Newton step of the free coefficients."""
    vectors, values, projected = linear.step
    return -vectors @ (values / (values.square() + damping**2) * projected)


ERRORS = 2.0  # standard errors by which a snap may move a coefficient
_LEVEL = 0.95
_STEPS = 12  # of Levenberg and Marquardt after each snap
_WORK = 3e10  # multiplications in all such steps; after that the free coefficients stay
_DAMPING = 1e-12  # at first, over the scaled singular values
_FACTOR = 100.0
_GRAIN = 16 * torch.finfo(torch.float64).eps  # of a prediction, over its size


class Trial:
    """The state of a search: the coefficients, and what they did to the predictions.

    Args:
        model: a float64 network that may be changed.
        x: (rows, features).
        y: (rows, outputs), or None: then the predictions themselves are the target.
        precision: how far predictions may move, over the spread.
    """

    def __init__(self, model: RAN, x: Tensor, y: Tensor | None, precision: float) -> None:
        self.model, self.x, self.precision = model, x, precision
        self.theta = parameters_to_vector(model.parameters()).detach().clone()
        flags = [torch.full((p.numel(),), p.requires_grad) for p in model.parameters()]
        self.free = torch.cat(flags)
        self.measured = y is not None
        start = self.predict(self.theta)
        if not start.isfinite().all():
            raise ValueError("the network is not finite on X, so nothing can be compared there")
        self.target = start if y is None else y
        spread = self.target.std(0, correction=0)
        self.spread = torch.where(spread > 0, spread, torch.ones_like(spread))
        self.start = start
        self.guarded = [unit for unit in (model.main, model.pair) if unit and self._positive(unit)]
        self.work = 0.0
        self.fixed = 0
        self._alone: Tensor | None = None
        self.grain = _GRAIN * (1 + float((start / self.spread).abs().max()))
        self.rounding = start.numel() * self.grain**2
        self._polish()
        linear = self.linearise(self.theta)
        self.cost = self.first = self.squares(self.theta)
        variance = self.first / max(start.numel() - linear.rank, 1)
        self.error = max(variance**0.5, self.grain)

    @torch.no_grad()
    def predict(self, theta: Tensor) -> Tensor:
        """Return f(x) with other coefficients, which the model keeps."""
        vector_to_parameters(theta, self.model.parameters())
        result: Tensor = self.model(self.x)
        return result

    def moved(self, theta: Tensor) -> float:
        """Return the largest change of a prediction since the start."""
        return float(((self.predict(theta) - self.start) / self.spread).abs().max())

    def squares(self, theta: Tensor) -> float:
        """Return the sum of squared residuals; nan where the network is not finite."""
        return float(((self.predict(theta) - self.target) / self.spread).square().sum())

    def linearise(self, theta: Tensor) -> Linear:
        """Linearise in the free coefficients."""
        vector_to_parameters(theta, self.model.parameters())
        size = float(self.free.sum())
        self.work += size**2 * (self.target.numel() + 10 * size)  # QR, and an SVD
        return linearise(self.model, self.x, self.target, self.spread, self.free)

    def tolerance(self) -> Tensor:
        """Return how far each coefficient may move, 0 for those that are fixed."""
        if not self.free.any():
            return torch.zeros_like(self.theta)
        if self.work > _WORK and self._alone is not None:
            return torch.where(self.free, self._alone, 0.0)
        linear = self.linearise(self.theta)
        allowed = self.precision * self.target.numel() ** 0.5
        if self.measured:
            allowed = min(allowed, ERRORS * self.error)
        result = torch.zeros_like(self.theta)
        result[self.free] = allowed * linear.reach
        if self.work > _WORK:  # from now on nothing follows
            result[self.free] = allowed * linear.alone
            self._alone = result
        return result

    def settle(self, theta: Tensor) -> tuple[Tensor, str]:
        """Let the free coefficients follow until the data allow the point; else say why not."""
        reason, damping = self.verdict(theta), _DAMPING
        for _ in range(_STEPS):
            if not reason or self.work > _WORK or not self.free.any():
                break
            moved = theta.clone()
            moved[self.free] += step(self.linearise(theta), damping)
            if self.squares(moved) < self.squares(theta):
                theta, damping = moved, damping / _FACTOR
                reason = self.verdict(theta)
            else:
                damping = max(damping, _DAMPING) * _FACTOR
                if damping > 1:
                    break
        return theta, reason

    def verdict(self, theta: Tensor) -> str:
        """Say why the data do not allow a point; nothing if they do."""
        from scipy.stats import chi2  # slow to import

        moved, squares = self.moved(theta), self.squares(theta)
        if not moved <= self.precision + self.grain:
            return f"would move predictions by {moved:.1e} of the spread"
        unit = self.error**2
        if self.measured and not squares <= self.cost + ERRORS**2 * unit + self.rounding:
            return f"is {((squares - self.cost) / unit) ** 0.5:.1f} standard errors away"
        most = self.first + chi2.ppf(_LEVEL, self.fixed + 1) * unit + self.rounding
        if self.measured and not squares <= most:
            return "together with the others would be seen in the residuals"
        if not all(self._positive(unit) for unit in self.guarded):
            return "would make a denominator zero or negative on X"
        return ""

    def _positive(self, unit: torch.nn.Module) -> bool:
        return bool((unit.denominator_min(self._inputs(unit)) > 0).all())  # type: ignore[operator]

    def _inputs(self, unit: torch.nn.Module) -> Tensor:
        return self.x[:, list(self.model.topology.mains)] if unit is self.model.main else self.x

    def _polish(self) -> None:
        """Take the fit to its minimum, as far as the precision allows."""
        if not self.measured:
            return
        best = self.theta
        for _ in range(_STEPS):
            moved = best.clone()
            moved[self.free] += step(self.linearise(best), _DAMPING)
            if not (self.squares(moved) < self.squares(best) and
                    self.moved(moved) <= self.precision / 2):  # fmt: skip
                break
            best = moved
        self.theta = best
