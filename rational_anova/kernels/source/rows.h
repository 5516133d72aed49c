// Rows of a transposed block fill the lanes: pairs of features, or a few features. Gathering the
// inputs of a pair and scattering its gradients then are loads and stores of whole vectors.
#pragma once
#include "job.h"

#define OUTPUTS 256  // columns transposed at a time

INLINE void zip(vec a, vec b, vec *low, vec *high) {
#if defined(__GNUC__) && !defined(__clang__)
    ivec first, second;
    for (int l = 0; l < LANES; l++) {
        first[l] = (l & 1) * LANES + l / 2;
        second[l] = first[l] + LANES / 2;
    }
    *low = __builtin_shuffle(a, b, first);
    *high = __builtin_shuffle(a, b, second);
#else
    for (int l = 0; l < LANES; l++) {
        (*low)[l] = l & 1 ? b[l / 2] : a[l / 2];
        (*high)[l] = l & 1 ? b[LANES / 2 + l / 2] : a[LANES / 2 + l / 2];
    }
#endif
}

// to[c * to_gap + r] = from[r * from_gap + c] for a square of LANES, by zipping its halves.
static void transpose_square(const REAL *from, int64_t from_gap, REAL *to, int64_t to_gap) {
    vec a[LANES], b[LANES];
    for (int r = 0; r < LANES; r++) a[r] = load(from + r * from_gap);
    for (int step = 1; step < LANES; step *= 2) {
        for (int r = 0; r < LANES / 2; r++) zip(a[r], a[r + LANES / 2], &b[2 * r], &b[2 * r + 1]);
        memcpy(a, b, sizeof a);
    }
    for (int r = 0; r < LANES; r++) store(to + r * to_gap, a[r]);
}

static void transpose(const REAL *from, int64_t from_gap, int64_t rows, int64_t columns, REAL *to,
                      int64_t to_gap) {
    int64_t full_rows = rows / LANES * LANES, full_columns = columns / LANES * LANES;
    for (int64_t r = 0; r < full_rows; r += LANES)
        for (int64_t c = 0; c < full_columns; c += LANES)
            transpose_square(from + r * from_gap + c, from_gap, to + c * to_gap + r, to_gap);
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = r < full_rows ? full_columns : 0; c < columns; c++)
            to[c * to_gap + r] = from[r * from_gap + c];
}

// Add up the lanes of each of `count` vectors, all at once: zipped and added, LANES vectors become
// one that holds their sums. The first totals have nothing to be added to.
INLINE void add_sums(const REAL *vectors, double *totals, int64_t count, int first) {
    vec a[LANES];
    for (int r = 0; r < LANES; r++) a[r] = load(vectors + r * LANES);
    for (int half = LANES / 2; half; half /= 2)
        for (int r = 0; r < half; r++) {
            vec low, high;
            zip(a[r], a[r + half], &low, &high);
            a[r] = low + high;
        }
    REAL sums[LANES];
    store(sums, a[0]);
    for (int64_t r = 0; r < count; r++) totals[r] = first ? sums[r] : totals[r] + sums[r];
}

INLINE tile load_tile(const REAL *from) {
    tile t;
    EACH (r) t.at[r] = load(from + r * LANES);
    return t;
}
INLINE void store_tile(REAL *to, const tile *t) {
    EACH (r) store(to + r * LANES, t->at[r]);
}
INLINE void add_tile(REAL *to, const tile *t) {
    EACH (r) store(to + r * LANES, load(to + r * LANES) + t->at[r]);
}

// The rows of (outer, columns) from `row` on, transposed and padded with zeros: (columns, BLOCK).
static int64_t take_block(const Job *job, int64_t row, const REAL *from, int64_t columns,
                          REAL *block) {
    int64_t here = least(BLOCK, job->outer - row);
    if (here < BLOCK) memset(block, 0, (size_t)(columns * BLOCK) * sizeof(REAL));
    transpose(from + row * columns, columns, here, columns, block, BLOCK);
    return here;
}
INLINE int64_t first_of(const Job *job, int64_t column) {
    return job->pairs == NULL ? column : job->pairs[column];
}
INLINE int64_t second_of(const Job *job, int64_t column) {
    return job->pairs == NULL ? column : job->pairs[job->units + column];
}

// What becomes of the values of units, or the gradients of all that; each may be NULL.
typedef struct {
    REAL *y;     // (outer, columns): the values themselves
    REAL *sent;  // (outer, features), of pairs: x, and each value added to both of its features
    REAL *read;  // (outer, outputs): the values times the weights, added up
} Use;

typedef struct {
    REAL *block, *slopes, *top, *heard, *read, *sums;
} Scratch;

static int make_scratch(const Job *job, Use use, int slopes, Scratch *at) {
    int64_t numbers = job->features * BLOCK, sums = upward(all_rows(job), LANES) * LANES;
    sums = sums > all_rows(job) * BLOCK ? sums : all_rows(job) * BLOCK;
    *at = (Scratch){
        room(INPUTS, numbers, sizeof(REAL)),
        room(SLOPES, slopes ? numbers : 0, sizeof(REAL)),
        room(TOPS, OUTPUTS * BLOCK, sizeof(REAL)),
        room(HEARD, use.sent == NULL ? 0 : numbers, sizeof(REAL)),
        room(READ, job->outputs * BLOCK, sizeof(REAL)),
        room(SUMS, sums, sizeof(REAL)),
    };
    if (at->sums != NULL) memset(at->sums, 0, (size_t)sums * sizeof(REAL));
    return at->block != NULL && at->slopes != NULL && at->top != NULL && at->heard != NULL &&
           at->read != NULL && at->sums != NULL;
}

INLINE void block_forward(const Job *job, const int two, const REAL *c, int64_t row, Scratch at,
                          Use use) {
    const Spec spec = known(job->spec);
    int64_t columns = job->units * job->inner, rows = coefficient_rows(&spec), gap = all_rows(job);
    int64_t here = take_block(job, row, job->x, job->features, at.block);
    if (use.sent != NULL)
        memcpy(at.heard, at.block, (size_t)(job->features * BLOCK) * sizeof(REAL));
    memset(at.read, 0, (size_t)(job->outputs * BLOCK) * sizeof(REAL));
    for (int64_t start = 0; start < columns; start += OUTPUTS) {
        int64_t wide = least(OUTPUTS, columns - start);
        for (int64_t k = 0; k < wide; k++) {
            int64_t i = first_of(job, start + k), j = second_of(job, start + k);
            tile u = load_tile(at.block + i * BLOCK), v = load_tile(at.block + j * BLOCK);
            const REAL *own = c + (start + k) / job->inner * gap;
            tile value = unit_value(&spec, own, 1, 0, two, &u, &v);
            if (use.y != NULL) store_tile(at.top + k * BLOCK, &value);
            if (use.sent != NULL) {
                add_tile(at.heard + i * BLOCK, &value);
                add_tile(at.heard + j * BLOCK, &value);
            }
            for (int64_t o = 0; o < job->outputs; o++) {
                tile part;
                EACH (r) part.at[r] = value.at[r] * own[rows + o];
                add_tile(at.read + o * BLOCK, &part);
            }
        }
        if (use.y != NULL)
            transpose(at.top, BLOCK, wide, here, use.y + row * columns + start, columns);
    }
    int64_t features = job->features, outputs = job->outputs;
    if (use.sent != NULL)
        transpose(at.heard, BLOCK, features, here, use.sent + row * features, features);
    if (use.read != NULL)
        transpose(at.read, BLOCK, outputs, here, use.read + row * outputs, outputs);
}

static int rows_forward(const Job *job, Use use) {
    int64_t blocks = (job->outer + BLOCK - 1) / BLOCK;
    REAL *c = pack_units(job);
    int failed = c == NULL;
#pragma omp parallel num_threads(job->threads) if (job -> threads > 1)
    {
        Scratch at;
        int usable = make_scratch(job, use, 0, &at) && !failed;
#pragma omp for schedule(dynamic, 1)
        for (int64_t n = 0; n < blocks; n++) {
            if (!usable) {
#pragma omp atomic write
                failed = 1;
            } else if (VARIABLES != 1 && job->pairs != NULL) {
                block_forward(job, 1, c, n * BLOCK, at, use);
            } else if (VARIABLES != 2) {
                block_forward(job, 0, c, n * BLOCK, at, use);
            }
        }
        leave(SUMS);
    }
    return failed;
}

// What reaches a pair: the gradient of its own value, of the features it was sent to, of outputs.
INLINE tile reaching(const Job *job, Use g, Scratch at, const REAL *weights, int64_t k, int64_t i,
                     int64_t j) {
    tile top;
    if (g.y != NULL) top = load_tile(at.top + k * BLOCK);
    else
        EACH (r) top.at[r] = splat(0);
    if (g.sent != NULL)
        EACH (r) {
            const REAL *heard = at.heard + r * LANES;
            top.at[r] += load(heard + i * BLOCK) + load(heard + j * BLOCK);
        }
    for (int64_t o = 0; o < job->outputs; o++)
        EACH (r) top.at[r] += weights[o] * load(at.read + o * BLOCK + r * LANES);
    return top;
}

INLINE void block_backward(const Job *job, const int two, const REAL *c, int64_t row, Use g,
                           Scratch at, REAL *dx, double *total, int first) {
    const Spec spec = known(job->spec);
    int64_t columns = job->units * job->inner, rows = coefficient_rows(&spec), gap = all_rows(job);
    size_t bytes = (size_t)(job->features * BLOCK) * sizeof(REAL);
    int64_t here = take_block(job, row, job->x, job->features, at.block);
    if (g.sent != NULL) take_block(job, row, g.sent, job->features, at.heard);
    if (g.read != NULL) take_block(job, row, g.read, job->outputs, at.read);
    if (dx != NULL && g.sent != NULL) memcpy(at.slopes, at.heard, bytes);
    else if (dx != NULL) memset(at.slopes, 0, bytes);
    for (int64_t start = 0; start < columns; start += OUTPUTS) {
        int64_t wide = least(OUTPUTS, columns - start);
        if (here < BLOCK) memset(at.top, 0, OUTPUTS * BLOCK * sizeof(REAL));
        if (g.y != NULL) transpose(g.y + row * columns + start, columns, here, wide, at.top, BLOCK);
        for (int64_t k = 0; k < wide; k++) {
            int64_t i = first_of(job, start + k), j = second_of(job, start + k);
            int64_t unit = (start + k) / job->inner;
            const REAL *own = c + unit * gap;
            tile u = load_tile(at.block + i * BLOCK), v = load_tile(at.block + j * BLOCK);
            tile top = reaching(job, g, at, own + rows, k, i, j), du, dv, value;
            unit_slopes(&spec, own, 1, 0, two, &u, &v, &top, dx != NULL, &du, &dv, &value, FIRST,
                        at.sums, LANES);
            for (int64_t o = 0; o < job->outputs; o++) {
                tile part;
                EACH (r) part.at[r] = value.at[r] * load(at.read + o * BLOCK + r * LANES);
                collect(at.sums + (rows + o) * LANES, &part, 1, FIRST);
            }
            for (int64_t n = 0; n < gap; n += LANES)
                add_sums(at.sums + n * LANES, total + unit * gap + n, least(LANES, gap - n),
                         first && (start + k) % job->inner == 0);
            if (dx == NULL) continue;
            add_tile(at.slopes + j * BLOCK, &dv);
            if (two) add_tile(at.slopes + i * BLOCK, &du);
        }
    }
    int64_t features = job->features;
    if (dx != NULL) transpose(at.slopes, BLOCK, features, here, dx + row * features, features);
}

static int rows_backward(const Job *job, Use g, REAL *dx, Sums to) {
    int64_t rows = all_rows(job), size = rows * job->units;
    int64_t blocks = (job->outer + BLOCK - 1) / BLOCK,
            groups = group_count(least(MOST_GROUPS / 4, blocks), size);
    if (job->inner == 0) groups = 0;  // nothing to add up
    REAL *c = pack_units(job);
    double *totals = room(TOTALS, groups * size, sizeof(double));
    int failed = c == NULL || totals == NULL;
#pragma omp parallel num_threads(job->threads) if (job -> threads > 1)
    {
        Scratch at;
        int usable = make_scratch(job, g, dx != NULL, &at) && !failed;
#pragma omp for schedule(dynamic, 1)
        for (int64_t group = 0; group < groups; group++) {
            if (!usable) {
#pragma omp atomic write
                failed = 1;
                continue;
            }
            double *total = totals + group * size;
            int64_t begin = group * blocks / groups, end = (group + 1) * blocks / groups;
            for (int64_t n = begin; n < end; n++) {
                if (VARIABLES != 1 && job->pairs != NULL)
                    block_backward(job, 1, c, n * BLOCK, g, at, dx, total, n == begin);
                else if (VARIABLES != 2)
                    block_backward(job, 0, c, n * BLOCK, g, at, dx, total, n == begin);
            }
        }
        leave(SUMS);
    }
    if (failed) return failed;
    add_groups(totals, groups, size);
    unpack_totals(job, totals, groups, to);
    return 0;
}
