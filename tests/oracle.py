"""An independent reference for rational units: mpmath, straight from the formulas of the paper.

Nothing of the package is used here, so that an error in its one definition cannot hide.
"""

import itertools

import mpmath as mp

PSI = {
    "softplus": lambda q: mp.log1p(mp.exp(q)),
    "squareplus": lambda q: (q + mp.sqrt(q * q + 1)) / 2,
    "square": lambda q: q * q,
    "abs": abs,
    "sos": lambda q: q * q,
    "polynomial": lambda q: q,
}
BASE = {
    "identity": lambda z: z,
    "mean": lambda z: z,
    "zero": lambda z: mp.mpf(0),
    "gelu": lambda z: z * (1 + mp.erf(z / mp.sqrt(2))) / 2,
    "gelu_tanh": lambda z: (
        z * (1 + mp.tanh(mp.sqrt(2 / mp.pi) * (z + mp.mpf("0.044715") * z**3))) / 2
    ),
    "quick_gelu": lambda z: z / (1 + mp.exp(-mp.mpf("1.702") * z)),
    "silu": lambda z: z / (1 + mp.exp(-z)),
    "relu": lambda z: max(z, mp.mpf(0)),
    "tanh": mp.tanh,
}
# Which monomials each square of `sos` holds, by (variables, degree); written out by hand.
SOS = {
    (1, 1): [[(1,)]],
    (1, 2): [[(0,), (1,)]],
    (1, 3): [[(0,), (1,)], [(0,)]],
    (1, 4): [[(0,), (1,), (2,)], [(1,)]],
    (1, 5): [[(0,), (1,), (2,)], [(0,), (1,)]],
    (2, 1): [[(1, 0)], [(0, 1)]],
    (2, 2): [[(0, 0), (1, 0), (0, 1)], [(0, 0), (0, 1)]],
    (2, 3): [
        [(0, 0), (1, 0), (0, 1)],
        [(0, 0), (0, 1)],
        [(0, 0)],
        [(0, 0), (1, 0), (0, 1)],
    ],
}


def monomials(variables, degree):
    """All powers by total degree, the first variable's power falling within a degree."""
    rows = []
    for total in range(degree + 1):
        for row in itertools.product(range(total, -1, -1), repeat=variables):
            if sum(row) == total:
                rows.append(row)
    return rows


def unit(inputs, numerator, denominator, gate, degrees, kind, base, eps, constant=False):
    """Return r at one point and the size of its terms.

    inputs: one number for each variable; numerator, denominator: (heads, k) lists; gate or None.
    """
    with mp.workdps(60):
        x = [mp.mpf(float(v)) for v in inputs]
        variables = len(x)

        def power(row):
            return mp.fprod(v**k for v, k in zip(x, row, strict=True))

        total, size = mp.mpf(0), mp.mpf(0)
        for top, bottom in zip(numerator, denominator, strict=True):
            terms = [
                mp.mpf(c) * power(row)
                for c, row in zip(top, monomials(variables, degrees[0]), strict=True)
            ]
            if kind == "sos":
                layout = SOS[variables, degrees[1]]
            else:
                layout = [monomials(variables, degrees[1])[0 if constant else 1 :]]
            d, d_size, left = 1 + mp.mpf(eps), 1 + mp.mpf(eps), list(bottom)
            for rows in layout:
                parts = [mp.mpf(c) * power(row) for c, row in zip(left, rows, strict=False)]
                left = left[len(rows) :]
                d += PSI[kind](mp.fsum(parts))
                d_size += PSI[kind](mp.fsum(map(abs, parts)))
            assert not left
            p = mp.fsum(terms)
            total += p / d
            # A relative error in d moves p/d by as much; its own terms may have cancelled.
            size += mp.fsum(map(abs, terms)) / abs(d) + abs(p / d) * d_size / abs(d)
        if gate is None:
            return total, size
        mean = mp.fsum(x) / variables
        b = BASE[base](mean)
        g = mp.mpf(float(gate))
        # The terms of gelu, z/2 and z erf(z/sqrt 2)/2 (or z tanh(u)/2), cancel where z is negative.
        terms = max(abs(b), abs(mean)) if base in ("gelu", "gelu_tanh") else abs(b)
        return b + g * (total - b), size * abs(g) + terms * (1 + abs(g))
