"""Imports point down only: each module may import modules of a lower rank, and its own folder."""

import ast
from pathlib import Path

import pytest

import rational_anova

ROOT = Path(rational_anova.__file__).parent
ORDER = [
    {"_validation", "_modules", "_json"},
    {"kernels", "symbols"},
    {"functional", "topology"},
    {"serialization", "images"},
    {"units"},
    {"networks"},
    {"budgets", "training"},
    {"certificates", "dynamics", "surgery"},
    {"discovery", "estimators"},
    {"report"},
    {"cli"},
]
RANK = {name: rank for rank, names in enumerate(ORDER) for name in names}
FILES = sorted(p for p in ROOT.rglob("*.py") if p != ROOT / "__init__.py")


def owner(path):
    """The top-level module or folder that a file belongs to."""
    return path.relative_to(ROOT).parts[0].removesuffix(".py")


def imported(path):
    """Top-level parts of the package that a file imports, anywhere in it."""
    package = ["rational_anova", *path.relative_to(ROOT).parts[:-1]]
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name.split(".") for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = base + (node.module.split(".") if node.module else [])
            names = [[*stem, alias.name] for alias in node.names]
        else:
            continue
        for name in names:
            if name[0] == "rational_anova":
                yield name[1] if len(name) > 1 else "__init__"


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_point_down(path):
    here = owner(path)
    assert here in RANK, f"give {here} a rank in ORDER"
    for name in imported(path):
        assert name == here or RANK[name] < RANK[here], f"{path.name} of {here} imports {name}"


def test_the_check_sees_every_form_of_import(tmp_path, monkeypatch):
    file = tmp_path / "units" / "_x.py"
    file.parent.mkdir()
    file.write_text("import rational_anova.cli\nfrom .. import networks\nfrom ..budgets import a\n")
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    assert list(imported(file)) == ["cli", "networks", "budgets"]


@pytest.mark.parametrize("folder", ["experiments", "benchmarks"])
def test_scripts_use_the_public_package_only(folder):
    for path in (ROOT.parent / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            module = getattr(node, "module", None) or ""
            if isinstance(node, ast.ImportFrom) and module.startswith("rational_anova"):
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                assert not any(name.startswith("_") for name in names), f"{path}: {names}"
