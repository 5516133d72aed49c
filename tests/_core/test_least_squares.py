"""Linear least squares end, whatever LAPACK's first choice does."""

import numpy as np
import pytest

from rational_anova._core.least_squares import lstsq

RNG = np.random.default_rng(0)
MATRIX = RNG.normal(size=(20, 5))
RIGHT = RNG.normal(size=20)


def test_the_solution_is_that_of_numpy():
    assert (lstsq(MATRIX, RIGHT) == np.linalg.lstsq(MATRIX, RIGHT, rcond=None)[0]).all()


@pytest.mark.parametrize("rcond", [None, 1e-8])
def test_where_divide_and_conquer_does_not_converge_another_way_does(monkeypatch, rcond):
    singular = np.c_[MATRIX, MATRIX[:, 0] * (1 + 1e-15)]
    wanted = np.linalg.lstsq(singular, RIGHT, rcond=rcond)[0]

    def fails(*_, **__):
        raise np.linalg.LinAlgError("SVD did not converge in Linear Least Squares")

    monkeypatch.setattr(np.linalg, "lstsq", fails)
    assert lstsq(singular, RIGHT, rcond) == pytest.approx(wanted, abs=1e-12)
