"""Networks as files: damaged or foreign ones give a clear error and leave the model untouched."""

import json
import os

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

import rational_anova as ra


@pytest.fixture
def net():
    torch.manual_seed(0)
    return ra.RAN(4, 1, ra.Topology.random(4, 3), noise=0.1)


@pytest.fixture
def path(net, tmp_path):
    path = tmp_path / "net.safetensors"
    ra.save(net, path)
    return path


def rewrite(path, **changes):
    with safe_open(path, "pt") as file:
        header = file.metadata()
    save_file(load_file(path), path, metadata={**header, **changes})


def refuses(path, message, model=None):
    """Loading must fail with the message, and a model in memory must stay as it was."""
    model = model or ra.RAN(4, 1, ra.Topology.random(4, 3))
    before = {k: v.clone() for k, v in model.state_dict().items()}
    for into in (None, model):
        with pytest.raises((ValueError, TypeError, FileNotFoundError), match=message):
            ra.load(path, into=into)
    assert all(torch.equal(v, before[k]) for k, v in model.state_dict().items())


def test_newer_format(path):
    rewrite(path, version="2")
    refuses(path, "format version 2, this library reads up to 1: upgrade")


def test_truncated_file(path):
    content = path.read_bytes()
    for size in (0, 5, 100, len(content) - 7):
        path.write_bytes(content[:size])
        refuses(path, "damaged")


def test_overwritten_bytes(path):
    path.write_bytes(b"\xff" * 200)
    refuses(path, "not written by rational_anova, or is damaged")


def test_foreign_safetensors(path):
    save_file({"w": torch.zeros(2)}, path)
    refuses(path, "not written by rational_anova .it is a safetensors file")


def test_missing_file(tmp_path):
    refuses(tmp_path / "none.safetensors", "no file at")


def test_unknown_class(path):
    rewrite(path, **{"class": "RAM"})
    with pytest.raises(ValueError, match="did you mean 'RAN'"):
        ra.load(path)


def test_damaged_arguments(path):
    rewrite(path, arguments="{")
    with pytest.raises(ValueError, match="damaged: cannot build its RAN"):
        ra.load(path)
    rewrite(path, arguments=json.dumps({"in_features": 4, "topology": "nonsense"}))
    with pytest.raises(ValueError, match="damaged: cannot build its RAN.*nonsense"):
        ra.load(path)


def test_another_architecture(path):
    for other in (ra.RAN(5, 1), ra.RAN(4, 1, "none"), ra.RAN(4, 1, degrees=(3, 2))):
        before = {k: v.clone() for k, v in other.state_dict().items()}
        with pytest.raises(ValueError, match="holds another architecture.*call load"):
            ra.load(path, into=other)
        assert all(torch.equal(v, before[k]) for k, v in other.state_dict().items())
    with pytest.raises(ValueError, match="holds a RAN, not a DeepRAN"):
        ra.load(path, into=ra.DeepRAN(4, 1))


def test_another_topology_of_the_same_size_is_refused(path):
    other = ra.RAN(4, 1, ra.Topology.of([(0, 1), (0, 2), (0, 3)], features=4))
    assert other.topology != ra.load(path).topology
    with pytest.raises(ValueError, match="topology"):
        ra.load(path, into=other)


def test_another_denominator_of_the_same_shape_is_refused(path):
    other = ra.RAN(4, 1, ra.Topology.random(4, 3), denominator="square")
    with pytest.raises(ValueError, match="holds another architecture: .*softplus.*not .*square"):
        ra.load(path, into=other)


@pytest.mark.parametrize("options", [{"eps": 2.0}, {"dim": 0}])
def test_other_settings_of_the_same_shape_are_refused(options, tmp_path):
    ra.save(ra.Rational1d(3, **options), tmp_path / "unit.safetensors")
    with pytest.raises(ValueError, match="holds another architecture"):
        ra.load(tmp_path / "unit.safetensors", into=ra.Rational1d(3))


def test_files_hold_the_pairs_that_were_drawn(tmp_path):
    for number, net in enumerate(
        (ra.RAN(6), ra.DeepRAN(6, 2), ra.RANFFNPlus(4), ra.RANConvNet(1, 2))
    ):
        path = tmp_path / f"{number}.safetensors"
        ra.save(net, path)
        with safe_open(path, "pt") as file:
            topology = json.loads(file.metadata()["arguments"])["topology"]["is"]
        assert topology["pairs"] == net.topology.index.tolist()


def test_each_tensor_keeps_its_dtype(tmp_path):
    net = ra.RAN(3, 2, dtype=torch.float64, noise=0.1)
    net.head.float()
    ra.save(net, tmp_path / "net.safetensors")
    loaded = ra.load(tmp_path / "net.safetensors")
    assert torch.equal(loaded.main.numerator, net.main.numerator)
    assert loaded.head.weight.dtype == torch.float32
    assert all(p.requires_grad for p in loaded.parameters())


def test_a_loaded_unit_does_not_claim_an_error_of_its_start(tmp_path):
    ra.save(ra.Rational1d(1, init="tanh"), tmp_path / "unit.safetensors")
    assert ra.load(tmp_path / "unit.safetensors").init_error is None


def test_a_model_that_a_file_cannot_build_is_refused(tmp_path):
    net = ra.RAN(4, 3)
    net.head = torch.nn.Linear(8, 5)
    with pytest.raises(ValueError, match="changed after it was built.*state_dict"):
        ra.save(net, tmp_path / "net.safetensors")
    swapped = ra.RAN(4, 1, ra.Topology.random(4, 3))
    swapped.main = ra.Rational1d(4, (2, 2), "abs")
    turned = ra.RAN(4, 1, ra.Topology.random(4, 3))
    turned.pair.pairs.copy_(turned.pair.pairs.flip(0))
    for changed in (swapped, turned):
        with pytest.raises(ValueError, match="changed after it was built"):
            ra.save(changed, tmp_path / "net.safetensors")
    assert not list(tmp_path.iterdir())


def test_tied_weights_can_be_saved(tmp_path):
    net = ra.DeepRAN(4, 2)
    net.blocks[1] = net.blocks[0]
    ra.save(net, tmp_path / "net.safetensors")
    x = torch.randn(3, 4)
    assert torch.equal(ra.load(tmp_path / "net.safetensors")(x), net(x))


def test_loading_and_the_meta_device(path):
    with torch.device("meta"):
        loaded = ra.load(path)
        empty = ra.RAN(4, 1, ra.Topology.random(4, 3))
    assert not any(p.is_meta for p in loaded.parameters())
    with pytest.raises(ValueError, match="to_empty"):
        ra.load(path, into=empty)


@pytest.mark.parametrize(
    "change", [{"dtype": "x"}, {"in_features": 10**12}, {"device": "mars"}, {"new": 1}]
)
def test_whatever_a_header_says_the_error_is_clear(path, change):
    with safe_open(path, "pt") as file:
        arguments = json.loads(file.metadata()["arguments"])
    rewrite(path, arguments=json.dumps({**arguments, **change}))
    with pytest.raises(ValueError, match="damaged"):
        ra.load(path)


def test_foreign_modules_are_refused(tmp_path):
    with pytest.raises(TypeError, match="Linear is not a model of rational_anova"):
        ra.save(torch.nn.Linear(2, 2), tmp_path / "linear.safetensors")


def test_a_failed_save_leaves_the_old_file(path, net, monkeypatch):
    before = path.read_bytes()

    def full(*_):
        raise OSError("no space left")

    monkeypatch.setattr(os, "replace", full)
    with pytest.raises(OSError, match="no space left"):
        ra.save(net, path)
    assert path.read_bytes() == before
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_folders_are_made(net, tmp_path):
    ra.save(net, tmp_path / "a" / "b" / "net.safetensors")
    assert ra.load(tmp_path / "a" / "b" / "net.safetensors").topology == net.topology


def test_dtype_comes_back(tmp_path):
    for dtype in (torch.float64, torch.bfloat16):
        ra.save(ra.Rational1d(2, dtype=dtype), tmp_path / "unit.safetensors")
        assert ra.load(tmp_path / "unit.safetensors").numerator.dtype == dtype


def test_units_fitted_to_a_function_can_be_saved(tmp_path):
    unit = ra.Rational1d(1, init=lambda x: torch.cos(x), init_range=(-1, 1))
    ra.save(unit, tmp_path / "unit.safetensors")
    x = torch.linspace(-1, 1, 5)[:, None]
    assert torch.equal(ra.load(tmp_path / "unit.safetensors")(x), unit(x))


def test_gates_of_blocks_were_single_numbers_once(tmp_path, monkeypatch):
    """FSDP2 takes no scalars, so they have the shape (1,) now; files from before are read."""
    net = ra.DeepRAN(3, 2, topology="none", blocks=1)
    wide = torch.nn.Module.state_dict

    def narrow(self, *args, **kwargs):
        state = wide(self, *args, **kwargs)
        return {k: v.reshape(()) if k == "blocks.0.gate" else v for k, v in state.items()}

    monkeypatch.setattr(ra.DeepRAN, "state_dict", narrow)
    ra.save(net, tmp_path / "net.safetensors")
    monkeypatch.undo()
    again = ra.load(tmp_path / "net.safetensors")
    assert again.blocks[0].gate.shape == (1,)
    x = torch.randn(4, 3)
    assert torch.equal(again(x), net(x))
