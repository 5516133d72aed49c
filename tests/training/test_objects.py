"""`fit` with what people have: losses, optimisers and schedulers of torch, tokens, dictionaries."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

import rational_anova as ra

D = torch.float64


def data(rows=80):
    generator = torch.Generator().manual_seed(0)
    X = torch.randn(rows, 3, generator=generator, dtype=D)
    return X, torch.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def network(**options):
    torch.manual_seed(0)
    return ra.RAN(3, dtype=D, **{"topology": "all", "noise": 0.1, **options})


# as `fit` has them
EQUAL = {"numerator_rate": 1.0, "denominator_rate": 1.0, "gate_rate": 1.0}
ADAM = {"optimizer": "adam", "batch_size": 20, "epochs": 3, "learning_rate": 0.01}


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def test_a_function_is_a_loss():
    X, y = data()
    one, other = network(), network()
    first = ra.fit(one, (X, y[:, None]), loss=nn.MSELoss(), validation=0.2, accumulate=2, **ADAM)
    second = ra.fit(other, (X, y), loss="mse", validation=0.2, **ADAM)
    assert first.loss == "MSELoss"
    for a, b in zip(first.records, second.records, strict=True):
        assert (a.loss, a.validation) == pytest.approx((b.loss, b.validation), rel=1e-10)

    def rows(f, y):
        return (f - y[:, None]).square()[:, 0]

    weight = torch.rand(80, dtype=D)
    a, b = network(), network()
    ra.fit(a, (X, y, weight), loss=rows, **ADAM)
    ra.fit(b, (X, y, weight), loss="mse", **ADAM)
    assert all(torch.allclose(p, q) for p, q in zip(a.parameters(), b.parameters(), strict=True))
    assert ra.fit(network(), (X, y), loss=rows, epochs=1).optimizer == "adam"
    with pytest.raises(ValueError, match="one number for a batch, so weights"):
        ra.fit(network(), (X, y[:, None], weight), loss=nn.MSELoss(), **ADAM)
    with pytest.raises(ValueError, match="lm needs slope and curvature"):
        ra.fit(network(), (X, y), loss=rows, optimizer="lm")
    with pytest.raises(ValueError, match=r"must return one number, or one for each of 20 rows"):
        ra.fit(network(), (X, y), loss=lambda f, y: f, **ADAM)


def test_an_optimiser_and_a_scheduler_of_torch(tmp_path):
    one, other = network(), network()
    optimizer = torch.optim.Adam(ra.parameter_groups(one, 0.01, **EQUAL))
    settings = {key: ADAM[key] for key in ("batch_size", "epochs")}
    history = ra.fit(one, data(), optimizer=optimizer, **settings)
    assert history.optimizer == "Adam"
    ra.fit(other, data(), **ADAM)
    assert all(
        torch.allclose(p, q, atol=1e-12)
        for p, q in zip(one.parameters(), other.parameters(), strict=True)
    )

    def run(epochs, path=None, resume=True):
        net = network()
        optimizer = torch.optim.SGD(net.parameters(), 0.1, momentum=0.9)
        scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        history = ra.fit(net, data(), optimizer=optimizer, schedule=scheduler, batch_size=20,
                         epochs=epochs, checkpoint=path)  # fmt: skip
        return net, history

    whole, history = run(4)
    assert history.records[-1].rate == pytest.approx(0.1 * 0.9**16)
    run(2, tmp_path / "run.pt")
    resumed, history = run(4, tmp_path / "run.pt")
    assert same(whole, resumed)
    assert history.records[-1].rate == pytest.approx(0.1 * 0.9**16)
    net = network()
    foreign = torch.optim.SGD(network().parameters(), 0.1)
    own = torch.optim.SGD(net.parameters(), 0.1)
    for wrong, message in (
        ({"optimizer": foreign}, "parameters that are not this model's"),
        ({"optimizer": own, "learning_rate": 0.1}, "has its rates and decays already"),
        ({"optimizer": own, "penalty": 0.1}, "proximal steps"),
        ({"optimizer": torch.optim.LBFGS(net.parameters())}, "optimizer='lbfgs'"),
        ({"schedule": torch.optim.lr_scheduler.ConstantLR(own)}, "pass that one as"),
    ):
        with pytest.raises(ValueError, match=message):
            ra.fit(net, data(), epochs=1, **wrong)


def test_metrics_are_of_all_validation_rows():
    X, y = data()
    labels = (y > 0).long()
    net = ra.RAN(3, 2, dtype=D)
    seen = []

    def accuracy(f, y):
        seen.append(len(y))
        return (f.argmax(1) == y).double().mean()

    told = []
    history = ra.fit(net, (X, labels), validation=0.25, metrics={"accuracy": accuracy},
                     callbacks=[told.append], **ADAM)  # fmt: skip
    assert seen == [20] * 3
    assert [r.metrics["accuracy"] for r in history.records] == [p.metrics["accuracy"] for p in told]
    assert "accuracy" in history.table()
    assert ra.History.from_json(history.to_json()).records[0].metrics == history.records[0].metrics
    with pytest.raises(TypeError, match=r"metrics\['x'\] must return a number"):
        ra.fit(net, (X, labels), metrics={"x": lambda f, y: None}, **ADAM)


def test_the_running_mean_of_the_weights(tmp_path):
    """Against torch's own, step by step."""
    from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

    X, y = data()
    net, plain = network(), network()
    ra.fit(net, (X, y), average=0.9, **{**ADAM, "batch_size": 80})
    mean = AveragedModel(plain, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    mean.update_parameters(plain)  # it begins with the first weights that it is given
    optimizer = torch.optim.Adam(ra.parameter_groups(plain, 0.01, **EQUAL))
    for _ in range(3):
        optimizer.zero_grad()
        nn.functional.mse_loss(plain(X)[:, 0], y).backward()
        optimizer.step()
        mean.update_parameters(plain)
    for a, b in zip(net.parameters(), mean.module.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-12)
    path = tmp_path / "run.pt"
    whole, resumed = network(), network()
    options = {**ADAM, "average": 0.9, "validation": 0.2}
    history = ra.fit(whole, (X, y), **options)
    ra.fit(resumed, (X, y), checkpoint=path, **{**options, "epochs": 1})
    ra.fit(resumed, (X, y), checkpoint=path, **options)
    assert same(whole, resumed)
    assert history.validation_loss == pytest.approx(history.records[-1].validation, rel=1e-12)
    with pytest.raises(ValueError, match="below 1, got 1"):
        ra.fit(net, (X, y), average=1.0)


class Words(nn.Module):
    """Tokens to classes; a record with logits, as models of Hugging Face return it."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.embed = nn.Embedding(12, 8)
        self.layer = ra.RANFFN(8, 16)
        self.head = nn.Linear(8, 2)

    def forward(self, input_ids, attention_mask=None):
        h = self.embed(input_ids)
        mask = torch.ones_like(input_ids) if attention_mask is None else attention_mask
        h = (self.layer(h) * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        return type("Outputs", (), {"logits": self.head(h)})()


class Texts(Dataset):
    def __init__(self, rows=40):
        generator = torch.Generator().manual_seed(1)
        self.tokens = torch.randint(12, (rows, 5), generator=generator)

    def __len__(self):
        return len(self.tokens)

    def __getitem__(self, at):
        tokens = self.tokens[at]
        mask = torch.ones(5, dtype=torch.long)
        return {"input_ids": tokens, "attention_mask": mask, "labels": (tokens.sum() > 27).long()}


def test_tokens_dictionaries_and_records_with_logits():
    texts = Texts()
    labels = torch.stack([item["labels"] for item in texts])
    options = {"loss": "multiclass", "optimizer": "adam", "epochs": 2, "learning_rate": 0.01}
    one, two, three = Words(), Words(), Words()
    a = ra.fit(one, (texts.tokens, labels), batch_size=40, **options)
    mask = torch.ones(40, 5, dtype=torch.long)
    rows = {"input_ids": texts.tokens, "attention_mask": mask, "labels": labels}
    b = ra.fit(two, rows, batch_size=40, **options)
    c = ra.fit(three, DataLoader(texts, 40), validation=DataLoader(texts, 8), **options)
    assert a.records[-1].loss == pytest.approx(b.records[-1].loss, rel=1e-6)
    assert a.records[-1].loss == pytest.approx(c.records[-1].loss, rel=1e-6)
    assert c.validation_loss < c.records[0].loss
    with pytest.raises(TypeError, match="it needs inputs, and targets under one of"):
        ra.fit(one, DataLoader([{"input_ids": torch.zeros(5)}] * 4, 2), **options)


def test_a_language_model_by_a_loss_of_its_own():
    class Next(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.net = nn.Sequential(nn.Embedding(6, 8), ra.RANFFN(8, 16), nn.Linear(8, 6))

        def forward(self, tokens):
            return self.net(tokens)

    tokens = (torch.arange(6) + torch.arange(20)[:, None]).remainder(6)

    def next_token(logits, targets):
        return nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten())

    net = Next()
    history = ra.fit(net, (tokens[:, :-1], tokens[:, 1:]), loss=next_token, epochs=60,
                     optimizer="adam", learning_rate=0.01)  # fmt: skip
    assert history.training_loss < 0.1 * history.records[0].loss
    with pytest.raises(ValueError, match="a loss of your own"):
        ra.fit(Next(), (tokens[:, :-1], tokens[:, 1:]), epochs=1)
