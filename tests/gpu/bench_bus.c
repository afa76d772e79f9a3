/* bench_bus.c - the bus: pinned copies both ways, and a gather from a table that lies on the host,
 * whose windows go through the ring as those of any table that the device has no room for.
 */
#include "bench.h"

#include <stdlib.h>
#include <string.h>

/* What is sent at a time, where there are that many rows; every how many-th row is gathered. */
#define SENT_BYTES (UINT64_C(1) << 30)
enum { EVERY = 8, ITEM_ROWS = 64 };

static uint64_t rows_sent(const struct bench *b)
{
    const uint64_t most = SENT_BYTES / (b->dims * sizeof(uint16_t));
    return b->rows < most ? b->rows : most;
}

static uint64_t bytes_sent(const struct bench *b)
{
    return rows_sent(b) * b->dims * sizeof(uint16_t);
}

/* A buffer of the ring at a time, from and to memory that is pinned already. */
static int send_all(struct bench *b)
{
    int result = EMBI_CUDA_DONE;
    for (uint64_t at = 0, n; !result && at < bytes_sent(b); at += n) {
        n = bytes_sent(b) - at < EMBI_RING_BYTES ? bytes_sent(b) - at : EMBI_RING_BYTES;
        result = EMBI_CALL(b->d, &b->fault, cuMemcpyHtoDAsync, b->out + at, b->d->ring[0], n,
                           b->d->copy);
    }
    return result;
}

static int receive_all(struct bench *b)
{
    int result = EMBI_CUDA_DONE;
    for (uint64_t at = 0, n; !result && at < bytes_sent(b); at += n) {
        n = bytes_sent(b) - at < EMBI_RING_BYTES ? bytes_sent(b) - at : EMBI_RING_BYTES;
        result = EMBI_CALL(b->d, &b->fault, cuMemcpyDtoHAsync, b->d->ring[0], b->out + at, n,
                           b->d->copy);
    }
    return result;
}

/* ------------------------------------------------------------------------------------------------
 * Rows of the host
 */

struct host {
    struct bench *b;
    unsigned char *table;
    uint64_t *ids, n;
    /* of one call of `fill`: */
    uint64_t first, rows, pitch;
    unsigned char *to;
};

static void fill_item(void *arg, size_t item, int worker)
{
    const struct host *h = arg;
    const uint64_t bytes = h->b->dims * sizeof(uint16_t), end = (item + 1) * ITEM_ROWS;
    (void)worker;
    for (uint64_t i = item * ITEM_ROWS; i < end && i < h->rows; i++) {
        memcpy(h->to + i * h->pitch, h->table + (h->first + i) * bytes, bytes);
        memset(h->to + i * h->pitch + bytes, 0, h->pitch - bytes);
    }
}

/* By all threads, as the library does it. */
static bool fill(void *arg, uint64_t first, uint64_t n, void *to, uint64_t pitch)
{
    struct host *h = arg;
    h->first = first;
    h->rows = n;
    h->pitch = pitch;
    h->to = to;
    embi_pool_run(h->b->pool, (n + ITEM_ROWS - 1) / ITEM_ROWS, fill_item, h);
    return true;
}

/* What comes back is looked at by nobody. */
static void put(void *arg, uint64_t first, uint64_t n, const void *from, uint64_t pitch)
{
    (void)arg, (void)first, (void)n, (void)from, (void)pitch;
}

static struct host host; /* a piece of work is given the bench alone */

static int gather_from_host(struct bench *b)
{
    const uint64_t bytes = b->dims * sizeof(uint16_t);
    struct embi_cuda_table table = {.device = b->d,
                                    .rows = {.rows = rows_sent(b),
                                             .row_bytes = bytes,
                                             .type = EMBI_CUDA_BF16,
                                             .fill = fill,
                                             .arg = &host},
                                    .pitch = embi_pitch_of(bytes)};
    return embi_cuda_table_gather(&table, host.ids, host.n, put, NULL, &b->fault);
}

static bool make_host(struct bench *b)
{
    host = (struct host){.b = b, .n = (rows_sent(b) + EVERY - 1) / EVERY};
    host.table = malloc(bytes_sent(b));
    host.ids = malloc(host.n * sizeof *host.ids);
    if (!host.table || !host.ids)
        return false;
    memset(host.table, 0x3c, bytes_sent(b)); /* so that its pages are there */
    for (uint64_t i = 0; i < host.n; i++)
        host.ids[i] = i * EVERY;
    return true;
}

void bench_bus(struct bench *b)
{
    const double bytes = (double)bytes_sent(b);
    double rate = bench_rate(b, "pinned copy to the device", send_all, bytes);
    bench_rate(b, "pinned copy from the device", receive_all, bytes);
    if (rate > 0 && make_host(b))
        bench_bytes(b, "gather, table on the host", gather_from_host, bytes,
                    (struct bench_aim){rate, "the copy to the device", 0.8});
    b->failed |= !host.table || !host.ids;
    free(host.table);
    free(host.ids);
}
