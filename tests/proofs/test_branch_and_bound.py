"""Cutting boxes: nothing is lost, budgets are kept, what is open at the end is told."""

import numpy as np
import pytest

from rational_anova.proofs import Budget, Cells, branch


def everything_open(cells):
    return np.ones(len(cells), dtype=bool), None, None


def volume(cells):
    return (cells.high - cells.low).prod(1).sum()


def test_halves_fill_the_box():
    cells = Cells.of(np.array([[0.0, -1.0], [2.0, 0.0]]), np.array([[1.0, 3.0], [4.0, 0.5]]))
    left = branch(cells, everything_open, Budget(100, 2), rounds=4)
    assert volume(left) == pytest.approx(volume(cells))
    assert np.bincount(left.problem).tolist() == [16, 16]
    sides = left.high - left.low  # sides are cut in turn
    assert sides[left.problem == 0].tolist() == [[0.25, 1.0]] * 16


@pytest.mark.parametrize(("beyond", "looked"), [(False, 7), (True, 15)])
def test_a_budget_is_kept(beyond, looked):
    budget = Budget(8, beyond=beyond)
    left = branch(Cells.of(np.zeros((1, 1)), np.ones((1, 1))), everything_open, budget, 50)
    assert budget.looked.tolist() == [looked]
    assert volume(left) == 1


def test_cells_that_are_too_thin_are_left_open():
    low = np.array([[1.0, 0.0]])
    high = np.array([[np.nextafter(1.0, 2), 0.0]])
    left = branch(Cells.of(low, high), everything_open, Budget(100), rounds=10)
    assert len(left) == 1


def test_halves_carry_what_their_cell_does():
    def look(cells):
        return np.ones(len(cells), dtype=bool), None, cells.carried + 1

    cells = Cells(np.zeros(1, dtype=int), np.zeros((1, 1)), np.ones((1, 1)), np.zeros((1, 1)))
    assert branch(cells, look, Budget(100), rounds=3).carried.tolist() == [[3.0]] * 8


def test_grids_and_corners():
    low, high = np.zeros((1, 2)), np.array([[3.0, 6.0]])
    grid = Cells.grid(low, high, 3)
    assert len(grid) == 9
    assert volume(grid) == 18
    corners = Cells.corners(low, high)
    assert sorted(map(tuple, corners.low.tolist())) == [(0, 0), (0, 6), (3, 0), (3, 6)]
    assert len(Cells.corners(np.zeros((1, 9)), np.ones((1, 9)))) == 2
    assert len(Cells.corners(np.zeros((1, 0)), np.ones((1, 0)))) == 1
