"""The topology: its value semantics, its constructors, its size rules and its errors."""

import copy
import itertools
import json
import math
import pickle
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from rational_anova.topology import Topology, max_pairs, resolve_size

unhurried = settings(deadline=None)  # the machine may be busy


def every_pair(features):
    return tuple(itertools.combinations(range(features), 2))


@st.composite
def topologies(draw):
    features = draw(st.integers(1, 9))
    subset = st.lists(st.sampled_from(every_pair(features) or [None]), unique=True)
    pairs = draw(subset) if features > 1 else []
    mains = draw(st.none() | st.sets(st.integers(0, features - 1)))
    return Topology(features, pairs, mains)


# --- size rules


@pytest.mark.parametrize(
    ("rule", "expected"),
    [
        (0, 0),
        (7, 7),
        (np.int32(7), 7),
        ("none", 0),
        ("ALL", 4950),
        ("d", 100),
        (" D ", 100),
        ("0.5d", 50),
        (".5 d", 50),
        ("2d", 200),
        ("2 * d", 200),
        ("2.d", 200),
        ("0d", 0),
        ("0.014d", 1),
        ("0.016d", 2),
        ("d log d", 461),
        ("dlogd", 461),
        ("0.5 d log d", 230),
        ("0.5 * D LOG D", 230),
        ("0.1d^2", 1000),
        ("0.1 * d ^ 2", 1000),
        ("d^2", 4950),
        ("1000d", 4950),
    ],
)
def test_size_rules(rule, expected):
    assert resolve_size(rule, 100) == expected


@unhurried
@given(st.integers(1, 10_000), st.floats(0, 5).map("{:.3f}".format))
def test_size_rule_is_the_rounded_and_capped_formula(d, factor):
    a, most = float(factor), d * (d - 1) // 2
    assert resolve_size(f"{factor}d", d) == min(round(a * d), most)
    assert resolve_size(f"{factor} d log d", d) == min(round(a * d * math.log(d)), most)
    assert resolve_size(f"{factor}*d^2", d) == min(round(a * d * d), most)


def test_max_pairs():
    assert [max_pairs(d) for d in (1, 2, 3, 784)] == [0, 1, 3, 306_936]


@pytest.mark.parametrize("rule", ["", "half", "d^3", "-2d", "2", "d d", "log d", "d + 1", "nan d"])
def test_unknown_size_rule(rule):
    with pytest.raises(ValueError, match="size must be an integer") as caught:
        resolve_size(rule, 8)
    assert repr(rule) in str(caught.value)
    assert '"a d log d"' in str(caught.value)


@pytest.mark.parametrize("rule", [0.5, np.float64(0.5)])
def test_float_size_suggests_the_rule(rule):
    with pytest.raises(TypeError, match=r'got the float 0\.5; .* write "0\.5d"'):
        resolve_size(rule, 8)


@pytest.mark.parametrize("rule", [True, None, (3,), np.float32(2)])
def test_size_of_wrong_type(rule):
    with pytest.raises(TypeError, match=r'size must be an integer, got .*"none", "all"'):
        resolve_size(rule, 8)


def test_size_out_of_range():
    with pytest.raises(ValueError, match=r'size must be >= 0, got -1; allowed: .*"a d"'):
        resolve_size(-1, 8)
    with pytest.raises(ValueError, match=r"size must be at most 28 for features=8, got 29"):
        resolve_size(29, 8)
    assert resolve_size(28, 8) == 28


# --- the value object


def test_pairs_are_oriented_and_keep_their_order():
    topology = Topology(4, [(3, 1), (0, 2), (1, 0)], mains=[2, 0])
    assert topology.pairs == ((1, 3), (0, 2), (0, 1))
    assert topology.mains == (0, 2)
    assert (topology.size, topology.num_pairs, topology.num_mains) == (3, 3, 2)
    assert repr(topology) == "Topology(features=4, mains=2, pairs=3)"
    assert topology.index.dtype == np.int64
    assert topology.index.shape == (3, 2)


@pytest.mark.parametrize(
    "pairs",
    [
        [(2, 0), (1, 2)],
        ((2, 0), (1, 2)),
        [[2, 0], [1, 2]],
        [(np.int8(2), np.int64(0)), (1, 2)],
        iter([(2, 0), (1, 2)]),
        np.array([[2, 0], [1, 2]], dtype=np.uint8),
        torch.tensor([[2, 0], [1, 2]]),
    ],
)
def test_pairs_in_any_container(pairs):
    topology = Topology.of(pairs)
    assert topology == Topology(3, [(0, 2), (1, 2)])
    assert all(type(k) is int for pair in topology.pairs for k in pair)


@pytest.mark.parametrize("mains", [{2, 0}, np.array([2, 0]), torch.tensor([2, 0]), iter([2, 0])])
def test_mains_in_any_container(mains):
    topology = Topology.none(3).with_mains(mains)
    assert topology.mains == (0, 2)
    assert all(type(k) is int for k in topology.mains)


def test_a_topology_without_pairs_is_true():
    assert Topology.none(3)
    assert Topology.none(3).index.shape == (0, 2)
    assert Topology.none(3).pairs == ()
    assert Topology.none(3).mains == (0, 1, 2)


def test_immutable():
    source = np.array([[0, 1], [1, 2]])
    topology = Topology.of(source)
    source[0, 0] = 2
    assert topology.pairs == ((0, 1), (1, 2))
    for copied in (topology, copy.deepcopy(topology), pickle.loads(pickle.dumps(topology))):
        with pytest.raises(ValueError, match="read-only"):
            copied.index[0, 0] = 1
        for name in ("features", "mains", "index", "pairs", "size", "other"):
            with pytest.raises(FrozenInstanceError):
                setattr(copied, name, 3)
        with pytest.raises(FrozenInstanceError):
            del copied.mains


@unhurried
@given(topologies())
def test_copies_are_equal_and_hash_alike(topology):
    text = json.dumps(topology.to_dict())
    for other in (
        copy.copy(topology),
        copy.deepcopy(topology),
        pickle.loads(pickle.dumps(topology)),
        Topology.from_dict(json.loads(text)),
        topology.with_mains(topology.mains),
        topology.with_pairs([(j, i) for i, j in topology.pairs]),
        Topology.of(topology.pairs, topology.features, topology.mains),
    ):
        assert other == topology
        assert hash(other) == hash(topology)
        assert type(other) is Topology


def test_what_tells_topologies_apart():
    topology = Topology(3, [(0, 1), (1, 2)])
    others = [
        Topology(4, [(0, 1), (1, 2)], mains=range(3)),
        Topology(3, [(0, 1), (1, 2)], mains=[0]),
        Topology(3, [(0, 1)]),
        Topology(3, [(1, 2), (0, 1)]),  # parameters follow the order of the pairs
    ]
    assert len({topology, *others, Topology(3, [(1, 0), (2, 1)])}) == 5
    assert topology != topology.pairs


def test_json_says_null_when_every_feature_has_a_main_term():
    assert json.dumps(Topology.of([(2, 0)]).to_dict()) == (
        '{"features": 3, "mains": null, "pairs": [[0, 2]]}'
    )
    assert Topology.none(3).with_mains([]).to_dict()["mains"] == []


def test_with_mains_and_with_pairs():
    topology = Topology(3, [(0, 1)], mains=[1])
    assert topology.with_mains(None) == Topology(3, [(0, 1)])
    assert topology.with_pairs([(1, 2)]) == Topology(3, [(1, 2)], mains=[1])
    assert topology == Topology(3, [(0, 1)], mains=[1])


def test_index_becomes_a_tensor_without_a_warning():
    assert torch.tensor(Topology.all(3).index).tolist() == [[0, 1], [0, 2], [1, 2]]


@pytest.mark.parametrize(
    ("pairs", "kind", "message"),
    [
        ([(0, 3)], ValueError, r"pair \(0, 3\) has an index outside 0\.\.2"),
        ([(-1, 0)], ValueError, "each index in pairs must be >= 0, got -1"),
        (np.array([[0, 1], [-1, 0]]), ValueError, r"pair \(-1, 0\) has an index outside"),
        ([(0, 2**70)], ValueError, f"below .*, got {2**70}"),
        ([(0, 1), (1, 1)], ValueError, r"pair \(1, 1\) joins a feature to itself"),
        ([(0, 1), (0, 2), (0, 1)], ValueError, r"pair \(0, 1\) is given more than once"),
        ([(0, 1), (1, 0)], ValueError, r"pair \(0, 1\) is given more than once"),
        ([(0, 1, 2)], ValueError, r"two feature indices \(i, j\), got \(0, 1, 2\)"),
        ([4], TypeError, r"two feature indices \(i, j\), got 4"),
        ([(0, 1.0)], TypeError, r"must be an integer, got 1\.0"),
        ([(0, True)], TypeError, "must be an integer, got True"),
        ("01", TypeError, r"list of index pairs \(i, j\), got '01'"),
        (5, TypeError, r"list of index pairs \(i, j\), got 5"),
        (np.array([[0.0, 1.0]]), TypeError, "must hold integers, got dtype float64"),
        (torch.tensor([[True, False]]), TypeError, "must hold integers, got dtype bool"),
        (np.array([0, 1]), ValueError, r"shape \(K, 2\), got \(2,\)"),
        (np.zeros((2, 3), dtype=int), ValueError, r"shape \(K, 2\), got \(2, 3\)"),
    ],
)
def test_bad_pairs(pairs, kind, message):
    for make in (lambda: Topology(3, pairs), lambda: Topology.none(3).with_pairs(pairs)):
        with pytest.raises(kind, match=message):
            make()


@pytest.mark.parametrize(
    ("mains", "kind", "message"),
    [
        ([0, 3], ValueError, r"mains must lie in 0\.\.2, got 3"),
        ([-1], ValueError, "each index in mains must be >= 0, got -1"),
        ([1, 0, 1], ValueError, "mains must not repeat an index, got 1 more than once"),
        ([0.0], TypeError, r"each index in mains must be an integer, got 0\.0"),
        ([False], TypeError, "each index in mains must be an integer, got False"),
        (np.array([0.0]), TypeError, r"must be an integer, got 0\.0"),
        (2, TypeError, "None or a list of feature indices, got 2"),
        (np.array(2), TypeError, "None or a list of feature indices"),
        ("all", TypeError, "None or a list of feature indices, got 'all'"),
    ],
)
def test_bad_mains(mains, kind, message):
    with pytest.raises(kind, match=message):
        Topology(3, [], mains)


@pytest.mark.parametrize(
    "make", [Topology, Topology.none, Topology.all, Topology.random, max_pairs]
)
def test_bad_features(make):
    for features in (0, -3):
        with pytest.raises(ValueError, match=f"features must be >= 1, got {features}"):
            make(features)
    for features in (2.0, "8", None, True):
        with pytest.raises(TypeError, match="features must be an integer, got"):
            make(features)


def test_bad_dict():
    with pytest.raises(TypeError, match=r"dict from to_dict\(\), got \[3\]"):
        Topology.from_dict([3])
    with pytest.raises(ValueError, match=r"keys features, mains, pairs, got \['features'\]"):
        Topology.from_dict({"features": 3})
