"""The rational units in Triton: read x once, write r once, keep nothing else.

A program works on a tile of samples x units, where the samples of a unit are the pairs of an outer
and an inner index of its rows. No program adds to what another one writes, so results do not
depend on the order in which programs run.

A polynomial is an integer of `_triton._code`, a constant of the compiler, which unrolls all loops
over it: in 8 bits for each monomial u^i v^j, from bit 72 i + 8 j on, it has the number of the
coefficient counted from one, or zero. Several polynomials q follow each other, 648 bits apart.
Integers, because not every version of Triton can hand tuples from one function to another.
"""
# These functions are Triton, which only looks like Python.
# mypy: ignore-errors

from __future__ import annotations

try:
    import triton.language as tl
    from triton import JITFunction, jit
except ImportError:  # the module can then be read, but nothing in it can run
    tl = None

    def jit(function):
        """Leave the function alone."""
        return function


def interpreted() -> bool:
    """Return whether kernels run in Triton's interpreter, which was settled at their import."""
    return not isinstance(forward_kernel, JITFunction)


@jit
def _row(coefficients, units, live, v, ROW: tl.constexpr):
    """Return a polynomial in v by Horner steps."""
    # They start from the leading coefficient: zero times infinity would be NaN.
    result = None
    for j in tl.static_range(8, -1, -1):
        if result is not None:
            result = result * v
        if (ROW >> 8 * j) & 255 > 0:
            number = ((ROW >> 8 * j) & 255) - 1
            term = tl.load(coefficients + number * units, mask=live, other=0.0)
            result = term if result is None else result + term
    return result


@jit
def _evaluate(coefficients, units, live, u, v, CODE: tl.constexpr, SLOPE: tl.constexpr):
    """Return a polynomial, or its derivative along u, by Horner steps in u around those in v."""
    result = None
    for i in tl.static_range(8, SLOPE - 1, -1):
        if result is not None:
            result = result * u
        if (CODE >> 72 * i) & ((1 << 72) - 1) > 0:
            term = _row(coefficients, units, live, v, (CODE >> 72 * i) & ((1 << 72) - 1))
            if SLOPE:
                term = term * i
            result = term if result is None else result + term
    return result


@jit
def _row_moments(weight, sums, units, live, v, ROW: tl.constexpr):
    """Store the sum over the tile of weight * monomial, for each monomial in v."""
    for j in tl.static_range(9):
        if ROW >> 8 * j > 0:
            if j > 0:
                weight = weight * v
            if (ROW >> 8 * j) & 255 > 0:
                number = ((ROW >> 8 * j) & 255) - 1
                tl.store(sums + number * units, tl.sum(weight, 0, keep_dims=True), mask=live)


@jit
def _moments(weight, sums, units, live, u, v, CODE: tl.constexpr):
    """Store the sum over the tile of weight * monomial, for each monomial."""
    for i in tl.static_range(9):
        if CODE >> 72 * i > 0:
            if i > 0:
                weight = weight * u
            if (CODE >> 72 * i) & ((1 << 72) - 1) > 0:
                _row_moments(weight, sums, units, live, v, (CODE >> 72 * i) & ((1 << 72) - 1))


@jit
def _sigmoid(z):
    e = tl.exp(-tl.abs(z))
    return tl.where(z < 0, e, 1.0) / (1.0 + e)


@jit
def _tanh(z):
    # (1 - e)/(1 + e) cancels near zero; there a convergent of the continued fraction of tanh,
    # which is exact to 1e-16 for |z| < 1/2.
    e = tl.exp(-2.0 * tl.abs(z))
    far = tl.where(z < 0, e - 1.0, 1.0 - e) / (1.0 + e)
    s = z * z
    above = ((36.0 * s + 6930.0) * s + 270270.0) * s + 2027025.0
    below = (((s + 630.0) * s + 51975.0) * s + 945945.0) * s + 2027025.0
    return tl.where(tl.abs(z) < 0.5, z * (above / below), far)


@jit
def _squareplus_and_root(q):
    # The greater of |q| and 1 is taken out of the root, where its square would overflow. For q < 0
    # the sum (q + root)/2 cancels; 1/(root - q)/2 is the same number without loss.
    size = tl.abs(q)
    large = tl.maximum(size, 1.0)
    small = tl.minimum(size, 1.0) / large
    root = large * tl.sqrt(1.0 + small * small)
    half = 0.5 * root + 0.5 * size
    return tl.where(q < 0, 0.25 / half, half), root


@jit
def _psi(q, KIND: tl.constexpr):
    if KIND == "softplus":
        # d >= 1, next to which the rounding of 1 + exp(-|q|) does not count.
        result = tl.maximum(q, 0.0) + tl.log(1.0 + tl.exp(-tl.abs(q)))
    elif KIND == "squareplus":
        result = _squareplus_and_root(q)[0]
    elif KIND == "abs":
        result = tl.where(q < 0, -q, q)
    elif KIND == "polynomial":
        result = q
    else:
        result = q * q
    return result


@jit
def _psi_slope(q, KIND: tl.constexpr):
    if KIND == "softplus":
        result = _sigmoid(q)
    elif KIND == "squareplus":
        value, root = _squareplus_and_root(q)
        result = value / root
    elif KIND == "abs":
        result = tl.where(q < 0, -1.0, 1.0).to(q.dtype)
    elif KIND == "polynomial":
        result = tl.zeros_like(q) + 1.0
    else:
        result = 2.0 * q
    return result


@jit
def _base(z, BASE: tl.constexpr):
    if BASE == "gelu":
        result = 0.5 * z * (1.0 + tl.erf(z * 0.7071067811865476))
    elif BASE == "silu":
        result = z * _sigmoid(z)
    elif BASE == "gelu_tanh":
        result = z * _sigmoid(1.5957691216057308 * z * (1.0 + 0.044715 * z * z))
    elif BASE == "quick_gelu":
        result = z * _sigmoid(1.702 * z)
    elif BASE == "relu":
        result = tl.where(z <= 0, 0.0, z)  # NaN stays NaN
    elif BASE == "tanh":
        result = _tanh(z)
    elif BASE == "zero":
        result = tl.zeros_like(z)
    else:
        result = z
    return result


@jit
def _base_slope(z, BASE: tl.constexpr):
    if BASE == "gelu":
        density = tl.exp(-0.5 * z * z) * 0.3989422804014327
        result = 0.5 * (1.0 + tl.erf(z * 0.7071067811865476)) + z * density
    elif BASE == "silu":
        s = _sigmoid(z)
        result = s * (1.0 + z * (1.0 - s))
    elif BASE == "gelu_tanh":
        s = _sigmoid(1.5957691216057308 * z * (1.0 + 0.044715 * z * z))
        inner = 1.5957691216057308 * z * (1.0 + 0.134145 * z * z)
        result = s * (1.0 + inner * (1.0 - s))
    elif BASE == "quick_gelu":
        s = _sigmoid(1.702 * z)
        result = s * (1.0 + 1.702 * z * (1.0 - s))
    elif BASE == "relu":
        result = tl.where(z > 0, 1.0, 0.0).to(z.dtype)
    elif BASE == "tanh":
        t = _tanh(z)
        result = 1.0 - t * t
    elif BASE == "zero":
        result = tl.zeros_like(z)
    else:
        result = tl.zeros_like(z) + 1.0
    return result


@jit
def _within(x, REACH: tl.constexpr):
    """Return the nearest point of the range."""
    return tl.where(x > REACH, REACH, tl.where(x < -REACH, -REACH, x))  # NaN stays NaN


@jit
def _base_within(x, far, REACH: tl.constexpr, LOW: tl.constexpr, HIGH: tl.constexpr):
    """Return the base there, given that at x; at both ends of the range it is a number."""
    return tl.where(x > REACH, HIGH, tl.where(x < -REACH, LOW, far))


@jit
def _tile(samples, units, WIDE: tl.constexpr, ALONG: tl.constexpr, ACROSS: tl.constexpr):
    """Return the block of samples of a program, its samples, its units and what of it exists."""
    program = tl.program_id(0)
    if WIDE:
        program = program.to(tl.int64)  # offsets beyond 2^31
    across = tl.cdiv(units, ACROSS)
    block = program // across
    sample = block * ALONG + tl.arange(0, ALONG)[:, None]
    unit = program % across * ACROSS + tl.arange(0, ACROSS)[None, :]
    live = unit < units
    return block, sample, unit, live, (sample < samples) & live


@jit
def _inputs(rows, pairs, sample, unit, live, mask, units, inner, features, DTYPE: tl.constexpr):
    """Return the inputs of the units, the mean of them, and where their outputs belong."""
    target = (sample // inner * units + unit) * inner + sample % inner
    if pairs is None:
        u = tl.load(rows + target, mask=mask, other=0.0).to(DTYPE)
        v = u
        mean = u
    else:
        first = tl.load(pairs + unit, mask=live, other=0)
        second = tl.load(pairs + units + unit, mask=live, other=0)
        u = tl.load(rows + sample * features + first, mask=mask, other=0.0).to(DTYPE)
        v = tl.load(rows + sample * features + second, mask=mask, other=0.0).to(DTYPE)
        mean = (u + v) * 0.5
    return u, v, mean, target


@jit
def _denominator(below, units, live, u, v, Q: tl.constexpr, KIND: tl.constexpr, EPS: tl.constexpr):
    d = tl.zeros_like(u) + (1.0 + EPS)
    for k in tl.static_range(8):
        if Q >> 648 * k > 0:
            q = _evaluate(below, units, live, u, v, (Q >> 648 * k) & ((1 << 648) - 1), 0)
            d += _psi(q, KIND)
    return d


@jit
def _share(
    weight, coefficients, sums, units, live, u, v, CODE: tl.constexpr, SLOPE: tl.constexpr
):  # fmt: skip
    """Return what a polynomial adds to the gradient of u, and store its moments if asked for."""
    if sums is not None:
        _moments(weight, sums, units, live, u, v, CODE)
    result = tl.zeros_like(u)
    if SLOPE and CODE >> 72 > 0:
        result += weight * _evaluate(coefficients, units, live, u, v, CODE, 1)
    return result


@jit
def _head(
    grad, above, below, tops, bottoms, units, live, mask, u, v,
    P: tl.constexpr, Q: tl.constexpr, KIND: tl.constexpr, EPS: tl.constexpr, SLOPE: tl.constexpr,
):  # fmt: skip
    """Return p/d of one head and, if SLOPE is 1, its share in the gradient of u.

    The sums for the gradients of its coefficients are stored where `tops` and `bottoms` point, if
    those are given. Nothing larger than p, d and their ratio is formed.
    """
    d = _denominator(below, units, live, u, v, Q, KIND, EPS)
    ratio = _evaluate(above, units, live, u, v, P, 0) / d
    weight = tl.where(mask, grad / d, 0.0)
    slope = _share(weight, above, tops, units, live, u, v, P, SLOPE)
    for k in tl.static_range(8):
        if Q >> 648 * k > 0:
            q = _evaluate(below, units, live, u, v, (Q >> 648 * k) & ((1 << 648) - 1), 0)
            weight = tl.where(mask, -grad * ratio * (_psi_slope(q, KIND) / d), 0.0)
            slope += _share(
                weight, below, bottoms, units, live, u, v,
                (Q >> 648 * k) & ((1 << 648) - 1), SLOPE,
            )  # fmt: skip
    return ratio, slope


@jit
def forward_kernel(
    rows, result, numerator, denominator, gate, pairs, samples, units, inner, features,
    P: tl.constexpr, Q: tl.constexpr, KIND: tl.constexpr, BASE: tl.constexpr, EPS: tl.constexpr,
    REACH: tl.constexpr, LOW: tl.constexpr, HIGH: tl.constexpr,
    TOPS: tl.constexpr, BOTTOMS: tl.constexpr, HEADS: tl.constexpr,
    WIDE: tl.constexpr, ALONG: tl.constexpr, ACROSS: tl.constexpr,
):  # fmt: skip
    """Write r."""
    _block, sample, unit, live, mask = _tile(samples, units, WIDE, ALONG, ACROSS)
    u, v, mean, target = _inputs(
        rows, pairs, sample, unit, live, mask, units, inner, features, numerator.dtype.element_ty
    )
    x = u
    if REACH > 0:
        u = _within(u, REACH)
        v = u
    ratio = tl.zeros_like(u)
    for head in range(HEADS):
        above = numerator + head * TOPS * units + unit
        below = denominator + head * BOTTOMS * units + unit
        d = _denominator(below, units, live, u, v, Q, KIND, EPS)
        ratio += _evaluate(above, units, live, u, v, P, 0) / d
    if REACH > 0 and BASE != "zero":
        far = _base(x, BASE)
        ratio += far - _base_within(x, far, REACH, LOW, HIGH)
    if gate is not None:
        weight = tl.load(gate + unit, mask=live, other=0.0)
        if BASE == "zero":
            ratio = weight * ratio
        else:
            # The base exactly at gate 0 and the ratio exactly at gate 1, as torch.lerp has it.
            base = _base(mean, BASE)
            far = ratio - base
            ratio = tl.where(weight < 0.5, base + weight * far, ratio - far * (1.0 - weight))
    tl.store(result + target, ratio.to(result.dtype.element_ty), mask=mask)


@jit
def backward_kernel(
    rows, grads, d_rows, sums, numerator, denominator, gate, pairs,
    samples, units, inner, features,
    P: tl.constexpr, Q: tl.constexpr, KIND: tl.constexpr, BASE: tl.constexpr, EPS: tl.constexpr,
    REACH: tl.constexpr, LOW: tl.constexpr, HIGH: tl.constexpr,
    TOPS: tl.constexpr, BOTTOMS: tl.constexpr, HEADS: tl.constexpr,
    WIDE: tl.constexpr, ALONG: tl.constexpr, ACROSS: tl.constexpr,
):  # fmt: skip
    """Write the sums of each tile and, for units of one input, its gradient if `d_rows` is given.

    `sums` is (blocks, HEADS * TOPS + HEADS * BOTTOMS + gate, units).
    """
    block, sample, unit, live, mask = _tile(samples, units, WIDE, ALONG, ACROSS)
    DTYPE: tl.constexpr = numerator.dtype.element_ty
    u, v, mean, target = _inputs(
        rows, pairs, sample, unit, live, mask, units, inner, features, DTYPE
    )
    x = u
    if REACH > 0:
        u = _within(u, REACH)
        v = u
    grad = tl.load(grads + target, mask=mask, other=0.0).to(DTYPE)
    SLOPE: tl.constexpr = 0 if d_rows is None else 1
    sums += block * (HEADS * (TOPS + BOTTOMS) + (gate is not None)) * units + unit
    through = grad
    if gate is not None:
        weight = tl.load(gate + unit, mask=live, other=0.0)
        through = grad * weight
    total = tl.zeros_like(u)
    slope = tl.zeros_like(u)
    for head in range(HEADS):
        ratio, part = _head(
            through,
            numerator + head * TOPS * units + unit,
            denominator + head * BOTTOMS * units + unit,
            sums + head * TOPS * units,
            sums + (HEADS * TOPS + head * BOTTOMS) * units,
            units, live, mask, u, v, P, Q, KIND, EPS, SLOPE,
        )  # fmt: skip
        total += ratio
        slope += part
    if gate is not None:
        near = _base(mean, BASE)
        if REACH > 0 and BASE != "zero":
            near = _base_within(x, near, REACH, LOW, HIGH)
        beyond = tl.where(mask, grad * (total - near), 0.0)
        last = sums + HEADS * (TOPS + BOTTOMS) * units
        tl.store(last, tl.sum(beyond, 0, keep_dims=True), mask=live)
    if d_rows is not None:
        if REACH > 0:
            slope = tl.where(tl.abs(x) > REACH, through * _base_slope(x, BASE), slope)
        if gate is not None and BASE != "zero":
            slope += grad * (1.0 - weight) * _base_slope(mean, BASE)
        tl.store(d_rows + target, slope.to(d_rows.dtype.element_ty), mask=mask)


@jit
def pairs_kernel(
    rows, grads, d_rows, numerator, denominator, gate, pairs, order, starts,
    samples, units, features,
    P: tl.constexpr, Q: tl.constexpr, P_SWAPPED: tl.constexpr, Q_SWAPPED: tl.constexpr,
    KIND: tl.constexpr, BASE: tl.constexpr, EPS: tl.constexpr,
    REACH: tl.constexpr, LOW: tl.constexpr, HIGH: tl.constexpr,
    TOPS: tl.constexpr, BOTTOMS: tl.constexpr, HEADS: tl.constexpr,
    WIDE: tl.constexpr, ALONG: tl.constexpr, ACROSS: tl.constexpr,
):  # fmt: skip
    """Write the gradient of the inputs of pairs, on tiles of samples x features.

    The units in which a feature is the first input are order[0, starts[0, f] : starts[0, f + 1]],
    and likewise for the second; each tile walks these lists, so nothing has to be scattered.
    The input to differentiate by always is the outer one: the second list takes polynomials in
    which u and v have changed places.
    """
    _block, sample, feature, live, mask = _tile(samples, features, WIDE, ALONG, ACROSS)
    DTYPE: tl.constexpr = numerator.dtype.element_ty
    own = tl.load(rows + sample * features + feature, mask=mask, other=0.0).to(DTYPE)
    slope = tl.zeros_like(own)
    for axis in tl.static_range(2):
        first = tl.load(starts + axis * (features + 1) + feature, mask=live, other=0)
        end = tl.load(starts + axis * (features + 1) + feature + 1, mask=live, other=0)
        for step in range(tl.max(end - first)):
            valid = first + step < end
            unit = tl.load(order + axis * units + first + step, mask=valid, other=0)
            partner = tl.load(pairs + (1 - axis) * units + unit, mask=valid, other=0)
            here = mask & valid
            other = tl.load(rows + sample * features + partner, mask=here, other=0.0).to(DTYPE)
            grad = tl.load(grads + sample * units + unit, mask=here, other=0.0).to(DTYPE)
            through = grad
            part = tl.zeros_like(own)
            if gate is not None:
                weight = tl.load(gate + unit, mask=valid, other=0.0)
                through = grad * weight
                if BASE != "zero":
                    part = 0.5 * (1.0 - weight) * grad * _base_slope((own + other) * 0.5, BASE)
            for head in range(HEADS):
                above = numerator + head * TOPS * units + unit
                below = denominator + head * BOTTOMS * units + unit
                _ratio, more = _head(
                    through, above, below, None, None, units, valid, here, own, other,
                    P_SWAPPED if axis else P, Q_SWAPPED if axis else Q, KIND, EPS, 1,
                )  # fmt: skip
                part += more
            slope += tl.where(here, part, 0.0)
    tl.store(d_rows + sample * features + feature, slope.to(d_rows.dtype.element_ty), mask=mask)
