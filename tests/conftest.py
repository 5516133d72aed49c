"""Shared helpers: one list of all units under contract, and a way to give them odd coefficients."""

from collections import Counter

import pytest
import torch
from hypothesis import settings

from rational_anova import Rational1d, Rational2d
from rational_anova.functional import BASES, DENOMINATORS
from rational_anova.kernels._build import Unavailable, find_compiler

settings.register_profile("default", deadline=None, derandomize=True, max_examples=50)
settings.load_profile("default")

torch.set_num_threads(1)  # the tensors here are too small to share among threads


def pytest_collection_modifyitems(items):
    """Put modules with slow tests first: at the end no worker waits for another's long module.

    Holds with `--no-loadscope-reorder`; by itself xdist puts those with many tests first.
    """
    slow = Counter(item.path for item in items if item.get_closest_marker("slow"))
    items.sort(key=lambda item: -slow[item.path])


pytest.register_assert_rewrite("tests.kernels.cases")

FEATURES = 3
PAIRS = [(0, 1), (0, 2)]
# "softplus+1" is softplus of a polynomial with a constant term.
WITH_CONSTANT = [f"{kind.name}+1" for kind in DENOMINATORS.values() if not kind.refuses_constant]
KINDS = [*DENOMINATORS, *WITH_CONSTANT]
CASES = [
    pytest.param(kind, base, variables, id=f"{variables}d-{kind}-{base}")
    for variables in (1, 2)
    for kind in KINDS
    for base in (BASES if kind in DENOMINATORS else ("identity", "gelu"))
]
# r = b + g (p/d - b) is a sum of a part with the base alone, (1 - g) b, and a part with the
# denominator alone, g p/d; so are all its derivatives. A fault of one part shows next to any other,
# so what is dear (gradcheck, mpmath, torch.compile) takes every denominator with one base and every
# base with one denominator, both with all derivatives different from zero. What is cheap takes all.
ADDITIVE = [case for case in CASES if case.values[0] == "softplus" or case.values[1] == "gelu"]


def kind_and_constant(name):
    """Split "softplus+1" into the denominator and whether q has a constant."""
    kind, _, constant = name.partition("+")
    return kind, bool(constant)


def make(kind, base, variables, degrees=None, **options):
    """Build the unit of a case: (3, 2) in one variable, degree 2 in two."""
    kind, constant = kind_and_constant(kind)
    options = {"constant": constant, **options}
    if variables == 1:
        return Rational1d(FEATURES, degrees or (3, 2), kind, base, **options)
    return Rational2d(PAIRS, degrees or (2, 2), kind, base, **options)


def scramble(unit, seed=0, scale=0.5):
    """Give every coefficient a random value, so that no term of the formula hides at zero.

    The denominator of `polynomial` stays near 1 on inputs of order one.
    """
    generator = torch.Generator().manual_seed(seed)
    bottom = 0.02 if unit.kind == "polynomial" else scale
    with torch.no_grad():
        for parameter, size in ((unit.numerator, scale), (unit.denominator, bottom)):
            noise = torch.randn(parameter.shape, generator=generator, dtype=torch.float64)
            parameter.copy_(size * noise)
        if unit.gate is not None:
            unit.gate.copy_(torch.rand(unit.gate.shape, generator=generator, dtype=torch.float64))
    return unit


def _no_compiler():
    try:
        find_compiler()
    except Unavailable as error:
        return str(error)
    return ""


# Where there is a compiler these tests run, and fail if it cannot build the kernels.
needs_compiler = pytest.mark.skipif(
    bool(_no_compiler()), reason=f"no C kernels to test: {_no_compiler()}"
)
