"""`parameter_groups`: what has rates and decays of its own, in `fit` and in any loop of torch."""

from __future__ import annotations

from collections import Counter
from typing import Any, TypeAlias

from torch import Tensor, nn

from .._core import checks as check
from .._core.modules import linear_map
from ..networks import GatedRationalBlock, MessageBlock
from ..units import RationalUnit

_LISTS = (nn.ModuleList, nn.Sequential)
# Blocks of one tower, by their names from below, by the name of the list that they are in.
Towers: TypeAlias = "dict[str, list[str]]"


def parameter_groups(
    model: nn.Module,
    learning_rate: float,
    weight_decay: float = 0.0,
    *,
    numerator_rate: float = 10.0,
    denominator_rate: float = 10.0,
    gate_rate: float = 10.0,
    numerator_decay: float = 0.0,
    denominator_decay: float = 0.0,
    vector_decay: float = 0.0,
    layer_decay: float = 1.0,
    matrices: bool = False,
) -> list[dict[str, Any]]:
    """Return parameter groups with separate rates for numerators, denominators and gates.

    `fit` trains with these groups, and any optimiser of torch takes them. Each has its `role`:
    `weight`; `vector`, which are biases, norms and whatever else has one axis or none; and of
    rational units `numerator`, `denominator` and `gate`, the gates of blocks included. Gates do
    not decay, vectors only if asked. Coefficients of units are of order one where weights are
    small, and learn ten times as fast; units need a `reach` then (those of `RANFFN` and
    `replace_activations_` have one).

    Args:
        model: any, with units or without.
        learning_rate: of the weights at the top.
        weight_decay: of the weights.
        numerator_rate: the numerators' rate, as a multiple.
        denominator_rate: the denominators' rate, as a multiple.
        gate_rate: the gates' rate, as a multiple.
        numerator_decay: weight decay of the numerators. `fit` takes `weight_decay` here, since
            they are what a RAN has for weights.
        denominator_decay: weight decay of the denominators, which the paper asks for.
        vector_decay: weight decay of the vectors. `fit` takes `weight_decay` here, as torch does.
        layer_decay: factor on the rates from each block to the one below, and once more for what
            comes before the first block; 1 for equal rates. Blocks are modules of one kind in a
            list, with units or without; those of stages are counted on, those of an encoder and a
            decoder apart.
        matrices: whether the weights of linear maps within blocks (of a model without blocks, but
            the last) are a role of their own, `matrix`: what `torch.optim.Muon` is for. Embeddings,
            heads, convolutions and all of the units are not among them.

    Example:
        >>> import torch
        >>> from rational_anova import replace_activations_
        >>> model = nn.Sequential(nn.Linear(8, 32), nn.GELU(), nn.Linear(32, 8))
        >>> _ = replace_activations_(model)
        >>> groups = parameter_groups(model, 1e-3, weight_decay=0.05)
        >>> [(group["role"], group["lr"]) for group in groups]
        [('weight', 0.001), ('vector', 0.001), ('numerator', 0.01), ('denominator', 0.01),
        ('gate', 0.01)]
        >>> optimizer = torch.optim.AdamW(groups)
    """
    rate = check.nonnegative(learning_rate, "learning_rate")
    factor = check.nonnegative(layer_decay, "layer_decay")
    rates = {
        "weight": (1.0, check.nonnegative(weight_decay, "weight_decay")),
        "matrix": (1.0, check.nonnegative(weight_decay, "weight_decay")),
        "vector": (1.0, check.nonnegative(vector_decay, "vector_decay")),
        "numerator": (
            check.nonnegative(numerator_rate, "numerator_rate"),
            check.nonnegative(numerator_decay, "numerator_decay"),
        ),
        "denominator": (
            check.nonnegative(denominator_rate, "denominator_rate"),
            check.nonnegative(denominator_decay, "denominator_decay"),
        ),
        "gate": (check.nonnegative(gate_rate, "gate_rate"), 0.0),
    }
    role_of, below = roles(model), depths(model) if factor != 1 else {}
    if matrices:
        role_of |= dict.fromkeys(_matrices(model), "matrix")
    if factor != 1 and not below:
        raise ValueError(
            f"layer_decay={layer_decay} cannot be done: {type(model).__name__} has no blocks in an "
            "nn.ModuleList or nn.Sequential; leave it at 1"
        )
    found: dict[tuple[str, int], list[Tensor]] = {}
    for name, parameter in model.named_parameters():
        if parameter.requires_grad:
            depth = below.get(name, 0)
            found.setdefault((role_of[name], depth), []).append(parameter)
    order = {role: n for n, role in enumerate(rates)}
    return [
        {
            "params": found[role, depth],
            "lr": rate * rates[role][0] * factor**depth,
            "weight_decay": rates[role][1],
            "role": role,
            "depth": depth,
        }
        for role, depth in sorted(found, key=lambda key: (key[1], order[key[0]]))
    ]


def roles(model: nn.Module) -> dict[str, str]:
    """Return for each parameter by name what it is; see `parameter_groups`."""
    known: dict[int, str] = {}
    for part in model.modules():
        if isinstance(part, RationalUnit):
            known |= {id(part.numerator): "numerator", id(part.denominator): "denominator"}
        # Whatever other models call a gate is theirs.
        if isinstance(part, RationalUnit | MessageBlock | GatedRationalBlock):
            known[id(part.gate)] = "gate"
    return {
        name: known.get(id(p)) or ("weight" if p.dim() > 1 else "vector")
        for name, p in model.named_parameters()
    }


def _matrices(model: nn.Module) -> list[str]:
    """Names of the weights of linear maps within blocks; without blocks, of all but the last."""
    maps = [n for n, part in model.named_modules() if isinstance(part, nn.Linear)]
    blocks = [name for tower in _towers(model).values() for name in tower]
    inside = [name for name in maps if any(name.startswith(f"{block}.") for block in blocks)]
    chosen = inside if blocks else maps[:-1]
    owned = {name for name, _ in model.named_parameters()}  # a tied weight stands under one name
    return [f"{name}.weight" for name in chosen if f"{name}.weight" in owned]


def decays(model: nn.Module, groups: list[dict[str, Any]]) -> list[float]:
    """Return the decay of each trainable parameter, in the order of the model."""
    held = {id(p): float(group["weight_decay"]) for group in groups for p in group["params"]}
    return [held[id(p)] for p in model.parameters() if p.requires_grad]


def depths(model: nn.Module) -> dict[str, int]:
    """Return for each parameter by name how many blocks lie above it; nothing without blocks.

    What a model registers before the blocks is below the first of them, what it registers between
    or behind them is with the block before it.
    """
    towers = _towers(model)
    blocks = {name: (tower, n) for tower in towers for n, name in enumerate(towers[tower])}
    last: dict[str, int] = {}  # depth of the block that came last, for each tower
    found: dict[str, int] = {}
    waiting: list[str] = []
    for name, _ in model.named_parameters():
        parts = name.split(".")
        starts = (".".join(parts[:n]) for n in range(1, len(parts)))
        here = next((blocks[start] for start in starts if start in blocks), None)
        if here is not None:
            tower, n = here
            found |= dict.fromkeys(waiting, len(towers[tower]))
            waiting = []
            last[tower] = len(towers[tower]) - 1 - n
            found[name] = last[tower]
            continue
        nearest = max((_common(name, tower) for tower in towers), default=0)
        beside = [tower for tower in towers if _common(name, tower) == nearest]
        if all(tower in last for tower in beside):
            found[name] = last[beside[-1]] if beside else 0
        else:
            waiting.append(name)
    return found if towers else {}


def _common(name: str, tower: str) -> int:
    """How many parts two names have in common from their start."""
    count = 0
    for one, other in zip(name.split("."), tower.split("."), strict=False):
        if one != other:
            break
        count += 1
    return count


def _towers(model: nn.Module) -> Towers:
    """Find the blocks: modules of one kind in a list.

    Lists of stages (Swin's, ConvNeXt's) hold lists of blocks, and these are counted on. Lists
    within blocks (experts, heads) do not count.
    """
    lists = [part for part in model.modules() if isinstance(part, _LISTS)]
    alike = {kind for part in lists for kind in _alike(part)}
    towers: Towers = {}
    _walk(model, "", None, alike, towers)
    # Convolutions that read a signal for a transformer are what comes before its blocks.
    towers = {tower: b for tower, b in towers.items() if _mapping(model, b)} or towers
    if not towers:  # of one block each, perhaps
        for name, part in model.named_modules():
            inside = any(name.startswith(f"{tower}.") for tower in towers)
            if isinstance(part, nn.ModuleList) and _composite(part) and not inside:
                towers[name] = [f"{name}.{child}" for child in _composite(part)]
    return towers


def _mapping(model: nn.Module, blocks: list[str]) -> bool:
    parts = (part for name in blocks for part in model.get_submodule(name).modules())
    return any(linear_map(part) is not None for part in parts)


def _walk(module: nn.Module, path: str, tower: str | None, alike: set[Any], towers: Towers) -> None:
    start = f"{path}." if path else ""
    if isinstance(module, _LISTS):
        tower = path if tower is None else tower
        blocks = _composite(module)
        if _are_blocks(list(blocks.values()), alike):
            towers.setdefault(tower, []).extend(f"{start}{name}" for name in blocks)
            return
    for name, child in module.named_children():
        _walk(child, f"{start}{name}", tower, alike, towers)


def _are_blocks(modules: list[nn.Module], alike: set[Any]) -> bool:
    """Return whether the modules of a list are blocks, rather than stages or anything else."""
    kinds = Counter(_kind(module) for module in modules)
    if any(kind in alike for kind in kinds):
        return True
    inside = [part for module in modules for part in (module, *module.children())]
    stages = any(isinstance(part, _LISTS) and _alike(part) for part in inside)
    return not stages and any(count > 1 for count in kinds.values())


def _alike(stack: nn.Module) -> set[Any]:
    """Kinds of which a list has two with the same parameters, apart from those of units."""
    kinds: dict[Any, int] = Counter(
        (_kind(module), tuple(_shapes(module))) for module in _composite(stack).values()
    )
    return {key[0] for key, count in kinds.items() if count > 1}


def _shapes(module: nn.Module) -> list[tuple[str, tuple[int, ...]]]:
    units = {id(p) for u in module.modules() if isinstance(u, RationalUnit) for p in u.parameters()}
    return [(n, tuple(p.shape)) for n, p in module.named_parameters() if id(p) not in units]


def _kind(module: nn.Module) -> Any:
    """The class of a module; for sequences also what is in them."""
    if not isinstance(module, _LISTS):
        return type(module)
    return type(module), tuple(type(child) for child in module.children() if _shapes(child))


def _composite(stack: nn.Module) -> dict[str, nn.Module]:
    """The modules in a list that have parts with parameters, and are no units."""
    return {
        name: child
        for name, child in stack.named_children()
        if not isinstance(child, RationalUnit)
        and any(True for part in child.children() for _ in part.parameters())
    }
