"""A constant term in q: what it adds, where it is refused, and the paper's own start."""

import pytest
import sympy
import torch

import rational_anova as ra
from rational_anova.functional import rational_1d, rational_2d
from rational_anova.report._described import shortened
from tests.conftest import WITH_CONSTANT, kind_and_constant

KINDS = [kind_and_constant(name)[0] for name in WITH_CONSTANT]
X = torch.linspace(-3, 3, 61, dtype=torch.float64)[:, None]


def count(unit):
    return sum(p.numel() for p in unit.parameters())


def test_it_is_one_more_parameter():
    assert count(ra.Rational1d(5, constant=True)) == 5 * 8
    assert count(ra.Rational1d(5, heads=2, constant=True)) == 5 * 15
    assert count(ra.Rational2d([(0, 1)], constant=True)) == 13
    assert count(ra.RAN(4, topology="all", constant=True)) == 4 * 7 + 6 * 13


@pytest.mark.parametrize("kind", KINDS)
def test_a_constant_of_zero_changes_nothing(kind):
    bare = ra.Rational1d(1, (3, 2), kind, noise=0.3, dtype=torch.float64)
    unit = ra.Rational1d(1, (3, 2), kind, constant=True, dtype=torch.float64)
    with torch.no_grad():
        unit.numerator.copy_(bare.numerator)
        unit.denominator[0], unit.denominator[1:] = 0, bare.denominator
    torch.testing.assert_close(unit(X), bare(X), rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("kind", ["softplus", "squareplus", "abs"])
def test_a_positive_polynomial_is_its_multiple(kind):
    """1 + psi(c (1 + 25 x^2) - 1 - eps) = c (1 + 25 x^2): Runge's function, to rounding."""
    scale = 1e9 if kind == "squareplus" else 50.0  # algebraic where softplus is exponential
    unit = ra.Rational1d(
        1, (0, 2), kind, "zero", gate=None, constant=True, eps=1e-6, dtype=torch.float64
    )
    with torch.no_grad():
        unit.numerator.fill_(scale)
        rows = [[scale - 1 - 1e-6], [0.0], [25 * scale]]
        unit.denominator.copy_(torch.tensor(rows, dtype=torch.float64))
    error = (unit(X) - 1 / (1 + 25 * X**2)).abs().max()
    assert error < 1e-15
    bare = ra.Rational1d(1, (0, 2), kind, "zero", gate=None, init=lambda x: 1 / (1 + 25 * x**2),
                         init_range=(-1.0, 1.0))  # fmt: skip
    assert kind == "abs" or bare.init_error.rmse > 1e-4  # without a constant: psi(0) is fixed


def test_fit_to_a_function_finds_it():
    def runge(x):
        return 1 / (1 + 25 * x**2)

    free, bare = (
        ra.Rational1d(1, (4, 3), init=runge, init_range=(-1.0, 1.0), constant=constant)
        for constant in (True, False)
    )
    assert free.init_error.rmse < 1e-6 < 1e-3 < bare.init_error.rmse


@pytest.mark.parametrize("kind", ["sos", "polynomial"])
def test_where_it_adds_nothing_it_is_refused(kind):
    for make in (
        lambda: ra.Rational1d(2, denominator=kind, constant=True),
        lambda: ra.Rational2d([(0, 1)], denominator=kind, constant=True),
        lambda: ra.RAN(2, denominator=kind, constant=True),
    ):
        with pytest.raises(ValueError, match=f"constant=True is not for denominator='{kind}'.*sof"):
            make()


def test_functions_take_it():
    unit = ra.Rational1d(2, noise=0.4, constant=True)
    x = torch.randn(5, 2)
    same = rational_1d(x, unit.numerator, unit.denominator, unit.gate, constant=True)
    assert torch.equal(unit(x), same)
    pair = ra.Rational2d([(0, 1)], noise=0.4, constant=True)
    same = rational_2d(x, pair.pairs, pair.numerator, pair.denominator, pair.gate, constant=True)
    assert torch.equal(pair(x), same)
    with pytest.raises(ValueError, match="denominator must hold .*: 3, 6, 10, 15, ... rows, got 5"):
        rational_2d(x, pair.pairs, pair.numerator, pair.denominator[:5], constant=True)
    with pytest.raises(ValueError, match="needs at least two rows, the constant and x, got 1"):
        rational_1d(x, unit.numerator, unit.denominator[:1], constant=True)
    with pytest.raises(TypeError, match="constant must be True or False, got 1"):
        ra.Rational1d(2, constant=1)


def test_poles_and_formula_have_it():
    unit = ra.Rational1d(1, (0, 1), "square", "zero", gate=None, constant=True, dtype=torch.float64)
    with torch.no_grad():
        unit.numerator.fill_(1)
        unit.denominator.copy_(torch.tensor([[-2.0], [1.0]]))  # 1 + (x - 2)^2
    torch.testing.assert_close(unit.poles()[0], torch.tensor([2 - 1j, 2 + 1j]).to(torch.complex128))
    x = sympy.Symbol("x")
    assert sympy.simplify(unit.to_sympy([x])[0] - 1 / (1 + (x - 2) ** 2)) == 0


def test_the_theorem_counts_it():
    """The paper's W_Q sums |c_j| from j = 0: n + 1 numbers; its derivative has no part of it."""
    unit = ra.Rational1d(1, (2, 2), gate=None, constant=True, dtype=torch.float64)
    with torch.no_grad():
        unit.numerator.copy_(torch.tensor([[1.0], [-2.0], [0.5]]))
        unit.denominator.copy_(torch.tensor([[2.0], [0.25], [-0.5]]))
    record = ra.certify(unit, [(-1, 2)]).units[0]
    assert pytest.approx(2.75) == record.theorem.W_Q
    assert pytest.approx(5) == record.theorem.S_1_Q
    assert record.attained <= record.lipschitz <= record.theorem.lipschitz


@pytest.mark.parametrize("name", WITH_CONSTANT)
@pytest.mark.parametrize("variables", [1, 2])
def test_no_sample_beats_a_certificate(name, variables):
    kind, constant = kind_and_constant(name)
    torch.manual_seed(3)
    options = {"denominator": kind, "constant": constant, "noise": 0.8, "dtype": torch.float64}
    if variables == 1:
        unit = ra.Rational1d(4, (3, 2), **options)
    else:
        unit = ra.Rational2d([(0, 1), (2, 3)], 2, **options)
    box = [(-1.0, 1.5)] * 4
    certificate = ra.certify(unit, box, samples=8)
    x = (2.5 * torch.rand(4000, 4, dtype=torch.float64) - 1).requires_grad_()
    value = unit(x)
    for n, record in enumerate(certificate.units):
        (slope,) = torch.autograd.grad(value[:, n].sum(), x, retain_graph=True)
        assert slope.norm(dim=1).max() <= record.lipschitz * (1 + 1e-12)
        assert record.lipschitz <= record.theorem.lipschitz
        assert record.range[0] <= value[:, n].min() <= value[:, n].max() <= record.range[1]
        assert record.denominator_min <= unit.denominator_min(x)[n] * (1 + 1e-12)


def test_networks_train_and_are_saved_with_it(tmp_path):
    x = torch.linspace(-1, 1, 101, dtype=torch.float64)[:, None]
    y = 1 / (1 + 25 * x**2)
    torch.manual_seed(0)
    net = ra.RAN(1, 1, "none", (4, 3), base="zero", gate=None, noise=0.1, constant=True,
                 dtype=torch.float64)  # fmt: skip
    history = ra.fit(net, (x, y), optimizer="lm", restarts=4, restart_noise=0.5)
    assert history.training_loss < 1e-15
    ra.save(net, tmp_path / "net.safetensors")
    twin = ra.load(tmp_path / "net.safetensors")
    assert torch.equal(twin(x), net(x))
    formula = net.symbolic_formula(x, simplify=False)
    assert abs(float(formula.subs("x0", 0.3)) - 1 / (1 + 25 * 0.09)) < 1e-7


def test_formulas_of_large_constants_do_not_overflow():
    """SymPy writes exp(900 + x) as a number times exp(x), which no float can hold."""
    x = torch.linspace(-1, 1, 21, dtype=torch.float64)[:, None]
    net = ra.RAN(1, 1, "none", (1, 2), base="zero", gate=None, constant=True, dtype=torch.float64)
    with torch.no_grad():
        net.main.numerator.copy_(torch.tensor([[900.0], [3.0]]))
        net.main.denominator.copy_(torch.tensor([[900.5], [-20.0], [800.25]]))
    for simplify in (True, False):
        formula = net.symbolic_formula(x, simplify=simplify)
        assert formula.has(sympy.log)
    assert "softplus(800.3*x0**2 - 20*x0 + 900.5)" in shortened(formula, 4)


def test_budgets_count_it():
    for family, inputs in (("RAN", 20), ("DeepRAN", 64)):
        found = ra.match_budget(5000, family, inputs, 3, constant=True)
        assert ra.count_parameters(found.build()) == found.parameters
        assert found.error < 0.01
    found = ra.match_budget(50_000, "RANConvNet", 3, 10, constant=True)
    assert ra.count_parameters(found.build()) == found.parameters
    with pytest.raises(TypeError, match="constant must be True or False, got 2"):
        ra.match_budget(5000, "RAN", 20, 3, constant=2)


def test_a_denominator_of_the_absolute_value_alone():
    """|q| + 1e-6, which is `abs` with eps just above -1."""
    unit = ra.Rational1d(1, (2, 2), "abs", constant=True, eps=1e-6 - 1, dtype=torch.float64)
    assert torch.allclose(unit(X), X, rtol=1e-15, atol=0)
    with torch.no_grad():
        unit.gate.fill_(1)
        unit.numerator.copy_(torch.tensor([[1.0], [0.0], [0.0]]))
        unit.denominator.copy_(torch.tensor([[1.0], [0.0], [1.0]]))
    torch.testing.assert_close(unit(X), 1 / (1 + X**2 + 1e-6), rtol=1e-14, atol=0)
    assert ra.certify(unit, [(-1, 1)]).denominator_min == pytest.approx(1, rel=0.05)


@pytest.mark.parametrize("kind", ["softplus", "squareplus"])
@pytest.mark.parametrize("constant", [False, True])
def test_the_papers_start_is_exact_and_alive(kind, constant):
    """p = x, q = 0, gate 0: the gate learns first, the rest after it."""
    options = {"init": "paper", "constant": constant, "dtype": torch.float64}
    x = torch.randn(40, 3, dtype=torch.float64)
    for unit, expected in (
        (ra.Rational1d(3, (3, 2), kind, **options), x),
        (ra.Rational2d([(0, 1)], 2, kind, "mean", **options), x[:, :2].mean(1, keepdim=True)),
        (ra.Rational2d([(0, 1)], 2, kind, **options), torch.zeros(40, 1, dtype=torch.float64)),
    ):
        assert torch.equal(unit(x), expected)
        target = torch.randn(expected.shape, dtype=x.dtype, generator=torch.manual_seed(1))
        optimizer = torch.optim.SGD(unit.parameters(), 1e-2)
        (unit(x) * target).sum().backward()
        assert unit.gate.grad.ne(0).all()
        assert not unit.numerator.grad.any()
        optimizer.step()
        optimizer.zero_grad()
        (unit(x) * target).sum().backward()
        assert all(p.grad.ne(0).all() for p in unit.parameters())


def test_the_papers_start_of_networks():
    net = ra.RAN(3, topology="all", init="paper")
    x = torch.randn(5, 3)
    assert torch.allclose(net(x), x.sum(1, keepdim=True))
    ra.DeepRAN(3, 2, init="paper")(x)
    ra.RANFFN(3, 6, denominator="softplus", gate="auto", reach=None, init="paper")(x)
    with pytest.raises(ValueError, match="init must be one of 'base', 'paper'"):
        ra.RAN(3, init="gelu")


@pytest.mark.parametrize(
    "options", [{"denominator": "square"}, {"gate": 0.1}, {"degrees": (0, 1)}], ids=str
)
def test_a_dead_start_of_the_paper_is_refused(options):
    with pytest.raises(ValueError, match="init='paper' has p = x, q = 0 and gate 0"):
        ra.Rational1d(2, init="paper", **options)
