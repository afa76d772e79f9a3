/* spectrum.c - emb_spectrum_run: singular values of a table, and how alike its rows are.
 *
 * A small table is decomposed as it is (dgesdd); of a large one the eigenvalues of the smaller of
 * its two Gram matrices are found (dsyevd), which are the squares. Which way depends on the shape
 * alone. The BLAS runs one thread in each call; ours are in gram.h and spectrum_rows.c.
 */
#include "ops/spectrum.h"

#include "dev/load.h"
#include "ops/gram.h"
#include "ops/search.h"
#include "util/err.h"
#include "util/memory.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#define SMALL_PRODUCTS  0x1p28      /* V * d * min(V, d) of a small table: tenths of a second */
#define PANEL_BYTES     (16u << 20) /* of f64 rows, but ... */
#define PANEL_LEAST     2048        /* ... at least so many: each panel costs a pass over G */
#define PANEL_MOST      16384
#define INLINE_ELEMENTS 4e6 /* fewer are not worth a thread */

enum way { BY_ELEMENTS, BY_ROWS, BY_COLUMNS };

struct work {
    const struct embi_blas *blas;
    enum way way;
    struct embi_panels panels;
    struct embi_gram gram; /* of rows or of columns */
    double *values;        /* [min(V, d)], as LAPACK gives them */
    int exponent;          /* they are those of the table times 2^-exponent */
};

static uint64_t panel_rows(const struct embi_panels *p, enum way way)
{
    if (way != BY_COLUMNS)
        return p->rows;
    uint64_t rows = PANEL_BYTES / sizeof(double) / p->d / EMBI_BLOCK_ROWS * EMBI_BLOCK_ROWS;
    return embi_max(embi_min(rows, PANEL_MOST), PANEL_LEAST);
}

static void plan(struct work *w, const emb_table *table)
{
    struct embi_panels *p = &w->panels;
    const struct embi_layout *l = &table->layout;
    double elements = (double)l->rows * l->dims, least = (double)embi_min(l->rows, l->dims);
    *p = (struct embi_panels){.table = table, .rows = l->rows, .d = l->dims, .factor = 1};
    p->pool = elements < INLINE_ELEMENTS ? NULL : table->env->pool;
    w->way = elements * least <= SMALL_PRODUCTS ? BY_ELEMENTS
             : l->rows < l->dims                ? BY_ROWS
                                                : BY_COLUMNS;
    p->transposed = w->way == BY_ROWS;
    p->panel_rows = panel_rows(p, w->way);
    if (w->way != BY_ELEMENTS)
        embi_gram_plan(&w->gram, (uint32_t)(w->way == BY_ROWS ? l->rows : l->dims));
}

/* Memory that is not there would be promised all the same, and its use would end the process. */
static emb_status check_size(const struct work *w, emb_err *err)
{
    const struct embi_panels *p = &w->panels;
    uint64_t bytes = embi_panels_bytes(p), there = embi_memory_available();
    if (embi_min(p->rows, p->d) > EMBI_BLAS_MOST)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "the spectrum of %" PRIu64 " x %" PRIu32
                         " numbers: at most %d rows or dimensions are possible",
                         p->rows, p->d, EMBI_BLAS_MOST);
    if (w->way != BY_ELEMENTS && !embi_add(bytes, embi_gram_bytes(&w->gram), &bytes))
        bytes = UINT64_MAX;
    if (bytes <= there)
        return EMB_OK;
    return embi_fail(err, EMB_NO_MEMORY, -1,
                     "the spectrum of %" PRIu64 " x %" PRIu32 " numbers needs %" PRIu64
                     " MB of memory, and %" PRIu64 " MB are free",
                     p->rows, p->d, bytes >> 20, there >> 20);
}

static void say_cost(const struct work *w)
{
    const struct embi_panels *p = &w->panels;
    const struct embi_env *env = p->table->env;
    double m = w->gram.m, elements = (double)p->rows * p->d;
    if (w->way == BY_ELEMENTS)
        embi_log(env, EMB_LOG_DEBUG, p->table->path, "spectrum: dgesdd on the whole table");
    else
        embi_log(env, EMB_LOG_DEBUG, p->table->path,
                 "spectrum: Gram matrix of %s [%" PRIu32 ", %" PRIu32 "], %" PRIu64 " MB, %" PRIu64
                 " Gflop; dsyevd, %" PRIu64 " Gflop, on one thread",
                 p->transposed ? "rows" : "columns", w->gram.m, w->gram.m,
                 embi_gram_bytes(&w->gram) >> 20, (uint64_t)(elements * m / 1e9),
                 (uint64_t)(m * m * m * 4 / 3 / 1e9));
}

/* Goes over the table once; a Gram matrix is then complete, else all rows lie in the panel. */
static emb_status walk(struct work *w, emb_err *err)
{
    struct embi_panels *p = &w->panels;
    struct embi_gram *g = &w->gram;
    uint64_t rows = p->transposed ? p->d : p->panel_rows;
    emb_status status = embi_panels_begin(p, err);
    if (!status && w->way != BY_ELEMENTS)
        status = embi_gram_begin(g, w->blas, p->table->env->pool, rows, err);
    while (!status) {
        status = embi_panels_next(p, err);
        if (status || p->n == 0)
            break;
        if (w->way != BY_ELEMENTS)
            embi_gram_add(g, p->panel, p->transposed ? p->d : p->n);
    }
    if (!status && w->way != BY_ELEMENTS)
        embi_gram_end(g);
    return status;
}

/* A table whose squares leave the range of f64 is gone over once more, multiplied by a power of
 * two. */
static emb_status walk_in_range(struct work *w, emb_err *err)
{
    struct embi_panels *p = &w->panels;
    emb_status status = walk(w, err);
    double largest = p->all.largest;
    if (status || largest == 0 || embi_comfortable(largest * largest))
        return status;
    w->exponent = embi_scale_exponent(largest);
    p->factor = ldexp(1, -w->exponent);
    return walk(w, err);
}

static emb_status decompose(struct work *w, emb_err *err)
{
    const struct embi_panels *p = &w->panels;
    int info, m = (int)w->gram.m;
    if (w->way == BY_ELEMENTS)
        info = w->blas->dgesdd_values((int)p->rows, (int)p->d, p->panel, (int)p->d, w->values);
    else
        info = w->blas->dsyevd_values(m, w->gram.g, m, w->values);
    if (info == 0)
        return EMB_OK;
    return embi_fail(err, info == EMBI_BLAS_NO_MEMORY ? EMB_NO_MEMORY : EMB_DEVICE, -1,
                     "LAPACK's %s gave up (info %d)", w->way == BY_ELEMENTS ? "dgesdd" : "dsyevd",
                     info);
}

/* Eigenvalues, least first, become singular values, largest first. What is not above the rounding
 * of G, m units in the last place of the largest, is 0. */
static void roots(double *values, uint32_t m)
{
    double zero = fmax(values[m - 1], 0) * m * DBL_EPSILON;
    for (uint32_t i = 0; i < m; i++)
        values[i] = values[i] > zero ? sqrt(values[i]) : 0;
    for (uint32_t i = 0; i < m / 2; i++) {
        double x = values[i];
        values[i] = values[m - 1 - i];
        values[m - 1 - i] = x;
    }
}

/* Least first, so that small values count. */
static void measure_values(emb_spectrum *s)
{
    double sum = 0, energy = 0, entropy = 0;
    for (size_t i = s->n; i-- > 0;) {
        sum += s->values[i];
        energy += s->values[i] * s->values[i];
    }
    for (size_t i = s->n; i-- > 0;) {
        double part = s->values[i] / sum;
        entropy -= part > 0 ? part * log(part) : 0;
        s->shares[i] = s->values[i] * s->values[i] / energy;
    }
    s->effective_rank = sum > 0 ? exp(entropy) : NAN;
}

/* Of n unit vectors u: sum over i != j of u_i.u_j = |sum of u|^2 - n. */
static double mean_cosine(const struct embi_panels *p)
{
    double n = (double)(p->all.finite - p->all.zero);
    if (n < 2)
        return NAN;
    double sum2 = embi_dot_f64(p->unit_sum, p->unit_sum, p->d);
    return embi_clamp_cosine((sum2 - n) / (n * (n - 1)));
}

static emb_status finish(struct work *w, emb_spectrum *s, emb_err *err)
{
    const struct embi_panels *p = &w->panels;
    s->finite_rows = p->all.finite;
    s->mean_cosine = mean_cosine(p);
    s->n = (size_t)embi_min(p->all.finite, p->d);
    s->shares = calloc(s->n + 1, sizeof *s->shares);
    if (!s->shares)
        return embi_fail_memory(err, s->n * sizeof *s->shares, "singular values");
    if (w->way != BY_ELEMENTS)
        roots(w->values, w->gram.m);
    s->values = w->values;
    w->values = NULL;
    measure_values(s);
    for (size_t i = 0; i < s->n; i++)
        s->values[i] = ldexp(s->values[i], w->exponent);
    return EMB_OK;
}

static emb_status run(struct work *w, emb_spectrum *s, emb_err *err)
{
    const struct embi_panels *p = &w->panels;
    uint64_t n = embi_min(p->rows, p->d);
    emb_status status = check_size(w, err);
    if (status)
        return status;
    say_cost(w);
    w->values = calloc(n + 1, sizeof *w->values);
    if (!w->values)
        return embi_fail_memory(err, n * sizeof *w->values, "singular values");
    if (n > 0)
        status = walk_in_range(w, err);
    if (!status && p->all.finite > 0)
        status = decompose(w, err);
    return status ? status : finish(w, s, err);
}

emb_status emb_spectrum_run(const emb_table *table, emb_spectrum *spectrum, emb_err *err)
{
    struct work w = {0};
    *spectrum = (emb_spectrum){.mean_cosine = NAN, .effective_rank = NAN};
    emb_status status = embi_blas_get(table->env, &w.blas, err);
    if (!status)
        status = embi_table_ready(table, err);
    if (!status)
        status = embi_table_will_scan(table, err);
    if (status)
        return status;
    plan(&w, table);
    status = run(&w, spectrum, err);
    embi_panels_free(&w.panels);
    embi_gram_free(&w.gram);
    free(w.values);
    if (status)
        emb_spectrum_free(spectrum);
    return status;
}

void emb_spectrum_free(emb_spectrum *spectrum)
{
    free(spectrum->values);
    free(spectrum->shares);
    *spectrum = (emb_spectrum){0};
}
