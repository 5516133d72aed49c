"""Classification: the change of log-probabilities as A K G (paper Eq. 13)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from ..tables import as_tensor, check_finite_tensor
from ..training import LOSSES, read_targets
from ._kernel import Kernel
from ._model import State, positive
from ._ntk import ntk


@dataclass(frozen=True)
class Decomposition:
    """The three factors of a first-order change of log-probabilities.

    Attributes:
        A: (rows_o, C, C), derivative of the log-probabilities by the logits at x_o: I - 1 pi^T.
        K: the kernel between x_o and x_u.
        G: (rows_u, C), derivative of the loss by the logits at x_u: pi minus the class.
    """

    A: Tensor
    K: Kernel
    G: Tensor

    def change(self, rate: float) -> Tensor:
        """Return -rate A K G, (rows_o, rows_u, C): a step at each x_u alone."""
        return -positive(rate, "rate") * self._product(self.K.total)

    def change_by_term(self, rate: float) -> dict[str, Tensor]:
        """Return the same by parts of the kernel: `head`, `x0`, `x0 x2`, ...; they add up."""
        if self.K.head is None:
            raise ValueError("the kernel of this model has no parts; only a RAN's has")
        parts = {"head": self.K.head}
        parts |= {f"x{i}": part for i, part in self.K.main.items()}
        parts |= {f"x{i} x{j}": part for (i, j), part in self.K.pair.items()}
        size = -positive(rate, "rate")
        return {name: size * self._product(part) for name, part in parts.items()}

    def _product(self, kernel: Tensor) -> Tensor:
        return torch.einsum("oac,ouce,ue->oua", self.A, kernel, self.G)


def log_probability_slope(logits: Tensor) -> Tensor:
    """Return A = I - 1 pi^T for each row of logits, (rows, C, C)."""
    eye = torch.eye(logits.shape[-1], dtype=logits.dtype, device=logits.device)
    return eye - torch.softmax(logits, -1).unsqueeze(-2)


def decompose(model: nn.Module, x_o: Any, x_u: Any, y_u: Any) -> Decomposition:
    r"""Return A, K and G: Delta log pi(x_o) = -rate A(x_o) K(x_o, x_u) G(x_u, y_u) + O(rate^2).

    Args:
        model: a network with one output (logit) for each class.
        x_o: (rows_o, features), points that are looked at.
        x_u: (rows_u, features), points of updates, each a step of its own.
        y_u: (rows_u,), their classes, from 0.

    Example:
        >>> from rational_anova import RAN
        >>> x = torch.linspace(-1, 1, 6).reshape(3, 2)
        >>> found = decompose(RAN(2, 3), x, x[:1], torch.tensor([2]))
        >>> found.change(0.1).shape
        torch.Size([3, 1, 3])
    """
    state = State.of(model)
    here, there = state.points(x_o, "x_o"), state.points(x_u, "x_u")
    logits = state.values(there)
    if logits.shape[1] < 2:
        raise ValueError(
            f"classes need an output each, the model has {logits.shape[1]}; "
            "for two classes with one output use influence(..., loss='binary')"
        )
    loss = LOSSES["multiclass"]
    classes = targets(y_u, loss, logits)
    slope = log_probability_slope(state.values(here))
    return Decomposition(slope, ntk(model, here, there), loss.slope(logits, classes))


def targets(y: Any, loss: Any, outputs: Tensor) -> Tensor:
    """Return targets for outputs (rows, C), or say what is wrong with them."""
    given = as_tensor(y, "y_u").to(outputs.device)
    if given.dim() == 0 or len(given) != len(outputs):
        raise ValueError(
            f"y_u must have a target for each of the {len(outputs)} rows of x_u, "
            f"got shape {tuple(given.shape)}"
        )
    read = read_targets(given, loss, outputs.shape[1], outputs.dtype, "y_u")
    check_finite_tensor(read, "y_u")
    return read
