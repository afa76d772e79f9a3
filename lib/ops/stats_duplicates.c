/* stats_duplicates.c - rows that are equal to an earlier row, byte for byte.
 *
 * Hashes are put into buckets (util/buckets.h). Of each, rows enter a hash table in row order; one
 * whose hash is there already is compared with the row that entered it, so a collision costs time
 * and never an answer. The table of rows is read again only for that. Memory: 8 bytes a row for the
 * hashes, 8 for their order, a bit for what was found, and 12 a row of the buckets that threads are
 * at.
 */
#include "ops/stats.h"
#include "util/buckets.h"
#include "util/err.h"
#include "util/loop.h"

#include <stdatomic.h>
#include <stdlib.h>

/* Rows of a bucket: its slots, 12 bytes each, stay in a core's own cache. */
#define BUCKET_ROWS 16384

#define WORD_BITS 64

/* What a thread has for itself. */
struct sieve {
    uint64_t *slots; /* [room], of which the first n: 0, or row + 1 in the low bits and as much of
                        the hash as fits above */
    uint64_t n, room;
    unsigned char *a, *b; /* [row_bytes] each: two rows; NULL: rows can be used in place */
};

struct hunt {
    const emb_table *table;
    const uint64_t *hashes; /* [V] */
    struct embi_buckets buckets;
    struct sieve *sieves; /* [workers] */
    size_t workers;
    size_t row_bytes;
    uint64_t row_mask;           /* of row + 1 in a slot */
    atomic_uint_fast64_t *found; /* [V] bits: is equal to an earlier row */
    atomic_uint_fast64_t count;
};

/* ------------------------------------------------------------------------------------------------
 * One bucket
 */

/* Where a hash's search begins. The upper half is swapped down, as a bucket's share upper bits and
 * slots keep them. */
static uint64_t home(const struct sieve *s, uint64_t hash)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)(hash << 32 | hash >> 32) * s->n >> 64);
}

static emb_status equal_rows(const struct hunt *h, const struct sieve *s, uint64_t i, uint64_t j,
                             bool *equal, emb_err *err)
{
    const void *a = s->a, *b = s->b;
    if (!s->a) {
        a = embi_table_row(h->table, i);
        b = embi_table_row(h->table, j);
    } else {
        emb_dtype stored = h->table->layout.dtype;
        emb_status status = embi_fetch(h->table, i, 1, stored, s->a, err);
        if (!status)
            status = embi_fetch(h->table, j, 1, stored, s->b, err);
        if (status)
            return status;
    }
    *equal = memcmp(a, b, h->row_bytes) == 0;
    return EMB_OK;
}

/* Enters a row, or finds that an equal one is there. */
static emb_status enter(const struct hunt *h, const struct sieve *s, uint64_t row, bool *found,
                        emb_err *err)
{
    uint64_t hash = h->hashes[row];
    *found = false;
    for (uint64_t i = home(s, hash);; i = i + 1 < s->n ? i + 1 : 0) {
        uint64_t slot = s->slots[i], earlier = (slot & h->row_mask) - 1;
        if (slot == 0) {
            s->slots[i] = (hash & ~h->row_mask) | (row + 1);
            return EMB_OK;
        }
        if (((slot ^ hash) & ~h->row_mask) != 0 || h->hashes[earlier] != hash)
            continue;
        emb_status status = equal_rows(h, s, earlier, row, found, err);
        if (status || *found)
            return status;
    }
}

/* Empty slots for n rows. */
static emb_status clear_slots(struct sieve *s, uint64_t n, emb_err *err)
{
    s->n = n + n / 2 + 1;
    if (s->n > s->room) {
        free(s->slots);
        s->slots = calloc(s->n, sizeof *s->slots); /* n entries of `order` fit memory too */
        s->room = s->slots ? s->n : 0;
        return s->slots ? EMB_OK : embi_fail_memory(err, s->n * sizeof *s->slots, "equal rows");
    }
    memset(s->slots, 0, s->n * sizeof *s->slots);
    return EMB_OK;
}

static emb_status search_bucket(void *arg, size_t item, int worker, emb_err *err)
{
    struct hunt *h = arg;
    struct sieve *s = &h->sieves[worker];
    const uint64_t ahead = 16; /* rows whose hash is on its way to the cache */
    uint64_t begin = h->buckets.starts[item], end = h->buckets.starts[item + 1];
    emb_status status = clear_slots(s, end - begin, err);
    for (uint64_t i = begin; !status && i < end; i++) {
        uint64_t row = h->buckets.order[i];
        bool found;
        if (i + ahead < end)
            __builtin_prefetch(&h->hashes[h->buckets.order[i + ahead]]);
        status = enter(h, s, row, &found, err);
        if (!status && found) {
            h->found[row / WORD_BITS] |= 1ull << row % WORD_BITS;
            h->count++;
        }
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * All of them
 */

static emb_status make_room(struct hunt *h, emb_err *err)
{
    uint64_t words = h->table->layout.rows / WORD_BITS + 1;
    h->found = calloc(words, sizeof *h->found);
    h->sieves = calloc(h->workers, sizeof *h->sieves);
    if (!h->found || !h->sieves)
        return embi_fail_memory(err, words * sizeof *h->found, "equal rows");
    for (size_t i = 0; !embi_table_direct(h->table) && i < h->workers; i++) {
        h->sieves[i].a = malloc(2 * h->row_bytes + 1);
        if (!h->sieves[i].a)
            return embi_fail_memory(err, 2 * h->row_bytes, "two rows");
        h->sieves[i].b = h->sieves[i].a + h->row_bytes;
    }
    return EMB_OK;
}

static void free_room(struct hunt *h)
{
    for (size_t i = 0; h->sieves && i < h->workers; i++) {
        free(h->sieves[i].slots);
        free(h->sieves[i].a);
    }
    free(h->sieves);
    free(h->found);
    embi_buckets_free(&h->buckets);
}

static emb_status list_found(const struct hunt *h, uint64_t **list, emb_err *err)
{
    *list = NULL;
    if (h->count == 0)
        return EMB_OK;
    uint64_t *next = *list = embi_zeroed(h->count, sizeof **list, "equal rows", err);
    if (!next)
        return err->status;
    for (uint64_t word = 0; word <= h->table->layout.rows / WORD_BITS; word++)
        for (uint64_t bits = h->found[word]; bits; bits &= bits - 1)
            *next++ = word * WORD_BITS + (uint64_t)__builtin_ctzll(bits);
    return EMB_OK;
}

emb_status embi_duplicates(const emb_table *table, const uint64_t *hashes, uint64_t *count,
                           uint64_t **list, emb_err *err)
{
    uint64_t rows = table->layout.rows;
    struct hunt h = {.table = table,
                     .hashes = hashes,
                     .row_bytes = embi_layout_row_bytes(&table->layout),
                     .row_mask = UINT64_MAX >> __builtin_clzll(rows + 1)};
    struct embi_pool *pool = rows > BUCKET_ROWS ? table->env->pool : NULL;
    h.workers = pool ? (size_t)embi_pool_threads(pool) : 1;
    *count = 0;
    if (list)
        *list = NULL;
    emb_status status = embi_buckets_make(&h.buckets, hashes, rows, BUCKET_ROWS, pool, err);
    if (!status)
        status = make_room(&h, err);
    if (!status)
        status = embi_loop(pool, h.buckets.count, search_bucket, &h, err);
    if (!status && list)
        status = list_found(&h, list, err);
    if (!status)
        *count = h.count;
    free_room(&h);
    return status;
}
