"""A unit on sliders, and files that are opened in a worker: without a browser."""

import json

import numpy as np
import pytest

import rational_anova as ra
from rational_anova.studio._unit import KINDS, Unit, certified, fitted, seen, values_of
from rational_anova.studio.work import Job
from rational_anova.studio.work._files import open_file


@pytest.mark.parametrize("kind", KINDS)
def test_a_unit_is_seen_and_proved(kind):
    unit = Unit((0.2, 1.0, 0.0, 0.3), (0.1, 0.3), kind=kind, low=-1, high=1)
    found = seen(unit)
    assert found.y == pytest.approx(np.polyval([0.3, 0, 1, 0.2], found.x) / found.d)
    away = np.abs(found.slope - np.gradient(found.y, found.x))[1:-1]
    assert np.quantile(away, 0.98) < 1e-3  # but at the kinks of |q|
    proof, why = certified(unit)
    assert not why
    assert np.abs(found.slope).max() <= proof.lipschitz
    assert found.d.min() >= proof.denominator_min
    assert (found.poles is None) == (kind in ("softplus", "squareplus", "abs"))


def test_a_pole_on_the_interval_is_said():
    unit = Unit(q=(-1.0,), kind="polynomial")
    assert certified(unit)[0] is None
    assert "pole" in certified(unit)[1]
    found = seen(unit)
    assert np.isnan(found.y[found.x > 1]).all()
    with pytest.raises(ValueError, match="nan"):
        unit.changed("p", 0, float("nan"))


def test_a_unit_is_fitted_to_a_function():
    unit = fitted(Unit().of_degrees(5, 4), "gelu")
    found = seen(unit)
    away = np.sqrt(np.mean((found.y - values_of("gelu", found.x)) ** 2))
    assert away == pytest.approx(unit.error, rel=0.1)
    assert away < 0.01
    assert unit.changed("q", 1, 0.5).error is None
    with pytest.raises(ValueError, match="'cosh'"):
        fitted(unit, "cosh")


def opened(workspace, content, name):
    (workspace / "files").mkdir(exist_ok=True)
    (workspace / "files" / ("0" * 16)).write_bytes(content)
    return asked(workspace, {"file": "0" * 16, "name": name})


def asked(workspace, options):
    folder = workspace / "runs" / "20260101-000000-abcdef"
    folder.mkdir(parents=True, exist_ok=True)
    job = Job("run", folder, None, None, "", options, lambda told: None, lambda: False)
    return folder, open_file(job)


def test_files_are_described_and_drawn(tmp_path):
    ra.save(ra.Rational1d(2), tmp_path / "unit")
    folder, names = opened(tmp_path, (tmp_path / "unit").read_bytes(), "unit.safetensors")
    known = json.loads((folder / names[0]).read_text())
    assert known["kind"] == "network"
    assert "Rational1d(2" in known["lines"]
    assert [picture["file"] for picture in known["pictures"]] == list(names[1:]) != []
    assert (folder / names[1]).read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize("content", [b"a,b\n1,2\n", b"\x00\x01", b"{}"])
def test_what_is_none_of_ours_is_an_error_with_its_name(content, tmp_path):
    with pytest.raises(ValueError, match=r"^odd <i>\.ran ") as error:
        opened(tmp_path, content, "odd <i>.ran")
    assert str(tmp_path) not in str(error.value)


@pytest.mark.parametrize("options", [
    {"file": "../../etc/passwd"}, {"run": "..", "result": "passwd"}, {},
    {"run": "20260101-000000-abcdef", "result": "../../x.json"},
])  # fmt: skip
def test_no_path_leads_out_of_the_workspace(options, tmp_path):
    with pytest.raises(ValueError, match="no such file in the workspace"):
        asked(tmp_path, options)
