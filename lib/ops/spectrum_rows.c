/* spectrum_rows.c - the rows of a table as panels of f64, measured on the way (spectrum.h).
 *
 * Blocks of EMBI_BLOCK_ROWS rows are filled in parallel, each with figures of its own, which are
 * joined in block order: threads do not show. A row whose square leaves the comfortable range of
 * f64 is measured as multiplied by a power of two.
 */
#include "ops/search.h"
#include "ops/spectrum.h"
#include "util/err.h"
#include "util/large.h"
#include "util/loop.h"

#include <math.h>
#include <stdlib.h>

struct measure {
    double scale, inverse; /* row * scale * inverse is the unit row */
    double largest;
};

static uint64_t panel_blocks(const struct embi_panels *p)
{
    return (p->panel_rows + EMBI_BLOCK_ROWS - 1) / EMBI_BLOCK_ROWS;
}

static size_t workers(const struct embi_panels *p)
{
    return p->pool ? (size_t)embi_pool_threads(p->pool) : 1;
}

static uint64_t scratch_rows(const struct embi_panels *p)
{
    return p->transposed ? workers(p) * EMBI_BLOCK_ROWS : 0;
}

uint64_t embi_panels_bytes(const struct embi_panels *p)
{
    uint64_t bytes, rows = p->panel_rows + scratch_rows(p) + panel_blocks(p) + 1;
    return embi_mul(rows, p->d * sizeof(double), &bytes) ? bytes : UINT64_MAX;
}

static emb_status allocate(struct embi_panels *p, emb_err *err)
{
    uint64_t bytes = embi_panels_bytes(p), row_bytes = p->d * sizeof(double);
    if (bytes > PTRDIFF_MAX)
        return embi_fail_memory(err, bytes, "rows");
    p->panel = embi_large_alloc(p->panel_rows * row_bytes);
    p->scratch = malloc(scratch_rows(p) * row_bytes + 1);
    p->counts = calloc(panel_blocks(p), sizeof *p->counts);
    p->units = malloc(panel_blocks(p) * row_bytes);
    p->unit_sum = malloc(row_bytes);
    if (!p->panel || !p->scratch || !p->counts || !p->units || !p->unit_sum)
        return embi_fail_memory(err, bytes, "rows");
    return EMB_OK;
}

emb_status embi_panels_begin(struct embi_panels *p, emb_err *err)
{
    emb_status status = p->panel ? EMB_OK : allocate(p, err);
    if (status)
        return status;
    p->first = p->n = 0;
    p->all = (struct embi_row_counts){0};
    memset(p->unit_sum, 0, p->d * sizeof *p->unit_sum);
    return EMB_OK;
}

void embi_panels_free(struct embi_panels *p)
{
    free(p->panel);
    free(p->scratch);
    free(p->counts);
    free(p->units);
    free(p->unit_sum);
}

/* A row of zeros has inverse 0. False: the row is not finite. */
static bool measure_row(const double *x, uint32_t d, struct measure *m)
{
    double norm2 = embi_dot_f64(x, x, d);
    *m = (struct measure){.scale = 1};
    if (embi_comfortable(norm2)) {
        m->largest = sqrt(norm2);
        m->inverse = 1 / m->largest;
        return true;
    }
    if (!embi_all_finite(x, norm2, d))
        return false;
    m->largest = embi_largest(x, d);
    if (m->largest == 0)
        return true;
    m->scale = ldexp(1, -embi_scale_exponent(m->largest));
    norm2 = 0;
    for (uint32_t c = 0; c < d; c++)
        norm2 += (x[c] * m->scale) * (x[c] * m->scale);
    m->inverse = 1 / sqrt(norm2);
    return true;
}

/* Measures one row, and prepares it for the panel. */
static void take_row(const struct embi_panels *p, double *restrict x,
                     struct embi_row_counts *counts, double *restrict units)
{
    struct measure m;
    if (!measure_row(x, p->d, &m)) {
        memset(x, 0, p->d * sizeof *x);
        return;
    }
    counts->finite++;
    counts->zero += m.largest == 0;
    counts->largest = fmax(counts->largest, m.largest);
    for (uint32_t c = 0; c < p->d; c++)
        units[c] += x[c] * m.scale * m.inverse;
    for (uint32_t c = 0; p->factor != 1 && c < p->d; c++)
        x[c] *= p->factor;
}

/* Rows [n, d] become columns of the panel [d, panel_rows], from column `first` on. */
static void transpose(const struct embi_panels *p, const double *rows, uint64_t first, uint64_t n)
{
    for (uint32_t c = 0; c < p->d; c++)
        for (uint64_t r = 0; r < n; r++)
            p->panel[c * p->panel_rows + first + r] = rows[r * p->d + c];
}

static emb_status take_block(void *arg, size_t block, int worker, emb_err *err)
{
    const struct embi_panels *p = arg;
    uint64_t first = block * EMBI_BLOCK_ROWS, n = embi_min(EMBI_BLOCK_ROWS, p->n - first);
    double *rows = p->transposed ? p->scratch + (uint64_t)worker * EMBI_BLOCK_ROWS * p->d
                                 : p->panel + first * p->d;
    double *units = p->units + block * p->d;
    emb_status status = embi_fetch(p->table, p->first + first, n, EMB_F64, rows, err);
    if (status)
        return status;
    p->counts[block] = (struct embi_row_counts){0};
    memset(units, 0, p->d * sizeof *units);
    for (uint64_t r = 0; r < n; r++)
        take_row(p, rows + r * p->d, &p->counts[block], units);
    if (p->transposed)
        transpose(p, rows, first, n);
    return EMB_OK;
}

static void join_block(struct embi_panels *p, uint64_t block)
{
    const struct embi_row_counts *counts = &p->counts[block];
    p->all.finite += counts->finite;
    p->all.zero += counts->zero;
    p->all.largest = fmax(p->all.largest, counts->largest);
    for (uint32_t c = 0; c < p->d; c++)
        p->unit_sum[c] += p->units[block * p->d + c];
}

emb_status embi_panels_next(struct embi_panels *p, emb_err *err)
{
    p->first += p->n;
    p->n = embi_min(p->panel_rows, p->rows - p->first);
    uint64_t blocks = (p->n + EMBI_BLOCK_ROWS - 1) / EMBI_BLOCK_ROWS;
    emb_status status = embi_loop(p->pool, blocks, take_block, p, err);
    for (uint64_t block = 0; !status && block < blocks; block++)
        join_block(p, block);
    return status;
}
