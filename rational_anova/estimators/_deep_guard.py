"""What a model with a deep part cannot do, said clearly."""

from __future__ import annotations

from typing import Any


def has_deep_part(estimator: Any) -> bool:
    """Say whether networks add to the effects of a fitted estimator."""
    deep = getattr(estimator, "deep_", None)
    return deep is not None and bool(deep.weight_)


def effects_only(estimator: Any, what: str) -> None:
    """Raise an error where networks add to the effects, and `what` would leave them out."""
    if has_deep_part(estimator):
        raise ValueError(
            f"{what} needs a model that is the sum of its effects, and this one has networks "
            "beside them; fit with depth='shallow'"
        )
