"""The plan of a surgery: what stands where, in JSON's terms, and where a model keeps it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

from torch import nn

from .. import serialization
from ._shared import SharedUnit
from ._swap import Swap

KEY = "rational_anova"  # of the model's own configuration
VERSION = 1


def plan(swaps: Iterable[Swap]) -> dict[str, Any]:
    """Return the plan of a surgery."""
    return {"version": VERSION, "places": [_entry(swap) for swap in swaps]}


def note(model: nn.Module, added: Mapping[str, Any]) -> None:
    """Write a plan into the model's configuration, if it has one, after what is there."""
    config = configuration(model)
    if config is not None:
        before = getattr(config, KEY, None) or {"places": []}
        fresh = {entry["name"] for entry in added["places"]}
        kept = [entry for entry in before["places"] if entry["name"] not in fresh]
        places = [*kept, *added["places"]]
        setattr(config, KEY, {"version": VERSION, "places": places})


def forget(model: nn.Module, undone: Mapping[str, Any]) -> None:
    """Take a plan out of the model's configuration."""
    config = configuration(model)
    if config is None or not hasattr(config, KEY):
        return
    names = {entry["name"] for entry in undone["places"]}
    left = [entry for entry in getattr(config, KEY)["places"] if entry["name"] not in names]
    if left:
        setattr(config, KEY, {"version": VERSION, "places": left})
    else:
        delattr(config, KEY)


def configuration(model: nn.Module) -> Any:
    """Return the configuration that a model of Hugging Face saves, None for other models."""
    config = getattr(model, "config", None)
    return config if hasattr(config, "to_dict") and hasattr(config, "save_pretrained") else None


def places(plan: Any, source: object) -> list[dict[str, Any]]:
    """Return the entries of a plan, or say what is wrong with it."""
    if not isinstance(plan, Mapping) or not isinstance(plan.get("places"), list):
        raise ValueError(f"{source} holds no plan of a surgery, got {plan!r}")
    version = plan.get("version")
    if version != VERSION:
        raise ValueError(
            f"{source} has a plan of version {version!r}, this library reads {VERSION}: upgrade it "
            "with pip install --upgrade rational-anova"
        )
    return list(plan["places"])


def built(entry: Mapping[str, Any], source: object) -> nn.Module:
    """Build what an entry describes, with coefficients at their start."""
    header = {"class": entry["class"], "arguments": json.dumps(entry["arguments"])}
    return serialization.build(header, source)


def _entry(swap: Swap) -> dict[str, Any]:
    new = swap.new.unit if isinstance(swap.new, SharedUnit) else swap.new
    said = serialization.describe(new)
    return {
        "name": swap.name,
        "class": said["class"],
        "arguments": json.loads(said["arguments"]),
        "shared": swap.owner,
    }
