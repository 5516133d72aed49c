"""Save and load models as one safetensors file: weights, and beside them a JSON header.

The header names the format, its version, the class and the arguments it was built with, so that
`load` needs no pickle and runs no code from the file.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import os
import uuid
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from ._core import checks as check
from .topology import Topology

FORMAT = "rational-anova"
VERSION = 1

_ARGUMENTS = "_arguments"  # where an instance remembers how it was built
_SETTLED = {"init": "base", "noise": 0.0}
_CLASSES: dict[str, type[nn.Module]] = {}
M = TypeVar("M", bound=type[nn.Module])


def saveable(cls: M) -> M:
    """Class decorator: remember the arguments of each instance, and let `load` find the class."""
    init = cls.__init__
    signature = inspect.signature(init)

    @functools.wraps(init)
    def remember(self: nn.Module, *args: Any, **kwargs: Any) -> None:
        init(self, *args, **kwargs)
        bound = signature.bind(self, *args, **kwargs)
        bound.apply_defaults()
        vars(self)[_ARGUMENTS] = {
            name: _settled(self, name, value)
            for name, value in bound.arguments.items()
            if name != "self"
        }

    cls.__init__ = remember  # type: ignore[method-assign]
    _CLASSES[cls.__name__] = cls
    return cls


def _classes() -> dict[str, type[nn.Module]]:
    """Return the classes that a file may name; they register as their packages are imported."""
    for package in ("units", "networks"):
        importlib.import_module(f"{__package__}.{package}")
    return _CLASSES


def remembered(model: nn.Module) -> dict[str, Any]:
    """Return the arguments with which a model of this library was built, open to change."""
    arguments: dict[str, Any] = vars(model)[_ARGUMENTS]
    return arguments


def _settled(model: nn.Module, name: str, value: Any) -> Any:
    """What a file says of an argument: pairs as they were drawn, no functions, no draws.

    The weights come from the file, so a fit or noise at the start need not be repeated.
    """
    if name == "topology":
        return vars(model).get("topology", value)
    if name in _SETTLED:
        return _SETTLED[name]
    return _Function(repr(value)) if callable(value) else value


class _Function(str):
    """Stands for a function among the arguments, which no file can hold."""


def save(model: nn.Module, path: str | os.PathLike[str]) -> None:
    """Write a model of this library to `path`; the file appears whole or not at all.

    Args:
        model: a unit or a network of `rational_anova`.
        path: where to write, by custom with the ending `.safetensors`.

    Example:
        >>> import rational_anova as ra, tempfile, pathlib
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "unit.safetensors"
        >>> ra.save(ra.Rational1d(3), path)
        >>> ra.load(path)
        Rational1d(3, degrees=(3, 2), denominator='softplus', base='identity')
    """
    header = {"format": FORMAT, "version": str(VERSION), **describe(model)}
    name = header["class"]
    wrong = _mismatch(build(header, path), model)
    if wrong:
        raise ValueError(
            f"this {name} was changed after it was built ({wrong}), so a file could not build it "
            "again; save model.state_dict() instead"
        )
    # Copies, because tied weights may not share memory in the file.
    tensors = {key: tensor.detach().clone() for key, tensor in model.state_dict().items()}
    write_whole(path, to_bytes(tensors, metadata=header))


def load(path: str | os.PathLike[str], into: nn.Module | None = None) -> nn.Module:
    """Read a model written by `save`.

    Args:
        path: the file.
        into: a model of the same architecture that receives the weights; without it a new model
            is built. If anything is wrong with the file, `into` stays as it was.

    Returns:
        The model, in training mode like any new one; each tensor has the dtype it was saved in.
        A new model does not know how its units were started: their `init_error` is None, and
        `reset_parameters` takes them to their base.
    """
    header, tensors = _read(Path(path))
    fresh = build(header, path)
    wrong = differences(fresh.state_dict(), tensors)
    if wrong:
        raise ValueError(f"{path} is damaged: weights and architecture do not fit: {wrong}")
    if into is not None:
        _check_same(fresh, into, path)
        if any(tensor.is_meta for tensor in into.state_dict().values()):
            raise ValueError("the model is on the meta device: call its to_empty(device=...) first")
        into.load_state_dict(tensors)
        return into
    fresh.load_state_dict(tensors, assign=True)
    for module in fresh.modules():
        if hasattr(module, "init_error"):
            vars(module)["init_error"] = None
    return fresh


def describe(model: nn.Module) -> dict[str, str]:
    """Return what a file says of a model next to its weights: the class, its arguments in JSON."""
    return {"class": _class_name(model), "arguments": _to_json(model)}


def _class_name(model: nn.Module) -> str:
    name = type(model).__name__
    if _classes().get(name) is not type(model):
        raise TypeError(
            f"{name} is not a model of rational_anova and cannot be saved or loaded by it "
            f"(known: {', '.join(sorted(_classes()))}); use torch.save(model.state_dict(), ...)"
        )
    return name


def _to_json(model: nn.Module) -> str:
    def default(value: Any) -> Any:
        if hasattr(value, "to_dict"):
            return {"__class__": type(value).__name__, **value.to_dict()}
        if isinstance(value, torch.dtype | torch.device):
            return None  # the tensors carry the dtype, and the device is the reader's choice
        return value.tolist()  # numbers and arrays of numpy and torch

    arguments = vars(model)[_ARGUMENTS]
    for value in arguments.values():
        if isinstance(value, _Function):
            raise TypeError(
                f"{type(model).__name__} was built with {value}, which cannot be written to a "
                "file; save model.state_dict() and build the model again yourself"
            )
    return json.dumps(arguments, default=default)


def build(header: Mapping[str, str], path: object) -> nn.Module:
    """Build what `describe` has described; `path` is where that comes from, for messages."""

    def revive(entry: dict[str, Any]) -> Any:
        return Topology.from_dict(entry) if entry.pop("__class__", None) == "Topology" else entry

    cls = check.lookup(header["class"], _classes(), f"the class in {path}")
    try:
        with torch.device("cpu"):  # whatever the default device is
            return cls(**json.loads(header["arguments"], object_hook=revive))
    except Exception as error:  # whatever a damaged header can lead to
        raise ValueError(f"{path} is damaged: cannot build its {cls.__name__}: {error}") from error


def _read(path: Path) -> tuple[dict[str, str], dict[str, Tensor]]:
    if not path.is_file():
        raise FileNotFoundError(f"no model file at {path}")
    try:
        with safe_open(path, framework="pt") as file:
            header = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, OSError) as error:
        raise ValueError(f"{path} is damaged or not a safetensors file: {error}") from error
    if header.get("format") != FORMAT or not {"version", "class", "arguments"} <= header.keys():
        raise ValueError(f"{path} is a safetensors file not written by rational_anova.save")
    if not header["version"].isdecimal() or int(header["version"]) > VERSION:
        raise ValueError(
            f"{path} has format version {header['version']}, this library reads up to {VERSION}: "
            "upgrade it with pip install --upgrade rational-anova"
        )
    return header, tensors


def _check_same(fresh: nn.Module, model: nn.Module, path: object) -> None:
    """Raise unless `model` computes what the file's model does, up to the weights."""
    way_out = "call load(path) to build the model that is in the file"
    if type(fresh) is not type(model):
        raise ValueError(
            f"{path} holds a {type(fresh).__name__}, not a {_class_name(model)}; {way_out}"
        )
    wrong = _mismatch(model, fresh)
    if wrong:
        raise ValueError(f"{path} holds another architecture: {wrong}; {way_out}")


def _mismatch(expected: nn.Module, found: nn.Module) -> str:
    """Say how two models of one class differ apart from their weights; empty if they do not.

    Equal shapes are not enough: another denominator, or other pairs, have the same shapes.
    """
    wrong = differences(expected.state_dict(), found.state_dict())
    if wrong:
        return wrong
    for line, other in zip(repr(found).splitlines(), repr(expected).splitlines(), strict=False):
        if line != other:
            return f"{line.strip()}, not {other.strip()}"
    fixed, own = (dict(m.named_buffers(remove_duplicate=False)) for m in (expected, found))
    for name in fixed.keys() - expected.state_dict().keys():
        here, there = fixed[name], own[name]
        if not (here.is_meta or there.is_meta or torch.equal(here.cpu(), there.cpu())):
            return f"another topology, its {name} differ"
    return ""


def differences(expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> str:
    """Name the tensors whose shapes differ, the first three of them; empty if none does."""
    shapes = [
        {name: tuple(t.shape) for name, t in tensors.items()} for tensors in (expected, found)
    ]
    wrong = [
        f"{name} {shapes[1].get(name, 'absent')} instead of {shapes[0].get(name, 'none')}"
        for name in sorted(expected.keys() | found.keys())
        if shapes[0].get(name) != shapes[1].get(name)
    ]
    more = f" and {len(wrong) - 3} more" if len(wrong) > 3 else ""
    return "; ".join(wrong[:3]) + more


def write_whole(path: str | os.PathLike[str], content: bytes) -> None:
    """Write a file by way of a temporary one beside it: it appears whole or not at all."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
    try:
        with open(temporary, "xb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
