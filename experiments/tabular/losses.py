"""Losses of counts, amounts, shares, quantiles, ordered classes and waiting times, beside peers.

Tables that come with statsmodels and scikit-learn, and simulated claims whose truth is known. Each
is split three times, two thirds for the fit. The error on the rest is the mean deviance of the loss
(the pinball loss for quantiles, log loss for ordered classes, one less the concordance for waiting
times); peers have their defaults, and the same family. statsmodels' models are linear.

python -m experiments.tabular.losses [--smoke] [--only claims visits ...]
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import log_loss, mean_pinball_loss, mean_tweedie_deviance

import rational_anova as ra
from experiments.results import Log

NAME = "tabular_losses"
SPLITS = 3
MOST = 6000  # rows of a table
POWERS = {"poisson": 1.0, "gamma": 2.0, "tweedie": 1.5}
LEVEL = 0.9  # of the quantile


@dataclass(frozen=True)
class Table:
    """A table with a loss.

    Args:
        loss: of the fit and of the comparison.
        x: inputs, all numbers.
        y: target; for `cox` times, with `known` the events.
        known: exposure, trials or events; None for none.
        truth: the mean for one unit of exposure, where it is known.
    """

    loss: str
    x: pd.DataFrame
    y: np.ndarray
    known: np.ndarray | None = None
    truth: np.ndarray | None = None


def drivers(rows: int, seed: int = 0) -> tuple[pd.DataFrame, np.ndarray, np.random.Generator]:
    """Return drivers and cars, and the log of their yearly rate of claims."""
    rng = np.random.default_rng(seed)
    x = pd.DataFrame({
        "age": rng.uniform(18, 85, rows).round(), "bonus": rng.integers(50, 150, rows),
        "power": rng.integers(4, 13, rows), "density": rng.lognormal(5, 1.5, rows).round() + 1,
        "car": rng.integers(0, 20, rows), "noise": rng.normal(size=rows),
    })  # fmt: skip
    f = -2.2 + 0.9 * np.exp(-(x.age - 18) / 8) + 0.015 * (x.bonus - 80).clip(0)
    f += 0.12 * np.log(x.density / 150) + 0.25 * np.sin(x.car / 3)
    f += 0.6 * ((x.age < 30) & (x.power > 9))
    return x, f.to_numpy(), rng


def claims(rows: int) -> Table:
    x, f, rng = drivers(rows)
    years = rng.uniform(0.05, 1, rows)
    return Table("poisson", x, rng.poisson(np.exp(f) * years).astype(float), years, np.exp(f))


def spread_claims(rows: int) -> Table:
    x, f, rng = drivers(rows, 1)
    mean = 4 * np.exp(f)
    return Table(
        "negative_binomial", x, rng.poisson(mean * rng.gamma(1, 1, rows)) * 1.0, None, mean
    )


def sizes(rows: int) -> Table:
    x, f, rng = drivers(rows, 2)
    mean = 2000 * np.exp(0.5 * f)
    return Table("gamma", x, rng.gamma(1.5, mean / 1.5), None, mean)


def costs(rows: int) -> Table:
    x, f, rng = drivers(rows, 3)
    count = rng.poisson(3 * np.exp(f))
    y = np.array([rng.gamma(1.0, 1000, k).sum() for k in count])
    return Table("tweedie", x, y, None, 3000 * np.exp(f))


def visits(rows: int) -> Table:
    """Visits to the doctor, of the RAND health insurance experiment (statsmodels)."""
    from statsmodels.datasets import randhie

    table = randhie.load_pandas().data.sample(rows, random_state=0)
    return Table("poisson", table.drop(columns="mdvis"), table["mdvis"].to_numpy(float))


def spread_visits(rows: int) -> Table:
    found = visits(rows)
    return Table("negative_binomial", found.x, found.y)


def affairs(rows: int) -> Table:
    """Affairs in a year, most of them zero (Fair's survey, statsmodels)."""
    from statsmodels.datasets import fair

    table = fair.load_pandas().data.sample(rows, random_state=0)
    return Table("tweedie", table.drop(columns="affairs"), table["affairs"].to_numpy(float))


def marriages(rows: int) -> Table:
    """How happy a marriage is, in five grades (Fair's survey, statsmodels)."""
    from statsmodels.datasets import fair

    table = fair.load_pandas().data.sample(rows, random_state=0)
    return Table("ordinal", table.drop(columns="rate_marriage"), table["rate_marriage"].to_numpy())


def schools(rows: int) -> Table:
    """Pupils above the median in mathematics, by districts of California (statsmodels)."""
    from statsmodels.datasets import star98

    table = star98.load_pandas()
    trials = table.endog.sum(axis=1).to_numpy(float)
    return Table("binomial", table.exog, table.endog.iloc[:, 0].to_numpy(float) / trials, trials)


def diabetes(rows: int) -> Table:
    """Progress of a disease (scikit-learn): its quantile of 90 %."""
    from sklearn.datasets import load_diabetes

    table = load_diabetes(as_frame=True)
    return Table("quantile", table.data, table.target.to_numpy(float))


def unequal(rows: int) -> Table:
    """A target whose spread goes with an input: its quantile of 90 %."""
    x, f, rng = drivers(rows, 4)
    spread = np.exp(f / 2)
    truth = f + 1.2815515655 * spread
    return Table("quantile", x, f + spread * rng.normal(size=rows), None, truth)


def waiting(rows: int) -> Table:
    x, f, rng = drivers(rows, 5)
    time, end = rng.exponential(np.exp(-f)), rng.exponential(8, rows)
    return Table("cox", x, np.minimum(time, end), (time < end) * 1.0, np.exp(f))


TABLES: dict[str, tuple[Callable[[int], Table], int]] = {
    "claims": (claims, MOST), "spread claims": (spread_claims, MOST), "sizes": (sizes, 3000),
    "costs": (costs, MOST), "visits": (visits, MOST), "spread visits": (spread_visits, MOST),
    "affairs": (affairs, MOST), "schools": (schools, 303), "diabetes": (diabetes, 442),
    "unequal": (unequal, 3000), "marriages": (marriages, 3000), "waiting": (waiting, 3000),
}  # fmt: skip


# -- models: each returns means (for one unit of exposure), quantiles, probabilities or risks


def ours(t: Table, x: pd.DataFrame, y: np.ndarray, known: Any, new: pd.DataFrame) -> np.ndarray:
    if t.loss == "cox":
        return ra.RANSurvival().fit(x, y, known).predict(new)
    if t.loss == "ordinal":
        return ra.RANOrdinal().fit(x, y).predict_proba(new)
    model = ra.RANRegressor(loss=t.loss, quantiles=LEVEL)
    if t.loss == "binomial":
        return model.fit(x, y, known).predict(new)
    return model.fit(x, y, exposure=known).predict(new)


def ebm(t: Table, x: pd.DataFrame, y: np.ndarray, known: Any, new: pd.DataFrame) -> np.ndarray:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    if t.loss == "ordinal":
        found = ExplainableBoostingClassifier(n_jobs=1, random_state=0, interactions=0).fit(x, y)
        return found.predict_proba(new)
    objective = {
        "poisson": "poisson_deviance", "gamma": "gamma_deviance",
        "tweedie": "tweedie_deviance:variance_power=1.5",
    }[t.loss]  # fmt: skip
    model = ExplainableBoostingRegressor(objective=objective, n_jobs=1, random_state=0)
    rate, weight = (y, None) if known is None else (y / known, known)
    return model.fit(x, rate, sample_weight=weight).predict(new)


def pygam(t: Table, x: pd.DataFrame, y: np.ndarray, known: Any, new: pd.DataFrame) -> np.ndarray:
    from pygam import GAM, PoissonGAM

    if t.loss == "poisson":
        fitted = PoissonGAM().fit(x.to_numpy(), y, exposure=known)
        return fitted.predict(new.to_numpy())
    if t.loss == "gamma":
        return GAM(distribution="gamma", link="log").fit(x.to_numpy(), y).predict(new.to_numpy())
    raise KeyError(t.loss)


def linear(t: Table, x: pd.DataFrame, y: np.ndarray, known: Any, new: pd.DataFrame) -> np.ndarray:
    import statsmodels.api as sm
    from statsmodels.duration.api import PHReg
    from statsmodels.miscmodels.ordinal_model import OrderedModel

    middle, scale = x.mean(), x.std() + 1e-12
    a, b = (sm.add_constant((z - middle) / scale, has_constant="add") for z in (x, new))
    if t.loss == "cox":
        fitted = PHReg(y, a.iloc[:, 1:], status=known).fit()
        return b.iloc[:, 1:].to_numpy() @ fitted.params
    if t.loss == "ordinal":
        fitted = OrderedModel(y, a.iloc[:, 1:], distr="logit").fit(method="bfgs", disp=0)
        return np.asarray(fitted.predict(b.iloc[:, 1:]))
    if t.loss == "quantile":
        return np.asarray(sm.QuantReg(y, a).fit(q=LEVEL).predict(b))
    if t.loss == "negative_binomial":
        return np.asarray(sm.NegativeBinomial(y, a).fit(disp=0, maxiter=200).predict(b))
    log = sm.families.links.Log()
    family = {
        "poisson": sm.families.Poisson(), "gamma": sm.families.Gamma(log),
        "tweedie": sm.families.Tweedie(log, 1.5), "binomial": sm.families.Binomial(),
    }[t.loss]  # fmt: skip
    more = {"exposure": known} if t.loss == "poisson" and known is not None else {}
    more |= {"var_weights": known} if t.loss == "binomial" else {}
    return np.asarray(sm.GLM(y, a, family=family, **more).fit().predict(b))


def trees(t: Table, x: pd.DataFrame, y: np.ndarray, known: Any, new: pd.DataFrame) -> np.ndarray:
    import lightgbm

    own = {"num_threads": 1, "verbose": -1}
    if t.loss == "ordinal":
        data = lightgbm.Dataset(x, y - y.min())
        own |= {"objective": "multiclass", "num_class": len(np.unique(y))}
        return np.asarray(lightgbm.train(own, data).predict(new))
    objective = {
        "poisson": {"objective": "poisson"}, "gamma": {"objective": "gamma"},
        "tweedie": {"objective": "tweedie", "tweedie_variance_power": 1.5},
        "quantile": {"objective": "quantile", "alpha": LEVEL},
        "binomial": {"objective": "cross_entropy"},
    }[t.loss]  # fmt: skip
    rate = y / known if t.loss == "poisson" and known is not None else y
    data = lightgbm.Dataset(x, rate, weight=known)
    return np.asarray(lightgbm.train(own | objective, data).predict(new))


MODELS = {"RAN": ours, "EBM": ebm, "pyGAM": pygam, "linear": linear, "LightGBM": trees}
HAVE = {
    "poisson": ("RAN", "EBM", "pyGAM", "linear", "LightGBM"),
    "negative_binomial": ("RAN", "linear"),
    "gamma": ("RAN", "EBM", "pyGAM", "linear", "LightGBM"),
    "tweedie": ("RAN", "EBM", "linear", "LightGBM"),
    "binomial": ("RAN", "linear", "LightGBM"),
    "quantile": ("RAN", "linear", "LightGBM"),
    "ordinal": ("RAN", "EBM", "linear", "LightGBM"),
    "cox": ("RAN", "linear"),
}


def error(t: Table, y: np.ndarray, known: Any, given: np.ndarray) -> float:
    """Return the error of predictions on rows held out."""
    if t.loss == "cox":
        return 1 - concordance(y, known > 0, given)
    if t.loss == "ordinal":
        return float(log_loss(y, given, labels=np.unique(t.y)))
    if t.loss == "quantile":
        return float(mean_pinball_loss(y, given, alpha=LEVEL))
    if t.loss == "binomial":
        p = np.clip(given, 1e-9, 1 - 1e-9)
        each = -2 * known * (y * np.log(p) + (1 - y) * np.log(1 - p))
        return float(each.sum() / known.sum())
    grown = np.maximum(given * (1.0 if known is None else known), 1e-9)
    if t.loss == "negative_binomial":  # of one and the same extra variance, for all
        a = 1.0
        log = np.where(y > 0, y * np.log(np.maximum(y, 1e-300) / grown), 0.0)
        return float(2 * np.mean(log - (y + 1 / a) * np.log((1 + a * y) / (1 + a * grown))))
    return float(mean_tweedie_deviance(y, grown, power=POWERS[t.loss]))


def concordance(time: np.ndarray, seen: np.ndarray, f: np.ndarray) -> float:
    """Return the share of pairs of rows whose order risks f have right."""
    later = seen[:, None] & ((time > time[:, None]) | ((time == time[:, None]) & ~seen))
    apart = f[:, None] - f
    return float(((apart > 0) + 0.5 * (apart == 0))[later].mean())


def constant(t: Table, y: np.ndarray, known: Any, rows: int) -> np.ndarray:
    """Return the guess that knows no input."""
    if t.loss == "cox":
        return np.zeros(rows)
    if t.loss == "ordinal":
        return np.tile([np.mean(y == k) for k in np.unique(t.y)], (rows, 1))
    if t.loss == "quantile":
        return np.full(rows, np.quantile(y, LEVEL))
    weighted = known is not None
    rate = np.average(y, weights=known) if t.loss == "binomial" else y.sum() / (
        known.sum() if weighted else len(y)
    )  # fmt: skip
    return np.full(rows, rate)


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true")
    parser.add_argument("--only", nargs="*", choices=TABLES, default=list(TABLES))
    chosen = parser.parse_args(arguments)
    log = Log(NAME + ("_smoke" if chosen.smoke else ""), fresh=chosen.smoke)
    for split in range(1 if chosen.smoke else SPLITS):
        for name in chosen.only:
            make, rows = TABLES[name]
            _compared(log, name, make(min(rows, 300) if chosen.smoke else rows), split)


def _compared(log: Log, name: str, t: Table, split: int) -> None:
    order = np.random.default_rng(split).permutation(len(t.y))
    cut = 2 * len(order) // 3
    train, test = order[:cut], order[cut:]
    x = t.x.reset_index(drop=True).astype(float)
    known = (None, None) if t.known is None else (t.known[train], t.known[test])
    for model in ("constant", *HAVE[t.loss]):
        key = {"table": name, "loss": t.loss, "rows": len(order), "split": split, "model": model}
        if log.has(**key):
            continue
        start = time.process_time()
        if model == "constant":
            given = constant(t, t.y[train], known[0], len(test))
        else:
            given = MODELS[model](t, x.iloc[train], t.y[train], known[0], x.iloc[test])
        seconds = round(time.process_time() - start, 2)
        found = {"error": error(t, t.y[test], known[1], given), "seconds": seconds}
        if t.truth is not None:
            found["truth"] = _away(t, given, t.truth[test])
        log.add(**key, **found)


def _away(t: Table, given: np.ndarray, truth: np.ndarray) -> float:
    """Return the root mean square distance of f from the true one (of risks, up to a constant)."""
    if t.loss == "quantile":
        return float(np.sqrt(np.mean((given - truth) ** 2)))
    f = given if t.loss == "cox" else np.log(np.maximum(given, 1e-9))
    away = f - np.log(truth)
    return float(np.std(away) if t.loss == "cox" else np.sqrt(np.mean(away**2)))


if __name__ == "__main__":
    main()
