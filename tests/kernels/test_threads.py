"""The C kernels on threads and in other processes: the same bits."""

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from rational_anova import Rational1d, Rational2d
from tests.conftest import needs_compiler, scramble
from tests.kernels.cases import SIX, both_dtypes, draw, equal, threads

ROOT = Path(__file__).parents[2]
pytestmark = needs_compiler

# At least 2**15 outputs, which are shared among threads, and fewer than 2**16.
SHARED = {
    "columns": (1, (500, 100), None, -1),
    "rows": (1, (15001, 3), None, -1),
    "one strip": (1, (40001, 1), None, -1),
    "images": (1, (3, 7, 45, 45), None, 1),
    "pairs": (2, (8001, 6), None, -1),
}


@both_dtypes
@pytest.mark.parametrize("name", SHARED)
def test_the_same_bits_on_any_number_of_threads(name, dtype):
    variables, shape, units, dim = SHARED[name]
    case = draw(variables, shape=shape, dtype=dtype, units=units, dim=dim)
    one = case.run("c")
    for count in (2, 3):
        with threads(count):
            assert equal(case.run("c"), one)
            assert equal(case.run("c"), one)
            assert equal(case.run("c", inputs=False), [one[0], None, *one[2:]])
    assert equal(case.run("c"), one)


def sent_and_jacobian(dtype):
    pair = scramble(Rational2d(SIX.T.tolist(), 2, "sos", "gelu", dtype=dtype))
    x = torch.randn(8001, 6, dtype=dtype, generator=torch.manual_seed(1)).requires_grad_()
    readout = torch.linspace(-1, 1, 15, dtype=dtype).reshape(3, 5).requires_grad_()
    parts = pair.send(x, readout=readout)
    total = sum((part * part).sum() for part in parts)
    grads = torch.autograd.grad(total, [x, readout, *pair.parameters()])
    value, rows = pair.jacobian(x.detach())
    main = scramble(Rational1d(6, (3, 2), dtype=dtype))
    return [*parts, *grads, value, *rows.values(), *main.jacobian(x.detach())[1].values()]


@both_dtypes
def test_the_same_bits_of_messages_and_jacobians_on_two_threads(dtype):
    one = sent_and_jacobian(dtype)
    with threads(2):
        assert equal(sent_and_jacobian(dtype), one)


def test_the_same_bits_from_python_threads_at_once():
    cases = [draw(v, shape=s, units=u, dim=d, heads=2) for v, s, u, d in SHARED.values()]
    cases += [draw(1, (8, 8), "sos", shape=(9, 200)), draw(2, (4, 4), "square"), draw(1, (0, 1))]
    want = [case.run("c") for case in cases]
    for count in (1, 2):
        with threads(count), ThreadPoolExecutor(6) as pool:
            got = list(pool.map(lambda case: case.run("c"), cases * 4))
        assert all(equal(g, w) for g, w in zip(got, want * 4, strict=True))


FORK = """
import multiprocessing, os, sys, torch
sys.path.insert(0, ".")
from tests.kernels.cases import draw, equal
from tests.kernels.test_threads import SHARED

def results():
    return [draw(v, shape=s, units=u, dim=d).run("c") for v, s, u, d in SHARED.values()]

def child(queue, cases):
    got = [case.run("c") for case in cases]
    torch.set_num_threads(1)
    queue.put(all(equal(g, w) for g, w in zip(got, want, strict=True)))

torch.set_num_threads(2)
cases = [draw(v, shape=s, units=u, dim=d) for v, s, u, d in SHARED.values()]
want = [case.run("c") for case in cases]
context = multiprocessing.get_context("fork")
queue = context.SimpleQueue()
process = context.Process(target=child, args=(queue, cases))
process.start()
process.join(60)
assert process.exitcode == 0, process.exitcode
assert queue.get()
pid = os.fork()
if not pid:
    got = cases[0].run("c")
    torch.set_num_threads(1)
    os._exit(0 if equal(got, want[0]) else 1)
assert os.waitpid(pid, 0)[1] == 0
assert equal(cases[0].run("c"), want[0])
print("same")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_a_child_of_fork_computes_the_same():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK],
        cwd=ROOT, capture_output=True, text=True, timeout=100,
    )  # fmt: skip
    assert done.stdout.strip() == "same", done.stderr
