"""Building the C kernels: caches, compilers, flags, and what is said where there are none."""

import itertools
import json
import os
import platform
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest
import torch

from rational_anova import RAN, kernels
from rational_anova.functional import (
    BASES,
    DENOMINATORS,
)
from rational_anova.kernels import _build
from tests.conftest import needs_compiler
from tests.kernels.cases import COLUMNS, DOUBLE, ROWS, SINGLE, STRIPS, agree, draw, same_pattern
from tests.kernels.test_derivatives import jacobians_agree, scramble_all
from tests.kernels.test_elementary import ELEMENTARY, elementary

ROOT = Path(__file__).parents[2]
pytestmark = needs_compiler

# Imports the package, then runs what it is sent, each in a child of its own: a fresh process
# without the seconds that an import takes. A request is one JSON line: [[code, environment], ...].
SERVER = """
import json, os, signal, sys, tempfile, traceback, warnings
import torch, rational_anova
torch.set_num_threads(1)
for line in sys.stdin:
    jobs = []
    for code, environment in json.loads(line):
        output = tempfile.TemporaryFile("w+")
        pid = os.fork()
        if not pid:
            signal.alarm(300)
            os.dup2(output.fileno(), 1)
            os.dup2(output.fileno(), 2)
            os.environ.update(environment)
            status = 0
            try:
                exec(code, {})
            except BaseException:
                traceback.print_exc()
                status = 1
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)
        jobs.append((pid, output))
    replies = []
    for pid, output in jobs:
        status = os.waitpid(pid, 0)[1]
        output.seek(0)
        replies.append([status, output.read()])
    print(json.dumps(replies), flush=True)
"""
# What every child starts with: a way to count warnings, and a small unit.
PRELUDE = """
import json, logging, sys, torch, warnings
logging.disable(logging.WARNING)  # a line says that a kernel is built
import rational_anova
from rational_anova import Rational1d, kernels
warnings.simplefilter("always")

def work():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for dtype in (torch.float32, torch.float64, torch.float32):
            unit = Rational1d(3, dtype=dtype)
            y = unit(torch.ones(4, 3, dtype=dtype))
            y.sum().backward()
            assert y.isfinite().all()
        info = kernels.info()
    return {"warnings": [[w.category.__name__, str(w.message)] for w in caught], "info": info}
"""


@pytest.fixture(scope="module")
def fresh():
    """Run pieces of code at once, each in a process without kernels yet; return their output."""
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    kept = {k: v for k, v in os.environ.items() if not k.startswith("RAN_") and k != "CC"}
    server = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", SERVER],
        cwd=ROOT, env=kept, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip

    def run(*jobs):
        pieces = [[PRELUDE + textwrap.dedent(code), env] for code, env in jobs]
        print(json.dumps(pieces), file=server.stdin, flush=True)
        replies = json.loads(server.stdout.readline())
        for status, text in replies:
            assert status == 0, text
        return [text for _, text in replies]

    yield run
    server.stdin.close()
    server.stdout.close()
    server.wait(30)


def working(fresh, **environment):
    """What `work` of the prelude returns with an environment."""
    return json.loads(fresh(("print(json.dumps(work()))", environment))[0])


def fell_back(found, *words):
    """One warning, and `info` names the reason, in these words."""
    assert [category for category, _ in found["warnings"]] == ["RuntimeWarning"], found
    assert found["info"]["cpu"] == "torch"
    for word in words:
        assert word in found["info"]["why"]["c"]
        assert word in found["warnings"][0][1]
    assert "RAN_KERNELS=torch" in found["warnings"][0][1]


def test_two_processes_build_at_once(fresh, tmp_path):
    folder = tmp_path / "new" / "cache"
    environment = {"RAN_CACHE": str(folder), "RAN_CFLAGS": "-O0"}
    code = "print(json.dumps(work()))"
    for text in fresh((code, environment), (code, environment)):
        found = json.loads(text)
        assert not found["warnings"]
        assert found["info"]["cpu"] == "c"
        assert found["info"]["cache"] == str(folder)
    kept = {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert sorted(name[:13] for name in kept) == ["rational-f32-", "rational-f64-"]
    assert all(name.endswith(".so") for name in kept)
    # Later processes find them: nothing is built, so no compiler is run.
    assert working(fresh, **environment)["info"]["cpu"] == "c"
    assert kept == {path.name: path.stat().st_mtime_ns for path in folder.iterdir()}
    # A library that is broken is built again.
    for name in kept:
        (folder / name).write_bytes(b"no library")
    found = working(fresh, **environment)
    assert found["info"]["cpu"] == "c"
    assert not found["warnings"]


USE = """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Rational1d(3)(torch.randn(2, 3))
    print(len(caught), kernels._pick._missing[torch.float32])
"""


def test_a_filled_cache_needs_no_compiler_and_heals(fresh, tmp_path):
    def run(cache, **environment):
        given = {"RAN_CACHE": str(cache), "RAN_CFLAGS": "-O0", "RAN_KERNELS": "auto"}
        return fresh((USE, given | environment))[0].strip()

    cache = tmp_path / "cache"
    assert run(cache) == "0"
    (library,) = cache.glob("*.so")
    assert run(cache, PATH=str(tmp_path)) == "0"
    whole = library.read_bytes()
    library.write_bytes(whole[:1000])
    assert run(cache) == "0"
    assert [path.name for path in Path(cache).iterdir()] == [library.name]
    for command, reason in (("no-such-cc", "is not there"), ('gcc "', "is not there")):
        assert reason in run(tmp_path / "empty", CC=command)


def test_a_folder_that_cannot_be_written_to(fresh, tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file" / "below", tmp_path / "file", tmp_path / ("long" * 100)):
        found = working(fresh, RAN_CACHE=str(folder))
        fell_back(found, str(folder), "RAN_CACHE")


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no owners and modes on this system")
@pytest.mark.parametrize("mode", [0o777, 0o770])
def test_a_cache_that_others_may_write(fresh, tmp_path, mode):
    folder = tmp_path / "cache"
    folder.mkdir()
    folder.chmod(mode)
    found = working(fresh, RAN_CACHE=str(folder))
    fell_back(found, str(folder), "may be written by others", "chmod go-w")
    assert not list(folder.iterdir())


@pytest.mark.skipif(
    not hasattr(os, "getuid") or os.getuid() != 0, reason="needs the superuser to give files away"
)
def test_a_cache_of_another_user(fresh, tmp_path):
    folder = tmp_path / "cache"
    folder.mkdir(mode=0o755)
    os.chown(folder, 12345, 12345)
    fell_back(working(fresh, RAN_CACHE=str(folder)), str(folder), "belongs to another user")


def test_a_user_without_a_home(fresh):
    """As in a container that runs under a number nobody has given a name."""
    code = """
        import os, pwd
        def nobody(number):
            raise KeyError(number)
        pwd.getpwuid = nobody
        for name in ("HOME", "XDG_CACHE_HOME"):
            os.environ.pop(name, None)
        print(json.dumps(work()))
    """
    fell_back(json.loads(fresh((code, {}))[0]), "RAN_CACHE")


def test_no_compiler(fresh, tmp_path):
    (tmp_path / "bin").mkdir()
    environment = {"CC": "/no/such/compiler", "PATH": str(tmp_path / "bin")}
    found = working(fresh, RAN_CACHE=str(tmp_path / "cache"), **environment)
    fell_back(found, "compiler")
    assert found["info"]["compiler"] is None


@pytest.mark.parametrize("script", ["exit 1", "echo 'x.c:1: error: no such thing' >&2; exit 3"])
def test_a_compiler_that_fails(fresh, tmp_path, script):
    compiler = tmp_path / "cc"
    compiler.write_text(f"#!/bin/sh\n{script}\n")
    compiler.chmod(0o755)
    found = working(fresh, RAN_CACHE=str(tmp_path / "cache"), CC=str(compiler))
    fell_back(found, str(compiler), *(("no such thing",) if "such" in script else ()))
    assert found["info"]["compiler"] == str(compiler)
    assert not list((tmp_path / "cache").iterdir())


def test_a_compiler_that_writes_nothing(fresh, tmp_path):
    """It says that all is well and leaves an empty file."""
    compiler = tmp_path / "cc"
    compiler.write_text("#!/bin/sh\nexit 0\n")
    compiler.chmod(0o755)
    fell_back(working(fresh, RAN_CACHE=str(tmp_path / "cache"), CC=str(compiler)), "cannot be")


def test_the_variable_is_respected(fresh, tmp_path):
    for choice in ("off", "torch"):
        found = working(fresh, RAN_KERNELS=choice, RAN_CACHE=str(tmp_path / "cache"))
        assert not found["warnings"]
        assert found["info"]["choice"] == choice
        assert found["info"]["cpu"] == "torch"
        assert choice in found["info"]["why"]["c"]
        assert not (tmp_path / "cache").exists()
    found = working(fresh, RAN_KERNELS="c", RAN_CACHE=str(_build.kernel_folder()))
    assert (found["info"]["choice"], found["info"]["cpu"]) == ("c", "c")
    assert not found["warnings"]
    code = """
        try:
            work()
        except ValueError as error:
            print(error)
    """
    text = fresh((code, {"RAN_KERNELS": "fortran"}))[0]
    assert "RAN_KERNELS" in text
    assert "fortran" in text
    assert all(choice in text for choice in ("auto", "off", "torch", "c", "triton"))


def test_choices_inside_a_program():
    with kernels.using("torch"):
        assert kernels.asked() == "torch"
        with kernels.using("c"):
            assert kernels.asked() == "c"
            assert kernels.info()["cpu"] == "c"
        assert kernels.asked() == "torch"
        assert kernels.info()["cpu"] == "torch"
    with pytest.raises(ValueError, match="choice.*fortran"), kernels.using("fortran"):
        pass
    keys = {"cache", "choice", "compiler", "cpu", "cuda", "threads", "why"}
    assert set(kernels.info()) == keys


def compare():
    """A short version of the comparisons above, for builds with other flags."""
    for kind, base in zip(itertools.cycle(DENOMINATORS), BASES, strict=False):
        for dtype in (SINGLE, DOUBLE):
            for shape, units, dim in (*COLUMNS, *ROWS, *STRIPS):
                agree(draw(1, (3, 2), kind, base, shape, dtype, units=units, dim=dim))
            agree(draw(2, (2, 2), kind, base, None, dtype, heads=2))
    for special in (torch.nan, torch.inf, -torch.inf):
        for kind in DENOMINATORS:
            for variables, base in ((1, "gelu"), (1, "tanh"), (2, "silu"), (2, "relu")):
                case = draw(variables, (2, 2), kind, base, (5, 6))
                case.x[1, 0] = special
                same_pattern(case)
    for base in ELEMENTARY:
        for dtype in (SINGLE, DOUBLE):
            elementary(base, dtype)
    network = scramble_all(RAN(4, 2, topology="all", heads=2, dtype=DOUBLE))
    jacobians_agree(network, torch.randn(70, 4, dtype=DOUBLE, generator=torch.manual_seed(0)))


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="flags of x86")
def test_narrower_vectors_agree(fresh, tmp_path):
    code = """
        sys.path.insert(0, ".")
        from tests.kernels import test_build
        assert kernels.info()["cpu"] == "c"
        test_build.compare()
        print("same")
    """
    # Compiling is most of the time. With -O1 products and sums are fused, where there is -mfma.
    flags = ("-O0 -mno-avx512f -mno-avx2 -mno-avx -mno-fma", "-O1 -mno-avx512f")
    jobs = [
        (code, {"RAN_CFLAGS": each, "RAN_CACHE": str(tmp_path / str(n))})
        for n, each in enumerate(flags)
    ]
    for text in fresh(*jobs):
        assert text.strip() == "same"
