"""What laws say of themselves: grades, noise, rivals, and no absurd figures."""

import math
from dataclasses import replace

import numpy as np
import pytest
import sympy as sp

from rational_anova.discovery.law import Evidence, Grade, Law, Noise, Parameter, Rival, title
from rational_anova.symbols import Names

S, vmax, km = sp.symbols("S vmax km")
FOUND = Evidence(100, 0.0102, 0.01, 0.011, 0.02, 5.0, 0.0095)


def michaelis(**options):
    numbers = (
        Parameter("vmax", 2.0, 0.02, low=1.95, high=2.06, meaning="largest rate", unit="mol/s"),
        Parameter("km", 0.5, 0.02, meaning="half-saturation"),
    )
    options = {"evidence": FOUND, "name": "Michaelis-Menten", **options}
    evidence = options.pop("evidence")
    return Law(
        vmax * S / (km + S), numbers, Names(["S"]), "v", ((0.1, 4.0),),
        np.diag([4e-4, 4e-4]), evidence, units={"v": "mol/s"}, **options,
    )  # fmt: skip


RIVALS = (
    Rival(2.0 * S / (0.5 + S), "Michaelis-Menten", 0.6, 0.01, 2, 3, True),
    Rival(2.1 * S**0.9 / (0.5 + S**0.9), "Hill", 0.3, 0.01, 3, 5),
    Rival(1.9 * (1 - sp.exp(-S)), "", 0.06, 0.02, 2, 4),
    Rival(sp.log(S), "", 0.001, 0.4, 0, 1),
)


def test_each_grade_states_its_claim():
    said = {grade: michaelis(grade=grade, rivals=RIVALS).trust for grade in Grade}
    assert said[Grade.ESTABLISHED].startswith(
        "Established: v follows the Michaelis-Menten form; no rival is as probable (60%"
    )
    several = said[Grade.SEVERAL]
    assert several.startswith(
        "One of several: the data do not distinguish the Michaelis-Menten form from Hill"
    )
    assert "(weight 30%, against 60%), nor from 1 other." in several
    assert said[Grade.INTERPOLATION].startswith("Interpolation: ")
    assert said[Grade.NOTHING].startswith("Nothing: 100 rows with this noise are described as")
    alone = michaelis(grade="one of several", name="")
    assert "this formula fits v, but is not established" in alone.trust
    unnamed = michaelis(grade="one of several", name="", rivals=RIVALS)
    assert "the data do not distinguish it from Hill" in unnamed.trust
    assert title(michaelis(grade="established")) == "Law of v: Michaelis-Menten"
    assert title(michaelis(grade="nothing")) == "No law of v"
    assert len({title(michaelis(grade=grade)) for grade in Grade}) == 4


def test_doubts_follow_the_claim():
    text = michaelis(doubts=("the residuals have a shape", "A pole is near.")).trust
    assert "The residuals have a shape. A pole is near. Over 100 rows" in text


@pytest.mark.parametrize(
    ("noise", "words"),
    [
        (Noise("log-normal", 0.042), "measurements scatter by 4.2% of the value (log-normal)."),
        (Noise("proportional", 0.05, 0.01), "by 5% of the value, and by 0.01 besides (proportional)"),
        (Noise("Poisson", 1.0), "scatter as counts do (Poisson)"),
        (Noise("Poisson", 1.8), "1.8 times as much as counts do"),
        (Noise("given", 1.1), "as their stated errors say"),
        (Noise("given", 3.0), "3 times as much as their stated errors say"),
        (Noise(), "residual standard deviation is 0.05 mol/s, 1% of that of v, and a smooth"),
    ],
)  # fmt: skip
def test_noise_in_words(noise, words):
    assert words in michaelis(noise=noise).trust


def test_one_figure_for_one_law():
    law = michaelis(
        noise=Noise("log-normal", 0.042), evidence=replace(FOUND, error=0.6, noise=0.62)
    )
    for text in (law.trust, law.summary(), repr(law)):
        assert "4.2%" in text
        for other in ("60%", "62%", "rmse"):
            assert other not in text
    plain = michaelis()
    assert "rmse 0.05, 1% of the standard deviation" in plain.summary()
    assert "1.02" not in plain.summary()


def test_beyond_the_data():
    assert "predicts the outer half with 2 times its error." in michaelis().trust
    text = michaelis(evidence=replace(FOUND, extrapolation=54.0)).trust
    assert "predicts the outer half with more than 1000 times its error: do not extrapolate" in text
    assert "to 54" not in text
    assert "with 32 times its error" in michaelis(evidence=replace(FOUND, extrapolation=0.32)).trust
    none = michaelis(evidence=replace(FOUND, extrapolation=math.inf)).trust
    assert "is undefined in part of the outer half" in none
    exact = replace(FOUND, error=1e-14, held_out=2e-14, extrapolation=3e-14)
    text = michaelis(evidence=exact).trust
    assert "fits all 100 rows to rounding error (1e-14)" in text
    assert "it is equally exact (2e-14)" in text
    assert "predicts the outer half as exactly (3e-14)" in text
    assert "fails to predict" in michaelis(evidence=replace(exact, extrapolation=0.1)).trust


def test_words_of_caution():
    assert "so few rows" not in michaelis().trust
    few = michaelis(evidence=replace(FOUND, rows=12))
    assert "with so few rows, noise cannot be distinguished from" in few.trust
    poor = michaelis(evidence=replace(FOUND, surrogate=0.001, stopped=True))
    assert "reaches 0.1%, so that a term may be missing" in poor.trust
    assert "ran out of time" in poor.trust
    vague = replace(
        michaelis(), parameters=(Parameter("vmax", 2.0, 0.1), Parameter("km", 0.1, 0.3))
    )
    assert "The data do not determine km, whose standard error exceeds" in vague.trust
    spoilt = michaelis(outliers=(3, 17, 40))
    assert "Rows 3, 17 and 40 were treated as outliers" in spoilt.trust
    assert "Row 3 was treated as an outlier" in michaelis(outliers=(3,)).trust
    assert "7 and 4 more were" in michaelis(outliers=tuple(range(12))).trust


def test_summary():
    law = michaelis(
        rivals=RIVALS, noise=Noise("constant", 0.05, 0, {"constant": 0.9, "Poisson": 0.1})
    )
    lines = law.summary().splitlines()
    assert lines[0] == "v [mol/s] = 2.0*S/(S + 0.5)"
    assert "grade       one of several" in lines
    assert "name        Michaelis-Menten" in lines
    assert "vmax        2 +- 0.02 mol/s [1.95, 2.06]  largest rate" in lines
    assert [line for line in lines if line.startswith("rival")] == [
        "rival       30%  Hill (v = 2.1*S**0.9/(S**0.9 + 0.5))",
        "rival       6%  v = 1.9 - 1.9*exp(-S)",
    ]
    assert "weight      60% of 4 formulas" in lines
    assert "weights: constant 90%, Poisson 10%" in law.summary()
    made = replace(FOUND, made_exact=("3.001 +- 0.01 was taken as 3",))
    assert "exact       3.001 +- 0.01 was taken as 3" in michaelis(evidence=made).summary()
