"""The workspace: tables by their content, runs and their states, and no path outside."""

import json
import time
from dataclasses import replace

import pytest

from rational_anova.studio import _workspace
from rational_anova.studio._records import Choice, Run, State
from rational_anova.studio._workspace import Workspace

TABLE = b"x,y\n1,2\n2,4\n3,6\n"


@pytest.fixture
def place(tmp_path):
    return Workspace(tmp_path / "workspace")


def test_a_table_is_kept_once_under_its_content(place):
    first = place.add_table(TABLE, "a.csv")
    again = place.add_table(TABLE, "b.csv")
    assert first == again
    assert place.tables() == [first]
    assert place.source(first.hash).read_bytes() == TABLE
    place.remove_table(first.hash)
    assert place.tables() == []


@pytest.mark.parametrize(
    "name", ["../../up.csv", "/etc/passwd.csv", "a\\..\\b.csv", "x" * 300 + ".csv"]
)
def test_names_of_files_are_no_paths(place, name):
    entry = place.add_table(TABLE, name)
    assert place.source(entry.hash).parent.parent == place.folder / "tables"
    assert sorted(p.name for p in place.folder.parent.iterdir()) == ["workspace"]


@pytest.mark.parametrize("key", ["..", "../..", "a/b", "", "0" * 15, "0" * 16 + "/..", "G" * 16])
def test_keys_lead_nowhere_else(place, key):
    for ask in (place.table_folder, place.run_folder, place.table, place.run):
        with pytest.raises(KeyError):
            ask(key)


def test_results_are_those_of_the_run_alone(place):
    run = replace(place.new_run("discover"), results=("law.json", "../run.json"))
    assert place.result(run).name == "law.json"
    for name in ("run.json", "../run.json", "/etc/passwd"):
        with pytest.raises(KeyError):
            place.result(run, name)


@pytest.mark.parametrize(
    ("content", "name", "told"),
    [(b"", "a.csv", "is empty"), (TABLE, "a.exe", "no table"), (TABLE, "a", "no table"),
     (b"x" * 101, "a.csv", "more than")],
)  # fmt: skip
def test_what_cannot_be_a_table_is_refused_with_a_sentence(place, monkeypatch, content, name, told):
    monkeypatch.setattr(_workspace, "LARGEST", 100)
    with pytest.raises(ValueError, match=told):
        place.add_table(content, name)
    assert place.tables() == []
    assert not list(place.folder.glob("tmp*"))


def test_runs_under_way_are_marked_when_the_server_has_gone(place):
    runs = [place.new_run("discover") for _ in range(3)]
    for run, state in zip(runs, (State.RUNNING, State.QUEUED, State.DONE), strict=True):
        place.keep(replace(run, state=state))
    marked = Workspace(place.folder).mark_interrupted()
    assert {run.id for run in marked} == {run.id for run in runs[:2]}
    assert place.run(runs[0].id).state is State.INTERRUPTED
    assert place.run(runs[2].id).state is State.DONE
    assert place.mark_interrupted() == []


def test_records_of_later_versions_and_damaged_ones(place):
    run = place.new_run("discover", options={"time_limit": 3.0})
    path = place.run_folder(run.id) / "run.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "later": 1}))
    assert place.run(run.id) == run
    path.write_text("{")
    assert place.runs() == []


def test_the_choice_is_kept_and_begins_with_that_of_the_profile(place):
    entry = place.add_table(TABLE, "a.csv")
    assert place.choice(entry.hash) == Choice()
    profile = {"choice": {"target": "y", "inputs": ["x"]}}
    (place.table_folder(entry.hash) / "profile.json").write_text(json.dumps(profile))
    assert place.choice(entry.hash) == Choice("y", ("x",))
    mine = Choice("x", ("y",), {"x": "K"}, ("y>1",))
    place.choose(entry.hash, mine)
    assert Workspace(place.folder).choice(entry.hash) == mine


def test_one_studio_at_a_time_has_a_workspace(place):
    pytest.importorskip("fcntl")
    place.take()
    with pytest.raises(ValueError, match="another studio"):
        Workspace(place.folder).take()
    place.leave()
    other = Workspace(place.folder)
    other.take()
    other.leave()


def test_settings_and_states():
    assert str(State.RUNNING) == "running"
    run = Run("20260101-000000-abcdef", "discover", started=time.time())
    assert run.seconds is None
    assert replace(run, ended=run.started + 2).seconds == 2
