"""A user's file, for `make types`: what the public names take and return, as checkers see it."""

# ruff: noqa: F841

import numpy as np
import torch

import rational_anova as ra


def laws() -> None:
    """Laws."""
    S = np.linspace(0.1, 9, 60)
    law: ra.Law = ra.discover({"S": S}, 2.5 * S / (0.8 + S), target="v")
    predicted: np.ndarray = law.predict({"S": S})
    text: str = law.latex()
    claimed: bool = law.grade.claimed
    mine: ra.Law = ra.fit_law("a*S/(b + S)", {"S": S}, 2.5 * S / (0.8 + S), target="v")


def tables(S: np.ndarray) -> None:
    """Models of tables."""
    model = ra.RANRegressor(monotone={"x": 1})
    model = model.fit(S[:, None], S)
    values: np.ndarray = model.predict(S[:, None])


def networks() -> None:
    """Units and networks."""
    unit: torch.nn.Module = ra.Rational1d(8, degrees=(3, 2), base="gelu")
    net = ra.RAN(3, 1, topology=ra.Topology.random(3, size=1, seed=0))
    history: ra.History = ra.fit(net, (torch.rand(50, 3), torch.rand(50)), epochs=2)
    losses: list[float] = [record.loss for record in history.records]
    certificate: ra.Certificate = ra.certify(net, box=[(-1, 1)] * 3)
    bound: float = certificate.lipschitz
