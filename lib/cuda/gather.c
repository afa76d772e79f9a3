/* gather.c - rows by their ids: bare, with rows of another table added, and pooled.
 *
 * Of a table that is not resident each window that has wanted rows comes over once for some number
 * of ids: these are put in order of windows first, and each remembers its place.
 */
#include "cuda/device.h"

#include <stdlib.h>

#define WIDE_BYTES 512 /* rows from here on are worth a whole warp */

/* Some ids of a table, on their way to the device. */
struct gather {
    struct embi_cuda_table *table;
    const uint64_t *ids; /* [n] */
    size_t n;
    uint64_t *sorted, *places; /* [most] of windows one after another; not of a resident table */
    size_t *ends;              /* [windows] where those of a window end                        */
    uint64_t windows;
    enum embi_buffer buffers; /* the first of three */
    embi_address ids_at, places_at;
    struct embi_gather_args args; /* but for what a window decides */
};

static uint64_t window_of(const struct gather *g, uint64_t id)
{
    return id / embi_cuda_table_window(g->table);
}

static size_t begin_of(const struct gather *g, uint64_t window)
{
    return window == 0 ? 0 : g->ends[window - 1];
}

/* Room for at most so many ids at a time. */
static int begin(struct gather *g, struct embi_cuda_table *table, enum embi_buffer buffers,
                 size_t most, struct embi_cuda_fault *fault)
{
    *g = (struct gather){.table = table, .buffers = buffers};
    const size_t scratch = table->resident ? 0 : most * sizeof *g->sorted;
    g->windows = table->rows.rows ? window_of(g, table->rows.rows - 1) + 1 : 0;
    g->ends = calloc(g->windows + 1, sizeof *g->ends);
    g->sorted = malloc(scratch + 1);
    g->places = malloc(scratch + 1);
    if (!g->ends || !g->sorted || !g->places)
        return embi_cuda_fail(fault, EMBI_CUDA_HOST_MEMORY, "out of memory for %zu ids", most);
    return EMBI_CUDA_DONE;
}

static void end(struct gather *g)
{
    free(g->ends);
    free(g->sorted);
    free(g->places);
}

/* Counting sort by window; ids become those in their window. */
static void sort_ids(struct gather *g)
{
    const uint64_t rows = embi_cuda_table_window(g->table);
    size_t sum = 0;
    for (uint64_t w = 0; w < g->windows; w++)
        g->ends[w] = 0;
    for (size_t i = 0; i < g->n; i++)
        g->ends[window_of(g, g->ids[i])]++;
    for (uint64_t w = 0; w < g->windows; w++) { /* ends[w]: where window w begins */
        size_t count = g->ends[w];
        g->ends[w] = sum;
        sum += count;
    }
    for (size_t i = 0; i < g->n; i++) {
        size_t at = g->ends[window_of(g, g->ids[i])]++;
        g->sorted[at] = g->ids[i] % rows;
        g->places[at] = i;
    }
}

/* A resident table is one window, and ids stay in their order. */
static int send_ids(struct gather *g, const uint64_t *ids, size_t n, struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = g->table->device;
    const uint64_t bytes = n * sizeof *ids;
    embi_address ids_at = 0, places_at = 0;
    g->ids = ids;
    g->n = n;
    g->ends[0] = n;
    if (!g->table->resident)
        sort_ids(g);
    int result = embi_cuda_device_send(d, g->buffers, g->table->resident ? ids : g->sorted, bytes,
                                       &ids_at, fault);
    if (!result && !g->table->resident)
        result = embi_cuda_device_send(d, g->buffers + 1, g->places, bytes, &places_at, fault);
    g->ids_at = ids_at;
    g->places_at = places_at;
    return result;
}

/* ------------------------------------------------------------------------------------------------
 * Copies
 */

/* The kernel of rows of that width, and the lanes that it has for one. */
static enum embi_cuda_kernel kernel_of(uint64_t bytes, unsigned *lanes)
{
    *lanes = bytes % 16 || bytes >= WIDE_BYTES ? EMBI_WARP : 8;
    if (bytes % 4)
        return embi_gather_bytes_kernel;
    if (bytes % 16)
        return embi_gather_words_kernel;
    return bytes >= WIDE_BYTES ? embi_gather_wide_kernel : embi_gather_narrow_kernel;
}

static bool wanted(void *arg, uint64_t first, uint64_t rows)
{
    const struct gather *g = arg;
    (void)rows;
    return g->ends[window_of(g, first)] > begin_of(g, window_of(g, first));
}

static int gather_window(void *arg, const struct embi_cuda_window *w, struct embi_cuda_fault *fault)
{
    struct gather *g = arg;
    struct embi_cuda_device *d = g->table->device;
    size_t first = begin_of(g, window_of(g, w->first));
    struct embi_gather_args args = g->args;
    unsigned lanes;
    enum embi_cuda_kernel kernel = kernel_of(args.row_bytes, &lanes);
    args.table = w->at;
    args.ids = g->ids_at + first * sizeof *g->ids;
    args.places = g->places_at ? g->places_at + first * sizeof *g->places : 0;
    args.n = g->ends[window_of(g, w->first)] - first;
    return embi_cuda_device_launch(
        d, kernel, &args, embi_cuda_device_blocks(d, args.n, EMBI_BLOCK_THREADS / lanes), 1, fault);
}

/* The rows of these ids, `pitch` bytes apart, in that buffer. */
static int copy_rows(struct gather *g, enum embi_buffer buffer, uint64_t row_bytes, uint64_t pitch,
                     embi_address *at, struct embi_cuda_fault *fault)
{
    int result = embi_cuda_device_reserve(g->table->device, buffer, g->n * pitch, at, fault);
    if (result)
        return result;
    g->args = (struct embi_gather_args){
        .pitch = g->table->pitch, .out = *at, .out_pitch = pitch, .row_bytes = row_bytes};
    return embi_cuda_table_windows(g->table, g->table->rows.rows, UINT64_MAX, wanted, gather_window,
                                   g, fault);
}

/* Rows go out without gaps, since the bus is what is slow. */
static int gather_parts(struct gather *g, const uint64_t *ids, size_t n, size_t most,
                        embi_cuda_put_fn *put, void *arg, struct embi_cuda_fault *fault)
{
    const uint64_t bytes = g->table->rows.row_bytes;
    embi_address out;
    int result = EMBI_CUDA_DONE;
    for (size_t done = 0; !result && done < n; done += g->n) {
        result = send_ids(g, ids + done, n - done < most ? n - done : most, fault);
        if (!result)
            result = copy_rows(g, EMBI_BUFFER_OUT, bytes, bytes, &out, fault);
        if (!result)
            result =
                embi_cuda_rows_download(g->table->device, out, done, g->n, bytes, put, arg, fault);
    }
    return result;
}

/* Rows that are made at a time, of n. */
static size_t part_of(size_t n, uint64_t row_bytes)
{
    const uint64_t most = EMBI_OUT_BYTES / row_bytes;
    return n < most ? n : (size_t)most;
}

int embi_cuda_table_gather(struct embi_cuda_table *table, const uint64_t *ids, size_t n,
                           embi_cuda_put_fn *put, void *arg, struct embi_cuda_fault *fault)
{
    struct gather g;
    if (n == 0 || table->rows.row_bytes == 0)
        return EMBI_CUDA_DONE;
    const size_t most = part_of(n, table->rows.row_bytes);
    int result = begin(&g, table, EMBI_BUFFER_IDS, most, fault);
    if (!result)
        result = embi_cuda_device_enter(table->device, fault);
    if (!result)
        result = embi_cuda_device_leave(table->device,
                                        gather_parts(&g, ids, n, most, put, arg, fault), fault);
    end(&g);
    return result;
}

/* ------------------------------------------------------------------------------------------------
 * Rows that a kernel computes with
 */

/* Where the rows of some ids lie: row i is row ids[i], or, where ids is 0, row i. */
struct view {
    uint64_t at, pitch, ids;
};

/* A resident table is used where it lies; of another the rows are brought together first. */
static int view(struct gather *g, const uint64_t *ids, size_t n, struct view *v,
                struct embi_cuda_fault *fault)
{
    int result = send_ids(g, ids, n, fault);
    *v = (struct view){.at = g->table->resident, .pitch = g->table->pitch, .ids = g->ids_at};
    if (result || g->table->resident)
        return result;
    v->ids = 0;
    return copy_rows(g, g->buffers + 2, v->pitch, v->pitch, &v->at, fault);
}

struct sum {
    struct gather rows, side;
    embi_cuda_put_fn *put;
    void *arg;
};

static int add_part(struct sum *s, const uint64_t *ids, const uint64_t *side_ids, size_t done,
                    size_t n, struct embi_cuda_fault *fault)
{
    struct embi_cuda_table *t = s->rows.table;
    struct embi_cuda_device *d = t->device;
    struct view x, y = {0};
    embi_address out = 0;
    int result = view(&s->rows, ids + done, n, &x, fault);
    if (!result)
        result = view(&s->side, side_ids + done, n, &y, fault);
    if (!result)
        result = embi_cuda_device_reserve(d, EMBI_BUFFER_OUT, n * t->pitch, &out, fault);
    if (result)
        return result;
    const struct embi_gather_sum_args args = {
        x.at, x.pitch,           x.ids,       y.at, y.pitch, y.ids, out, t->pitch,
        n,    t->rows.row_bytes, t->rows.type};
    result = embi_cuda_device_launch(d, embi_gather_sum_kernel, &args,
                                     embi_cuda_device_blocks(d, n, EMBI_BLOCK_THREADS / EMBI_WARP),
                                     1, fault);
    return result ? result
                  : embi_cuda_rows_download(d, out, done, n, t->pitch, s->put, s->arg, fault);
}

static int add_parts(struct sum *s, const uint64_t *ids, const uint64_t *side_ids, size_t n,
                     size_t most, struct embi_cuda_fault *fault)
{
    int result = EMBI_CUDA_DONE;
    for (size_t done = 0, part; !result && done < n; done += part) {
        part = n - done < most ? n - done : most;
        result = add_part(s, ids, side_ids, done, part, fault);
    }
    return result;
}

int embi_cuda_table_gather_sum(struct embi_cuda_table *table, const uint64_t *ids,
                               struct embi_cuda_table *side, const uint64_t *side_ids, size_t n,
                               embi_cuda_put_fn *put, void *arg, struct embi_cuda_fault *fault)
{
    struct sum s = {.put = put, .arg = arg};
    if (n == 0 || table->rows.row_bytes == 0)
        return EMBI_CUDA_DONE;
    const size_t most = part_of(n, table->pitch);
    int result = begin(&s.rows, table, EMBI_BUFFER_IDS, most, fault);
    if (!result)
        result = begin(&s.side, side, EMBI_BUFFER_SIDE_IDS, most, fault);
    if (!result)
        result = embi_cuda_device_enter(table->device, fault);
    if (!result)
        result = embi_cuda_device_leave(table->device, add_parts(&s, ids, side_ids, n, most, fault),
                                        fault);
    end(&s.side);
    end(&s.rows);
    return result;
}

/* ------------------------------------------------------------------------------------------------
 * Rows pooled
 */

/* A part of the rows of all sequences: of those that it begins and ends with perhaps not all. */
struct pooling {
    struct gather rows;
    const struct embi_cuda_pool *what;
    uint64_t *ends, *counts; /* [most_bags] of the part: rows are counted from its first one */
    uint64_t most_rows, most_bags;
    uint64_t at, n;     /* rows at .. at+n-1   */
    uint64_t bag, bags; /* which are of these sequences */
};

static uint64_t least(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* The part that begins with row p->at. What a sequence had before counts as rows that its vector
 * has already. */
static void choose_part(struct pooling *p)
{
    const struct embi_cuda_pool *w = p->what;
    const uint64_t stop = least(w->ends[w->bags - 1], p->at + p->most_rows);
    while (w->ends[p->bag] <= p->at)
        p->bag++;
    p->n = 0;
    for (p->bags = 0; p->bags < p->most_bags && p->at + p->n < stop; p->bags++) {
        const uint64_t bag = p->bag + p->bags, begin = bag == 0 ? 0 : w->ends[bag - 1];
        p->counts[p->bags] = w->counts[bag] + (begin < p->at ? p->at - begin : 0);
        p->n = least(w->ends[bag], stop) - p->at;
        p->ends[p->bags] = p->n;
    }
}

static int send_part(struct pooling *p, struct embi_pool_args *args, struct embi_cuda_fault *fault)
{
    const struct embi_cuda_pool *w = p->what;
    struct embi_cuda_device *d = p->rows.table->device;
    struct view v = {0};
    int result = view(&p->rows, w->ids + p->at, p->n, &v, fault);
    if (!result)
        result = embi_cuda_device_send(d, EMBI_BUFFER_ENDS, p->ends, p->bags * sizeof *p->ends,
                                       &args->ends, fault);
    if (!result)
        result = embi_cuda_device_send(d, EMBI_BUFFER_COUNTS, p->counts,
                                       p->bags * sizeof *p->counts, &args->counts, fault);
    if (!result && w->weights)
        result = embi_cuda_device_send(d, EMBI_BUFFER_WEIGHTS, w->weights + p->at,
                                       p->n * sizeof *w->weights, &args->weights, fault);
    if (!result)
        result = embi_cuda_device_send(d, EMBI_BUFFER_OUT, w->sums + p->bag * w->dims,
                                       p->bags * w->dims * sizeof *w->sums, &args->sums, fault);
    args->table = v.at;
    args->pitch = v.pitch;
    args->ids = v.ids;
    return result;
}

/* Nothing is pending when it returns: the next part begins with the sums of this one. */
static int pool_part(struct pooling *p, struct embi_cuda_fault *fault)
{
    const struct embi_cuda_pool *w = p->what;
    struct embi_cuda_device *d = p->rows.table->device;
    struct embi_pool_args args = {
        .bags = p->bags, .dims = w->dims, .type = p->rows.table->rows.type, .how = w->how};
    int result = send_part(p, &args, fault);
    if (!result)
        result = embi_cuda_device_launch(d, embi_pool_kernel, &args,
                                         embi_cuda_device_blocks(d, p->bags, 1), 1, fault);
    if (!result)
        result = EMBI_CALL(d, fault, cuMemcpyDtoHAsync, w->sums + p->bag * w->dims, args.sums,
                           p->bags * w->dims * sizeof *w->sums, d->compute);
    return result ? result : EMBI_CALL(d, fault, cuStreamSynchronize, d->compute);
}

static int pool_parts(struct pooling *p, struct embi_cuda_fault *fault)
{
    int result = EMBI_CUDA_DONE;
    for (; !result && p->at < p->what->ends[p->what->bags - 1]; p->at += p->n) {
        choose_part(p);
        result = pool_part(p, fault);
    }
    return result;
}

/* A part has what the device is given memory for: of ids and weights, or of the rows themselves,
 * where they are brought together; and of sums. */
static int begin_pooling(struct pooling *p, struct embi_cuda_table *table,
                         const struct embi_cuda_pool *what, struct embi_cuda_fault *fault)
{
    const uint64_t of_row = table->resident ? sizeof *what->ids : table->pitch;
    const uint64_t of_bag = what->dims * sizeof *what->sums;
    *p = (struct pooling){.what = what};
    p->most_rows = least(what->ends[what->bags - 1], EMBI_OUT_BYTES / of_row);
    p->most_bags = least(what->bags, 1 + EMBI_OUT_BYTES / of_bag);
    p->ends = malloc(p->most_bags * sizeof *p->ends);
    p->counts = malloc(p->most_bags * sizeof *p->counts);
    int result = begin(&p->rows, table, EMBI_BUFFER_IDS, p->most_rows, fault);
    if (!result && (!p->ends || !p->counts))
        result = embi_cuda_fail(fault, EMBI_CUDA_HOST_MEMORY, "out of memory for sequences");
    return result;
}

int embi_cuda_table_pool(struct embi_cuda_table *table, const struct embi_cuda_pool *what,
                         struct embi_cuda_fault *fault)
{
    struct pooling p;
    if (what->bags == 0 || what->ends[what->bags - 1] == 0 || what->dims == 0)
        return EMBI_CUDA_DONE;
    int result = begin_pooling(&p, table, what, fault);
    if (!result)
        result = embi_cuda_device_enter(table->device, fault);
    if (!result)
        result = embi_cuda_device_leave(table->device, pool_parts(&p, fault), fault);
    end(&p.rows);
    free(p.ends);
    free(p.counts);
    return result;
}
