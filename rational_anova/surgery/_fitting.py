"""Whether a recorded surgery fits the model it is to be done on, and the files it came with."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from torch import nn

from ..networks import RANFFN, RANFFNPlus
from ..units import Rational1d
from . import _record as record
from ._places import Place, linear_map
from ._recognise import is_activation, recognise

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
