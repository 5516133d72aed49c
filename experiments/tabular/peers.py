"""The peers, each with its defaults, on the same frames: numbers, categories, dates, gaps."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

Predict = Callable[[pd.DataFrame], np.ndarray]
EBM_LIMIT = 300.0  # seconds


def plain(frame: pd.DataFrame) -> pd.DataFrame:
    """Return dates as days, booleans as numbers, text as categories; plain names."""
    result = {}
    for at, (name, column) in enumerate(frame.items()):
        if pd.api.types.is_datetime64_any_dtype(column):
            column = (column - pd.Timestamp("2000-01-01")) / pd.Timedelta(days=1)
        elif pd.api.types.is_bool_dtype(column):
            column = column.astype(float)
        elif not pd.api.types.is_numeric_dtype(column):
            column = column.astype(object).where(column.notna(), "missing").astype(str)
            column = column.astype("category")
        result[f"{at}_{re.sub(r'[^A-Za-z0-9]+', '_', str(name))}"] = column
    return pd.DataFrame(result)


def levels(train: pd.DataFrame) -> dict[str, pd.Index]:
    """Return the categories of each column of categories."""
    return {c: train[c].cat.categories for c in train if train[c].dtype == "category"}


def coded(frame: pd.DataFrame, known: dict[str, pd.Index]) -> pd.DataFrame:
    """Return a frame whose categories are those of the training rows; others are missing."""
    return frame.assign(**{c: pd.Categorical(frame[c].astype(str), k) for c, k in known.items()})


def prepared(most: int) -> Any:
    filled = SimpleImputer(add_indicator=True, keep_empty_features=True)
    indicators = OneHotEncoder(
        handle_unknown="infrequent_if_exist", max_categories=most, sparse_output=False
    )
    return make_column_transformer(
        (make_pipeline(filled, StandardScaler()), make_column_selector(dtype_include="number")),
        (indicators, make_column_selector(dtype_include="category")),
    )


def _through(model: Any, X: pd.DataFrame, y: np.ndarray, task: str) -> Predict:
    model.fit(X, y)
    return model.predict if task == "regression" else model.predict_proba


def linear(X: pd.DataFrame, y: np.ndarray, task: str, seed: int) -> tuple[Predict, str]:
    """Ridge by cross-validation, or logistic regression, on standardised and one-hot columns."""
    last = (
        RidgeCV(np.logspace(-3, 4, 15))
        if task == "regression"
        else LogisticRegression(max_iter=2000)
    )
    return _through(make_pipeline(prepared(100), last), X, y, task), ""


def mlp(X: pd.DataFrame, y: np.ndarray, task: str, seed: int) -> tuple[Predict, str]:
    """Two hidden layers of 128, early stopping on a tenth of the rows."""
    options = dict(hidden_layer_sizes=(128, 128), early_stopping=True, random_state=seed)
    steps = prepared(100)
    if task != "regression":
        return _through(make_pipeline(steps, MLPClassifier(**options)), X, y, task), ""
    mean, scale = y.mean(), y.std()
    predict = _through(make_pipeline(steps, MLPRegressor(**options)), X, (y - mean) / scale, task)
    return lambda rows: predict(rows) * scale + mean, ""


def lightgbm(X: pd.DataFrame, y: np.ndarray, task: str, seed: int) -> tuple[Predict, str]:
    """LightGBM, its own treatment of categories and gaps."""
    from lightgbm import LGBMClassifier, LGBMRegressor

    kind = LGBMRegressor if task == "regression" else LGBMClassifier
    known = levels(X)
    predict = _through(kind(n_jobs=1, random_state=seed, verbose=-1), coded(X, known), y, task)
    return lambda rows: predict(coded(rows, known)), ""


def catboost(X: pd.DataFrame, y: np.ndarray, task: str, seed: int) -> tuple[Predict, str]:
    """CatBoost, its own treatment of categories."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    kind = CatBoostRegressor if task == "regression" else CatBoostClassifier
    names = list(levels(X))

    def texts(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(**{c: frame[c].astype(str) for c in names})

    model = kind(
        thread_count=1, random_seed=seed, verbose=0, allow_writing_files=False, cat_features=names
    )
    predict = _through(model, texts(X), y, task)
    return lambda rows: predict(texts(rows)), ""


def ebm(X: pd.DataFrame, y: np.ndarray, task: str, seed: int) -> tuple[Predict, str, float]:
    """EBM of interpret with its 14 bags; with 4 where 14 would take more than five minutes."""
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    kind = ExplainableBoostingRegressor if task == "regression" else ExplainableBoostingClassifier

    def texts(frame: pd.DataFrame) -> pd.DataFrame:
        return frame.assign(**{c: frame[c].astype(str) for c in levels(frame)})

    def fit(bags: int) -> tuple[Predict, float]:
        start = time.process_time()
        model = kind(n_jobs=1, random_state=seed, outer_bags=bags)
        return _through(model, texts(X), y, task), time.process_time() - start

    predict, seconds = fit(4)
    note = "4 bags"
    if seconds * 14 / 4 <= EBM_LIMIT:  # the seconds of the fit that counts, not of both
        whole, taken = fit(14)
        if taken <= EBM_LIMIT:
            predict, seconds, note = whole, taken, ""
    return lambda rows: predict(texts(rows)), note, seconds


def pygam(X: pd.DataFrame, y: np.ndarray, task: str, seed: int) -> tuple[Predict, str]:
    """pyGAM: splines for numbers, factors for categories; its grid of penalties for few columns."""
    from pygam import LinearGAM, LogisticGAM, f, s
    from pygam.terms import TermList

    known = {c: X[c].astype(str).value_counts().index[:50] for c in levels(X)}
    medians = X.select_dtypes("number").median().fillna(0.0)
    used = [c for c in X if X[c].nunique() > 1]

    def matrix(frame: pd.DataFrame) -> np.ndarray:
        columns = []
        for c in used:
            if c in known:  # what is rare or new counts as the commonest
                codes = pd.Categorical(frame[c].astype(str), known[c]).codes
                columns.append(np.maximum(codes, 0).astype(float))
            else:
                columns.append(frame[c].fillna(medians[c]).to_numpy(float))
        return np.stack(columns, 1)

    A = matrix(X)
    flat = A.max(0) > A.min(0)
    A = A[:, flat]
    terms = [f(k) if c in known else s(k) for k, c in enumerate(np.array(used)[flat])]
    grid = sum(20 if c not in known else len(known[c]) for c in np.array(used)[flat]) <= 200

    def one(kind: Any, target: np.ndarray) -> Any:
        model = kind(TermList(*terms))
        if grid and len(A) * len(terms) < 150_000:
            return model.gridsearch(A, target, progress=False)
        return model.fit(A, target)

    note = "grid" if grid and len(A) * len(terms) < 150_000 else "no grid"
    if task == "regression":
        model = one(LinearGAM, y)
        return lambda rows: model.predict(matrix(rows)[:, flat]), note
    models = [one(LogisticGAM, (y == k).astype(float)) for k in range(y.max() + 1)][
        -1 if task == "binary" else 0 :
    ]

    def predict(rows: pd.DataFrame) -> np.ndarray:
        p = np.stack([m.predict_proba(matrix(rows)[:, flat]) for m in models], 1)
        p = np.concatenate([1 - p, p], 1) if task == "binary" else p + 1e-9
        return p / p.sum(1, keepdims=True)

    return predict, note


PEERS = {
    "linear": linear,
    "lightgbm": lightgbm,
    "catboost": catboost,
    "mlp": mlp,
    "pygam": pygam,
    "ebm": ebm,
}
