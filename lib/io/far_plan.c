/* far_plan.c - from the bytes that somebody wants to the ranges that are asked for.
 *
 * A request costs about as long as some 100 KB take to come, so what lies closer than GAP_BYTES is
 * asked for together; where that still makes more than MOST_PIECES, what lies further apart as
 * well. A few requests for 10,000 rows that are spread over a gigabyte then bring most of it, which
 * is sooner there than 10,000 answers.
 */
#include "io/far.h"

#include "util/err.h"

#include <stdlib.h>

enum {
    BLOCK_BYTES = 4096,
    GAP_BYTES = 128 << 10,
    MOST_PIECES = 128,
    CUT_BYTES = 16 << 20, /* of longer ones pieces of this length are made */
    WORD = 64
};

uint64_t embi_far_block_bytes(uint64_t size)
{
    uint64_t bytes = BLOCK_BYTES;
    while (size / bytes >= EMBI_FAR_BLOCKS_MOST)
        bytes *= 2;
    return bytes;
}

emb_status embi_far_blocks_new(uint64_t size, struct embi_far_blocks *blocks, emb_err *err)
{
    struct embi_far_blocks b = {.size = size, .block_bytes = embi_far_block_bytes(size)};
    b.n = b.missing = (size + b.block_bytes - 1) / b.block_bytes;
    b.there = calloc(b.n / WORD + 1, sizeof *b.there);
    if (!b.there)
        return embi_fail_memory(err, b.n / 8, "a list of blocks");
    *blocks = b;
    return EMB_OK;
}

void embi_far_blocks_free(struct embi_far_blocks *blocks)
{
    free(blocks->there);
    *blocks = (struct embi_far_blocks){0};
}

static bool has(const uint64_t *bits, uint64_t i)
{
    return bits[i / WORD] >> (i % WORD) & 1;
}

static void set(uint64_t *bits, uint64_t i)
{
    bits[i / WORD] |= UINT64_C(1) << (i % WORD);
}

void embi_far_blocks_add(struct embi_far_blocks *b, struct embi_span span)
{
    uint64_t end = span.off + span.n;
    uint64_t first = (span.off + b->block_bytes - 1) / b->block_bytes;
    uint64_t last = end == b->size ? b->n : end / b->block_bytes; /* one past it */
    for (uint64_t i = first; i < last; i++)
        if (!has(b->there, i)) {
            set(b->there, i);
            b->missing--;
        }
}

bool embi_far_block_is_there(const struct embi_far_blocks *b, uint64_t i)
{
    return has(b->there, i);
}

void embi_far_blocks_of(const struct embi_far_blocks *b, struct embi_span span, uint64_t *first,
                        uint64_t *end)
{
    *first = span.off / b->block_bytes;
    *end = span.n == 0 ? *first : (span.off + span.n - 1) / b->block_bytes + 1;
}

struct embi_span embi_far_block_span(const struct embi_far_blocks *b, uint64_t i)
{
    uint64_t off = i * b->block_bytes;
    return (struct embi_span){off, embi_min(b->block_bytes, b->size - off)};
}

/* ------------------------------------------------------------------------------------------------
 * A plan
 */

/* The blocks of the spans that are not there, as bits; *count of them. */
static uint64_t *missing_blocks(const struct embi_far_blocks *b, const struct embi_span *spans,
                                size_t n, uint64_t *count)
{
    uint64_t *wanted = calloc(b->n / WORD + 1, sizeof *wanted);
    *count = 0;
    for (size_t i = 0; wanted && i < n; i++) {
        uint64_t k, end;
        for (embi_far_blocks_of(b, spans[i], &k, &end); k < end; k++)
            if (!has(b->there, k) && !has(wanted, k)) {
                set(wanted, k);
                ++*count;
            }
    }
    return wanted;
}

static emb_status add(struct embi_far_pieces *p, size_t *cap, struct embi_span piece, emb_err *err)
{
    if (p->n == *cap) {
        size_t more = *cap ? 2 * *cap : MOST_PIECES;
        struct embi_span *list = realloc(p->list, more * sizeof *list);
        if (!list)
            return embi_fail_memory(err, more * sizeof *list, "a list of ranges");
        p->list = list;
        *cap = more;
    }
    p->list[p->n++] = piece;
    return EMB_OK;
}

/* The next block at or after i that is wanted, or b->n. */
static uint64_t next_wanted(const struct embi_far_blocks *b, const uint64_t *wanted, uint64_t i)
{
    while (i < b->n && !has(wanted, i))
        i += wanted[i / WORD] >> (i % WORD) ? 1 : WORD - i % WORD;
    return embi_min(i, b->n);
}

/* Runs of wanted blocks, with no more than `gap` bytes between the blocks of one. */
static emb_status find_runs(const struct embi_far_blocks *b, const uint64_t *wanted, uint64_t gap,
                            struct embi_far_pieces *pieces, emb_err *err)
{
    size_t cap = 0;
    emb_status status = EMB_OK;
    pieces->n = 0;
    for (uint64_t i = next_wanted(b, wanted, 0); !status && i < b->n;) {
        uint64_t end = i + 1, next = next_wanted(b, wanted, end);
        while (next < b->n && (next - end) * b->block_bytes <= gap) {
            end = next + 1;
            next = next_wanted(b, wanted, end);
        }
        uint64_t off = i * b->block_bytes;
        status = add(pieces, &cap,
                     (struct embi_span){off, embi_min(end * b->block_bytes, b->size) - off}, err);
        i = next;
    }
    return status;
}

static emb_status cut_long(struct embi_far_pieces *pieces, emb_err *err)
{
    struct embi_far_pieces cut = {0};
    size_t cap = 0;
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < pieces->n; i++)
        for (struct embi_span left = pieces->list[i]; !status && left.n > 0;) {
            uint64_t n = left.n < 2 * (uint64_t)CUT_BYTES ? left.n : CUT_BYTES;
            status = add(&cut, &cap, (struct embi_span){left.off, n}, err);
            left.off += n;
            left.n -= n;
        }
    free(pieces->list);
    *pieces = cut;
    return status;
}

emb_status embi_far_plan(const struct embi_far_blocks *b, const struct embi_span *spans, size_t n,
                         struct embi_far_pieces *pieces, emb_err *err)
{
    uint64_t count, gap = GAP_BYTES;
    *pieces = (struct embi_far_pieces){0};
    if (b->missing == 0)
        return EMB_OK;
    uint64_t *wanted = missing_blocks(b, spans, n, &count);
    emb_status status = wanted ? EMB_OK : embi_fail_memory(err, b->n / 8, "a list of blocks");
    if (!status && count > 0)
        do {
            free(pieces->list);
            *pieces = (struct embi_far_pieces){0};
            status = find_runs(b, wanted, gap, pieces, err);
            gap *= 2;
        } while (!status && pieces->n > MOST_PIECES);
    if (!status)
        status = cut_long(pieces, err);
    free(wanted);
    if (status) {
        free(pieces->list);
        *pieces = (struct embi_far_pieces){0};
    }
    return status;
}
