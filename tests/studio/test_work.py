"""Workers: tables read, laws found, fits cancelled, failures told; no browser."""

import io
import os
import signal
import time
from dataclasses import asdict

import numpy as np
import pytest

import rational_anova as ra
from rational_anova.studio._records import Choice, State
from rational_anova.studio._workspace import Workspace
from rational_anova.studio.work import Work
from rational_anova.tables import demo_table

X = np.linspace(0.2, 4, 20)
SMALL = "S,rate\n" + "\n".join(f"{x:.6f},{3 * x / (x + 0.5):.12g}" for x in X)


@pytest.fixture(scope="module")
def work(tmp_path_factory):
    found = Work(Workspace(tmp_path_factory.mktemp("workspace")))
    yield found
    found.close()


def over(work, run, seconds=60):
    """The run once it is over."""
    end = time.monotonic() + seconds
    while work.runs[run.id].state.under_way:
        assert time.monotonic() < end, work.runs[run.id]
        time.sleep(0.02)
    return work.runs[run.id]


def read(work, content, name="table.csv"):
    """A table of the workspace, read."""
    entry = work.workspace.add_table(content, name)
    return entry, over(work, work.start("read", entry.hash))


def asked(work, entry, **more):
    return {"choice": asdict(work.workspace.choice(entry.hash)), "time_limit": 20.0, **more}


def test_a_table_is_read_and_a_law_found(work):
    entry, run = read(work, SMALL.encode())
    assert run.state is State.DONE
    profile = work.workspace.profile(entry.hash)
    assert profile["rows"] == 20
    assert [c["kind"] for c in profile["columns"]] == ["number", "number"]
    assert sum(profile["columns"][0]["bins"]) == 20
    assert work.workspace.choice(entry.hash) == Choice("rate", ("S",))
    run = over(work, work.start("discover", entry.hash, asked(work, entry)))
    assert run.state is State.DONE
    law = ra.load(work.workspace.result(run))
    assert law.equals("3*S/(S + 1/2)")
    assert run.bests
    assert run.progress["candidates"] >= 0
    assert len(run.progress["y"]) == 20
    fitted = over(
        work, work.start("fit_law", entry.hash, asked(work, entry, form="2.5*S/(S + 0.7)"))
    )
    assert ra.load(work.workspace.result(fitted)).equals(law)


def test_a_cancelled_search_keeps_the_best(work):
    entry, _ = read(work, demo_table(), "demo.csv")
    run = work.start("discover", entry.hash, asked(work, entry, time_limit=100.0))
    # the first formula is the mean, and a search that ends with it has no law
    while not any("V" in str(best) for best in work.runs[run.id].bests):
        time.sleep(0.02)
    work.cancel(run.id)
    run = over(work, run)
    assert run.state is State.CANCELLED
    assert ra.load(work.workspace.result(run)).target == "P"
    waiting = work.start("discover", entry.hash, asked(work, entry, time_limit=100.0))
    work.cancel(waiting.id)
    assert over(work, waiting).state is State.CANCELLED


def test_what_is_known_is_used(work):
    entry, _ = read(work, SMALL.encode())
    known = asked(work, entry, without=["sin"], positive=["S", "rate"], constants={"R": 8.314})
    run = over(work, work.start("discover", entry.hash, known))
    law = ra.load(work.workspace.result(run))
    assert law.provenance["options"]["without"] == ["sin"]
    bad = over(work, work.start("discover", entry.hash, asked(work, entry, without=["gamma"])))
    assert bad.state is State.FAILED
    assert "without takes some of" in bad.message


def test_units_of_headers_and_filters(work):
    rows = "\n".join(f"{x:.4f},{2 * x:.6f},{'a' if k % 2 else 'b'}" for k, x in enumerate(X))
    entry, _ = read(work, f"t [s],d (m),kind\n{rows}".encode())
    choice = work.workspace.choice(entry.hash)
    assert choice == Choice("d", ("t",), {"t": "s", "d": "m"})
    checked = over(
        work, work.start("check", entry.hash, {"choice": {**asdict(choice), "where": ["kind=a"]}})
    )
    assert checked.progress["rows"] == 10
    assert checked.progress["inputs"] == ["t"]
    run = over(work, work.start("discover", entry.hash, asked(work, entry, units=True)))
    assert ra.load(work.workspace.result(run)).units["t"] == "s"


def test_the_first_choice_has_no_row_numbers_and_knows_a_target_by_its_name(work):
    rows = "\n".join(f"{k + 1},{x:.4f},{x**2:.6f},{-x:.4f}" for k, x in enumerate(X))
    entry, _ = read(work, f"rownames,x,y,z\n{rows}".encode())
    assert work.workspace.choice(entry.hash) == Choice("y", ("x",))  # z is x in another unit


@pytest.mark.parametrize(
    ("content", "name", "told"),
    [
        (b"\x00\x01\x02\xff" * 50, "binary.csv", "not text"),
        (b"a,b\n", "header.csv", "no rows"),
        (b"PAR1nonsense", "broken.parquet", "damaged"),
        (b"PK\x03\x04nonsense", "broken.xlsx", "damaged spreadsheet"),
        (b"\x1f\x8bnonsense", "broken.csv.gz", "damaged gzip"),
    ],
)
def test_tables_that_cannot_be_read_end_in_a_sentence(work, content, name, told):
    _, run = read(work, content, name)
    assert run.state is State.FAILED
    assert told in run.message
    assert str(work.workspace.folder) not in run.message


def test_a_spreadsheet_and_a_very_wide_table(work):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["a", "b"])
    for k in range(6):
        book.active.append([k, 2.5 * k])
    out = io.BytesIO()
    book.save(out)
    entry, run = read(work, out.getvalue(), "sheet.xlsx")
    assert run.state is State.DONE, run.message
    assert work.workspace.profile(entry.hash)["rows"] == 6
    names = ",".join(f"c{k}" for k in range(10_000))
    entry, run = read(work, "\n".join([names, *[",".join(["1.5"] * 10_000)] * 2]).encode())
    assert run.state is State.DONE, run.message
    assert len(work.workspace.profile(entry.hash)["columns"]) == 10_000


def test_a_worker_that_dies_fails_its_run_alone(work):
    entry, _ = read(work, demo_table(), "demo.csv")
    run = work.start("discover", entry.hash, asked(work, entry, time_limit=100.0))
    while "stage" not in work.runs[run.id].progress:
        time.sleep(0.02)
    os.kill(work.runs[run.id].progress["worker"], signal.SIGKILL)
    run = over(work, run)
    assert run.state is State.FAILED
    assert "memory" in run.message
    assert work.again(run.id).options == run.options
    work.cancel(list(work.runs)[-1])
