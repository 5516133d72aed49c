"""The judge of equations of motion: true terms count, superfluous ones count against."""

import pytest
import sympy as sp

from experiments.motion.systems import same_structure

x, y = sp.symbols("x_0 x_1")


@pytest.mark.parametrize(
    ("found", "truth", "right"),
    [
        (1.1 * x - 0.4 * x**2, x * (1 - x / 3), True),
        (1.1 * x - 0.4 * x**2 + 1e-3, x * (1 - x / 3), False),
        (2.0 * x / (x + 0.3), x / (x + 1.0), True),
        (2.0 * x / (x**2 + 0.3), x / (x + 1.0), False),
        (sp.sin(x) * (1 + 3.2 * sp.sin(y) ** 2), sp.sin(x) * (sp.cos(y) ** 2 + 4.2 * sp.sin(y) ** 2), True),
        (sp.cos(x) / sp.tan(y), sp.cos(x) * sp.cot(y), False),
        (0.9 * sp.cos(x) * sp.cot(y), sp.cos(x) * sp.cot(y), True),
    ],
)  # fmt: skip
def test_structure(found, truth, right):
    assert same_structure([found], [truth]) is right
