/* rowruns.c - see rowruns.h. */
#include "ops/rowruns.h"

#include "util/err.h"

#include <stdlib.h>

static emb_status make_room(struct embi_row_runs *r, emb_err *err)
{
    if (r->n < r->capacity)
        return EMB_OK;
    size_t capacity = r->capacity ? 2 * r->capacity : 16;
    emb_row_run *list = realloc(r->list, capacity * sizeof *list);
    if (!list)
        return embi_fail_memory(err, capacity * sizeof *list, "a plan");
    r->list = list;
    r->capacity = capacity;
    return EMB_OK;
}

/* Does a row from there go on where the run ends? */
static bool continues(const emb_row_run *run, uint64_t source)
{
    if (run->source == EMB_ROW_NEW || source == EMB_ROW_NEW)
        return run->source == source;
    return run->source + run->rows == source;
}

emb_status embi_row_runs_add(struct embi_row_runs *r, uint64_t source, uint64_t rows, emb_err *err)
{
    if (rows == 0)
        return EMB_OK;
    if (r->n == 0 || !continues(&r->list[r->n - 1], source)) {
        emb_status status = make_room(r, err);
        if (status)
            return status;
        r->list[r->n++] = (emb_row_run){0, source};
    }
    r->list[r->n - 1].rows += rows;
    r->rows += rows;
    return EMB_OK;
}

void embi_row_runs_free(struct embi_row_runs *r)
{
    free(r->list);
    free(r->placed);
    *r = (struct embi_row_runs){0};
}

static int by_source(const void *a, const void *b)
{
    uint64_t x = ((const struct embi_placed_run *)a)->run.source;
    uint64_t y = ((const struct embi_placed_run *)b)->run.source;
    return (x > y) - (x < y);
}

emb_status embi_row_runs_index(struct embi_row_runs *r, emb_err *err)
{
    uint64_t place = 0;
    r->placed = malloc((r->n + 1) * sizeof *r->placed);
    if (!r->placed)
        return embi_fail_memory(err, r->n * sizeof *r->placed, "a plan");
    for (size_t i = 0; i < r->n; i++) {
        r->placed[i] = (struct embi_placed_run){r->list[i], place};
        place += r->list[i].rows;
    }
    qsort(r->placed, r->n, sizeof *r->placed, by_source);
    return EMB_OK;
}

uint64_t embi_row_runs_place(const struct embi_row_runs *r, uint64_t row)
{
    size_t low = 0, high = r->n; /* the last run that begins at the row or before it */
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (r->placed[middle].run.source <= row)
            low = middle;
        else
            high = middle;
    }
    return r->placed[low].place + (row - r->placed[low].run.source);
}
