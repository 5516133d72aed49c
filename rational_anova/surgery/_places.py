"""Where a model has the activations of its feed-forward layers, and which functions they are."""

from __future__ import annotations

import ast
import contextlib
import copy
import functools
import inspect
import itertools
import re
import textwrap
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from .._core.modules import Linear, linear_map
from ..functional import BASES
from ..networks import RANFFN, RANFFNPlus
from ..units import Rational1d, RationalUnit
from ._swap import SharedUnit

Shapes = dict[str, list[tuple[int, ...]]]


def shapes(holder: nn.Module, attributes: Iterable[str], features: int, dim: int) -> Shapes | None:
    """Return the shapes that each activation in a module is given, None if it cannot be called.

    Args:
        holder: the module.
        attributes: names of the activations in it.
        features: size of its input.
        dim: axis of the features where it is a layer of convolutions, else the last.
    """
    forms = [(2, features, 6, 6)] if dim == 1 else [(2, 5, features), (2, features, 6, 6)]
    for form in forms:
        seen: Shapes = {}
        with contextlib.suppress(Exception), contextlib.ExitStack() as stack:
            stack.enter_context(torch.random.fork_rng(devices=[]))
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            stack.enter_context(torch.no_grad())
            part = _without_memory(holder).train()  # torch's encoder layer has a short cut else
            for attribute in attributes:
                note = functools.partial(_note, seen.setdefault(attribute, []))
                stack.enter_context(listening(part, attribute, note))
            dtype = next((p.dtype for p in part.parameters() if p.is_floating_point()), None)
            part(torch.empty(form, device="meta", dtype=dtype))
            return seen
    return None


def _note(given: list[tuple[int, ...]], x: Tensor) -> None:
    given.append(tuple(x.shape))


@contextlib.contextmanager
def listening(holder: nn.Module, attribute: str, note: Callable[[Tensor], Any]) -> Iterator[None]:
    """Have `note` called with whatever an activation is called on."""
    activation = getattr(holder, attribute)
    if isinstance(activation, nn.Module):
        handle = activation.register_forward_pre_hook(
            lambda _, args, named: note([*args, *named.values()][0]), with_kwargs=True
        )
        try:
            yield
        finally:
            handle.remove()
        return

    def listener(x: Tensor, *args: Any, **kwargs: Any) -> Any:
        note(x)
        return activation(x, *args, **kwargs)

    vars(holder)[attribute] = listener
    try:
        yield
    finally:
        vars(holder)[attribute] = activation


def bare(module: nn.Module, memo: dict[int, Any] | None = None) -> nn.Module:
    """Return a copy of a module without its hooks, which may keep what they see."""
    copied = copy.deepcopy(module, memo)
    for part in copied.modules():
        part._forward_hooks.clear()
        part._forward_pre_hooks.clear()
    return copied


def _without_memory(module: nn.Module) -> nn.Module:
    memo: dict[int, Any] = {}
    for tensor in itertools.chain(module.parameters(), module.buffers()):
        empty: Tensor = torch.empty_like(tensor, device="meta")
        if isinstance(tensor, nn.Parameter):
            empty = nn.Parameter(empty, tensor.requires_grad)
        memo[id(tensor)] = empty
    return bare(module, memo)


Activation = Callable[[Tensor], Tensor]

_POINTS = 801
_REACH = 20.0
# Implementations of one function differ by rounded constants, below the precision of float32.
_CLOSE = 1e-7
_LINEAR = ("identity", "mean", "zero")


def values(activation: Activation) -> Tensor | None:
    """Return the activation on a grid in float64, or None where it is no function of one number.

    That it acts on each number alone is seen from a second order of the same numbers.
    """
    x = _grid()
    order = torch.arange(_POINTS - 1, -1, -1, device="cpu")
    try:
        with torch.no_grad(), torch.device("cpu"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function = settled(activation)
            # Copies: an activation may work in place.
            y, turned = function(x.clone()), function(x[order].unsqueeze(-1))
    except Exception:  # whatever a callable that is no activation may raise
        return None
    if not isinstance(y, Tensor) or y.shape != x.shape or not isinstance(turned, Tensor):
        return None
    if turned.shape != (_POINTS, 1) or not y.isfinite().all():
        return None
    return y if torch.allclose(turned[:, 0], y[order], rtol=1e-9, atol=1e-12) else None


def settled(activation: Activation) -> Activation:
    """Return an activation as it evaluates; a module's copy, which has its state to itself."""
    if not isinstance(activation, nn.Module):
        return activation
    forward: Activation = bare(activation).cpu().eval().forward
    return forward


def recognise(activation: Activation) -> str | None:
    """Return the base that an activation equals to the precision of float32, if there is one.

    Example:
        >>> recognise(nn.GELU()), recognise(nn.GELU(approximate="tanh")), recognise(nn.Mish())
        ('gelu', 'gelu_tanh', None)
    """
    y = values(activation)
    return None if y is None else _named(y)


def is_activation(activation: Any) -> bool:
    """Return whether something is a function of one number, not linear and without weights."""
    if isinstance(activation, nn.Module) and (
        any(True for _ in activation.parameters()) or any(True for _ in activation.children())
    ):
        return False
    y = values(activation)
    return y is not None and _named(y, _LINEAR) is None


def describe(activation: Any) -> str:
    """Return an activation as a report names it."""
    if isinstance(activation, nn.Module):
        return repr(activation)
    return str(getattr(activation, "__name__", None) or repr(activation))


def _named(y: Tensor, names: tuple[str, ...] | None = None) -> str | None:
    x = _grid()
    for name in names or tuple(name for name in BASES if name not in _LINEAR):
        if ((BASES[name].value(x) - y).abs() <= _CLOSE * (1 + x.abs())).all():
            return name
    return None


def _grid() -> Tensor:
    with torch.device("cpu"):  # whatever the default device is
        return torch.linspace(-_REACH, _REACH, _POINTS, dtype=torch.float64)


# Attributes that hold a plain function, such as BERT's `intermediate_act_fn`.
_NAME = re.compile(r"act|nonlin|gelu|relu|silu|swish|tanh", re.I)


@dataclass(frozen=True)
class Place:
    """An activation in a model; `channels` is None where its width has not been seen.

    `doubt` says why the linear maps beside it do not suffice to tell the width.
    """

    holder: nn.Module
    path: str
    attribute: str
    activation: Activation
    channels: int | None
    dim: int = -1
    weight: torch.Tensor | None = None
    doubt: str | None = None

    @property
    def name(self) -> str:
        """Its name in the model."""
        return f"{self.path}.{self.attribute}" if self.path else self.attribute

    @property
    def converted(self) -> bool:
        """Whether a rational unit is there already."""
        return _is_unit(self.activation)


def find(model: nn.Module) -> list[Place]:
    """Return every activation of a model; those outside feed-forward layers have no channels."""
    modules = dict(model.named_modules())
    return [
        place
        for path, holder in modules.items()
        # Some activations hold a function, which is theirs alone.
        if not isinstance(holder, RationalUnit | SharedUnit) and not is_activation(holder)
        for place in _places(modules, path, holder)
    ]


def _places(modules: dict[str, nn.Module], path: str, holder: nn.Module) -> Iterator[Place]:
    found = list(_activations(holder))
    if not found:
        return
    if isinstance(holder, nn.Sequential):
        yield from (_in_sequence(holder, path, *what) for what in found)
        return
    beside = _around(modules, path, holder)
    if beside is None:
        yield from (_place(holder, path, *what, None, None) for what in found)
        return
    channels, first = beside
    left = [attribute for attribute, old in found if not _is_unit(old)]
    seen = shapes(holder, left, first.inputs, first.dim) if left else None
    for attribute, activation in found:
        place = _place(holder, path, attribute, activation, channels, first)
        if not place.converted:
            sure = len(left) == 1 and first.outputs == channels
            place = _told(place, first, None if seen is None else seen[attribute], sure)
        yield place


def _place(
    holder: nn.Module,
    path: str,
    attribute: str,
    activation: Activation,
    channels: int | None,
    first: Linear | None,
) -> Place:
    if channels is None or first is None:
        return Place(holder, path, attribute, activation, None)
    return Place(holder, path, attribute, activation, channels, first.dim, first.weight)


def _told(place: Place, first: Linear, given: list[tuple[int, ...]] | None, sure: bool) -> Place:
    """A place with the width that its layer gave it, called alone.

    Other activations may stand in a layer, such as one behind its second map: these are none of
    the hidden channels, and have no width here.
    """
    if not given:  # the layer cannot be called alone, or does not call the activation then
        why = (
            f"{place.name} may be given {place.channels} channels or others: pass inputs= to see it"
        )
        return place if sure else replace(place, doubt=why)
    sizes = sorted({shape[first.dim] for shape in given})
    if len(sizes) > 1:
        why = f"{place.name} is given {sizes[0]} channels once and {sizes[1]} another time"
        return replace(place, doubt=why)
    if sizes[0] in (place.channels, first.outputs):
        return replace(place, channels=sizes[0])
    return Place(place.holder, place.path, place.attribute, place.activation, None)


def _is_unit(activation: Any) -> bool:
    return isinstance(activation, Rational1d | SharedUnit)


def _activations(holder: nn.Module) -> Iterator[tuple[str, Activation]]:
    for name, child in _children(holder).items():
        if _is_unit(child) or is_activation(child):
            yield name, child
    for name, value in vars(holder).items():
        plain = callable(value) and not isinstance(value, nn.Module) and not name.startswith("_")
        if plain and _NAME.search(name) and is_activation(value):
            yield name, value


def _in_sequence(holder: nn.Sequential, path: str, attribute: str, activation: Activation) -> Place:
    """The place of an activation in a sequence, with channels if it is between linear maps."""
    children = _children(holder)
    here = list(children).index(attribute)
    parts = list(children.values())
    before, after = _next_map(parts[:here][::-1]), _next_map(parts[here + 1 :])
    if before is None or after is None or after.inputs != before.outputs:
        return _place(holder, path, attribute, activation, None, None)
    place = _place(holder, path, attribute, activation, before.outputs, before)
    if place.converted:
        return place
    start = max(n for n in range(here) if linear_map(parts[n]) is not None)
    last = str(here - start)
    seen = shapes(nn.Sequential(*parts[start : here + 1]), [last], before.inputs, before.dim)
    return _told(place, before, None if seen is None else seen[last], sure=True)


def _next_map(modules: list[nn.Module]) -> Linear | None:
    """The first linear map, if no other matrix comes before it (norms and dropout may)."""
    for module in modules:
        found = linear_map(module)
        if found is not None or any(p.dim() > 1 for p in module.parameters()):
            return found
    return None


def _children(module: nn.Module) -> dict[str, nn.Module]:
    """The modules in another by name; one that stands there twice, twice."""
    return {name: child for name, child in module._modules.items() if child is not None}


def _around(
    modules: dict[str, nn.Module], path: str, holder: nn.Module
) -> tuple[int, Linear] | None:
    """Channels of the feed-forward layer that a module is, and its first linear map."""
    own = _linears(holder)
    if isinstance(holder, RANFFN | RANFFNPlus):  # the latter's second map reads pairs as well
        return own[0].outputs, own[0]
    pairs = [
        (back.inputs, first)
        for n, first in enumerate(own)
        for back in own[n + 1 :]
        # Gated layers may have both halves of their first map in one.
        if back.outputs == first.inputs and first.outputs in (back.inputs, 2 * back.inputs)
    ]
    if pairs:
        return max(pairs, key=lambda pair: pair[0])
    if len(own) != 1 or not path:
        return None
    parent = modules[path.rpartition(".")[0]]
    for sibling in parent.children():
        for back in [] if sibling is holder else _linears(sibling):
            if (back.inputs, back.outputs) == (own[0].outputs, own[0].inputs):
                return own[0].outputs, own[0]
    return None


def _linears(module: nn.Module) -> list[Linear]:
    return [found for child in _children(module).values() if (found := linear_map(child))]


_CALLED = {"gelu", "silu", "relu", "tanh", "elu", "selu", "leaky_relu", "mish", "hardswish"}


def function_calls(model: nn.Module) -> str:
    """Say which classes of a model call activations as functions, which nobody can replace."""
    found: dict[str, str] = {}
    for kind in {type(module) for module in model.modules()}:
        if kind.__module__.startswith("torch.") or issubclass(kind, RationalUnit):
            continue
        with contextlib.suppress(OSError, TypeError, SyntaxError):
            tree = ast.parse(textwrap.dedent(inspect.getsource(kind.forward)))
            calls = [n.func for n in ast.walk(tree) if isinstance(n, ast.Call)]
            names = [c for c in calls if isinstance(c, ast.Attribute) and c.attr in _CALLED]
            if names:
                found[kind.__name__] = ast.unparse(names[0])
    if not found:
        return ""
    told = ", ".join(f"{name}.forward calls {call}()" for name, call in sorted(found.items())[:3])
    return (
        f"; {told}, and function calls cannot be seen or replaced: make it a module, such as "
        "self.act = nn.GELU(), and call that"
    )
