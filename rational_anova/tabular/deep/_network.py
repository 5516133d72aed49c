"""The networks of the deep part, and how one is trained."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

from ...networks import RANFFN

WIDTH, BLOCKS = 128, 2
DROPOUT = 0.1
RATE, DECAY = 2e-3, 1e-2
BATCH, LEAST_BATCH = 256, 32
BATCHES = 8  # of an epoch at least, as long as a batch has LEAST_BATCH rows
EPOCHS, AT_ROWS = 20, 10_000  # more for fewer rows and fewer for more, by the square root
EPOCHS_RANGE = (8, 60)
PATIENCE = 1 / 3  # of the epochs, without a gain on held-out rows
HEAD = 0.1  # of the usual start of the last layer


class Network(nn.Module):
    """Linear, residual blocks norm - linear - rational units - linear, norm, linear.

    Args:
        inputs: number of inputs.
        outputs: number of outputs.
        width: of the state.
        blocks: how many there are.

    Shape: (..., inputs) to (..., outputs).
    """

    def __init__(self, inputs: int, outputs: int, width: int = WIDTH, blocks: int = BLOCKS) -> None:
        super().__init__()
        self.embed = nn.Linear(inputs, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(blocks))
        self.blocks = nn.ModuleList(RANFFN(width, width, dropout=DROPOUT) for _ in range(blocks))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, outputs)
        with torch.no_grad():
            self.head.weight.mul_(HEAD)
            self.head.bias.zero_()

    def forward(self, x: Tensor) -> Tensor:
        """Return the decisions."""
        h = self.embed(x)
        for norm, block in zip(self.norms, self.blocks, strict=True):
            h = h + block(norm(h))
        result: Tensor = self.head(self.norm(h))
        return result

    def groups(self) -> list[dict[str, object]]:
        """Return the parameters for an optimiser; only matrices of linear maps decay."""
        matrices = {id(m.weight): m.weight for m in self.modules() if isinstance(m, nn.Linear)}
        others = [p for p in self.parameters() if id(p) not in matrices]
        return [
            {"params": list(matrices.values()), "weight_decay": DECAY},
            {"params": others, "weight_decay": 0.0},
        ]


Loss = Callable[[Tensor, Tensor], Tensor]

LOSSES: dict[str, Loss] = {
    "squared": lambda f, y: (f - y).square().sum(1),
    "logistic": lambda f, y: functional.binary_cross_entropy_with_logits(
        f, y, reduction="none"
    ).sum(1),
    "softmax": lambda f, y: -(y * torch.log_softmax(f, 1)).sum(1),
}


@dataclass(frozen=True)
class Data:
    """Rows as the networks see them: x (rows, inputs), y (rows, outputs), weight (rows,)."""

    x: Tensor
    y: Tensor
    weight: Tensor
    loss: Loss

    def mean_loss(self, network: Network, rows: Tensor) -> Tensor:
        """Return the weighted mean loss of a network at some rows."""
        weight = self.weight[rows]
        each = self.loss(network(self.x[rows]), self.y[rows])
        return (each * weight).sum() / weight.sum()


def train(data: Data, held: Tensor, seed: int) -> Network:
    """Return a network fitted to the rows that are not held out, as it was in its best epoch.

    Args:
        data: all rows.
        held: whether a row is kept for the choice of the epoch, (rows,).
        seed: of the start, the batches and the dropout.
    """
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(seed)
        return _trained(data, torch.where(~held)[0], torch.where(held)[0])


def _trained(data: Data, rows: Tensor, held: Tensor) -> Network:
    network = Network(data.x.shape[1], data.y.shape[1])
    count = len(rows)
    size = min(BATCH, max(LEAST_BATCH, count // BATCHES), count)
    steps = count // size
    epochs = round(EPOCHS * (AT_ROWS / (count + len(held))) ** 0.5)
    epochs = min(max(epochs, EPOCHS_RANGE[0]), EPOCHS_RANGE[1])
    optimizer = torch.optim.AdamW(network.groups(), lr=RATE)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, RATE, total_steps=steps * epochs, pct_start=0.2, div_factor=10
    )
    best, least, last = _copy(network), _held_loss(data, network, held), 0
    for epoch in range(epochs):
        for batch in rows[torch.randperm(count)][: steps * size].split(size):
            optimizer.zero_grad()
            data.mean_loss(network, batch).backward()
            optimizer.step()
            schedule.step()
        loss = _held_loss(data, network, held)
        if loss < least:
            best, least, last = _copy(network), loss, epoch
        if epoch - last > PATIENCE * epochs or not loss < float("inf"):
            break
    network.load_state_dict(best)
    return network.eval().requires_grad_(False)


@torch.no_grad()
def _held_loss(data: Data, network: Network, held: Tensor) -> float:
    network.eval()
    loss = float(data.mean_loss(network, held))
    network.train()
    return loss


def _copy(network: Network) -> dict[str, Tensor]:
    return {name: tensor.clone() for name, tensor in network.state_dict().items()}
