"""What must work with the oldest and the newest Python and dependencies, warnings shown.

`make lowest` and `make newest` run it before their tests; not a test of pytest.
"""

import tempfile
import warnings
from pathlib import Path

import numpy as np
import pandas as pd

import rational_anova as ra


def law(folder: Path, rng: np.random.Generator) -> None:
    """Find a law, draw it, report it, write and read it."""
    S = np.linspace(0.05, 10, 60)
    v = 2.5 * S / (0.8 + S) + rng.normal(0, 0.02, 60)
    found = ra.discover({"S": S}, v, target="v")
    assert found.is_("Michaelis-Menten"), found
    assert len(found.coefficients) == 2
    found.plot().savefig(folder / "law.png")
    ra.report.write_report(found, folder / "law.html")
    found.save(folder / "law.json")
    assert ra.load(folder / "law.json").formula == found.formula


def models(folder: Path, rng: np.random.Generator) -> None:
    """Fit both estimators to a table of all kinds of columns; explain, draw, export, write, read."""
    X = pd.DataFrame(
        {
            "dose": rng.uniform(0, 10, 200),
            "group": rng.choice(["a", "b"], 200),
            "when": pd.date_range("2020-01-01", periods=200),
            "weight": np.where(rng.random(200) < 0.1, np.nan, rng.normal(size=200)),
        }
    )
    y = np.sqrt(X["dose"]) + (X["group"] == "a") + rng.normal(0, 0.1, 200)
    model = ra.RANRegressor(monotone={"dose": 1}).fit(X, y)
    assert model.score(X, y) > 0.95
    assert model.monotone_["dose"]
    model.plot_anova(mode="main").savefig(folder / "effects.png")
    assert np.allclose(model.explain_local(X)["prediction"], model.predict(X))
    assert len(model.explain_global())
    assert "SELECT" not in model.to_sql("postgres")
    compile(model.to_python(), "model.py", "exec")
    low, high = model.predict_interval(X)
    assert (low < high).all()
    model.save(folder / "model.ran")
    assert (ra.load(folder / "model.ran").predict(X) == model.predict(X)).all()
    classes = ra.RANClassifier(pairs=1).fit(X, np.where(y > 2, "high", "low"))
    assert np.allclose(classes.predict_proba(X).sum(axis=1), 1)


def motion(rng: np.random.Generator) -> None:
    """Find an equation of motion."""
    t = np.linspace(0, 6, 40)
    N = 5 / (1 + 4 * np.exp(-t)) + rng.normal(0, 0.02, 40)
    found = ra.discover_dynamics(t, {"N": N})
    assert found.simulate([1.0], t).shape == (40, 1)
    print(found)


def main() -> None:
    warnings.simplefilter("default")
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        law(Path(folder), rng)
        models(Path(folder), rng)
    motion(rng)
    print("all of it works")


if __name__ == "__main__":
    main()
