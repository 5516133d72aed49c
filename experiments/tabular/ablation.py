"""Dense or sparse, ReLU or rational: the paper's four cells on tables (Sec. 5.4, Table 3).

The paper compares them at a million parameters on TabArena; here each has 20,000, within 2 %:

- dense: a linear layer from all to all, twice, ReLU or `Rational1d` (3, 2) behind each;
- sparse: 96 nodes behind a linear embedding, two blocks of messages along random pairs; units of
  nodes and pairs are ReLU (a pair sees two linear inputs) or rational (then it is `DeepRAN`). ReLU
  units have fewer numbers a pair, so they get more pairs.

All regression and binary tables of up to 12,000 rows, fold 0 of three. A fifth of the training rows
is held out for the epoch that is kept. Adam in batches of 256, 2e-3 falling as a cosine, about
800 steps, the same for all cells. Needs RAN_DATA (--smoke does not).

python -m experiments.tabular.ablation [--smoke] [--jobs 1] [--seeds 2]
"""

from __future__ import annotations

import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, median

import numpy as np
import pandas as pd
import torch
from torch import Tensor, nn

import rational_anova as ra
from experiments.table import Row, arguments, run
from experiments.table import Table as Results
from experiments.tabular.peers import plain, prepared
from experiments.tabular.tables import Table, tables
from rational_anova.networks import MessageBlock

BUDGET, NODES, BLOCKS = 20_000, 96, 2
ROWS, LEVELS, CLIP = 12_000, 20, 5.0
RATE, BATCH, STEPS = 2e-3, 256, 800
NOISE = 0.1  # on the coefficients of rational units at the start, as in `experiments.ablation`
KEY = ("table", "cell", "seed")


def dense(inputs: int, rational: bool) -> nn.Module:
    """Return an MLP of two equal hidden layers, with the width that is nearest to the budget."""
    a_unit = 2 * (7 if rational else 0) + inputs + 1 + 2  # its own, from the inputs, bias, output
    width = round((np.sqrt(a_unit**2 + 4 * BUDGET) - a_unit) / 2)
    net = ra.MLP(inputs, 1, (width, width), "relu")
    if rational:
        for at in (1, 3):
            net.layers[at] = ra.Rational1d(width, noise=NOISE)
    return net


class ReluPairs(nn.Module):
    """relu(a z_i + b z_j + c) for each pair: three numbers a pair, drawn as `nn.Linear` does."""

    ends: Tensor

    def __init__(self, topology: ra.Topology) -> None:
        super().__init__()
        self.register_buffer("ends", torch.tensor(topology.index.T.copy()))
        self.weight = nn.Parameter((2 * torch.rand(3, topology.num_pairs) - 1) * 0.5**0.5)

    def forward(self, z: Tensor) -> Tensor:
        """Return the messages (..., pairs)."""
        # With the zeros of the other nodes: faster than two gathers and their gradients.
        matrix = self.weight.new_zeros(z.shape[-1], self.ends.shape[1])
        return torch.relu(z @ matrix.scatter(0, self.ends, self.weight[:2]) + self.weight[2])


def sparse(inputs: int, rational: bool) -> nn.Module:
    """Return a network of random pairs, with the number of pairs that is nearest to the budget."""
    found = ra.match_budget(BUDGET, "DeepRAN", inputs, 1, width=NODES, blocks=BLOCKS)
    if rational:
        return ra.DeepRAN(**found.arguments, noise=NOISE)
    fixed = (inputs + 1) * NODES + BLOCKS * (2 * NODES + 1) + NODES + 1
    pairs = round((BUDGET - fixed) / (4 * BLOCKS + 1))
    topology = ra.Topology.random(NODES, pairs)
    net = ra.DeepRAN(inputs, 1, NODES, BLOCKS, topology, unit=lambda nodes: nn.ReLU())
    for at in range(BLOCKS):
        block = MessageBlock(topology, lambda nodes: nn.ReLU(), ReluPairs)
        with torch.no_grad():  # what ReLU sends is positive; half of it is taken off at the start
            block.weight *= torch.randint(0, 2, (pairs,)) * 2 - 1
        net.blocks[at] = block
    return net


CELLS: dict[str, Callable[[int], nn.Module]] = {
    "dense ReLU": lambda inputs: dense(inputs, False),
    "dense rational": lambda inputs: dense(inputs, True),
    "sparse ReLU": lambda inputs: sparse(inputs, False),
    "sparse rational": lambda inputs: sparse(inputs, True),
}


def work(table: Table, cell: str, seed: int, steps: int = STEPS) -> Row:
    """Train one cell on fold 0; a run that gives up has no error to report."""
    X, y = table.data
    fit_rows, test_rows = table.split(0)
    fit_rows = np.random.default_rng(seed).permutation(fit_rows)
    held, fit_rows = np.split(fit_rows, [len(fit_rows) // 5])
    scaling, frame = prepared(LEVELS), plain(X)
    scaling.fit(frame.iloc[fit_rows])
    parts = [  # a level or a gap that only other rows have is no cause for alarm
        torch.tensor(np.clip(scaling.transform(frame.iloc[rows]), -CLIP, CLIP)).float()
        for rows in (fit_rows, held, test_rows)
    ]
    middle, scale = 0.0, 1.0
    if table.task == "regression":
        middle, scale = float(y[fit_rows].mean()), float(y[fit_rows].std())
    targets = [
        torch.tensor((y[rows] - middle) / scale).float()[:, None] for rows in (fit_rows, held)
    ]
    torch.manual_seed(seed)
    net = CELLS[cell](parts[0].shape[1])
    row: Row = {"table": table.name, "cell": cell, "seed": seed, "task": table.task,
                "rows": len(fit_rows), "inputs": parts[0].shape[1],
                "parameters": ra.count_parameters(net)}  # fmt: skip
    start = time.process_time()
    try:
        history = ra.fit(
            net, (parts[0], targets[0]), validation=(parts[1], targets[1]), seed=seed,
            loss="mse" if table.task == "regression" else "binary", optimizer="adam",
            epochs=max(1, steps // math.ceil(len(fit_rows) / BATCH)), batch_size=BATCH,
            learning_rate=RATE, schedule="cosine",
        )  # fmt: skip
    except ra.Diverged:
        return row | {"error": ""}
    with torch.no_grad():
        f = net(parts[2])[:, 0].double().numpy()
    chance = 1 / (1 + np.exp(-f))
    predicted = (
        middle + scale * f if table.task == "regression" else np.stack([1 - chance, chance], 1)
    )
    scores = {name: f"{value:.7g}" for name, value in table.error(y[test_rows], predicted).items()}
    return row | {"metric": table.metric, **scores, "retreats": len(history.events),
                  "seconds": time.process_time() - start}  # fmt: skip


def summary(rows: list[dict[str, str]]) -> Iterator[str]:
    """Yield lines: the mean rank of each cell, and each choice of two at an equal other one."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        cells = found.setdefault(row["table"], {cell: [] for cell in CELLS})
        cells[row["cell"]].append(float(row["error"] or "inf"))
    whole = {t: cells for t, cells in found.items() if all(cells.values())}
    errors = {t: {c: mean(v) for c, v in cells.items()} for t, cells in whole.items()}
    for cell in CELLS:
        ranks = [1 + sum(e < cells[cell] for e in cells.values()) for cells in errors.values()]
        best = sum(rank == 1 for rank in ranks)
        yield f"{cell}: mean rank {mean(ranks):.2f}, best on {best} of {len(ranks)} tables"
    for one, other in (
        ("dense rational", "dense ReLU"), ("sparse rational", "sparse ReLU"),
        ("sparse ReLU", "dense ReLU"), ("sparse rational", "dense rational"),
        ("sparse rational", "dense ReLU"),
    ):  # fmt: skip
        ratios = [cells[one] / cells[other] for cells in errors.values()]
        wins = sum(ratio < 1 for ratio in ratios)
        yield (
            f"{one} beats {other} on {wins} of {len(ratios)}; "
            f"median ratio of errors {median(ratios):.3f}"
        )


def made_up(folder: str) -> Table:
    """Return a small table with a gap and a category, as a file."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(150, 3)), columns=["a", "b", "c"])
    frame["kind"] = rng.choice(["x", "y"], 150)
    frame["y"] = frame.a * frame.b + (frame.kind == "x")
    frame.loc[::7, "c"] = np.nan
    frame.to_csv(Path(folder) / "made_up.csv", index=False)
    return Table("made_up", Path(folder) / "made_up.csv", "regression", "y", 150)


def main() -> None:
    parser = arguments(__doc__, jobs=1)
    parser.add_argument("--seeds", type=int, default=1)
    options = parser.parse_args()
    warnings.filterwarnings("ignore", "Found unknown categories")
    warnings.filterwarnings("ignore", "The y_prob values do not sum")  # once they are clipped
    results = Results(
        "ablation_smoke" if options.smoke else "ablation", KEY, fresh=options.smoke, study="tabular"
    )
    with tempfile.TemporaryDirectory() as folder:
        every = (
            [made_up(folder)]
            if options.smoke
            else [t for t in tables() if t.task != "multiclass" and t.rows <= ROWS]
        )
        short = {"steps": 2} if options.smoke else {}
        tasks = [
            {"table": table, "cell": cell, "seed": seed, **short}
            for seed in range(options.seeds)
            for table in every
            for cell in CELLS
        ]
        run(results, work, tasks, options.jobs)
    print("\n".join(summary(results.rows)))


if __name__ == "__main__":
    main()
