"""Twenty laws of chapters that the other sets lack, written down before any was searched for.

Four each of acoustics, hydrology, pharmacology, optics and economics, as textbooks have them, with
ranges of a realistic size. They are for measuring only, once: nothing is tuned by them, nor by laws
like them. `--smoke` searches for another law.

python -m experiments.discovery.chapters [--smoke] [--jobs 2] [--noise 0 0.01]
"""

from __future__ import annotations

from experiments.discovery.feynman import KEY, sweep
from experiments.discovery.laws import Problem, paper_three
from experiments.table import Table, arguments

Variable = tuple[str, float, float]


def _law(group: str, name: str, target: str, text: str, *variables: Variable) -> Problem:
    return Problem(name, group, target, text, variables, "textbooks")


_ACOUSTICS = (
    # Level at a distance r from a source on the floor, in a room with the constant R; metres.
    _law(
        "acoustics", "Direct and reverberant sound", "L",
        "Lw + 10*log(2/(4*pi*r**2) + 4/R)/log(10)",
        ("Lw", 80, 110), ("r", 0.5, 15), ("R", 10, 500),
    ),
    # A bottle of V litres; its neck has radius r and length L in cm, and counts as longer.
    _law(
        "acoustics", "Helmholtz resonator", "f", "c*r*sqrt(10/(pi*V*(L + 1.7*r)))/2",
        ("c", 330, 350), ("r", 0.5, 3), ("V", 0.5, 5), ("L", 2, 10),
    ),
    _law(
        "acoustics", "Sum of two sound levels", "L",
        "10*log(10**(L1/10) + 10**(L2/10))/log(10)",
        ("L1", 50, 80), ("L2", 50, 80),
    ),
    # Partial n of a piano string; b is its stiffness in thousandths.
    _law(
        "acoustics", "Partials of a stiff string", "f", "n*f0*sqrt(1 + 0.001*b*n**2)",
        ("n", 1, 20), ("f0", 50, 500), ("b", 0.1, 2),
    ),
)  # fmt: skip

_HYDROLOGY = (
    # Conductivity of a soil that is saturated to s, with the exponent m of one half.
    _law(
        "hydrology", "Mualem-van Genuchten conductivity", "K",
        "Ks*sqrt(s)*(1 - sqrt(1 - s**2))**2",
        ("Ks", 1, 50), ("s", 0.1, 0.98),
    ),
    _law(
        "hydrology", "Horton infiltration", "f", "fc + (f0 - fc)*exp(-k*t)",
        ("fc", 2, 10), ("f0", 20, 80), ("k", 0.5, 5), ("t", 0, 3),
    ),
    _law(
        "hydrology", "Green-Ampt infiltration", "f", "K*(1 + psi*dtheta/F)",
        ("K", 0.1, 3), ("psi", 5, 30), ("dtheta", 0.1, 0.4), ("F", 0.5, 10),
    ),
    # Slope D of the vapour pressure, radiation R, wind u and vapour deficit e; mm a day.
    _law(
        "hydrology", "Penman evaporation", "E",
        "(D*R + 0.066*6.43*(1 + 0.536*u)*e)/(2.45*(D + 0.066))",
        ("D", 0.05, 0.4), ("R", 5, 20), ("u", 0.5, 6), ("e", 0.2, 3),
    ),
)  # fmt: skip

_PHARMACOLOGY = (
    # A time t after an infusion of the rate R that took the time T.
    _law(
        "pharmacology", "After an infusion", "C",
        "R*(1 - exp(-CL*T/V))*exp(-CL*t/V)/CL",
        ("R", 10, 100), ("CL", 2, 15), ("V", 10, 60), ("T", 0.5, 4), ("t", 0, 12),
    ),
    _law(
        "pharmacology", "Operational model of agonism", "E", "100*tau*A/((tau + 1)*A + KA)",
        ("tau", 0.3, 10), ("A", 0.1, 30), ("KA", 0.5, 10),
    ),
    _law(
        "pharmacology", "Hill with a baseline", "E", "E0 + Em*C**1.7/(EC**1.7 + C**1.7)",
        ("E0", 5, 20), ("Em", 30, 100), ("C", 0.1, 40), ("EC", 2, 15),
    ),
    _law(
        "pharmacology", "Well-stirred liver", "CL", "Q*fu*CLi/(Q + fu*CLi)",
        ("Q", 50, 110), ("fu", 0.01, 1), ("CLi", 10, 500),
    ),
)  # fmt: skip

_OPTICS = (
    # The index from the angle A of the prism and the least deviation D.
    _law(
        "optics", "Prism at least deviation", "n", "sin((A + D)/2)/sin(A/2)",
        ("A", 0.5, 1.2), ("D", 0.2, 0.9),
    ),
    # Wavelength in units of 100 nm, numbers of a crown glass.
    _law("optics", "Cauchy index", "n", "1.505 + 0.42/l**2 + 0.9/l**4", ("l", 3.5, 10)),
    _law(
        "optics", "Shift by a plane plate", "s", "t*sin(i)*(1 - cos(i)/sqrt(n**2 - sin(i)**2))",
        ("t", 1, 20), ("i", 0.1, 1.3), ("n", 1.3, 1.9),
    ),
    # Focal length f, f-number N and circle of confusion c, in mm.
    _law(
        "optics", "Hyperfocal distance", "H", "f**2/(N*c) + f",
        ("f", 20, 200), ("N", 2, 16), ("c", 0.015, 0.05),
    ),
)  # fmt: skip

_ECONOMICS = (
    # Elasticity of substitution 2/3.
    _law(
        "economics", "CES production", "Y", "A*(0.3/sqrt(K) + 0.7/sqrt(L))**(-2)",
        ("A", 0.5, 2), ("K", 1, 50), ("L", 1, 50),
    ),
    # Capital a worker, with a share of capital of one third.
    _law(
        "economics", "Solow steady state", "k", "(s/(n + g + d))**(3/2)",
        ("s", 0.1, 0.4), ("n", 0, 0.03), ("g", 0, 0.03), ("d", 0.03, 0.1),
    ),
    _law(
        "economics", "Value of a growing annuity", "PV", "C*(1 - ((1 + g)/(1 + r))**T)/(r - g)",
        ("C", 1, 10), ("r", 0.05, 0.12), ("g", 0, 0.03), ("T", 5, 30),
    ),
    _law(
        "economics", "Cost of ordering and holding", "C", "K*D/Q + h*Q/2",
        ("K", 10, 100), ("D", 500, 5000), ("Q", 50, 800), ("h", 0.5, 5),
    ),
)  # fmt: skip

LAWS = (*_ACOUSTICS, *_HYDROLOGY, *_PHARMACOLOGY, *_OPTICS, *_ECONOMICS)


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("--noise", type=float, nargs="+", default=[0.0, 0.01])
    options = parser.parse_args()
    if options.smoke:
        table = Table("chapters_smoke", KEY, fresh=True)
        sweep(table, paper_three()[1:2], [0.0], 1, options.jobs)
        return
    sweep(Table("chapters", KEY), LAWS, options.noise, 1, options.jobs)


if __name__ == "__main__":
    main()
