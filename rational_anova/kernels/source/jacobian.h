// Derivatives along the coefficients row by row, transposed: rows of x fill the lanes.
#include "rows.h"

// Where derivatives go: that of output o along coefficient `row` of a unit fills `gap` numbers, one
// a row of x, from at[0, 1 or 2] + (o * size + row * units + unit) * gap on. Without weights there
// is one output, the sum.
typedef struct {
    REAL *values;  // (units, gap)
    REAL *at[3];   // along p, q and gate
    int64_t gap, size;
} Target;

INLINE void block_jacobian(const Job *job, const int two, const REAL *c, int64_t row, Scratch at,
                           const Target *to) {
    const Spec spec = known(job->spec);
    int64_t rows = coefficient_rows(&spec), gap = all_rows(job);
    take_block(job, row, job->x, job->features, at.block);
    for (int64_t unit = 0; unit < job->units; unit++) {
        const REAL *own = c + unit * gap;
        tile u = load_tile(at.block + first_of(job, unit) * BLOCK);
        tile v = load_tile(at.block + second_of(job, unit) * BLOCK), du, dv, value, one;
        EACH (r) one.at[r] = splat(1);
        unit_slopes(&spec, own, 1, 0, two, &u, &v, &one, 0, &du, &dv, &value, KEEP, at.sums, BLOCK);
        store_tile(to->values + unit * to->gap + row, &value);
        for (int64_t n = 0; n < rows; n++) {
            int64_t line;
            int part = place_of(&spec, n, &line);
            tile slope = load_tile(at.sums + n * BLOCK);
            for (int64_t o = 0; o < (job->outputs ? job->outputs : 1); o++) {
                REAL *out =
                    to->at[part] + (o * to->size + line * job->units + unit) * to->gap + row;
                tile weighted = slope;
                if (job->outputs)
                    EACH (r) weighted.at[r] *= own[rows + o];
                store_tile(out, &weighted);
            }
        }
    }
}

static int rows_jacobian(const Job *job, const Target *to) {
    int64_t blocks = (job->outer + BLOCK - 1) / BLOCK;
    REAL *c = pack_units(job);
    int failed = c == NULL;
#pragma omp parallel num_threads(job->threads) if (job -> threads > 1)
    {
        Scratch at;
        int usable = make_scratch(job, (Use){NULL, NULL, NULL}, 0, &at) && !failed;
#pragma omp for schedule(dynamic, 1)
        for (int64_t n = 0; n < blocks; n++) {
            if (!usable) {
#pragma omp atomic write
                failed = 1;
            } else if (VARIABLES != 1 && job->pairs != NULL) {
                block_jacobian(job, 1, c, n * BLOCK, at, to);
            } else if (VARIABLES != 2) {
                block_jacobian(job, 0, c, n * BLOCK, at, to);
            }
        }
        leave(SUMS);
    }
    return failed;
}
