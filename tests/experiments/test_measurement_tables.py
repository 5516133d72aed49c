"""Tables of the docs on measurements: made of recorded rows, and honest where there are none."""

import csv

import pytest

from experiments.measurements import tables


@pytest.fixture(autouse=True)
def folder(monkeypatch, tmp_path):
    monkeypatch.setattr(tables, "FOLDER", tmp_path)
    return tmp_path


def record(folder, name, *rows):
    with (folder / f"measurements_{name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


@pytest.mark.parametrize("name", tables.TABLES)
def test_what_was_not_recorded_is_said_to_be_so(name):
    head, line = tables.lines(name)
    assert line[0] == "not recorded yet"
    assert len(line) == len(head)


def test_failures_of_peers_are_counted(folder):
    row = {"certified": "Misra1a", "level": "lower", "method": "fit_law", "start": "none",
           "digits": "9.5", "error_digits": "8", "reached": "True", "seconds": "0.5"}  # fmt: skip
    peer = {**row, "method": "curve_fit", "start": "far", "digits": "0.1", "reached": "False"}
    record(folder, "nist", row, peer)
    _, ours, theirs = tables.lines("measurements_nist")
    assert ours[2:7] == ["1", "1", "9.5", "8.0", "0"]
    assert theirs[6] == "1"
    assert tables.lines("measurements_nist_sets")[1][-2:] == ["failed", ""]


def test_curves_count_where_bic_can_tell_and_what_is_wrong(folder):
    row = {"curve": "a", "named": "True", "noise": "0.01", "seed": "0", "seconds": "3",
           "failure": "", "first": "True", "level": "True", "can_tell": "True", "rank": "1",
           "grade": "established", "wrongly_established": "False"}  # fmt: skip
    missed = {**row, "seed": "1", "first": "False", "level": "False", "can_tell": "False"}
    wrong = {**missed, "seed": "2", "wrongly_established": "True"}
    record(folder, "curves", row, missed, wrong)
    _, named, every = tables.lines("measurements_curves")
    assert named[:3] == ["in the catalogue", "0.01", "1 of 1 (100.0%)"]
    assert every[3:6] == ["1 of 3 (33.3%)", "1", "1 (33.3%)"]


def test_intervals_are_shares_of_what_was_asked(folder):
    row = {"form": "f", "table": "0", "noise": "constant", "found_same": "True"}
    for what in ("told", "found"):
        row |= {f"{what}_curve": "19", f"{what}_new": "20", f"{what}_numbers": "2",
                f"{what}_profile": "2", f"{what}_wald": "1"}  # fmt: skip
    record(folder, "coverage", row)
    _, told, *_ = tables.lines("measurements_coverage")
    assert told == ["constant", "1", "told", "95.0%", "100.0%", "100.0%", "50.0%"]
