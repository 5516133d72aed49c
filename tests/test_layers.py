"""The house stands: imports point down, private files stay private, rooms are small."""

import ast
from pathlib import Path

import pytest

import rational_anova

ROOT = Path(rational_anova.__file__).parent
# Each may import what stands above it in this list; names of one line do not know each other.
PACKAGES = [
    "_core",
    "symbols",
    "tables | proofs | kernels",
    "functional | topology",
    "units | images",
    "anova",
    "networks",
    "budgets | training",
    "certificates | dynamics | surgery",
    "discovery | tabular",
    "motion | reading | report",
    "studio",
    "cli",
]
# The rooms of packages that have sub-folders, in the same way.
ROOMS = {
    "training": [
        "_losses | _terms",
        "data",
        "optimizers",
        "_history | _parameter_groups",
        "_loop | _settings",
        "_fit",
        "_path | _restarts | _select",
        "_api",
    ],
    "discovery": [
        "_algebra | _route | _thresholds | catalogue | dimensions",
        "sums",
        "waves",
        "_equivalence | search | fitting",
        "law",
        "finish | claims",
        "_assemble",
        "_run",
        "_proposals | _grouped",
        "_weighing",
        "known",
        "_fit_law",
        "_discover | stages",
    ],
    "motion": [
        "_runs | _smooth | _system",
        "_simulate | _shooting | search",
        "record | known",
        "_choice | _units",
        "_finish",
        "_claims | _groups",
        "_recorded",
        "_discover",
    ],
    "studio": [
        "_records",
        "_workspace | _unit | models",
        "work",
        "pages",
        "views",
        "serve",
    ],
    "tabular": [
        "model",
        "fit",
        "monotone",
        "_fitting | _intervals | _targets",
        "deep | _tuning",
        "explain | export",
        "many",
        "edit | _files | cards",
        "_base",
        "_classifier | _regressor | _survival",
        "_ordinal",
        "autogluon",
    ],
}
MOST_LINES, MOST_FILES = 500, 12
FILES = sorted(ROOT.rglob("*.py"))
FOLDERS = sorted({path.parent for path in FILES})


def ranks(order):
    """The line of each name."""
    return {name: line for line, names in enumerate(order) for name in names.split(" | ")}


def place(path):
    """The dotted name of a file, less the package's own, as a list."""
    return list(path.relative_to(ROOT).with_suffix("").parts)


def imported(path):
    """What a file imports of the package, anywhere in it, as `place` has it, names at the end."""
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
        yield from (name[1:] for name in names if name[0] == "rational_anova")


def named(path):
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("path", [p for p in FILES if p.parent != ROOT], ids=named)
def test_imports_point_down(path):
    rank, here = ranks(PACKAGES), place(path)
    assert here[0] in rank, f"give {here[0]} a line in PACKAGES"
    for target in imported(path):
        package = target[0] if target else "the package itself"
        if package not in (here[0], "__version__"):
            assert rank.get(package, 99) < rank[here[0]], f"{named(path)} imports {package}"


@pytest.mark.parametrize("package", ROOMS)
def test_imports_between_rooms_point_down(package):
    rank = ranks(ROOMS[package])
    folder = ROOT / package
    rooms = {place(path)[1] for path in folder.rglob("*.py")} - {"__init__"}
    assert rooms == set(rank), "every room has a line, and every line a room"
    for path in folder.rglob("*.py"):
        room = place(path)[1]
        if room == "__init__":
            continue
        for target in imported(path):
            if target[0] == package and len(target) > 1 and target[1] != room:
                there = target[1] if target[1] in rank else "__init__"
                assert rank.get(there, 99) < rank[room], f"{named(path)} imports {there}"


@pytest.mark.parametrize("path", FILES, ids=named)
def test_private_files_are_imported_in_their_own_folder_only(path):
    folder = list(path.relative_to(ROOT).parts[:-1])
    for target in imported(path):
        for depth, part in enumerate(target[:-1]):
            private = part.startswith("_") and part != "_core"
            inside = folder[:depth] == target[:depth]
            assert not private or inside, f"{named(path)} imports {'.'.join(target)}"


@pytest.mark.parametrize("folder", FOLDERS, ids=named)
def test_a_folder_holds_a_dozen_files(folder):
    files = [path.name for path in folder.glob("*.py") if path.name != "__init__.py"]
    assert len(files) <= MOST_FILES, files


@pytest.mark.parametrize("path", FILES, ids=named)
def test_a_file_is_one_concept(path):
    assert len(path.read_text().splitlines()) <= MOST_LINES


def test_the_check_sees_every_form_of_import(tmp_path, monkeypatch):
    file = tmp_path / "units" / "_x.py"
    file.parent.mkdir()
    file.write_text("import rational_anova.cli\nfrom .. import networks\nfrom ..budgets import a\n")
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    assert list(imported(file)) == [["cli"], ["networks"], ["budgets", "a"]]


@pytest.mark.parametrize("folder", ["experiments", "benchmarks"])
def test_scripts_use_the_public_package_only(folder):
    for path in (ROOT.parent / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            module = getattr(node, "module", None) or ""
            if isinstance(node, ast.ImportFrom) and module.startswith("rational_anova"):
                names = [*node.module.split("."), *(alias.name for alias in node.names)]
                assert not any(name.startswith("_") for name in names), f"{path}: {names}"
