/* bench_kernels.c - kernels, where their rows lie, beside the device's own copy; and a whole search
 * of one query. Products are those that were asked for: with tensor cores each is made twice, with a
 * query's high and low part.
 */
#include "bench.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { K = 10, CAP = 1024 };

static int launch_for_rows(struct bench *b, enum embi_cuda_kernel kernel, const void *args)
{
    return embi_cuda_device_launch(
        b->d, kernel, args, embi_cuda_device_blocks(b->d, b->rows, EMBI_BLOCK_THREADS / EMBI_WARP),
        1, &b->fault);
}

static int gather(struct bench *b, uint64_t row_bytes)
{
    const struct embi_gather_args args = {.table = b->table,
                                          .pitch = embi_pitch_of(row_bytes),
                                          .ids = b->ids,
                                          .out = b->out,
                                          .out_pitch = row_bytes,
                                          .n = b->rows,
                                          .row_bytes = row_bytes};
    return launch_for_rows(b, embi_gather_wide_kernel, &args);
}

static int gather_wide(struct bench *b)
{
    return gather(b, b->dims * sizeof(uint16_t));
}

static int gather_narrow(struct bench *b)
{
    return gather(b, NARROW_BYTES);
}

/* Each row gets one gradient, which is a row of the table as well. */
static int scatter(struct bench *b)
{
    const uint64_t pitch = embi_pitch_of(NARROW_BYTES);
    const struct embi_scatter_args args = {.table = b->out,
                                           .pitch = pitch,
                                           .grads = b->table,
                                           .grads_pitch = pitch,
                                           .ends = b->ids,
                                           .segments = b->rows,
                                           .dims = NARROW_DIMS,
                                           .type = EMBI_CUDA_F32};
    return launch_for_rows(b, embi_scatter_kernel, &args);
}

/* In place of the ids, which are not needed any more: the ends of segments of one. */
static int send_ends(struct bench *b)
{
    uint64_t *ends = malloc(b->rows * sizeof *ends);
    int result = EMBI_CUDA_HOST_MEMORY;
    for (uint64_t i = 0; ends && i < b->rows; i++)
        ends[i] = i + 1;
    if (ends)
        result = embi_cuda_device_send(b->d, EMBI_BUFFER_IDS, ends, b->rows * sizeof *ends, &b->ids,
                                       &b->fault);
    if (!result)
        result = EMBI_CALL(b->d, &b->fault, cuStreamSynchronize, b->d->compute);
    free(ends);
    return result;
}

/* ------------------------------------------------------------------------------------------------
 * Products
 */

static uint64_t row_bytes_of(const struct bench *b, enum embi_cuda_type type)
{
    return type == EMBI_CUDA_Q8_0 ? (uint64_t)b->dims / EMBI_CUDA_Q8_NUMBERS * EMBI_CUDA_Q8_BYTES
                                  : b->dims * sizeof(uint16_t);
}

/* Queries are what lies at the beginning of the table. */
static int multiply_one(struct bench *b, enum embi_cuda_type type)
{
    const uint64_t row_bytes = row_bytes_of(b, type);
    const struct embi_products_args args = {.table = b->table,
                                            .pitch = embi_pitch_of(row_bytes),
                                            .rows = b->rows,
                                            .numbers = embi_cuda_numbers(type, row_bytes),
                                            .queries = b->table,
                                            .out = b->out,
                                            .ld = b->rows,
                                            .n = 1,
                                            .type = type};
    return launch_for_rows(b, embi_products_one_kernel, &args);
}

static int multiply_many(struct bench *b, enum embi_cuda_type type)
{
    const uint64_t row_bytes = row_bytes_of(b, type);
    const struct embi_matrix_args args = {.table = b->table,
                                          .pitch = embi_pitch_of(row_bytes),
                                          .rows = b->rows,
                                          .numbers = embi_cuda_numbers(type, row_bytes),
                                          .high = b->table,
                                          .low = b->table,
                                          .queries_pitch =
                                              embi_pitch_of(b->dims * sizeof(uint16_t)),
                                          .out = b->out,
                                          .ld = b->rows,
                                          .n = b->queries,
                                          .type = type};
    return embi_cuda_device_launch(b->d, embi_products_matrix_kernel, &args,
                                   (b->rows + EMBI_MATRIX_ROWS - 1) / EMBI_MATRIX_ROWS,
                                   (b->queries + EMBI_MATRIX_QUERIES - 1) / EMBI_MATRIX_QUERIES,
                                   &b->fault);
}

static int one_bf16(struct bench *b)
{
    return multiply_one(b, EMBI_CUDA_BF16);
}

static int one_q8_0(struct bench *b)
{
    return multiply_one(b, EMBI_CUDA_Q8_0);
}

static int many_bf16(struct bench *b)
{
    return multiply_many(b, EMBI_CUDA_BF16);
}

static int many_q8_0(struct bench *b)
{
    return multiply_many(b, EMBI_CUDA_Q8_0);
}

/* A search of one query of a resident table, with what is sent and comes back. */
static int search(struct bench *b)
{
    struct embi_cuda_table table = {.device = b->d,
                                    .rows = {.rows = b->rows,
                                             .row_bytes = row_bytes_of(b, EMBI_CUDA_BF16),
                                             .type = EMBI_CUDA_BF16},
                                    .pitch = embi_pitch_of(row_bytes_of(b, EMBI_CUDA_BF16)),
                                    .resident = b->table};
    static struct embi_cuda_hit hits[CAP];
    uint32_t counts, k = K;
    float length = 1, *query = malloc(b->dims * sizeof *query);
    uint64_t *odd = malloc(b->rows * sizeof *odd);
    const struct embi_cuda_search what = {.queries = query,
                                          .lengths = &length,
                                          .k = &k,
                                          .rows = b->rows,
                                          .bound = 0x1p-12,
                                          .n = 1,
                                          .cap = CAP,
                                          .metric = EMBI_CUDA_COSINE};
    struct embi_cuda_found found = {.hits = hits, .counts = &counts, .odd = odd};
    int result = EMBI_CUDA_HOST_MEMORY;
    for (uint32_t i = 0; query && i < b->dims; i++)
        query[i] = (i % 3 ? 1.0f : -1.0f) / sqrtf((float)b->dims);
    if (query && odd)
        result = embi_cuda_table_search(&table, &what, &found, &b->fault);
    free(query);
    free(odd);
    return result;
}

/* ------------------------------------------------------------------------------------------------
 * Cells
 */

static struct bench_aim of_copy(const struct bench *b, double share)
{
    return (struct bench_aim){b->copied, "the copy", share};
}

void bench_kernels(struct bench *b)
{
    const double rows = (double)b->rows, wide = b->dims * 2.0;
    const double q8 = (double)row_bytes_of(b, EMBI_CUDA_Q8_0), dims = b->dims;
    const struct bench_aim twice = {b->peak, "the peak, each twice", 0.6};
    char name[48];
    snprintf(name, sizeof name, "gather, rows of %u bytes", 2 * b->dims);
    bench_bytes(b, name, gather_wide, 2 * rows * wide, of_copy(b, 0.85));
    bench_bytes(b, "gather, rows of 1200 bytes", gather_narrow, 2 * rows * NARROW_BYTES,
                of_copy(b, 0.6));
    bench_bytes(b, "products, 1 query, bf16", one_bf16, rows * wide, of_copy(b, 0.85));
    bench_bytes(b, "products, 1 query, q8_0", one_q8_0, rows * q8, of_copy(b, 0));
    bench_bytes(b, "search, 1 query, bf16", search, rows * wide, of_copy(b, 0.85));
    snprintf(name, sizeof name, "products, %u queries, bf16", b->queries);
    bench_products(b, name, many_bf16, rows * dims * b->queries, twice);
    snprintf(name, sizeof name, "products, %u queries, q8_0", b->queries);
    bench_products(b, name, many_q8_0, rows * dims * b->queries,
                   (struct bench_aim){twice.rate, twice.of, 0});
    b->failed |= send_ends(b) != EMBI_CUDA_DONE;
    bench_bytes(b, "scatter-add, f32, d 300", scatter, 3 * rows * NARROW_BYTES, of_copy(b, 0.6));
}
