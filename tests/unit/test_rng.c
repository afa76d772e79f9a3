/* test_rng.c - util/rng against the known answers that Random123 publishes for philox4x32-10
 * (kat_vectors), and properties that follow from its being a bijection of the counter.
 */
#include <criterion/criterion.h>
#include <string.h>

#include "util/rng.h"

#define COUNT(a) (sizeof(a) / sizeof *(a))

static const struct {
    uint32_t ctr[4], key[2], want[4];
} known[] = {
    {{0, 0, 0, 0}, {0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
    {{0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
     {0xffffffff, 0xffffffff},
     {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
    {{0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
     {0xa4093822, 0x299f31d0},
     {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
};

Test(rng, known_answers)
{
    for (size_t i = 0; i < COUNT(known); i++) {
        uint32_t out[4];
        embi_philox(known[i].ctr, known[i].key, out);
        cr_expect(memcmp(out, known[i].want, sizeof out) == 0, "case %zu: %08x %08x %08x %08x", i,
                  out[0], out[1], out[2], out[3]);
    }
}

Test(rng, the_output_may_replace_the_counter)
{
    uint32_t x[4];
    memcpy(x, known[2].ctr, sizeof x);
    embi_philox(x, known[2].key, x);
    cr_expect(memcmp(x, known[2].want, sizeof x) == 0);
}

/* The compiler turns this loop into vector code. The sums are of an implementation of the paper in
 * Python's integers: x = x * 31 + out, word by word, over ctr = (i, i >> 3, 0, 7 i) and
 * key = (42, i ^ 2^31), i = 0..999. */
Test(rng, a_loop_gives_what_single_calls_give)
{
    static uint32_t out[1000][4];
    for (uint32_t i = 0; i < COUNT(out); i++) {
        const uint32_t ctr[4] = {i, i >> 3, 0, 7 * i}, key[2] = {42, i ^ 0x80000000u};
        embi_philox(ctr, key, out[i]);
    }
    static const uint32_t want[4] = {0x3807fa34, 0xe78a3161, 0x81fc4031, 0x530a55ad};
    uint32_t sum[4] = {0};
    for (size_t i = 0; i < COUNT(out); i++) {
        for (int w = 0; w < 4; w++)
            sum[w] = sum[w] * 31 + out[i][w];
    }
    cr_expect(memcmp(sum, want, sizeof sum) == 0, "%08x %08x %08x %08x", sum[0], sum[1], sum[2],
              sum[3]);
}

/* Each bit of the counter and of the key changes about half of the 128 bits of the block. */
Test(rng, every_bit_matters)
{
    for (int bit = 0; bit < 192; bit++) {
        uint32_t in[6] = {1, 2, 3, 4, 5, 6}, before[4], after[4];
        int changed = 0;
        embi_philox(in, in + 4, before);
        in[bit / 32] ^= 1u << bit % 32;
        embi_philox(in, in + 4, after);
        for (int w = 0; w < 4; w++)
            changed += __builtin_popcount(before[w] ^ after[w]);
        cr_expect(changed > 64 - 32 && changed < 64 + 32, "bit %d changes %d of 128", bit, changed);
    }
}
