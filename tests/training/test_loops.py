"""Recipes of docs/guides/your_loop.md: the loops of others, with units and their groups."""

import copy
import warnings

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, TensorDataset

import rational_anova as ra

X = torch.randn(40, 4, generator=torch.Generator().manual_seed(0))
Y = torch.sin(X[:, :1]) + X[:, 1:2] * X[:, 2:3]


def network():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Linear(4, 16), nn.GELU(), nn.Linear(16, 16), nn.GELU(), nn.Linear(16, 1)
    )
    ra.replace_activations_(model, where=["1", "3"], inputs=X)
    return model


def groups(model):
    return ra.parameter_groups(model, 1e-2, 0.01, gate_rate=20.0)


def same(one, other):
    return all(torch.equal(a, b) for a, b in zip(one.parameters(), other.parameters(), strict=True))


def moved(model):
    return all(
        bool((unit.gate != 0).any()) for unit in model.modules() if isinstance(unit, ra.Rational1d)
    )


def test_roles_are_of_units_and_blocks_alone():
    class Experts(nn.Module):
        def __init__(self):
            super().__init__()
            self.gate = nn.Parameter(torch.zeros(3))
            self.block = ra.GatedRationalBlock(3)

    roles = {group["role"]: len(group["params"]) for group in ra.parameter_groups(Experts(), 1e-3)}
    assert roles == {"weight": 1, "vector": 1, "numerator": 1, "denominator": 1, "gate": 1}


def test_muon_takes_the_matrices_between():
    found = ra.parameter_groups(network(), 1e-2, 0.1, matrices=True)
    by_role = {group["role"]: group["params"] for group in found}
    assert [tuple(p.shape) for p in by_role["matrix"]] == [(16, 4), (16, 16)]
    assert [tuple(p.shape) for p in by_role["weight"]] == [(1, 16)]
    deep = nn.Module()
    deep.embed, deep.head = nn.Linear(4, 8), nn.Linear(8, 1)
    deep.blocks = nn.ModuleList(ra.RANFFN(8, 16) for _ in range(2))
    inside = [
        p
        for g in ra.parameter_groups(deep, 1e-2, matrices=True)
        if g["role"] == "matrix"
        for p in g["params"]
    ]
    assert [tuple(p.shape) for p in inside] == [(16, 8), (8, 16)] * 2
    if hasattr(torch.optim, "Muon"):
        model = network()
        split = ra.parameter_groups(model, 1e-2, 0.1, matrices=True)
        matrices = [group for group in split if group["role"] == "matrix"]
        others = [group for group in split if group["role"] != "matrix"]
        for optimizer in (torch.optim.Muon(matrices), torch.optim.AdamW(others)):
            nn.functional.mse_loss(model(X), Y).backward()
            optimizer.step()
        assert moved(model)


def test_accelerate_saves_and_goes_on(tmp_path):
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")

    def steps(count, state=None, keep=None):
        accelerator = accelerate.Accelerator(cpu=True, gradient_accumulation_steps=2)
        model = network()
        loader = DataLoader(TensorDataset(X, Y), 10)
        model, optimizer, loader = accelerator.prepare(
            model, torch.optim.AdamW(groups(model)), loader
        )
        if state:
            accelerator.load_state(state)
        for _ in range(count):
            for x, y in loader:
                with accelerator.accumulate(model):
                    accelerator.backward(nn.functional.mse_loss(model(x), y))
                    optimizer.step()
                    optimizer.zero_grad()
        if keep:
            accelerator.save_state(keep)
        return accelerator.unwrap_model(model)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = steps(3)
        steps(2, keep=tmp_path / "state")
        assert same(whole, steps(1, state=tmp_path / "state"))
    assert moved(whole)


def test_fit_takes_what_accelerate_has_prepared():
    accelerate = pytest.importorskip("accelerate", reason="accelerate is not installed")
    accelerator = accelerate.Accelerator(cpu=True)
    model, loader = accelerator.prepare(network(), DataLoader(TensorDataset(X, Y), 10))
    plain = network()
    ra.fit(model, loader, optimizer="adam", epochs=2)
    ra.fit(plain, DataLoader(TensorDataset(X, Y), 10), optimizer="adam", epochs=2)
    assert same(model, plain)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_lightning_saves_and_goes_on(tmp_path):
    lightning = pytest.importorskip("lightning", reason="lightning is not installed")

    class Module(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.model = network()

        def training_step(self, batch, _):
            return nn.functional.mse_loss(self.model(batch[0]), batch[1])

        def configure_optimizers(self):
            return torch.optim.AdamW(groups(self.model))

    def run(epochs, path=None):
        module = Module()
        trainer = lightning.Trainer(
            max_epochs=epochs, accelerator="cpu", logger=False, enable_progress_bar=False,
            enable_model_summary=False, enable_checkpointing=False,
        )  # fmt: skip
        loader = DataLoader(TensorDataset(X, Y), 10)
        trainer.fit(module, loader, ckpt_path=path, **({"weights_only": False} if path else {}))
        return module, trainer

    whole, _ = run(3)
    _, trainer = run(2)
    trainer.save_checkpoint(tmp_path / "run.ckpt")
    resumed, _ = run(3, tmp_path / "run.ckpt")
    assert same(whole, resumed)
    assert moved(whole)


def test_tensorboard_by_a_callback(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    from torch.utils.tensorboard import SummaryWriter

    with SummaryWriter(tmp_path) as writer:

        def log(progress):
            for name in ("loss", "validation", "rate"):
                writer.add_scalar(name, getattr(progress, name), progress.epoch)

        ra.fit(network(), (X, Y), validation=0.2, optimizer="adam", epochs=2, callbacks=[log])
    assert any(path.stat().st_size > 100 for path in tmp_path.iterdir())


def test_int8_of_the_linear_maps_around_units():
    from torch.ao.quantization import quantize_dynamic

    model = network()
    ra.fit(model, (X, Y), optimizer="adam", epochs=20)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        small = quantize_dynamic(model.eval(), {nn.Linear}, dtype=torch.qint8)
        error = (small(X) - model(X)).abs().max() / model(X).abs().max()
    assert "Dynamic" in type(small[0]).__name__ or "dynamic" in type(small[0]).__module__
    assert torch.equal(small[1].numerator, model[1].numerator)
    assert error < 0.05


# -- Hugging Face


class Texts(Dataset):
    def __len__(self):
        return 24

    def __getitem__(self, at):
        tokens = torch.randint(40, (6,), generator=torch.Generator().manual_seed(at))
        return {"input_ids": tokens, "labels": (tokens.sum() > 120).long()}


TOKENS = torch.arange(12).reshape(2, 6)


def bert():
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    config = transformers.BertConfig(
        hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
        vocab_size=40, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    torch.manual_seed(0)
    model = transformers.BertForSequenceClassification(config)
    ra.replace_activations_(model, share=4)
    return model


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_the_trainer_of_hugging_face_saves_and_goes_on(tmp_path):
    transformers = pytest.importorskip("transformers", reason="transformers is not installed")
    pytest.importorskip("accelerate", reason="accelerate is not installed")

    def trainer(folder, steps):
        model = bert()
        optimizer = torch.optim.AdamW(groups(model))
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: 1 / (1 + n))
        options = transformers.TrainingArguments(
            tmp_path / folder, max_steps=steps, per_device_train_batch_size=8, save_steps=2,
            report_to=[], disable_tqdm=True, use_cpu=True,
        )  # fmt: skip
        return transformers.Trainer(
            model, options, train_dataset=Texts(), optimizers=(optimizer, schedule)
        )

    whole = trainer("whole", 4)
    whole.train()
    trainer("parts", 2).train()
    resumed = trainer("parts", 4)
    resumed.train(resume_from_checkpoint=True)
    assert same(whole.model, resumed.model)
    assert moved(whole.model)
    whole.save_model(tmp_path / "model")
    again = ra.load_converted(tmp_path / "model", transformers.AutoModelForSequenceClassification)
    assert same(again, whole.model)


@pytest.mark.filterwarnings("ignore")
def test_fit_takes_a_model_of_hugging_face():
    model = bert()
    history = ra.fit(model, DataLoader(Texts(), 8), loss="multiclass", optimizer="adam", epochs=2)
    assert history.records[-1].loss < history.records[0].loss


@pytest.mark.filterwarnings("ignore")
def test_peft_on_a_converted_model(tmp_path):
    peft = pytest.importorskip("peft", reason="peft is not installed")
    before = bert()
    options = peft.LoraConfig(
        target_modules=["query", "value"], modules_to_save=["intermediate_act_fn", "classifier"],
        r=2, task_type="SEQ_CLS",
    )  # fmt: skip
    model = peft.get_peft_model(copy.deepcopy(before), options)
    found = ra.parameter_groups(model, 1e-2)
    assert [group["role"] for group in found] == [
        "weight",
        "vector",
        "numerator",
        "denominator",
        "gate",
    ]
    optimizer = torch.optim.AdamW(found)
    for _ in range(2):
        model(input_ids=TOKENS, labels=torch.tensor([0, 1])).loss.backward()
        optimizer.step()
    model.eval().save_pretrained(tmp_path)
    again = peft.PeftModel.from_pretrained(before, tmp_path).eval()
    with torch.no_grad():
        answer = model(input_ids=TOKENS).logits
        assert torch.equal(again(input_ids=TOKENS).logits, answer)
        merged = again.merge_and_unload()
        assert torch.allclose(merged(input_ids=TOKENS).logits, answer, atol=1e-6)
    assert moved(merged)
