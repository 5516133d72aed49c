// Vectors of REAL and elementary functions on them, in plain C with the vector types that gcc and
// clang share: the compiler lowers them to whatever the processor has. Where the processor has an
// instruction that these types cannot name, it is named, with plain C beside it.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#if defined(__AVX__)
#include <immintrin.h>
#endif

#ifndef SINGLE
#define SINGLE 1
#endif
#if SINGLE
typedef float REAL;
typedef int32_t INT;
#define MANTISSA 23
#define BIAS 127
#define ROUNDER 12582912.f  // 1.5 * 2^23: adding it leaves the nearest integer in the low bits
#define LOG2E_LOW 0         // not worth an instruction: it matters where the exponential does not
#if defined(__AVX512F__)
#define EXP_LIMIT 110.f  // its exponential is zero
#else
#define EXP_LIMIT 87.f  // its exponential is about the least that is not subnormal
#endif
#define SQRT sqrtf
#else
typedef double REAL;
typedef int64_t INT;
#define MANTISSA 52
#define BIAS 1023
#define ROUNDER 6755399441055744.
#define LOG2E_LOW 2.0355273740931033e-17
#if defined(__AVX512F__)
#define EXP_LIMIT 750.
#else
#define EXP_LIMIT 708.
#endif
#define SQRT sqrt
#endif
#include "coefficients.h"

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define LANES ((int)(BYTES / sizeof(REAL)))
typedef REAL vec __attribute__((vector_size(BYTES)));
typedef INT ivec __attribute__((vector_size(BYTES)));

#define INLINE static inline __attribute__((always_inline))
#define COUNT(table) ((int)(sizeof(table) / sizeof(*(table))))

INLINE vec load(const REAL *from) {
    vec v;
    memcpy(&v, from, BYTES);
    return v;
}
INLINE void store(REAL *to, vec v) { memcpy(to, &v, BYTES); }
INLINE vec splat(REAL s) { return s - (vec){0}; }  // s - 0 is s, sign of zero included
// a < b ? yes : no; the lesser of a limit and v (v where v is NaN); the square root
#if defined(__AVX512F__) && SINGLE
INLINE vec if_less(vec a, vec b, vec yes, vec no) {
    return (vec)_mm512_mask_blend_ps(_mm512_cmp_ps_mask((__m512)a, (__m512)b, _CMP_LT_OQ),
                                     (__m512)no, (__m512)yes);
}
INLINE vec at_most(vec limit, vec v) { return (vec)_mm512_min_ps((__m512)limit, (__m512)v); }
INLINE vec root(vec v) { return (vec)_mm512_sqrt_ps((__m512)v); }
#elif defined(__AVX512F__)
INLINE vec if_less(vec a, vec b, vec yes, vec no) {
    return (vec)_mm512_mask_blend_pd(_mm512_cmp_pd_mask((__m512d)a, (__m512d)b, _CMP_LT_OQ),
                                     (__m512d)no, (__m512d)yes);
}
INLINE vec at_most(vec limit, vec v) { return (vec)_mm512_min_pd((__m512d)limit, (__m512d)v); }
INLINE vec root(vec v) { return (vec)_mm512_sqrt_pd((__m512d)v); }
#elif defined(__AVX__) && SINGLE
INLINE vec if_less(vec a, vec b, vec yes, vec no) {
    return (vec)_mm256_blendv_ps((__m256)no, (__m256)yes,
                                 _mm256_cmp_ps((__m256)a, (__m256)b, _CMP_LT_OQ));
}
INLINE vec at_most(vec limit, vec v) { return (vec)_mm256_min_ps((__m256)limit, (__m256)v); }
INLINE vec root(vec v) { return (vec)_mm256_sqrt_ps((__m256)v); }
#elif defined(__AVX__)
INLINE vec if_less(vec a, vec b, vec yes, vec no) {
    return (vec)_mm256_blendv_pd((__m256d)no, (__m256d)yes,
                                 _mm256_cmp_pd((__m256d)a, (__m256d)b, _CMP_LT_OQ));
}
INLINE vec at_most(vec limit, vec v) { return (vec)_mm256_min_pd((__m256d)limit, (__m256d)v); }
INLINE vec root(vec v) { return (vec)_mm256_sqrt_pd((__m256d)v); }
#else
INLINE vec if_less(vec a, vec b, vec yes, vec no) {
    ivec where = a < b;
    return (vec)(((ivec)yes & where) | ((ivec)no & ~where));
}
INLINE vec at_most(vec limit, vec v) { return if_less(limit, v, limit, v); }
INLINE vec root(vec v) {
    REAL a[LANES];
    memcpy(a, &v, BYTES);
    for (int l = 0; l < LANES; l++) a[l] = SQRT(a[l]);
    return load(a);
}
#endif
INLINE vec if_negative(vec v, vec yes, vec no) { return if_less(v, splat(0), yes, no); }
INLINE vec at_least_zero(vec v) { return if_negative(v, splat(0), v); }
INLINE vec absolute(vec v) { return (vec)((ivec)v & ~(ivec)splat((REAL)-0.0)); }
INLINE vec horner(const REAL *c, int count, vec x) {
    vec y = splat(c[count - 1]);
    for (int k = count - 2; k >= 0; k--) y = y * x + c[k];
    return y;
}
INLINE REAL sum(vec v) {  // pairwise, in an order of its own whatever the compiler does
    REAL a[LANES];
    memcpy(a, &v, BYTES);
    for (int half = LANES / 2; half; half /= 2)
        for (int l = 0; l < half; l++) a[l] += a[l + half];
    return a[0];
}

// exp(-t) for t >= 0; NaN for NaN
INLINE vec exp_minus(vec t) {
    const REAL log2e = (REAL)1.4426950408889634;
    vec held = at_most(splat((REAL)EXP_LIMIT), t), whole, part;
#if defined(__AVX512F__) && SINGLE
    whole = (vec)_mm512_roundscale_ps((__m512)(held * -log2e), _MM_FROUND_TO_NEAREST_INT);
#elif defined(__AVX512F__)
    whole = (vec)_mm512_roundscale_pd((__m512d)(held * -log2e), _MM_FROUND_TO_NEAREST_INT);
#else
    vec shifted = held * -log2e + (REAL)ROUNDER;
    whole = shifted - (REAL)ROUNDER;
#endif
    part = held * -log2e - whole;  // a fused product keeps the bits
    if (!SINGLE) part -= held * (REAL)LOG2E_LOW;
    vec power = horner(EXP2, COUNT(EXP2), part);
#if defined(__AVX512F__) && SINGLE
    return (vec)_mm512_scalef_ps((__m512)power, (__m512)whole);
#elif defined(__AVX512F__)
    return (vec)_mm512_scalef_pd((__m512d)power, (__m512d)whole);
#else
    ivec scale = (((ivec)shifted - (ivec)splat((REAL)ROUNDER)) + BIAS) << MANTISSA;
    // Below the normal numbers: zero. NaN is not less, and stays.
    return if_less(splat((REAL)EXP_LIMIT), t, splat(0), power * (vec)scale);
#endif
}
// log(1 + e) for 0 <= e <= 1
INLINE vec log1p_unit(vec e) { return e * horner(LOG1P, COUNT(LOG1P), e); }
// P(Z <= z) for a standard normal Z, and exp(-z^2/2)
INLINE vec normal(vec z, vec *bell) {
    vec y = absolute(z);
    *bell = exp_minus((REAL)0.5 * z * z);
    y = at_most(splat(40), y);
    vec share = 1 / (y + TAIL_MIDDLE);
    vec tail = *bell * (share * horner(TAIL, COUNT(TAIL), (y - TAIL_MIDDLE) * share));
    return if_negative(z, tail, 1 - tail);
}
INLINE vec sigmoid(vec z) {
    vec e = exp_minus(absolute(z));
    return if_negative(z, e, splat(1)) / (1 + e);
}
INLINE vec hyperbolic(vec z) {
    vec y = absolute(z), e = exp_minus(2 * y), square = y * y;
    vec near = y + y * square * horner(TANH, COUNT(TANH), square);
    vec value = if_less(y, splat((REAL)TANH_SWITCH), near, (1 - e) / (1 + e));
    return if_negative(z, -value, value);
}
