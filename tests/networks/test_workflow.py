"""The paper's workflow on a fitted RAN: fit, snap, formula, pictures."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
import sympy as sp
import torch

from rational_anova import RAN, Topology, fit, load, prune, save
from rational_anova.functional import BASES, DENOMINATORS
from rational_anova.networks._effects import poles_of, quantiles
from rational_anova.symbols import Names
from tests.conftest import scramble

X0, X1, X2 = sp.symbols("x0:3")
LAW = X0 * X1 / (1 + X0**2)


def data(law, rows=300, noise=0.0, inputs=(X0, X1), seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-2, 2, (rows, len(inputs)))
    y = sp.lambdify(inputs, law)(*X.T)
    return X, y + noise * rng.standard_normal(rows)


def fitted(law=LAW, denominator="polynomial", noise=0.0, inputs=(X0, X1), seed=0, **options):
    X, y = data(law, noise=noise, inputs=inputs, seed=seed)
    topology = Topology.of([(0, 1)], features=len(inputs))
    options = {"degrees": (2, 2), "dtype": torch.float64, **options}
    net = RAN(len(inputs), topology=topology, denominator=denominator, **options)
    fit(net, (X, y), optimizer="lm")
    return net, X, y


def wild(kind="softplus", base="identity", features=3, heads=1, outputs=1, dtype=torch.float64):
    """A network whose coefficients are all odd."""
    net = RAN(features, outputs, "all", denominator=kind, base=base, heads=heads, dtype=dtype)
    scramble(net.main, 1)
    scramble(net.pair, 2)
    return net


@pytest.mark.parametrize("kind", ["polynomial", "sos"])
def test_the_law_comes_out_exactly(kind):
    net, X, y = fitted(denominator=kind)
    before = net(torch.tensor(X)).detach()
    snaps = net.auto_rational(X, y)
    assert not snaps.refused
    assert len(snaps.snapped) == sum(p.numel() for p in net.parameters())
    assert sp.simplify(net.symbolic_formula(X) - LAW) == 0
    assert not net.symbolic_formula(X).has(sp.Float)
    assert (net(torch.tensor(X)) - before).abs().max() <= 1e-5 * y.std()
    assert snaps.moved < 1e-10
    assert "exact" in repr(snaps)


def test_fractions_and_decimals_in_a_longer_law():
    law = sp.Rational(1, 2) + sp.Rational(359, 100) * X0 + LAW + X2**2 / 3
    exact = []
    for seed in range(3):
        net, X, y = fitted(law, "sos", inputs=(X0, X1, X2), seed=seed)
        net.auto_rational(X, y)
        formula = net.symbolic_formula(X)
        said = sp.lambdify((X0, X1, X2), formula)(*X.T)
        assert np.abs(said - y).max() < 1e-10
        exact.append(sp.simplify(formula - law) == 0)
    # A term of x0 may stand in the main effect or in the pair, and the last bits of the machine
    # decide where a fit ends; of such a fit not every number is a fraction.
    assert sum(exact) >= 2


def test_multiples_of_pi_on_request():
    law = X0 * X1 / (4 * sp.pi) + sp.pi * X0
    for constants in ((), ("pi",)):
        net, X, y = fitted(law)
        net.auto_rational(X, y, constants=constants)
        found = net.symbolic_formula(X)
        assert found.has(sp.pi) == bool(constants)
    assert sp.simplify(found - law) == 0


def test_noise_may_hide_a_difference_and_never_more():
    net, X, y = fitted(noise=0.01)
    loss = float(((net(torch.tensor(X)).detach().squeeze() - torch.tensor(y)) ** 2).sum())
    snaps = net.auto_rational(X, y, precision=0.03)
    after = float(((net(torch.tensor(X)).detach().squeeze() - torch.tensor(y)) ** 2).sum())
    count = len(snaps.snapped)
    assert count > 15
    assert after - loss < (count + 3 * (2 * count) ** 0.5) * loss / (len(X) - 24)
    assert 0 < snaps.moved <= 0.03
    # A fine precision leaves the fit alone.
    net, X, y = fitted(noise=0.01)
    assert net.auto_rational(X, y, precision=1e-7).moved <= 1e-7


def test_data_that_tell_the_difference_refuse():
    slope = 0.50037  # next to 1/2, and seven times the precision away
    X, y = data(slope * X0, inputs=(X0,))
    net = RAN(1, topology="none", degrees=(1, 1), denominator="polynomial", gate=None, dtype=torch.float64)  # fmt: skip
    fit(net, (X, y), optimizer="lm")
    snaps = net.auto_rational(X, y)
    assert net.symbolic_formula(X) == sp.Rational(50037, 100000) * X0
    noisy = y + 1e-7 * np.random.default_rng(1).standard_normal(len(y)) + 3e-7 * X[:, 0] ** 3
    fit(net, (X, noisy), optimizer="lm")
    snaps = net.auto_rational(X, noisy)
    for name, _, exact in snaps.snapped:
        assert name != "r(x0) numerator x0" or abs(float(exact) - slope) < 1e-5
    assert all(reason for _, _, reason in snaps.refused)


def test_without_data_precision_alone_counts():
    net = RAN(1, topology="none", degrees=(2, 2), denominator="polynomial", gate=None, dtype=torch.float64)  # fmt: skip
    with torch.no_grad():
        net.main.numerator[:, 0] = torch.tensor(
            [1 / 3 + 1e-8, 1e-9, 0.7317341253412], dtype=torch.float64
        )
        net.main.denominator[:, 0] = torch.tensor([2.0000001, 0.08314], dtype=torch.float64)
    snaps = net.auto_rational(precision=1e-5)
    assert [str(exact) for _, _, exact in snaps.snapped] == ["1/3", "0", "2", "4157/50000"]
    assert [name for name, _, _ in snaps.refused] == ["r(x0) numerator x0^2"]
    assert net.main.denominator[1, 0].item() == 0.08314
    assert net.auto_rational(precision=0.0).snapped
    expected = (X0**2 * sp.Float(0.7317341253412) + sp.Rational(1, 3)) / (
        1 + 2 * X0 + sp.Rational(4157, 50000) * X0**2
    )
    assert abs((net.symbolic_formula() - expected).subs(X0, 0.7)) < 1e-12


def test_with_inputs_alone_predictions_stay():
    net, X, _ = fitted()
    before = net(torch.tensor(X)).detach()
    net.auto_rational(X, precision=1e-4)
    assert (net(torch.tensor(X)) - before).abs().max() <= 1.01e-4 * before.std()


def test_float32_takes_the_nearest_float():
    net = RAN(1, topology="none", degrees=(1, 1), denominator="polynomial", gate=None)
    with torch.no_grad():
        net.main.numerator.copy_(torch.tensor([[1 / 3], [0.1]]))
    net.auto_rational()
    assert net.main.numerator[0, 0] == torch.tensor(1 / 3)
    assert net.symbolic_formula() == X0 / 10 + sp.Rational(1, 3)


def test_what_was_trained_since_is_not_exact():
    net, X, y = fitted()
    net.auto_rational(X, y)
    twin = pickle.loads(pickle.dumps(copy.deepcopy(net)))
    assert twin.symbolic_formula(X) == net.symbolic_formula(X)
    assert sp.simplify(prune(net).symbolic_formula(X) - LAW) == 0
    with torch.no_grad():
        net.pair.numerator[4] += 0.12345678
    assert net.symbolic_formula(X).has(sp.Float)


def test_frozen_parameters_stay():
    net = wild()
    net.main.requires_grad_(False)
    before = {n: p.clone() for n, p in net.main.named_parameters()}
    net.auto_rational(torch.randn(50, 3), precision=0.1)
    assert all(torch.equal(before[n], p) for n, p in net.main.named_parameters())


def test_a_saved_network_snaps_again(tmp_path):
    net, X, y = fitted()
    net.auto_rational(X, y)
    save(net, tmp_path / "net.safetensors")
    again = load(tmp_path / "net.safetensors")
    assert sp.simplify(again.symbolic_formula(X) - LAW) == 0


@pytest.mark.parametrize("kind", DENOMINATORS)
@pytest.mark.parametrize("base", BASES)
def test_formula_of_every_unit(kind, base):
    X = torch.rand(60, 3, dtype=torch.float64) * 2 - 1
    net = wild(kind, base, heads=2 if base in ("zero", "silu") else 1)
    plain, short = (net.symbolic_formula(X, simplify=s) for s in (False, True))
    for formula in (plain, short):
        values = sp.lambdify([(X0, X1, X2)], formula, ["scipy", "numpy"])(X.numpy().T)
        assert np.allclose(values, net(X).detach().squeeze().numpy(), rtol=1e-9, atol=1e-9)


def test_formula_of_several_outputs_and_names():
    net = wild(outputs=2, dtype=torch.float32)
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(20, 3)), columns=["a", "lambda", "x y"])  # fmt: skip
    first, second = net.symbolic_formula(table)
    assert {str(s) for s in first.free_symbols} == {"a", "lambda", "x y"}
    assert first != second
    names = Names(list(table.columns))
    assert net.symbolic_formula(names=names)[0].free_symbols == set(names.symbols)


def test_softplus_of_large_numbers_is_no_obstacle():
    net = RAN(1, topology="none", degrees=(2, 2), dtype=torch.float64)
    scramble(net.main)
    with torch.no_grad():
        net.main.denominator[1] = 1.0
    assert net.symbolic_formula(np.linspace(-60, 60, 30)).has(sp.log)


def test_many_terms_do_not_hang():
    net = wild("sos", features=12)
    net.auto_rational(precision=0.3)
    assert net.symbolic_formula() != 0


@pytest.mark.parametrize("mode", ["main", "interaction", "importance", "heatmap", "poles"])
@pytest.mark.parametrize("kind", ["sos", "softplus", "polynomial"])
def test_pictures(mode, kind, tmp_path):
    X = np.random.default_rng(0).uniform(-1, 1, (200, 3))
    figure = wild(kind).plot_anova(X, mode=mode, names=["T", "pressure", "a very long name of an input"])  # fmt: skip
    figure.savefig(tmp_path / "figure.png")
    words = [t.get_text() for axis in figure.axes for t in (*axis.get_xticklabels(), *axis.get_yticklabels(), axis.xaxis.label)]  # fmt: skip
    assert any("pressure" in word for word in words)


@pytest.mark.parametrize("mode", ["main", "heatmap", "poles"])
def test_pictures_of_one_input_and_of_many(mode, tmp_path):
    one = RAN(1, topology="none", denominator="sos")
    one.plot_anova(np.linspace(0, 1, 30), mode=mode).savefig(tmp_path / "one.png")
    constant = one.plot_anova(np.ones(30), mode=mode)
    constant.savefig(tmp_path / "constant.png")
    many = RAN(30, 2, topology="d", denominator="sos")
    figure = many.plot_anova(torch.randn(50, 30), mode=mode, output=1, top=4)
    assert len([axis for axis in figure.axes if axis.get_xlabel()]) <= 4


def test_shares_are_those_of_the_effects():
    net, X, y = fitted(X0 * X1 + 2 * X0)
    net.auto_rational(X, y)
    effects = net.effects(X)
    assert sum(effect.share for effect in effects.values()) == pytest.approx(1)
    # Var(u v) = Var(u) Var(v) and Var(2 u), with u and v uniform on [-2, 2]: 16/9 against 16/3.
    assert effects["x0 x x1"].share == pytest.approx(0.25, abs=0.03)
    grid = quantiles(X)[1::2]
    both = np.stack([np.repeat(grid[:, 0], len(grid)), np.tile(grid[:, 1], len(grid))], 1)
    surface = effects["x0 x x1"].at(both).reshape(len(grid), len(grid))
    assert np.abs(surface.mean(0)).max() < 1e-12
    assert np.abs(surface.mean(1)).max() < 1e-12


def test_poles_are_those_of_the_units():
    X = torch.rand(40, 3, dtype=torch.float64)
    net = wild("sos")
    found = poles_of(net, quantiles(X.numpy()))
    for n, expected in enumerate(net.main.poles()):
        assert np.allclose(np.sort_complex(found[n][-1]), np.sort_complex(expected.numpy()))
    soft = wild("softplus")
    q = np.polynomial.Polynomial([0, *soft.main.denominator[:, 0].tolist()])
    for pole in poles_of(soft, quantiles(X.numpy()))[0][-1]:
        assert abs(1 + 1e-6 + np.log(1 + np.exp(q(pole)))) < 1e-9


def test_bad_input_is_named():
    net, X, y = fitted()
    with pytest.raises(ValueError, match="no pairs"):
        RAN(2, topology="none").plot_anova(X, mode="interaction")
    with pytest.raises(ValueError, match="did you mean 'heatmap'"):
        net.plot_anova(X, mode="heatmaps")
    with pytest.raises(ValueError, match="output must be below 1"):
        net.plot_anova(X, output=3)
    with pytest.raises(ValueError, match=r"shape \(rows, 2\)"):
        net.auto_rational(X[:, :1], y)
    with pytest.raises(ValueError, match="y has 3"):
        net.auto_rational(X, y[:3])
    with pytest.raises(ValueError, match="without X"):
        net.auto_rational(y=y)
    with pytest.raises(ValueError, match="below 1"):
        net.auto_rational(precision=2.0)
    with pytest.raises(ValueError, match="one of"):
        net.auto_rational(constants=("tau",))
    with pytest.raises(ValueError, match="names must"):
        net.symbolic_formula(names=["a"])
    with pytest.raises(ValueError, match="no analytic function"):
        wild("abs").plot_anova(np.ones((5, 3)), mode="poles")
    with pytest.raises(TypeError, match="column 0 of X must be numbers"):
        net.symbolic_formula([["a", "b"]])


def test_the_papers_workflow_runs_as_written(tmp_path):
    """The column of RAN in the paper's table of functionality."""
    X, y = data(LAW)
    dataset = {"train_input": torch.tensor(X), "train_label": torch.tensor(y)[:, None]}
    model = RAN(2, topology="all", denominator="polynomial", dtype=torch.float64)
    history = model.fit(dataset, opt="Adam", epochs=50)
    assert history.optimizer == "adam"
    model.fit(dataset, opt="LM")
    model.auto_rational(precision=1e-5)
    model.plot_anova(mode="interaction").savefig(tmp_path / "pairs.png")
    formula = model.symbolic_formula(simplify=True)
    values = sp.lambdify([(X0, X1)], formula)(X.T)
    assert np.abs(values - y).max() < 1e-2
    with pytest.raises(TypeError, match="opt='lm'"):
        model.fit(dataset, optimizer="lm")
    with pytest.raises(ValueError, match="optimizer"):
        model.fit(dataset, opt="magic")


def test_a_fit_notes_where_the_data_lie(tmp_path):
    X, y = data(X0 * X1 + 2 * X0)
    frame = pd.DataFrame(X, columns=["T", "V"])
    net = RAN(2, topology="all", denominator="sos")
    keys, size = list(net.state_dict()), sum(p.numel() for p in net.parameters())
    with pytest.raises(ValueError, match="knows no data"):
        net.plot_anova()
    fit(net, (frame, y), restarts=2, epochs=3)
    assert list(net.state_dict()) == keys
    assert sum(p.numel() for p in net.parameters()) == size
    save(net, tmp_path / "net.safetensors")
    copies = (load(tmp_path / "net.safetensors"), copy.deepcopy(net), prune(net))
    given = net.effects(frame)
    assert set(given) == {"T", "V", "T x V"}
    for each in (net, *copies):
        for name, effect in each.effects().items():
            assert effect.share == pytest.approx(given[name].share, abs=1e-12)
    assert {str(s) for s in net.symbolic_formula().free_symbols} == {"T", "V"}
    low, high = given["T"].seen[0].observed.points[[0, -1]]
    assert (low, high) == (X[:, 0].min(), X[:, 0].max())


def test_effects_of_a_network_add_up():
    net = wild("sos", outputs=2)
    X = np.random.default_rng(0).normal(size=(100, 3))
    net.observe(X, ["a", "b", "c"])
    figure = net.plot_anova(X[[4]], "local", output=1)
    texts = [text.get_text() for text in figure.legends[0].texts]
    told = f"{net(torch.tensor(X[4])).tolist()[1]:.4g}"
    assert told in texts[1].replace("\N{MINUS SIGN}", "-")
    curve = net.effects()["a"].curve()
    assert list(curve.columns) == ["class", "value", "effect"]
    assert net.effects()["b x a"].grid(5)["effect"].notna().all()
    with pytest.raises(ValueError, match="got 100 rows"):
        net.plot_anova(X, "local")
    with pytest.raises(TypeError, match="mode='main'"):
        net.plot_anova("main")


def test_coefficients_that_ran_beyond_float32_are_snapped():
    """Of what the data do not see a step may make any number; the way back was laid in float32."""
    torch.manual_seed(1)
    X = torch.rand(400, 2, dtype=torch.float64) * 2 - 1
    y = X[:, 0] * X[:, 1]
    net = RAN(2, topology="all", denominator="sos", noise=0.1, dtype=torch.float64)
    fit(net, (X, y), optimizer="lm", epochs=60, seed=1)
    net.auto_rational(X, y)
    assert str(net.symbolic_formula()) == "x0*x1"
