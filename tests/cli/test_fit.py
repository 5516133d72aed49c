"""`ran fit` and `ran predict` as their user would call them; saved models; the AutoGluon model."""

import io
import json
import re
import sys
import types
import zipfile

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

import rational_anova.tabular.autogluon as adapter
from rational_anova import RANClassifier, RANRegressor, load
from rational_anova.cli import app
from rational_anova.tables import typed_columns
from rational_anova.tabular.cards import held_out, task_of

ROWS = 150


def frame(seed=0):
    rng = np.random.default_rng(seed)
    table = pd.DataFrame({
        "age": rng.uniform(18, 80, ROWS).round(1),
        "city": rng.choice(["Rome", "Oslo", "Bern"], ROWS),
        "zip": rng.choice([101, 202, 303], ROWS),
        "since": pd.date_range("2020-01-01", periods=ROWS, freq="31h").strftime("%Y-%m-%d"),
    })  # fmt: skip
    f = 0.05 * table["age"] + (table["city"] == "Rome") + (table["zip"] == 202)
    table.loc[::9, "age"] = np.nan
    table["income"] = f + 0.2 * rng.normal(size=ROWS)
    table["ok"] = np.where(f + 0.3 * rng.logistic(size=ROWS) > 3, "yes", "no")
    table["stars"] = np.digitize(f, [2.5, 3.5]) + 1
    return table


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, and the models of its three targets."""
    place = tmp_path_factory.mktemp("cli")
    frame().to_csv(place / "table.csv", index=False)
    for target, others in (("income", "ok,stars"), ("ok", "income,stars"), ("stars", "income,ok")):
        result = run("fit", place / "table.csv", "--target", target, "--exclude", others, "--category", "zip",
                     "--pairs", 2, "--out", place / f"{target}.ran")  # fmt: skip
        assert result.exit_code == 0, result.output
        (place / f"{target}.txt").write_text(result.output)
    return place


def run(*arguments):
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert "Traceback" not in result.output
    return result


def predicted(*arguments):
    result = run("predict", *arguments)
    assert result.exit_code == 0, result.output
    return pd.read_csv(io.StringIO(result.output))


# -- ran fit


def test_fit_says_what_it_did(folder):
    text = (folder / "income.txt").read_text()
    assert "table.csv: 150 rows, 4 inputs" in text
    assert "regression: income is a number with 150 different values" in text
    assert "30 rows held out" in text
    assert re.search(r"R2 +│ 0\.[89]", text)
    assert all(
        word in text for word in ("RMSE", "MAE", "mean", "fit         on all 150 rows", "share")
    )
    assert re.search(r"age +│ +\d+\.\d%", text)
    assert f"model: {folder / 'income.ran'}" in text


def test_classes_have_their_measures(folder):
    text = (folder / "ok.txt").read_text()
    assert "classification: ok is text with 2 different values" in text
    assert all(word in text for word in ("ROC AUC", "log loss", "accuracy", "majority"))
    text = (folder / "stars.txt").read_text()
    assert "stars has 3 different whole numbers; --task regression overrides" in text


def test_card(folder):
    card = (folder / "income.card.md").read_text()
    for part in ("# Model of income", "| age | number | 17 | 18", "| zip | category | 0 |",
                 "| since | date | 0 | 2020-01-01 00:00 to", "| RMSE |", "guess of the mean",
                 "fitted again on all rows", "does not extrapolate", "was not seen",
                 "| rational-anova |", "--exclude ok,stars --category zip --pairs 2 --out"):  # fmt: skip
        assert part in card, part
    assert re.search(r"Made on \d{4}-\d\d-\d\d in", card)
    assert "Classes: `no`, `yes`." in (folder / "ok.card.md").read_text()


def test_the_same_seed_gives_the_same_file(folder, tmp_path):
    for name in ("a.ran", "b.ran"):
        result = run("fit", folder / "table.csv", "--target", "income", "--pairs", 0, "--exclude", "ok",
                     "--seed", 3, "--out", tmp_path / name, "--quiet")  # fmt: skip
        assert (result.exit_code, result.output) == (0, "")
    assert (tmp_path / "a.ran").read_bytes() == (tmp_path / "b.ran").read_bytes()


def test_without_refit_and_without_test(folder, tmp_path):
    common = ("fit", folder / "table.csv", "--target", "stars", "--task", "regression", "--exclude", "ok,income",
              "--pairs", 0, "--out", tmp_path / "m.ran", "--card", tmp_path / "deep" / "c.md")  # fmt: skip
    assert "without the held-out rows" in run(*common, "--no-refit").output
    assert "--no-refit" in (tmp_path / "deep" / "c.md").read_text()
    text = run(*common, "--test", 0).output
    assert "held out    no rows" in text
    assert "regression: as asked for" in text


def test_columns_and_rows_are_chosen_in_the_words_of_all_commands(folder, tmp_path):
    common = ("fit", folder / "table.csv", "--target", "income", "--pairs", 0, "--test", 0,
              "--out", tmp_path / "m.ran")  # fmt: skip
    rome = frame()[frame()["city"] == "Rome"]
    text = run(*common, "--inputs", "zip,age", "--where", "city=Rome").output
    assert f"table.csv: {len(rome)} rows, 2 inputs" in text
    assert RANRegressor.load(tmp_path / "m.ran").feature_names_in_.tolist() == ["zip", "age"]
    card = (tmp_path / "m.card.md").read_text()
    assert "--inputs zip,age --where city=Rome --pairs 0" in card
    run(*common, "--exclude", "ok,stars", "--where", "city=Rome", "--where", "age>30")
    assert RANRegressor.load(tmp_path / "m.ran").feature_names_in_.tolist() == [
        "age",
        "zip",
        "since",
    ]
    some = predicted(tmp_path / "m.ran", folder / "table.csv", "--where", "city=Rome")
    every = predicted(tmp_path / "m.ran", folder / "table.csv")
    np.testing.assert_array_equal(some, every.iloc[rome.index])


def test_notes(tmp_path):
    table = frame().assign(id=[f"p{k}" for k in range(ROWS)], nothing=None, same=1)
    table.loc[:4, "income"] = np.nan
    table.to_csv(tmp_path / "t.tsv", index=False, sep="\t")
    text = run(
        "fit", tmp_path / "t.tsv", "--target", "income", "--pairs", 0, "--out", tmp_path / "m.ran"
    ).output
    assert "5 rows without income were left out" in text
    assert "if it only names rows, --exclude id" in text
    assert "nothing is missing in all rows" in text
    assert "same is constant" in text


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--target", "incom"], "--target must be one of 'age', 'city', 'zip', 'since', 'income', 'ok', 'stars', got 'incom'; did you mean 'income'?"),
        (["--target", "income", "--exclude", "x"], "--exclude must be one of"),
        (["--target", "income", "--exclude", "income"], "--exclude leaves out the target 'income'"),
        (["--target", "income", "--inputs", "age,town"], "--inputs must be one of"),
        (["--target", "income", "--inputs", "age,income"], "--inputs names the target 'income'"),
        (["--target", "income", "--where", "city=Paris"], "no row meets --where 'city=Paris'; city has"),
        (["--target", "income", "--drop", "ok"], "No such option: --drop"),
        (["--target", "income", "--category", "towns"], "--category must be one of"),
        (["--target", "income", "--date", "city"], "column 'city' is to be a date"),
        (["--target", "income", "--date", "zip"], "holds numbers such as"),
        (["--target", "income", "--date", "zip", "--category", "zip"], "both name 'zip'"),
        (["--target", "income", "--task", "regresion"], "--task must be one of 'auto', 'regression', 'classification'"),
        (["--target", "income", "--task", "classification"], "150 different values in 150 rows, too many for classes; use --task regression"),
        (["--target", "city", "--task", "regression"], "must be numbers for regression"),
        (["--target", "income", "--depth", "deeper"], "depth must be one of"),
        (["--target", "income", "--monotone", "age"], "--monotone must be as age=+1 or price=-1, got 'age'"),
        (["--target", "income", "--monotone", "aged=+1"], "--monotone must be one of"),
        (["--target", "income", "--test", "0.001"], "--test 0.001 of 150 rows holds out none"),
        (["--target", "income", "--test", "1"], "test"),
        ([], "Missing option '--target'"),
    ],
)  # fmt: skip
def test_bad_input_ends_in_one_line(folder, tmp_path, arguments, message):
    result = run("fit", folder / "table.csv", *arguments, "--out", tmp_path / "m.ran")
    assert result.exit_code == 2, result.output
    assert message in " ".join(result.output.replace("│", " ").split())
    assert not list(tmp_path.iterdir())


def test_bad_tables(tmp_path):
    (tmp_path / "one.csv").write_text("y\n1\n2\n")
    assert "no column but the target" in run("fit", tmp_path / "one.csv", "--target", "y").output
    (tmp_path / "same.csv").write_text("x,y\n1,2\n3,2\n")
    assert (
        "the target 'y' is 2.0 in all rows"
        in run("fit", tmp_path / "same.csv", "--target", "y").output
    )
    assert "there is no file" in run("fit", tmp_path / "none.csv", "--target", "y").output


def test_tasks():
    def guess(values, wanted="auto"):
        return task_of(pd.Series(values, name="y"), wanted)

    assert guess([True, False]).name == "classification"
    assert guess([0.0, 1.0] * 5).y.dtype.kind == "i"
    assert guess([0.5, 1.5] * 5).y.tolist() == [0.5, 1.5] * 5
    assert guess(list(range(5)) * 10).name == "classification"
    assert guess(list(range(5))).name == "regression"
    assert guess(list(range(11)) * 10).name == "regression"
    assert guess(["a", "b"]).why == "y is text with 2 different values"
    assert guess([True, False], "regression").y.tolist() == [1.0, 0.0]


def test_held_out_rows_are_stratified():
    task = task_of(pd.Series(["a"] * 80 + ["b"] * 20 + ["c"], name="y"), "classification")
    test = held_out(task, 0.2, 0)
    assert [int(test[task.y == c].sum()) for c in "abc"] == [16, 4, 0]
    assert (held_out(task, 0.2, 0) == test).all()
    assert (held_out(task, 0.2, 1) != test).any()


# -- ran predict


def test_predict(folder, tmp_path):
    model = RANRegressor.load(folder / "income.ran")
    table = typed_columns(frame()[["age", "city", "zip", "since"]], ["zip"], [])
    np.testing.assert_allclose(
        predicted(folder / "income.ran", folder / "table.csv")["prediction"],
        model.predict(table),
        rtol=1e-12,
    )
    out = tmp_path / "new" / "p.csv"
    result = run("predict", folder / "income.ran", folder / "table.csv", "--std", "--out", out)
    assert (result.exit_code, result.output) == (0, "")
    written = pd.read_csv(out)
    assert list(written) == ["prediction", "std"]
    assert (written["std"] > 0).all()


def test_predict_classes(folder):
    result = predicted(folder / "ok.ran", folder / "table.csv", "--proba")
    assert list(result) == ["prediction", "proba: no", "proba: yes"]
    np.testing.assert_allclose(result.iloc[:, 1:].sum(axis=1), 1)
    assert (result["prediction"] == frame()["ok"]).mean() > 0.8
    stars = predicted(folder / "stars.ran", folder / "table.csv", "--proba")
    assert list(stars)[1:] == ["proba: 1", "proba: 2", "proba: 3"]
    assert (stars["prediction"] == frame()["stars"]).mean() > 0.8


def test_predict_and_explain(folder):
    result = predicted(folder / "income.ran", folder / "table.csv", "--explain")
    parts = result.filter(like="effect: ").drop(columns="effect: (sum)")
    assert {"effect: intercept", "effect: age"} <= set(parts)
    np.testing.assert_allclose(parts.sum(axis=1), result["effect: (sum)"], rtol=1e-9)
    stars = predicted(folder / "stars.ran", folder / "table.csv", "--explain")
    assert {"effect: age [1]", "effect: age [3]", "effect: (sum) [2]"} <= set(stars)


def test_what_is_printed_moves_no_terminal(tmp_path):
    table = tmp_path / "t.csv"
    rows = "".join(f"{k},{2 * k}\n" for k in range(40))
    table.write_text("age\x1b[2J,y\n" + rows)
    assert run("fit", table, "--target", "y", "--out", tmp_path / "m.ran").exit_code == 0
    printed = run("predict", tmp_path / "m.ran", table, "--explain").output
    assert "effect: age\\x1b[2J" in printed
    assert "\x1b" not in printed


def test_numbers_with_a_stray_quote(tmp_path):
    """A column of numbers that became text is told of; a target is refused."""
    table = tmp_path / "t.csv"
    cells = [f"{k}.5" for k in range(40)]
    cells[7] += '"'
    table.write_text("x,y\n" + "".join(f"{c},{2 * k}\n" for k, c in enumerate(cells)))
    done = run("fit", table, "--target", "y", "--out", tmp_path / "m.ran")
    assert done.exit_code == 0
    assert "x has text among its numbers, such as '7.5\"' in row 8" in done.output
    done = run("fit", table, "--target", "x", "--out", tmp_path / "n.ran")
    assert done.exit_code == 2
    assert "the target 'x' has text among its numbers" in done.output


def test_order_extra_columns_and_spelling_do_not_matter(folder, tmp_path):
    table = frame().head(6)
    usual = predicted(folder / "income.ran", folder / "table.csv")["prediction"][:6]
    other = table[["stars", "zip", "since", "city", "age"]].astype({"zip": object}).assign(more=1)
    other.loc[:, "zip"] = [f"{z}.0" for z in table["zip"]]
    other.loc[len(other)] = [
        1,
        "new",
        "2031-01-01",
        "Nowhere",
        1e9,
        1,
    ]  # makes zip a column of text
    other.to_csv(tmp_path / "t.csv", index=False)
    np.testing.assert_allclose(
        predicted(folder / "income.ran", tmp_path / "t.csv")["prediction"][:6], usual
    )


def test_predict_from_parquet(folder, tmp_path):
    pytest.importorskip("pyarrow")
    frame().assign(since=pd.to_datetime(frame()["since"])).to_parquet(tmp_path / "t.parquet")
    usual = predicted(folder / "income.ran", folder / "table.csv")
    np.testing.assert_allclose(predicted(folder / "income.ran", tmp_path / "t.parquet"), usual)


def test_predict_with_bad_input(folder, tmp_path):
    frame()[["city", "age"]].to_csv(tmp_path / "few.csv", index=False)
    cases = [
        ((folder / "income.ran", tmp_path / "few.csv"), "the table lacks 'zip', 'since', which the model was fitted with; it has 'city', 'age'"),
        ((folder / "income.ran", folder / "table.csv", "--proba"), "--proba is for classes"),
        ((folder / "ok.ran", folder / "table.csv", "--std"), "--std is for numbers"),
        ((folder / "table.csv", folder / "table.csv"), "holds no estimator: it was not written by rational_anova (it looks like a table"),
        ((folder / "none.ran", folder / "table.csv"), "no file at"),
        ((folder / "income.ran", folder / "none.csv"), "there is no file"),
    ]  # fmt: skip
    for arguments, message in cases:
        result = run("predict", *arguments)
        assert result.exit_code == 2
        assert message in result.output
        assert len(result.output.splitlines()) == 1


def test_models_fitted_without_names(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    RANRegressor().fit(X, X[:, 0]).save(tmp_path / "m.ran")
    pd.DataFrame(X, columns=["a", "b"]).to_csv(tmp_path / "t.csv", index=False)
    assert predicted(tmp_path / "m.ran", tmp_path / "t.csv").shape == (60, 1)
    pd.DataFrame({"id": 0, "b": X[:, 1], "a": X[:, 0]}).to_csv(tmp_path / "more.csv", index=False)
    usual = predicted(tmp_path / "m.ran", tmp_path / "t.csv")
    named = predicted(tmp_path / "m.ran", tmp_path / "more.csv", "--inputs", "a,b")
    pd.testing.assert_frame_equal(named, usual)
    pd.DataFrame(X[:, :1], columns=["a"]).to_csv(tmp_path / "t.csv", index=False)
    assert (
        "wants 2 of them, the table has 1"
        in run("predict", tmp_path / "m.ran", tmp_path / "t.csv").output
    )


# -- files


def mixed():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "x": rng.normal(size=120),
        "g": pd.Series([1, "1", 2.5, None, True, pd.Timestamp("2020")] * 20, dtype=object),
        "i": pd.cut(rng.normal(size=120), 3),
        "p": pd.period_range("2020-01", periods=12, freq="M").to_series().sample(120, replace=True, random_state=0).array,
    })  # fmt: skip
    table.loc[3, "x"] = np.nan
    return table, np.exp(table["x"].fillna(0) + (table["g"] == "1"))


@pytest.mark.parametrize("kind", ["number", "bool", "text", "object", "int"])
def test_save_and_load(kind, tmp_path):
    X, y = mixed()
    three = np.digitize(y, [0.5, 2])
    targets = {"number": y, "bool": y > 1, "text": np.where(y > 1, "é", "b"), "int": three,
               "object": pd.Series(np.array(["a", "b", "c"])[three], dtype=object)}  # fmt: skip
    cls = RANRegressor if kind == "number" else RANClassifier
    options = {"forbid": [("x", "g")], "random_state": np.random.RandomState(1), "monotone": None}
    model = cls(**options).fit(X, targets[kind])
    model.save(tmp_path / "m.ran")
    again = load(tmp_path / "m.ran")
    assert type(again) is cls
    assert vars(again).keys() == vars(model).keys()
    assert again.get_params()["forbid"] == [("x", "g")]
    np.testing.assert_array_equal(again.predict(X), model.predict(X))
    assert again.feature_names_in_.tolist() == ["x", "g", "i", "p"]
    for one, other in zip(again.features_, model.features_, strict=True):
        assert one.levels == other.levels
        assert [type(level) for level in one.levels] == [type(level) for level in other.levels]
    if kind == "number":
        assert again.link_ == model.link_
        np.testing.assert_array_equal(
            again.predict(X, return_std=True), model.predict(X, return_std=True)
        )
    else:
        assert again.classes_.dtype == model.classes_.dtype
        np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))
    again.save(tmp_path / "again.ran")
    assert (tmp_path / "again.ran").read_bytes() == (tmp_path / "m.ran").read_bytes()
    pd.testing.assert_frame_equal(again.explain_global(), model.explain_global())


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "m.ran"
    RANRegressor().fit([[0.0], [1.0], [2.0]] * 9, [0.0, 1.0, 2.0] * 9).save(path)
    return path


def rewritten(path, change):
    """The file with another header."""
    content = io.BytesIO()
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(content, "w") as new:
        for name in old.namelist():
            data = old.read(name)
            if name == "record.json":
                header = json.loads(data)
                change(header)
                data = json.dumps(header)
            new.writestr(name, data)
    return content.getvalue()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda h: h.update(format="other"), "not written by rational_anova"),
        (lambda h: h.update(version=2), "format version 2, this library reads up to 1: upgrade"),
        (lambda h: h.update(version=None), "format version None"),
        (lambda h: h.update({"class": "RANForecaster"}), "holds a RANForecaster, which is not known here"),
        (lambda h: h.update({"class": "BaseEstimator"}), "holds a BaseEstimator"),
        (lambda h: h.pop("state"), "is damaged"),
        (lambda h: h["parameters"].update({"!": "os.system"}), "is damaged: .* holds a os.system"),
        (lambda h: h["parameters"].update(unknown=1), "is damaged"),
        (lambda h: h["state"].update(model_={"!": "array", "is": 999}), "is damaged"),
    ],
)  # fmt: skip
def test_other_headers(saved, tmp_path, change, message):
    (tmp_path / "m.ran").write_bytes(rewritten(saved, change))
    with pytest.raises(ValueError, match=message):
        load(tmp_path / "m.ran")


def test_damaged_files(saved, tmp_path):
    content = saved.read_bytes()
    path = tmp_path / "m.ran"
    for size in (0, 1, 10, 100, len(content) // 2, len(content) - 1):
        path.write_bytes(content[:size])
        with pytest.raises(ValueError, match="damaged"):
            load(path)
    turned = bytearray(content)
    turned[len(content) // 2] ^= 0xFF
    path.write_bytes(bytes(turned))
    with pytest.raises(ValueError, match="damaged"):
        load(path)
    np.savez(tmp_path / "other.npz", a=np.ones(3))
    with pytest.raises(ValueError, match="not written by rational_anova"):
        load(tmp_path / "other.npz")
    with pytest.raises(IsADirectoryError, match="is a folder"):
        load(tmp_path)
    with pytest.raises(FileNotFoundError, match="no file"):
        load(tmp_path / "none.ran")


def test_load_wants_its_class(saved):
    assert RANRegressor.load(saved).predict([[1.0]]).shape == (1,)
    with pytest.raises(TypeError, match="holds a RANRegressor, not a RANClassifier"):
        RANClassifier.load(saved)


def test_what_cannot_be_saved(tmp_path):
    with pytest.raises(ValueError, match="not fitted yet"):
        RANRegressor().save(tmp_path / "m.ran")
    model = RANRegressor().fit([[0.0], [1.0]], [0.0, 1.0])
    model.extra_ = {"hook": len}
    with pytest.raises(
        TypeError,
        match="holds a builtin_function_or_method, .*len.*, which a model file cannot hold",
    ):
        model.save(tmp_path / "m.ran")
    assert not list(tmp_path.iterdir())


# -- AutoGluon


class FakeAbstractModel:
    """The hooks of AutoGluon's AbstractModel that a model relies on."""

    def __init__(self, problem_type, hyperparameters=None, num_classes=None):
        self.problem_type, self.num_classes, self.params = (
            problem_type,
            num_classes,
            dict(hyperparameters or {}),
        )
        self._set_default_params()

    def _set_default_param_value(self, name, value):
        self.params.setdefault(name, value)

    def _get_model_params(self):
        return self.params.copy()

    def preprocess(self, X, **kwargs):
        return X

    def _convert_proba_to_unified_form(self, proba):
        return proba[:, 1] if self.problem_type == "binary" else proba


class TooLong(Exception):
    pass


@pytest.fixture
def ag_model(monkeypatch):
    modules = {name: types.ModuleType(name) for name in (
        "autogluon", "autogluon.common", "autogluon.core", "autogluon.core.models", "autogluon.core.utils",
        "autogluon.core.utils.exceptions")}  # fmt: skip
    modules["autogluon.core.models"].AbstractModel = FakeAbstractModel
    modules["autogluon.core.utils.exceptions"].TimeLimitExceeded = TooLong
    modules["autogluon.common"].space = types.SimpleNamespace(
        Categorical=lambda *data: ("categorical", *data),
        Int=lambda low, high, default: ("int", low, high, default),
    )
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    yield adapter.RANModel
    del adapter.RANModel  # it was made of the fake


@pytest.mark.parametrize("problem", ["regression", "binary", "multiclass"])
def test_autogluon_model(ag_model, problem):
    X, y = mixed()
    target = {
        "regression": y,
        "binary": (y > 1).astype(int),
        "multiclass": pd.Series(np.digitize(y, [0.5, 2]) + 1),
    }
    model = ag_model(
        problem, {"link": "auto", "pairs": 0}, num_classes=5 if problem == "multiclass" else None
    )
    model._fit(
        X, target[problem], X_val=X, y_val=y, time_limit=60, num_cpus=1, num_gpus=0, verbosity=0
    )
    result = model._predict_proba(X)
    assert np.isfinite(result).all()
    if problem == "multiclass":
        assert result.shape == (len(X), 5)
        assert (result[:, [0, 4]] == 0).all()
    else:
        assert result.shape == (len(X),)
    assert "callbacks" not in vars(model.model)
    assert (model.ag_key, model.ag_name) == ("RAN", "RAN")
    assert model.get_minimum_resources() == {"num_cpus": 1}
    assert model._estimate_memory_usage(X) > 3e8
    assert model._more_tags() == {"can_refit_full": True}
    space = model._get_default_searchspace()
    assert space["refinements"] == ("int", 0, 4, 2)
    assert ("link" in space) == (problem == "regression")


def test_autogluon_time_limit(ag_model):
    X, y = mixed()
    with pytest.raises(TooLong):
        ag_model("regression")._fit(X, y, time_limit=-1)


def test_without_autogluon(monkeypatch):
    monkeypatch.setitem(sys.modules, "autogluon", None)
    with pytest.raises(ImportError, match="pip install autogluon.tabular"):
        adapter.RANModel  # noqa: B018
    with pytest.raises(ImportError, match="pip install autogluon.tabular"):
        adapter.autogluon_space()
    with pytest.raises(AttributeError, match="no attribute 'Other'"):
        adapter.Other  # noqa: B018


def test_search_space_and_configs():
    found = adapter.configs(20, seed=1)
    assert found[0] == {"ag_args": {"name_suffix": "_c1"}}
    assert [c["ag_args"]["name_suffix"] for c in found[1:]] == [f"_r{k}" for k in range(1, 20)]
    assert adapter.configs(20, seed=1) == found
    assert adapter.configs(20, seed=2) != found
    bare = [{k: v for k, v in one.items() if k != "ag_args"} for one in found]
    assert all(one not in bare[:k] for k, one in enumerate(bare))
    for one in bare:
        RANRegressor(**one)
    assert len(adapter.configs(1000, problem_type="binary")) == 50
    assert "link" not in adapter.search_space("multiclass")
    with pytest.raises(ValueError, match="problem_type must be one of"):
        adapter.search_space("quantile")


def test_show_describes_an_estimator(tmp_path):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.normal(size=60)})
    RANRegressor().fit(table, table["age"]).save(tmp_path / "model.ran")
    result = run("show", tmp_path / "model.ran")
    assert result.exit_code == 0, result.output
    assert "RANRegressor" in result.output
    assert "age" in result.output


# -- losses


@pytest.fixture(scope="module")
def policies(tmp_path_factory):
    path = tmp_path_factory.mktemp("losses") / "policies.csv"
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.uniform(18, 80, ROWS), "years": rng.uniform(0.1, 1, ROWS)})
    rate = 0.5 + np.exp(-(table["age"] - 18) / 20)
    table["claims"] = rng.poisson(rate * table["years"])
    table["days"] = rng.exponential(1 / rate) + 0.01
    table["died"] = rng.integers(0, 2, ROWS)
    table["grade"] = np.digitize(rate + 0.1 * rng.logistic(size=ROWS), [0.7, 1])
    table.to_csv(path, index=False)
    return path


def test_claims_with_exposure(policies, tmp_path):
    out, page = tmp_path / "m.ran", tmp_path / "page.html"
    result = run("fit", policies, "--target", "claims", "--inputs", "age", "--loss", "poisson",
                 "--exposure", "years", "--out", out, "--report", page)  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "deviance" in result.output
    assert f"page: {page}" in result.output
    assert "Its loss is poisson." in (tmp_path / "m.card.md").read_text()
    assert "--loss poisson --exposure years" in (tmp_path / "m.card.md").read_text()
    assert "<h1>Model of claims</h1>" in page.read_text()
    once = predicted(out, policies)["prediction"]
    grown = predicted(out, policies, "--exposure", "years", "--std")
    years = pd.read_csv(policies)["years"]
    np.testing.assert_allclose(grown["prediction"], once * years, rtol=1e-6)


def test_other_losses(policies, tmp_path):
    for loss, target, more, word in (
        ("cox", "days", ("--event", "died"), "concordance"),
        ("ordinal", "grade", (), "log loss"),
        ("quantile", "days", ("--quantiles", "0.1,0.5,0.9"), "pinball loss 0.9"),
    ):
        out = tmp_path / f"{loss}.ran"
        result = run("fit", policies, "--target", target, "--inputs", "age", "--loss", loss, *more,
                     "--out", out)  # fmt: skip
        assert result.exit_code == 0, result.output
        assert word in result.output
        assert len(predicted(out, policies)) == ROWS
    assert list(predicted(tmp_path / "quantile.ran", policies)) == [
        "prediction 0.1", "prediction 0.5", "prediction 0.9"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--loss", "poison"), "poisson"),
        (("--loss", "cox"), "--event names a column"),
        (("--loss", "poisson", "--task", "classification"), "is for regression"),
        (("--loss", "poisson", "--exposure", "year"), "--exposure must be one of"),
        (("--loss", "quantile", "--quantiles", "a"), "as 0.1,0.5,0.9"),
        (("--loss", "gamma"), "positive, got 0 in row"),
    ],
)
def test_losses_that_do_not_go(policies, tmp_path, options, message):
    result = run("fit", policies, "--target", "claims", "--inputs", "age", *options,
                 "--out", tmp_path / "m.ran")  # fmt: skip
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
