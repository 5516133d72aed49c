// One unit a lane: many features, one unit each, coefficients loaded as vectors.
#include "job.h"

// Coefficients as (rows, padded columns); a column is one feature.
static REAL *pack_columns(const Job *job, int64_t columns, int64_t padded) {
    int64_t rows = coefficient_rows(job->spec);
    REAL *c = room(PACKED, rows * padded, sizeof(REAL));
    if (c == NULL) return NULL;
    for (int64_t row = 0; row < rows; row++) {
        const REAL *from = coefficient_row(job, row);
        for (int64_t k = 0; k < columns; k++)
            c[row * padded + k] = from[job->inner == 1 ? k : k / job->inner];
        for (int64_t k = columns; k < padded; k++) c[row * padded + k] = 0;
    }
    return c;
}

// A tile of TILE rows and LANES columns.
INLINE tile take(const REAL *from, int64_t gap) {
    tile t;
    EACH (r) t.at[r] = load(from + r * gap);
    return t;
}
INLINE void put(REAL *to, int64_t gap, const tile *t) {
    EACH (r) store(to + r * gap, t->at[r]);
}

// At the edge a tile is not all there: `here` rows and `wide` columns of it go by way of a copy.
typedef struct {
    REAL at[TILE * LANES];
} Copy;
static void copy_in(Copy *copy, const REAL *from, int64_t gap, int64_t here, int64_t wide) {
    memset(copy, 0, sizeof *copy);
    for (int64_t r = 0; r < here; r++)
        memcpy(copy->at + r * LANES, from + r * gap, (size_t)wide * sizeof(REAL));
}
static void copy_out(const Copy *copy, REAL *to, int64_t gap, int64_t here, int64_t wide) {
    for (int64_t r = 0; r < here; r++)
        memcpy(to + r * gap, copy->at + r * LANES, (size_t)wide * sizeof(REAL));
}

INLINE void quad_forward(const Spec *s, int64_t here, int64_t columns, int64_t padded,
                         const REAL *x, const REAL *c, REAL *out) {
    for (int64_t k = 0; k < columns; k += LANES) {
        int64_t wide = least(LANES, columns - k);
        int edge = here < TILE || wide < LANES;
        Copy in, back;
        if (edge) copy_in(&in, x + k, columns, here, wide);
        tile v = edge ? take(in.at, LANES) : take(x + k, columns);
        tile value = unit_value(s, c + k, padded, 1, 0, &v, &v);
        put(edge ? back.at : out + k, edge ? LANES : columns, &value);
        if (edge) copy_out(&back, out + k, columns, here, wide);
    }
}

INLINE void quad_backward(const Spec *s, int64_t here, int64_t columns, int64_t padded,
                          const REAL *x, const REAL *g, const REAL *c, REAL *dx, REAL *sum) {
    for (int64_t k = 0; k < columns; k += LANES) {
        int64_t wide = least(LANES, columns - k);
        int edge = here < TILE || wide < LANES;
        Copy in, top, back;
        if (edge) {
            copy_in(&in, x + k, columns, here, wide);
            copy_in(&top, g + k, columns, here, wide);
        }
        tile v = edge ? take(in.at, LANES) : take(x + k, columns);
        tile weight = edge ? take(top.at, LANES) : take(g + k, columns);
        tile du, dv, value;
        unit_slopes(s, c + k, padded, 1, 0, &v, &v, &weight, dx != NULL, &du, &dv, &value, ADD,
                    sum + k, padded);
        if (dx == NULL) continue;
        put(edge ? back.at : dx + k, edge ? LANES : columns, &dv);
        if (edge) copy_out(&back, dx + k, columns, here, wide);
    }
}

static int columns_forward(const Job *job, REAL *y) {
    int64_t columns = job->units * job->inner, padded = upward(columns, LANES);
    REAL *c = pack_columns(job, columns, padded);
    if (c == NULL) return 1;
    int64_t quads = (job->outer + TILE - 1) / TILE;
#pragma omp parallel for schedule(static) num_threads(job->threads) if (job->threads > 1)
    for (int64_t quad = 0; quad < quads; quad++) {
        int64_t here = least(TILE, job->outer - quad * TILE);
        const REAL *x = job->x + quad * TILE * columns;
        REAL *out = y + quad * TILE * columns;
        const Spec spec = known(job->spec);
        quad_forward(&spec, here, columns, padded, x, c, out);
    }
    return 0;
}

static int columns_backward(const Job *job, const REAL *g, REAL *dx, Sums to) {
    int64_t columns = job->units * job->inner, padded = upward(columns, LANES);
    int64_t size = coefficient_rows(job->spec) * padded;
    int64_t groups = group_count(least(MOST_GROUPS, (job->outer + FEW_ROWS - 1) / FEW_ROWS), size);
    int64_t each = groups ? upward((job->outer + groups - 1) / groups, TILE) : TILE;
    groups = (job->outer + each - 1) / each;
    REAL *c = pack_columns(job, columns, padded);
    double *totals = room(TOTALS, groups * size, sizeof(double));
    REAL *sums = room(SUMS, groups * size, sizeof(REAL));
    int failed = c == NULL || totals == NULL || sums == NULL;
#pragma omp parallel for schedule(dynamic, 1) num_threads(job->threads) if (job->threads > 1)
    for (int64_t group = 0; group < (failed ? 0 : groups); group++) {
        double *total = totals + group * size;
        REAL *sum = sums + group * size;
        memset(total, 0, (size_t)size * sizeof(double));
        memset(sum, 0, (size_t)size * sizeof(REAL));
        int64_t end = least(job->outer, (group + 1) * each), begun = group * each;
        for (int64_t row = begun; row < end; row += TILE) {
            int64_t here = least(TILE, end - row);
            const REAL *x = job->x + row * columns, *top = g + row * columns;
            const Spec spec = known(job->spec);
            quad_backward(&spec, here, columns, padded, x, top, c,
                          dx == NULL ? NULL : dx + row * columns, sum);
            if (row + TILE - begun >= FLUSH || row + TILE >= end) {
                for (int64_t n = 0; n < size; n++) total[n] += sum[n];
                memset(sum, 0, (size_t)size * sizeof(REAL));
                begun = row + TILE;
            }
        }
    }
    if (!failed) add_groups(totals, groups, size);
    for (int64_t row = 0; !failed && row < coefficient_rows(job->spec); row++) {
        REAL *out = sum_row(job, to, row);
        for (int64_t unit = 0; unit < job->units; unit++) {
            double total = 0;
            for (int64_t n = 0; groups && n < job->inner; n++)
                total += totals[row * padded + unit * job->inner + n];
            out[unit] = (REAL)total;
        }
    }
    return failed;
}
