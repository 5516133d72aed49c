"""One law for several experiments: what is found, shared, graded and said."""

import time

import numpy as np
import pandas as pd
import pytest

from rational_anova.discovery import fit_law
from rational_anova.discovery._grouped import discovered_groups
from rational_anova.discovery._run import Options
from rational_anova.discovery.catalogue import catalogue, find
from rational_anova.discovery.claims import (
    Grouped,
    exact_groups,
    graded_groups,
    group_candidate,
    group_outliers,
    ranked_groups,
)
from rational_anova.discovery.claims._groups import (
    group_lack_of_fit,
    group_neighbours,
    group_outer_part,
    group_stability,
)
from rational_anova.discovery.claims._smooth import smooth_deviance, smooth_groups_deviance
from rational_anova.discovery.fitting import Form, NoiseShape, Rows, fitted_groups
from rational_anova.discovery.law import Grade
from rational_anova.tables import prepare

FEW = [
    find(name)
    for name in ("Michaelis-Menten", "straight line", "exponential decay", "power law", "parabola")
    if any(f.name == name for f in catalogue())
]
AMOUNTS = (3.0, 5.0, 4.0, 6.0)


def saturation(noise=0.02, count=14, relative=False, seed=0):
    """Four runs of v*S/(0.8 + S) with v of each run its own."""
    rng = np.random.default_rng(seed)
    S = np.tile(np.linspace(0.1, 6, count), len(AMOUNTS))
    v = np.repeat(AMOUNTS, count) * S / (0.8 + S)
    v = (
        v * np.exp(noise * rng.normal(size=len(v)))
        if relative
        else v + noise * rng.normal(size=len(v))
    )
    return {"S": S, "run": np.repeat(list("abcd"), count)}, v


def options(**more):
    start = time.monotonic()
    return Options(**{"forms": FEW, "start": start, "limit": start + 600, **more})


def law_of(table, y, **more):
    with np.errstate(all="ignore"):
        return discovered_groups(prepare(table, y, target="v", by="run"), options(**more))


def test_the_form_and_what_is_shared():
    table, v = saturation()
    law = law_of(table, v)
    assert law.name == "Michaelis-Menten"
    assert law.grade is Grade.ESTABLISHED
    assert (law.groups.column, law.groups.shared, law.groups.own) == ("run", ("km",), ("vmax",))
    np.testing.assert_allclose(law.groups.values["vmax"], AMOUNTS, rtol=0.02)
    np.testing.assert_allclose(law.groups.values["km"], 0.8, rtol=0.05)
    assert law.noise.model == "constant"
    assert law.noise.scale == pytest.approx(0.02, rel=0.3)
    assert law.evidence.error * law.evidence.spread == pytest.approx(0.02, rel=0.3)
    assert not law.evidence.stopped


def test_rivals_have_weights_and_errors_of_all_groups():
    table, v = saturation(noise=0.2)
    law = law_of(table, v)
    assert law.rivals[0].own
    assert law.rivals[0].weight > law.rivals[1].weight
    assert sum(r.weight for r in law.rivals) == pytest.approx(1, abs=1e-6)
    assert law.rivals[0].error == law.evidence.error
    assert any(e.formula == law.rivals[0].formula for e in law.pareto)
    assert "groups of run share km" in law.summary()
    assert all(np.isfinite(law.intervals()["km"]))


def test_nothing_in_noise():
    table, v = saturation()
    v = np.random.default_rng(1).normal(size=len(v))
    assert law_of(table, v).grade is Grade.NOTHING


def test_levels_alone_are_no_law():
    table, v = saturation()
    v = np.repeat(AMOUNTS, 14) + 0.1 * np.random.default_rng(1).normal(size=len(v))
    assert law_of(table, v).grade is Grade.NOTHING


def test_rough_curves_are_no_law():
    table, v = saturation()
    v = np.sin(2 * table["S"]) * np.repeat([1.0, -1.3, 0.4, 2.0], 14) + v
    assert not law_of(table, v).grade.claimed


def test_relative_noise_is_seen():
    table, v = saturation(noise=0.1, relative=True, count=25)
    law = law_of(table, v)
    assert law.name == "Michaelis-Menten"
    assert law.noise.model in ("proportional", "log-normal")
    assert law.noise.compared["constant"] < 0.05


def test_outliers_are_named():
    table, v = saturation()
    v[[5, 30]] += [2.0, -1.5]
    law = law_of(table, v, robust=True)
    assert law.outliers == (5, 30)
    assert law.name == "Michaelis-Menten"
    np.testing.assert_allclose(law.groups.values["vmax"], AMOUNTS, rtol=0.02)


def test_stopped_by_the_callback():
    table, v = saturation()
    law = law_of(table, v, tell=lambda progress: progress.formula is not None)
    assert law.evidence.stopped
    assert law.grade is not Grade.ESTABLISHED
    assert law.groups is not None


def test_interrupted_from_the_keyboard():
    table, v = saturation()

    def tell(progress):
        if progress.stage == "noise":
            raise KeyboardInterrupt
        return False

    law = law_of(table, v, tell=tell)
    assert law.evidence.stopped
    assert law.name == "Michaelis-Menten"


def test_no_time_at_all():
    table, v = saturation()
    now = time.monotonic()
    law = law_of(table, v, start=now - 2, limit=now - 1)
    assert law.evidence.stopped
    assert law.grade is Grade.NOTHING


def test_many_columns_are_refused():
    table, v = saturation()
    table |= {"T": np.cos(np.arange(len(v))), "p": np.sin(1 + np.arange(len(v)))}
    with pytest.raises(ValueError, match=r"2 inputs at most.*'S', 'T', 'p'.*fit_law"):
        law_of(table, v)


# -- tests of the fit

MICHAELIS = Form.of("a*S/(b + S)", ["S"])
LINE = Form.of("a + b*S", ["S"])


def grouped(noise=0.02):
    table, v = saturation(noise)
    return Grouped(Rows(table["S"][:, None], v), table["run"])


def found(form, data):
    return fitted_groups(form, data.rows, data.labels)


def test_a_wrong_form_leaves_a_shape():
    data = grouped()
    assert group_neighbours(found(MICHAELIS, data), data) < 2.6
    assert group_neighbours(found(LINE, data), data) > 3


def test_replicates_are_those_of_one_experiment():
    data = grouped()
    fit = found(MICHAELIS, data)
    assert group_lack_of_fit(fit, data) is None  # rows of different runs are no replicates
    twice = data.some(np.repeat(np.arange(len(data.labels)), 2))
    twice.rows.y[:] += 0.02 * np.random.default_rng(3).normal(size=len(twice.labels))
    assert group_lack_of_fit(found(LINE, twice), twice) < 1e-6


CUBIC = Form.of("a + b*S + c*S**2 + d*S**3", ["S"])


def test_a_wrong_form_misses_the_outer_part():
    data = grouped()
    assert group_outer_part(found(MICHAELIS, data), data) > 0.01
    assert group_outer_part(found(CUBIC, data), data) < 0.002
    few = data.some(np.flatnonzero(data.rows.X[:, 0] < 1))
    assert group_outer_part(found(MICHAELIS, few), few) is None


def test_the_outer_part_of_right_forms_is_missed_by_chance_only():
    chances = []
    for seed in range(20):
        table, v = saturation(0.05, seed=seed)
        data = Grouped(Rows(table["S"][:, None], v), table["run"])
        chances.append(group_outer_part(found(MICHAELIS, data), data))
    assert sum(chance < 0.05 for chance in chances) <= 3
    assert min(chances) > 0.002


@pytest.mark.parametrize("noise", [NoiseShape("proportional"), NoiseShape("log-normal")])
def test_the_outer_part_under_relative_noise(noise):
    table, v = saturation(0.02, relative=True)
    data = Grouped(Rows(table["S"][:, None], v), table["run"])
    right, wrong = (fitted_groups(f, data.rows, data.labels, noise) for f in (MICHAELIS, CUBIC))
    assert group_outer_part(right, data) > 0.01
    assert group_outer_part(wrong, data) < 0.002


def test_missing_the_outer_part_is_a_doubt():
    data = grouped(noise=0.1)
    power = group_candidate(found(Form.of("a*S**b", ["S"]), data))
    astray = "Fitted to part of the range, it does not predict the rest within its errors."
    assert astray in graded_groups([power], data, np.inf).doubts
    right = group_candidate(found(MICHAELIS, data))
    assert graded_groups([right], data, np.inf).grade is Grade.ESTABLISHED


def test_the_choice_is_stable():
    data = grouped()
    both = ranked_groups([group_candidate(found(f, data)) for f in (LINE, MICHAELIS)], data)
    assert both[0].found.form is MICHAELIS
    assert group_stability(both, data) == 1


def test_outliers_of_a_group():
    data = grouped()
    data.rows.y[[3, 20]] += 1.0
    assert np.flatnonzero(group_outliers(found(MICHAELIS, data), data)).tolist() == [3, 20]


def test_exact():
    data = grouped(noise=0.0)
    assert exact_groups(found(MICHAELIS, data), data)
    assert not exact_groups(found(LINE, data), data)


def test_one_group_is_one_smooth_curve():
    data = grouped()
    part = data.rows.some(np.arange(14))
    one, noise = smooth_deviance(part, NoiseShape()), NoiseShape()
    assert smooth_groups_deviance([part], noise) == pytest.approx(one)
    assert smooth_groups_deviance([part, part], noise) < 2 * one


def test_rows_of_a_known_experiment_are_predicted_with_its_numbers():
    rng = np.random.default_rng(0)
    x = np.tile(np.linspace(0.1, 4, 20), 2)
    run = np.repeat(["a", "b"], 20)
    y = np.where(run == "a", 3.0, 5.0) * x / (0.7 + x) + rng.normal(0, 0.02, 40)
    frame = pd.DataFrame({"x": x, "run": run})
    law = fit_law("v*x/(k + x)", frame, y, by="run")
    assert np.std(law.predict(frame) - y) < 0.04
    assert np.std(law.predict(frame[["x"]]) - y) > 0.3
    with pytest.raises(ValueError, match="no group 'c'"):
        law.predict(frame.assign(run="c"))
