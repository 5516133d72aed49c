// The kernels over odd shapes, for the sanitizers: every array has exactly the size that it must
// have, so that what is read or written beyond is seen. See sanitize.py.
#include "rational.c"

#include <stdio.h>

typedef struct {
    int variables;
    Spec spec;
} Form;
#include "sanitize.h"

static uint64_t state = 1;
static REAL number(void) {  // in [-1, 1)
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (REAL)((double)(state >> 40) / (1 << 23) - 1);
}

static REAL *numbers(int64_t count, REAL scale) {
    REAL *made = malloc((size_t)count * sizeof(REAL));
    for (int64_t n = 0; n < count; n++) made[n] = number() * scale;
    return made;
}

// Room for results, full of NaN: what nobody has written is seen.
static REAL *blank(int64_t count) {
    REAL *made = malloc((size_t)count * sizeof(REAL));
    for (int64_t n = 0; n < count; n++) made[n] = NAN;
    return made;
}

static int64_t checks;
static void fail(const char *what, const Form *form, const int64_t *shape) {
    fprintf(stderr,
            "%s: variables %d heads %ld above %ld below %ld kind %ld base %ld gated %ld, shape "
            "%ld %ld %ld features %ld threads %ld outputs %ld\n",
            what, form->variables, (long)form->spec.heads, (long)form->spec.above,
            (long)form->spec.below, (long)form->spec.kind, (long)form->spec.base,
            (long)form->spec.gated, (long)shape[0], (long)shape[1], (long)shape[2], (long)shape[3],
            (long)shape[4], (long)shape[5]);
    exit(1);
}

#define MOST 12
typedef struct {
    REAL *at[MOST];
    int64_t count[MOST];
    int used;
} Results;

static REAL *result(Results *to, int64_t count, int wanted) {
    REAL *made = wanted ? blank(count) : NULL;
    to->at[to->used] = made;
    to->count[to->used++] = wanted ? count : 0;
    return made;
}
static void drop(Results *results) {
    for (int n = 0; n < results->used; n++) free(results->at[n]);
}
static void check(const Results *results, const Form *form, const int64_t *shape) {
    for (int n = 0; n < results->used; n++)
        for (int64_t k = 0; k < results->count[n]; k++, checks++)
            if (isnan(results->at[n][k])) fail("not written, or not a number", form, shape);
}
static void same(const Results *one, const Results *other, const Form *form, const int64_t *shape) {
    for (int n = 0; n < one->used; n++)
        if (one->count[n] && memcmp(one->at[n], other->at[n], (size_t)one->count[n] * sizeof(REAL)))
            fail("other bits on other threads", form, shape);
}

typedef struct {
    int64_t *pairs;
    REAL *x, *above, *below, *gate, *weights, *g, *g_sent, *g_read;
} Given;

// `uses` has a bit each for y, sent and read.
static Results call(const Form *form, const int64_t *shape, const Given *in, int uses, int inputs) {
    const Spec *s = &form->spec;
    int64_t outer = shape[0], units = shape[1], inner = shape[2], outputs = shape[5];
    int y = uses & 1, sent = uses & 2, read = uses & 4;
    Results to = {0};
    REAL *ys = result(&to, outer * units * inner, y), *sents = result(&to, outer * shape[3], sent);
    REAL *reads = result(&to, outer * outputs, read);
    int failed = ran_forward(s, shape, in->pairs, in->x, in->above, in->below, in->gate,
                             in->weights, ys, sents, reads);
    REAL *dx = result(&to, outer * shape[3], inputs);
    REAL *d_above = result(&to, s->heads * s->above * units, 1);
    REAL *d_below = result(&to, s->heads * s->below * units, 1);
    REAL *d_gate = result(&to, units, s->gated != 0);
    REAL *d_weights = result(&to, outputs * units, read);
    failed |= ran_backward(s, shape, in->pairs, in->x, in->above, in->below, in->gate, in->weights,
                           y ? in->g : NULL, sent ? in->g_sent : NULL, read ? in->g_read : NULL, dx,
                           d_above, d_below, d_gate, d_weights);
    if (failed) fail("no memory", form, shape);
    return to;
}

static void jacobian(const Form *form, const int64_t *shape, const Given *in) {
    const Spec *s = &form->spec;
    int64_t rows = coefficient_rows(s), units = shape[1], outputs = shape[5] ? shape[5] : 1;
    int64_t gap = upward(shape[0], 64), size = rows * units, sizes[] = {gap, size};
    int64_t tops = s->heads * s->above * units, bottoms = s->heads * s->below * units;
    REAL *values = blank(units * gap), *to = blank(outputs * size * gap);
    if (ran_jacobian(s, shape, in->pairs, in->x, in->above, in->below, in->gate, in->weights,
                     values, to, to + tops * gap, to + (tops + bottoms) * gap, sizes))
        fail("no memory", form, shape);
    for (int64_t line = 0; line < units + outputs * size; line++)
        for (int64_t row = 0; row < shape[0]; row++, checks++) {
            const REAL *from = line < units ? values + line * gap : to + (line - units) * gap;
            if (isnan(from[row])) fail("not written, or not a number", form, shape);
        }
    free(values);
    free(to);
}

static void run(const Form *form, int64_t outer, int64_t units, int64_t inner, int64_t features,
                int64_t outputs) {
    const Spec *s = &form->spec;
    int two = form->variables == 2;
    int64_t shape[] = {outer, units, inner, features, 1, outputs};
    int64_t columns = units * inner;
    // Small below, so that d of the kind without a bound stays off zero.
    REAL below = s->kind == PLAIN ? (REAL)0.5 / (REAL)s->below : 1;
    Given in = {
        two ? malloc((size_t)(2 * units) * sizeof(int64_t)) : NULL,
        numbers(outer * features, 1),
        numbers(s->heads * s->above * units, 1),
        numbers(s->heads * s->below * units, below),
        s->gated ? numbers(units, 1) : NULL,
        outputs ? numbers(outputs * units, 1) : NULL,
        numbers(outer * columns, 1),
        two ? numbers(outer * features, 1) : NULL,
        outputs ? numbers(outer * outputs, 1) : NULL,
    };
    for (int64_t n = 0; two && n < 2 * units; n++) in.pairs[n] = (n * 7 + n / units) % features;
    int read = outputs ? 4 : 0;
    for (int uses = 1; uses < 8; uses++) {
        if ((uses & 4) != read || (!two && (uses & 2))) continue;
        if (read && !two && inner != 1) continue;
        for (int inputs = 0; inputs < 2; inputs++) {
            shape[4] = 1;
            Results one = call(form, shape, &in, uses, inputs);
            check(&one, form, shape);
            shape[4] = 2;
            Results other = call(form, shape, &in, uses, inputs);
            same(&one, &other, form, shape);
            drop(&one);
            drop(&other);
        }
    }
    if (inner == 1) jacobian(form, shape, &in);
    free(in.pairs);
    for (REAL **each = &in.x; each <= &in.g_read; each++) free(*each);
}

#ifdef FORM
#define EVERY 1
#define LARGE 1
static int known_form(const Form *form) {  // the form that the library was built for
    const Spec spec = known(&form->spec), *s = &form->spec;
    return form->variables == VARIABLES && spec.heads == s->heads && spec.above == s->above &&
           spec.below == s->below && spec.polynomials == s->polynomials && spec.kind == s->kind &&
           spec.base == s->base && spec.gated == s->gated;
}
#else
#define EVERY 4
#define LARGE 41
static int known_form(const Form *form) { return form != NULL; }
#endif

int main(void) {
    const int64_t single[][3] = {
        // outer, units, inner: by rows
        {0, 3, 1}, {2, 3, 0}, {37, 13, 1}, {2, 5, 7},
        {LANES - 1, 3, 1}, {LANES, 3, 1}, {LANES + 1, 3, 1}, {LANES - 1, 2 * LANES, 1},
        {BLOCK - 1, 2, 1}, {BLOCK + 1, 2, 1}, {BLOCK - 1, LANES + 1, 1}, {5, LANES - 1, 1},
        {3, 3 * LANES - 1, 1},
        // by columns
        {0, 3 * LANES, 1}, {4, 3 * LANES, 1}, {5, 3 * LANES + 1, 1}, {7, 2, 2 * LANES},
        {1, 4 * LANES - 1, 1}, {135, 3 * LANES + 3, 1}, {2, 3, 4 * BLOCK - 1},
        // by strips
        {0, 1, 1}, {1, 1, 1}, {5, 1, 1}, {LANES - 1, 1, 1}, {LANES + 1, 1, 1}, {BLOCK - 1, 1, 1},
        {2, 3, 4 * BLOCK}, {1, 3, 4 * BLOCK + 1}, {1, 2, 5 * BLOCK - 1}, {3, 1, 3000},
    };
    const int64_t pairs[][3] = {
        // outer, features, units
        {0, 6, 5}, {1, 2, 1}, {5, 6, 5}, {37, 13, 20}, {3, 40, 257},
        {LANES - 1, 3, 2}, {LANES, LANES, 3}, {LANES + 1, 3, LANES + 1}, {LANES - 1, LANES + 1, 3},
        {BLOCK - 1, 7, 3}, {BLOCK, 4, 3}, {BLOCK + 1, 9, 4}, {BLOCK - 1, 2 * LANES, LANES - 1},
    };
    int done = 0;
    for (int n = 0; n < COUNT(FORMS); n++) {
        const Form *form = FORMS + n;
        if (!known_form(form)) continue;
        // Each form has its share of the shapes, another one than the next form has.
        for (int k = 0; form->variables == 1 && k < COUNT(single); k++) {
            const int64_t *at = single[k];
            if ((n + k) % EVERY) continue;
            run(form, at[0], at[1], at[2], at[1] * at[2], 0);
            if (n % 5 == 0 && at[2] == 1) run(form, at[0], at[1], at[2], at[1] * at[2], 3);
        }
        for (int k = 0; form->variables == 2 && k < COUNT(pairs); k++)
            if ((n + k) % EVERY == 0)
                run(form, pairs[k][0], pairs[k][2], 1, pairs[k][1], n % 5);
        if (n % LARGE == 0 && form->variables == 1) run(form, 9000, 1, 1, 1, 0);
        if (n % LARGE == 0 && form->variables == 2) run(form, 9 * BLOCK + 5, 6, 1, 7, 17);
        done++;
    }
    if (!done) return fprintf(stderr, "no form was run\n"), 1;
    printf("%d forms, %ld results\n", done, (long)checks);
    return 0;
}
