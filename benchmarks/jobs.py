"""What is measured: one forward + backward of GELU, of the units here, and of their peers."""

from __future__ import annotations

import contextlib
import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

import torch
from torch import Tensor, nn
from torch.nn import functional

from rational_anova import Rational1d, Rational2d, Topology, kernels
from rational_anova.functional import DENOMINATORS

GELU = "GELU"
GROUPS = 8
# Edges of the layer of pykan: it has a function for each, and their number is that of a wide layer.
KAN_INPUTS, KAN_OUTPUTS = 64, 48
# rational-activations asks for torch 1.7.1, so no extra can name it; it works with that of today.
HOW = {
    "rational-activations": "--no-deps rational-activations==0.2.0",
    "pykan": "'rational-anova[bench]'",
}
NOISE = 0.1  # on the coefficients, so that no polynomial is a constant


@dataclass(frozen=True)
class Job:
    """Forward + backward of a module, on a path of the kernels or the one they choose."""

    module: nn.Module
    x: Tensor
    grad: Tensor
    path: str | None = None

    def __call__(self) -> None:
        """Run once, with all gradients made anew."""
        self.x.grad = None
        for parameter in self.module.parameters():
            parameter.grad = None
        with self.on_path():
            self.module(self.x).backward(self.grad)

    def on_path(self) -> contextlib.AbstractContextManager[object]:
        """Return the context in which the path holds."""
        return kernels.using(self.path) if self.path else contextlib.nullcontext()


Factory = Callable[[], Job]


class Naive(nn.Module):
    """The softplus unit of degrees (3, 2) as one would first write it, left to autograd."""

    def __init__(self, features: int) -> None:
        super().__init__()
        self.numerator = nn.Parameter(NOISE * torch.randn(4, features))
        self.denominator = nn.Parameter(NOISE * torch.randn(2, features))
        self.gate = nn.Parameter(torch.full((features,), 0.1))

    def forward(self, x: Tensor) -> Tensor:
        """Apply each feature's unit."""
        a0, a1, a2, a3 = self.numerator
        b1, b2 = self.denominator
        p = a0 + x * (a1 + x * (a2 + x * a3))
        q = x * (b1 + x * b2)
        d = 1 + functional.softplus(q) + 1e-6
        return x + self.gate * (p / d - x)


def elementwise(rows: int, features: int) -> dict[str, Factory]:
    """Return the jobs on (rows, features), GELU first; the modules are made when asked for."""
    x, grad = inputs(rows, features), torch.randn(rows, features)

    def unit(denominator: str, path: str | None = None, **options: object) -> Job:
        options = {"noise": NOISE, "gate": 0.1, **options}
        return Job(Rational1d(features, denominator=denominator, **options), x, grad, path)

    jobs: dict[str, Factory] = {GELU: lambda: Job(nn.GELU(), x, grad)}
    for kind in DENOMINATORS:
        jobs[f"Rational1d, {kind}"] = partial(unit, kind)
    jobs |= {
        "Rational1d, softplus, torch path": partial(unit, "softplus", "torch"),
        "Rational1d, softplus, base gelu": partial(unit, "softplus", base="gelu"),
        f"Rational1d, softplus, {GROUPS} groups": partial(unit, "softplus", groups=GROUPS),
        "Rational1d, abs, degrees (5, 4)": partial(unit, "abs", degrees=(5, 4)),
        "softplus unit by plain autograd": lambda: Job(Naive(features), x, grad),
    }
    if installed("rational", "rational-activations"):
        jobs["rational_activations, (5, 4), one function"] = lambda: Job(_pade(), x, grad)
    if installed("kan", "pykan"):
        jobs["pykan layer, as many edges"] = partial(_kan_layer, rows * features)
    return jobs


def pairwise(rows: int, features: int, pairs: int) -> dict[str, Factory]:
    """Return the jobs on pairs of features; GELU is applied to (rows, pairs)."""
    x, wide, grad = inputs(rows, features), inputs(rows, pairs), torch.randn(rows, pairs)
    topology = Topology.random(features, pairs)

    def unit(denominator: str, path: str | None = None) -> Job:
        return Job(Rational2d(topology, 2, denominator, noise=NOISE), x, grad, path)

    jobs: dict[str, Factory] = {GELU: lambda: Job(nn.GELU(), wide, grad)}
    for kind in DENOMINATORS:
        jobs[f"Rational2d, {kind}"] = partial(unit, kind)
    jobs["Rational2d, softplus, torch path"] = partial(unit, "softplus", "torch")
    return jobs


def inputs(rows: int, features: int) -> Tensor:
    """Return normal inputs that want a gradient."""
    return torch.randn(rows, features, requires_grad=True)


@cache
def installed(module: str, package: str) -> bool:
    """Say whether a peer is there; if not, print why it is left out."""
    if importlib.util.find_spec(module) is not None:
        return True
    print(f"left out: {package} is not installed (pip install {HOW[package]})")
    return False


def _pade() -> nn.Module:
    from rational.torch import Rational  # its default: degrees (5, 4), shared by all features

    return Rational(cuda=False)


def _kan_layer(activations: int) -> Job:
    """Return a layer of pykan with as many values of functions on edges as GELU has elements.

    It maps 64 inputs to 48 outputs: a layer of one output would pay for the basis of each input
    and use it once.
    """
    from kan.KANLayer import KANLayer

    rows = max(1, activations // (KAN_INPUTS * KAN_OUTPUTS))
    layer = KANLayer(KAN_INPUTS, KAN_OUTPUTS, num=5, k=3)
    return Job(_First(layer), inputs(rows, KAN_INPUTS), torch.randn(rows, KAN_OUTPUTS))


class _First(nn.Module):
    """The first of the results of a module: a layer of pykan returns its inner values too."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, x: Tensor) -> Tensor:
        return self.module(x)[0]
