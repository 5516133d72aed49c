// Rational units on the CPU: values, derivatives and Jacobians, one pass each, nothing of the size
// of batch x units x terms in memory. Compile with SINGLE=1 for float and SINGLE=0 for double.
//
// Three ways to fill the lanes of a vector, whichever keeps them full: columns.h, rows.h, strips.h.
// Sums over the batch go by groups of rows that depend on the shape alone, are kept in double and
// added in order: the same bits on one thread and on many.
#include "columns.h"
#include "effects.h"
#include "jacobian.h"
#include "strips.h"

enum { COLUMNS, ROWS, STRIPS };

// shape: outer, units, inner, features, threads, outputs.
static Job make_job(const Spec *spec, const int64_t *shape, const int64_t *pairs, const REAL *x,
                    const REAL *above, const REAL *below, const REAL *gate, const REAL *weights) {
    Job job = {spec,
               shape[0],
               shape[1],
               shape[2],
               shape[3],
               pairs,
               x,
               above,
               below,
               gate,
               weights,
               shape[5],
               shape[4] < 1 ? 1 : (int)shape[4]};
    return job;
}

// Pairs that name no feature would read, and write, anywhere.
static int bad_pairs(const Job *job) {
    for (int64_t n = 0; job->pairs != NULL && n < 2 * job->units; n++)
        if (job->pairs[n] < 0 || job->pairs[n] >= job->features) return 1;
    return 0;
}

static int way(Job *job) {
    if (job->pairs != NULL || job->outputs || VARIABLES == 2) return ROWS;
    if (job->units == 1) {  // one unit for all: one long strip
        job->inner *= job->outer;
        job->outer = job->inner > 0;
        return STRIPS;
    }
    if (job->inner >= 4 * BLOCK) return STRIPS;
    return job->units * job->inner >= 3 * LANES ? COLUMNS : ROWS;
}

// Pairs have a use for y, `sent` and `read` alike, other units for y alone. All return 0; 1
// where memory ran out; 2 for pairs that name no feature.
int ran_forward(const Spec *spec, const int64_t *shape, const int64_t *pairs, const REAL *x,
                const REAL *above, const REAL *below, const REAL *gate, const REAL *weights,
                REAL *y, REAL *sent, REAL *read) {
    Job job = make_job(spec, shape, pairs, x, above, below, gate, weights);
    if (bad_pairs(&job)) return 2;
    int kind = way(&job);
    int failed = kind == COLUMNS  ? columns_forward(&job, y)
                 : kind == STRIPS ? strips_forward(&job, y)
                                  : rows_forward(&job, (Use){y, sent, read});
    leave(0);
    return failed;
}

// Gradients of what `ran_forward` wrote, then where those of its inputs go; dx may be NULL.
int ran_backward(const Spec *spec, const int64_t *shape, const int64_t *pairs, const REAL *x,
                 const REAL *above, const REAL *below, const REAL *gate, const REAL *weights,
                 REAL *g, REAL *g_sent, REAL *g_read, REAL *dx, REAL *d_above, REAL *d_below,
                 REAL *d_gate, REAL *d_weights) {
    Job job = make_job(spec, shape, pairs, x, above, below, gate, weights);
    Sums to = {d_above, d_below, d_gate, d_weights};
    if (bad_pairs(&job)) return 2;
    int kind = way(&job);
    int failed = kind == COLUMNS  ? columns_backward(&job, g, dx, to)
                 : kind == STRIPS ? strips_backward(&job, g, dx, to)
                                  : rows_backward(&job, (Use){g, g_sent, g_read}, dx, to);
    leave(0);
    return failed;
}

_Static_assert(64 % BLOCK == 0, "a Jacobian has room for a multiple of 64 rows");

// For one unit a feature (inner = 1), or pairs; sizes: gap and size, as in Target.
int ran_jacobian(const Spec *spec, const int64_t *shape, const int64_t *pairs, const REAL *x,
                 const REAL *above, const REAL *below, const REAL *gate, const REAL *weights,
                 REAL *values, REAL *to_above, REAL *to_below, REAL *to_gate,
                 const int64_t *sizes) {
    Job job = make_job(spec, shape, pairs, x, above, below, gate, weights);
    if (bad_pairs(&job)) return 2;
    Target to = {values, {to_above, to_below, to_gate}, sizes[0], sizes[1]};
    int failed = rows_jacobian(&job, &to);
    leave(0);
    return failed;
}
