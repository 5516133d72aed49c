"""The plan of a surgery: what stands where, in JSON's terms, and where a model keeps it."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn

from .._core import records, saveable
from ..units import RationalUnit
from ._swap import SharedUnit, Swap

KEY = "rational_anova"  # of the model's own configuration


def plan(swaps: Iterable[Swap]) -> dict[str, Any]:
    """Return the plan of a surgery."""
    return {**records.header("surgery"), "places": [_entry(swap) for swap in swaps]}


def note(model: nn.Module, added: Mapping[str, Any]) -> None:
    """Write a plan into the model's configuration, if it has one, after what is there."""
    config = configuration(model)
    if config is not None:
        before = getattr(config, KEY, None) or {"places": []}
        fresh = {entry["name"] for entry in added["places"]}
        # A plan may have come with the configuration of another model.
        kept = [e for e in before["places"] if e["name"] not in fresh and _stands(model, e)]
        _own(model, config, [*kept, *added["places"]])


def forget(model: nn.Module, undone: Mapping[str, Any]) -> None:
    """Take a plan out of the model's configuration."""
    config = configuration(model)
    if config is not None and hasattr(config, KEY):
        names = {entry["name"] for entry in undone["places"]}
        _own(model, config, [e for e in getattr(config, KEY)["places"] if e["name"] not in names])


def _own(model: nn.Module, config: Any, places: list[dict[str, Any]]) -> None:
    """Give a model a configuration of its own with these places: models may share one object."""
    own = copy.copy(config)
    if places:
        setattr(own, KEY, {**records.header("surgery"), "places": places})
    elif hasattr(own, KEY):
        delattr(own, KEY)
    holders = [part for part in model.modules() if vars(part).get("config") is config]
    for part in holders or [model]:
        part.config = own


def _stands(model: nn.Module, entry: Mapping[str, Any]) -> bool:
    """Return whether a model has units where an entry says."""
    try:
        return is_converted(model.get_submodule(entry["name"]))
    except AttributeError:
        return False


def is_converted(old: Any) -> bool:
    """Return whether there are units in something."""
    return isinstance(old, nn.Module) and any(
        isinstance(part, RationalUnit | SharedUnit) for part in old.modules()
    )


def configuration(model: nn.Module) -> Any:
    """Return the configuration that a model of Hugging Face saves, None for other models."""
    config = getattr(model, "config", None)
    return config if hasattr(config, "to_dict") and hasattr(config, "save_pretrained") else None


def places(plan: Any, source: object) -> list[dict[str, Any]]:
    """Return the entries of a plan, or say what is wrong with it."""
    if not isinstance(plan, Mapping) or not isinstance(plan.get("places"), list):
        raise ValueError(f"{source} holds no plan of a surgery, got {plan!r}")
    records.check_header(plan, str(source), "surgery")
    for entry in plan["places"]:
        if not _whole(entry):
            raise ValueError(f"{source} has a damaged entry in its plan: {entry!r}")
    return list(plan["places"])


def _whole(entry: Any) -> bool:
    """Return whether an entry has all its parts."""
    return (
        isinstance(entry, Mapping)
        and all(isinstance(entry.get(key), str) for key in ("name", "class"))
        and isinstance(entry.get("arguments"), Mapping)
        and isinstance(entry.get("shared", 0), str | None)
    )


def built(entry: Mapping[str, Any], source: object) -> nn.Module:
    """Build what an entry describes, with coefficients at their start."""
    return saveable.build(entry["class"], entry["arguments"], source)


def _entry(swap: Swap) -> dict[str, Any]:
    new = swap.new.unit if isinstance(swap.new, SharedUnit) else swap.new
    return {"name": swap.name, **saveable.describe(new), "shared": swap.owner}


def _refuse(found: records.Found) -> None:
    raise records.FileError(
        f"{found.source} holds the plan of a surgery, which needs the model: ra.reapply_(model, "
        "json.load(file)), or ra.load_converted(folder, cls) for a saved model"
    )


records.register("surgery", None, None, _refuse)
