"""The tables under RAN_DATA/tabular, their folds, and the metric of each task."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, roc_auc_score, root_mean_squared_error
from sklearn.model_selection import KFold, StratifiedKFold

# Parts of the target, row numbers and keys: they give the answer away or name the row.
DROPPED = {
    "bike_sharing_hour": ["casual", "registered", "instant", "dteday"],
    "kc_house_sales": ["id"],
}
# Whole numbers that are names of things, as TabArena's metadata has it.
CATEGORICAL = {"Amazon_employee_access": "all"}
DATES = {"kc_house_sales": ["date"], "Marketing_Campaign": ["Dt_Customer"]}
# The recipe was tried on these while it was made; the others were only measured.
TUNED = (
    "california_housing", "concrete_compressive_strength", "diamonds", "bike_sharing_hour",
    "kin8nm", "ccpp_power_plant", "miami_housing", "adult", "churn", "credit-g", "splice",
    "students_dropout_and_academic_success", "Amazon_employee_access", "auto_mpg",
    "heart_statlog", "HR_Analytics_Job_Change_of_Data_Scientists", "yacht_hydrodynamics",
    "diabetes", "anneal", "qsar-biodeg", "Marketing_Campaign", "spambase", "phoneme",
    "polish_companies_bankruptcy", "coil2000_insurance_policies", "jm1", "naval_propulsion",
    "in_vehicle_coupon_recommendation", "credit_card_clients_default",
)  # fmt: skip
SMALL = 1000  # rows fitted below which a table counts as small, and is split three times
FOLDS = 3


@dataclass(frozen=True)
class Table:
    """One table of the manifest."""

    name: str
    path: Path
    task: str
    target: str
    rows: int

    @cached_property
    def data(self) -> tuple[pd.DataFrame, np.ndarray]:
        """Inputs as a frame, and the target: numbers, or codes of the classes."""
        frame = pd.read_csv(self.path).drop(columns=DROPPED.get(self.name, []))
        y = frame.pop(self.target)
        for name in DATES.get(self.name, []):
            frame[name] = pd.to_datetime(frame[name].str.replace("T000000", ""))
        if self.name in CATEGORICAL:
            frame = frame.astype(str).astype("category")
        if self.task == "regression":
            return frame, y.to_numpy(float)
        return frame, np.unique(y.astype(str), return_inverse=True)[1]

    @property
    def small(self) -> bool:
        """Whether fewer than a thousand rows are fitted."""
        return self.rows * (FOLDS - 1) / FOLDS < SMALL

    @property
    def folds(self) -> int:
        """How many fits there are: three, nine for a small table."""
        return FOLDS * (3 if self.small else 1)

    def split(self, fold: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the rows to fit and the rows to test."""
        X, y = self.data
        kind = KFold if self.task == "regression" else StratifiedKFold
        cut = kind(FOLDS, shuffle=True, random_state=fold // FOLDS).split(X, y)
        return list(cut)[fold % FOLDS]

    @property
    def metric(self) -> str:
        """TabArena's metric for the task."""
        return {"regression": "rmse", "binary": "roc_auc", "multiclass": "log_loss"}[self.task]

    def error(self, y: np.ndarray, predicted: np.ndarray) -> dict[str, float]:
        """Return the metric as an error (less is better), and the log loss of a classifier."""
        if self.task == "regression":
            return {"error": float(root_mean_squared_error(y, predicted))}
        classes = np.arange(predicted.shape[1])
        loss = float(log_loss(y, np.clip(predicted, 1e-7, 1), labels=classes))
        if self.task == "binary":
            return {"error": 1 - float(roc_auc_score(y, predicted[:, 1])), "log_loss": loss}
        return {"error": loss, "log_loss": loss}


def tables() -> Iterator[Table]:
    """Yield all tables of the manifest, small ones first."""
    root = os.environ.get("RAN_DATA")
    path = Path(root or "") / "tabular" / "manifest.csv"
    if root is None or not path.exists():
        raise FileNotFoundError(
            f"no table of contents at $RAN_DATA/tabular/manifest.csv (RAN_DATA is {root}); "
            "set RAN_DATA to a folder that holds the tables; the manifest lists name, file, task, "
            "target and rows of each, docs/results/tabular.md says where each comes from"
        )
    for row in pd.read_csv(path).sort_values("rows").itertuples():
        yield Table(row.name, path.parent / row.file, row.task, row.target, row.rows)
