"""Laws and certificates from eight threads and after fork are the same; units change rounding."""

import json
import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import torch

import rational_anova as ra

X = np.linspace(0.5, 5, 25)
Y = 2 * X / (1 + X)


def found():
    """What `discover` returns, without what depends on the clock."""
    law = json.loads(ra.discover({"x": X}, Y, target="y", time_limit=600.0).to_json())
    for name in ("checksum", "provenance"):
        del law[name]
    del law["evidence"]["seconds"]
    return law


def certified():
    torch.manual_seed(0)
    net = ra.RAN(2, 1, "all", noise=0.1)
    return ra.certify(net, [(-1, 1)] * 2).to_json()


@pytest.fixture(scope="module")
def alone():
    return found()


def test_discover_from_eight_threads(alone):
    with ThreadPoolExecutor(8) as pool:
        for law in pool.map(lambda _: found(), range(8)):
            assert law == alone


def test_laws_and_certificates_from_eight_threads():
    law = ra.fit_law("a*x/(b + x)", {"x": X}, Y)
    net = ra.RAN(2, 1, "all")
    want, proof = law.predict({"x": X}), ra.certify(net, [(-1, 1)] * 2).to_json()
    with ThreadPoolExecutor(8) as pool:
        for one in pool.map(lambda _: law.predict({"x": X}), range(16)):
            np.testing.assert_array_equal(one, want)
        for one in pool.map(lambda _: ra.certify(net, [(-1, 1)] * 2).to_json(), range(8)):
            assert one == proof


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
def test_discover_and_certify_after_fork(alone):
    proof = certified()
    child = os.fork()
    if not child:
        same = False
        try:
            same = found() == alone and certified() == proof
        finally:
            os._exit(0 if same else 1)
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_units_of_a_fitted_law(unit):
    y = Y + 0.01 * np.sin(9 * X)
    want = ra.fit_law("a*x/(b + x)", {"x": X}, y).predict({"x": X})
    other = ra.fit_law("a*x/(b + x)", {"x": X * unit}, y / unit)
    np.testing.assert_allclose(other.predict({"x": X * unit}) * unit, want, rtol=1e-7)
