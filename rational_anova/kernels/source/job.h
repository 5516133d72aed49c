// What one call works on, and the memory it works in.
#pragma once
#include <pthread.h>

#include "unit.h"

#define BLOCK (TILE * LANES)  // rows in a transposed block, inputs in a piece of a strip
#define FLUSH 128             // rows added in REAL before their sum goes to double
#define MOST_GROUPS 32
#define MOST_TOTALS (1 << 22)
#define FEW_ROWS 64    // least rows of a group
#define SOME_UNITS 64  // units whose coefficients stay in the cache while they are sorted

typedef struct {
    const Spec *spec;
    int64_t outer, units, inner, features;
    const int64_t *pairs;  // (2, units), or NULL for units of one variable
    const REAL *x, *above, *below, *gate;
    const REAL *weights;  // (outputs, units), how outputs read the units; NULL for none
    int64_t outputs;
    int threads;
} Job;

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }
static int64_t upward(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// ---- coefficients ------------------------------------------------------------------------------

// The rows of coefficients of a unit: p of all heads, q of all heads, gate, and its weights.
static int64_t coefficient_rows(const Spec *s) {
    return s->heads * (s->above + s->below) + (s->gated != 0);
}
static int64_t all_rows(const Job *job) { return coefficient_rows(job->spec) + job->outputs; }

// Which tensor holds a row (above, below, gate or weights), and which of its rows it is.
static int place_of(const Spec *s, int64_t row, int64_t *own) {
    int64_t ends[] = {s->heads * s->above, s->heads * s->below, s->gated != 0};
    int part = 0;
    for (; part < 3 && row >= ends[part]; part++) row -= ends[part];
    *own = row;
    return part;
}
static const REAL *coefficient_row(const Job *job, int64_t row) {
    const REAL *parts[] = {job->above, job->below, job->gate, job->weights};
    int64_t own;
    int part = place_of(job->spec, row, &own);
    return parts[part] + own * job->units;
}

typedef struct {
    REAL *above, *below, *gate, *weights;
} Sums;
static REAL *sum_row(const Job *job, Sums to, int64_t row) {
    REAL *parts[] = {to.above, to.below, to.gate, to.weights};
    int64_t own;
    int part = place_of(job->spec, row, &own);
    return parts[part] + own * job->units;
}

// How many groups of `size` totals each: not so many that they fill the memory.
static int64_t group_count(int64_t wanted, int64_t size) {
    int64_t most = MOST_TOTALS / (size > 0 ? size : 1);
    return least(wanted, most > 4 ? most : 4);
}

// Add groups of `size` totals to the first, in order.
static void add_groups(double *totals, int64_t groups, int64_t size) {
    for (int64_t group = 1; group < groups; group++)
        for (int64_t n = 0; n < size; n++) totals[n] += totals[group * size + n];
}

// ---- memory ------------------------------------------------------------------------------------

// Scratch memory stays with its thread from call to call: to ask the system for fresh pages may
// cost more than to fill them. What is larger than KEPT goes back with `leave`.
enum { PACKED, TOTALS, SUMS, INPUTS, SLOPES, TOPS, HEARD, READ, SLOTS };
#define KEPT ((size_t)1 << 24)
typedef struct {
    void *at;
    size_t size;
} Slot;
static pthread_key_t arena_key;
static pthread_once_t arena_once = PTHREAD_ONCE_INIT;

static void drop_arena(void *arena) {
    for (int n = 0; n < SLOTS; n++) free(((Slot *)arena)[n].at);
    free(arena);
}
static int arena_works;
static void make_key(void) { arena_works = pthread_key_create(&arena_key, drop_arena) == 0; }

static Slot *arena(void) {
    pthread_once(&arena_once, make_key);
    if (!arena_works) return NULL;
    Slot *slots = pthread_getspecific(arena_key);
    if (slots == NULL) {
        slots = calloc(SLOTS, sizeof(Slot));
        if (slots != NULL && pthread_setspecific(arena_key, slots) != 0) {
            free(slots);
            slots = NULL;
        }
    }
    return slots;
}

static void *room(int which, int64_t count, size_t size) {
    Slot *slot = arena();
    if (slot == NULL) return NULL;
    slot += which;
    size_t bytes = ((size_t)count * size + 64) / 64 * 64;
    if (slot->size < bytes) {
        free(slot->at);
        slot->at = aligned_alloc(64, bytes);
        slot->size = slot->at == NULL ? 0 : bytes;
    }
    return slot->at;
}

// Slots below `first` may still be in use by other threads.
static void leave(int first) {
    Slot *slots = arena();
    for (int n = first; slots != NULL && n < SLOTS; n++)
        if (slots[n].size > KEPT) {
            free(slots[n].at);
            slots[n].at = NULL;
            slots[n].size = 0;
        }
}

// Coefficients as (units, rows): those of a unit lie together.
static REAL *pack_units(const Job *job) {
    int64_t rows = all_rows(job);
    REAL *c = room(PACKED, rows * job->units, sizeof(REAL));
    for (int64_t start = 0; c != NULL && start < job->units; start += SOME_UNITS)
        for (int64_t row = 0; row < rows; row++) {
            const REAL *from = coefficient_row(job, row);
            for (int64_t unit = start; unit < least(job->units, start + SOME_UNITS); unit++)
                c[unit * rows + row] = from[unit];
        }
    return c;
}

// The other way: totals of a unit, which lie together, go to the rows of `to`.
static void unpack_totals(const Job *job, const double *totals, int64_t groups, Sums to) {
    int64_t rows = all_rows(job);
    for (int64_t start = 0; start < job->units; start += SOME_UNITS)
        for (int64_t row = 0; row < rows; row++) {
            REAL *out = sum_row(job, to, row);
            for (int64_t unit = start; unit < least(job->units, start + SOME_UNITS); unit++)
                out[unit] = groups ? (REAL)totals[unit * rows + row] : 0;
        }
}

// Vectors of which not all lanes are there; the others are zero.
INLINE vec load_some(const REAL *from, int64_t count) {
    if (count >= LANES) return load(from);
    vec v = splat(0);
    memcpy(&v, from, (size_t)count * sizeof(REAL));
    return v;
}
INLINE void store_some(REAL *to, vec v, int64_t count) {
    if (count >= LANES) store(to, v);
    else memcpy(to, &v, (size_t)count * sizeof(REAL));
}
