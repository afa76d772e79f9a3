/* safetensors_spans.c - checks that the tensors of a safetensors file cover its data exactly:
 * sorted by place, the first begins at 0 and each begins where the one before it ends.
 *
 * So no byte is without an owner and none has two (no tensor can hide in another). Bytes after the
 * last tensor harm nobody who reads: a warning, or an error under `strict`.
 * Specification: safetensors, "the byte buffer needs to be entirely indexed, and cannot contain
 * holes".
 */
#include "fmt/safetensors.h"

#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

struct span {
    uint64_t begin, end; /* from the start of the data */
    size_t tensor;
};

static int by_place(const void *a, const void *b)
{
    const struct span *x = a, *y = b;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    if (x->end != y->end)
        return x->end < y->end ? -1 : 1;
    return (x->tensor > y->tensor) - (x->tensor < y->tensor);
}

/* `next` does not begin where `last` (NULL: the start of the data) ends. */
static emb_status fail_between(const struct embi_reader *r, const struct span *last,
                               const struct span *next, int64_t at, emb_err *err)
{
    char x[EMBI_SHOW_MAX], y[EMBI_SHOW_MAX];
    embi_show(y, r->tensors[next->tensor].name);
    if (!last)
        return embi_fail(err, EMB_BAD_DATA, at,
                         "tensor '%s' is the first and begins at byte %" PRIu64
                         " of the data, expected 0",
                         y, next->begin);
    embi_show(x, r->tensors[last->tensor].name);
    if (next->begin > last->end)
        return embi_fail(err, EMB_BAD_DATA, at,
                         "tensor '%s' ends at byte %" PRIu64 " of the data and '%s' begins at "
                         "%" PRIu64 ": what is between belongs to neither",
                         x, last->end, y, next->begin);
    if (next->begin == last->begin && next->end == last->end)
        return embi_fail(err, EMB_BAD_DATA, at,
                         "tensors '%s' and '%s' are the same bytes %" PRIu64 "..%" PRIu64, x, y,
                         next->begin, next->end);
    return embi_fail(err, EMB_BAD_DATA, at,
                     "tensors '%s' and '%s' overlap: expected byte %" PRIu64 ", found %" PRIu64, x,
                     y, last->end, next->begin);
}

static emb_status check_sorted(const struct embi_reader *r, const struct span *spans,
                               const struct embi_st_keys *keys, uint64_t *end, emb_err *err)
{
    *end = 0;
    for (size_t i = 0; i < r->n_tensors; i++) {
        if (spans[i].begin != *end)
            return fail_between(r, i ? &spans[i - 1] : NULL, &spans[i],
                                (int64_t)keys->list[spans[i].tensor].at, err);
        *end = spans[i].end;
    }
    return EMB_OK;
}

static emb_status trailing(const struct embi_reader *r, uint64_t end, uint64_t bytes, emb_err *err)
{
    const char *plural = bytes == 1 ? "" : "s";
    if (r->opts.strict)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)end,
                         "%" PRIu64 " byte%s after the last tensor", bytes, plural);
    embi_log(r->env, EMB_LOG_WARNING, r->path, "%" PRIu64 " byte%s after the last tensor", bytes,
             plural);
    return EMB_OK;
}

emb_status embi_st_check_spans(const struct embi_reader *r, const struct embi_st_keys *keys,
                               uint64_t data_at, uint64_t data_bytes, emb_err *err)
{
    uint64_t end;
    size_t n = r->n_tensors;
    struct span *spans = calloc(n + 1, sizeof *spans); /* [n] */
    if (!spans)
        return embi_fail_memory(err, (n + 1) * sizeof *spans, "the places of tensors");
    for (size_t i = 0; i < n; i++) {
        spans[i].begin = r->tensors[i].offset - data_at;
        spans[i].end = spans[i].begin + r->tensors[i].bytes;
        spans[i].tensor = i;
    }
    qsort(spans, n, sizeof *spans, by_place);
    emb_status status = check_sorted(r, spans, keys, &end, err);
    if (status == EMB_OK && end < data_bytes)
        status = trailing(r, data_at + end, data_bytes - end, err);
    free(spans);
    return status;
}
