"""Plans of a surgery, and models that they are not for."""

import json

import pytest
from torch import nn

import rational_anova as ra
from tests.surgery.models import D, Layer, Model


def plan(**changes):
    """The plan of a surgery on one layer, with changes in its entry."""
    made = json.loads(json.dumps(ra.replace_activations_(Model(Layer()), share="channel").plan))
    made["places"][0] |= changes
    return made


@pytest.mark.parametrize(
    ("made", "make", "message"),
    [
        (lambda: plan(), lambda: Layer(nn.ReLU), "its activation was gelu, here it is relu"),
        (lambda: plan(), lambda: Layer(hidden=32), "had 16 channels there, here are 32"),
        (lambda: plan(name="layers.0.fc1"), Layer, "has Linear there, no activation"),
        (lambda: plan(shared="layers.9.act"), Layer, "no unit at layers.9.act"),
        (lambda: plan(arguments=3), Layer, "damaged entry in its plan"),
        (lambda: plan(**{"class": None}), Layer, "damaged entry in its plan"),
        (lambda: plan(arguments={"features": "x"}), Layer, "the plan is damaged"),
        (lambda: plan(**{"class": "Linear"}), Layer, "the class in the plan"),
        (lambda: {**plan(), "places": [7]}, Layer, "damaged entry in its plan: 7"),
        (lambda: {**plan(), "places": [{}]}, Layer, "damaged entry in its plan"),
    ],
)
def test_plans_for_other_models_are_refused(made, make, message):
    model = Model(make())
    was = repr(model)
    with pytest.raises(ValueError, match=message):
        ra.reapply_(model, made())
    assert repr(model) == was


def test_plans_of_whole_layers_for_other_models_are_refused():
    made = ra.replace_feed_forward_(Model(Layer())).plan
    for make, message in (
        (lambda: Layer(nn.ReLU), "its activation was gelu, here it is relu"),
        (lambda: Layer(hidden=32), r"its maps were \[\(8, 16\), \(16, 8\)\], here"),
        (lambda: nn.Linear(D, D), "has Linear there, no layer of two linear maps"),
    ):
        with pytest.raises(ValueError, match=message):
            ra.reapply_(Model(make()), made)
