"""The release: one version, and files that name it."""

import re
from pathlib import Path

import rational_anova as ra

HERE = Path(__file__).parent
ROOT = HERE.parents[1]


def test_the_version_stands_in_one_place():
    assert re.fullmatch(r"\d+\.\d+\.\d+", ra.__version__)
    assert f"version: {ra.__version__}\n" in (ROOT / "CITATION.cff").read_text()
    assert 'dynamic = ["version"]' in (ROOT / "pyproject.toml").read_text()


def test_the_changelog_has_a_section_of_what_is_not_released_yet():
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.M)
    assert headings[0] == "Unreleased"


def test_every_extra_for_users_is_explained():
    table = (ROOT / "pyproject.toml").read_text().split("[project.optional-dependencies]")[1]
    extras = set(re.findall(r"^(\w+) = \[", table.split("\n[")[0], re.M)) - {"dev", "bench"}
    page = (ROOT / "docs" / "start" / "install.md").read_text()
    assert extras
    assert not {extra for extra in extras if f".[{extra}]" not in page}


def test_workflows_call_targets_that_the_makefile_has():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M))
    for workflow in (ROOT / ".github" / "workflows").glob("*.yml"):
        assert set(re.findall(r"run: make (\w+)", workflow.read_text())) <= targets, workflow.name


def test_lowest_versions_are_those_of_the_package():
    stated = (ROOT / "pyproject.toml").read_text().split("dependencies = [")[1].split("]")[0]
    asked = dict(re.findall(r'"([\w-]+)>=([\d.]+)"', stated))
    tried = dict(re.findall(r"^([\w-]+)==([\d.]+)\.\*$", (HERE / "lowest.txt").read_text(), re.M))
    assert asked.pop("torch")  # that of constraints.txt
    assert tried == {name: v if "." in v else f"{v}.0" for name, v in asked.items()}
