"""Limits and shapes that the user knows: read, checked on fits, proved of laws."""

from dataclasses import replace

import numpy as np
import pytest

from rational_anova.discovery import Grade, fit_law
from rational_anova.discovery.fitting import QUICK, Form, Rows, fitted
from rational_anova.discovery.known import Knowledge
from rational_anova.tables import prepare

S = np.linspace(0.2, 8, 40)
V = 2.5 * S / (0.8 + S) + 0.02 * np.random.default_rng(0).normal(size=40)
TABLE = prepare({"S": S}, V, target="v")


def fit(form):
    return fitted(Form.of(form, ["S"]), Rows(TABLE.X, TABLE.y), effort=QUICK)


def allows(form, limits=None, shape=None):
    with np.errstate(all="ignore"):
        return Knowledge.read(limits, shape, TABLE).allows(fit(form))


@pytest.mark.parametrize(
    ("form", "limits", "allowed"),
    [
        ("a*S/(b + S)", {"S=0": 0.0}, True),
        ("a*S/(b + S)", {"S=oo": "finite"}, True),
        ("a*S/(b + S)", {"S=oo": 2.5}, True),  # within its error
        ("a*S/(b + S)", {"S=oo": 3.0}, False),
        ("a*S/(b + S)", {"S=oo": "oo"}, False),
        ("a + b*log(S)", {"S=oo": "oo", "S=0": "-oo"}, True),
        ("a + b*log(S)", {"S=oo": "finite"}, False),
        ("a*(1 - exp(-b*S))", {"S=0": 0.0, "S=oo": "finite"}, True),
        ("a + b*S", {"S=-oo": "-oo"}, True),
        ("a + b*S", {"S=0": 0.0}, False),
        ("a*S**b", {"S=oo": "oo"}, True),
    ],
)
def test_limits(form, limits, allowed):
    assert allows(form, limits) is allowed


@pytest.mark.parametrize(
    ("form", "shape", "allowed"),
    [
        ("a*S/(b + S)", {"S": ["rising", "concave"], "v": "positive"}, True),
        ("a*S/(b + S)", {"S": "falling"}, False),
        ("a*S/(b + S)", {"S": "convex"}, False),
        ("a*S/(b + S)", {"v": "negative"}, False),
        ("a + b*S + c*S**2", {"S": "rising"}, False),  # it turns within the data
        ("a + b*S + c*S**2", {"S": "concave"}, True),
    ],
)
def test_shapes(form, shape, allowed):
    assert allows(form, None, shape) is allowed


def test_what_is_proved_of_a_law():
    knowledge = Knowledge.read(
        {"S=0": 0.0, "S=oo": "finite"}, {"S": ["rising", "concave"], "v": "positive"}, TABLE
    )
    law = fit_law("a*S/(b + S)", {"S": S}, V, target="v")
    judged = knowledge.judged(law)
    assert judged.grade is law.grade
    assert judged.doubts == law.doubts
    told = judged.provenance["known"]
    assert len(told) == 5
    assert all(sentence.startswith("Proved") for sentence in told)
    assert type(law).from_json(judged.to_json()).provenance["known"] == told


def test_a_law_that_breaks_what_is_known():
    knowledge = Knowledge.read({"S=0": 5.0}, {"S": "convex"}, TABLE)
    law = replace(fit_law("a*S/(b + S)", {"S": S}, V, target="v"), grade=Grade.ESTABLISHED)
    judged = knowledge.judged(law)
    assert judged.grade is Grade.INTERPOLATION
    assert "5 at S = 0; convex in S" in judged.doubts[-1]
    assert all(sentence.startswith("Not met") for sentence in judged.provenance["known"])


def test_several_columns():
    rng = np.random.default_rng(0)
    X = {"x": rng.uniform(1, 2, 60), "z": rng.uniform(-1, 1, 60)}
    table = prepare(X, X["x"] * X["z"], target="y")
    law = fit_law("a*x*z", X, X["x"] * X["z"], target="y")
    judged = Knowledge.read({"x=0": 0.0}, {"z": "rising", "x": "rising"}, table).judged(law)
    assert judged.provenance["known"][0].startswith("Proved")  # whatever z is
    assert judged.provenance["known"][1].startswith("Proved")
    assert judged.provenance["known"][2].startswith("Not met")  # z has both signs


@pytest.mark.parametrize(
    ("limits", "shape", "message"),
    [
        ({"T=0": 1.0}, None, "limits names 'T'"),
        ({"S": 1.0}, None, 'write "S=0"'),
        ({"S=0": "small"}, None, '"finite", "oo" or "-oo", got \'small\''),
        (None, {"T": "rising"}, "shape names 'T'"),
        (None, {"S": "positive"}, "for a column, got 'positive'"),
        (None, {"v": "rising"}, "for the target, got 'rising'"),
        (None, {"S": ["rising", "falling"]}, "both rising and falling"),
    ],
)
def test_what_cannot_be_read(limits, shape, message):
    with pytest.raises(ValueError, match=message):
        Knowledge.read(limits, shape, TABLE)


def test_wrong_types():
    with pytest.raises(TypeError, match="limits must be a dict"):
        Knowledge.read([("S=0", 1)], None, TABLE)
    with pytest.raises(TypeError, match="shape must be a dict"):
        Knowledge.read(None, "rising", TABLE)
