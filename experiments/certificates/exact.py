"""Units evaluated with fifty digits, from the exact values of their weights."""

from __future__ import annotations

from typing import Any

import mpmath as mp
import torch

_DIGITS = 50


def _sigmoid(q: Any) -> Any:
    return 1 / (1 + mp.exp(-q))


def _root(q: Any) -> Any:
    return mp.sqrt(q * q + 1)


def _cubic(z: Any) -> Any:
    """Return tanh's argument in the approximation of GELU."""
    return mp.sqrt(2 / mp.pi) * (z + mp.mpf("0.044715") * z**3)


def _tanh_slope(z: Any) -> Any:
    inner = mp.sqrt(2 / mp.pi) * (1 + 3 * mp.mpf("0.044715") * z * z)
    return (1 + mp.tanh(_cubic(z))) / 2 + z / 2 * mp.sech(_cubic(z)) ** 2 * inner


def _steep(z: Any) -> Any:
    return mp.mpf(1702) / 1000 * z  # CLIP's GELU


def _quick_slope(z: Any) -> Any:
    s = _sigmoid(_steep(z))
    return s + _steep(z) * s * (1 - s)


# value and slope; at a kink, the slope to the right
PSI = {
    "softplus": (lambda q: mp.log1p(mp.exp(q)), _sigmoid),
    "squareplus": (lambda q: (q + _root(q)) / 2, lambda q: (1 + q / _root(q)) / 2),
    "square": (lambda q: q * q, lambda q: 2 * q),
    "sos": (lambda q: q * q, lambda q: 2 * q),
    "abs": (abs, lambda q: 1 if q >= 0 else -1),
    "polynomial": (lambda q: q, lambda q: 1),
}
BASE = {
    "identity": (lambda z: z, lambda z: 1),
    "mean": (lambda z: z, lambda z: 1),
    "zero": (lambda z: 0, lambda z: 0),
    "gelu": (lambda z: z * mp.ncdf(z), lambda z: mp.ncdf(z) + z * mp.npdf(z)),
    "gelu_tanh": (lambda z: z / 2 * (1 + mp.tanh(_cubic(z))), _tanh_slope),
    "quick_gelu": (lambda z: z * _sigmoid(_steep(z)), _quick_slope),
    "silu": (lambda z: z * _sigmoid(z), lambda z: _sigmoid(z) * (1 + z * _sigmoid(-z))),
    "relu": (lambda z: max(z, 0), lambda z: 1 if z > 0 else 0),
    "tanh": (mp.tanh, lambda z: mp.sech(z) ** 2),
}


class Exact:
    """One unit of a module; `at` gives its value, its slopes and its least denominator."""

    def __init__(self, module: Any, n: int) -> None:
        self.kind, self.base, self.eps = module.kind, module.form.base.name, module.form.eps
        self.top, self.bottom = (_heads(rows, n) for rows in (module.numerator, module.denominator))
        self.gate = None if module.gate is None else float(module.gate.detach()[n])
        self.powers = module.form.numerator
        self.layout = module.form.denominator

    def at(self, x: tuple[float, ...]) -> tuple[Any, list[Any], Any]:
        """Return value, slopes and the least denominator."""
        with mp.workdps(_DIGITS):
            point = [mp.mpf(v) for v in x]
            ratio, slopes = mp.mpf(0), [mp.mpf(0)] * len(x)
            least = mp.inf
            for top, bottom in zip(self.top, self.bottom, strict=True):
                p, dp = _polynomial(self.powers, top, point)
                d, dd = self._denominator(bottom, point)
                least = min(least, d)
                ratio += p / d
                slopes = [s + (a - p / d * b) / d for s, a, b in zip(slopes, dp, dd, strict=True)]
            if self.gate is not None:
                value, slope = BASE[self.base]
                z, gate = sum(point) / len(point), mp.mpf(self.gate)
                ratio = (1 - gate) * value(z) + gate * ratio
                slopes = [(1 - gate) * slope(z) / len(point) + gate * s for s in slopes]
            return ratio, slopes, least

    def _denominator(self, rows: list[float], x: list[Any]) -> tuple[Any, list[Any]]:
        value, slope = PSI[self.kind]
        d, slopes, done = 1 + mp.mpf(self.eps), [mp.mpf(0)] * len(x), 0
        for powers in self.layout:
            q, dq = _polynomial(powers, rows[done : done + len(powers)], x)
            done += len(powers)
            d += value(q)
            slopes = [s + slope(q) * b for s, b in zip(slopes, dq, strict=True)]
        return d, slopes


def _heads(rows: torch.Tensor, n: int) -> list[list[float]]:
    table = rows.detach().double()
    return (table if table.dim() == 3 else table[None])[..., n].tolist()


def _polynomial(powers: Any, rows: list[float], x: list[Any]) -> tuple[Any, list[Any]]:
    value, slopes = mp.mpf(0), [mp.mpf(0)] * len(x)
    for power, row in zip(powers, rows, strict=True):
        value += row * mp.fprod(v**k for v, k in zip(x, power, strict=True))
        for n, k in enumerate(power):
            if k:
                less = [e - (i == n) for i, e in enumerate(power)]
                slopes[n] += row * k * mp.fprod(v**e for v, e in zip(x, less, strict=True))
    return value, slopes
