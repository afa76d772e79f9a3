/* stats_duplicates.c - rows that are equal to an earlier row, byte for byte.
 *
 * Rows enter a hash table in row order; one whose hash is there already is compared with the row
 * that entered it, so a collision costs time and never an answer. The table reads rows again only
 * for that. Memory: 8 bytes a row for the hashes, 12 for the slots.
 */
#include "ops/stats.h"
#include "util/err.h"
#include "util/map.h"

#include <stdlib.h>

/* Open addressing; a slot is 0, or row + 1 in its low bits and as much of the hash as fits above.
 */
struct slots {
    uint64_t *slots; /* [n] */
    uint64_t n;
    uint64_t row_mask;
};

/* Where a hash's search begins. The upper half is swapped down, as slots keep the upper bits. */
static uint64_t home(const struct slots *s, uint64_t hash)
{
    __extension__ typedef unsigned __int128 wide;
    return (uint64_t)((wide)(hash << 32 | hash >> 32) * s->n >> 64);
}

static emb_status slots_new(struct slots *s, uint64_t rows, emb_err *err)
{
    uint64_t bytes;
    s->n = rows + rows / 2 + 1;
    s->row_mask = UINT64_MAX >> __builtin_clzll(rows + 1);
    if (!embi_mul(s->n, sizeof *s->slots, &bytes))
        bytes = UINT64_MAX;
    else
        s->slots = calloc(s->n, sizeof *s->slots);
    if (s->slots)
        return EMB_OK;
    embi_fail_memory(err, bytes, "equal rows");
    return EMB_NO_MEMORY;
}

/* Two rows of a table, to be compared. */
struct pair {
    const emb_table *table;
    size_t bytes;
    unsigned char *a, *b; /* [bytes] each; NULL: rows can be used in place */
};

static emb_status equal_rows(const struct pair *p, uint64_t i, uint64_t j, bool *equal,
                             emb_err *err)
{
    const void *a = p->a, *b = p->b;
    if (!p->a) {
        a = embi_table_row(p->table, i);
        b = embi_table_row(p->table, j);
    } else {
        emb_dtype stored = p->table->layout.dtype;
        emb_status status = embi_fetch(p->table, i, 1, stored, p->a, err);
        if (!status)
            status = embi_fetch(p->table, j, 1, stored, p->b, err);
        if (status)
            return status;
    }
    *equal = memcmp(a, b, p->bytes) == 0;
    return EMB_OK;
}

/* Enters a row, or finds that an equal one is there. */
static emb_status enter(const struct slots *s, const struct pair *p, const uint64_t *hashes,
                        uint64_t row, bool *found, emb_err *err)
{
    uint64_t hash = hashes[row];
    *found = false;
    for (uint64_t i = home(s, hash);; i = i + 1 < s->n ? i + 1 : 0) {
        uint64_t slot = s->slots[i], earlier = (slot & s->row_mask) - 1;
        if (slot == 0) {
            s->slots[i] = (hash & ~s->row_mask) | (row + 1);
            return EMB_OK;
        }
        if (((slot ^ hash) & ~s->row_mask) != 0 || hashes[earlier] != hash)
            continue;
        emb_status status = equal_rows(p, earlier, row, found, err);
        if (status || *found)
            return status;
    }
}

/* list [n] grows to hold one more, at powers of two. */
static emb_status append(uint64_t **list, uint64_t n, uint64_t row, emb_err *err)
{
    if ((n & (n - 1)) == 0) {
        size_t bytes = embi_max(2 * n, 1) * sizeof **list;
        uint64_t *more = realloc(*list, bytes);
        if (!more)
            return embi_fail_memory(err, bytes, "equal rows");
        *list = more;
    }
    (*list)[n] = row;
    return EMB_OK;
}

static emb_status enter_all(const struct slots *s, const struct pair *p, const uint64_t *hashes,
                            uint64_t *count, uint64_t **list, emb_err *err)
{
    uint64_t rows = p->table->layout.rows;
    const uint64_t ahead = 16; /* rows whose slot is on its way to the cache */
    for (uint64_t row = 0; row < rows; row++) {
        bool found;
        if (row + ahead < rows)
            __builtin_prefetch(&s->slots[home(s, hashes[row + ahead])], 1);
        emb_status status = enter(s, p, hashes, row, &found, err);
        if (!status && found && list)
            status = append(list, *count, row, err);
        if (status)
            return status;
        *count += found;
    }
    return EMB_OK;
}

emb_status embi_duplicates(const emb_table *table, const uint64_t *hashes, uint64_t *count,
                           uint64_t **list, emb_err *err)
{
    struct slots s = {0};
    struct pair p = {table, embi_layout_row_bytes(&table->layout), NULL, NULL};
    emb_status status = slots_new(&s, table->layout.rows, err);
    *count = 0;
    if (list)
        *list = NULL;
    if (!status && !embi_table_direct(table)) {
        p.a = malloc(2 * p.bytes + 1);
        if (p.a) {
            p.b = p.a + p.bytes;
        } else {
            embi_fail_memory(err, 2 * p.bytes, "two rows");
            status = EMB_NO_MEMORY;
        }
    }
    if (!status)
        status = enter_all(&s, &p, hashes, count, list, err);
    if (status && list) {
        free(*list);
        *list = NULL;
    }
    free(p.a);
    free(s.slots);
    return status;
}
