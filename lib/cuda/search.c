/* search.c - rows that may be among the best of each query: products, then a selection, window by
 * window. What remains is scored by the library.
 */
#include "cuda/device.h"
#include "num/half.h"

#include <stdlib.h>
#include <string.h>

#define FEW 12 /* queries that are multiplied four at a time */

struct search {
    struct embi_cuda_table *table;
    const struct embi_cuda_search *what;
    uint64_t ld; /* rows of a window, at most */
    uint64_t queries, low, queries_pitch;
    struct embi_select_args select;
    struct embi_odd_args odd;
};

static uint64_t numbers_of(const struct embi_cuda_table *t)
{
    return embi_cuda_numbers(t->rows.type, t->rows.row_bytes);
}

/* d */
static uint64_t dims_of(const struct embi_cuda_table *t)
{
    return t->rows.type == EMBI_CUDA_Q8_0 ? numbers_of(t)
                                          : t->rows.row_bytes / embi_cuda_type_bytes(t->rows.type);
}

static bool few(const struct search *s)
{
    return !s->what->matrix && s->what->n <= FEW;
}

/* Numbers that a lane takes of a row at a time. */
static uint32_t per_lane(const struct embi_cuda_table *t)
{
    return 16 / embi_cuda_type_bytes(t->rows.type);
}

/* Numbers of a query with its padding: what rows have, or what lies as embi_query_place says. */
static uint64_t query_numbers(const struct search *s)
{
    const uint64_t n = numbers_of(s->table), all = (uint64_t)per_lane(s->table) * EMBI_WARP;
    return few(s) ? (n + all - 1) / all * all : n;
}

/* ------------------------------------------------------------------------------------------------
 * Queries
 */

/* Of f32; `to` is zero. */
static void pad(const struct search *s, float *to)
{
    const uint64_t n = query_numbers(s), d = dims_of(s->table);
    const uint32_t lane = per_lane(s->table);
    for (uint32_t q = 0; q < s->what->n; q++)
        for (uint64_t i = 0; i < d; i++)
            to[q * n + (few(s) ? embi_query_place(i, lane) : i)] = s->what->queries[q * d + i];
}

/* The number nearest to x of the type that tensor cores multiply, and what it stands for. */
static uint16_t nearest(const struct embi_cuda_table *t, float x, float *value)
{
    const bool bf16 = t->rows.type == EMBI_CUDA_BF16;
    uint16_t code = bf16 ? embi_bf16_from_f32(x) : embi_f16_from_f32(x);
    *value = bf16 ? embi_f32_from_bf16(code) : embi_f32_from_f16(code);
    return code;
}

/* As sums of two numbers of that type; the rest is exact in f32. */
static void split(const struct search *s, uint16_t *high, uint16_t *low)
{
    const uint64_t n = query_numbers(s), d = dims_of(s->table);
    for (uint32_t q = 0; q < s->what->n; q++)
        for (uint64_t i = 0; i < d; i++) {
            float x = s->what->queries[q * d + i], first, second;
            high[q * n + i] = nearest(s->table, x, &first);
            low[q * n + i] = nearest(s->table, x - first, &second);
        }
}

/* host: of the size of both parts together. */
static int send_queries(struct search *s, void *host, struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = s->table->device;
    const uint64_t all = s->what->n * query_numbers(s);
    s->queries_pitch = query_numbers(s) * (s->what->matrix ? sizeof(uint16_t) : sizeof(float));
    if (!s->what->matrix) {
        pad(s, host);
        return embi_cuda_device_send(d, EMBI_BUFFER_QUERIES, host, all * sizeof(float), &s->queries,
                                     fault);
    }
    uint16_t *high = host, *low = high + all;
    split(s, high, low);
    int result =
        embi_cuda_device_send(d, EMBI_BUFFER_QUERIES, high, all * sizeof *high, &s->queries, fault);
    return result
               ? result
               : embi_cuda_device_send(d, EMBI_BUFFER_LOW, low, all * sizeof *low, &s->low, fault);
}

/* ------------------------------------------------------------------------------------------------
 * Arrays
 */

static int send_arrays(struct search *s, struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = s->table->device;
    const struct embi_cuda_search *w = s->what;
    int result = embi_cuda_device_send(d, EMBI_BUFFER_LENGTHS, w->lengths,
                                       w->n * sizeof *w->lengths, &s->select.lengths, fault);
    if (!result)
        result =
            embi_cuda_device_send(d, EMBI_BUFFER_K, w->k, w->n * sizeof *w->k, &s->select.k, fault);
    if (!result && w->bias)
        result = embi_cuda_device_send(d, EMBI_BUFFER_BIAS, w->bias, w->rows * sizeof *w->bias,
                                       &s->select.bias, fault);
    if (!result && w->allowed)
        result = embi_cuda_device_send(d, EMBI_BUFFER_ALLOWED, w->allowed, (w->rows + 7) / 8,
                                       &s->select.allowed, fault);
    return result;
}

static int clear(struct embi_cuda_device *d, enum embi_buffer buffer, uint64_t bytes, uint64_t *at,
                 struct embi_cuda_fault *fault)
{
    int result = embi_cuda_device_reserve(d, buffer, bytes, at, fault);
    return result ? result : EMBI_CALL(d, fault, cuMemsetD8Async, *at, 0, bytes, d->compute);
}

/* counts has one more, for odd rows. */
static int reserve_arrays(struct search *s, struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = s->table->device;
    const uint64_t n = s->what->n;
    int result = clear(d, EMBI_BUFFER_FLOORS, n * sizeof(uint32_t), &s->select.floors, fault);
    if (!result)
        result = clear(d, EMBI_BUFFER_COUNTS, (n + 1) * sizeof(uint32_t), &s->select.counts, fault);
    s->odd.count = s->select.counts + n * sizeof(uint32_t);
    if (!result)
        result = embi_cuda_device_reserve(d, EMBI_BUFFER_HITS,
                                          n * s->what->cap * sizeof(struct embi_cuda_hit),
                                          &s->select.hits, fault);
    if (!result)
        result = embi_cuda_device_reserve(d, EMBI_BUFFER_ODD, s->what->rows * sizeof(uint64_t),
                                          &s->odd.list, fault);
    if (!result)
        result = embi_cuda_device_reserve(d, EMBI_BUFFER_DOTS, n * s->ld * sizeof(float),
                                          &s->select.dots, fault);
    if (!result)
        result = embi_cuda_device_reserve(d, EMBI_BUFFER_NORM2, s->ld * sizeof(float),
                                          &s->select.norm2, fault);
    s->odd.norm2 = s->select.norm2;
    s->odd.allowed = s->select.allowed;
    return result;
}

/* Rows of a window: a multiple of what tiles take, but for the last one. */
static uint64_t window_rows(const struct search *s)
{
    uint64_t rows = EMBI_DOTS_MOST / s->what->n / EMBI_TILE_ROWS * EMBI_TILE_ROWS;
    rows = rows < EMBI_ROWS_LEAST ? EMBI_ROWS_LEAST : rows;
    rows = rows < embi_cuda_table_window(s->table) ? rows : embi_cuda_table_window(s->table);
    return rows < s->what->rows ? rows : s->what->rows;
}

/* ------------------------------------------------------------------------------------------------
 * A window
 */

static int norms(const struct search *s, const struct embi_cuda_window *w,
                 struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = s->table->device;
    const struct embi_norms_args args = {.table = w->at,
                                         .pitch = s->table->pitch,
                                         .rows = w->rows,
                                         .numbers = numbers_of(s->table),
                                         .norm2 = s->select.norm2,
                                         .type = s->table->rows.type};
    return embi_cuda_device_launch(
        d, embi_norms_kernel, &args,
        embi_cuda_device_blocks(d, w->rows, EMBI_BLOCK_THREADS / EMBI_WARP), 1, fault);
}

static uint64_t tiles(uint64_t n, uint64_t of)
{
    return (n + of - 1) / of;
}

static int multiply_by_matrix(const struct search *s, const struct embi_cuda_window *w,
                              struct embi_cuda_fault *fault)
{
    const struct embi_matrix_args args = {.table = w->at,
                                          .pitch = s->table->pitch,
                                          .rows = w->rows,
                                          .numbers = numbers_of(s->table),
                                          .high = s->queries,
                                          .low = s->low,
                                          .queries_pitch = s->queries_pitch,
                                          .out = s->select.dots,
                                          .ld = s->ld,
                                          .n = s->what->n,
                                          .type = s->table->rows.type};
    return embi_cuda_device_launch(s->table->device, embi_products_matrix_kernel, &args,
                                   tiles(w->rows, EMBI_MATRIX_ROWS),
                                   tiles(s->what->n, EMBI_MATRIX_QUERIES), fault);
}

/* Few queries: four at a time, then one by one. The first to see a row have its norm too. */
static int multiply_few(const struct search *s, struct embi_products_args args,
                        struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = s->table->device;
    const uint64_t blocks = embi_cuda_device_blocks(d, args.rows, EMBI_BLOCK_THREADS / EMBI_WARP);
    int result = EMBI_CUDA_DONE;
    for (uint32_t done = 0, step; !result && done < s->what->n; done += step) {
        bool four = s->what->n - done >= 4;
        step = four ? 4 : 1;
        result =
            embi_cuda_device_launch(d, four ? embi_products_four_kernel : embi_products_one_kernel,
                                    &args, blocks, 1, fault);
        args.norm2 = 0;
        args.queries += step * args.queries_pitch;
        args.out += step * args.ld * sizeof(float);
    }
    return result;
}

static int multiply(const struct search *s, const struct embi_cuda_window *w,
                    struct embi_cuda_fault *fault)
{
    const struct embi_products_args args = {.table = w->at,
                                            .pitch = s->table->pitch,
                                            .rows = w->rows,
                                            .numbers = numbers_of(s->table),
                                            .queries = s->queries,
                                            .queries_pitch = s->queries_pitch,
                                            .out = s->select.dots,
                                            .ld = s->ld,
                                            .norm2 = s->select.norm2,
                                            .n = s->what->n,
                                            .type = s->table->rows.type};
    if (s->what->matrix)
        return multiply_by_matrix(s, w, fault);
    if (few(s))
        return multiply_few(s, args, fault);
    return embi_cuda_device_launch(s->table->device, embi_products_tile_kernel, &args,
                                   tiles(w->rows, EMBI_TILE_ROWS),
                                   tiles(s->what->n, EMBI_TILE_QUERIES), fault);
}

/* Blocks for each query: so few queries that one block each would leave much of the device idle
 * have several. */
static uint64_t blocks_of_query(const struct search *s, uint64_t rows)
{
    const struct embi_cuda_device *d = s->table->device;
    const uint64_t all = embi_cuda_device_blocks(d, UINT64_MAX, 1) / s->what->n;
    const uint64_t worth = embi_cuda_device_blocks(d, rows, EMBI_SPREAD_ROWS);
    return worth < all ? worth : all;
}

static int select_spread(const struct search *s, uint64_t blocks, struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = s->table->device;
    struct embi_spread_args args = {.select = s->select};
    const uint64_t of_query = EMBI_SELECT_PASSES * EMBI_SELECT_VALUES * sizeof(uint32_t);
    int result = clear(d, EMBI_BUFFER_DIGITS, s->what->n * of_query, &args.counts, fault);
    if (!result)
        result = embi_cuda_device_reserve(
            d, EMBI_BUFFER_KNOWN,
            s->what->n * EMBI_SELECT_PASSES * sizeof(struct embi_select_known), &args.known, fault);
    for (; !result && args.pass < EMBI_SELECT_PASSES; args.pass++)
        result =
            embi_cuda_device_launch(d, embi_spread_count_kernel, &args, blocks, s->what->n, fault);
    return result ? result
                  : embi_cuda_device_launch(d, embi_spread_list_kernel, &args, blocks, s->what->n,
                                            fault);
}

static int select_rows(struct search *s, const struct embi_cuda_window *w,
                       struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = s->table->device;
    const uint64_t blocks = blocks_of_query(s, w->rows);
    s->select.rows = s->odd.rows = w->rows;
    s->select.first = s->odd.first = w->first;
    int result =
        embi_cuda_device_launch(d, embi_odd_rows_kernel, &s->odd,
                                embi_cuda_device_blocks(d, w->rows, EMBI_BLOCK_THREADS), 1, fault);
    if (result)
        return result;
    return blocks > 1
               ? select_spread(s, blocks, fault)
               : embi_cuda_device_launch(d, embi_select_kernel, &s->select, s->what->n, 1, fault);
}

static int search_window(void *arg, const struct embi_cuda_window *w, struct embi_cuda_fault *fault)
{
    struct search *s = arg;
    int result = few(s) ? EMBI_CUDA_DONE : norms(s, w, fault);
    if (!result)
        result = multiply(s, w, fault);
    return result ? result : select_rows(s, w, fault);
}

/* ------------------------------------------------------------------------------------------------
 * What was found
 */

static int receive(struct embi_cuda_device *d, void *to, uint64_t from, uint64_t bytes,
                   struct embi_cuda_fault *fault)
{
    return bytes ? EMBI_CALL(d, fault, cuMemcpyDtoHAsync, to, from, bytes, d->compute)
                 : EMBI_CUDA_DONE;
}

/* counts: [n + 1]. How much there is has to be known before it is asked for. */
static int take_found(const struct search *s, uint32_t *counts, struct embi_cuda_found *found,
                      struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = s->table->device;
    const uint32_t n = s->what->n, cap = s->what->cap;
    int result = receive(d, counts, s->select.counts, (n + 1) * sizeof *counts, fault);
    if (!result)
        result = EMBI_CALL(d, fault, cuStreamSynchronize, d->compute);
    if (result)
        return result;
    memcpy(found->counts, counts, n * sizeof *counts);
    found->odd_count = counts[n];
    for (uint32_t q = 0; !result && q < n; q++)
        if (counts[q] <= cap)
            result = receive(d, found->hits + (uint64_t)q * cap,
                             s->select.hits + (uint64_t)q * cap * sizeof *found->hits,
                             counts[q] * sizeof *found->hits, fault);
    return result ? result
                  : receive(d, found->odd, s->odd.list, counts[n] * sizeof *found->odd, fault);
}

static int search_all(struct search *s, void *host, uint32_t *counts, struct embi_cuda_found *found,
                      struct embi_cuda_fault *fault)
{
    int result = send_queries(s, host, fault);
    if (!result)
        result = send_arrays(s, fault);
    if (!result)
        result = reserve_arrays(s, fault);
    s->select.ld = s->ld;
    if (!result)
        result =
            embi_cuda_table_windows(s->table, s->what->rows, s->ld, NULL, search_window, s, fault);
    return result ? result : take_found(s, counts, found, fault);
}

int embi_cuda_table_search(struct embi_cuda_table *table, const struct embi_cuda_search *search,
                           struct embi_cuda_found *found, struct embi_cuda_fault *fault)
{
    struct search s = {.table = table, .what = search};
    s.select.bound = (float)(search->bound * (1 + 0x1p-20));
    s.select.n = search->n;
    s.select.cap = search->cap;
    s.select.metric = search->metric;
    s.select.farthest = search->farthest;
    s.ld = window_rows(&s);
    void *host = calloc(search->n * query_numbers(&s), sizeof(float));
    uint32_t *counts = calloc(search->n + (size_t)1, sizeof *counts);
    int result = EMBI_CUDA_DONE;
    if (!host || !counts)
        result =
            embi_cuda_fail(fault, EMBI_CUDA_HOST_MEMORY, "out of memory for %u queries", search->n);
    if (!result)
        result = embi_cuda_device_enter(table->device, fault);
    if (!result)
        result = embi_cuda_device_leave(table->device, search_all(&s, host, counts, found, fault),
                                        fault);
    free(counts);
    free(host);
    return result;
}
