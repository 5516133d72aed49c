"""Targets of each loss: which ones it takes, in which units they are fitted, on which link."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.utils.validation import column_or_1d

from .._core import checks as check
from .._core.types import Array
from ..tables import NotNumbers, check_range, from_tensor, numbers
from .fit import FORWARD, Binomial, Loss, NegativeBinomial, Offset, Tweedie
from .fit import check as check_link

# The links of each loss; the first is what `auto` means, but for squared errors.
LINKS: dict[str, tuple[str, ...]] = {
    "squared": ("identity", *(name for name in FORWARD if name != "identity")),
    "huber": ("identity",),
    "quantile": ("identity", "log"),
    "poisson": ("log", "identity"),
    "negative_binomial": ("log", "identity"),
    "gamma": ("log", "identity"),
    "tweedie": ("log", "identity"),
    "binomial": ("logit", "identity"),
}
FAMILIES = ("poisson", "negative_binomial", "gamma", "tweedie", "binomial")


def link_of(loss: str, link: str) -> str:
    """Return the link that is meant; `auto` stays with squared errors, where it is chosen."""
    check.choice(loss, tuple(LINKS), "loss")
    check.choice(link, ("auto", "identity", "log", "sqrt", "logit"), "link")
    if link == "auto":
        return link if loss == "squared" else LINKS[loss][0]
    if link not in LINKS[loss]:
        ways = "', '".join(("auto", *LINKS[loss]))
        raise ValueError(f"loss={loss!r} has no link {link!r}; choose one of '{ways}'")
    return link


def family_of(loss: str, link: str, power: float | None) -> Loss:
    """Return the loss of a family."""
    if power is not None:
        if loss != "tweedie":
            raise ValueError(f"power={power!r} is for loss='tweedie', got loss={loss!r}")
        if not 1 <= check.real(power, "power") <= 2:
            raise ValueError(
                f"power must be from 1 (as 'poisson') to 2 (as 'gamma'), or None to estimate it, "
                f"got {power}"
            )
    if loss == "tweedie":
        return Tweedie(1.5, link, free=True) if power is None else Tweedie(float(power), link)
    if loss in ("poisson", "gamma"):
        return Tweedie(1.0 if loss == "poisson" else 2.0, link)
    return NegativeBinomial(link=link) if loss == "negative_binomial" else Binomial(link)


def levels_of(quantiles: Any) -> tuple[float, ...]:
    """Return the option `quantiles` as rising levels."""
    given = [quantiles] if isinstance(quantiles, float | int) else list(quantiles)
    levels = tuple(check.real(one, "quantiles") for one in given)
    if not levels or not all(0 < level < 1 for level in levels):
        raise ValueError(f"quantiles must be between 0 and 1, as (0.05, 0.5, 0.95), got {given}")
    if list(levels) != sorted(set(levels)):
        raise ValueError(f"quantiles must rise, and none may be there twice, got {given}")
    return levels


def check_targets(y: Array, loss: str, power: float | None) -> None:
    """Raise where a loss has no value at some target; the message has the value and its row."""
    positive = loss == "gamma" or (loss == "tweedie" and power == 2)
    bad: Array
    if positive:
        bad, need = y <= 0, "positive"
    elif loss == "binomial":
        bad, need = (y < 0) | (y > 1), "shares from 0 to 1"
    elif loss in FAMILIES:
        bad, need = y < 0, "not negative"
    else:
        return
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        other = "'tweedie' or 'poisson', which take zeros" if positive else "'squared'"
        raise ValueError(
            f"loss={loss!r} needs targets that are {need}, got {y[row]:g} in row {row}; correct or "
            f"drop such rows, or take loss={other}"
        )
    if not y.any() or (loss == "binomial" and (y == 1).all()):
        raise ValueError(
            f"loss={loss!r} has no finite fit where all targets are {y[0]:g}; check the target"
        )


def check_options(model: Any, y: Array, name: str) -> None:
    """Raise where options of a regressor do not go together, or with its targets."""
    if name != "auto" and model.loss not in FAMILIES:
        check_link(name, y)
    if model.loss == "quantile":
        levels_of(model.quantiles)
    family_of(model.loss if model.loss in FAMILIES else "poisson", "log", model.power)
    several = y.ndim == 2 or (model.loss == "quantile" and len(levels_of(model.quantiles)) > 1)
    if y.ndim == 2 and (model.loss != "squared" or name not in ("auto", "identity")):
        raise ValueError(
            f"a target of {y.shape[1]} columns takes loss='squared' and link='identity', got "
            f"loss={model.loss!r}, link={model.link!r}; fit one model for each column"
        )
    if several and model.monotone:
        raise ValueError("monotone needs one output; fit one model for each of them")
    if model.depth == "deep" and (model.loss != "squared" or several):
        raise ValueError(
            f"depth='deep' is for loss='squared' with one target, got loss={model.loss!r}; use "
            "depth='shallow'"
        )


def numbers_of(y: Any) -> Array:
    """Return the targets, (rows,) or (rows, outputs)."""
    y = from_tensor(y)
    y = y if isinstance(y, pd.DataFrame) else np.asarray(y)
    if y.ndim == 2 and y.shape[1] > 1:
        frame = pd.DataFrame(y)
        columns = [_column(frame.iloc[:, k]) for k in range(frame.shape[1])]
        return np.stack(columns, 1)
    return _column(pd.Series(column_or_1d(np.asarray(y), warn=True)))


def _column(column: pd.Series) -> Array:
    try:
        y = numbers(column, "the target")
    except NotNumbers as error:
        raise ValueError(f"{error}, or take RANClassifier for classes") from None
    if not np.isfinite(y).all():
        row = int(np.flatnonzero(~np.isfinite(y))[0])
        raise ValueError(
            f"Input y contains NaN or infinity (row {row} is {y[row]}); drop rows without a target"
        )
    check_range(y, "the target")
    return y


def offset_of(offset: Any, exposure: Any, rows: int, link: str) -> Array | None:
    """Return what is added to each decision on the scale of the link; None for nothing.

    Args:
        offset: numbers on the scale of the link, or None.
        exposure: positive factors of the mean (years, people, areas), or None.
        rows: how many there must be.
        link: of the model.
    """
    if exposure is not None and link != "log":
        raise ValueError(
            f"exposure multiplies the mean, which takes a log link, and this one is {link!r}; take "
            "loss='poisson' or another one with a log link, or link='log'"
        )
    if offset is not None and link == "sqrt":
        raise ValueError("offset has no meaning under link='sqrt'; choose another link")
    total: Array | None = None
    for given, name in ((offset, "offset"), (exposure, "exposure")):
        if given is None:
            continue
        values = numbers(pd.Series(column_or_1d(np.asarray(from_tensor(given)))), name)
        if len(values) != rows:
            raise ValueError(f"{name} has {len(values)} numbers for {rows} rows")
        bad = ~np.isfinite(values)
        if name == "exposure":
            bad |= ~(values > 0)
        if bad.any():
            row = int(np.flatnonzero(bad)[0])
            need = "positive" if name == "exposure" else "finite"
            raise ValueError(f"{name} must be {need}, got {values[row]:g} in row {row}")
        values = np.log(values) if name == "exposure" else values
        total = values if total is None else total + values
    return total


def without_offset(y: Array, offset: Array | None, link: str) -> Array:
    """Return targets as they would be with an offset of zero, for losses of their distance."""
    if offset is None:
        return y
    return y * np.exp(-offset) if link == "log" else y - offset


@dataclass(frozen=True)
class Fitted:
    """A target in the units in which a family is fitted.

    Args:
        loss: with the offset, if there is one.
        y: (rows, columns).
        scale: decisions on the scale of the link are `shift + scale * fitted`.
        shift: as `scale`.
    """

    loss: Loss
    y: Array
    scale: float
    shift: float


def in_units(loss: Loss, link: str, y: Array, offset: Array | None, weight: Array) -> Fitted:
    """Return targets in units of their mean, where the loss allows: results then have no unit."""
    known = np.zeros(len(y)) if offset is None else offset
    unit, scale, shift = 1.0, 1.0, 0.0
    if isinstance(loss, Tweedie):
        grown = np.exp(known) if link == "log" else 1.0
        unit = float((weight @ y) / (weight @ np.broadcast_to(grown, len(y))))
    if link == "log":
        shift = float(np.log(unit))
    elif link == "identity":
        scale = unit
    columns = [y / unit]
    if offset is not None:
        columns.append(known / scale)
        loss = Offset(loss)
    return Fitted(loss, np.stack(columns, 1), scale, shift)


def names_of(y: Any, outputs: int) -> tuple[str, ...]:
    """Return a name for each column of a target."""
    columns: Sequence[Any] = getattr(y, "columns", range(outputs))
    return tuple(str(name) for name in columns)
