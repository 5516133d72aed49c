"""What must work where the wheel alone is installed: no compiler, no data, no extra.

`make wheel` runs it in an empty virtual environment, in an empty folder; not a test of pytest.
"""

import os
import shutil
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np


def main() -> None:
    """Find a law, fit a model, train a network, read and write files, ask for what is not there."""
    import rational_anova as ra

    assert "RAN_DATA" not in os.environ
    assert not any(map(shutil.which, ("cc", "gcc", "clang"))), "a compiler is on the path"
    assert "site-packages" in ra.__file__, ra.__file__
    package = Path(ra.__file__).parent
    for part in ("kernels/source/rational.c", "discovery/catalogue/laws", "py.typed"):
        assert (package / part).exists(), f"the wheel lacks {part}"

    random = np.random.default_rng(0)
    S = np.linspace(0.05, 10, 60)
    v = 2.5 * S / (0.8 + S) + random.normal(0, 0.02, 60)
    law = ra.discover({"S": S}, v, target="v")
    assert law.equals("a*S/(b + S)"), law
    law.save("law.json")
    assert ra.load("law.json").formula == law.formula
    law.plot().savefig("law.png")

    X = random.uniform(-1, 1, (300, 2))
    model = ra.RANRegressor().fit(X, X[:, 0] ** 2 + X[:, 1])
    assert model.score(X, X[:, 0] ** 2 + X[:, 1]) > 0.99
    model.save("model.ran")
    assert (ra.load("model.ran").predict(X) == model.predict(X)).all()

    import torch

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        net = ra.RAN(2, topology="all", dtype=torch.float64)
        history = ra.fit(net, (torch.tensor(X), torch.tensor(X[:, 0] * X[:, 1])), optimizer="lm")
    assert history.records[-1].loss < 1e-3
    assert any("torch's operations" in str(one.message) for one in caught), "no word of no kernels"
    ra.save(net, "net.safetensors")
    assert torch.equal(ra.load("net.safetensors")(torch.tensor(X)), net(torch.tensor(X)))

    command = str(Path(sys.executable).with_name("ran"))
    told = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert ra.__version__ in told.stdout
    Path("t.csv").write_text("S,v\n" + "".join(f"{a},{b}\n" for a, b in zip(S, v, strict=True)))
    done = subprocess.run([command, "discover", "t.csv", "--target", "v"], capture_output=True)
    assert done.returncode == 0, done

    told = ""
    try:
        model.to_onnx("model.onnx")
    except ImportError as error:
        told = str(error)
    assert "onnx" in told, "an extra that is not there is to be named"
    assert "pip install" in told, told
    print(f"rational-anova {ra.__version__}: the wheel works")


if __name__ == "__main__":
    main()
