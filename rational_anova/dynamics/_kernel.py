"""`Kernel`: the empirical neural tangent kernel, whole and by the terms it is made of."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

import torch
from torch import Tensor

Term = TypeVar("Term", int, tuple[int, int])


class Parts(Mapping[Term, Tensor]):
    """Kernels of terms by name, each (rows_o, rows_u, C, C), made when asked for.

    A unit k with the weights w_k in the outputs has w_k w_k^T <grad r_k(x_o), grad r_k(x_u)>: one
    number for a pair of points is kept, not one for each pair of outputs, too.

    Args:
        terms: the names.
        inner: (terms, rows_o, rows_u), products of the units' gradients; or whole kernels.
        weights: (C, terms), weights in the outputs; None if `inner` has whole kernels.
    """

    def __init__(self, terms: list[Term], inner: Tensor, weights: Tensor | None = None) -> None:
        self.terms: dict[Term, int] = {term: n for n, term in enumerate(terms)}
        self.inner = inner
        self.weights = weights

    def __getitem__(self, term: Term) -> Tensor:
        if term not in self.terms:
            known = ", ".join(map(str, list(self.terms)[:8])) or "none"
            raise KeyError(f"the kernel has no part {term!r}; it has {known}")
        n = self.terms[term]
        if self.weights is None:
            return self.inner[n]
        outer = torch.outer(self.weights[:, n], self.weights[:, n])
        return self.inner[n, :, :, None, None] * outer

    def __iter__(self) -> Iterator[Term]:
        return iter(self.terms)

    def __len__(self) -> int:
        return len(self.terms)

    def sum(self) -> Tensor:
        """Return all parts added up."""
        if self.weights is None:
            return self.inner.sum(0)
        # One output after the other: all at once would need terms x points x outputs numbers.
        flat = self.inner.flatten(1)
        rows = [(row * self.weights) @ flat for row in self.weights]
        return torch.stack(rows).unflatten(-1, self.inner.shape[1:]).permute(2, 3, 0, 1)

    def sizes(self) -> Tensor:
        """Return the Frobenius norm of each part, (terms,)."""
        norms = self.inner.flatten(1).norm(dim=1)
        return norms if self.weights is None else norms * self.weights.square().sum(0)


def no_parts(like: Tensor) -> Parts[Any]:
    """Return parts without terms."""
    return Parts([], like.new_zeros(0, *like.shape))


@dataclass(frozen=True)
class Kernel:
    """The kernel K(x_o, x_u) = J(x_o) J(x_u)^T, J the derivatives of the outputs by the weights.

    `total` = `head` + the sum of `main` + the sum of `pair`, exactly, for a `RAN` (paper Eq. 15
    and 17). Other models have no such split: `head` is None, and there are no other parts.

    Attributes:
        total: (rows_o, rows_u, C, C), the first C at x_o.
        head: part of the linear read-out, zero if the terms are summed.
        main: parts of the main effects by input.
        pair: parts of the pairs by (i, j).
    """

    total: Tensor
    head: Tensor | None = None
    main: Parts[int] = field(default_factory=lambda: no_parts(torch.zeros(0)))
    pair: Parts[tuple[int, int]] = field(default_factory=lambda: no_parts(torch.zeros(0)))

    @property
    def split(self) -> bool:
        """Whether the parts are known."""
        return self.head is not None

    def norm(self) -> Tensor:
        """Return the Frobenius norm over the outputs, (rows_o, rows_u)."""
        return self.total.flatten(2).norm(dim=2)

    def shares(self) -> dict[str, float]:
        """Return the norm of each part over the norm of the total; `head`, `x0`, `x0 x2`, ...

        Norms do not add up as the parts do: the shares may add up to more than one.
        """
        if self.head is None:
            raise ValueError(
                "this kernel was not split, so its parts are not known; "
                "use ntk(model, ...) with split=True on a RAN"
            )
        whole = float(self.total.norm()) or 1.0
        found = {"head": float(self.head.norm()) / whole}
        for term, size in zip(self.main, self.main.sizes().tolist(), strict=True):
            found[f"x{term}"] = size / whole
        for (i, j), size in zip(self.pair, self.pair.sizes().tolist(), strict=True):
            found[f"x{i} x{j}"] = size / whole
        return found
