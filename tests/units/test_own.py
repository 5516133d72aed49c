"""Denominators and bases of a user's: the contract check, networks, certificates, files."""

import numpy as np
import pytest
import sympy
import torch

import rational_anova as ra
from rational_anova.functional import BASES, DENOMINATORS, Base, Denominator
from rational_anova.units import ContractError, check_entry, register, unregister

ROOT = Denominator(
    "root", lambda q: torch.sqrt(1 + q * q) - 1, lambda q: q / torch.sqrt(1 + q * q),
    lambda q: sympy.sqrt(1 + q**2) - 1, start=1.0,
)  # fmt: skip
SINE = Base("sine", torch.sin, torch.cos, lambda z: sympy.sin(z))


@pytest.fixture
def own():
    register(ROOT)
    register(SINE)
    yield
    unregister("root")
    unregister("sine")


@pytest.mark.parametrize("entry", [*DENOMINATORS.values(), *BASES.values(), ROOT, SINE],
                         ids=lambda entry: entry.name)  # fmt: skip
def test_what_is_good_passes(entry):
    assert "gradients" in check_entry(entry)
    assert "root" not in DENOMINATORS
    assert "sine" not in BASES


def root(**changes):
    given = {"value": ROOT.value, "slope": ROOT.slope, "expression": ROOT.expression, "start": 1.0}
    return Denominator(changes.pop("name", "root"), **{**given, **changes})


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (root(name="softplus"), "built in"),
        (root(name="a name"), "letters"),
        (root(slope=lambda q: q), "slope at"),
        (root(value=lambda q: q.double()), "of torch.float32"),
        (root(value=lambda q: q.sum()), "shape"),
        (root(value=torch.log), "value at"),
        (root(expression=lambda q: sympy.sqrt(1 + q**2)), "its expression says"),
        (root(expression=lambda q: q * sympy.Symbol("a")), "symbols of its own"),
        (root(minimum=1.5), "falls to"),
    ],
)
def test_what_is_not_is_named(entry, words):
    with pytest.raises(ContractError, match=words):
        check_entry(entry)


def test_something_else_is_refused():
    with pytest.raises(TypeError, match="Base or a Denominator"):
        check_entry("root")
    with pytest.raises(ValueError, match="built in"):
        unregister("gelu")


NETWORKS = {
    "Rational1d": lambda **o: ra.Rational1d(3, **o),
    "RAN": lambda **o: ra.RAN(3, 2, **o),
    "DeepRAN": lambda **o: ra.DeepRAN(3, 2, width=4, **o),
    "RANFFN": lambda **o: ra.RANFFN(3, 6, 2, **o),
}


@pytest.mark.parametrize("name", list(NETWORKS))
def test_networks_learn_and_are_certified(own, name, tmp_path):
    torch.manual_seed(0)
    options = {"denominator": "root", "noise": 0.2}
    net = NETWORKS[name](**options, **({} if name == "RAN" else {"base": "sine"})).double()
    x = (2 * torch.rand(1000, 3, dtype=torch.float64) - 1).requires_grad_()
    net(x).sum().backward()
    assert all(p.grad is not None and torch.isfinite(p.grad).all() for p in net.parameters())
    found = ra.certify(net, [(-1, 1)] * 3, pieces=2)
    y = net(x).detach().numpy()
    for (low, high), column in zip(found.range, y.T, strict=True):
        assert low - 1e-9 <= column.min()
        assert column.max() <= high + 1e-9
    assert found.sampled <= found.lipschitz
    assert 0 < found.denominator_min <= 1.5
    if name != "Rational1d":
        ra.save(net, tmp_path / "net.safetensors")
        assert torch.equal(ra.load(tmp_path / "net.safetensors").double()(x), net(x))


def test_a_minimum_is_not_taken_for_a_proof():
    lying = root(name="lying", value=lambda q: q, slope=torch.ones_like, expression=lambda q: q)
    register(lying)
    try:
        unit = ra.Rational1d(1, (1, 1), "lying", gate=None)
        with torch.no_grad():
            unit.denominator.fill_(1.0)
        assert ra.certify(unit, [(-2, 2)]).lipschitz == np.inf
        assert ra.certify(unit, [(1, 2)]).lipschitz < np.inf
        with pytest.raises(ValueError, match="give a box"):
            ra.certify(unit)
    finally:
        unregister("lying")


def test_a_formula_without_bounds_is_refused_with_its_name():
    bessel = Base("bessel", torch.special.bessel_j0, lambda z: -torch.special.bessel_j1(z),
                  lambda z: sympy.besselj(0, z))  # fmt: skip
    register(bessel)
    try:
        with pytest.raises(ValueError, match=r"base 'bessel'.*besselj"):
            ra.certify(ra.Rational1d(1, base="bessel"), [(-1, 1)])
    finally:
        unregister("bessel")
