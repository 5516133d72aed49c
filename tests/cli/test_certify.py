"""`ran certify`: boxes by hand and from tables, laws and networks, and clear errors."""

import numpy as np
import pandas as pd
import pytest
import torch
from typer.testing import CliRunner

import rational_anova as ra
from rational_anova.cli import app
from rational_anova.discovery import Evidence
from rational_anova.symbols import Names


def run(*words):
    found = CliRunner().invoke(app, ["certify", *map(str, words)])
    return found.exit_code, " ".join((found.stdout + found.stderr).split())


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("certify")
    torch.manual_seed(0)
    ra.save(ra.RAN(2, topology="all", noise=0.1), folder / "net.safetensors")
    names = Names(["T", "V"])
    law = ra.Law(
        names.parse("0.083*T/(V - 0.043) - 3.64/V**2"), (), names, "P", ((250, 400), (0.1, 1)),
        np.zeros((0, 0)), Evidence(rows=50, noise=0.01, error=0.01),
    )  # fmt: skip
    law.save(folder / "law.json")
    pd.DataFrame({"V": [0.2, 0.5, None], "T": [300, 350, 320], "word": list("abc")}).to_csv(
        folder / "table.csv", index=False
    )
    return folder


def test_a_network(files):
    out, picture = files / "certificate.json", files / "plot.png"
    code, text = run(files / "net.safetensors", "--box", "-1,1", "--box", "x1=0:2",
                     "--out", out, "--plot", picture)  # fmt: skip
    assert code == 0, text
    assert "x0 in [-1, 1], x1 in [0, 2]" in text
    assert "Lipschitz constant: at most" in text
    found = ra.Certificate.load(out)
    assert found.box == ((-1, 1), (0, 2))
    assert f"{found.lipschitz:.6g}" in text
    assert picture.read_bytes()[:4] == b"\x89PNG"
    assert ra.certify(ra.load(files / "net.safetensors"), found.box) == found


def test_a_law_on_its_own_box_and_others(files):
    code, text = run(files / "law.json")
    assert code == 0, text
    assert "T in [250, 400], V in [0.1, 1]" in text
    assert "T: slope in" in text
    assert "never falls" in text
    code, text = run(files / "law.json", "--table", files / "table.csv")
    assert "T in [300, 350], V in [0.2, 0.5]" in text
    code, text = run(files / "law.json", "--box", "V=0.3:0.4", "--quiet")
    assert (code, text) == (0, "")


def test_a_pole_ends_with_a_code_of_its_own(files):
    code, text = run(files / "law.json", "--box", "V=0.01:1")
    assert code == 3
    assert "pole: V - 0.043 is not free of zeros" in text
    assert "nothing is certified" in text


def test_a_table_for_a_network(files):
    code, text = run(files / "net.safetensors", "--table", files / "table.csv")
    assert code == 2
    assert "has 3 columns: name those of the inputs" in text
    net, table = files / "net.safetensors", files / "table.csv"
    code, text = run(net, "--table", table, "--inputs", "V,T", "--box", "x1=0:1")
    assert code == 0, text
    assert "x0 in [0.2, 0.5], x1 in [0, 1]" in text
    code, text = run(net, "--table", table, "--inputs", "V,word")
    assert code == 2
    assert "column 'word' of" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "there is no box for x0, x1; give --box -1,1"),
        (["--box", "x0=0:1"], "there is no box for x1"),
        (["--box", "a"], "--box must be as -1,1 or x=0:1,y=-2:3, got 'a'"),
        (["--box", "1,-1"], "--box of x0 must have low <= high, got 1:-1"),
        (["--box", "1,1"], "box[0] must have low < high"),
        (["--box", "x7=0:1"], "an input in --box must be one of"),
        (["--inputs", "a"], "give --table"),
    ],
)
def test_bad_boxes(files, words, message):
    code, text = run(files / "net.safetensors", *words)
    assert code == 2
    assert message in text


def test_other_files(files):
    assert "no file at" in run(files / "none")[1]
    bad = files / "bad.json"
    bad.write_text("[1]")
    assert "was not written by rational_anova" in run(bad)[1]
