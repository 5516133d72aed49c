"""Effects, shares and purification, apart from any model; the signature that both sides share."""

import inspect

import numpy as np
import pytest

from rational_anova import RAN, RANClassifier, RANRegressor
from rational_anova.anova import (
    MODES,
    Anova,
    Effect,
    Effects,
    Independent,
    Input,
    Local,
    Moments,
    Observed,
    named,
    percent,
    plot,
    project,
    shares,
    together,
)

POINTS = np.random.default_rng(0).normal(size=(40, 2))


def raw():
    """Return a sum whose pair holds functions of either input alone."""
    return {
        (0,): lambda rows: 2 * rows,
        (0, 1): lambda rows: rows[:, :1] * rows[:, 1:] + rows[:, :1] ** 2 + 3,
    }


def every(values=POINTS):
    """Return all pairs of the values of two inputs."""
    return np.stack([np.repeat(values[:, 0], len(values)), np.tile(values[:, 1], len(values))], 1)


def test_purified_effects_add_up_and_are_orthogonal():
    found, rows = Independent(raw(), POINTS), every()
    pair = found.at((0, 1), rows)
    mains = [found.at((n,), rows[:, [n]]) for n in (0, 1)]
    total = sum(term(rows[:, list(axes)]) for axes, term in raw().items())
    np.testing.assert_allclose(found.intercept + pair + sum(mains), total, atol=1e-12)
    for effect in (pair, *mains):
        assert abs(effect.mean()) < 1e-12
    square = pair.reshape(len(POINTS), -1)
    assert max(np.abs(square.mean(0)).max(), np.abs(square.mean(1)).max()) < 1e-12
    for axes, value in (((0, 1), pair), ((0,), mains[0]), ((1,), mains[1])):
        np.testing.assert_allclose(found.variances[axes], value.var(0), atol=1e-12)


def test_both_computations_agree_where_inputs_are_independent():
    """Means over the other input, and projections over all rows, take the same from a pair."""
    rows = every()
    pair = raw()[0, 1](rows)
    functions = [np.ones(len(rows)), rows[:, 0], rows[:, 0] ** 2, rows[:, 1], rows[:, 1] ** 2]
    phi = np.stack(functions, 1)
    left = pair - phi @ project(phi.T @ phi, phi.T @ pair, 2)
    np.testing.assert_allclose(left, Independent(raw(), POINTS).at((0, 1), rows), atol=1e-9)


def test_shares_have_one_definition():
    """Sums over rows in pieces, and variances of independent inputs, give the same shares."""
    found, rows = Independent(raw(), POINTS), every()
    values = np.stack([found.at(axes, rows[:, list(axes)]) for axes in found.axes])
    moments, weight = Moments(3, 1), np.full(len(rows), 1 / len(rows))
    for piece in (slice(0, 700), slice(700, None)):
        moments.add(values[:, piece], weight[piece])
    variances = np.stack([found.variances[axes] for axes in found.axes])
    np.testing.assert_allclose(moments.share, shares(variances, variances.sum(0)), atol=1e-12)
    np.testing.assert_allclose(moments.total, variances.sum(0))
    np.testing.assert_allclose(moments.std**2, variances, atol=1e-12)
    assert together(moments.share, moments.total).sum() == pytest.approx(1)
    assert not shares(np.ones((2, 1)), np.zeros(1)).any()


def test_shares_of_dependent_inputs_add_up_to_one():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(500, 1)) + 0.1 * rng.normal(size=(500, 2))
    moments = Moments(2, 1)
    moments.add(np.stack([x[:, :1], -0.5 * x[:, 1:]]), np.full(500, 1 / 500))
    assert moments.share.sum() == pytest.approx(1)
    assert 0 < moments.share[1, 0] < 0.3
    assert moments.covariance.sum() == pytest.approx(1)
    assert moments.covariance[1, 0] < 0
    assert percent(-0.25) == "\N{MINUS SIGN}25 %"


def test_long_tails_are_cut_and_constants_have_room():
    points = np.append(np.linspace(0, 1, 100), 50.0)
    assert Observed(points, np.zeros(0), 0.0).shown[1] < 1.01
    assert Observed(np.full(101, 3.0), np.zeros(0), 0.0).shown == (2.5, 3.5)


class Square:
    """An effect without a band."""

    def at(self, values):
        return values[:, :1] ** 2 - 1

    def spread(self, values):
        return None


def drawn(local=None):
    inputs = [Input("a", Observed(np.linspace(-1, 1, 101), np.zeros(0), 0.0))]
    one = np.ones(1)
    effect = Effect("a", (0,), tuple(inputs), 1.0, one, one, one, (), Square(), 1)
    poles = lambda: {0: {-1: np.array([1j, -1j])}}  # noqa: E731
    return Anova(inputs, Effects([effect]), one, ("y",), poles=poles, local=local)


@pytest.mark.parametrize("mode", [mode for mode in MODES if mode != "interaction"])
def test_pictures_need_records_alone(mode):
    local = Local({"a": np.ones(1), "(rest)": np.ones(1)}, {"a": "a = 2"}, np.zeros(1))
    figure = plot(drawn(local), mode, None, None, None)
    figure.canvas.draw()
    if mode == "local":  # what is no effect is drawn, too, so that bars reach the prediction
        assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == ["a = 2", "(rest)"]


def test_what_cannot_be_drawn_is_named():
    with pytest.raises(ValueError, match="no pairs"):
        plot(drawn(), "interaction", None, None, None)
    with pytest.raises(ValueError, match="got none"):
        plot(drawn(), "local", None, None, None)
    with pytest.raises(KeyError, match="no effect 'b'"):
        plot(drawn(), "main", ["b"], None, None)
    with pytest.raises(ValueError, match="1 names"):
        named(drawn().inputs, ["a", "b"])


def test_one_signature():
    """The same words in the same order on all three classes."""
    for name in ("plot_anova", "auto_rational"):
        words = [list(inspect.signature(getattr(cls, name)).parameters.items())
                 for cls in (RAN, RANRegressor, RANClassifier)]  # fmt: skip
        plain = [[(n, p.kind, p.default) for n, p in some if n != "y"] for some in words]
        assert plain[0] == plain[1] == plain[2]
