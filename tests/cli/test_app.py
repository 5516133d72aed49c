"""The command, as its user would call it."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from matplotlib import image
from typer.testing import CliRunner

import rational_anova as ra
from rational_anova.cli import _show, app
from rational_anova.cli._console import EXIT_CODES

run = CliRunner().invoke
ROOT = Path(__file__).parents[2]


@pytest.mark.slow
def test_demo(tmp_path):
    picture, page = tmp_path / "new" / "demo.png", tmp_path / "new" / "demo.html"
    result = run(app, ["demo", "--picture", str(picture), "--report", str(page)])
    assert result.exit_code == 0, result.output
    (law,) = re.findall(r"^P \[bar\] = .*$", result.output, re.M)
    assert re.fullmatch(r"P \[bar\] = 0\.083\d+\*T/\(V - 0\.042\d+\) - 3\.6\d+/V\*\*2", law)
    assert law in (ROOT / "README.md").read_text(), "the README shows what the demo prints"
    words = (
        "noise       rmse",
        "a           3.6",
        "van der Waals",
        "domain      proven",
        "On held-out rows",
    )
    assert all(part in result.output for part in words)
    pixels = image.imread(picture)
    assert pixels.shape[0] > 400
    assert pixels.std() > 0.05
    assert ">measured<" in page.read_text()


def test_the_table_of_the_demo_is_made_by_its_program():
    from experiments.discovery.demo_table import PATH, text

    assert PATH.read_text() == text()
    assert text().count("\n") == 401


def test_budget():
    result = run(app, ["budget", "50000", "--in-features", "784", "--out-features", "10"])
    assert result.exit_code == 0
    assert all(family in result.output for family in ("RAN", "DeepRAN", "MLP", "KAN", "KAF"))
    assert "50,008" in result.output
    one = run(
        app, ["budget", "50000", "--in-features", "784", "--out-features", "10", "--family", "KAX"]
    )
    assert one.exit_code == 2
    assert "family must be one of" in one.output
    small = run(app, ["budget", "50", "--in-features", "784", "--out-features", "10"])
    assert small.exit_code == 0
    assert "smallest" in small.output


def test_version_and_bad_numbers():
    result = run(app, ["--version"])
    assert result.output.strip() == f"rational-anova {ra.__version__}"
    bad = run(app, ["budget", "100", "--in-features", "0", "--out-features", "1"])
    assert bad.exit_code == 2
    assert "--in-features" in bad.output


def test_show(tmp_path):
    path = tmp_path / "unit.safetensors"
    ra.save(ra.RAN(2, 1, "none"), path)
    result = run(app, ["show", str(path)])
    assert result.exit_code == 0
    assert "12 parameters" in result.output
    assert "y0 =" in result.output
    ra.save(ra.DeepRAN(5, 2), path)
    assert "DeepRAN" in run(app, ["show", str(path)]).output


def test_wrong_files_end_in_one_line(tmp_path):
    path = tmp_path / "broken.safetensors"
    path.write_text("not a model")
    odd = "[/x][bold]y.st"
    for name, message in ((path, "damaged"), (tmp_path / "missing", "no file"), (odd, odd)):
        result = run(app, ["show", str(name)])
        assert result.exit_code == 2
        assert message in result.output
        assert "Traceback" not in result.output


def test_installed_command():
    result = subprocess.run(
        [sys.executable, "-c", "from rational_anova.cli import app; app()", "--help"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert all(word in result.stdout for word in ("demo", "discover", "budget", "show"))


@pytest.mark.parametrize(
    ("error", "code", "line"),
    [
        (ValueError("3 is\nnot 4"), 2, "error: 3 is not 4"),
        (FileNotFoundError("no file [x]"), 2, "error: no file [x]"),
        (ra.Diverged("the loss is nan"), 2, "error: the loss is nan"),
        (ValueError(), 2, "error: ValueError"),
        (KeyError("x"), 1, "fault: KeyError: 'x'. This is an internal error: please report it with "
                           "the output of `ran --debug ...`"),
        (KeyboardInterrupt(), 130, "interrupted: nothing more was written"),
    ],
)  # fmt: skip
def test_every_error_ends_in_one_line_and_a_code(monkeypatch, error, code, line):
    def fail(path):
        raise error

    monkeypatch.setattr(_show, "show", fail)
    result = run(app, ["show", "x"])
    assert (result.exit_code, result.stderr, result.stdout) == (code, f"{line}\n", "")
    debug = run(app, ["--debug", "show", "x"])
    assert debug.exit_code == code
    assert "Traceback" in debug.stderr
    assert "in fail" in debug.stderr
    assert debug.stderr.endswith(f"{line}\n")
    assert "Traceback" in run(app, ["show", "x"], env={"RAN_DEBUG": "1"}).stderr


@pytest.mark.parametrize(
    "words",
    ["fit t --target y --out", "fit t --target y --card", "predict m t --out", "demo --picture",
     "discover t --target y --json", "discover t --target y --report", "discover t --target y --plot",
     "fit-law t a*x --target y --json", "certify m --plot", "certify m --out"],
)  # fmt: skip
def test_a_file_that_cannot_be_written_is_refused_before_the_work(words, tmp_path):
    (tmp_path / "file").touch()
    inside = run(app, [*words.split(), str(tmp_path / "file" / "x.png")])
    assert inside.exit_code == 2
    assert inside.stderr.endswith("file is a file, not a folder\n")
    folder = run(app, [*words.split(), str(tmp_path)])
    assert folder.exit_code == 2
    assert "it is a folder; name a file in it" in folder.stderr


@pytest.mark.parametrize(
    "words",
    ["fit {} --target y --out {}", "fit {} --target y --card {}", "predict m {} --out {}", "predict {} t --out {}",
     "discover {} --target y --json {}", "discover t --target y --forms {} --report {}",
     "fit-law {} a*x --target y --plot {}", "certify {} --out {}", "certify m --table {} --out {}"],
)  # fmt: skip
def test_no_file_is_written_over_that_is_read(words, tmp_path, monkeypatch):
    path = tmp_path / "data.png"
    path.write_text("x,y\n1,2\n")
    monkeypatch.chdir(tmp_path)
    result = run(app, [word.format("./data.png") for word in words.split()])
    assert result.exit_code == 2
    assert result.stderr == "error: cannot write data.png: it is read, too; name another file\n"
    assert path.read_text() == "x,y\n1,2\n"


def test_no_file_is_written_twice(tmp_path):
    path = str(tmp_path / "a.png")
    for words in (
        ["demo", "--picture", path, "--report"],
        ["certify", "m", "--out", path, "--plot"],
    ):
        result = run(app, [*words, path])
        assert result.exit_code == 2
        assert result.stderr.endswith("a.png twice; name another file for one of them\n")


def test_exit_codes_are_those_of_the_help_and_the_docs():
    text = " ".join(run(app, ["--help"]).output.split())
    page = (ROOT / "docs" / "guides" / "commands.md").read_text()
    for code, meaning in EXIT_CODES.items():
        assert f"{code} {meaning}" in text
        assert f"| {code} | {meaning} |" in page


def test_commands_share_their_words():
    shared = ("--inputs", "--exclude", "--where")
    commands = {c.callback.__name__: inspect.signature(c.callback) for c in app.registered_commands}
    for name in ("certify", "discover", "fit", "fit_law", "predict"):
        found = commands[name].parameters
        for option in shared:
            text = found[option[2:]].annotation
            assert text == option[2:].capitalize(), f"{name} {option} has words of its own"
    page = (ROOT / "docs" / "guides" / "commands.md").read_text()
    assert all(f"`ran {name.replace('_', '-')}`" in page for name in commands)


def test_the_docs_have_every_option_on_laws():
    page = (ROOT / "docs" / "guides" / "commands.md").read_text()
    commands = {c.callback.__name__: inspect.signature(c.callback) for c in app.registered_commands}
    for name in ("discover", "fit_law", "laws"):
        for option in set(commands[name].parameters) - {"path", "formula", "search"}:
            assert f"--{option.replace('_', '-')}" in page, f"{name}: {option}"


def test_library_does_not_print(capsys):
    net = ra.RAN(3)
    net(torch.randn(2, 3))
    ra.match_budget(1000, "RAN", 3, 1)
    assert capsys.readouterr() == ("", "")
