/* lines_x86.c - the length of a line of text and the number of its fields with AVX2: see scan_line
 * in kern.h. 64 bytes at a time become sets of bits, and what follows a blank and is none is
 * counted.
 */
#include "num/kern_sets.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum {
    BLOCK_BYTES = 64,
    AHEAD_BYTES = 4096 /* the next line's, too: the hardware begins anew at each page */
};

/* Bit i: byte i of s[64] is a blank; in *ends: LF. */
static inline uint64_t blanks_of(const char *s, uint64_t *ends)
{
    const __m256i space = _mm256_set1_epi8(' '), tab = _mm256_set1_epi8('\t');
    const __m256i lf = _mm256_set1_epi8('\n');
    __m256i a = _mm256_loadu_si256((const __m256i *)s);
    __m256i b = _mm256_loadu_si256((const __m256i *)(s + 32));
    uint32_t low = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(a, lf));
    uint32_t high = (uint32_t)_mm256_movemask_epi8(_mm256_cmpeq_epi8(b, lf));
    *ends = low | (uint64_t)high << 32;
    a = _mm256_or_si256(_mm256_cmpeq_epi8(a, space), _mm256_cmpeq_epi8(a, tab));
    b = _mm256_or_si256(_mm256_cmpeq_epi8(b, space), _mm256_cmpeq_epi8(b, tab));
    low = (uint32_t)_mm256_movemask_epi8(a);
    high = (uint32_t)_mm256_movemask_epi8(b);
    return low | (uint64_t)high << 32;
}

size_t embi_scan_line_avx2(const char *s, size_t n, uint64_t *fields)
{
    uint64_t before = 0, count = 0, ends;
    size_t i = 0, rest;
    for (; n - i >= BLOCK_BYTES; i += BLOCK_BYTES) {
        _mm_prefetch(s + i + AHEAD_BYTES, _MM_HINT_T0);
        uint64_t blanks = blanks_of(s + i, &ends);
        uint64_t starts = (blanks << 1 | before) & ~blanks;
        before = blanks >> 63;
        if (ends) {
            size_t end = (size_t)__builtin_ctzll(ends);
            starts &= (UINT64_C(1) << end) - 1;
            *fields = count + (uint64_t)__builtin_popcountll(starts);
            return i + end;
        }
        count += (uint64_t)__builtin_popcountll(starts);
    }
    size_t back = i > 0; /* the byte before tells whether the first one left begins a field */
    rest = embi_kern_scalar.scan_line(s + i - back, n - i + back, fields);
    *fields += count;
    return i - back + rest;
}

#endif
