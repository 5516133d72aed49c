"""The recorded comparison: which models, which tables, which folds.

Everything is read from `experiments/results/tabular_compare.csv`; the tables themselves are not
needed.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pandas as pd

from experiments import results
from experiments.tabular.tables import SMALL, TUNED

NAMES = {
    "ran": "RAN", "ran_deep": "RAN, deep", "ebm": "EBM", "pygam": "pyGAM",
    "lightgbm": "LightGBM", "catboost": "CatBoost", "linear": "linear", "mlp": "MLP",
}  # fmt: skip
OURS = ("ran", "ran_deep")
PEERS = ("ebm", "pygam", "lightgbm", "catboost", "linear", "mlp")
TABARENA = (
    "Amazon_employee_access", "anneal", "Another-Dataset-on-used-Fiat-500", "Bank_Customer_Churn",
    "churn", "coil2000_insurance_policies", "concrete_compressive_strength", "credit-g",
    "credit_card_clients_default", "diabetes", "diamonds", "Food_Delivery_Time",
    "HR_Analytics_Job_Change_of_Data_Scientists", "in_vehicle_coupon_recommendation", "jm1",
    "Marketing_Campaign", "miami_housing", "MIC", "polish_companies_bankruptcy", "qsar-biodeg",
    "splice", "students_dropout_and_academic_success", "website_phishing",
)  # fmt: skip
FEWER = "4 bags"  # the remark on an EBM with fewer bags than its own fourteen
_COLUMNS = ["table", "task", "model", "fold", "metric", "error", "fit_seconds", "predict_seconds",
            "rows", "columns", "note", "version"]  # fmt: skip


def read() -> pd.DataFrame:
    """Return the recorded rows, none if there are none; `failed` where a model gave no result."""
    path = results.FOLDER / "tabular_compare.csv"
    frame = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=_COLUMNS)
    frame = frame.astype({"error": float, "fit_seconds": float, "predict_seconds": float})
    frame["note"] = frame["note"].fillna("").astype(str)
    frame["failed"] = frame["error"].isna()
    return frame.drop_duplicates(["table", "model", "fold"], keep="last")


def models_of(frame: pd.DataFrame) -> list[str]:
    """Return the models that are there, ours first."""
    return [model for model in NAMES if (frame["model"] == model).any()]


def by_fold(frame: pd.DataFrame, column: str = "error") -> pd.DataFrame:
    """Return a column by (table, fold) and model: NaN where not run, infinite where it failed."""
    values = frame.assign(**{column: frame[column].where(~frame["failed"], np.inf)})
    return values.pivot(index=["table", "fold"], columns="model", values=column)


def on_common_folds(
    frame: pd.DataFrame, models: Iterable[str], column: str = "error"
) -> pd.DataFrame:
    """Return the mean by table over the folds that all the models have."""
    models = list(models)
    if not set(models) <= set(frame["model"]):
        return pd.DataFrame(columns=models, dtype=float)
    return by_fold(frame, column)[models].dropna().groupby("table").mean()


def small_tables(frame: pd.DataFrame) -> list[str]:
    """Return the tables with fewer than a thousand fitted rows."""
    rows = frame.groupby("table")["rows"].max()
    return list(rows.index[rows < SMALL])


def groups(frame: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Return the rows of the groups of tables that are looked at apart."""
    table = frame["table"]
    small = table.isin(small_tables(frame))
    return {
        "all tables": frame,
        f"under {SMALL:,} fitted rows": frame[small],
        f"{SMALL:,} fitted rows and more": frame[~small],
        "of TabArena": frame[table.isin(TABARENA)],
        "tuned on": frame[table.isin(TUNED)],
        "only measured": frame[~table.isin(TUNED)],
    }


def with_all_bags(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of the tables on which EBM had all its bags, and gave a result."""
    less = (frame["model"] == "ebm") & (frame["failed"] | (frame["note"] == FEWER))
    return frame[~frame["table"].isin(frame.loc[less, "table"])]
