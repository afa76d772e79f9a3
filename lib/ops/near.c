/* near.c - see near.h. A search for the nearest row, slice by slice: what a slice had mapped is let
 * go before the next.
 */
#include "ops/near.h"

#include "ops/mean.h"
#include "ops/search.h"
#include "util/err.h"

#include <stdlib.h>

#define SLICE_BYTES (64u << 20)

struct near {
    const emb_table *table;
    const struct embi_vocab *owners;
    uint8_t *allowed; /* [V/8]: owned rows of the slice    */
    double *x;        /* [n, d]: vectors that have a norm  */
    size_t *number;   /* [n]: whose they are               */
    size_t n;
    emb_hit *hits;  /* [n]: of one slice                 */
    double *best;   /* [n]                               */
    size_t *counts; /* [n]                               */
};

static bool has_norm(const double *x, uint32_t d)
{
    double norm2 = embi_dot_f64(x, x, d);
    return embi_all_finite(x, norm2, d) && !embi_all_zero(x, d);
}

static emb_status begin(struct near *s, const double *x, size_t n, emb_err *err)
{
    uint64_t v = s->table->layout.rows, d = s->table->layout.dims;
    s->allowed = malloc(v / 8 + 1);
    s->x = malloc((n * d + 1) * sizeof *s->x);
    s->number = calloc(n + 1, sizeof *s->number);
    s->hits = calloc(n + 1, sizeof *s->hits);
    s->best = calloc(n + 1, sizeof *s->best);
    s->counts = calloc(n + 1, sizeof *s->counts);
    if (!s->allowed || !s->x || !s->number || !s->hits || !s->best || !s->counts)
        return embi_fail_memory(err, v / 8 + n * d * sizeof *s->x, "a search");
    for (size_t i = 0; i < n; i++)
        if (has_norm(x + i * d, (uint32_t)d)) {
            memcpy(s->x + s->n * d, x + i * d, d * sizeof *x);
            s->number[s->n++] = i;
        }
    return EMB_OK;
}

static void allow_slice(struct near *s, uint64_t first, uint64_t end)
{
    memset(s->allowed, 0, s->table->layout.rows / 8 + 1);
    for (uint64_t row = first; row < end; row++)
        if (embi_row_owned(s->owners, row))
            s->allowed[row / 8] |= (uint8_t)(1u << row % 8);
}

static emb_status search_slice(struct near *s, uint64_t first, uint64_t end, uint64_t *rows,
                               emb_err *err)
{
    emb_search_opts opts = {.size = sizeof opts,
                            .k = 1,
                            .has_min_score = true,
                            .min_score = EMBI_NEAR_COSINE,
                            .restrict_rows = end,
                            .allowed = s->allowed};
    emb_block queries = {
        .data = s->x, .rows = s->n, .dims = s->table->layout.dims, .dtype = EMB_F64};
    allow_slice(s, first, end);
    emb_status status = emb_search(s->table, &queries, &opts, s->hits, s->counts, NULL, err);
    for (size_t i = 0; !status && i < s->n; i++)
        if (s->counts[i] && s->hits[i].score > s->best[i]) {
            s->best[i] = s->hits[i].score;
            rows[s->number[i]] = s->hits[i].row;
        }
    embi_table_forget(s->table, first, end - first);
    return status;
}

emb_status embi_near_rows(const emb_table *table, const struct embi_vocab *owners, const double *x,
                          size_t n, uint64_t *rows, emb_err *err)
{
    struct near s = {.table = table, .owners = owners};
    for (size_t i = 0; i < n; i++)
        rows[i] = EMB_ROW_NEW;
    emb_status status = embi_table_ready(table, err);
    if (!status)
        status = begin(&s, x, n, err);
    uint64_t v = table->layout.rows;
    uint64_t step = SLICE_BYTES / (table->layout.dims * emb_dtype_bytes(table->layout.dtype));
    for (uint64_t first = 0, end; !status && s.n && first < v; first = end) {
        end = embi_min(v, first + embi_max(step, EMBI_BLOCK_ROWS));
        status = search_slice(&s, first, end, rows, err);
    }
    free(s.allowed);
    free(s.x);
    free(s.number);
    free(s.hits);
    free(s.best);
    free(s.counts);
    return status;
}

bool embi_near_each_other(const double *x, size_t n, uint32_t d, size_t *a, size_t *b)
{
    for (*b = 1; *b < n; ++*b)
        for (*a = 0; *a < *b; ++*a)
            if (has_norm(x + *a * d, d) && has_norm(x + *b * d, d) &&
                emb_score(x + *a * d, x + *b * d, d, EMB_COSINE) >= EMBI_NEAR_COSINE)
                return true;
    return false;
}
