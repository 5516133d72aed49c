"""Influence: expected against true changes, along rates, runs and distances; figures; bad input."""

import copy
import math

import pytest
import torch
from torch import nn

import rational_anova as ra
from rational_anova import dynamics
from tests.dynamics.test_ntk import MODELS, ROWS, close, make, moved

CLASSES = torch.tensor([2, 0])


def stepped(model, x, y, rate):
    """A copy of a model after one step of torch's own SGD."""
    twin = copy.deepcopy(model)
    optimizer = torch.optim.SGD(twin.parameters(), lr=rate)
    outputs = twin(x)
    loss = nn.functional.cross_entropy if y.dtype == torch.long else nn.functional.mse_loss
    loss(outputs, y if y.dtype == torch.long else y.reshape(outputs.shape)).backward()
    optimizer.step()
    return twin


@pytest.mark.parametrize("kind", MODELS)
def test_the_true_change_is_that_of_sgd_and_the_model_stays(kind):
    model, y = make(kind), torch.tensor([1.0, -2.0], dtype=torch.float64)
    before = {name: value.clone() for name, value in model.state_dict().items()}
    found = dynamics.influence(model, ROWS[:2], y, ROWS, 0.01)
    for name, value in model.state_dict().items():
        assert torch.equal(value, before[name])
    assert all(p.grad is None for p in model.parameters())
    expected = (stepped(model, ROWS[:2], y, 0.01)(ROWS) - model(ROWS)).detach()
    assert close(found.true, expected, 1e-8)
    assert found.relative_error < 0.5


@pytest.mark.parametrize("of", ["outputs", "log_probabilities"])
@pytest.mark.parametrize("kind", MODELS)
def test_errors_shrink_with_the_square_of_the_rate(kind, of):
    model = make(kind, 3)
    study = dynamics.influence_over_rates(model, ROWS[:2], CLASSES, ROWS, of=of)
    assert 1.8 < study.slope < 2.2
    assert len(study.errors) == len(study.rates) == 5
    single = dynamics.influence(model, ROWS[:2], CLASSES, ROWS, study.rates[0], of=of)
    assert single.error == study.errors[0]


@pytest.mark.parametrize("kind", MODELS)
def test_slope_two_for_regression(kind):
    study = dynamics.influence_over_rates(make(kind), ROWS[:1], torch.tensor([2.0]), ROWS)
    assert 1.8 < study.slope < 2.2


def test_float32_models_are_looked_at_in_float64():
    torch.manual_seed(0)
    for model in (ra.RAN(3), ra.KAN(3, 1), ra.DeepRAN(3, 1)):
        study = dynamics.influence_over_rates(model, ROWS[:1].float(), [1.0], ROWS.float())
        assert 1.8 < study.slope < 2.2
        assert next(model.parameters()).dtype == torch.float32


def test_a_model_linear_in_its_weights_has_no_error():
    study = dynamics.influence_over_rates(
        nn.Linear(3, 1).double(), torch.ones(1, 3), [1.0], torch.zeros(1, 3), rates=(1.0, 0.5)
    )
    assert max(study.errors) < 1e-12
    assert math.isnan(study.slope) or study.errors[0] < 1e-12


@pytest.mark.parametrize("kind", MODELS)
def test_a_k_g_is_the_influence_on_log_probabilities(kind):
    model = make(kind, 3)
    found = dynamics.decompose(model, ROWS, ROWS[:2], CLASSES)
    change = found.change(0.01)
    for n in range(2):
        step = dynamics.influence(
            model, ROWS[n : n + 1], CLASSES[n : n + 1], ROWS, 0.01, of="log_probabilities"
        )
        assert close(change[:, n], step.expected)
    pi = torch.softmax(model(ROWS).detach(), -1)
    assert torch.allclose(found.A, torch.eye(3) - pi[:, None, :])
    assert torch.allclose(found.G.sum(-1), torch.zeros(2, dtype=torch.float64))
    # probabilities stay normalised: their mean change of the logarithm is zero
    assert torch.allclose((pi[:, None] * change).sum(-1), torch.zeros(8, 2).double(), atol=1e-12)


def test_changes_by_term_add_up():
    found = dynamics.decompose(make("RAN", 3), ROWS, ROWS[:2], CLASSES)
    parts = found.change_by_term(0.1)
    assert list(parts) == ["head", "x0", "x1", "x2", "x0 x1", "x0 x2", "x1 x2"]
    assert close(sum(parts.values()), found.change(0.1))
    with pytest.raises(ValueError, match="only a RAN"):
        dynamics.decompose(make("MLP", 3), ROWS, ROWS[:2], CLASSES).change_by_term(0.1)


def updates(count=6):
    return [(ROWS[n : n + 1], torch.tensor([n % 2 * 2.0 - 1])) for n in range(count)]


@pytest.mark.parametrize("kind", MODELS)
def test_accumulated_influence(kind):
    model = make(kind)
    every = dynamics.accumulated_influence(model, updates(), ROWS, 1e-4)
    some = dynamics.accumulated_influence(model, updates(), ROWS, 1e-4, subset=[4, 1])
    assert some.steps == (1, 4)
    assert torch.equal(some.expected, every.expected[[1, 4]])
    assert close(every.total, every.true_total, 0.05)
    twin = model
    for x, y in updates():
        twin = stepped(twin, x, y.double(), 1e-4)
    with torch.no_grad():
        assert close(every.true_total, twin(ROWS) - model(ROWS), 1e-6)


@pytest.mark.parametrize("kind", MODELS)
def test_profiles_are_steady_over_short_windows(kind):
    model = make(kind)
    slow, fast = (
        dynamics.influence_stability(model, updates(), ROWS[:1], ROWS, rate, window=3)
        for rate in (1e-6, 1e-3)
    )
    assert slow.profiles.shape == (7, 8)
    assert slow.similarity.shape == (4,)
    assert torch.allclose(slow.profiles.sum(1), torch.ones(7, dtype=torch.float64))
    assert 1 - 1e-6 < slow.worst <= 1
    assert fast.worst < slow.worst


@pytest.mark.parametrize("kind", MODELS)
def test_locality(kind):
    model = make(kind)
    found = dynamics.locality(model, ROWS[:1], [0.0, 0.5, 1.0], directions=5)
    assert found.reach.shape == (3, 5)
    assert torch.allclose(found.reach[0], torch.ones(5, dtype=torch.float64))
    assert torch.equal(found.mean, found.reach.mean(1))
    along = dynamics.locality(model, ROWS[:1], [1.0], directions=2 * torch.eye(3))
    place = ROWS[:1] + torch.eye(3)
    expected = dynamics.ntk(model, place, ROWS[:1]).norm() / dynamics.ntk(model, ROWS[:1], ROWS[:1]).norm()  # fmt: skip
    assert torch.allclose(along.reach[0], expected[:, 0])


@pytest.mark.parametrize("kind", MODELS)
def test_maps_show_true_changes(kind):
    model = make(kind, 2)
    seen = dynamics.influence_map(
        model, ROWS[:1], CLASSES[1:], 0.1, features=(2, 0), span=(-1, 1), points=4, output=1
    )
    place = ROWS[:1].clone()
    place[0, 2], place[0, 0] = seen.u[3], seen.v[1]
    step = dynamics.influence(model, ROWS[:1], CLASSES[1:], place, 0.1)
    assert seen.true[3, 1].item() == pytest.approx(step.true[0, 1].item(), rel=1e-9)
    assert seen.expected[3, 1].item() == pytest.approx(step.expected[0, 1].item(), rel=1e-9)
    assert seen.at.tolist() == [ROWS[0, 2], ROWS[0, 0]]


def test_figures(tmp_path):
    seen = {k: dynamics.influence_map(make(k), ROWS[:1], [1.0], 0.1, points=5) for k in MODELS}
    curves = {k: dynamics.locality(make(k), ROWS[:1], [1.0, 0.5], directions=3) for k in MODELS}
    kernel = dynamics.ntk(make("RAN", 2), ROWS, ROWS)
    figures = (
        dynamics.plot_influence(seen, names=["a", "b", "c"]),
        dynamics.plot_influence(seen["RAN"]),
        dynamics.plot_kernel(kernel),
        dynamics.plot_kernel(kernel, top=2),
        dynamics.plot_locality(curves),
    )
    for n, figure in enumerate(figures):
        assert figure.axes[0].get_xlabel()
        assert figure.axes[0].get_ylabel()
        figure.savefig(tmp_path / f"{n}.png")
    assert figures[0].axes[0].get_xlabel() == "a"
    assert len(figures[3].axes[0].patches) == 2


def broken():
    model = ra.RAN(3)
    with torch.no_grad():
        model.main.numerator[0, 1] = math.nan
    return model


X, Y = ROWS[:1], torch.tensor([1.0])
BAD = {
    "features": (lambda: dynamics.ntk(make("RAN"), ROWS[:, :2], ROWS), "x_o must have 3 features"),
    "features of torch's": (lambda: dynamics.ntk(nn.Linear(3, 1), ROWS, ROWS[:, :2]), "x_u must have 3"),
    "unknown features": (lambda: dynamics.ntk(nn.Sequential(nn.Linear(3, 1)), ROWS[:, :2], ROWS), "does not take x_o"),
    "one axis": (lambda: dynamics.ntk(make("RAN"), ROWS[0], ROWS), r"x_o\[None\]"),
    "no rows": (lambda: dynamics.ntk(make("RAN"), ROWS[:0], ROWS), r"shape \(0, 3\)"),
    "nan in x": (lambda: dynamics.ntk(make("RAN"), ROWS / 0, ROWS), "x_o has .* not finite, the first is -?inf at"),
    "nan weight": (lambda: dynamics.ntk(broken(), ROWS, ROWS), r"'main.numerator' is nan at \(0, 1\)"),
    "no weights": (lambda: dynamics.ntk(nn.ReLU(), ROWS, ROWS), "ReLU has 0 parameters"),
    "frozen": (lambda: dynamics.ntk(make("RAN").requires_grad_(False), ROWS, ROWS), "requires_grad_"),
    "dropout": (lambda: dynamics.ntk(nn.Sequential(nn.Linear(3, 1), nn.Dropout()), ROWS, ROWS), r"model.eval\(\)"),
    "method": (lambda: dynamics.ntk(make("RAN"), ROWS, ROWS, method="fun"), "did you mean 'func'"),
    "no formula": (lambda: dynamics.ntk(make("MLP"), ROWS, ROWS, method="formula"), "no formula for a MLP"),
    "no parts": (lambda: dynamics.ntk(make("MLP"), ROWS, ROWS).shares(), "not split"),
    "rate": (lambda: dynamics.influence(make("RAN"), X, Y, ROWS, 0.0), "rate must be > 0, got 0.0"),
    "rate below": (lambda: dynamics.accumulated_influence(make("RAN"), updates(), ROWS, -1), "got -1"),
    "rate nan": (lambda: dynamics.influence(make("RAN"), X, Y, ROWS, math.nan), "finite, got nan"),
    "huge rate": (lambda: dynamics.influence(make("RAN"), X, Y, ROWS, 1e300), "smaller rate"),
    "one rate": (lambda: dynamics.influence_over_rates(make("RAN"), X, Y, ROWS, [0.1, 0.1]), "two different rates"),
    "targets": (lambda: dynamics.influence(make("RAN"), ROWS, Y, ROWS, 0.1), "each of the 8 rows"),
    "nan target": (lambda: dynamics.influence(make("RAN"), X, Y * math.nan, ROWS, 0.1), "y_u has .* values that are not finite"),
    "class": (lambda: dynamics.decompose(make("RAN", 3), ROWS, X, torch.tensor([3])), "has the class 3"),
    "classes": (lambda: dynamics.decompose(make("RAN"), ROWS, X, torch.tensor([0])), "loss='binary'"),
    "of": (lambda: dynamics.influence(make("RAN"), X, Y, ROWS, 0.1, of="log_probabilities"), "of='outputs'"),
    "subset": (lambda: dynamics.accumulated_influence(make("RAN"), updates(), ROWS, 0.1, subset=[6]), "0 to 5"),
    "empty subset": (lambda: dynamics.accumulated_influence(make("RAN"), updates(), ROWS, 0.1, subset=[]), "one at least"),
    "window": (lambda: dynamics.influence_stability(make("RAN"), updates(), X, ROWS, 0.1, window=7), "at most the number of updates, 6"),
    "points": (lambda: dynamics.influence_stability(make("RAN"), updates(), ROWS, ROWS, 0.1), "x_u must be one point"),
    "one place": (lambda: dynamics.influence_stability(make("RAN"), updates(), X, ROWS[[1, 1]], 0.1), "all of x_o alike"),
    "distance": (lambda: dynamics.locality(make("RAN"), X, [-1.0]), "distances must be"),
    "directions": (lambda: dynamics.locality(make("RAN"), X, [1.0], directions=torch.eye(2)), r"\(directions, 3\)"),
    "no direction": (lambda: dynamics.locality(make("RAN"), X, [1.0], directions=torch.zeros(1, 3)), "none of them zero"),
    "plane": (lambda: dynamics.influence_map(make("RAN"), X, Y, 0.1, features=(0, 3)), "below 3"),
    "output": (lambda: dynamics.influence_map(make("RAN"), X, Y, 0.1, output=1), "output must be below 1"),
    "no maps": (lambda: dynamics.plot_influence({}), "empty"),
    "no curves": (lambda: dynamics.plot_locality({}), "empty"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_input(name):
    call, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        call()


def test_not_a_module():
    with pytest.raises(TypeError, match="torch.nn.Module, got function"):
        dynamics.ntk(lambda x: x, ROWS, ROWS)


def test_a_part_that_is_not_there():
    kernel = dynamics.ntk(moved(ra.RAN(3, 1, "none")), ROWS, ROWS)
    with pytest.raises(KeyError, match="no part"):
        kernel.pair[0, 1]
