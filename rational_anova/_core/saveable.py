"""Units and networks as one safetensors file: weights, and beside them how the model was built.

The header names the class and the arguments, so that no pickle is needed.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import math
from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load as from_bytes
from safetensors.torch import save as to_bytes
from torch import Tensor, nn

from . import checks as check
from . import codec, records
from .records import FileError, Found

_ARGUMENTS = "_arguments"  # where an instance remembers how it was built
_SETTLED = {"init": "base", "noise": 0.0}
WEIGHTS = (torch.float64, torch.float32, torch.bfloat16, torch.float16)
_CLASSES: dict[str, type[nn.Module]] = {}
# Arguments that older files do not have, where the default is another today.
_BEFORE = {name: {"reach": None} for name in ("RANFFN", "RANFFNPlus")}
_HOMES = ("rational_anova.units", "rational_anova.networks")  # whose names are classes in files
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


def describe(model: nn.Module) -> dict[str, Any]:
    """Return what a file says of a model next to its weights: class and arguments, as JSON."""
    return {"class": class_name(model), "arguments": _arguments(model)}


def class_name(model: nn.Module) -> str:
    """Return the name of a model's class, if it is one of this library."""
    name = type(model).__name__
    if _CLASSES.get(name) is not type(model):
        raise TypeError(
            f"{name} is not a model of rational_anova and cannot be saved or loaded by it "
            f"(known: {', '.join(sorted(_CLASSES))}); use torch.save(model.state_dict(), ...)"
        )
    return name


def _arguments(model: nn.Module) -> Any:
    name = type(model).__name__
    for value in remembered(model).values():
        if isinstance(value, _Function):
            raise TypeError(
                f"{name} was built with {value}, which cannot be written to a file; save "
                "model.state_dict() and build the model again yourself"
            )
    return codec.to_plain({k: _plain(v) for k, v in remembered(model).items()}, name)


def _plain(value: Any) -> Any:
    if isinstance(value, torch.dtype | torch.device):
        return None  # the tensors carry the dtype, and the device is the reader's choice
    return value.tolist() if hasattr(value, "tolist") else value  # of numpy and torch


_MOST = 2**24  # of a size that a file asks for: a false one would take all memory


def build(name: str, arguments: Any, source: object) -> nn.Module:
    """Build what `describe` has described; `source` is where that comes from, for messages."""
    if name not in _CLASSES:
        for home in _HOMES:
            getattr(importlib.import_module(home), str(name), None)
    cls = check.lookup(name, _CLASSES, f"the class in {source}")
    try:
        if (huge := _largest(arguments)) > _MOST:
            raise ValueError(f"it would have a size of {huge:.3g}")
        with torch.device("cpu"):  # whatever the default device is
            return cls(**_BEFORE.get(str(name), {}) | codec.from_plain(arguments))
    except Exception as error:  # whatever a damaged header can lead to
        raise FileError(f"{source} is damaged: cannot build its {cls.__name__}: {error}") from error


def _largest(arguments: Any) -> float:
    """Return the largest whole number in a tree: numbers of inputs, units, degrees."""
    if isinstance(arguments, Mapping):
        arguments = list(arguments.values())
    if isinstance(arguments, list):
        return max(map(_largest, arguments), default=0.0)
    whole = isinstance(arguments, int) and not isinstance(arguments, bool)
    return float(min(abs(arguments), 10**300)) if whole else 0.0


_ENTRIES = ("class", "arguments")


def _write(model: nn.Module) -> bytes:
    said = describe(model)
    wrong = _mismatch(build(said["class"], said["arguments"], "the file"), model)
    if wrong:
        raise ValueError(
            f"this {said['class']} was changed after it was built ({wrong}), so a file could not "
            "build it again; save model.state_dict() instead"
        )
    # Copies, because tied weights may not share memory in the file.
    tensors = {key: tensor.detach().clone() for key, tensor in model.state_dict().items()}
    fields = {"class": said["class"], "arguments": json.dumps(said["arguments"], allow_nan=False)}
    data = to_bytes(tensors, metadata={})
    fields[records.CHECKSUM] = records.checksum(fields, records.tensor_parts(data))
    return _with_metadata(data, records.to_metadata("network", fields))


def _with_metadata(data: bytes, metadata: dict[str, str]) -> bytes:
    """Add metadata in order, where safetensors writes it in any: equal models make equal files."""
    end = 8 + int.from_bytes(data[:8], "little")
    header = {"__metadata__": dict(sorted(metadata.items())), **json.loads(data[8:end])}
    header["__metadata__"] = dict(sorted(metadata.items()))
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # what follows is aligned
    return len(text).to_bytes(8, "little") + text + data[end:]


def _read(found: Found) -> nn.Module:
    fresh, tensors = _opened(found)
    fresh.load_state_dict(tensors, assign=True)
    for module in fresh.modules():
        if hasattr(module, "init_error"):
            vars(module)["init_error"] = None
    return fresh


def _fill(found: Found, model: nn.Module) -> nn.Module:
    fresh, tensors = _opened(found)
    records.check_unaltered(found)
    _check_same(fresh, model, found.source)
    if any(tensor.is_meta for tensor in model.state_dict().values()):
        raise ValueError("the model is on the meta device: call its to_empty(device=...) first")
    model.load_state_dict(tensors)
    return model


def _opened(found: Found) -> tuple[nn.Module, dict[str, Tensor]]:
    """Return a fresh model of the file's architecture, and the file's weights, which fit it."""
    source, content = found.source, found.content
    records.check_entries(found, _ENTRIES)
    try:
        tensors = from_bytes(found.data)
    except (SafetensorError, ValueError, RuntimeError) as error:
        raise FileError(f"{source} is a damaged safetensors file: {error}") from error
    name = content.get("class", "model")
    try:
        arguments = json.loads(content["arguments"])
    except (KeyError, ValueError) as error:
        raise FileError(f"{source} is damaged: cannot build its {name}: {error!r}") from error
    fresh = build(name, arguments, source)
    expected = fresh.state_dict()
    for key, tensor in tensors.items():
        if tensor.dim() == 0 and key in expected and expected[key].shape == (1,):
            tensors[key] = tensor.reshape(1)  # gates of blocks in files of 0.2.0
    wrong = differences(expected, tensors) or _odd_types(expected, tensors)
    if wrong:
        raise FileError(f"{source} is damaged: weights and architecture do not fit: {wrong}")
    return fresh, tensors


def _odd_types(expected: Mapping[str, Tensor], found: Mapping[str, Tensor]) -> str:
    """Name a tensor whose numbers cannot stand for those of the model; empty if there is none."""
    for name, tensor in found.items():
        wanted = expected[name].dtype
        fine = tensor.dtype in WEIGHTS if wanted.is_floating_point else tensor.dtype == wanted
        if not fine:
            return f"{name} is of {tensor.dtype}, not of {wanted}"
    return ""


records.register("network", nn.Module, _write, _read, _fill)


def _tensor_parts(value: Tensor) -> dict[str, Any]:
    """Bytes, because numpy has not all the dtypes."""
    flat = value.detach().cpu().contiguous().reshape(-1).view(torch.uint8)
    name = str(value.dtype).removeprefix("torch.")
    return {"dtype": name, "shape": list(value.shape), "bytes": flat.numpy()}


def _tensor(parts: dict[str, Any]) -> Tensor:
    dtype = getattr(torch, parts["dtype"], None)
    if not isinstance(dtype, torch.dtype):
        raise ValueError(f"a tensor has the unknown dtype {parts['dtype']!r:.60}")
    held, shape = np.asarray(parts["bytes"]), parts["shape"]
    if held.dtype != np.uint8 or math.prod(shape) * dtype.itemsize != held.size:
        raise ValueError(f"a tensor says it is {shape} of {dtype}, and has {held.size:,} bytes")
    flat = torch.from_numpy(held.reshape(-1).copy())
    return flat.view(dtype).reshape(shape) if held.size else torch.empty(shape, dtype=dtype)


codec.register(Tensor, _tensor_parts, _tensor)


def _check_same(fresh: nn.Module, model: nn.Module, path: object) -> None:
    """Raise unless `model` computes what the file's model does, up to the weights."""
    way_out = "call load(path) to build the model that is in the file"
    if type(fresh) is not type(model):
        raise ValueError(
            f"{path} holds a {type(fresh).__name__}, not a {class_name(model)}; {way_out}"
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
