// Sums of effects of one or two inputs, heads p/(1 + u^2) and indicators, at rows of a table: for
// predictions. A few rows at a time, a function after the other, all in the cache. What a row gets
// does not depend on the rows beside it.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "vector.h"

#define HEIGHT 64  // rows at a time
enum { HEADS_OF, LEVELS_OF, CODES_OF, MISSING_OF };

// Functions of an input. `numbers` has, from `at` on: centres, inverse widths, what each function
// is where the input is missing; then numbers that count as missing; then those that stand for
// levels. Of codes it has the codes.
typedef struct {
    int64_t column, kind, count, odd, special, levels, at;
} Axis;
// Functions of one input (second is -1), or products of those of two. `numbers` has the numerators
// from `at` on, (outputs, size).
typedef struct {
    int64_t first, second, at;
} Piece;

static int64_t axis_size(const Axis *a) {
    if (a->kind == MISSING_OF) return 1;
    return a->count * (a->kind == HEADS_OF && a->odd ? 2 : 1);
}

// What heads see of an input, 0 in place of NaN; returns whether there is one, and where in `gap`.
static int coordinates(const Axis *a, const double *numbers, const double *x, double *seen,
                       unsigned char *gap) {
    const double *special = numbers + a->at + 2 * a->count + axis_size(a);
    const double *values = special + a->special;
    int any = 0;
    for (int r = 0; r < HEIGHT; r++) {
        double v = x[r];
        if (a->levels) {
            int64_t code = v >= 0 && v < (double)a->levels ? (int64_t)v : a->levels - 1;
            v = values[code];
        }
        int none = v != v;
        for (int64_t k = 0; k < a->special; k++) none |= v == special[k];
        gap[r] = (unsigned char)none;
        any |= none;
        seen[r] = none ? 0 : v;
    }
    return any;
}

static void functions_at(const Axis *a, const double *numbers, const double *x, REAL *out) {
    const double *own = numbers + a->at;
    if (a->kind == HEADS_OF) {
        double seen[HEIGHT];
        unsigned char gap[HEIGHT];
        int any = coordinates(a, numbers, x, seen, gap);
        const double *fill = own + 2 * a->count;
        for (int64_t k = 0; k < a->count; k++) {
            double centre = own[k], inverse = own[a->count + k];
            REAL *phi = out + k * HEIGHT, *more = out + (a->count + k) * HEIGHT;
            for (int r = 0; r < HEIGHT; r++) {
                REAL u = (REAL)((seen[r] - centre) * inverse);
                phi[r] = 1 / (1 + u * u);
            }
            if (a->odd)
                for (int r = 0; r < HEIGHT; r++)
                    more[r] = phi[r] * (REAL)((seen[r] - centre) * inverse);
        }
        for (int r = 0; any && r < HEIGHT; r++)
            for (int64_t k = 0; gap[r] && k < axis_size(a); k++)
                out[k * HEIGHT + r] = (REAL)fill[k];
        return;
    }
    for (int64_t k = 0; k < axis_size(a); k++)
        for (int r = 0; r < HEIGHT; r++) {
            double v = x[r];
            int is =
                a->kind == MISSING_OF ? v != v : v == (a->kind == CODES_OF ? own[k] : (double)k);
            out[k * HEIGHT + r] = (REAL)is;
        }
}

// Two heads share a division: a/d + b/e = (a e + b d)/(d e).
static void sum_of_heads(const Axis *a, const double *numbers, const double *n, const double *seen,
                         REAL *total) {
    const double *own = numbers + a->at;
    int64_t m = a->count, k = 0;
    for (; k + 1 < m; k += 2) {
        double c0 = own[k], c1 = own[k + 1], w0 = own[m + k], w1 = own[m + k + 1];
        REAL p0 = (REAL)n[k], p1 = (REAL)n[k + 1];
        REAL q0 = a->odd ? (REAL)n[m + k] : 0, q1 = a->odd ? (REAL)n[m + k + 1] : 0;
        for (int r = 0; r < HEIGHT; r++) {
            REAL u = (REAL)((seen[r] - c0) * w0), v = (REAL)((seen[r] - c1) * w1);
            REAL d = 1 + u * u, e = 1 + v * v;
            total[r] += ((p0 + q0 * u) * e + (p1 + q1 * v) * d) / (d * e);
        }
    }
    if (k < m) {
        double c = own[k], w = own[m + k];
        REAL p = (REAL)n[k], q = a->odd ? (REAL)n[m + k] : 0;
        for (int r = 0; r < HEIGHT; r++) {
            REAL u = (REAL)((seen[r] - c) * w);
            total[r] += (p + q * u) / (1 + u * u);
        }
    }
}

static void one_input(const Axis *a, const double *numbers, const double *n, int64_t outputs,
                      const double *x, double *sums) {
    int64_t size = axis_size(a);
    const double *own = numbers + a->at;
    double seen[HEIGHT];
    unsigned char gap[HEIGHT];
    int any = a->kind == HEADS_OF && coordinates(a, numbers, x, seen, gap);
    for (int64_t o = 0; o < outputs; o++, n += size) {
        REAL total[HEIGHT] = {0};
        if (a->kind == HEADS_OF) {
            sum_of_heads(a, numbers, n, seen, total);
            double filled = 0;
            for (int64_t k = 0; any && k < size; k++) filled += n[k] * own[2 * a->count + k];
            for (int r = 0; any && r < HEIGHT; r++)
                if (gap[r]) total[r] = (REAL)filled;
        } else if (a->kind == LEVELS_OF) {
            for (int r = 0; r < HEIGHT; r++)
                if (x[r] >= 0 && x[r] < (double)size) total[r] = (REAL)n[(int64_t)x[r]];
        } else {
            for (int64_t k = 0; k < size; k++)
                for (int r = 0; r < HEIGHT; r++)
                    if (a->kind == MISSING_OF ? x[r] != x[r] : x[r] == own[k])
                        total[r] += (REAL)n[k];
        }
        for (int r = 0; r < HEIGHT; r++) sums[o * HEIGHT + r] += total[r];
    }
}

static void two_inputs(int64_t first, int64_t second, const REAL *a, const REAL *b, const double *n,
                       int64_t outputs, double *sums) {
    for (int64_t o = 0; o < outputs; o++) {
        REAL total[HEIGHT] = {0};
        for (int64_t j = 0; j < first; j++, n += second) {
            REAL line[HEIGHT] = {0};
            for (int64_t k = 0; k < second; k++) {
                REAL p = (REAL)n[k];
                for (int r = 0; r < HEIGHT; r++) line[r] += p * b[k * HEIGHT + r];
            }
            for (int r = 0; r < HEIGHT; r++) total[r] += a[j * HEIGHT + r] * line[r];
        }
        for (int r = 0; r < HEIGHT; r++) sums[o * HEIGHT + r] += total[r];
    }
}

// shape: rows, inputs, pieces, outputs, size of the largest axis. x is (rows, inputs); `result`
// (rows, outputs) begins with the intercepts. Returns 1 where memory ran out.
int ran_effects(const int64_t *shape, const Axis *axes, const Piece *pieces, const double *numbers,
                const double *x, double *result) {
    int64_t rows = shape[0], inputs = shape[1], outputs = shape[3], most = shape[4];
    double *columns = aligned_alloc(64, (size_t)(inputs + outputs) * HEIGHT * sizeof(double));
    REAL *both = aligned_alloc(64, (size_t)(2 * most + 1) * HEIGHT * sizeof(double));
    if (columns == NULL || both == NULL) {
        free(columns);
        free(both);
        return 1;
    }
    double *sums = columns + inputs * HEIGHT;
    for (int64_t start = 0; start < rows; start += HEIGHT) {
        int64_t here = rows - start < HEIGHT ? rows - start : HEIGHT;
        for (int64_t r = 0; r < HEIGHT; r++)
            for (int64_t i = 0; i < inputs; i++)
                columns[i * HEIGHT + r] = r < here ? x[(start + r) * inputs + i] : 0;
        memset(sums, 0, (size_t)outputs * HEIGHT * sizeof(double));
        for (const Piece *p = pieces; p < pieces + shape[2]; p++) {
            const Axis *first = axes + p->first;
            const double *own = columns + first->column * HEIGHT;
            if (p->second < 0) {
                one_input(first, numbers, numbers + p->at, outputs, own, sums);
                continue;
            }
            const Axis *second = axes + p->second;
            REAL *b = both + axis_size(first) * HEIGHT;
            functions_at(first, numbers, own, both);
            functions_at(second, numbers, columns + second->column * HEIGHT, b);
            two_inputs(axis_size(first), axis_size(second), both, b, numbers + p->at, outputs,
                       sums);
        }
        for (int64_t r = 0; r < here; r++)
            for (int64_t o = 0; o < outputs; o++)
                result[(start + r) * outputs + o] += sums[o * HEIGHT + r];
    }
    free(columns);
    free(both);
    return 0;
}
