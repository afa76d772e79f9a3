/* assemble_waves.c - rows of sinusoidal positions, kept while sequence after sequence needs the
 * same ones; see assemble.h. Sines take a hundred times as long as a sum.
 */
#include "num/dtype.h"
#include "ops/assemble.h"
#include "util/err.h"

#include <stdlib.h>

enum { KEPT_BYTES = 64 << 20 };

static uint64_t most_rows(const struct emb_assembly *a)
{
    return embi_max(1, KEPT_BYTES / embi_max(a->waves.dims * embi_work_bytes(a), 1));
}

/* Room for n rows; those that are there stay. */
static emb_status grow(struct emb_assembly *a, uint64_t n, emb_err *err)
{
    struct embi_wave_rows *w = &a->waves;
    if (n <= w->cap)
        return EMB_OK;
    uint64_t cap = embi_min(most_rows(a), embi_max(n, 2 * w->cap));
    size_t bytes = cap * w->dims * embi_work_bytes(a);
    char *rows = realloc(w->rows, bytes);
    if (!rows)
        return embi_fail_memory(err, bytes, "rows of positions");
    w->rows = rows;
    w->cap = cap;
    return EMB_OK;
}

/* Makes rows behind those that are there, up to that of position `last`: of the work type, and then
 * each goes to its place, which is before it. */
static emb_status extend(struct emb_assembly *a, uint64_t last, emb_err *err)
{
    struct embi_wave_rows *w = &a->waves;
    const size_t row_bytes = w->dims * emb_dtype_bytes(a->info.dtype);
    const size_t work_bytes = w->dims * embi_work_bytes(a);
    uint64_t from = w->first + w->n, n = last + 1 - from;
    emb_status status = grow(a, w->n + n, err);
    if (status)
        return status;
    char *rows = w->rows + w->n * row_bytes, *work = w->rows + w->n * work_bytes;
    emb_block block = {work, n, w->dims, embi_work_dtype(a), 0};
    status = embi_sinusoid_fill(a->env, w->layout, 10000, from + a->layer.offset, &block, err);
    for (uint64_t r = 0; !status && r < n && row_bytes < work_bytes; r++) {
        embi_assembly_round(a, a->rooms[0].row, work + r * work_bytes, w->dims);
        memcpy(rows + r * row_bytes, a->rooms[0].row, row_bytes);
    }
    w->n += status ? 0 : n;
    return status;
}

emb_status embi_waves_cover(struct emb_assembly *a, const uint64_t *positions, size_t n,
                            size_t *covered, emb_err *err)
{
    struct embi_wave_rows *w = &a->waves;
    uint64_t low = UINT64_MAX, high = 0, most = most_rows(a);
    size_t i = 0;
    for (; i < n; i++) {
        uint64_t t = positions[i];
        if (t == EMB_POSITION_PADDING)
            continue;
        if (embi_max(high, t) - embi_min(low, t) >= most && low != UINT64_MAX)
            break;
        low = embi_min(low, t);
        high = embi_max(high, t);
    }
    *covered = i;
    if (low > high || (low >= w->first && high < w->first + w->n))
        return EMB_OK;
    if (low < w->first || low > w->first + w->n || high - w->first >= most) {
        w->first = low;
        w->n = 0;
    }
    return extend(a, high, err);
}
