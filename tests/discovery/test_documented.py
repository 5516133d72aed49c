"""The numbers that decide on a claim are those that the docs state."""

from pathlib import Path

import pytest

from rational_anova.discovery import _thresholds as at
from rational_anova.discovery import catalogue
from rational_anova.discovery.claims import _beyond, _noise, _outliers, _tests, _weigh
from rational_anova.discovery.fitting import _descent, _fit

ROOT = Path(__file__).parents[2]
PAGES = ("guides/measurements.md", "concepts/grades.md")
PAGE = " ".join(" ".join((ROOT / "docs" / page).read_text() for page in PAGES).split())
LEVELS = _weigh.PRIOR
STATED = [
    f"not better than that of a mean by {at.OVER_CHANCE:g}",
    f"charged for) comes within {at.OVER_SMOOTH:g} of its score",
    f"that smooth curve comes within {at.WELL_OVER_SMOOTH:g} of its score",
    f"more than {at.STRONG_SHAPE:g} standard deviations above zero",
    f"the F test gives a probability below {at.NOT_NOISE:.0e}".replace("e-0", "e-"),
    f"that F test gives a probability below {at.UNLIKELY:g}",
    f"more than {at.COMPARABLE:g} of its weight, or it has less than {at.MOST_OF_IT:g} of all",
    f"with no more parameters comes within {at.ROWS_ALONE:g} of its score once the prior is left out",
    f"more than {at.FEW_NUMBERS} parameters and no name, or more than {at.FEW_NAMED_NUMBERS} and",
    f"In {_tests.RESAMPLES} trials a fifth of the rows",
    f"the rows scatter by more than {at.MISSTATED:g} times as much",
    f"alike by more than {at.NEIGHBOURS:g} standard deviations",
    f"gains more than {at.RESIDUAL_SHAPE:g} in score",
    f"probability below {at.UNLIKELY:g} by the F test",
    f"probability below {at.ASTRAY:g}. Looked at only where the rest fixes its parameters to 30%",
    f"a score that is better by {_noise.EVIDENCE:g}",
    f"| {_noise._ROWS} rows or more",
    f"lie beyond {_fit._OUTLIER:g} robust standard deviations",
    f"out costs {_outliers._ROW:g} in score where the target has a spread of one",
    f"Up to {_descent._MOST_DRAWN:,} are compared, the best {_descent.THOROUGH.kept} improved",
    f"(`common` 1) | {LEVELS[1]:g} |",
    f"a rare one (3) | {LEVELS[2]:g}, {LEVELS[3]:g} |",
    f"then as above | {_weigh.USERS_OWN:g} |",
    f"| {_weigh.MADE_UP:g}, and {_weigh.OPERATION:g} for each operation",
    f"| each parameter, of any candidate | {_weigh.NUMBER:g}, and {_weigh.MANY:g} more for each beyond four |",
    f"no more than the last row has seen | {_weigh.ODD:g} |",
    f"(`called`), on a column of another name | {_weigh.ODD:g} |",
    f"fits to rounding ({at.EXACT:g} of the spread; {at.EXACT_LONG:g} with more than",
]


@pytest.mark.parametrize("words", STATED)
def test_docs_state_the_number(words):
    assert words in PAGE


def test_fractions_that_the_docs_put_into_words():
    assert (at.STABLE, _tests._LEFT_OUT, _tests.VAGUE, _beyond._OUTSIDE) == (0.75, 0.2, 0.3, 0.25)


@pytest.mark.parametrize(
    "page", ["README.md", "docs/guides/measurements.md", "docs/concepts/discovery.md"]
)
def test_docs_state_how_many_laws_have_a_name(page):
    assert str(len(catalogue())) in (ROOT / page).read_text()
