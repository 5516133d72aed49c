"""The laws of the experiments can be computed, the split is by hash alone, and the judge is just."""

import itertools
import os
import time

import numpy as np
import pytest
import sympy as sp

from experiments import table as tables
from experiments.discovery import (
    calling,
    coverage,
    extrapolation,
    irrelevant,
    laws,
    nothing,
    structure,
)
from experiments.discovery.harder import SPLITS, harder, split_of
from experiments.discovery.judge import judge, noisy_table
from experiments.discovery.real import fitted_textbook
from experiments.discovery.real_tables import made_up
from rational_anova.discovery.law._law import Entry, Evidence, Law, Parameter
from rational_anova.symbols import Names

HARDER = [problem for split in SPLITS for problem in harder(split)]
PAPER = [*laws.paper_three(), *laws.paper_three(columns=True)]
ENZYME = laws.paper_three()[1]
needs_data = pytest.mark.skipif("RAN_DATA" not in os.environ, reason="needs RAN_DATA")


# Laws that are held out are not named, so that a run of the tests shows nobody what they are.
@pytest.mark.parametrize(
    "problem",
    [*HARDER, *PAPER],
    ids=lambda problem: "held" if split_of(problem.name) == "held" else problem.name,
)
def test_a_law_can_be_computed_all_over_its_box(problem):
    X = np.random.default_rng(0).uniform(*np.array(problem.box).T, (300, len(problem.names)))
    y = problem(X)
    assert np.isfinite(y).all()
    assert 1e-4 < y.std() < 1e5
    assert {str(symbol) for symbol in problem.formula.free_symbols} == set(problem.names)


def test_the_halves_are_decided_by_the_names():
    assert len({problem.name for problem in HARDER}) == len(HARDER) >= 180
    for split in SPLITS:
        assert len(harder(split)) >= 90
        assert {split_of(problem.name) for problem in harder(split)} == {split}
    with pytest.raises(ValueError, match="'all'"):
        harder("all")


def _values(problem):
    """Values at the permutations of two points: the same for laws that differ in names only."""
    size = len(problem.names)
    points = np.array([[1.13, 1.87, 2.41, 2.93], [1.31, 1.52, 2.17, 3.03]])[:, :size]
    return [np.sort(problem(np.array(list(itertools.permutations(p))))) for p in points]


@needs_data
def test_no_harder_law_is_one_of_the_sixty_under_other_names():
    known = [problem for problem in laws.feynman() if len(problem.names) <= 4]
    assert len(laws.feynman()) == 60
    assert len(laws.paper_fourteen()) == 14
    seen = [(len(problem.names), _values(problem)) for problem in known]
    for problem in HARDER:
        if len(problem.names) <= 4:
            ours = _values(problem)
            for size, values in seen:
                same = size == len(problem.names) and np.allclose(ours, values, equal_nan=True)
                assert not same


def test_missing_data_is_named(monkeypatch):
    monkeypatch.delenv("RAN_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="RAN_DATA is not set"):
        laws.feynman()


def law_of(template, values, front=(), problem=ENZYME):
    names = Names(problem.names)
    symbols = {str(s): s for s in names.symbols} | {n: sp.Symbol(n) for n in values}
    parameters = tuple(Parameter(name, value, 0.1) for name, value in values.items())
    pareto = tuple(Entry(names.parse(text), 5, 0.0, 2) for text in front)
    return Law(
        sp.sympify(template, locals=symbols), parameters, names, problem.target, problem.box,
        np.eye(len(values)), Evidence(2000, 0.0, 0.0, stage="test", route=("by hand",)), pareto,
    )  # fmt: skip


def judged(law, noise=0.0, problem=ENZYME):
    return judge(problem, noise, find=lambda *args, **options: law)


def test_the_truth_in_any_form_is_solved():
    for template, values in (
        ("c0*S/(c1 + S)", {"c0": 2.5, "c1": 0.8}),
        ("S/(c0 + c1*S)", {"c0": 0.32, "c1": 0.4}),
    ):
        row = judged(law_of(template, values))
        assert row["solved"]
        assert row["exact"]
        assert row["structure"]
        assert row["on_front"]
        assert not row["failure"]


def test_right_terms_with_noisy_numbers_are_the_structure_only():
    row = judged(law_of("c0*S/(c1 + S)", {"c0": 2.51, "c1": 0.83}), 0.01)
    assert (row["solved"], row["exact"], row["structure"]) == (False, False, True)
    row = judged(law_of("c0*S/(c1 + S) + c2*S", {"c0": 2.51, "c1": 0.83, "c2": 0.001}), 0.01)
    assert not row["structure"], "a superfluous term is another structure"


def test_a_number_that_must_be_infinite_is_another_structure():
    line = laws.Problem("line", "made up", "y", "2.0*x", (("x", 0.5, 4.0),))
    x, a, b = sp.symbols("x a b")
    assert structure.true_values(line, a * x, {a: 1.9}) == {a: pytest.approx(2.0)}
    assert structure.true_values(line, a * x / (b + x), {a: 200.0, b: 100.0}) is None
    assert structure.true_values(line, a * x / (1 + x / b), {a: 1.9, b: 100.0}) is None


def test_the_front_is_looked_at():
    wrong = {"c0": 1.0, "c1": 0.3}
    row = judged(law_of("c0 + c1*S", wrong, front=["2.5*S/(0.8 + S)"]))
    assert (row["solved"], row["on_front"], row["structure_on_front"]) == (False, True, True)
    row = judged(law_of("c0 + c1*S", wrong, front=["2.4*S/(0.9 + S)"]))
    assert (row["on_front"], row["structure_on_front"]) == (False, True)
    row = judged(law_of("c0 + c1*S", wrong, front=["0.1*S"]))
    assert (row["on_front"], row["structure_on_front"]) == (False, False)


def test_a_column_may_be_called_as_a_parameter_is():
    problem = laws.Problem("decay", "made up", "c", "c0/(1 + 0.5*c0)", (("c0", 0.5, 4.0),))
    law = law_of("c0_/(1 + c0*c0_)", {"c0": 0.52}, problem=problem)
    row = judged(law, 0.01, problem)
    assert (row["solved"], row["structure"]) == (False, True)


def test_a_crash_is_a_row():
    def fails(*args, **options):
        raise RuntimeError("no luck")

    row = judge(ENZYME, find=fails)
    assert row["failure"] == "RuntimeError: no luck"
    assert not row["solved"]


def test_a_call_that_hangs_is_ended(monkeypatch):
    monkeypatch.setattr(calling, "_PATIENCE", 1.0)

    def hangs(*args, **options):
        while True:
            time.sleep(0.01)

    row = judge(ENZYME, seconds=0.2, find=hangs)
    assert row["failure"].startswith("Hangs: no answer after 0.2 s")


def test_tables_are_the_same_each_time_and_noisy_as_asked():
    X, clean = noisy_table(ENZYME, 0.0, 1)
    again, noisy = noisy_table(ENZYME, 0.1, 1)
    np.testing.assert_array_equal(X, again)
    assert (noisy - clean).std() / clean.std() == pytest.approx(0.1, rel=0.1)
    assert not np.array_equal(X, noisy_table(ENZYME, 0.0, 2)[0])


def test_a_box_is_widened_but_not_across_zero():
    assert structure.widened(((1.0, 5.0), (-1.0, 1.0))) == ((0.25, 6.0), (-1.5, 1.5))


def test_results_go_on_where_they_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    done = []

    def work(problem, noise):
        done.append(noise)
        return {"problem": problem.name, "noise": noise, "error": 1 / 3}

    tasks = [{"problem": ENZYME, "noise": noise} for noise in (0.0, 0.01)]
    for more in (tasks[:1], tasks):
        tables.run(tables.Table("test", ("problem", "noise")), work, more, 1)
    assert done == [0.0, 0.01]
    lines = (tmp_path / "discovery_test.csv").read_text().splitlines()
    assert lines[1:] == ["Michaelis-Menten,0,0.3333", "Michaelis-Menten,0.01,0.3333"]


def test_true_numbers_are_mapped_into_the_form_of_the_law():
    problem = coverage.michaelis_menten(0)
    law = law_of("S/(c0 + c1*S)", {"c0": 1.0, "c1": 0.5}, problem=problem)
    assert coverage.held(problem, law)["numbers"] == 2
    S, a, b = sp.symbols("S a b")
    found = structure.true_values(problem, S / (a + b * S), {a: 0.5, b: 0.5})
    inverse = sp.simplify(S / problem.formula - (found[a] + found[b] * S))
    assert abs(float(inverse.subs(S, 2.0))) < 1e-9


def test_the_other_experiments_make_their_tables():
    X, y = extrapolation.outer_rows(ENZYME, np.random.default_rng(0))
    (low, high) = extrapolation.inner(ENZYME).box[0]
    assert ((low > X) | (high < X)).all()
    assert len(X) == len(y)
    wide = irrelevant.with_idle_columns(ENZYME, 12)
    assert len(wide.names) == 13
    assert wide(np.ones((3, 13))) == pytest.approx(2.5 / 1.8)
    for seed in range(8):
        X, y, _ = nothing.noise_table(seed)
        assert len(X) == len(y)
        assert np.isfinite(y).all()
    text, rmse = fitted_textbook(made_up(), made_up().read())
    assert "conc" in text
    assert rmse < 6


def test_a_program_of_gplearn_is_read():
    pytest.importorskip("gplearn")
    from gplearn.functions import add2, div2, sqrt1

    from experiments.discovery.peer_searches import _from_prefix

    formula = _from_prefix([div2, 0, add2, 1.5, sqrt1, 1])
    assert str(formula) == "X0/(sqrt(Abs(X1)) + 1.5)"
