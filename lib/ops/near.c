/* near.c - see near.h. A few columns tell that two vectors are not near each other.
 *
 * Let r have the cosine c > 0 with q, and let q' be q of length 1. Then r = a q' + e, where e is
 * orthogonal to q' and |e| = a t, t^2 = 1/c^2 - 1. On the columns C alone |r_C - a q'_C| <= a t for
 * that a, which some a > 0 fulfils only where r_C.q'_C > 0 and
 *     (r_C.q'_C)^2 >= |r_C|^2 (|q'_C|^2 - t^2).
 * The kernels compute both sides in f32; a row that passes, with room for their rounding, is scored
 * whole in double precision.
 */
#include "ops/near.h"

#include "ops/mean.h"
#include "ops/search.h"
#include "util/err.h"
#include "util/loop.h"

#include <math.h>
#include <stdlib.h>

enum { ITEM_ROWS = 1024, LEAST_COLUMNS = 64 };

#define TANGENT2     (1 / (EMBI_NEAR_COSINE * EMBI_NEAR_COSINE) - 1) /* t^2 */
#define INLINE_BYTES (4u << 20) /* smaller tables are not worth a thread */

typedef void dot_fn(const void *const *rows, size_t n, uint32_t d, const float *q, float *dot,
                    float *norm2);

/* One vector. */
struct query {
    const double *x; /* [d] */
    double norm2;
    uint32_t columns; /* the first ones are looked at; 0: it is near nothing */
    float *part;      /* [columns]: those of x at length 1 */
    double least;     /* of (r_C.q'_C)^2 / |r_C|^2 */
};

struct near {
    const emb_table *table;
    const struct embi_vocab *owners;
    dot_fn *dot;           /* NULL: rows are scored whole */
    struct query *queries; /* [n] */
    size_t n;
    float *parts;    /* [n, d] */
    double *scratch; /* [workers, d] */
    uint64_t *found; /* [items, n]: the first row, or EMB_ROW_NEW */
};

static dot_fn *kernel_of(const emb_table *t)
{
    const struct embi_kern *k = t->env->kern;
    if (!embi_table_direct(t))
        return NULL;
    switch (t->layout.dtype) {
    case EMB_F32: return k->dot_f32;
    case EMB_F16: return k->dot_f16;
    case EMB_BF16: return k->dot_bf16;
    default: return NULL;
    }
}

/* So many columns that what they leave open is small beside what they hold. */
static void prepare(struct query *q, const double *x, uint32_t d, float *part)
{
    double norm2 = embi_dot_f64(x, x, d), held = 0;
    *q = (struct query){.x = x, .norm2 = norm2, .part = part};
    if (!embi_all_finite(x, norm2, d) || !isfinite(norm2) || norm2 == 0)
        return;
    while (q->columns < d && (q->columns < LEAST_COLUMNS || held < 100 * TANGENT2)) {
        double unit = x[q->columns] / sqrt(norm2);
        held += unit * unit;
        part[q->columns++] = (float)unit;
    }
    q->least = held - TANGENT2 - 4 * embi_dot_bound(q->columns) * held;
}

/* Are the first columns all +0, as in rows that were never trained? Squares that are too small for
 * f32 are not taken for that. There is one byte at least: queries of no columns are not looked at,
 * and types with a kernel have bytes. */
static bool begins_with_zeros(const struct near *s, const struct query *q, const void *row)
{
    const unsigned char *bytes = row;
    size_t n = q->columns * emb_dtype_bytes(s->table->layout.dtype);
    return bytes[0] == 0 && memcmp(bytes, bytes + 1, n - 1) == 0;
}

/* May the row be near? Numbers that f32 cannot judge: it may. */
static bool may_be_near(const struct near *s, const struct query *q, const void *row, float dot,
                        float norm2)
{
    double x = (double)dot, square = (double)norm2;
    if (square == 0 && begins_with_zeros(s, q, row))
        return false;
    if (!(square > 1e-30 && square < 1e30))
        return true;
    return x > 0 && x * x >= square * q->least;
}

static emb_status is_near(const struct near *s, const struct query *q, uint64_t row, double *x,
                          bool *near, emb_err *err)
{
    uint32_t d = s->table->layout.dims;
    emb_status status = embi_fetch_row_f64(s->table, row, x, err);
    if (status)
        return status;
    double norm2 = embi_dot_f64(x, x, d);
    *near = embi_all_finite(x, norm2, d) &&
            embi_score(x, norm2, q->x, q->norm2, d, EMB_COSINE) >= EMBI_NEAR_COSINE;
    return EMB_OK;
}

/* The first of rows ids [n] that is near. */
static emb_status look(const struct near *s, const struct query *q, const uint64_t *ids, size_t n,
                       double *x, uint64_t *found, emb_err *err)
{
    const void *rows[EMBI_BLOCK_ROWS];
    float dot[EMBI_BLOCK_ROWS], norm2[EMBI_BLOCK_ROWS];
    emb_status status = EMB_OK;
    for (size_t i = 0; s->dot && i < n; i++)
        rows[i] = embi_table_row(s->table, ids[i]);
    if (s->dot)
        s->dot(rows, n, q->columns, q->part, dot, norm2);
    for (size_t i = 0; !status && i < n && *found == EMB_ROW_NEW; i++) {
        bool near = false;
        if (!s->dot || may_be_near(s, q, rows[i], dot[i], norm2[i]))
            status = is_near(s, q, ids[i], x, &near, err);
        if (near)
            *found = ids[i];
    }
    return status;
}

static emb_status look_at_item(void *arg, size_t item, int worker, emb_err *err)
{
    const struct near *s = arg;
    double *x = s->scratch + (size_t)worker * s->table->layout.dims;
    uint64_t ids[EMBI_BLOCK_ROWS], *found = s->found + item * s->n, first = item * ITEM_ROWS;
    uint64_t end = embi_min(first + ITEM_ROWS, s->table->layout.rows);
    emb_status status = EMB_OK;
    for (size_t i = 0; i < s->n; i++)
        found[i] = EMB_ROW_NEW;
    for (uint64_t row = first; !status && row < end;) {
        size_t n = 0;
        for (; row < end && n < EMBI_BLOCK_ROWS; row++)
            if (embi_row_owned(s->owners, row))
                ids[n++] = row;
        for (size_t i = 0; !status && i < s->n; i++)
            if (s->queries[i].columns)
                status = look(s, &s->queries[i], ids, n, x, &found[i], err);
    }
    embi_table_forget(s->table, first, end - first);
    return status;
}

static emb_status search(struct near *s, const double *x, uint64_t *rows, emb_err *err)
{
    const struct embi_layout *l = &s->table->layout;
    bool small = l->rows * embi_layout_row_bytes(l) < INLINE_BYTES;
    struct embi_pool *pool = small ? NULL : s->table->env->pool;
    size_t items = (l->rows + ITEM_ROWS - 1) / ITEM_ROWS, d = l->dims;
    s->queries = calloc(s->n + 1, sizeof *s->queries);
    s->parts = malloc((s->n * d + 1) * sizeof *s->parts);
    s->scratch =
        malloc(((size_t)(pool ? embi_pool_threads(pool) : 1) * d + 1) * sizeof *s->scratch);
    s->found = malloc((items * s->n + 1) * sizeof *s->found);
    if (!s->queries || !s->parts || !s->scratch || !s->found)
        return embi_fail_memory(err, (items + d) * s->n * sizeof *s->found, "a search");
    for (size_t i = 0; i < s->n; i++)
        prepare(&s->queries[i], x + i * d, (uint32_t)d, s->parts + i * d);
    emb_status status = embi_loop(pool, items, look_at_item, s, err);
    for (size_t k = 0; !status && k < items * s->n; k++)
        if (rows[k % s->n] == EMB_ROW_NEW)
            rows[k % s->n] = s->found[k];
    return status;
}

emb_status embi_near_rows(const emb_table *table, const struct embi_vocab *owners, const double *x,
                          size_t n, uint64_t *rows, emb_err *err)
{
    struct near s = {.table = table, .owners = owners, .n = n};
    for (size_t i = 0; i < n; i++)
        rows[i] = EMB_ROW_NEW;
    emb_status status = embi_table_ready(table, err);
    if (!status)
        status = embi_table_will_scan(table, err);
    if (status || n == 0)
        return status;
    s.dot = kernel_of(table);
    status = search(&s, x, rows, err);
    free(s.queries);
    free(s.parts);
    free(s.scratch);
    free(s.found);
    return status;
}

bool embi_near_each_other(const double *x, size_t n, uint32_t d, size_t *a, size_t *b)
{
    for (*b = 1; *b < n; ++*b)
        for (*a = 0; *a < *b; ++*a)
            if (emb_score(x + *a * d, x + *b * d, d, EMB_COSINE) >= EMBI_NEAR_COSINE)
                return true;
    return false;
}
