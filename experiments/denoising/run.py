"""Train the networks of config.toml on PolyU's pairs; one row a run.

A run that is recorded is not repeated. Weights are kept beside the results, for the example
pictures, and are not part of the repository. Needs RAN_DATA (--smoke does not).

python -m experiments.denoising.run [--models mlp_50k ...] [--seeds 0 1 2] [--weights]
"""

from __future__ import annotations

import argparse

import torch
from safetensors.torch import save

from experiments.denoising import config
from experiments.denoising.pictures import Parts, made_up, real
from experiments.denoising.recorded import NOISY, chosen_rates, read, weights
from experiments.denoising.train import measured, quality
from experiments.files import write_whole
from experiments.table import Table

KEY = ("model", "rate", "seed")


def record_noisy(table: Table, parts: Parts) -> None:
    """Write down how good the pictures are before."""
    if not table.has(model=NOISY, rate=0, seed=0):
        validation, test = quality(None, parts.validation), quality(None, parts.test, similar=True)
        table.add(
            {"model": NOISY, "family": NOISY, "rate": 0, "seed": 0, "parameters": 0, "steps": 0,
             "validation_psnr": f"{validation['psnr']:.4f}", "test_psnr": f"{test['psnr']:.4f}",
             "test_ssim": f"{test['ssim']:.5f}"}
        )  # fmt: skip


def rates_of(
    setting: config.Setting, protocol: config.Protocol, seed: int, table: Table
) -> tuple[float, ...]:
    """Return all rates where they are to be tried, else the one chosen for the family."""
    if setting.tuned and seed == 0:
        return protocol.rates
    return (chosen_rates(read(table.path)).get(setting.family, protocol.rates[0]),)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--models", nargs="+", help="names in config.toml; all by default")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0])
    parser.add_argument(
        "--weights", action="store_true", help="repeat recorded runs whose weights are not kept"
    )
    parser.add_argument("--smoke", action="store_true", help="a small run, for the tests")
    options = parser.parse_args()
    protocol, settings = config.read()
    if options.smoke:
        smoke_models = ("ran_paper", "mlp_10k", "cnn_10k", "ran_conv_10k")
        protocol = protocol._replace(steps=2, crops=2, size=32, checks=1, margin=8, rates=(1e-3,))
        options.models = options.models or smoke_models
    unknown = set(options.models or ()) - {setting.name for setting in settings}
    if unknown:
        parser.error(f"config.toml has no model {', '.join(sorted(unknown))}")
    torch.set_num_threads(1)
    parts = made_up() if options.smoke else real()
    name = "smoke" if options.smoke else "runs"
    table = Table(name, KEY, fresh=options.smoke, study="denoising")
    record_noisy(table, parts)
    for seed in options.seeds:
        for setting in settings:
            if options.models and setting.name not in options.models:
                continue
            for rate in rates_of(setting, protocol, seed, table):
                there = table.has(model=setting.name, rate=rate, seed=seed)
                file = weights(setting.name, rate, seed)
                if there and (file.exists() or not options.weights):
                    continue
                row, model = measured(setting, protocol, parts, rate, seed)
                if not options.smoke:
                    write_whole(file, save(model.state_dict()))
                if not there:
                    table.add(row)
                print("  ".join(f"{k}={row[k]}" for k in list(row)[:9]), flush=True)


if __name__ == "__main__":
    main()
