"""DeiT from scratch with GELU, RAN-FFN, RAN-FFN+ and KAT-style layers: one recipe, equal sizes.

python -m experiments.vit.deit [--recipe cifar10] [--kinds gelu ran kat ran_plus] [--seeds 0 1 2]

A recipe is a file in this folder: `cifar10.toml` is what is recorded here, `imagenet.toml` the
paper's. Rows go to experiments/results/vit_<recipe>.csv, each run as soon as it is there; a second
call goes on. Needs transformers 5 and RAN_DATA (--smoke does not). On several processes:
torchrun --nproc-per-node 4 -m experiments.vit.deit --recipe imagenet
"""

from __future__ import annotations

import functools
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import distributed

import rational_anova as ra
from experiments.results import read_config
from experiments.table import Row, Table, arguments, run
from experiments.vit import data as sources
from experiments.vit.models import KINDS, TRAINED, Settings, build
from experiments.vit.training import train
from rational_anova import images

KEY = ("kind", "seed")


def recipe(name: str) -> Settings:
    """Return a recipe of this folder."""
    return read_config(Path(__file__).parent / f"{name}.toml")


@functools.lru_cache(maxsize=1)
def _data(name: str) -> sources.Memory | sources.Folders:
    settings = recipe(name)
    return sources.load(settings["data"], settings["model"]["image_size"])


def work(kind: str, seed: int, name: str, folder: Path | None = None, made: Any = None) -> Row:
    """Train one model."""
    settings, data = made if made is not None else (recipe(name), _data(name))
    own = dict(settings.get("variants", {}).get(kind, {}))  # a kind with rates of its own
    model = build(own.pop("kind", kind), settings["model"], settings["kinds"], seed)
    checkpoint = None if folder is None else folder / f"{name}_{kind}_{seed}.pt"
    size = settings["model"]["image_size"]
    flops = ra.count_flops(model, (1, 3, size, size)).total
    print(f"{kind}, seed {seed}", flush=True)
    classes = settings["model"]["num_labels"]
    found = train(model, data, {**settings["train"], **own}, classes, seed, checkpoint)
    parameters = ra.count_parameters(model)
    row = {"kind": kind, "seed": seed, "parameters": parameters, "flops": flops, **found}
    return {**row, "epochs": settings["train"]["epochs"], "torch": torch.__version__}


def smoke(name: str = "cifar10") -> None:
    """Train every kind for one epoch, much smaller: on made-up images, or those of a folder."""
    settings = recipe(name)
    folders = "folder" in settings["data"]
    size = 32 if folders else 8
    settings["model"] |= {"image_size": size, "patch_size": size // 2, "hidden_size": 12}
    settings["model"] |= {"intermediate_size": 24, "num_hidden_layers": 1}
    settings["kinds"] |= {"groups": 2, "pairs": 3, "plus_hidden": 20}
    settings["train"] |= {"epochs": 1, "batch_size": 16, "erase": 0.5, "average": 0.9}
    data: sources.Memory | sources.Folders
    if folders:
        settings["data"] |= {"workers": 0, "held": 0.25}
        data = sources.load(settings["data"], size)
    else:
        settings["model"]["num_labels"] = 2
        torch.manual_seed(0)
        labels = torch.arange(40) % 2
        made = torch.randint(256, (40, 3, 8, 8), dtype=torch.uint8)
        part = images.ImageSet(made, labels, ("one", "other"))
        data = sources.Memory(settings["data"], part, part)
    kinds = TRAINED[:2] if folders else KINDS
    tasks = [{"kind": k, "seed": 0, "name": "", "made": (settings, data)} for k in kinds]
    with tempfile.TemporaryDirectory() as folder:
        _run(tasks, 1, lambda: Table("smoke", KEY, study="vit", folder=Path(folder)))


def main() -> None:
    parser = arguments(__doc__, jobs=1)
    parser.add_argument("--recipe", default="cifar10")
    parser.add_argument("--kinds", nargs="+", help="all by default, the recipe's variants included")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--checkpoints", type=Path, help="a folder to keep unfinished runs in")
    options = parser.parse_args()
    if options.smoke:
        smoke(options.recipe)
        return
    variants = recipe(options.recipe).get("variants", {})
    kinds = options.kinds or [*TRAINED, *variants]
    if unknown := set(kinds) - {*KINDS, *variants}:
        parser.error(f"no kind {sorted(unknown)[0]!r}; there are {', '.join((*KINDS, *variants))}")
    tasks = [
        {"kind": kind, "seed": seed, "name": options.recipe, "folder": options.checkpoints}
        for seed in options.seeds
        for kind in kinds
    ]
    _run(tasks, options.jobs, lambda: Table(options.recipe, KEY, study="vit"))


def _run(tasks: list[dict[str, Any]], jobs: int, results: Callable[[], Table]) -> None:
    """Do what the table has not yet; of several processes all work, and the first one writes."""
    table = results()
    if "WORLD_SIZE" not in os.environ:
        run(table, work, tasks, jobs)
        return
    distributed.init_process_group()
    first = distributed.get_rank() == 0
    for task in tasks:
        held: list[Any] = [table.has(**{key: task[key] for key in KEY}) if first else None]
        distributed.broadcast_object_list(held)
        if not held[0]:
            row = work(**task)
            if first:
                table.add(row)
    distributed.destroy_process_group()


if __name__ == "__main__":
    main()
