/* test_buckets.c - positions in buckets: each once, in its hash's bucket, rising. */
#include "util/buckets.h"

#include <criterion/criterion.h>
#include <stdlib.h>

__extension__ typedef unsigned __int128 wide;

static const struct shape {
    uint64_t n, goal;
    uint64_t mask;  /* of the bits that hashes have */
    size_t buckets; /* the least power of two by which n / buckets is the goal, 4096 at most */
} shapes[] = {
    {0, 10, UINT64_MAX, 1},          {1, 1, UINT64_MAX, 1},
    {10, 10, UINT64_MAX, 1},         {11, 10, UINT64_MAX, 2},
    {100000, 1000, UINT64_MAX, 128}, {300000, 10, UINT64_MAX, 4096},
    {300000, 1000, 0xFFFF, 512}, /* all upper bits alike: one bucket has them all */
    {300000, 1000, 7ull << 61, 512},
};

static void expect_order(const struct embi_buckets *buckets, const uint64_t *hashes,
                         const struct shape *s)
{
    unsigned char *seen = calloc(s->n + 1, 1);
    cr_assert(buckets->starts[0] == 0 && buckets->starts[buckets->count] == s->n);
    for (size_t p = 0; p < buckets->count; p++)
        for (uint64_t i = buckets->starts[p]; i < buckets->starts[p + 1]; i++) {
            uint64_t at = buckets->order[i];
            cr_assert(at < s->n && !seen[at]++);
            cr_assert(i == buckets->starts[p] || buckets->order[i - 1] < at);
            cr_assert_eq((size_t)((wide)hashes[at] * buckets->count >> 64), p);
        }
    free(seen);
}

Test(buckets, every_position_once_in_its_bucket)
{
    for (size_t i = 0; i < EMBI_LEN(shapes); i++)
        for (int threads = 1; threads <= 7; threads += 2) {
            const struct shape *s = &shapes[i];
            uint64_t *hashes = malloc((s->n + 1) * sizeof *hashes), x = 1;
            struct embi_pool *pool;
            struct embi_buckets buckets;
            emb_err err;
            for (uint64_t k = 0; k < s->n; k++) {
                x = x * 6364136223846793005u + 1442695040888963407u; /* Knuth's MMIX */
                hashes[k] = x & s->mask;
            }
            cr_assert_eq(embi_pool_new(threads, &pool, &err), EMB_OK);
            cr_assert_eq(embi_buckets_make(&buckets, hashes, s->n, s->goal, pool, &err), EMB_OK);
            cr_assert_eq(buckets.count, s->buckets);
            expect_order(&buckets, hashes, s);
            embi_buckets_free(&buckets);
            embi_pool_free(pool);
            free(hashes);
        }
}
