"""Kernels that are built ahead, and the line of a first build."""

import logging

import pytest
import torch
from typer.testing import CliRunner

import rational_anova as ra
from rational_anova import kernels
from rational_anova.cli import app
from rational_anova.kernels import _ahead, _build
from rational_anova.units import common_forms, forms_of


@pytest.fixture
def compiled(monkeypatch, tmp_path):
    """Stand in for the compiler: each library is an empty file."""
    monkeypatch.setenv("RAN_CACHE", str(tmp_path / "cache"))
    commands = []

    def run(command):
        commands.append(command)
        return ""

    monkeypatch.setattr(_build, "find_compiler", lambda: ["cc"])
    monkeypatch.setattr(_build, "_run", run)
    return commands


def test_what_is_there_stays(compiled):
    lines = []
    first = kernels.build(common_forms()[:2], [torch.float32], lines.append)
    assert len(first) == len(compiled) == len(lines) == 3
    assert all(one.seconds > 0 and one.path.exists() for one in first)
    again = kernels.build(common_forms()[:2], [torch.float32])
    assert [one.seconds for one in again] == [0.0] * 3
    assert len(compiled) == 3


def test_a_first_build_says_so(compiled, caplog):
    with caplog.at_level(logging.WARNING, "rational_anova.kernels"):
        kernels.build((), [torch.float64])
    (record,) = caplog.records
    assert "once for this machine" in record.message
    assert "ran kernels build" in record.message


def test_forms_of_a_network():
    net = ra.DeepRAN(4, 2, denominator="square")
    assert len(forms_of(net)) == 2
    assert forms_of(torch.nn.Linear(2, 2)) == []
    words = [_ahead._words(*form) for form in forms_of(net)]
    assert any(line.startswith("2 inputs") for line in words)


def test_other_dtypes_are_refused():
    with pytest.raises(ValueError, match="float16"):
        kernels.build((), [torch.float16])


def test_from_the_command_line(compiled, tmp_path):
    found = CliRunner().invoke(app, ["kernels", "build", "--no-forms"])
    assert found.exit_code == 0, found.output
    assert len(compiled) == 2
    ra.save(ra.RANFFN(3, 4), tmp_path / "net.safetensors")
    words = ["kernels", "build", str(tmp_path / "net.safetensors"), "--dtype", "float32"]
    assert CliRunner().invoke(app, words).exit_code == 0
    assert len(compiled) == 3


def test_info_from_the_command_line():
    found = CliRunner().invoke(app, ["kernels", "info"])
    assert found.exit_code == 0
    assert "compiler" in found.output
