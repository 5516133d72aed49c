"""What was aimed at before anything was measured, and what came out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from experiments.tabular.duels import Duel, duel, times
from experiments.tabular.recorded import NAMES

FASTER = 10.0  # times the seconds of ours that EBM is to take


@dataclass(frozen=True)
class Mark:
    """An aim and what was found.

    Args:
        aim: in words.
        found: in words.
        met: whether; None if nothing is recorded.
    """

    aim: str
    found: str
    met: bool | None


def marks(frame: pd.DataFrame) -> Iterator[Mark]:
    """Yield the marks: shares of the tables, and EBM's seconds."""
    for ours, peer, share in (
        ("ran", "ebm", 0.75), ("ran", "pygam", 0.95), ("ran", "lightgbm", 0.5),
        ("ran_deep", "lightgbm", 0.7),
    ):  # fmt: skip
        found = duel(frame, ours, peer)
        aim = f"`{ours}` beats {NAMES[peer]} on {share:.0%} of the tables"
        yield Mark(aim, said(found), found.won >= share if found.tables else None)
        if peer == "ebm":
            taken = times(frame, ours, peer)
            words = f"{taken.median:.3g} times (median), {taken.mean:.3g} times (geometric mean)"
            aim = f"`ran` takes a tenth of EBM's seconds: EBM takes {FASTER:.0f} times as long"
            met = min(taken.median, taken.mean) >= FASTER if taken.tables else None
            yield Mark(aim, f"{words}, {taken.tables} tables" if taken.tables else "", met)
    found = duel(frame, "ran_deep", "catboost")
    aim = "`ran_deep` is level with CatBoost: half of the tables, ties half"
    words = f"{said(found)}; ties half: {found.level:.0%}" if found.tables else ""
    yield Mark(aim, words, found.level >= 0.5 if found.tables else None)


def said(found: Duel) -> str:
    """Return wins out of tables, and how many of them because the peer gave no result."""
    if not found.tables:
        return ""
    text = f"{found.wins} of {found.tables} ({found.won:.0%})"
    if found.without:
        left = found.tables - found.without
        text += (
            f", {found.without} of them because the peer gave no result; "
            f"without those {found.wins - found.without} of {left} ({found.finished:.0%})"
        )
    return text
