"""Examples of KAN, new chapters and tables without a law: computable, and new where they say so."""

import itertools
import os

import numpy as np
import pytest

from experiments.discovery import chapters, kan, laws, lsr, nothing, outside, recorded, tables
from experiments.discovery.harder import SPLITS, harder

needs_data = pytest.mark.skipif("RAN_DATA" not in os.environ, reason="needs RAN_DATA")
POINTS = 1 + np.array(
    [
        [0.31, 0.52, 0.17, 0.73, 0.64],
        [0.41, 0.26, 0.57, 0.38, 0.83],
        [0.77, 0.61, 0.35, 0.29, 0.12],
        [0.50, 0.90, 0.70, 0.45, 0.20],
    ]
)


@pytest.mark.parametrize("problems", [kan.EXAMPLES, chapters.LAWS], ids=["kan", "chapters"])
def test_a_law_can_be_computed_all_over_its_box(problems):
    assert len({problem.name for problem in problems}) == len(problems)
    for problem in problems:
        X = np.random.default_rng(0).uniform(*np.array(problem.box).T, (300, len(problem.names)))
        y = problem(X)
        assert np.isfinite(y).all()
        assert 1e-4 < y.std() < 1e5
        assert problem.target not in problem.names
        idle = set(problem.names) - {str(symbol) for symbol in problem.formula.free_symbols}
        assert idle == ({"x4"} if problem.name == "Sum with an idle column" else set())


def test_each_chapter_has_four_laws():
    groups = [law.group for law in chapters.LAWS]
    assert {group: groups.count(group) for group in groups} == dict.fromkeys(
        ("acoustics", "hydrology", "pharmacology", "optics", "economics"), 4
    )


def in_every_order(law):
    """Return the law's values at the points, a row for each order of the columns."""
    orders = list(itertools.permutations(range(len(law.names))))
    points = np.concatenate([POINTS[:, list(order)] for order in orders])
    with np.errstate(all="ignore"):
        return law(points).reshape(len(orders), len(POINTS))


@needs_data
def test_no_law_of_the_chapters_is_in_another_set():
    known = [*laws.feynman(), *lsr.problems("uniform"), *kan.EXAMPLES]
    known += [problem for split in SPLITS for problem in harder(split)]
    values = {}
    sizes = {len(law.names) for law in chapters.LAWS}
    for problem in (problem for problem in known if len(problem.names) in sizes):
        values.setdefault(len(problem.names), []).append(in_every_order(problem))
    for law in chapters.LAWS:
        ours = law(POINTS[:, : len(law.names)])
        with np.errstate(all="ignore"):
            ratios = np.concatenate(values[len(law.names)]) / ours
        same = np.isfinite(ratios).all(1) & np.isclose(ratios, ratios[:, :1], rtol=1e-9).all(1)
        assert not same.any(), f"{law.name}, up to a factor and the order of columns, is known"


def test_tables_without_a_law():
    every = outside.tables()
    noise = [task["seed"] for task in every if task["kind"] == "noise"]
    assert len(noise) == 40
    assert min(noise) >= 50, "`nothing` has the seeds below"
    assert len(every) - len(noise) == 60
    for task in every:
        X, y = outside.table_of(**task)
        assert np.isfinite(X).all()
        assert np.isfinite(y).all()
        assert y.std() > 0
        if task["kind"] != "noise":
            assert len(X) == len(y) == outside.ROWS
    np.testing.assert_array_equal(outside.table_of("noise", 50)[1], nothing.noise_table(50)[1])
    widths = [np.ptp(outside.table_of("gamma", seed)[0]) for seed in range(3)]
    assert widths == sorted(widths, reverse=True)


def test_a_crash_on_a_table_without_a_law_is_a_row(monkeypatch):
    monkeypatch.setattr(outside, "discovered", lambda *args, **options: (None, 0.1, "no luck"))
    row = outside.one("pieces", 0)
    assert row["failure"] == "no luck"
    assert not row["found"]


@pytest.mark.parametrize("name", ["kan", "chapters", "outside", "lsr_peers"])
def test_a_table_without_results_has_its_head(name, monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    assert len(tables.lines(f"discovery_{name}")) == 1


JUDGED = "problem,group,noise,seed,seconds,solved,structure,on_front,structure_on_front,found,formula,failure\n"
GRADED = "kind,seed,seconds,grade,found,established,failure\n"


@pytest.mark.parametrize(
    ("name", "files", "lines"),
    [
        (
            "kan",
            {"kan": f"{JUDGED}Product,kan,0,0,1.5,True,True,True,True,True,x*y,\n"},
            [["Product", "KAN; Interp 1, Hello, MultKAN", *3 * ["yes"], "1.5", "`x*y`"]],
        ),
        (
            "chapters",
            {"chapters": f"{JUDGED}Cauchy index,optics,0,0,2,False,True,True,True,False,n,\n"},
            [
                ["all", "0", "0 of 1 (0.0%)", "1 of 1 (100.0%)", "1", "2.0, 2"],
                ["optics", "0", "0 of 1 (0.0%)", "1 of 1 (100.0%)", "1", "2.0, 2"],
            ],
        ),
        (
            "outside",
            {
                "outside": f"{GRADED}gamma,0,3,one of several,True,False,\nnoise,50,1,,False,False,no\n"
            },
            [
                ["all without noise", "1", "1 of 1 (100.0%)", *"01000", "3.0, 3"],
                ["gamma", "1", "1 of 1 (100.0%)", *"01000", "3.0, 3"],
                ["noise", "1", "0 of 1 (0.0%)", *"00001", "1.0, 1"],
            ],
        ),
        (
            "lsr_peers",
            {
                "lsr": f"rows,{JUDGED}uniform,A,g,0,0,9,True,True,True,True,True,n,\n"
                "uniform,B,g,0,0,9,True,True,True,True,True,n,\n",
                "lsr_peers": f"peer,{JUDGED}gplearn,A,g,0,0,20,False,False,False,True,,n,\n",
            },
            [
                ["`discover`", "0", "1", *"1111", "0", "9.0"],
                ["gplearn", "0", "1", *"0001", "0", "20.0"],
            ],
        ),
    ],
)
def test_tables_for_the_docs(name, files, lines, monkeypatch, tmp_path):
    monkeypatch.setattr(recorded, "FOLDER", tmp_path)
    for own, text in files.items():
        (tmp_path / f"discovery_{own}.csv").write_text(text)
    head, *rows = tables.lines(f"discovery_{name}")
    assert rows == lines
    assert {len(row) for row in rows} == {len(head)}
