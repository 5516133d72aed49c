"""What one- and two-dimensional units share: parameters, their start, and how they answer."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from .. import functional as F
from .._core import checks as check
from ..functional import BASES, DENOMINATORS, Form
from ._fit import FitError
from ._start import further_heads, start
from ._symbolic import expression

if TYPE_CHECKING:
    import sympy

Init = str | Callable[..., Tensor]
_HALF = (torch.float16, torch.bfloat16)


class RationalUnit(nn.Module, abc.ABC):
    """A bank of gated rational functions; abstract, see `Rational1d` and `Rational2d`.

    Attributes:
        numerator: (k, units), or (heads, k, units) with several heads; lowest power first.
        denominator: the same for q.
        gate: (units,), or None for a unit without a gate.
        init_error: distance from the function the unit was started at, before any noise; None for
            a unit that was loaded from a file.
    """

    gate: Tensor | None

    def __init__(
        self,
        units: int,
        variables: int,
        degrees: tuple[int, int],
        denominator: str,
        base: str,
        *,
        heads: int,
        gate: float | str | None,
        eps: float | None,
        constant: bool,
        reach: float | None,
        init: Init,
        init_range: tuple[float, float],
        noise: float,
        device: torch.device | str | None,
        dtype: torch.dtype | None,
    ) -> None:
        super().__init__()
        check.choice(denominator, DENOMINATORS, "denominator")
        check.choice(base, BASES, "base")
        if isinstance(gate, str):
            check.choice(gate, ("auto",), "gate (a number, None, or a name)")
        elif gate is not None:
            check.real(gate, "gate")
        if not callable(init):
            check.choice(init, ("base", "paper", *BASES), "init (a function, or a name)")
        if dtype is None:  # models are built under a default of half precision, too
            dtype = torch.promote_types(torch.get_default_dtype(), torch.float32)
        elif not dtype.is_floating_point:
            raise TypeError(f"dtype must be a real floating-point dtype, got {dtype}")
        self.heads = check.integer(heads, "heads", 1)
        self.units = units
        self.degrees = degrees
        numbers = Form.checked_eps(eps), check.boolean(constant, "constant")
        self.form = Form.make(variables, degrees, denominator, base, *numbers, reach)
        with torch.device("cpu"):  # whatever the default device is
            self._first = start(self.form, init, gate, check.interval(init_range, "init_range"))
        self.init_error: FitError | None = self._first.error
        self._noise = check.nonnegative(noise, "noise")
        rows = (len(self.form.numerator), sum(map(len, self.form.denominator)))
        lead = () if self.heads == 1 else (self.heads,)
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.numerator = nn.Parameter(torch.empty(*lead, rows[0], units, **options))
        self.denominator = nn.Parameter(torch.empty(*lead, rows[1], units, **options))
        if gate is None:
            self.register_parameter("gate", None)
        else:
            self.gate = nn.Parameter(torch.empty(units, **options))
        self.reset_parameters()

    @property
    def kind(self) -> str:
        """Name of the denominator."""
        return self.form.kind.name

    @property
    def base(self) -> str:
        """Name of the base."""
        return self.form.base.name

    @property
    def eps(self) -> float:
        """What is added to the denominator."""
        return self.form.eps

    @property
    def reach(self) -> float | None:
        """End of the range outside of which the unit goes on as its base does; None for none."""
        return self.form.reach

    @torch.no_grad()
    def reset_parameters(self) -> None:
        """Go back to the start; further heads and `noise` are drawn anew."""
        first = self._first
        numerator, denominator = (
            rows.detach().to(torch.float64).reshape(self.heads, -1, self.units).zero_()
            for rows in (self.numerator, self.denominator)
        )
        if numerator.is_meta:
            return
        numerator[0] = first.numerator[:, None]
        denominator[0] = first.denominator[:, None]
        denominator[1:] = further_heads(first.denominator, self.heads, self.units)
        for parameter, rows in ((self.numerator, numerator), (self.denominator, denominator)):
            if self._noise:
                rows = rows + self._noise * torch.randn(rows.shape).to(rows)
            parameter.copy_(rows.reshape(parameter.shape))
        if self.gate is not None and first.gate is not None:
            self.gate.fill_(first.gate)

    def _apply(self, fn: Callable[..., Tensor], recurse: bool = True) -> RationalUnit:
        """Move the unit, and keep its coefficients in full precision.

        In half precision the steps of training would be lost in rounding, and the unit computes in
        float32 anyway. One that is built with a dtype of half precision keeps that.
        """

        def moved(tensor: Tensor) -> Tensor:
            result = fn(tensor)
            lowered = result.dtype in _HALF and tensor.dtype not in _HALF
            # From the old numbers: those of the result are rounded already.
            return tensor.to(result.device) if lowered else result

        super()._apply(moved, recurse)
        return self

    def denominator_min(self, x: Tensor) -> Tensor:
        """Return the least denominator of each unit over the data, heads included.

        Args:
            x: data as for `forward`.

        Returns:
            (units,): for every kind but `polynomial` this is at least 1 + eps; there, a number at
            or below 0 says that the unit has crossed a pole.
        """
        with torch.no_grad():
            check.floating(x)
            variables = self._variables(x.to(check.compute_dtype(x, self.denominator)))
            if not variables[0].numel():
                raise ValueError(f"x has no rows to take a minimum of: shape {tuple(x.shape)}")
            heads = self._heads(self.denominator).unsqueeze(-1).to(variables[0].dtype)
            held = self.form.held(variables)
            values = [self.form.denominators(held, rows)[0] for rows in heads]
            return torch.stack([v.expand_as(variables[0]).amin((0, 2)) for v in values]).amin(0)

    def jacobian(
        self,
        x: Tensor,  # (rows, features)
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return the outputs, and their derivatives with respect to the parameters, row by row.

        Output u depends on the coefficients of unit u alone, so one number for each row and
        coefficient is all there is.

        Args:
            x: (rows, features); the units must not be shared among features.

        Returns:
            The outputs (rows, units), and (rows, ...) in its shape for each parameter by name.
        """
        parameters = {name: p for name, p in self.named_parameters(recurse=False)}
        columns, done = {}, 0
        for name, parameter in parameters.items():
            columns[name] = done
            done += parameter.numel()
        dtype = check.compute_dtype(x, self.numerator)
        buffer = F.jacobian_buffer(len(x), 1, done, x.new_empty(0, dtype=dtype))
        value = self.write_jacobian(x, buffer, columns)
        result = {
            name: buffer[0, columns[name] : columns[name] + p.numel(), : len(x)]
            .reshape(*p.shape, len(x))
            .movedim(-1, 0)
            for name, p in parameters.items()
        }
        return value, result

    @torch.no_grad()
    def write_jacobian(
        self,
        x: Tensor,  # (rows, features)
        buffer: Tensor,  # (outputs, columns, room for the rows)
        columns: Mapping[str, int],
        weights: Tensor | None = None,  # (outputs, units)
    ) -> Tensor:
        """Write derivatives along the parameters into a buffer; return the outputs (rows, units).

        Args:
            x: as for `jacobian`.
            buffer: of `functional.jacobian_buffer`, which says how it is laid out.
            columns: for each parameter by name, its first line.
            weights: of the units in each output, or None for a sum.
        """
        rows = x.to(buffer.dtype)
        if x.dim() != 2 or self._variables(rows)[0].shape != (len(x), self.units, 1):
            raise ValueError(
                "jacobian needs x of shape (rows, features) and one unit for each feature, got "
                f"shape {tuple(x.shape)} for {self.units} units"
            )
        top, bottom = (
            self._heads(part.detach()).to(buffer.dtype)
            for part in (self.numerator, self.denominator)
        )
        gate = None if self.gate is None else self.gate.detach().to(buffer.dtype)
        starts = [columns.get(name, 0) for name in ("numerator", "denominator", "gate")]
        pairs = getattr(self, "pairs", None)
        return F.write_jacobian(self.form, rows, top, bottom, gate, pairs, buffer, starts, weights)

    @abc.abstractmethod
    def to_sympy(self, names: Sequence[Any] | None = None) -> list[sympy.Expr]:
        """Return one expression for each output."""

    @abc.abstractmethod
    def _variables(self, x: Tensor) -> list[Tensor]:
        """Return the inputs of the units, each (outer, units, inner)."""

    def _heads(self, rows: Tensor) -> Tensor:
        return rows if rows.dim() == 3 else rows.unsqueeze(0)

    def _expression(self, unit: int, inputs: Sequence[sympy.Expr]) -> sympy.Expr:
        numerator, denominator = (
            self._heads(rows.detach().double().cpu())[..., unit]
            for rows in (self.numerator, self.denominator)
        )
        gate = None if self.gate is None else self.gate[unit].item()
        return expression(self.form, inputs, numerator, denominator, gate)

    def _describe(self, *lead: object) -> str:
        words = [str(word) for word in lead]
        words += [f"denominator={self.kind!r}", f"base={self.base!r}"]
        if self.heads > 1:
            words.append(f"heads={self.heads}")
        if self.gate is None:
            words.append("gate=None")
        if self.eps != self.form.kind.eps:
            words.append(f"eps={self.eps:g}")
        if self.form.constant:
            words.append("constant=True")
        if self.reach is not None:
            words.append(f"reach={self.reach:g}")
        return ", ".join(words)
