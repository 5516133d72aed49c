"""The recorded runs: which rate validation chose, and what came of it on the test pictures."""

from __future__ import annotations

from pathlib import Path

import pandas as pd

from experiments import results

NOISY = "noisy"  # the row of the pictures as they are
NAMES = {
    "ran_paper": "RAN, the paper's", "ran": "RAN", "ran_local": "RAN, local pairs",
    "ran_p8": "RAN, patches of 8", "ran_conv": "RAN, convolutions",
    "mlp": "MLP", "mlp_pixels": "MLP on pixels", "mlp_p8": "MLP, patches of 8",
    "kan": "KAN", "cnn": "CNN", "cnn_blocks": "CNN, GELU blocks",
}  # fmt: skip


def path() -> Path:
    """Return the file of the runs."""
    return results.FOLDER / "denoising_runs.csv"


def weights(name: str, rate: float, seed: int) -> Path:
    """Return where the weights of a run are kept."""
    return results.FOLDER / "denoising_weights" / f"{name}_{rate:g}_{seed}.safetensors"


def read(file: Path | None = None) -> pd.DataFrame:
    """Return all rows, none if nothing is recorded."""
    file = file or path()
    columns = ["model", "family", "rate", "seed", "parameters", "validation_psnr", "test_psnr",
               "test_ssim", "cpu_seconds"]  # fmt: skip
    return pd.read_csv(file) if file.exists() else pd.DataFrame(columns=columns)


def chosen_rates(frame: pd.DataFrame) -> dict[str, float]:
    """Return the rate of each family that did best on validation, where several were tried."""
    first = frame[(frame["seed"] == 0) & (frame["family"] != NOISY)]
    tried = first[first.groupby("model")["rate"].transform("nunique") > 1]
    tried = first if tried.empty else tried
    best = tried.sort_values("validation_psnr").drop_duplicates("family", keep="last")
    return dict(zip(best["family"], best["rate"].astype(float), strict=True))


def chosen(frame: pd.DataFrame | None = None) -> pd.DataFrame:
    """Return one row a model, at the chosen rate: means and the spread over the seeds.

    Columns: family, parameters, rate, seeds, validation, test, low, high, ssim, cpu_seconds.
    """
    frame = read() if frame is None else frame
    kept = frame[frame["rate"] == frame["family"].map(chosen_rates(frame))]
    groups = kept.groupby("model", sort=False)
    table = groups.agg(
        family=("family", "first"), parameters=("parameters", "first"), rate=("rate", "first"),
        seeds=("seed", "size"), validation=("validation_psnr", "mean"), test=("test_psnr", "mean"),
        low=("test_psnr", "min"), high=("test_psnr", "max"), ssim=("test_ssim", "mean"),
        cpu_seconds=("cpu_seconds", "mean"),
    )  # fmt: skip
    order = list(NAMES)
    return table.sort_values(
        ["family", "parameters"], key=lambda c: c.map(order.index) if c.name == "family" else c
    )


def noisy(frame: pd.DataFrame | None = None) -> pd.Series | None:
    """Return the row of the pictures as they are."""
    frame = read() if frame is None else frame
    rows = frame[frame["family"] == NOISY]
    return None if rows.empty else rows.iloc[0]
