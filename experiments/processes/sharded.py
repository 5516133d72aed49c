"""Networks of this library under DDP and FSDP2: the losses of one process, in loops of torch.

python -m experiments.processes.sharded [--smoke]

DeepRAN, a stack of RANFFN and a small BERT with rational units take ten steps of AdamW with
`ra.parameter_groups`, on one process, and on 2 and 4 under DDP and `fully_shard` (FSDP2): as they
are, with each batch in two parts (gradient accumulation), and in bf16 autocast (FSDP2: its mixed
precision). `torch.compile` (inductor) is tried for the RANFFN stack and the DeepRAN on two
processes. Recorded is the largest difference of the losses from the same on one process, as a share
of the first loss; of bf16 and compiled runs from plain float32, so that this is their own rounding.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

import rational_anova as ra
from experiments.processes.launch import gathered, work
from experiments.results import write

MODULE = "experiments.processes.sharded"
_STEPS, _BATCH = 10, 32

Result = dict[str, Any]


class Stack(nn.Module):
    """Residual RANFFN layers and a head."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(ra.RANFFN(16, 32, groups=8) for _ in range(2))
        self.head = nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the output."""
        for layer in self.layers:
            x = x + layer(x)
        return self.head(x)


class Bert(nn.Module):
    """A small BERT with rational units, on features in the place of words."""

    def __init__(self) -> None:
        super().__init__()
        from transformers import BertConfig, BertModel

        config = BertConfig(
            hidden_size=16, num_hidden_layers=2, num_attention_heads=2, intermediate_size=32,
            vocab_size=40, hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
        )  # fmt: skip
        self.bert = BertModel(config, add_pooling_layer=False)
        ra.replace_activations_(self.bert, share=8)
        self.layers = self.bert.encoder.layer
        self.head = nn.Linear(16, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Return the output."""
        tokens = (x.float() * 6).round().long().clamp(-19, 19) + 20
        return self.head(self.bert(tokens).last_hidden_state[:, 0])


def _deep() -> nn.Module:
    return ra.DeepRAN(16, 1, width=16, noise=0.05)


MODELS: dict[str, Callable[[], nn.Module]] = {"DeepRAN": _deep, "RANFFN": Stack, "BERT": Bert}


def _spread(model: nn.Module, how: str, mixed: bool) -> nn.Module:
    if how == "DDP" and distributed.get_world_size() > 1:
        return nn.parallel.DistributedDataParallel(model)
    if how == "FSDP2":
        policy = MixedPrecisionPolicy(torch.bfloat16, torch.float32) if mixed else None
        options: dict[str, Any] = {} if policy is None else {"mp_policy": policy}
        for block in getattr(model, "layers", getattr(model, "blocks", ())):
            fully_shard(block, **options)
        fully_shard(model, **options)
    return model


def train(
    model: str, how: str, pieces: int = 1, mixed: bool = False, compiled: bool = False
) -> Any:
    """Take some steps on this process's rows of each batch; return the losses of whole batches."""
    rank, count = distributed.get_rank(), distributed.get_world_size()
    torch.manual_seed(0)
    network = _spread(MODELS[model](), how, mixed)
    run: Any = torch.compile(network) if compiled else network
    optimizer = torch.optim.AdamW(ra.parameter_groups(network, 3e-3, 0.01))
    generator = torch.Generator().manual_seed(1)
    losses = []
    for _ in range(_STEPS):
        x = torch.randn(_BATCH, 16, generator=generator)
        y = torch.sin(x[:, :1]) + x[:, 1:2] * x[:, 2:3]
        optimizer.zero_grad()
        total = torch.zeros(())
        for n, rows in enumerate(torch.arange(_BATCH)[rank::count].chunk(pieces), 1):
            last = n == pieces
            if how == "FSDP2":
                network.set_requires_gradient_sync(last)  # type: ignore[operator]
            waits = network.no_sync() if how == "DDP" and count > 1 and not last else nullcontext()
            autocast = torch.autocast("cpu", torch.bfloat16, enabled=mixed and how != "FSDP2")
            with waits:
                with autocast:
                    out = run(x[rows])
                loss = nn.functional.mse_loss(out.float(), y[rows]) / pieces
                loss.backward()
            total += loss.detach()
        optimizer.step()
        distributed.all_reduce(total)
        losses.append(float(total) / count)
    return losses


def _cases(small: int, compiled: int) -> list[dict[str, Any]]:
    names = ("DeepRAN",) if small else MODELS
    ways = ({}, {"pieces": 2}, {"mixed": True})
    cases = [{"model": m, "how": h, **w} for m in names for h in ("DDP", "FSDP2") for w in ways]
    if compiled:
        cases += [{"model": m, "how": h, "compiled": True}
                  for m in ("RANFFN", "DeepRAN") for h in ("DDP", "FSDP2")]  # fmt: skip
    return cases


def _tried(case: dict[str, Any]) -> Any:
    try:
        return train(**case)
    except Exception as error:
        return f"{type(error).__name__}: {error}"[:300]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--worker", nargs=3)
    parser.add_argument("--smoke", action="store_true")
    options = parser.parse_args()
    if options.worker:
        folder, small, compiled = options.worker
        cases = _cases(int(small), int(compiled))
        work(folder, lambda: [_tried(case) for case in cases])
        return
    small, rows = int(options.smoke), []
    alone = gathered(MODULE, 1, small, 0)[0]
    plain = {c["model"]: r for c, r in zip(_cases(small, 0), alone, strict=True) if len(c) == 2}
    for count in (2,) if small else (2, 4):
        compiled = int(count == 2 and not small)
        found = gathered(MODULE, count, small, compiled)[0]
        for case, losses in zip(_cases(small, compiled), found, strict=True):
            row: Result = {"processes": count, "pieces": 1, "mixed": False, "compiled": False}
            row |= case
            if isinstance(losses, str):
                row["error"] = losses
            else:
                first = plain[case["model"]]
                apart = max(abs(a - b) for a, b in zip(losses, first, strict=True))
                row |= {"loss": apart / first[0], "losses": losses}
            rows.append(row)
    write("processes_sharded_smoke" if small else "processes_sharded", {"rows": rows})


if __name__ == "__main__":
    main()
