/* shared.c - a table cut over the GPUs of a device, and searched by all: see shared.h. */
#include "dev/shared.h"

#include <stdio.h>
#include <stdlib.h>

enum { UNIT = 8 }; /* rows that are not parted: masks of rows have so many in a byte */

/* ------------------------------------------------------------------------------------------------
 * Ranges
 */

static bool fits(uint64_t units, const uint64_t *room, int n)
{
    for (int i = 0; i < n; i++)
        units -= embi_min(units, room[i]);
    return units == 0;
}

static uint64_t even(uint64_t units, int n)
{
    return (units + (uint64_t)n - 1) / (uint64_t)n;
}

/* Those with less room than an even part get what they have room for; what is left goes to the
 * others, of which some may then have too little. */
static void cut(uint64_t units, const uint64_t *room, int n, uint64_t *parts)
{
    bool settled[EMBI_GPUS_MOST] = {false};
    int open = n;
    for (bool again = fits(units, room, n); again;) {
        again = false;
        for (int i = 0; i < n; i++)
            if (!settled[i] && room[i] < even(units, open)) {
                settled[i] = again = true;
                parts[i] = room[i];
                units -= room[i];
                open--;
            }
    }
    for (int i = 0; i < n; i++)
        if (!settled[i]) {
            parts[i] = even(units, open--);
            units -= parts[i];
        }
}

struct rooms {
    const struct embi_shared *table;
    uint64_t units[EMBI_GPUS_MOST];
};

static int ask_room(void *arg, int which, struct embi_cuda_fault *fault)
{
    struct rooms *r = arg;
    const emb_device *d = r->table->device;
    uint64_t rows = 0;
    int result = d->cuda->room(d->gpus[which].handle, r->table->rows.row_bytes, &rows, fault);
    r->units[which] = rows / UNIT;
    return result;
}

static int share_out(struct embi_shared *t, bool whole, struct embi_cuda_fault *fault)
{
    const uint64_t rows = t->rows.rows, units = (rows + UNIT - 1) / UNIT;
    const int n = t->device->n;
    struct rooms rooms = {.table = t};
    uint64_t parts[EMBI_GPUS_MOST], first = 0;
    const bool one = whole || n == 1;
    int result = one ? EMBI_CUDA_DONE : embi_gpus_run(t->device, ask_room, &rooms, fault);
    if (!result && !one)
        cut(units, rooms.units, n, parts);
    for (int i = 0; !result && i < n; i++) {
        t->shares[i] = (struct embi_share){.table = t, .rows = rows};
        if (one)
            continue;
        t->shares[i].first = embi_min(first * UNIT, rows);
        first += parts[i];
        t->shares[i].rows = embi_min(first * UNIT, rows) - t->shares[i].first;
    }
    return result;
}

/* ------------------------------------------------------------------------------------------------
 * Tables
 */

static bool fill_share(void *arg, uint64_t first, uint64_t n, void *to, uint64_t pitch)
{
    const struct embi_share *s = arg;
    const struct embi_cuda_rows *rows = &s->table->rows;
    return embi_gpus_fill(s->table->device, rows->fill, rows->arg, s->first + first, n, to, pitch);
}

static int open_share(void *arg, int which, struct embi_cuda_fault *fault)
{
    struct embi_shared *t = arg;
    struct embi_share *s = &t->shares[which];
    struct embi_cuda_rows rows = t->rows;
    rows.rows = s->rows;
    rows.fill = fill_share;
    rows.arg = s;
    return t->device->cuda->table_open(t->device->gpus[which].handle, &rows, &s->there,
                                       &s->resident, fault);
}

int embi_shared_open(emb_device *device, const struct embi_cuda_rows *rows, bool whole,
                     struct embi_shared **table, struct embi_cuda_fault *fault)
{
    struct embi_shared *t = calloc(1, sizeof *t);
    if (!t) {
        snprintf(fault->msg, sizeof fault->msg, "out of memory for a table");
        return EMBI_CUDA_HOST_MEMORY;
    }
    t->device = device;
    t->rows = *rows;
    int result = share_out(t, whole, fault);
    if (!result)
        result = embi_gpus_run(device, open_share, t, fault);
    if (result)
        embi_shared_close(t);
    else
        *table = t;
    return result;
}

void embi_shared_close(struct embi_shared *table)
{
    for (int i = 0; i < table->device->n; i++)
        if (table->shares[i].there)
            table->device->cuda->table_close(table->shares[i].there);
    free(table);
}

int embi_shared_pool(struct embi_shared *table, const struct embi_cuda_pool *pool,
                     struct embi_cuda_fault *fault)
{
    return table->device->cuda->pool(table->shares[0].there, pool, fault);
}

/* ------------------------------------------------------------------------------------------------
 * Searches
 */

struct searching {
    struct embi_shared *table;
    const struct embi_cuda_search *search;
    struct embi_shared_found *found;
    uint32_t odd_counts[EMBI_GPUS_MOST];
};

/* Rows have their numbers in the table again. */
static void renumber(const struct embi_cuda_found *found, const struct embi_cuda_search *s,
                     uint64_t first)
{
    for (uint32_t q = 0; q < s->n; q++)
        for (uint32_t i = 0; found->counts[q] <= s->cap && i < found->counts[q]; i++)
            found->hits[(uint64_t)q * s->cap + i].row += first;
    for (uint32_t i = 0; i < found->odd_count; i++)
        found->odd[i] += first;
}

static int search_share(void *arg, int which, struct embi_cuda_fault *fault)
{
    struct searching *all = arg;
    const struct embi_share *share = &all->table->shares[which];
    struct embi_cuda_search s = *all->search;
    if (share->rows == 0 || share->first >= s.rows)
        return EMBI_CUDA_DONE;
    const uint64_t lists = (uint64_t)which * s.n, first = share->first;
    struct embi_cuda_found found = {.hits = all->found->hits + lists * s.cap,
                                    .counts = all->found->counts + lists,
                                    .odd = all->found->odd + first};
    s.rows = embi_min(s.rows - first, share->rows);
    s.bias = s.bias ? s.bias + first : NULL;
    s.allowed = s.allowed ? s.allowed + first / UNIT : NULL;
    int result = all->table->device->cuda->search(share->there, &s, &found, fault);
    if (result)
        return result;
    renumber(&found, &s, first);
    all->odd_counts[which] = found.odd_count;
    return EMBI_CUDA_DONE;
}

/* Lists of odd rows close up. */
static void join_odd(struct searching *all)
{
    struct embi_shared_found *found = all->found;
    found->odd_count = 0;
    for (int i = 0; i < all->table->device->n; i++) {
        const uint32_t n = all->odd_counts[i];
        if (n > 0)
            memmove(found->odd + found->odd_count, found->odd + all->table->shares[i].first,
                    n * sizeof *found->odd);
        found->odd_count += n;
    }
}

int embi_shared_search(struct embi_shared *table, const struct embi_cuda_search *search,
                       struct embi_shared_found *found, struct embi_cuda_fault *fault)
{
    struct searching all = {.table = table, .search = search, .found = found};
    int result = embi_gpus_run(table->device, search_share, &all, fault);
    if (!result)
        join_odd(&all);
    return result;
}
