"""Forms of units that are worth a kernel of their own before they are asked for."""

from __future__ import annotations

from torch import nn

from ..functional import Form
from ..kernels import Spec
from ._unit import RationalUnit

Wanted = tuple[Spec, int, bool]  # specification, heads, whether there is a gate


def common_forms() -> list[Wanted]:
    """Return what the networks and the swapped activations have unless something else is asked for.

    Example:
        >>> len(common_forms())
        8
    """
    made = [Form.make(1, (3, 2), kind, base, None)
            for kind in ("softplus", "square") for base in ("identity", "gelu")]  # fmt: skip
    made += [
        Form.make(1, (5, 4), "sos", "gelu", None),
        Form.make(1, (3, 2), "sos", "identity", None),
    ]
    made += [Form.make(2, (2, 2), kind, "zero", None) for kind in ("softplus", "square")]
    return [(form.spec, 1, True) for form in made]


def forms_of(module: nn.Module) -> list[Wanted]:
    """Return the forms of all units in a module, each once.

    Example:
        >>> import rational_anova as ra
        >>> len(forms_of(ra.DeepRAN(4, 2)))  # of nodes, of pairs
        2
    """
    found: dict[Wanted, None] = {}
    for each in module.modules():
        if isinstance(each, RationalUnit):
            heads = 1 if each.numerator.dim() == 2 else len(each.numerator)
            found[each.form.spec, heads, each.gate is not None] = None
    return list(found)
