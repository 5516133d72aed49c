"""`RAN`: the shallow network, a sum of main effects and pair effects."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn

from .. import functional as F
from .._core import checks as check
from .._core.saveable import remembered, saveable
from ..anova import MODES, Effects, plot
from ..tables import input_names, read_tensor
from ..topology import Topology
from ..units import Rational1d, Rational2d, number, symbols
from ._effects import (
    WIDEST,
    anova_of,
    data_of,
    effects_of,
    output_positions,
    purified,
    quantiles,
)
from ._snapping import Snaps, auto_rational

if TYPE_CHECKING:
    import sympy
    from matplotlib.figure import Figure

READOUTS = ("auto", "sum", "linear")


def as_topology(value: Topology | str | int | None, features: int) -> Topology:
    """Return a topology on `features` inputs; a size or a rule means random pairs (seed 0)."""
    if isinstance(value, (list, tuple)):
        raise TypeError(f"topology is a list, {value!r}; of pairs make it with Topology.of(pairs)")
    if not isinstance(value, Topology):
        return Topology.random(features, "d" if value is None else value)
    if value.features != features:
        raise ValueError(
            f"topology is on {value.features} features, the network has {features}; "
            f"build it with Topology.random({features}, ...) or the like"
        )
    return value


def _copy_units(source: nn.Module, target: nn.Module, kept: list[tuple[int, int]]) -> None:
    into, out_of = (list(each) for each in zip(*kept, strict=True))
    for name, parameter in target.named_parameters():
        parameter[..., into] = getattr(source, name)[..., out_of]


@saveable
class RAN(nn.Module):
    r"""A Rational ANOVA Network (paper Eq. 2 and 3).

    f(x) = sum_i r_i(x_i) + sum over (i, j) in S of r_ij(x_i, x_j), or W phi(x) + b with phi the
    vector of all r_i and r_ij. Without the head it has d (m + n + 2) + |S| (T + S + 1) parameters,
    with T = 6 and S = 5 monomials in the pairs of degree 2.

    Args:
        in_features: number d of inputs.
        out_features: number of outputs; more than one needs the linear read-out.
        topology: a `Topology`; or a size or rule (`"0.5d"`, `"d log d"`, `"all"`, `"none"`, 12)
            for random pairs. None is the paper's default, random pairs, as many as inputs.
        degrees: degrees of numerator and denominator of the main effects.
        pair_degree: total degree of the pairs, or (numerator, denominator).
        heads: number of quotients in each term.
        denominator: as in `Rational1d`.
        base: base of the main effects.
        pair_base: base of the pairs; `zero` makes a dropped pair exactly zero.
        gate: start of the gates, as in `Rational1d`; None for terms without gates.
        readout: `sum` (Eq. 2), `linear` (Eq. 3), or `auto`: `sum` for one output.
        eps: added to the denominators; None means the default of the denominator.
        constant: whether the polynomials in the denominators have constant terms, as in
            `Rational1d`.
        init: `base`, or `paper` for the paper's start; see `Rational1d`.
        noise: standard deviation of noise on the coefficients at the start.
        observed: what is known of the data, as `observe` notes it; files have it.
        device: of the parameters.
        dtype: of the parameters.

    Shape: (..., in_features) to (..., out_features).

    Example:
        >>> net = RAN(3, topology=Topology.of([(0, 2)], features=3), degrees=(2, 2))
        >>> sum(p.numel() for p in net.parameters()) == 3 * (2 + 2 + 2) + 1 * (6 + 5 + 1)
        True
        >>> net(torch.zeros(4, 3)).shape
        torch.Size([4, 1])
    """

    _mains: Tensor | None

    def __init__(
        self,
        in_features: int,
        out_features: int = 1,
        topology: Topology | str | int | None = None,
        degrees: tuple[int, int] = (2, 2),
        *,
        pair_degree: int | tuple[int, int] = 2,
        heads: int = 1,
        denominator: str = "softplus",
        base: str = "identity",
        pair_base: str = "zero",
        gate: float | str | None = "auto",
        readout: str = "auto",
        eps: float | None = None,
        constant: bool = False,
        init: str = "base",
        noise: float = 0.0,
        observed: Mapping[str, Any] | None = None,
        device: torch.device | str | None = None,
        dtype: torch.dtype | None = None,
    ) -> None:
        super().__init__()
        self.observed = observed
        self.in_features = check.integer(in_features, "in_features", 1)
        self.out_features = check.integer(out_features, "out_features", 1)
        self.topology = as_topology(topology, self.in_features)
        check.choice(readout, READOUTS, "readout")
        linear = readout == "linear" or (readout == "auto" and self.out_features > 1)
        if not linear and self.out_features > 1:
            raise ValueError(
                f"readout='sum' adds all terms up to one output, got out_features={out_features}; "
                "use readout='linear'"
            )
        terms = self.topology.num_mains + self.topology.num_pairs
        if not terms:
            raise ValueError("the topology has neither main terms nor pairs: nothing to learn")
        shared: dict[str, Any] = {
            "heads": heads,
            "gate": gate,
            "eps": eps,
            "constant": constant,
            "init": check.choice(init, ("base", "paper"), "init"),
            "noise": noise,
            "device": device,
            "dtype": dtype,
        }
        self.main: Rational1d | None = None
        if self.topology.num_mains:
            self.main = Rational1d(self.topology.num_mains, degrees, denominator, base, **shared)
        self.pair: Rational2d | None = None
        if self.topology.num_pairs:
            self.pair = Rational2d(self.topology, pair_degree, denominator, pair_base, **shared)
        self.head = (
            nn.Linear(terms, self.out_features, device=device, dtype=dtype) if linear else None
        )
        every = self.topology.num_mains == self.in_features
        # A dtype, since an empty list would otherwise become one of floats.
        mains = torch.tensor(self.topology.mains, dtype=torch.long, device=device)
        self.register_buffer("_mains", None if every else mains, persistent=False)

    def reset_parameters(self) -> None:
        """Set what belongs to no other module anew, after `to_empty`."""
        if self._mains is not None:
            self._mains.copy_(torch.tensor(self.topology.mains, dtype=torch.long))

    def features(self, x: Tensor) -> Tensor:
        """Return phi(x): all main effects, then all pairs, on the last axis (Eq. 3)."""
        check.features(check.floating(x), self.in_features)
        parts = []
        if self.main is not None:
            parts.append(self.main(x if self._mains is None else x.index_select(-1, self._mains)))
        if self.pair is not None:
            parts.append(self.pair(x))
        return parts[0] if len(parts) == 1 else torch.cat(parts, -1)

    def forward(self, x: Tensor) -> Tensor:
        """Return f(x)."""
        phi = self.features(x)
        return phi.sum(-1, keepdim=True) if self.head is None else self.head(phi)

    @torch.no_grad()
    def rewire(self, topology: Topology) -> RAN:
        """Change the terms in place: those that stay keep their coefficients, new ones start.

        Terms that go are lost. An optimiser made before does not know the new parameters.

        Args:
            topology: the terms to have from now on.

        Example:
            >>> net = RAN(3, topology="all").rewire(Topology.of([(0, 2)], features=3))
            >>> net.pair.numerator.shape, net(torch.zeros(4, 3)).shape
            (torch.Size([6, 1]), torch.Size([4, 1]))
        """
        like = next(self.parameters())
        fresh = RAN(
            **{
                **remembered(self),
                "topology": as_topology(topology, self.in_features),
                "device": like.device,
                "dtype": like.dtype,
            }
        )
        flags = {name: parameter.requires_grad for name, parameter in self.named_parameters()}
        for name, parameter in fresh.train(self.training).named_parameters():
            parameter.requires_grad_(flags.get(name, True))
        old, new = self.topology, fresh.topology
        columns = []
        for name, before, after in (("main", old.mains, new.mains), ("pair", old.pairs, new.pairs)):
            place = {term: n for n, term in enumerate(before)}
            kept = [(n, place[term]) for n, term in enumerate(after) if term in place]
            if kept:
                _copy_units(getattr(self, name), getattr(fresh, name), kept)
            shift = (new.num_mains, old.num_mains) if name == "pair" else (0, 0)
            columns += [(n + shift[0], m + shift[1]) for n, m in kept]
        if self.head is not None and fresh.head is not None:
            fresh.head.bias.copy_(self.head.bias)
            for n, m in columns:
                fresh.head.weight[:, n] = self.head.weight[:, m]
        # As the constructor leaves them: in the same order, and None outside of the modules.
        for name in ("main", "pair", "head"):
            vars(self).pop(name, None)
        self._modules.clear()
        self._modules.update(fresh._modules)
        vars(self).update({k: vars(fresh)[k] for k in ("main", "pair", "head") if k in vars(fresh)})
        self.topology, self._mains = fresh.topology, fresh._mains
        remembered(self)["topology"] = new
        return self

    def jacobian(
        self,
        x: Tensor,  # (rows, in_features)
    ) -> tuple[Tensor, dict[str, Tensor]]:
        """Return f(x), and its derivatives with respect to all parameters, by hand.

        Args:
            x: (rows, in_features).

        Returns:
            f(x) of shape (rows, outputs), and (rows, outputs, ...) for each parameter by name.

        Example:
            >>> value, rows = RAN(3, topology="all").jacobian(torch.zeros(7, 3))
            >>> rows["pair.numerator"].shape  # six monomials, three pairs
            torch.Size([7, 1, 6, 3])
        """
        value, matrix = self.jacobian_matrix(x)
        result, done = {}, 0
        for name, p in self.named_parameters():
            part = matrix[..., done : done + p.numel()]
            result[name] = part.unflatten(-1, p.shape)
            done += p.numel()
        return value, result

    @torch.no_grad()
    def jacobian_matrix(
        self,
        x: Tensor,  # (rows, in_features)
    ) -> tuple[Tensor, Tensor]:
        """Return f(x) and its derivatives as `jacobian` does, side by side: (rows, outputs, size).

        The last axis has the parameters in the order of `parameters()`, flattened. The matrix is a
        view whose rows lie next to each other: products over rows, as in J^T J, need no copy.
        """
        check.features(check.floating(x), self.in_features)
        places, done = {}, 0
        for name, p in self.named_parameters():
            places[name] = done
            done += p.numel()
        dtype = check.compute_dtype(x, *self.parameters())
        buffer = F.jacobian_buffer(len(x), self.out_features, done, x.new_empty(0, dtype=dtype))
        chosen = x if self._mains is None else x.index_select(-1, self._mains)
        values, terms = [], 0
        for name, unit, inputs in (("main", self.main, chosen), ("pair", self.pair, x)):
            if unit is None:
                continue
            columns = {key: places[f"{name}.{key}"] for key, _ in unit.named_parameters()}
            weights = self._head_weights(slice(terms, terms + unit.units), dtype)
            values.append(unit.write_jacobian(inputs, buffer, columns, weights))
            terms += unit.units
        matrix = buffer[..., : len(x)].permute(2, 0, 1)
        phi = torch.cat(values, -1)
        if self.head is None:
            return phi.sum(-1, keepdim=True), matrix
        matrix[..., places["head.weight"] :] = 0
        for output in range(self.out_features):  # an output has its own row of weights, and bias
            start = places["head.weight"] + output * terms
            matrix[:, output, start : start + terms] = phi
            matrix[:, output, places["head.bias"] + output] = 1
        weight, bias = self.head.weight.to(dtype), self.head.bias.to(dtype)
        return torch.nn.functional.linear(phi, weight, bias), matrix

    def _head_weights(self, terms: slice, dtype: torch.dtype) -> Tensor | None:
        return None if self.head is None else self.head.weight.detach()[:, terms].to(dtype)

    def to_sympy(self, names: Sequence[Any] | None = None) -> list[sympy.Expr]:
        """Return the formula of each output, exactly as the network computes it.

        Args:
            names: names or symbols of the inputs; x0, x1, ... by default.
        """
        import sympy

        inputs = symbols(names, self.in_features)
        terms: list[sympy.Expr] = []
        if self.main is not None:
            terms += self.main.to_sympy([inputs[n] for n in self.topology.mains])
        if self.pair is not None:
            terms += self.pair.to_sympy(inputs)
        if self.head is None:
            return [sympy.Add(*terms)]
        rows = zip(self.head.weight.tolist(), self.head.bias.tolist(), strict=True)
        return [
            sympy.Add(number(bias), *(number(w) * t for w, t in zip(row, terms, strict=True)))
            for row, bias in rows
        ]

    def fit(self, data: Any, opt: str = "auto", **options: Any) -> Any:
        """Train the network in place: `rational_anova.fit` as a method, by the paper's name.

        Args:
            data: as in `rational_anova.fit`: (X, y), a dictionary with `train_input` and
                `train_label`, a Dataset, ...
            opt: the optimiser: `Adam`, `AdamW`, `LBFGS`, `LM` or `auto`, in any case.
            options: further arguments of `rational_anova.fit`; `penalty` drops terms on the way.

        Returns:
            The record, a `History`.
        """
        # Training is built on networks, not the other way round: it is looked up when called.
        training = importlib.import_module("rational_anova.training")
        if "optimizer" in options:
            raise TypeError(f"the optimiser is called opt here: opt={options['optimizer']!r}")
        return training.fit(self, data, optimizer=str(opt).lower(), **options)

    def observe(self, X: Any, names: Any = None) -> RAN:
        """Store quantiles of the data, in place, for effects and plots; `fit` does this.

        Quantiles of each input and the names are kept, and written to files by `save`. A network
        of more than 1,000 inputs keeps none.

        Args:
            X: (rows, in_features), array, tensor or table.
            names: of the inputs; those of a table by default.
        """
        if self.in_features <= WIDEST:
            given = input_names(names, X)
            self.observed = {
                "quantiles": quantiles(read_tensor(X, self.in_features).numpy()).tolist(),
                "names": None if given is None else [str(name) for name in given],
            }
            remembered(self)["observed"] = self.observed
        return self

    def auto_rational(
        self,
        X: Any = None,
        y: Any = None,
        *,
        precision: float = 1e-5,
        constants: Sequence[str] = (),
    ) -> Snaps:
        """Set coefficients to exact numbers, in place, where the data do not contradict it.

        With data a coefficient is snapped only if, the others that are still free following, the
        sum of squares grows by no more than 4 s^2 (two standard errors; s^2 is the variance of the
        residuals), all snaps together by no more than chance allows (95 %), and no prediction on X
        moves by more than `precision` times the spread of y. Coefficients of which the data say
        nothing are set to zero or to a round number. With X alone only predictions count. Without
        data each coefficient moves by at most `precision` of its own size, or to zero if it is
        smaller than that share of the largest beside it; what this does to predictions is not
        looked at.

        Args:
            X: (rows, in_features), array, tensor or table.
            y: the targets X was fitted to by least squares, (rows,) or (rows, out_features).
            precision: see above.
            constants: names of constants whose multiples are numbers too: "pi", "e", "sqrt2", ...

        Returns:
            `snapped`, `refused` with reasons, `moved`; print it.

        Example:
            >>> net = RAN(1, topology="none", degrees=(1, 1), denominator="polynomial", gate=None)
            >>> with torch.no_grad():
            ...     _ = net.main.numerator.copy_(torch.tensor([[0.3333333], [2.0000001]]))
            >>> net.auto_rational()
            Snaps(3 exact, 0 left as floats)
              r(x0) numerator 1: 0.3333333135 -> 1/3
              r(x0) numerator x0: 2 -> 2
        """
        return auto_rational(self, X, y, precision, constants)

    def symbolic_formula(
        self, X: Any = None, simplify: bool = True, names: Any = None
    ) -> sympy.Expr | list[sympy.Expr]:
        """Return the network as a formula that was checked against it.

        Numbers that `auto_rational` made exact are exact here, unless they were changed since.
        Formula and network (in float64, with these numbers) agree to 1e-10 of the largest value on
        X, without X on random points in [-2, 2]^d; else this is an error.

        Args:
            X: (rows, in_features), where to compare; a table of pandas brings its names along.
            simplify: cancel and collect, with bounded effort. A form that loses precision is not
                taken.
            names: of the inputs: texts, symbols, or `symbols.Names`; by default those of the
                data, or x0, x1, ...

        Returns:
            The expression; a list of them for several outputs.

        Example:
            >>> net = RAN(1, topology="none", degrees=(1, 2), denominator="polynomial", gate=None)
            >>> with torch.no_grad():
            ...     _ = net.main.denominator.copy_(torch.tensor([[0.0], [0.5]]))
            >>> _ = net.auto_rational()
            >>> net.symbolic_formula(names=["t"])
            2*t/(t**2 + 2)
        """
        from ._symbolic import symbolic_formula

        return symbolic_formula(self, X, simplify, names)

    def effects(self, X: Any = None, names: Any = None) -> Effects:
        """Return the purified effects by name (`x0`, `x0 x x1`), the largest share first.

        The part of a pair that depends on one of its inputs alone is moved to its main effect;
        all effects have mean zero. The share of an effect f_u is Cov(f_u, f)/Var(f) with inputs
        that are independent, each as in the data; shares add up to one. `rational_anova.anova`
        has the definitions, and `effects_` of the estimators has the same records.

        Args:
            X: (rows, in_features), rows that say where the inputs lie; None for those of the fit.
            names: of the inputs; by default those of the data, or x0, x1, ...

        Example:
            >>> net = RAN(2, topology="all", denominator="sos")
            >>> [round(e.share, 3) for e in net.effects(torch.rand(50, 2)).values()][-1]
            0.0
        """
        data = data_of(self, X, names)
        return effects_of(self, data, purified(self, data.middles))

    def plot_anova(
        self,
        X: Any = None,
        mode: str = "main",
        effects: Sequence[str] | str | None = None,
        top: int | None = None,
        output: int | None = None,
        names: Any = None,
    ) -> Figure:
        """Draw the effects of the inputs; see `effects` for what they and their shares are.

        The estimators' `plot_anova` has the same arguments and modes.

        Args:
            X: (rows, in_features), rows that say where the inputs lie; None for those of the fit.
                For `local`, one row.
            mode: `main`: a curve for each input, the data along the bottom. `interaction`: pairs
                as heat maps; with X pale where there are no rows. `importance`: shares of the
                variance as bars. `heatmap`: the same as a matrix of the inputs. `local`: what adds
                up to f at one row. `poles`: complex poles of the units around the data.
            effects: those to draw, by name; None for those of the largest shares.
            top: how many at most; None for what fits: 9, 6, 20, 12 inputs, 12, 6 inputs.
            output: which output, if there are several. None: main effects are drawn for all of
                them, a pair for the one that it matters most to, shares for all together; `local`
                takes the largest.
            names: of the inputs; by default those of the data, or x0, x1, ...

        Returns:
            A figure of matplotlib; `figure.savefig("effects.png")` writes it.
        """
        outputs = output_positions(self, output)
        check.choice(mode, MODES, "mode")
        return plot(anova_of(self, X, mode, names), mode, effects, top, outputs)

    def extra_repr(self) -> str:
        """Describe the topology."""
        return f"{self.in_features}, {self.out_features}, {self.topology}"
