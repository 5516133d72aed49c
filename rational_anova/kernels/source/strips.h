// Neighbouring inputs of one unit fill the lanes: images, or one unit for all inputs.
#include "job.h"

#define STRIP 8192  // inputs of a strip

INLINE tile load_tile_some(const REAL *from, int64_t count) {
    tile t;
    EACH (r) {
        int64_t left = count - r * LANES;
        t.at[r] = left > 0 ? load_some(from + r * LANES, left) : splat(0);
    }
    return t;
}
INLINE void store_tile_some(REAL *to, const tile *t, int64_t count) {
    EACH (r)
        if (count - r * LANES > 0) store_some(to + r * LANES, t->at[r], count - r * LANES);
}

static int strips_forward(const Job *job, REAL *y) {
    int64_t pieces = (job->inner + STRIP - 1) / STRIP, rows = coefficient_rows(job->spec);
    REAL *c = pack_units(job);
    if (c == NULL) return 1;
#pragma omp parallel for schedule(static) num_threads(job->threads) if (job->threads > 1)
    for (int64_t n = 0; n < job->outer * job->units * pieces; n++) {
        int64_t strip = n / pieces, start = n % pieces * STRIP,
                end = least(job->inner, start + STRIP);
        const REAL *own = c + strip % job->units * rows;
        const Spec spec = known(job->spec);
        for (int64_t k = start; k < end; k += BLOCK) {
            tile v = load_tile_some(job->x + strip * job->inner + k, end - k);
            tile value = unit_value(&spec, own, 1, 0, 0, &v, &v);
            store_tile_some(y + strip * job->inner + k, &value, end - k);
        }
    }
    return 0;
}

static int strips_backward(const Job *job, const REAL *g, REAL *dx, Sums to) {
    int64_t pieces = (job->inner + STRIP - 1) / STRIP, strips = job->outer * pieces;
    int64_t rows = coefficient_rows(job->spec), groups = least(MOST_GROUPS, strips);
    int64_t tasks = groups * job->units;
    REAL *c = pack_units(job), *sums = room(SUMS, tasks * rows * LANES, sizeof(REAL));
    double *totals = room(TOTALS, tasks * rows, sizeof(double));
    int failed = c == NULL || sums == NULL || totals == NULL;
#pragma omp parallel for schedule(dynamic, 1) num_threads(job->threads) if (job->threads > 1)
    for (int64_t task = 0; task < (failed ? 0 : tasks); task++) {
        int64_t unit = task / groups, group = task % groups;
        REAL *own = sums + task * rows * LANES;
        const Spec spec = known(job->spec);
        double *total = totals + task * rows;
        memset(total, 0, (size_t)rows * sizeof(double));
        for (int64_t n = group * strips / groups; n < (group + 1) * strips / groups; n++) {
            int64_t start = n % pieces * STRIP, end = least(job->inner, start + STRIP);
            int64_t at = (n / pieces * job->units + unit) * job->inner;
            memset(own, 0, (size_t)(rows * LANES) * sizeof(REAL));
            for (int64_t k = start; k < end; k += BLOCK) {
                tile v = load_tile_some(job->x + at + k, end - k), du, dv, value;
                tile top = load_tile_some(g + at + k, end - k);
                unit_slopes(&spec, c + unit * rows, 1, 0, 0, &v, &v, &top, dx != NULL, &du, &dv,
                            &value, ADD, own, LANES);
                if (dx != NULL) store_tile_some(dx + at + k, &dv, end - k);
            }
            for (int64_t row = 0; row < rows; row++) total[row] += sum(load(own + row * LANES));
        }
    }
    for (int64_t row = 0; !failed && row < rows; row++) {
        REAL *out = sum_row(job, to, row);
        for (int64_t unit = 0; unit < job->units; unit++) {
            double total = 0;
            for (int64_t group = 0; group < groups; group++)
                total += totals[(unit * groups + group) * rows + row];
            out[unit] = (REAL)total;
        }
    }
    return failed;
}
