"""Rows that come later, and models of several sites: the same as all rows at once."""

import numpy as np
import pytest

import rational_anova as ra

from .conftest import chunked

OPTIONS = {"pairs": 1, "refinements": 0}
INPUTS = ["a", "b", "c"]


@pytest.fixture
def first(quick, table):
    return ra.RANRegressor(**OPTIONS).fit(table[INPUTS][:1500], table["y"][:1500])


def copy_of(model, path):
    model.save(path)
    return ra.load(path)


def test_rows_are_added_exactly(first, table, tmp_path):
    later = table[1500:]
    in_one = copy_of(first, tmp_path / "m.ran").update(later[INPUTS], later["y"])
    in_two = copy_of(first, tmp_path / "m.ran").update(later[INPUTS][:700], later["y"][:700])
    in_two.update(chunked(later[[*INPUTS, "y"]][700:], 300), "y")
    found = [m.predict(table[INPUTS]) for m in (in_one, in_two, first)]
    assert np.abs(found[0] - found[1]).max() < 1e-10
    assert np.abs(found[0] - found[2]).max() > 1e-3
    errors = [np.mean((f[1500:] - later["y"]) ** 2) for f in found]
    assert errors[0] < errors[2]
    assert in_one.model_.history[-1][0] == "more rows"


def test_the_numerators_are_those_of_one_ridge_over_all_rows(first, table):
    """Fitted to the first half and updated: least squares of all rows, on the same columns."""
    later = table[1500:]
    first.update(later[INPUTS], later["y"])
    assert first.sums_.count == 3000
    from rational_anova.tabular.model import Rows, design

    kept = first.sums_
    values = np.stack([f.read(table[f.name]) for f in kept.features], 1)
    phi = design(kept.terms, Rows(values))
    phi[:, 1:] = (phi[:, 1:] - kept.mean[1:]) / kept.scale[1:]
    assert np.abs(kept.grams[0][:-1, :-1] - phi.T @ phi).max() < 1e-6


def test_models_of_sites_are_merged_exactly(first, table, tmp_path):
    sites = []
    for n in range(3):
        rows = table[n * 1000 : (n + 1) * 1000]
        site = copy_of(first, tmp_path / "m.ran")
        sites.append(site.update(rows[INPUTS], rows["y"], forget=True))
        assert site.sums_.count == 1000
    merged = ra.RANRegressor.merge([copy_of(s, tmp_path / "s.ran") for s in sites])
    whole = copy_of(first, tmp_path / "m.ran").update(table[INPUTS], table["y"], forget=True)
    gap = np.abs(merged.predict(table[INPUTS]) - whole.predict(table[INPUTS])).max()
    assert gap < 1e-10
    assert merged.explain_global()["share"].sum() == pytest.approx(1)


def test_classes_take_one_step(quick, table):
    X, y = table[INPUTS], table["two"]
    model = ra.RANClassifier(**OPTIONS).fit(X[:1500], y[:1500])
    before = model.score(X[1500:], y[1500:])
    model.update(X[1500:], y[1500:])
    assert model.score(X[1500:], y[1500:]) > before - 0.01
    with pytest.raises(ValueError, match="class 'maybe' was not there"):
        model.update(X[:20], ["maybe"] * 20)
    assert model.sums_.count == 3000


def test_what_cannot_be(first, table, quick):
    other = ra.RANRegressor(pairs=0, refinements=0).fit(table[INPUTS], table["y"])
    with pytest.raises(ValueError, match="models 0 and 1 have not the same terms"):
        ra.RANRegressor.merge([first, other])
    small = ra.RANRegressor(**OPTIONS).fit(table[INPUTS][:300], table["y"][:300])
    with pytest.raises(ValueError, match="update takes a model with sums_"):
        small.update(table[INPUTS], table["y"])
    with pytest.raises(ValueError, match="got none"):
        ra.RANRegressor.merge([])
