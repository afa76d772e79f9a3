/* tests/unit/test_map.c - hash and map of lib/util.
 *
 * Expected hashes come from hash_vectors.py, positions and counts from how the keys were made.
 */
#include <criterion/criterion.h>

#include "util/map.h"

#include <stdio.h>
#include <stdlib.h>

#define STR(literal) ((emb_str){literal, sizeof(literal) - 1})

static const char alphabet[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

Test(hash, known_values_at_any_address)
{
    static const struct {
        size_t n;
        uint64_t hash;
    } cases[] = {
        {0, UINT64_C(0x41D7F73369EBD802)},  {1, UINT64_C(0xAD27C6C232ADBB9D)},
        {3, UINT64_C(0x1F45952ABE4B5316)},  {4, UINT64_C(0x6471B6108ABE595A)},
        {7, UINT64_C(0x5BA11D07A0DB453C)},  {8, UINT64_C(0x7C02C8D7B57669DF)},
        {16, UINT64_C(0xD7DD6BAEADEB06C7)}, {17, UINT64_C(0xF8559C8975405C99)},
        {32, UINT64_C(0xA5D36EA8B498C336)}, {33, UINT64_C(0xF7F398153339137B)},
        {52, UINT64_C(0x56F0FA00A7035685)},
    };
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        for (size_t shift = 0; shift < 8; shift++) {
            char *copy = malloc(cases[i].n + shift + 1); /* so that ASan sees a read past the end */
            cr_assert_not_null(copy);
            char *at = copy + 1 + shift;
            memcpy(at, alphabet, cases[i].n);
            cr_assert_eq(embi_hash(at, cases[i].n), cases[i].hash, "n = %zu", cases[i].n);
            free(copy);
        }
    }
}

/* One bit of the key changes each bit of the hash about half of the time: over 4096 trials the
 * count has mean 2048 and deviation 32; six deviations leave room for all 64 bits of all lengths.
 * (Of one byte there are only 1024 pairs to try.) */
Test(hash, avalanche)
{
    static const size_t lengths[] = {3, 5, 8, 13, 16, 24, 40};
    for (size_t l = 0; l < EMBI_LEN(lengths); l++) {
        int changed[64] = {0};
        for (uint64_t trial = 0; trial < 4096; trial++) {
            unsigned char key[40];
            uint64_t x = trial * UINT64_C(6364136223846793005) + 1442695040888963407u;
            for (size_t i = 0; i < sizeof key; i++, x = x * UINT64_C(6364136223846793005) + 1)
                key[i] = (unsigned char)(x >> 56);
            uint64_t before = embi_hash(key, lengths[l]);
            size_t bit = trial % (8 * lengths[l]);
            key[bit / 8] ^= (unsigned char)(1u << bit % 8);
            uint64_t difference = before ^ embi_hash(key, lengths[l]);
            for (int b = 0; b < 64; b++)
                changed[b] += (int)(difference >> b & 1);
        }
        for (int b = 0; b < 64; b++)
            cr_assert(changed[b] > 2048 - 192 && changed[b] < 2048 + 192, "length %zu bit %d: %d",
                      lengths[l], b, changed[b]);
    }
}

static int compare_u64(const void *a, const void *b)
{
    uint64_t x, y;
    memcpy(&x, a, sizeof x);
    memcpy(&y, b, sizeof y);
    return (x > y) - (x < y);
}

Test(hash, a_million_alike_keys_do_not_collide)
{
    enum { N = 1000000 };
    uint64_t *hashes = malloc(N * sizeof *hashes);
    cr_assert_not_null(hashes);
    for (int i = 0; i < N; i++) {
        char key[32];
        int n = snprintf(key, sizeof key, i % 2 ? "token_%d" : "%d", i);
        hashes[i] = embi_hash(key, (size_t)n);
    }
    qsort(hashes, N, sizeof *hashes, compare_u64);
    for (int i = 1; i < N; i++)
        cr_assert_neq(hashes[i - 1], hashes[i]);
    free(hashes);
}

Test(map, first_position_wins_and_duplicates_count)
{
    static const emb_str keys[] = {STR("cat"),  STR("dog"),  STR("cat"), {NULL, 0}, STR(""),
                                   STR("a\0b"), STR("a\0c"), STR("dog"), STR(""),   {NULL, 0}};
    struct embi_map map;
    emb_err err;
    cr_assert_eq(embi_map_build(&map, keys, EMBI_LEN(keys), &err), EMB_OK);
    cr_assert_eq(map.duplicates, 3);
    cr_assert_eq(embi_map_find(&map, STR("cat")), 0);
    cr_assert_eq(embi_map_find(&map, STR("dog")), 1);
    cr_assert_eq(embi_map_find(&map, STR("")), 4);
    cr_assert_eq(embi_map_find(&map, STR("a\0b")), 5);
    cr_assert_eq(embi_map_find(&map, STR("a\0c")), 6);
    cr_assert_eq(embi_map_find(&map, STR("a")), EMBI_MAP_NONE);
    cr_assert_eq(embi_map_find(&map, STR("Cat")), EMBI_MAP_NONE);
    embi_map_free(&map);
    cr_assert_null(map.slots);
}

Test(map, empty_and_holes_only)
{
    static const emb_str holes[5] = {{NULL, 0}};
    struct embi_map map;
    emb_err err;
    cr_assert_eq(embi_map_build(&map, NULL, 0, &err), EMB_OK);
    cr_assert_eq(embi_map_find(&map, STR("x")), EMBI_MAP_NONE);
    embi_map_free(&map);
    cr_assert_eq(embi_map_build(&map, holes, 5, &err), EMB_OK);
    cr_assert_eq(embi_map_find(&map, STR("")), EMBI_MAP_NONE);
    cr_assert_eq(map.duplicates, 0);
    embi_map_free(&map);
}

Test(map, too_many_keys_are_refused_before_any_is_read)
{
    struct embi_map map;
    emb_err err;
    emb_str key = STR("x");
    cr_assert_eq(embi_map_build(&map, &key, UINT64_C(0xFFFFFFFF), &err), EMB_UNSUPPORTED);
    cr_assert_null(map.slots);
    cr_assert_str_eq(err.msg, "an index holds at most 4294967294 tokens, found 4294967295");
}

/* Sizes around the powers of two and the batch. Key i of n is "i"; "i+n" is never there. */
Test(map, every_size)
{
    static const uint64_t sizes[] = {1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 1000, 4096, 200000};
    struct embi_map map;
    emb_err err;
    for (size_t s = 0; s < EMBI_LEN(sizes); s++) {
        uint64_t n = sizes[s];
        char(*text)[12] = malloc(2 * n * sizeof *text);
        emb_str *keys = malloc(2 * n * sizeof *keys);
        cr_assert(text && keys);
        for (uint64_t i = 0; i < 2 * n; i++)
            keys[i] = (emb_str){text[i], (size_t)sprintf(text[i], "%u", (unsigned)i)};
        cr_assert_eq(embi_map_build(&map, keys, n, &err), EMB_OK);
        cr_assert_geq(2 * (map.mask + 1), 3 * n); /* a search ends soon */
        for (uint64_t i = 0; i < 2 * n; i++)
            cr_assert_eq(embi_map_find(&map, keys[i]), i < n ? i : EMBI_MAP_NONE);
        cr_assert_eq(map.duplicates, 0);
        embi_map_free(&map);
        free(keys);
        free(text);
    }
}

/* The second of the first pair that the array comes to; holes are no pair. */
Test(map, twins)
{
    static const emb_str hole = {NULL, 0};
    const emb_str keys[] = {STR("a"), hole, hole, STR(""), STR("b"), STR("b"), STR("a")};
    static const struct {
        size_t n, twin;
    } cases[] = {{0, 0}, {3, 3}, {5, 5}, {6, 5}, {7, 5}};
    emb_err err;
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        size_t twin = SIZE_MAX;
        cr_assert_eq(embi_find_twin(keys, cases[i].n, &twin, &err), EMB_OK);
        cr_expect_eq(twin, cases[i].twin, "of %zu: %zu", cases[i].n, twin);
    }
}
