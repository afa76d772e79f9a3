/* random_main.c - random words and normal deviates of every kernel set: the bits of util/rng.h and of
 * num/normal.h, block by block, and nothing written beside them.
 *
 * Those two are held against published vectors and a formula in numpy (tests/unit/test_rng.c,
 * test_init.c). Arrays end at a page that may not be touched.
 */
#include "kern_fixture.h"
#include "num/normal.h"
#include "util/rng.h"

enum { MOST = 3 * 16 + 1 + 40 }; /* three vectors of the widest set, and then some */

/* Counters around the end of their 32 bits, keys and the other words at random. */
static void check_words(const struct embi_kern *k, size_t n, uint32_t first)
{
    uint32_t *words = (uint32_t *)(void *)place(0, 4 * n * sizeof *words, 0);
    uint32_t counter[4] = {first}, key[2] = {(uint32_t)random_bits(), (uint32_t)random_bits()};
    for (int i = 1; i < 4; i++)
        counter[i] = (uint32_t)random_bits();
    k->random_words(words, n, counter, key, n);
    for (size_t i = 0; i < n; i++) {
        uint32_t at[4] = {first + (uint32_t)i, counter[1], counter[2], counter[3]}, want[4];
        embi_philox(at, key, want);
        for (size_t w = 0; w < 4; w++)
            CHECK(words[w * n + i] == want[w], "%s n %zu block %zu word %zu: %08x, not %08x",
                  k->name, n, i, w, words[w * n + i], want[w]);
    }
}

static void test_words(const struct embi_kern *k)
{
    for (size_t n = 0; n <= MOST; n++) {
        check_words(k, n, (uint32_t)random_bits());
        check_words(k, n, UINT32_MAX - (uint32_t)n / 2);
    }
}

/* A distance between the words that is more than their number, and what lies between them. */
static void test_distance(const struct embi_kern *k)
{
    enum { LD = 70 };
    const uint32_t counter[4] = {5, 6, 7, 8}, key[2] = {9, 10};
    for (size_t n = 0; n <= LD; n++) {
        uint32_t words[4 * LD], out[4];
        memset(words, 0xA5, sizeof words);
        k->random_words(words, LD, counter, key, n);
        for (size_t i = 0; i < 4 * LD; i++) {
            uint32_t at[4] = {5 + (uint32_t)(i % LD), 6, 7, 8};
            embi_philox(at, key, out);
            uint32_t want = i % LD < n ? out[i / LD] : 0xA5A5A5A5;
            CHECK(words[i] == want, "%s n %zu at %zu: %08x", k->name, n, i, words[i]);
        }
    }
}

/* Radii and angles at both ends of their range, at quarter turns and halfway, and at random. */
static uint32_t some_word(void)
{
    static const uint32_t edges[] = {0,        1,        UINT32_MAX, 1u << 29, (1u << 29) - 1,
                                     1u << 30, 1u << 31, 3u << 30};
    uint64_t x = random_bits();
    return x % 3 == 0 ? edges[x / 3 % (sizeof edges / sizeof *edges)] : (uint32_t)(x >> 32);
}

static void test_normals(const struct embi_kern *k)
{
    static const float scales[] = {1, 0.02f, -3, 0x1p126f, 0x1.8p-140f};
    for (size_t n = 0; n <= MOST; n++) {
        uint32_t *words = (uint32_t *)(void *)place(0, 4 * n * sizeof *words, 0);
        float *out = (float *)(void *)place(1, 4 * n * sizeof *out, 0);
        for (size_t i = 0; i < 4 * n; i++)
            words[i] = some_word();
        const float scale = scales[n % (sizeof scales / sizeof *scales)];
        k->normals_f32(words, n, n, scale, out);
        for (size_t i = 0; i < n; i++)
            for (size_t pair = 0; pair < 2; pair++) {
                float want[2];
                embi_normal_f32(words[2 * pair * n + i], words[(2 * pair + 1) * n + i], &want[0],
                                &want[1]);
                want[0] *= scale;
                want[1] *= scale;
                CHECK(memcmp(want, out + 4 * i + 2 * pair, sizeof want) == 0,
                      "%s n %zu block %zu: %a %a, not %a %a", k->name, n, i,
                      (double)out[4 * i + 2 * pair], (double)out[4 * i + 2 * pair + 1],
                      (double)want[0], (double)want[1]);
            }
    }
}

int main(void)
{
    make_guarded();
    const struct embi_kern *sets[4];
    int n = sets_here(sets);
    for (int i = 0; i < n; i++) {
        printf("set %s\n", sets[i]->name);
        RUN(test_words(sets[i]));
        RUN(test_distance(sets[i]));
        RUN(test_normals(sets[i]));
    }
    printf("%d passed, %d failed\n", passed, failed);
    return failed != 0;
}
