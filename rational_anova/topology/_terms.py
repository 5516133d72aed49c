"""The terms of a network as a value: stored, compared, copied, written and read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .._core.checks import integer
from ._pairs import Index, Indices, Pairs, normalise_mains, normalise_pairs, read_pairs

if TYPE_CHECKING:
    from typing_extensions import Self


@dataclass(frozen=True, init=False, eq=False, repr=False)
class Terms:
    """Abstract: what a `Topology` holds, apart from the ways to choose it."""

    features: int
    mains: tuple[int, ...]  # sorted
    index: Index  # (size, 2), i < j in each row, read-only: torch.tensor(index) copies it

    def __init__(self, features: int, pairs: Pairs = (), mains: Indices | None = None) -> None:
        d = integer(features, "features", 1)
        index = normalise_pairs(read_pairs(pairs), d)
        index.setflags(write=False)
        vars(self).update(features=d, mains=normalise_mains(mains, d), index=index)

    @property
    def pairs(self) -> tuple[tuple[int, int], ...]:
        """S as tuples of ints, made anew at each call; `index` is the quick form."""
        return tuple((i, j) for i, j in self.index.tolist())

    @property
    def size(self) -> int:
        """|S|, the number of pairs; there is no `len`, so that no pairs does not mean false."""
        return len(self.index)

    num_pairs = size

    @property
    def num_mains(self) -> int:
        """The number of main terms."""
        return len(self.mains)

    def with_mains(self, mains: Indices | None) -> Self:
        """The same pairs with other main terms.

        Args:
            mains: the features with a main term; all of them when None.

        >>> from rational_anova.topology import Topology
        >>> Topology.all(3).with_mains([1])
        Topology(features=3, mains=1, pairs=3)
        """
        return type(self)(self.features, self.index, mains)

    def with_pairs(self, pairs: Pairs) -> Self:
        """The same main terms with other pairs.

        Args:
            pairs: the pairs (i, j) of S, kept in the order given.

        >>> from rational_anova.topology import Topology
        >>> Topology.all(3).with_pairs([(0, 2)])
        Topology(features=3, mains=3, pairs=1)
        """
        return type(self)(self.features, pairs, self.mains)

    def to_dict(self) -> dict[str, Any]:
        """Plain numbers and lists for JSON; mains is None when every feature has one.

        >>> from rational_anova.topology import Topology
        >>> Topology(2, [(0, 1)]).to_dict()
        {'features': 2, 'mains': None, 'pairs': [[0, 1]]}
        """
        mains = None if self.num_mains == self.features else list(self.mains)
        return {"features": self.features, "mains": mains, "pairs": self.index.tolist()}

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """The topology that `to_dict` wrote.

        Args:
            data: a mapping with the keys features, mains and pairs.

        >>> from rational_anova.topology import Topology
        >>> Topology.from_dict({"features": 3, "mains": None, "pairs": [[0, 1]]})
        Topology(features=3, mains=3, pairs=1)
        """
        if not isinstance(data, Mapping):
            raise TypeError(f"data must be a dict from to_dict(), got {data!r}")
        if set(data) != {"features", "mains", "pairs"}:
            raise ValueError(f"data must have the keys features, mains, pairs, got {list(data)}")
        return cls(data["features"], data["pairs"], data["mains"])

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Terms):
            return NotImplemented
        same = (self.features, self.mains) == (other.features, other.mains)
        return same and np.array_equal(self.index, other.index)

    def __hash__(self) -> int:
        return hash((self.features, self.mains, self.index.tobytes()))

    def __reduce__(self) -> tuple[type[Self], tuple[int, Index, tuple[int, ...]]]:
        # Through the constructor, because numpy copies and unpickles arrays as writable.
        return type(self), (self.features, self.index, self.mains)

    def __repr__(self) -> str:
        return f"Topology(features={self.features}, mains={self.num_mains}, pairs={self.size})"
