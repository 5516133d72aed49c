"""Entering is quick: what is imported, and when, seen in fresh interpreters."""

import ast
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import rational_anova as ra
from rational_anova.functional import _autograd

ROOT = Path(ra.__file__).parent
# What is slow to import; torch._dynamo takes as long as torch, and brings sympy along.
SLOW = {
    "torch", "torch._dynamo", "sympy", "mpmath", "scipy", "pandas", "sklearn", "matplotlib",
    "joblib", "PIL", "numpy", "typer",
}  # fmt: skip
COMMANDS = (
    "certify",
    "discover",
    "fit",
    "fit-law",
    "laws",
    "predict",
    "demo",
    "budget",
    "show",
    "studio",
)


def imported(*steps):
    """The slow modules that a fresh interpreter has after each of the steps."""
    look = f"print('modules:', *sorted({SLOW!r} & set(sys.modules)))"
    code = "\n".join(["import sys", *(f"{step}\n{look}" for step in steps)])
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, check=True
    )
    lines = [line for line in result.stdout.splitlines() if line.startswith("modules:")]
    return [set(line.split()[1:]) for line in lines]


def test_what_is_imported_when():
    found = imported(
        "import rational_anova as ra; dir(ra); ra.__version__",
        "ra.Rational1d",
        "ra.RAN, ra.DeepRAN, ra.load, ra.count_flops, ra.surgery, ra.images, ra.kernels",
        "from rational_anova import fit",
        "ra.certify, ra.discover, ra.RANRegressor, ra.dynamics, ra.report",
    )
    alone, unit, networks, training, everything = found
    assert alone == set()
    assert unit == networks == training == {"torch", "numpy"}
    assert not everything & {"matplotlib", "PIL", "torch._dynamo", "typer"}


def test_units_networks_and_training_need_little():
    """What docs/start/install.md names for those who want no laws and no models of tables."""
    result = subprocess.run(
        [sys.executable, "-c", LITTLE], capture_output=True, text=True, check=False
    )
    assert result.returncode == 0, result.stderr


LITTLE = """
import sys
from importlib.machinery import ModuleSpec as spec_from_loader
class Missing:
    def find_spec(self, name, path=None, target=None):
        return spec_from_loader(name, self) if name in MISSING else None
    def create_module(self, spec):
        return None
    def exec_module(self, module):
        spec = module.__spec__
        raise ModuleNotFoundError(f"No module named {spec.name!r}", name=spec.name)
MISSING = {"scipy", "matplotlib", "PIL", "joblib", "sklearn", "rich",
           "typer", "threadpoolctl"}
sys.meta_path.insert(0, Missing())
import torch
import rational_anova as ra
net = ra.RAN(3, topology="all")
ra.fit(net, (torch.randn(50, 3), torch.randn(50)), epochs=2, optimizer="adam")
layers = torch.nn.Sequential(
    torch.nn.Linear(3, 4), torch.nn.GELU(), torch.nn.Linear(4, 1)
)
ra.replace_activations_(layers, where="1")
try:
    ra.RANRegressor
except ImportError as error:
    assert "ra.RANRegressor needs " in str(error), error
    assert "pip install" in str(error), error
else:
    raise AssertionError("an estimator without scikit-learn")
"""


def test_a_command_says_what_it_is_without_torch():
    asked = [["--version"], ["--help"], *([name, "--help"] for name in COMMANDS)]
    call = "try: app()\nexcept SystemExit as end: assert end.code == 0"
    steps = [f"sys.argv = ['ran', *{words!r}]\n{call}" for words in asked]
    assert imported("from rational_anova.cli import app", *steps) == [{"typer"}] * (len(asked) + 1)


def test_a_file_opens_though_its_class_was_not_imported_yet(tmp_path):
    path = tmp_path / "net.safetensors"
    ra.save(ra.RAN(2), path)
    code = f"import rational_anova as ra; assert type(ra.load({str(path)!r})).__name__ == 'RAN'"
    assert imported(code) == [{"torch", "numpy"}]


def test_the_stub_lists_what_there_is():
    lines = ast.parse((ROOT / "__init__.pyi").read_text()).body
    imports = [node for node in lines if isinstance(node, ast.ImportFrom)]
    assert all(alias.name == alias.asname for node in imports for alias in node.names)
    names = [alias.name for node in imports for alias in node.names]
    assert sorted(names) == ra.__all__
    assert set(dir(ra)) == {*names, "__version__"}
    for node in imports:
        for alias in node.names:
            assert inspect.ismodule(getattr(ra, alias.name)) == (node.module is None)
    packages = {path.parent.name for path in ROOT.glob("[!_]*/__init__.py")} - {"cli", "studio"}
    assert packages <= set(names), "every public package is an attribute"


def test_a_mistyped_name():
    with pytest.raises(AttributeError, match="no attribute 'RANRegresor'; did you mean 'RANReg"):
        ra.RANRegresor  # noqa: B018
    with pytest.raises(AttributeError, match="no attribute '__wrapped__'$"):
        ra.__wrapped__  # noqa: B018
    with pytest.raises(ImportError, match="cannot import name 'Ran1d'"):
        from rational_anova import Ran1d  # noqa: F401


def test_the_mark_for_the_compiler_is_torchs_own():
    import torch

    def function():
        return True

    assert vars(torch.compiler.assume_constant_result(function)) == vars(_autograd._off)
