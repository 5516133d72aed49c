// One tile of one rational unit: TILE vectors of inputs at a time, so that every coefficient that
// is loaded serves several products. Coefficient j lies at c[j * stride]: as a vector (one unit a
// lane) where `wide`, else as one number for all lanes. `two`, `wide` and `slopes` are constants
// wherever these functions are inlined.
#pragma once
#include "vector.h"

#define TILE 4
#define EACH(r) _Pragma("GCC unroll 4") for (int r = 0; r < TILE; r++)
#define MOST_POLYNOMIALS 9  // p and the squares of `sos` at degree 8

enum { SOFTPLUS, SQUAREPLUS, SQUARE, ABS, PLAIN };
enum { ZERO, MEAN, GELU, SILU, RELU, TANH_BASE, GELU_TANH, QUICK_GELU };

// What the units compute. `table` has a Layout for each polynomial, p first.
// Where the coefficient of u^a v^b stands: rows[a][b], or -1 for none. Powers of u go to `top`, and
// those of v that go with u^a to count[a] - 1. Units of one variable have v alone.
#define WIDTH 9
typedef struct {
    int32_t top, count[WIDTH], rows[WIDTH][WIDTH];
} Layout;

typedef struct {
    int64_t heads, above, below;  // heads, and rows of coefficients of each: of p, of all q
    int64_t polynomials;          // p and each q
    int64_t kind, base, gated, held;
    double shift;             // 1 + eps
    double reach, low, high;  // where `held`: end of the range, values of the base at both ends
    const Layout *table;
} Spec;

// Built with -DFORM=heads,above,below,polynomials,kind,base,gated,held and -DTABLE=... the library
// serves that form alone, and the compiler unrolls every loop over powers.
#ifdef FORM
static const Layout KNOWN_TABLE[] = {TABLE};
#define POWERS _Pragma("GCC unroll 9")
INLINE Spec known(const Spec *s) {
    return (Spec){FORM, s->shift, s->reach, s->low, s->high, KNOWN_TABLE};
}
#else
#define VARIABLES 0  // one or two
#define POWERS
INLINE Spec known(const Spec *s) { return *s; }
#endif

typedef struct {
    vec at[TILE];
} tile;

INLINE vec coefficient(const REAL *c, int64_t stride, int32_t row, const int wide) {
    if (row < 0) return splat(0);
    return wide ? load(c + row * stride) : splat(c[row * stride]);
}

// Sum of coefficients times v^b, and its slope; both begin with a coefficient, not with zero, so
// that infinite inputs give what the formula gives.
INLINE void inner_sum(const int32_t *rows, int count, const REAL *c, int64_t stride, const int wide,
                      const int slopes, const tile *v, tile *value, tile *slope) {
    vec k = coefficient(c, stride, rows[count - 1], wide);
    EACH (r) value->at[r] = k;
    if (count < 2) return;
    k = coefficient(c, stride, rows[count - 2], wide);
    EACH (r) {
        if (slopes) slope->at[r] = value->at[r];
        value->at[r] = value->at[r] * v->at[r] + k;
    }
    POWERS
    for (int b = count - 3; b >= 0; b--) {
        k = coefficient(c, stride, rows[b], wide);
        EACH (r) {
            if (slopes) slope->at[r] = slope->at[r] * v->at[r] + value->at[r];
            value->at[r] = value->at[r] * v->at[r] + k;
        }
    }
}

// A polynomial and its slopes along u and v.
INLINE void evaluate(const Layout *at, const REAL *c, int64_t stride, const int wide, const int two,
                     const int slopes, const tile *u, const tile *v, tile *value, tile *along_u,
                     tile *along_v) {
    if (slopes)
        EACH (r) along_u->at[r] = along_v->at[r] = splat(0);
    if (!two) {
        inner_sum(at->rows[0], at->count[0], c, stride, wide, slopes, v, value, along_v);
        return;
    }
    int sloped = 0;
    POWERS
    for (int a = at->top; a >= 0; a--) {
        int count = at->count[a];
        tile part, slope;
        EACH (r) part.at[r] = splat(0);
        if (count) inner_sum(at->rows[a], count, c, stride, wide, slopes, v, &part, &slope);
        if (a == at->top) {
            *value = part;
        } else {
            if (slopes)
                EACH (r)
                    along_u->at[r] =
                        a == at->top - 1 ? value->at[r] : along_u->at[r] * u->at[r] + value->at[r];
            EACH (r) value->at[r] = value->at[r] * u->at[r] + part.at[r];
        }
        if (slopes && sloped)
            EACH (r) along_v->at[r] *= u->at[r];
        if (slopes && count > 1) {
            EACH (r) along_v->at[r] = sloped ? along_v->at[r] + slope.at[r] : slope.at[r];
            sloped = 1;
        }
    }
}

// What becomes of the derivatives of a tile: added to sums, the first to be added, or kept as they
// are, each for itself: a Jacobian.
enum { ADD, FIRST, KEEP };

INLINE void collect(REAL *to, const tile *t, const int sign, const int mode) {
    if (mode == KEEP) {
        EACH (r) store(to + r * LANES, sign > 0 ? t->at[r] : -t->at[r]);
        return;
    }
    vec total = (t->at[0] + t->at[1]) + (t->at[2] + t->at[3]);
    vec before = mode == ADD ? load(to) : splat(0);
    store(to, sign > 0 ? before + total : before - total);
}

// Collect sign * weight * u^a v^b at sums[row * gap] for each monomial.
INLINE void add_moments(const Layout *at, const tile *weight, const int sign, const int mode,
                        const int two, const tile *u, const tile *v, REAL *sums, int64_t gap) {
    tile outer = *weight;
    POWERS
    for (int a = 0; a <= (two ? at->top : 0); a++) {
        tile inner = outer;
        POWERS
        for (int b = 0; b < at->count[a]; b++) {
            int32_t row = at->rows[a][b];
            if (b)
                EACH (r) inner.at[r] *= v->at[r];
            if (row >= 0) collect(sums + row * gap, &inner, sign, mode);
        }
        if (two && a < at->top)
            EACH (r) outer.at[r] *= u->at[r];
    }
}

// squareplus(q) = max(q, 0) + 1/(root + |q|)/2 with root = sqrt(q^2 + 1), a sum without loss; its
// slope is both = 1/(root (root + |q|))/2 for q < 0, else 1 - both. Beyond SURELY_LARGE q^2
// would overflow, and the fraction is zero.
#define SURELY_LARGE (SINGLE ? 1e18 : 1e150)

INLINE void add_psi(int64_t kind, const tile *q, tile *d) {
    switch (kind) {
    case SOFTPLUS:
        EACH (r) {
            vec s = q->at[r];
            d->at[r] += at_least_zero(s) + log1p_unit(exp_minus(absolute(s)));
        }
        break;
    case SQUAREPLUS:
        EACH (r) {
            vec s = q->at[r], size = at_most(splat((REAL)SURELY_LARGE), absolute(s));
            d->at[r] += at_least_zero(s) + (REAL)0.5 / (root(size * size + 1) + size);
        }
        break;
    case SQUARE:
        EACH (r) d->at[r] += q->at[r] * q->at[r];
        break;
    case ABS:
        EACH (r) d->at[r] += absolute(q->at[r]);
        break;
    default: EACH (r) d->at[r] += q->at[r];
    }
}

// psi itself, too, for kinds where slope and value share their work.
// `under` divides the slope of softplus, so that one division serves for it and for d.
INLINE void add_psi_with_slope(int64_t kind, const tile *q, tile *d, tile *slope, tile *under) {
    switch (kind) {
    case SOFTPLUS:
        EACH (r) {
            vec s = q->at[r], e = exp_minus(absolute(s));
            d->at[r] += at_least_zero(s) + log1p_unit(e);
            slope->at[r] = if_negative(s, e, splat(1));
            under->at[r] = 1 + e;
        }
        break;
    case SQUAREPLUS:
        EACH (r) {
            vec s = q->at[r], size = at_most(splat((REAL)SURELY_LARGE), absolute(s));
            vec h = root(size * size + 1), both = (REAL)0.5 / (h * (h + size));  // one division
            both = if_less(splat((REAL)SURELY_LARGE), absolute(s), splat(0), both);
            d->at[r] += at_least_zero(s) + both * h;
            slope->at[r] = if_negative(s, both, 1 - both);
        }
        break;
    case SQUARE:
        EACH (r) {
            d->at[r] += q->at[r] * q->at[r];
            slope->at[r] = q->at[r] + q->at[r];
        }
        break;
    case ABS:
        EACH (r) {
            d->at[r] += absolute(q->at[r]);
            slope->at[r] = if_negative(q->at[r], splat(-1), splat(1));
        }
        break;
    default:
        EACH (r) {
            d->at[r] += q->at[r];
            slope->at[r] = splat(1);
        }
    }
}

// Cases hold whole tiles, not the other way round: a switch inside the loop keeps it rolled up.
// GELU by a hyperbolic tangent is z (1 + tanh(u))/2 = z sigmoid(2 u).
INLINE vec twice_inner(vec z) {
    return (REAL)1.5957691216057308 * z * (1 + (REAL)0.044715 * z * z);
}

INLINE tile base_value(int64_t base, const tile *z) {
    tile b = *z;
    vec bell;
    switch (base) {
    case GELU:
        EACH (r) b.at[r] = z->at[r] * normal(z->at[r], &bell);
        break;
    case SILU:
        EACH (r) b.at[r] = z->at[r] * sigmoid(z->at[r]);
        break;
    case RELU:
        EACH (r) b.at[r] = at_least_zero(z->at[r]);
        break;
    case TANH_BASE:
        EACH (r) b.at[r] = hyperbolic(z->at[r]);
        break;
    case GELU_TANH:
        EACH (r) b.at[r] = z->at[r] * sigmoid(twice_inner(z->at[r]));
        break;
    case QUICK_GELU:
        EACH (r) b.at[r] = z->at[r] * sigmoid((REAL)1.702 * z->at[r]);
        break;
    }
    return b;
}

INLINE tile base_with_slope(int64_t base, const tile *z, tile *slope) {
    tile b = *z;
    switch (base) {
    case GELU:
        EACH (r) {
            vec bell, share = normal(z->at[r], &bell);
            slope->at[r] = share + z->at[r] * bell * (REAL)0.3989422804014327;
            b.at[r] = z->at[r] * share;
        }
        break;
    case SILU:
        EACH (r) {
            vec s = sigmoid(z->at[r]);
            slope->at[r] = s * (1 + z->at[r] * (1 - s));
            b.at[r] = z->at[r] * s;
        }
        break;
    case RELU:
        EACH (r) {
            slope->at[r] = if_less(splat(0), z->at[r], splat(1), splat(0));
            b.at[r] = at_least_zero(z->at[r]);
        }
        break;
    case TANH_BASE:
        EACH (r) {
            b.at[r] = hyperbolic(z->at[r]);
            slope->at[r] = 1 - b.at[r] * b.at[r];
        }
        break;
    case GELU_TANH:
        EACH (r) {
            vec s = sigmoid(twice_inner(z->at[r]));
            vec rise = (REAL)1.5957691216057308 * z->at[r];
            rise *= 1 + (REAL)0.134145 * z->at[r] * z->at[r];
            slope->at[r] = s * (1 + rise * (1 - s));
            b.at[r] = z->at[r] * s;
        }
        break;
    case QUICK_GELU:
        EACH (r) {
            vec s = sigmoid((REAL)1.702 * z->at[r]);
            slope->at[r] = s * (1 + (REAL)1.702 * z->at[r] * (1 - s));
            b.at[r] = z->at[r] * s;
        }
        break;
    default: EACH (r) slope->at[r] = splat(1);
    }
    return b;
}

// b + gate (ratio - b): b exactly at gate 0, the ratio exactly at gate 1, as torch.lerp has it.
INLINE vec blend(vec b, vec ratio, vec gate) {
    vec step = ratio - b;
    return if_less(gate, splat((REAL)0.5), b + gate * step, ratio - step * (1 - gate));
}

INLINE tile mean_of(const int two, const tile *u, const tile *v) {
    tile z;
    EACH (r) z.at[r] = two ? (u->at[r] + v->at[r]) * (REAL)0.5 : v->at[r];
    return z;
}

// Where `held`, p/d is taken at the nearest point of the range and goes on as the base does.
INLINE tile within(const Spec *s, const tile *v) {
    tile t = *v;
    vec reach = splat((REAL)s->reach);
    if (s->held)
        EACH (r) t.at[r] = -at_most(reach, -at_most(reach, v->at[r]));  // NaN stays
    return t;
}
// The base at the nearest point of the range, and one of two numbers by which side x is of it.
INLINE vec base_within(const Spec *s, vec x, vec b) {
    vec end = if_negative(x, splat((REAL)s->low), splat((REAL)s->high));
    return if_less(splat((REAL)s->reach), absolute(x), end, b);
}
// Whether any of a tile is outside of the range: few are, so that their base costs next to nothing.
INLINE int any_beyond(const Spec *s, const tile *x) {
    vec count = splat(0);
    EACH (r) count += if_less(splat((REAL)s->reach), absolute(x->at[r]), splat(1), splat(0));
    return sum(count) > 0;
}

// r at a tile. `c` holds the coefficients of p of all heads, then of q of all heads, then the gate.
INLINE tile unit_value(const Spec *s, const REAL *c, int64_t stride, const int wide, const int two,
                       const tile *u, const tile *v) {
    tile ratio, p, q, d, z = mean_of(two, u, v), inner = within(s, v), b;
    const tile *x = v;
    v = &inner;
    const REAL *above = c, *below = c + s->heads * s->above * stride;
    for (int64_t head = 0; head < s->heads; head++) {
        evaluate(s->table, above, stride, wide, two, 0, u, v, &p, NULL, NULL);
        EACH (r) d.at[r] = splat((REAL)s->shift);
        POWERS
        for (int64_t n = 1; n < s->polynomials; n++) {
            evaluate(s->table + n, below, stride, wide, two, 0, u, v, &q, NULL, NULL);
            add_psi(s->kind, &q, &d);
        }
        EACH (r) ratio.at[r] = head ? ratio.at[r] + p.at[r] / d.at[r] : p.at[r] / d.at[r];
        above += s->above * stride;
        below += s->below * stride;
    }
    int beyond = s->base != ZERO && s->held && any_beyond(s, x);
    if (beyond || (s->base != ZERO && s->gated)) b = base_value(s->base, &z);
    if (beyond)
        EACH (r) ratio.at[r] += b.at[r] - base_within(s, x->at[r], b.at[r]);
    if (!s->gated) return ratio;
    vec gate = coefficient(below, stride, 0, wide);
    if (s->base == ZERO)
        EACH (r) ratio.at[r] *= gate;
    else
        EACH (r) ratio.at[r] = blend(b.at[r], ratio.at[r], gate);
    return ratio;
}

// Whether a polynomial depends on u, on v. Where it does not, a weight of NaN must not touch them.
INLINE int along_first(const Layout *at) { return at->top > 0; }
INLINE int along_second(const Layout *at) {
    int most = 0;
    POWERS
    for (int a = 0; a <= at->top; a++) most = at->count[a] > most ? at->count[a] : most;
    return most > 1;
}

// r and the derivatives of sum(g * r): along u and v as tiles (not touched where `inputs` is 0),
// along the coefficients collected at `sums`, which is laid out as `c` is, `gap` numbers a row.
INLINE void unit_slopes(const Spec *s, const REAL *c, int64_t stride, const int wide, const int two,
                        const tile *u, const tile *v, const tile *g, int inputs, tile *du, tile *dv,
                        tile *value, const int mode, REAL *sums, int64_t gap) {
    tile ratios, opened = *g, z = mean_of(two, u, v), inner = within(s, v);
    const tile *x = v;
    v = &inner;
    const REAL *above = c, *below = c + s->heads * s->above * stride;
    REAL *above_sums = sums, *below_sums = sums + s->heads * s->above * gap;
    vec gate = splat(0);
    if (s->gated) {
        gate = coefficient(c, stride, (int32_t)(s->heads * (s->above + s->below)), wide);
        EACH (r) opened.at[r] *= gate;
    }
    EACH (r) du->at[r] = dv->at[r] = ratios.at[r] = splat(0);
    for (int64_t head = 0; head < s->heads; head++) {
        tile p, pu, pv, d, q, under, slope[MOST_POLYNOMIALS], qu[MOST_POLYNOMIALS],
            qv[MOST_POLYNOMIALS];
        evaluate(s->table, above, stride, wide, two, 1, u, v, &p, &pu, &pv);
        EACH (r) d.at[r] = splat((REAL)s->shift);
        POWERS
        for (int64_t n = 1; n < s->polynomials; n++) {
            evaluate(s->table + n, below, stride, wide, two, 1, u, v, &q, &qu[n], &qv[n]);
            add_psi_with_slope(s->kind, &q, &d, &slope[n], &under);
        }
        if (s->kind == SOFTPLUS)
            EACH (r) {
                vec both = 1 / (d.at[r] * under.at[r]);  // finite: where d is large, under is 1
                // Where d is infinite, its slope is 1.
                slope[1].at[r] *= if_less(splat((REAL)1e30), d.at[r], splat(1), both * d.at[r]);
                d.at[r] = both * under.at[r];
            }
        else
            EACH (r) d.at[r] = 1 / d.at[r];
        tile weight;
        EACH (r) {
            vec ratio = p.at[r] * d.at[r];
            weight.at[r] = opened.at[r] * d.at[r];  // d loss / d p
            ratios.at[r] = head ? ratios.at[r] + ratio : ratio;
            p.at[r] = opened.at[r] * ratio;
        }
        if (inputs)
            EACH (r) {
                if (two) du->at[r] += weight.at[r] * pu.at[r];
                dv->at[r] += weight.at[r] * pv.at[r];
            }
        add_moments(s->table, &weight, 1, mode, two, u, v, above_sums, gap);
        POWERS
        for (int64_t n = 1; n < s->polynomials; n++) {
            EACH (r) weight.at[r] = p.at[r] * (slope[n].at[r] * d.at[r]);  // - d loss / d q
            if (inputs)
                EACH (r) {
                    if (two && along_first(s->table + n)) du->at[r] -= weight.at[r] * qu[n].at[r];
                    if (along_second(s->table + n)) dv->at[r] -= weight.at[r] * qv[n].at[r];
                }
            add_moments(s->table + n, &weight, -1, mode, two, u, v, below_sums, gap);
        }
        above += s->above * stride;
        below += s->below * stride;
        above_sums += s->above * gap;
        below_sums += s->below * gap;
    }
    *value = ratios;
    int beyond = s->held && any_beyond(s, x);
    if (!s->gated && !beyond) return;
    tile slope, b, near;
    EACH (r) slope.at[r] = b.at[r] = splat(0);
    if (s->base != ZERO) b = base_with_slope(s->base, &z, &slope);
    near = b;
    if (beyond)
        EACH (r) {
            if (s->base != ZERO) near.at[r] = base_within(s, x->at[r], b.at[r]);
            value->at[r] += b.at[r] - near.at[r];
            dv->at[r] = if_less(splat((REAL)s->reach), absolute(x->at[r]),
                                opened.at[r] * slope.at[r], dv->at[r]);
        }
    if (!s->gated) return;
    if (s->base == ZERO) {
        EACH (r) {
            value->at[r] *= gate;
            ratios.at[r] *= g->at[r];
        }
    } else {
        vec closed = (1 - gate) * (two ? (REAL)0.5 : (REAL)1);
        EACH (r) {
            vec along = g->at[r] * closed * slope.at[r];
            value->at[r] = blend(b.at[r], value->at[r], gate);
            ratios.at[r] = g->at[r] * (ratios.at[r] - near.at[r]);
            if (two) du->at[r] += along;
            dv->at[r] += along;
        }
    }
    collect(below_sums, &ratios, 1, mode);
}
