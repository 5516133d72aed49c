"""How forward + backward of the units grows with rows, features, pairs and degree.

python -m benchmarks.scaling [--rounds 9] [--smoke]

One of them is doubled at a time, float32, one thread. All sizes of an axis take turns in every
round, so that what else runs on the machine slows all of them alike; of the rounds the least time
is taken, since noise only adds. A slope is that of log time against log size by least squares, over
the sizes whose time is above a floor: ten times that of the same unit on 8 x 8, which is all fixed
cost of a call. The degree is doubled too, but what its slope is taken against is the number of
coefficients of a unit: 2 m + 1 for degrees (m, m), (k + 1)(k + 2) - 1 for pairs of total degree k.

No array is larger than 26 MB: above 32 MB the C library hands out fresh pages for every tensor, and
GELU slows down as the units do.

Writes benchmarks/results/scaling.csv and docs/figures/scaling.png.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Callable, Iterator

import torch

from benchmarks import records
from benchmarks.jobs import NOISE, Job, inputs
from benchmarks.slopes import draw, slopes
from benchmarks.timing import Row, interleaved, show
from rational_anova import Rational1d, Rational2d, Topology

KINDS = ("softplus", "square")
FEATURES = 784  # below the pairs
FLOOR = 10  # times the fixed cost

Maker = Callable[..., Job]
Point = tuple[int, dict[str, int]]


def one(kind: str, rows: int, features: int, degree: int | None = None) -> Job:
    """Return a job of `Rational1d`, degrees (degree, degree) or (3, 2)."""
    degrees = (3, 2) if degree is None else (degree, degree)
    unit = Rational1d(features, degrees, kind, gate=0.1, noise=NOISE)
    return Job(unit, inputs(rows, features), torch.randn(rows, features))


def two(kind: str, rows: int, pairs: int, degree: int = 2) -> Job:
    """Return a job of `Rational2d`."""
    unit = Rational2d(Topology.random(FEATURES, pairs), degree, kind, noise=NOISE)
    return Job(unit, inputs(rows, FEATURES), torch.randn(rows, pairs))


def gelu(kind: str, rows: int, features: int) -> Job:
    """Return a job of GELU, to tell what is the units' and what the machine's."""
    return Job(torch.nn.GELU(), inputs(rows, features), torch.randn(rows, features))


NAMES: dict[Maker, str] = {one: "Rational1d", two: "Rational2d", gelu: "GELU"}


def kinds(maker: Maker) -> tuple[str, ...]:
    return ("none",) if maker is gelu else KINDS


def sizes(least: int, steps: int) -> list[int]:
    return [least * 2**step for step in range(steps)]


def axes(steps: int, scale: int) -> Iterator[tuple[str, Maker, list[Point]]]:
    """Yield axis, unit and its sizes, each with what the maker of the unit is given."""
    wide, grow, degrees = 32 * scale, sizes(4 * scale, steps), sizes(1, min(steps, 4))
    yield "rows", gelu, [(n, {"rows": n, "features": wide}) for n in grow]
    yield "rows", one, [(n, {"rows": n, "features": wide}) for n in grow]
    yield "rows", two, [(n, {"rows": n, "pairs": wide}) for n in grow]
    yield "features", one, [(n, {"rows": 2 * wide, "features": n}) for n in grow[:-1]]
    yield "pairs", two, [(n, {"rows": wide, "pairs": n}) for n in grow]
    many = 8 * wide
    ones = [(2 * m + 1, {"rows": many, "features": wide, "degree": m}) for m in degrees]
    yield "coefficients", one, ones
    twos = [((k + 1) * (k + 2) - 1, {"rows": many, "pairs": wide, "degree": k}) for k in degrees]
    yield "coefficients", two, twos


def measure(steps: int, scale: int, rounds: int) -> Iterator[list[Row]]:
    """Yield the rows of each axis."""
    fixed = {
        f"{NAMES[maker]} {kind}": maker(kind, 8, 8) for maker in NAMES for kind in kinds(maker)
    }
    least = {name: min(taken) for name, taken in interleaved(fixed, 5 * rounds).items()}
    for axis, maker, points in axes(steps, scale):
        jobs = {
            f"{kind} {size}": maker(kind, **given)
            for kind in kinds(maker)
            for size, given in points
        }
        taken = interleaved(jobs, rounds, f"{axis}, {NAMES[maker]}")
        yield [
            {
                "axis": axis,
                "unit": NAMES[maker],
                "denominator": kind,
                "size": size,
                "milliseconds": 1e3 * min(taken[f"{kind} {size}"]),
                "median": 1e3 * statistics.median(taken[f"{kind} {size}"]),
                "floor": 1e3 * FLOOR * least[f"{NAMES[maker]} {kind}"],
                "rounds": rounds,
                "others": ", ".join(
                    f"{v:,} {k}" for k, v in given.items() if k not in (axis, "degree")
                ),
            }
            for kind in kinds(maker)
            for size, given in points
        ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--smoke", action="store_true", help="tiny and unrecorded, for the tests")
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    rows: list[Row] = []
    for part in measure(3, 2, 2) if options.smoke else measure(8, 16, options.rounds):
        rows += part
        if not options.smoke:
            records.write("scaling", rows)
    show(slopes(rows), "slopes", ("axis", "unit", "denominator", "slope", "sizes", "points"))
    if not options.smoke:
        draw(rows)


if __name__ == "__main__":
    main()
