"""Twelve example functions of the KAN papers and of pykan's tutorials, without noise.

"KAN" is arXiv:2404.19756 (its toy examples), "KAN 2.0" arXiv:2408.10205; tutorials are those of the
repository of pykan. Boxes are theirs, [-1, 1] where they state none; that of the quotient is ours,
since they say only that its inputs are positive. Left out: J0(20x) and exp(J0(20x) + y**2), which
no search over elementary functions can find, classes instead of numbers, and a function of a
hundred inputs. The sum of the tutorial on features has a column that it does not use.

python -m experiments.discovery.kan [--smoke] [--jobs 2]
"""

from __future__ import annotations

from experiments.discovery.feynman import KEY, sweep
from experiments.discovery.laws import Problem
from experiments.table import Table, arguments

_UNIT = (-1.0, 1.0)


def _example(
    name: str, text: str, source: str, *boxes: tuple[float, float], inputs: str = "x y"
) -> Problem:
    """Return an example: one box for each input, one for all, or none for [-1, 1]."""
    names = inputs.split()
    ends = boxes if len(boxes) > 1 else len(names) * (boxes or (_UNIT,))
    variables = tuple((n, low, high) for n, (low, high) in zip(names, ends, strict=True))
    return Problem(name, "kan", "f", text, variables, source)


EXAMPLES = (
    _example("Exponential of a sum", "exp(sin(pi*x) + y**2)", "KAN; Hello, KAN"),
    _example("Product", "x*y", "KAN; Interp 1, Hello, MultKAN"),
    _example("Quotient", "x/y", "KAN, division of positive numbers", (0.5, 2)),
    _example(
        "Deep formula", "exp((sin(pi*(x1**2 + x2**2)) + sin(pi*(x3**2 + x4**2)))/2)",
        "KAN; Example 3, deep formulas", inputs="x1 x2 x3 x4",
    ),
    _example(
        "Phase transition", "tanh(5*(x1**4 + x2**4 + x3**4 - 1))", "KAN, phase transition",
        inputs="x1 x2 x3",
    ),
    _example(
        "Distance", "sqrt((x1 - y1)**2 + (x2 - y2)**2)", "KAN, deeper compositions",
        inputs="x1 x2 y1 y2",
    ),
    _example("Sine of logarithms", "sin(2*(log(x) + log(y)))", "Example 9, singularity", (0.2, 5)),
    _example("Norm", "sqrt(x**2 + y**2)", "Example 9, singularity"),
    _example(
        "Velocity addition", "(u + v)/(1 + u*v)", "Example 10, relativity", (-0.9, 0.9),
        inputs="u v",
    ),
    _example(
        "Sum with an idle column", "x1**2 + 0.3*x2 + 0.1*x3**3", "Interp 4, feature attribution",
        inputs="x1 x2 x3 x4",
    ),
    _example(
        "Sum of squared squares", "(x1**2 + x2**2)**2 + (x3**2 + x4**2)**2",
        "Interp 6, symmetries", inputs="x1 x2 x3 x4",
    ),
    _example(
        "Relativistic mass", "m0/sqrt(1 - v**2/c**2)", "KAN 2.0; Interp 8, auxiliary variables",
        (0, 1), (0, 0.9), (1.1, 2), inputs="m0 v c",
    ),
)  # fmt: skip


def main() -> None:
    options = arguments(__doc__).parse_args()
    name, examples = ("kan_smoke", EXAMPLES[1:2]) if options.smoke else ("kan", EXAMPLES)
    sweep(Table(name, KEY, fresh=options.smoke), examples, [0.0], 1, options.jobs)


if __name__ == "__main__":
    main()
