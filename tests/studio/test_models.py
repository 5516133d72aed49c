"""A fitted model in the workspace: drafts of curves, edits that are kept, undone and done again."""

import json

import numpy as np
import pandas as pd
import pytest

import rational_anova as ra
from rational_anova.studio.models import Draft, Session
from rational_anova.studio.work import Job
from rational_anova.studio.work._models import fit_model

ODD = "<b>size</b>"


def table():
    rng = np.random.default_rng(0)
    found = pd.DataFrame({
        "age": rng.uniform(18, 80, 120).round(1), ODD: rng.uniform(1, 9, 120).round(2),
        "city": rng.choice(["Rome", "Oslo", "Bern"], 120),
    })  # fmt: skip
    f = 0.05 * found["age"] + np.sin(found[ODD]) + (found["city"] == "Rome")
    found.loc[::9, "age"] = np.nan
    found["price"] = (f.fillna(2) + 0.1 * rng.normal(size=120)).round(3)
    found["kind"] = np.where(f > 4, "high", np.where(f > 3, "middle", "low"))
    return found


def fitted(folder, target, **options):
    source = folder.parent / "table.csv"
    table().to_csv(source, index=False)
    folder.mkdir()
    choice = {"target": target, "inputs": ["age", ODD, "city"]}
    asked = {"choice": choice, "pairs": 0, "time_limit": 0.01, **options}
    told = []
    job = Job("run", folder, source, folder, "table.csv", asked, told.append, lambda: False)
    return fit_model(job), told


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    place = tmp_path_factory.mktemp("models")
    for target in ("price", "kind"):
        fitted(place / target, target)
    return place


@pytest.fixture
def session(folders):
    (folders / "price" / "edits.json").unlink(missing_ok=True)
    return Session(folders / "price")


def test_a_fit_leaves_files_that_open_and_tells_of_itself(folders, tmp_path):
    names, told = fitted(tmp_path / "again", "price")
    assert {"reading the table"} < {one["stage"] for one in told}
    assert all((tmp_path / "again" / name).exists() for name in names)
    model = ra.load(tmp_path / "again" / names[0])
    assert list(model.feature_names_in_) == ["age", ODD, "city"]
    facts = json.loads((tmp_path / "again" / "facts.json").read_text())["facts"]
    assert facts["held"] == 24
    assert "RMSE" in facts["scores"]
    with pytest.raises(ValueError, match=r"hold out must be above 0.*1\.5"):
        fitted(tmp_path / "bad", "price", test=1.5)


def test_a_draft_is_moved_where_it_is_asked_and_fades_away():
    x = np.linspace(0, 8, 81)
    draft = Draft.of(x, np.sin(x), np.full(81, 1 / 81))
    at = draft.handles[3]
    moved = draft.moved(at, 2.0)
    others = [k for k in draft.handles if k != at]
    assert moved.after[at] == 2.0
    assert np.allclose(moved.after[others], draft.before[others], atol=1e-12)
    flat = draft.bent("flat", 2, 5)
    inside = (x >= 2) & (x <= 5)
    assert np.ptp(flat.after[inside]) == 0
    assert (flat.after[x < 1] == draft.before[x < 1]).all()
    jump = np.abs(flat.after - draft.before)[inside].max()
    assert np.abs(np.diff(flat.after)).max() < 0.5 * jump  # it does not jump at the ends
    rising = draft.bent("rising", 0, 8)
    assert (np.diff(rising.after) >= 0).all()
    raised = draft.bent("raise", 5, 2, 0.5)
    assert np.allclose((raised.after - raised.before)[inside], 0.5)
    with pytest.raises(ValueError, match="'turn'"):
        draft.bent("turn", 0, 1)
    with pytest.raises(ValueError, match="nan"):
        draft.moved(at, float("nan"))


def test_an_edit_does_what_its_preview_said_and_can_be_undone(session, folders):
    before = session.decision(session.rows)
    kept = (folders / "price" / "model.ran").read_bytes()
    draft = session.draft("age").bent("raise", 30, 60, 0.7).bent("flat", 60, 75)
    seen = session.preview("age", draft)
    done = session.keep_draft("age", draft, "the register is wrong there")
    assert done.after["RMSE"] == pytest.approx(seen.after["RMSE"], rel=1e-2)
    assert 0 < done.moved <= done.rows == 24
    assert done.worst[0][1].keys() == {"age", ODD, "city"}
    after = session.decision(session.rows)
    session.drop("city", "not to be used")
    assert [e.name for e in session.effects() if e.name == "city"] == []
    session.undo()
    assert (session.decision(session.rows) == after).all()
    session.undo()
    assert (session.decision(session.rows) == before).all()
    session.redo()
    again = Session(folders / "price")  # from the files, as after a restart
    assert (again.done, len(again.steps)) == (1, 2)
    assert (again.decision(again.rows) == after).all()
    card = again.card()
    assert "the register is wrong there" in card
    assert "not to be used" not in card
    written = [line for line in card.splitlines() if not line.startswith("    ")]  # no code
    assert "<b>" not in "\n".join(written)
    assert again.model.edits_[-1]["reason"].endswith("(the register is wrong there)")
    assert (folders / "price" / "model.ran").read_bytes() == kept
    session.drop(ODD, "")  # what was taken back is forgotten
    assert [step.edit for step in session.steps] == ["fix_term", "drop_term"]


def test_levels_are_moved_one_by_one(session):
    draft = session.draft("city")
    moved = draft.moved(1, 3.0)
    assert (moved.after == draft.before).sum() == len(draft.before) - 1
    session.keep_draft("city", moved, "")
    assert session.curve("city").effect[1] == pytest.approx(3.0)
    with pytest.raises(ValueError, match="not changed"):
        session.keep_draft("city", session.draft("city"), "")


def test_an_effect_is_made_to_rise_and_proved(session):
    session.monotone(ODD, 1, "more is never cheaper")
    proof = session.proof(ODD)
    assert proof
    assert proof.sign == 1
    curve = session.curve(ODD).effect
    assert (np.diff(curve) > -1e-9).all()
    with pytest.raises(ValueError, match="category"):
        session.monotone("city", 1, "")
    assert session.done == 1


def test_one_of_three_classes_is_edited(folders):
    session = Session(folders / "kind")
    assert session.outputs == ("high", "low", "middle")
    others = session.curve("age", 0).effect
    draft = session.draft("age", 2).bent("raise", 20, 50, 1.0)
    session.keep_draft("age", draft, "", 2)
    assert np.allclose(session.curve("age", 0).effect, others, atol=0.02)
    assert np.allclose(session.curve("age", 2).effect, draft.after, atol=0.05)
    assert session.predicted(session.decision(session.rows)).sum(1) == pytest.approx(1)


def test_a_row_is_taken_apart_and_exports_agree(session, tmp_path):
    row = session.rows[3]
    parts = session.explained(row)
    total = session.model.model_.intercept[0] + sum(value for _, value in parts)
    assert session.base.link_.mean(total) == pytest.approx(
        session.predicted(session.decision(row[None]))[0]
    )
    session.drop("city", "")
    name, content = session.export("ran")
    (tmp_path / name).write_bytes(content)
    assert [edit["edit"] for edit in ra.load(tmp_path / name).edits_] == ["drop_term"]
    space = {}
    exec(session.export("python")[1].decode(), space)  # of our own, as its user would import it
    given = {"age": None if np.isnan(row[0]) else row[0], ODD: row[1], "city": "Rome"}
    assert space["predict"](given) == pytest.approx(
        session.predicted(session.decision(row[None]))[0]
    )
    assert session.export("sql", "duckdb")[1]
    assert session.export("card")[0] == "model.card.md"
    with pytest.raises(ValueError, match="'exe'"):
        session.export("exe")
