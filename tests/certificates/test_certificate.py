"""The certificate as a record: JSON and back, lines, a table and a figure."""

import json
from pathlib import Path

import pytest
import torch

import rational_anova as ra
from rational_anova import Certificate


@pytest.fixture(scope="module")
def found():
    torch.manual_seed(0)
    return ra.certify(ra.RAN(3, noise=0.1), [(-1, 1)] * 3)


def test_json_and_back(found, tmp_path):
    assert Certificate.from_json(found.to_json()) == found
    everywhere = ra.certify(ra.RAN(3))
    stored = json.loads(everywhere.to_json())
    assert stored["lipschitz"] == "inf"
    assert Certificate.from_json(everywhere.to_json()) == everywhere
    found.save(tmp_path / "c.json")
    assert Certificate.load(tmp_path / "c.json") == found
    assert json.loads((tmp_path / "c.json").read_text())["units"][0]["theorem"]["W_P"] > 0
    deep = ra.certify(ra.DeepRAN(3, 2, noise=0.1), [(-1, 1)] * 3, pieces=1)
    assert Certificate.from_json(deep.to_json(indent=2)) == deep


def test_what_is_no_certificate(found, tmp_path):
    for text, message in (
        ("[", "not JSON"),
        ("[]", "no certificate"),
        ('{"format": "rational-anova law"}', "no certificate"),
        (found.to_json().replace('"version": 1', '"version": 9'), "reads up to 1: upgrade"),
        (found.to_json().replace('"units"', '"unit"'), "damaged"),
        (found.to_json().replace('"sampled"', '"other"'), "damaged"),
    ):
        with pytest.raises(ValueError, match=message):
            Certificate.from_json(text)
    path = tmp_path / "bad.json"
    path.write_text("{")
    with pytest.raises(ValueError, match=r"bad\.json holds no certificate.*not JSON"):
        Certificate.load(path)


def test_lines_for_people(found):
    lines = found.summary().splitlines()
    assert lines[0] == "for every point with all 3 inputs in [-1, 1]:"
    assert lines[1].startswith(f"Lipschitz constant: at most {found.lipschitz:.6g} (met: ")
    assert lines[3].startswith("output 0: in [")
    assert len(lines) == 4 + 3
    assert all(": slope in [" in line for line in lines[4:])
    assert ra.certify(ra.RAN(3)).summary() == "denominators: at least 1 everywhere"
    box = [(-1, n + 1) for n in range(20)]
    many = ra.certify(ra.Rational1d(20, noise=0.1), box, samples=1).summary()
    assert "and 8 more:" in many
    assert many.count("... and 8 more") == 2
    assert "lipschitz=" in repr(found)
    assert len(repr(found)) < 200


def test_a_table_and_a_figure(found):
    assert len(found.table()) == len(found.units) == 6
    assert {"lipschitz", "theorem", "gap"} <= set(found.table().columns)
    for axes in found.plot().axes:
        assert axes.get_xlabel()
        assert axes.get_title()
    assert len(found.plot().axes) == 2
    assert [label.get_text() for label in found.plot().axes[1].get_yticklabels()] == [
        "x0",
        "x1",
        "x2",
    ]
    ra.certify(ra.RAN(3)).plot()
    assert "2e-14" in found.margin
    with pytest.raises(AttributeError):
        found.lipschitz = 0.0


def test_the_page_shows_what_is_printed(capsys):
    page = (Path(__file__).parents[2] / "docs" / "guides" / "certificates.md").read_text()
    code = page.split("```python\n")[1].split("```")[0]
    shown = page.split("```text\n")[1].split("```")[0]
    exec(compile(code, "certificates.md", "exec"), {})
    assert capsys.readouterr().out == shown


def test_what_is_undecided_is_said():
    Monotone = ra.certificates.Monotone
    verdicts = (
        Monotone(0, 0, (-1.0, 1.0), "undecided", "undecided"),
        Monotone(1, 0, (-1.0, 1.0), "undecided", "refuted", None, (0.0, 0.5)),
    )
    record = Certificate(((0, 1),) * 2, 2.0, 1.0, 2.0, 3.0, 1.0, ((0.0, 1.0),), verdicts)
    assert record.summary().splitlines()[-2:] == [
        "x0: slope in [-1, 1], sign undecided",
        "x1: slope in [-1, 1], rises at (0, 0.5); whether it falls anywhere is undecided",
    ]
