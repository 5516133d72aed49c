"""The comparison of tables: folds, rows of results, and what is made of them."""

import importlib.util
import time

import numpy as np
import pandas as pd
import pytest

from experiments import results, tables
from experiments.tabular import compare, doc_tables, duels, figure_ranks, figures, recorded, summary
from experiments.tabular.tables import Table
from experiments.tabular.tables import tables as listed

TABLES = {
    "website_phishing": 100,
    "churn": 2000,
    "kin8nm": 3000,
    "kc_house_sales": 4000,
}  # rows fitted
ERRORS = {
    "ran": [0.10, 0.2, 0.30, 0.40],
    "ebm": [0.20, 0.1, 0.30001, None],
    "lightgbm": [0.15, 0.3, 0.2, 0.5],
}


@pytest.fixture
def made_up(tmp_path, monkeypatch):
    """A recorded comparison of three models; ran has a second fold that only EBM shares."""
    rows = []
    for at, (table, size) in enumerate(TABLES.items()):
        for model, errors in ERRORS.items():
            for fold in range(1 if model == "lightgbm" else 2):
                row = {"table": table, "task": "binary", "model": model, "fold": fold}
                if errors[at] is None:
                    rows.append(row | {"note": "no result in 600 s"})
                    continue
                seconds = {"ran": 1.0, "ebm": 20.0, "lightgbm": 0.1}[model] * (at + 1)
                note = "4 bags" if (model, table) == ("ebm", "churn") else ""
                rows.append(
                    row
                    | {"metric": "roc_auc", "error": errors[at] * (1 + fold), "note": note}
                    | {"fit_seconds": seconds, "predict_seconds": 0.0, "rows": size, "columns": 5}
                    | {"version": f"{model} 1"}
                )
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    monkeypatch.setattr(results, "FIGURES", tmp_path)
    pd.DataFrame(rows).to_csv(tmp_path / "tabular_compare.csv", index=False)
    return recorded.read()


def test_a_table_counts_once_and_no_result_is_a_loss(made_up):
    found = duels.duel(made_up, "ran", "ebm")
    assert (found.wins, found.ties, found.losses) == (2, 1, 1)
    assert (found.without, found.folds) == (1, 8)
    assert found.won == 0.5
    assert found.level == 0.625
    assert found.finished == pytest.approx(1 / 3)
    assert duels.duel(made_up, "ebm", "ran").losses == 2


def test_only_common_folds_are_compared(made_up):
    found = duels.duel(made_up, "ran", "lightgbm")
    assert (found.wins, found.ties, found.losses, found.folds) == (3, 0, 1, 4)
    means = recorded.on_common_folds(made_up, ("ran", "lightgbm"))
    assert means.loc["churn", "ran"] == pytest.approx(0.2), "without the fold that LightGBM lacks"
    assert recorded.on_common_folds(made_up, ("ran", "ebm")).loc["churn", "ran"] == pytest.approx(
        0.3
    )
    assert duels.duel(made_up, "ran_deep", "ebm").tables == 0


def test_seconds_are_compared_where_both_finished(made_up):
    found = duels.times(made_up, "ran", "ebm")
    assert (found.tables, found.median) == (3, pytest.approx(20.0))
    assert duels.times(made_up, "ran", "lightgbm").mean == pytest.approx(0.1)
    assert duels.times(made_up, "ran", "pygam").tables == 0


def test_groups_of_tables(made_up):
    parts = recorded.groups(made_up)
    assert set(parts["under 1,000 fitted rows"]["table"]) == {"website_phishing"}
    assert set(parts["of TabArena"]["table"]) == {"website_phishing", "churn"}
    assert set(parts["tuned on"]["table"]) == {"churn", "kin8nm"}
    assert set(parts["only measured"]["table"]) == {"website_phishing", "kc_house_sales"}
    assert set(recorded.with_all_bags(made_up)["table"]) == {"website_phishing", "kin8nm"}
    assert len(set(recorded.TABARENA)) == 23


def test_models_that_lack_a_table_are_not_ranked(made_up):
    found = duels.ranks(made_up)
    assert found.tables == 4
    assert found.average == pytest.approx({"ran": 1.5, "lightgbm": 2.0, "ebm": 2.5})
    less = made_up[(made_up["model"] != "ebm") | (made_up["table"] != "churn")]
    assert duels.ranks(less).left_out == ("ebm",)


def test_the_distance_of_nemenyi_and_its_bars():
    assert figure_ranks.nemenyi(5, 30) == pytest.approx(2.728 * np.sqrt(5 * 6 / 180), rel=1e-3)
    assert figure_ranks.cliques([1.0, 1.5, 2.2, 4.0], 1.0) == [(0, 1), (1, 2)]
    assert figure_ranks.cliques([1.0, 3.0], 1.0) == []


def test_all_is_printed_and_drawn(made_up, tmp_path, capsys):
    summary.main()
    text = capsys.readouterr().out
    assert "2 of 4 (50%), 1 of them because the peer gave no result; without those 1 of 3" in text
    assert "20 times (median)" in text
    # studies of their own
    apart = {"ablation", "scaling", "coverage", "pairs", "collinear", "losses", "known_losses"}
    for name in doc_tables.TABLES.keys() - {f"tabular_{study}" for study in apart}:
        head, *rows = doc_tables.lines(name)
        assert rows, name
        assert {len(row) for row in rows} == {len(head)}
        assert "nan" not in str(rows)
        assert tables.render(name).count("\n") == len(rows) + 2
    (churn,) = [row for row in doc_tables.lines("tabular_errors") if row[0].startswith("churn")]
    assert churn == ["churn†", "2000", "1 - AUC", "1", "0.2", r"**0.1**\*", "0.3"]
    assert [row[0] for row in doc_tables.lines("tabular_small")[1:]] == ["website_phishing"]
    figures.main()
    for name in ("effects", "ranks", "time", "ratios"):
        assert (tmp_path / f"tabular_{name}.png").stat().st_size > 10_000


def test_nothing_recorded_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    assert "experiments.tabular.compare" in summary.summary()
    for name in doc_tables.TABLES:
        assert doc_tables.lines(name)[0]


def tiny(tmp_path, task="regression"):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=90), "b": rng.choice(["u", "v"], 90)})
    y = frame["a"] + (frame["b"] == "v") + 0.1 * rng.normal(size=90)
    frame["y"] = y if task == "regression" else np.where(y > 0.5, "high", "low")
    frame.to_csv(tmp_path / "tiny.csv", index=False)
    return Table("tiny", tmp_path / "tiny.csv", task, "y", 90)


@pytest.mark.parametrize("task", ["regression", "binary"])
@pytest.mark.parametrize("model", ["ran", "linear", "lightgbm"])
def test_a_fit_is_a_row(model, task, tmp_path):
    if model == "lightgbm" and importlib.util.find_spec(model) is None:
        pytest.skip("needs LightGBM")
    row = compare.work(tiny(tmp_path, task), model, 1, limit=60)
    assert (row["table"], row["model"], row["fold"], row["rows"]) == ("tiny", model, 1, 60)
    assert float(row["error"]) < (1.0 if task == "regression" else 0.4)
    assert row["fit_seconds"] > 0
    assert ("log_loss" in row) == (task == "binary")


def test_what_fails_or_takes_too_long_is_a_row_without_an_error(tmp_path, monkeypatch):
    def fails(*args):
        raise RuntimeError("no luck")

    monkeypatch.setattr(compare, "fitted", fails)
    row = compare.work(tiny(tmp_path), "linear", 0, limit=60)
    assert (row["error"], row["note"]) == ("", "RuntimeError: no luck")
    monkeypatch.setattr(compare, "_measured", lambda *args: time.sleep(60))
    row = compare.work(tiny(tmp_path), "linear", 0, limit=0.2)
    assert (row["error"], row["note"]) == ("", "no result in 0 s")


@pytest.mark.parametrize("task", ["regression", "binary"])
def test_folds_are_the_same_for_all_models_and_cover_the_table(task, tmp_path):
    table = tiny(tmp_path, task)
    assert table.small
    assert table.folds == 9
    tested = []
    for fold in range(9):
        fit, test = table.split(fold)
        np.testing.assert_array_equal(test, tiny(tmp_path, task).split(fold)[1])
        assert not set(fit) & set(test)
        tested.append(test)
    for start in (0, 3, 6):
        assert sorted(np.concatenate(tested[start : start + 3])) == list(range(90))
    assert not np.array_equal(tested[0], tested[3])


def test_missing_data_is_named(monkeypatch):
    monkeypatch.delenv("RAN_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="set RAN_DATA"):
        next(listed())
