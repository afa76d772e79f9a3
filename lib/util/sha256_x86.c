/* util/sha256_x86.c - blocks of SHA-256 by the instructions that x86 has for them (Intel SDM volume
 * 2, SHA256RNDS2, SHA256MSG1, SHA256MSG2).
 *
 * A register holds four words. Two of them are the state, as {f, e, b, a} and {h, g, d, c} from the
 * lowest word up, four the last sixteen words of the message schedule.
 */
#include "util/sha256_blocks.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <immintrin.h>

#define WITH_SHA __attribute__((target("sha,sse4.1,ssse3")))

bool embi_sha256_x86_runs(void)
{
    unsigned a, b, c, d, sse = bit_SSSE3 | bit_SSE4_1;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & sse) == sse &&
           __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & bit_SHA);
}

/* Four rounds, with words 4 g .. 4 g + 3 of the schedule. */
WITH_SHA static inline void four_rounds(__m128i *abef, __m128i *cdgh, __m128i words, int g)
{
    __m128i k = _mm_loadu_si128((const __m128i *)(const void *)(embi_sha256_k + 4 * g));
    __m128i sum = _mm_add_epi32(words, k);
    *cdgh = _mm_sha256rnds2_epu32(*cdgh, *abef, sum);
    *abef = _mm_sha256rnds2_epu32(*abef, *cdgh, _mm_shuffle_epi32(sum, 0x0E));
}

/* The four words of the schedule after the sixteen in w0 .. w3. */
WITH_SHA static inline __m128i next_words(__m128i w0, __m128i w1, __m128i w2, __m128i w3)
{
    __m128i seven_before = _mm_alignr_epi8(w3, w2, 4);
    return _mm_sha256msg2_epu32(_mm_add_epi32(_mm_sha256msg1_epu32(w0, w1), seven_before), w3);
}

WITH_SHA static void one_block(__m128i *abef, __m128i *cdgh, const unsigned char *block)
{
    const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0bLL, 0x0405060700010203LL);
    const __m128i abef_before = *abef, cdgh_before = *cdgh;
    __m128i w[4];
    for (int i = 0; i < 4; i++) {
        w[i] = _mm_loadu_si128((const __m128i *)(const void *)(block + 16 * i));
        w[i] = _mm_shuffle_epi8(w[i], big_endian);
    }
    for (int g = 0; g < 16; g += 4)
        for (int i = 0; i < 4; i++) {
            four_rounds(abef, cdgh, w[i], g + i);
            if (g < 12)
                w[i] = next_words(w[i], w[(i + 1) % 4], w[(i + 2) % 4], w[(i + 3) % 4]);
        }
    *abef = _mm_add_epi32(*abef, abef_before);
    *cdgh = _mm_add_epi32(*cdgh, cdgh_before);
}

WITH_SHA void embi_sha256_x86(uint32_t state[8], const unsigned char *blocks, size_t n)
{
    __m128i *at = (__m128i *)(void *)state;
    __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(at), 0xB1);
    __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(at + 1), 0x1B);
    __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
    __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xF0);
    for (; n > 0; n--, blocks += EMBI_SHA256_BLOCK_BYTES)
        one_block(&abef, &cdgh, blocks);
    __m128i abef_up = _mm_shuffle_epi32(abef, 0x1B), ghcd = _mm_shuffle_epi32(cdgh, 0xB1);
    _mm_storeu_si128(at, _mm_blend_epi16(abef_up, ghcd, 0xF0));
    _mm_storeu_si128(at + 1, _mm_alignr_epi8(ghcd, abef_up, 8));
}

#endif
