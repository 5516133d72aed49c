"""Rates that fall from block to block, with units and without."""

import copy

import pytest
from torch import nn

import rational_anova as ra
from tests.surgery.models import D, Layer, Model


def depths(model):
    groups = ra.parameter_groups(model, 1.0, layer_decay=0.5)
    found = {id(p): g["depth"] for g in groups for p in g["params"]}
    return {name: found[id(p)] for name, p in model.named_parameters()}


def test_layers_decay_with_units_and_without():
    model = nn.Sequential(nn.Linear(4, D), Model(*(Layer() for _ in range(3))), nn.Linear(D, 2))
    before = depths(model)
    assert before["0.weight"] == 3
    assert [before[f"1.layers.{n}.fc1.weight"] for n in range(3)] == [2, 1, 0]
    assert before["2.weight"] == 0
    ra.replace_activations_(model, where="1.layers.0.*", share="channel")
    after = depths(model)
    assert {name: after[name] for name in before} == before
    with pytest.raises(ValueError, match="layer_decay=0.5 cannot be done: Linear has no blocks"):
        ra.parameter_groups(nn.Linear(2, 2), 1.0, layer_decay=0.5)


def test_blocks_of_one_list_and_lists_in_blocks():
    def block(experts):
        return nn.Sequential(nn.LayerNorm(D), nn.ModuleDict({"experts": Model(*experts)}))

    model = Model(*(block(Layer() for _ in range(count)) for count in (4, 5)))
    found = depths(model)
    assert {d for name, d in found.items() if name.startswith("layers.0.")} == {1}
    assert {d for name, d in found.items() if name.startswith("layers.1.")} == {0}
    assert set(depths(Model(Layer())).values()) == {0}


def test_copies_of_a_converted_model_keep_their_groups():
    model = Model(Layer(), Layer())
    ra.replace_activations_(model, share="model")
    assert depths(copy.deepcopy(model)) == depths(model)
