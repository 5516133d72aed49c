"""Converted models in files: the surgery again on a model as it came, then what was learned."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from torch import nn

from ..units import Rational1d
from . import _record as record
from ._fitting import check_found, check_place, refuse_unplanned, saved_names
from ._places import find
from ._report import SurgeryReport, perform
from ._shared import SharedUnit
from ._swap import Swap

M = TypeVar("M", bound=nn.Module)


def reapply_(model: nn.Module, plan: Mapping[str, Any]) -> SurgeryReport:
    """Do a recorded surgery again, on a model as it was before.

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
        cls: the class of the model, such as `BertModel`; one with another head may be asked for,
            as with `from_pretrained`.
        options: of `from_pretrained`.
    """
    path = Path(folder) / "config.json"
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
            new.to(device=beside.device, dtype=beside.dtype)
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
