"""Converted models in files: the surgery again on a model as it came, then what was learned."""

from __future__ import annotations

import importlib
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from safetensors import SafetensorError, safe_open
from torch import nn

from .._core.modules import linear_map
from ..networks import RANFFN, RANFFNPlus
from ..units import Rational1d
from . import _plan as record
from ._places import Place, find, is_activation, recognise
from ._report import SurgeryReport, perform
from ._swap import SharedUnit, Swap

_PART = "numerator"  # that every unit has


def check_place(
    places: Iterable[Place], name: str, old: Any, new: nn.Module, source: object
) -> None:
    """Raise where `new`, built from a plan, is not for what a model has in a place."""
    if isinstance(new, RANFFN | RANFFNPlus):
        wrong = _layer(places, name, old, new)
    else:
        wrong = _activation(places, name, old, new)
    if wrong:
        raise ValueError(
            f"{source} has {type(new).__name__} at {name} for another model: {wrong}; build the "
            "model that the surgery was done on"
        )


def _activation(places: Iterable[Place], name: str, old: Any, new: nn.Module) -> str | None:
    if not isinstance(new, Rational1d) or not is_activation(old):
        return f"this one has {type(old).__name__} there, no activation"
    if new.base != _base(old):
        return f"its activation was {new.base}, here it is {_base(old)}"
    for place in places:
        known = place.name == name and place.channels is not None and place.doubt is None
        if known and (place.channels, place.dim) != (new.features, new.dim):
            return f"it had {new.features} channels there, here are {place.channels}"
    return None


def _layer(places: Iterable[Place], name: str, old: Any, new: RANFFN | RANFFNPlus) -> str | None:
    maps = [linear_map(child) for child in old.children()] if isinstance(old, nn.Module) else []
    found = [part for part in maps if part is not None]
    if len(found) != 2:
        return f"this one has {type(old).__name__} there, no layer of two linear maps"
    pairs = new.pair.units if new.pair is not None else 0
    sizes = [(m.inputs, m.outputs) for m in found]
    wanted = [(new.features, new.fc1.out_features)]
    wanted.append((new.fc2.in_features - pairs, new.fc2.out_features))
    if sizes != wanted:
        return f"its maps were {wanted}, here they are {sizes}"
    bases = {_base(place.activation) for place in places if place.path == name}
    if bases and new.unit.base not in bases:
        return f"its activation was {new.unit.base}, here it is {', '.join(sorted(bases))}"
    return None


def _base(activation: Any) -> str:
    return recognise(activation) or "identity"  # which a unit has that was fitted to any other


def check_found(model: nn.Module, found: Mapping[str, Any], folder: object) -> None:
    """Raise where weights of units were not in the files, or were not used."""
    units = {name for name, part in model.named_modules() if record.is_converted(part)}
    lost = sorted(k for k in found.get("missing_keys", ()) if k.rpartition(".")[0] in units)
    if lost:
        raise ValueError(
            f"the weights in {folder} do not fit its surgery: {', '.join(lost[:3])} "
            f"{'are' if len(lost) > 1 else 'is'} missing"
        )
    refuse_unplanned(found.get("unexpected_keys", ()), folder)


def refuse_unplanned(keys: Iterable[str], folder: object) -> None:
    """Raise if there are units among weights that no plan speaks of."""
    units = sorted(key.rpartition(".")[0] for key in keys if key.rpartition(".")[2] == _PART)
    if units:
        raise ValueError(
            f"the weights in {folder} have rational units that its config.json does not plan "
            f"({', '.join(units[:3])}{', ...' if len(units) > 3 else ''}): surgery was done on a "
            "part of the model. Do it on the model that is saved, with where=; to read these "
            "weights, build the model, repeat the surgery on the part (or reapply_ its "
            "report.plan), and use load_state_dict"
        )


def saved_names(folder: Path) -> set[str]:
    """Return the names of the weights in a folder, as far as its files tell them cheaply."""
    names: set[str] = set()
    for index in folder.glob("*.index.json"):
        names |= set(json.loads(index.read_text()).get("weight_map", {}))
    for path in folder.glob("*.safetensors"):
        try:
            with safe_open(path, framework="pt") as file:
                names |= set(file.keys())
        except (SafetensorError, OSError):
            continue  # its reader will say what is wrong with it
    return names


M = TypeVar("M", bound=nn.Module)


def reapply_(model: nn.Module, plan: Mapping[str, Any]) -> SurgeryReport:
    """Repeat a recorded conversion on an unconverted model.

    The units start at their bases; `model.load_state_dict` then brings what they have learned.

    Args:
        model: changed in place, or left as it was if anything does not fit.
        plan: the `plan` of a report; it holds nothing but JSON's types.

    Example:
        >>> from rational_anova import replace_activations_
        >>> def fresh():
        ...     return nn.Sequential(nn.Linear(2, 4), nn.GELU(), nn.Linear(4, 1))
        >>> model = fresh()
        >>> plan = json.loads(json.dumps(replace_activations_(model).plan))
        >>> again = fresh()
        >>> report = reapply_(again, plan)
        >>> again.load_state_dict(model.state_dict())
        <All keys matched successfully>
    """
    return perform(model, _swaps(model, record.places(plan, "plan"), "the plan"), None)


def load_converted(folder: str | os.PathLike[str], cls: type[M], **options: Any) -> M:
    """Read a converted model that its own `save_pretrained` has written.

    The plan of the surgery comes from `config.json`, where `replace_activations_` has left it. The
    model is built and converted anew, and then filled by its class's own `from_pretrained`.

    Args:
        folder: where the model was saved.
        cls: the class of the model, such as `BertModel` or `AutoModelForCausalLM`; one with another
            head may be asked for, as with `from_pretrained`.
        options: of `from_pretrained`.
    """
    path = Path(folder) / "config.json"
    cls = _concrete(cls, folder)
    if not path.is_file():
        raise FileNotFoundError(f"no config.json in {folder}, so no saved model")
    config = json.loads(path.read_text())
    if record.KEY not in config:
        refuse_unplanned(saved_names(path.parent), folder)
        raise ValueError(
            f"{path} records no surgery: this model was saved unconverted, and its own "
            "from_pretrained reads it"
        )
    entries = record.places(config[record.KEY], path)
    read = getattr(cls, "from_pretrained", None)
    if not isinstance(cls, type) or not issubclass(cls, nn.Module) or read is None:
        wanted = ", ".join(config.get("architectures") or ["a class of its own"])
        raise TypeError(f"cls must be the class of the model ({wanted}), got {cls!r}")

    made: list[Swap] = []

    def build(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        cls.__init__(self, *args, **kwargs)
        made[:] = _swaps(self, entries, path)
        perform(self, made, None)

    # A class of the same name: frameworks look names up.
    names = {"__init__": build, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    # Coefficients are read in full precision, whatever dtype the model is asked for in.
    planned = [entry["name"] for entry in entries]  # and without the base model's prefix
    kept = {*planned, *(name.partition(".")[2] for name in planned if "." in name)}
    names["_keep_in_fp32_modules_strict"] = (
        set(getattr(cls, "_keep_in_fp32_modules_strict", None) or ()) | kept
    )
    converted: Any = type(cls.__name__, (cls,), names)
    try:
        model, found = converted.from_pretrained(folder, output_loading_info=True, **options)
    except RuntimeError as error:
        raise ValueError(f"the weights in {folder} do not fit its surgery: {error}") from error
    model.__class__ = cls
    check_found(model, found, folder)
    for swap, entry in zip(made, entries, strict=True):
        _restore_buffers(swap.new, record.built(entry, path))
    return model


def _concrete(cls: Any, folder: str | os.PathLike[str]) -> Any:
    """Return the class that an `AutoModel...` chooses for a folder; others as they are."""
    choices = getattr(cls, "_model_mapping", None)
    if choices is None or (isinstance(cls, type) and issubclass(cls, nn.Module)):
        return cls
    library: Any = importlib.import_module(cls.__module__.partition(".")[0])
    config = library.AutoConfig.from_pretrained(folder)
    if type(config) not in choices:
        named = ", ".join(config.architectures or ["see its config.json"])
        raise ValueError(
            f"{cls.__name__} has no model for a {type(config).__name__}; pass its class ({named})"
        )
    found = choices[type(config)]
    several = list(found) if isinstance(found, tuple) else [found]
    saved = [each for each in several if each.__name__ in (config.architectures or ())]
    return (saved or several)[0]


def _swaps(model: nn.Module, entries: list[dict[str, Any]], source: object) -> list[Swap]:
    """Build what the entries describe, with the dtype and device of what stands beside it."""
    swaps: dict[str, Swap] = {}
    modules = dict(model.named_modules())
    places = find(model)
    for entry in entries:
        name = _place(modules, entry["name"], type(model).__name__, source)
        path, _, attribute = name.rpartition(".")
        holder = modules[path]
        old = getattr(holder, attribute)
        if record.is_converted(old):
            raise ValueError(
                f"{name} in {type(model).__name__} is rational already; the surgery in {source} "
                "needs the model as it was before"
            )
        if entry["shared"] is not None:
            owner = swaps.get(entry["shared"])
            if owner is None or not isinstance(owner.new, Rational1d):
                raise ValueError(f"{source} is damaged: no unit at {entry['shared']} for {name}")
            check_place(places, name, old, owner.new, source)
            swaps[entry["name"]] = Swap(holder, name, old, SharedUnit(owner.new), owner.name)
            continue
        new = record.built(entry, source)
        check_place(places, name, old, new, source)
        beside = next((p for p in holder.parameters() if p.is_floating_point()), None)
        if beside is not None and not beside.is_meta:
            new.to(device=beside.device, dtype=beside.dtype)  # units stay in full precision
        swaps[entry["name"]] = Swap(holder, name, old, new)
    return list(swaps.values())


def _restore_buffers(unit: nn.Module, fresh: nn.Module) -> None:
    """Bring back what files do not hold (pairs): models that are built without memory lose it."""
    saved = fresh.state_dict().keys()
    for name, buffer in fresh.named_buffers():
        if name not in saved and not isinstance(unit, SharedUnit):
            here = unit.get_buffer(name)
            path, _, last = name.rpartition(".")
            unit.get_submodule(path)._buffers[last] = buffer.to(here.device)


def _place(modules: Mapping[str, nn.Module], name: str, model: str, source: object) -> str:
    """The place in this model: a model with a head holds the one without under a name."""
    for option in _variants(modules, name):
        path, _, attribute = option.rpartition(".")
        if path in modules and hasattr(modules[path], attribute):
            return option
    raise ValueError(
        f"{source} has a rational unit at {name}, and {model} has no such place: build the model "
        "that the surgery was done on"
    )


def _variants(modules: Mapping[str, nn.Module], name: str) -> Iterable[str]:
    yield name
    base = getattr(modules[""], "base_model_prefix", "")
    if base:
        yield name.removeprefix(f"{base}.")
        yield f"{base}.{name}"
