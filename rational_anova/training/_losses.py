"""The losses: value, slope and curvature in the outputs, one number or matrix for each row.

`lm` needs no more than slope g and a root R of a curvature R^T R: the true one for squares and
likelihoods (generalised Gauss-Newton), the one of the tangent parabola for absolute and Huber loss.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields

import torch
from torch import Tensor
from torch.nn import functional

from .._core import checks as check

# Residuals below this share of the largest count as this share in the parabola of `mae`.
_KINK = 1e-6


@dataclass(frozen=True)
class Loss:
    """One loss; `LOSSES` lists those with a name.

    Args:
        name: the word people type.
        value: (outputs, targets) to one number for each row.
        slope: its derivative in the outputs, (rows, outputs).
        root: R, (rows, outputs) if it is diagonal, else (rows, outputs, outputs).
        classes: whether targets are class numbers: `exclusive` (one of many), `binary`, or None.
        quadratic: whether the loss is a mean of squares, so that residuals have a variance.
        own: whether it is a function of the user's, who sees outputs and targets as they are.
    """

    name: str
    value: Callable[[Tensor, Tensor], Tensor]
    slope: Callable[[Tensor, Tensor], Tensor]
    root: Callable[[Tensor, Tensor], Tensor]
    classes: str | None = None
    quadratic: bool = False
    own: bool = False

    def __reduce__(self) -> tuple[object, ...]:
        # Functions without a name of their own cannot be pickled; this finds them again.
        if LOSSES.get(self.name) is self:
            return _named, (self.name,)
        if self.name.startswith("huber "):
            return huber, (float(self.name.removeprefix("huber ")),)
        return Loss, tuple(getattr(self, field.name) for field in fields(self))

    def mean(
        self, outputs: Tensor, targets: Tensor, weight: Tensor | None, mass: float | None = None
    ) -> Tensor:
        """Return the weighted mean over the rows; with `mass` their sum, divided by it."""
        values = self.value(outputs, targets)
        if mass is not None:
            return (values if weight is None else values * weight).sum() / mass
        return values.mean() if weight is None else (values * weight).sum() / weight.sum()


def own_loss(function: Callable[[Tensor, Tensor], Tensor]) -> Loss:
    """Make a loss of any function of outputs and targets, such as `nn.CrossEntropyLoss()`.

    It returns one number for each row; or one number, which counts as the mean over the rows.
    """
    name = getattr(function, "__name__", type(function).__name__)

    def value(f: Tensor, y: Tensor) -> Tensor:
        result = function(f, y)
        if not isinstance(result, Tensor) or result.shape not in ((), (len(y),)):
            shape = tuple(result.shape) if isinstance(result, Tensor) else type(result).__name__
            raise ValueError(
                f"the loss {name} must return one number, or one for each of {len(y)} rows; it "
                f"returns {shape}"
            )
        return result.expand(len(y)) if result.dim() == 0 else result

    def unknown(f: Tensor, y: Tensor) -> Tensor:
        raise ValueError(
            f"lm needs slope and curvature of a loss, and {name} has none; use "
            "optimizer='adam', or a training.Loss with both"
        )

    return Loss(name, value, unknown, unknown, own=True)


def _named(name: str) -> Loss:
    return LOSSES[name]


def huber(delta: float = 1.0) -> Loss:
    """Return the Huber loss: squares up to `delta`, then lines.

    Args:
        delta: where it changes, in the units of the target.

    Example:
        >>> huber(0.5).value(torch.tensor([[0.1], [3.0]]), torch.zeros(2, 1))
        tensor([0.0050, 1.3750])
    """
    bound = check.real(delta, "delta")
    if bound <= 0:
        raise ValueError(f"delta must be > 0, got {delta}")

    def value(f: Tensor, y: Tensor) -> Tensor:
        return functional.huber_loss(f, y, reduction="none", delta=bound).mean(-1)

    def slope(f: Tensor, y: Tensor) -> Tensor:
        return (f - y).clamp(-bound, bound) / f.shape[-1]

    def root(f: Tensor, y: Tensor) -> Tensor:
        return (bound / (f - y).abs().clamp(min=bound) / f.shape[-1]).sqrt()

    return Loss("huber" if bound == 1 else f"huber {bound!r}", value, slope, root)


def _mae_root(f: Tensor, y: Tensor) -> Tensor:
    size = (f - y).abs()
    least = (_KINK * size.amax()).clamp(min=torch.finfo(size.dtype).tiny)
    return (1 / size.clamp(min=least) / f.shape[-1]).sqrt()


def _binary_root(f: Tensor, y: Tensor) -> Tensor:
    p = torch.sigmoid(f)
    return (p * (1 - p) / f.shape[-1]).sqrt()


def _multiclass_slope(f: Tensor, y: Tensor) -> Tensor:
    return torch.softmax(f, -1) - functional.one_hot(y, f.shape[-1])


def _multiclass_root(f: Tensor, y: Tensor) -> Tensor:
    # (diag(s) - s p^T)(diag(s) - p s^T) = diag(p) - p p^T, with s the root of p, since sum p = 1.
    p = torch.softmax(f, -1)
    s = p.sqrt()
    return torch.diag_embed(s) - s.unsqueeze(-1) * p.unsqueeze(-2)


LOSSES: dict[str, Loss] = {
    entry.name: entry
    for entry in (
        Loss(
            "mse",
            lambda f, y: (f - y).square().mean(-1),
            lambda f, y: 2 / f.shape[-1] * (f - y),
            lambda f, y: torch.full_like(f, (2 / f.shape[-1]) ** 0.5),
            quadratic=True,
        ),
        Loss(
            "mae",
            lambda f, y: (f - y).abs().mean(-1),
            lambda f, y: torch.sign(f - y) / f.shape[-1],
            _mae_root,
        ),
        huber(),
        Loss(
            "binary",
            lambda f, y: functional.binary_cross_entropy_with_logits(f, y, reduction="none").mean(
                -1
            ),
            lambda f, y: (torch.sigmoid(f) - y) / f.shape[-1],
            _binary_root,
            classes="binary",
        ),
        Loss(
            "multiclass",
            lambda f, y: functional.cross_entropy(f, y, reduction="none"),
            _multiclass_slope,
            _multiclass_root,
            classes="exclusive",
        ),
    )
}


def resolve_loss(loss: str | Loss | Callable[..., Tensor], targets: Tensor, outputs: int) -> Loss:
    """Return the loss that is meant; `auto` looks at the type of the targets.

    Booleans with one output mean `binary`, whole numbers with several outputs `multiclass`,
    everything else `mse`.
    """
    if isinstance(loss, Loss):
        return loss
    if callable(loss):
        return own_loss(loss)
    if check.choice(loss, ("auto", *LOSSES), "loss") != "auto":
        return LOSSES[loss]
    if targets.dtype == torch.bool and outputs == 1:
        return LOSSES["binary"]
    if not targets.is_floating_point() and outputs > 1:
        return LOSSES["multiclass"]
    return LOSSES["mse"]


def read_targets(y: Tensor, loss: Loss, outputs: int, dtype: torch.dtype, name: str) -> Tensor:
    """Return targets as the loss wants them, or say what is wrong with them."""
    if loss.own:
        return y.to(dtype) if y.is_floating_point() else y
    if loss.classes == "exclusive":
        return _read_classes(y, outputs, name)
    shaped = y.unsqueeze(-1) if y.dim() == 1 else y
    if shaped.dim() != 2 or shaped.shape[1] != outputs:
        raise ValueError(
            f"{name} has shape {tuple(y.shape)}, the model has {outputs} outputs; it must be "
            f"(rows, {outputs})" + (" or (rows,)" if outputs == 1 else "") + _hint(y, outputs)
        )
    values = shaped.to(dtype)
    if loss.classes == "binary":
        wrong = (values != 0) & (values != 1)
        if wrong.any():
            raise ValueError(
                f"loss='binary' needs targets 0 and 1, {name} has {values[wrong][0].item():g}; "
                "encode the classes so, or use loss='multiclass' with one output a class"
            )
    return values


def _hint(y: Tensor, outputs: int) -> str:
    if y.dim() == 1 and outputs > 1 and not y.is_floating_point():
        return "; for class numbers use loss='multiclass'"
    return ""


def _read_classes(y: Tensor, outputs: int, name: str) -> Tensor:
    if y.dim() == 2 and y.shape[1] == 1:
        y = y.squeeze(1)
    if y.dim() != 1:
        raise ValueError(
            f"loss='multiclass' needs one class number for each row, {name} has shape "
            f"{tuple(y.shape)}; for one-hot rows pass y.argmax(1)"
        )
    classes = y.long()
    if y.is_floating_point() and not torch.equal(classes.to(y.dtype), y):
        bad = y[classes.to(y.dtype) != y][0].item()
        raise ValueError(f"loss='multiclass' needs whole class numbers, {name} has {bad:g}")
    if classes.numel():
        low, high = int(classes.min()), int(classes.max())
        if low < 0 or high >= outputs:
            raise ValueError(
                f"{name} has the class {low if low < 0 else high}, the model has {outputs} outputs "
                f"for the classes 0 to {outputs - 1}; number the classes from 0 and give the model "
                "one output for each"
            )
    return classes
