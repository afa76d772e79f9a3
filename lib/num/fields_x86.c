/* fields_x86.c - fields of text tables to f32 with AVX2: see scan_fields in kern.h.
 *
 * Separators are found 64 bytes at a time, so that a field does not wait for the one before it. The
 * digits behind the point lie right-aligned in the 16 bytes that end with the field, and become a
 * number in four steps of pairs (D. Lemire, "Number Parsing at a Gigabyte per Second", 2021, has
 * such steps for 8). A number of at most 15 digits is a whole number below 2^53 by a power of ten,
 * both exact in f64; one division rounds it to f64, and rounding that to f32 is the one rounding of
 * the number wherever the f64 is not the middle between two f32: what is below a middle stays below
 * it or becomes it. Middles, and numbers of another form than one digit, a point and digits, are
 * left to embi_scan_f32.
 */
#include "num/decimal_impl.h"
#include "num/kern_sets.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum {
    BLOCK_BYTES = 64,
    DIGIT_BYTES = EMBI_FIELDS_BEFORE,
    BEHIND_MAX = 14,
    BATCH = 8,
    USUAL = 8,
    GATHERED = 48,
    AHEAD_BYTES = 2048 /* the next row's, too: the hardware begins anew at each page */
};

static const double power10[BEHIND_MAX + 1] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6, 1e7,
                                               1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14};

/* Bit i: byte i of s[64] is a space or tab, or, in *ends, LF or CR. Each is the byte that the table
 * has for its low half. */
static inline uint64_t separators(const char *s, uint64_t *ends)
{
    const __m256i blank = _mm256_setr_epi8(' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', 0, 0, 0, 0, 0, 0, ' ',
                                           0, 0, 0, 0, 0, 0, 0, 0, '\t', 0, 0, 0, 0, 0, 0);
    const __m256i end = _mm256_setr_epi8(-1, 0, 0, 0, 0, 0, 0, 0, 0, 0, '\n', 0, 0, '\r', 0, 0, -1,
                                         0, 0, 0, 0, 0, 0, 0, 0, 0, '\n', 0, 0, '\r', 0, 0);
    __m256i a = _mm256_loadu_si256((const __m256i *)s);
    __m256i b = _mm256_loadu_si256((const __m256i *)(s + 32));
    __m256i a_end = _mm256_cmpeq_epi8(a, _mm256_shuffle_epi8(end, a));
    __m256i b_end = _mm256_cmpeq_epi8(b, _mm256_shuffle_epi8(end, b));
    a = _mm256_cmpeq_epi8(a, _mm256_shuffle_epi8(blank, a));
    b = _mm256_cmpeq_epi8(b, _mm256_shuffle_epi8(blank, b));
    *ends = (uint32_t)_mm256_movemask_epi8(a_end) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b_end)
                                                        << 32;
    return (uint32_t)_mm256_movemask_epi8(a) | (uint64_t)(uint32_t)_mm256_movemask_epi8(b) << 32;
}

/* The number of the last n digits of the 16 bytes before `end`. *largest grows to the largest of
 * them; above 9: one was no digit. */
static inline uint64_t last_digits(const char *end, size_t n, __m128i *largest)
{
    static const char window[2 * DIGIT_BYTES] = {0,  0,  0,  0,  0,  0,  0,  0,  0,  0,  0,
                                                 0,  0,  0,  0,  0,  -1, -1, -1, -1, -1, -1,
                                                 -1, -1, -1, -1, -1, -1, -1, -1, -1, -1};
    __m128i v = _mm_loadu_si128((const __m128i *)(end - DIGIT_BYTES));
    v = _mm_and_si128(_mm_sub_epi8(v, _mm_set1_epi8('0')),
                      _mm_loadu_si128((const __m128i *)(window + n)));
    *largest = _mm_max_epu8(*largest, v);
    v = _mm_maddubs_epi16(v, _mm_set1_epi16(1 << 8 | 10));
    v = _mm_madd_epi16(v, _mm_set1_epi32(1 << 16 | 100));
    v = _mm_packus_epi32(v, v);
    v = _mm_madd_epi16(v, _mm_set1_epi32(1 << 16 | 10000));
    uint64_t halves = (uint64_t)_mm_cvtsi128_si64(v);
    return (halves & UINT32_MAX) * 100000000 + (halves >> 32);
}

/* Fields on their way: (-1)^sign * w / power. */
struct batch {
    double w[BATCH], power[BATCH];
    uint32_t sign[BATCH];
};

/* The batch as f32; false: one of them is the middle between two. */
static inline bool round_batch(const struct batch *b, float *out)
{
    const __m256i beyond = _mm256_set1_epi64x(0x1FFFFFFF); /* the 29 bits that f32 has not */
    const __m256i middle = _mm256_set1_epi64x(0x10000000);
    __m256i undecided = _mm256_setzero_si256();
    for (size_t i = 0; i < BATCH; i += 4) {
        __m256d x = _mm256_div_pd(_mm256_loadu_pd(b->w + i), _mm256_loadu_pd(b->power + i));
        __m256i low = _mm256_and_si256(_mm256_castpd_si256(x), beyond);
        undecided = _mm256_or_si256(undecided, _mm256_cmpeq_epi64(low, middle));
        __m128i sign = _mm_loadu_si128((const __m128i *)(const void *)(b->sign + i));
        _mm_storeu_ps(out + i, _mm_or_ps(_mm256_cvtpd_ps(x), _mm_castsi128_ps(sign)));
    }
    return _mm256_testz_si256(undecided, undecided);
}

/* n fields, n <= BATCH, that end at s + ends[0] ..., the first of which begins at s + start: each
 * an optional -, one digit, a point and up to BEHIND_MAX digits. out [BATCH]. */
static inline bool read_batch(const char *s, size_t start, const uint32_t *ends, size_t n,
                              float *out)
{
    struct batch b;
    __m128i largest = _mm_setzero_si128();
    uint64_t first_largest = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t negative = s[start] == '-'; /* signs come at random: no jump on them */
        const char *first = s + start + negative, *end = s + ends[i];
        uint64_t whole = (unsigned char)*first - (uint64_t)'0';
        size_t behind = (size_t)(end - first) - 2; /* huge where there is no room for a point */
        if (behind > BEHIND_MAX || first[1] != '.')
            return false;
        first_largest |= whole > 9;
        b.w[i] = (double)(int64_t)(whole * embi_tens[behind] + last_digits(end, behind, &largest));
        b.power[i] = power10[behind];
        b.sign[i] = negative << 31;
        start = ends[i] + 1;
    }
    for (size_t i = n; i < BATCH; i++) {
        b.w[i] = 0;
        b.power[i] = 1;
        b.sign[i] = 0;
    }
    __m128i large = _mm_subs_epu8(largest, _mm_set1_epi8(9));
    return round_batch(&b, out) && !first_largest && _mm_testz_si128(large, large);
}

/* As many of the fields ends[0 .. n) as make whole batches, or all of them: how many were read. */
static inline size_t read_batches(const char *s, size_t *start, const uint32_t *ends, size_t n,
                                  bool all, float *out)
{
    size_t done = 0;
    for (; n - done >= BATCH; done += BATCH) {
        if (!read_batch(s, *start, ends + done, BATCH, out + done))
            return done;
        *start = ends[done + BATCH - 1] + 1;
    }
    float rest[BATCH];
    if (!all || done == n || !read_batch(s, *start, ends + done, n - done, rest))
        return done;
    memcpy(out + done, rest, (n - done) * sizeof *out);
    *start = ends[n - 1] + 1;
    return n;
}

/* Adds the places of the bits of mask, which come after `base`, to ends: how many. Mostly there are
 * no more than USUAL, and to write so many in any case is cheaper than to ask after each. */
static inline size_t add_ends(uint32_t *ends, uint32_t base, uint64_t mask)
{
    const uint64_t last = UINT64_C(1) << 63; /* so that there is a bit to count to */
    size_t n = (size_t)__builtin_popcountll(mask);
    for (size_t i = 0; i < USUAL; i++, mask &= mask - 1)
        ends[i] = base + (uint32_t)__builtin_ctzll(mask | last);
    for (size_t i = USUAL; i < n; i++, mask &= mask - 1)
        ends[i] = base + (uint32_t)__builtin_ctzll(mask);
    return n;
}

size_t embi_scan_fields_avx2(const char *s, size_t n_bytes, float *out, size_t n, size_t *used)
{
    uint32_t ends[GATHERED + BLOCK_BYTES + USUAL];
    const size_t most = embi_min(n_bytes, UINT32_MAX);
    size_t got = 0, waiting = 0, start = 0, base = 0, done = 0;
    bool all = n == 0;
    while (!all && waiting < BATCH) {
        uint64_t line_ends = 0;
        size_t left = waiting;
        for (; waiting < GATHERED && !line_ends && base + BLOCK_BYTES <= most;
             base += BLOCK_BYTES) {
            _mm_prefetch(s + base + AHEAD_BYTES, _MM_HINT_T0);
            uint64_t mask = separators(s + base, &line_ends);
            mask = (mask | line_ends) & (line_ends ^ (line_ends - 1)); /* with the first line end */
            waiting += add_ends(ends + waiting, (uint32_t)base, mask);
        }
        all = line_ends || got + waiting >= n || waiting == left;
        waiting = embi_min(waiting, n - got);
        done = read_batches(s, &start, ends, waiting, all, out + got);
        got += done;
        waiting -= done;
        for (size_t i = 0; i < embi_min(waiting, BATCH); i++)
            ends[i] = ends[done + i];
    }
    /* the line end behind the last field stays */
    *used = start > 0 && s[start - 1] != ' ' && s[start - 1] != '\t' ? start - 1 : start;
    return got;
}

#endif
