/* fields_avx512.c - fields of text tables to f32 with AVX-512: see scan_fields in kern.h.
 *
 * The form of fields is looked at 64 bytes at a time, as sets of bits: where fields begin and end,
 * and that each is an optional -, one digit, a point and digits. So nothing is asked of a single
 * field, and 16 become numbers at a time: the 16 bytes that end with a field lose their point, and
 * their digits become a number in four steps of pairs (D. Lemire, "Number Parsing at a Gigabyte per
 * Second", 2021, has such steps for 8). How that is rounded, and which numbers are left to
 * embi_scan_f32, is told in fields_x86.c.
 */
#include "num/decimal_impl.h"
#include "num/kern_sets.h"

#if defined(__x86_64__)
#include <immintrin.h>

enum {
    BLOCK_BYTES = 64,
    BATCH = 16,
    LANE_BYTES = EMBI_FIELDS_BEFORE,
    BEHIND_MAX = 14, /* digits behind the point: all of them are below 2^53 */
    GATHERED = 512,  /* fields that are found before the first is read */
    USUAL = 8,
    AHEAD_BYTES = 2048 /* the next row's, too: the hardware begins anew at each page */
};

/* Fields that were found and are not read yet. */
struct queue {
    /* ends[i + 1]: of field i, relative to the text; ends[0]: of the one before them. A batch is
     * read beyond the last one. */
    uint32_t ends[1 + GATHERED + BLOCK_BYTES + BATCH];
    size_t n;
    uint64_t negative[(GATHERED + BLOCK_BYTES) / 64 + 2]; /* bit i: field i begins with - */
    size_t begun; /* fields that begin in what was looked at: n or n + 1 */
};

/* What the last byte of a block means for the next one: bit 0 there begins a field, is its first
 * digit behind a -, is its point. */
struct carry {
    uint64_t start, digit, point;
};

/* ------------------------------------------------------------------------------------------------
 * Finding
 */

/* Bit i: byte i of the block is one of these. */
struct bytes {
    uint64_t separators, ends, points, signs, digits;
};

static inline struct bytes look_at(const char *s)
{
    /* Each separator is the byte that the table has for its low half. */
    const __m512i table = _mm512_broadcast_i32x4(
        _mm_setr_epi8(' ', 0, 0, 0, 0, 0, 0, 0, 0, '\t', '\n', 0, 0, '\r', 0, 0));
    _mm_prefetch(s + AHEAD_BYTES, _MM_HINT_T0);
    const __m512i v = _mm512_loadu_si512(s);
    const __m512i digits = _mm512_sub_epi8(v, _mm512_set1_epi8('0'));
    struct bytes b = {
        .separators = _mm512_cmpeq_epi8_mask(v, _mm512_shuffle_epi8(table, v)),
        .points = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('.')),
        .signs = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('-')),
        .digits = _mm512_cmple_epu8_mask(digits, _mm512_set1_epi8(9)),
    };
    if (_mm512_cmplt_epu8_mask(v, _mm512_set1_epi8(' '))) /* seldom */
        b.ends = _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\n')) |
                 _mm512_cmpeq_epi8_mask(v, _mm512_set1_epi8('\r'));
    return b;
}

/* Bit i: byte i is not what has to stand there. In the place of a first digit that is not asked: a
 * sign or a point would be one too many, and a separator ends a field that is too short for its
 * point, as read_batch sees. */
static inline uint64_t misfits(const struct bytes *b, uint64_t starts, struct carry *c)
{
    uint64_t signs = b->signs & starts;
    uint64_t firsts = (starts & ~signs) | signs << 1 | c->digit;
    uint64_t points = firsts << 1 | c->point;
    uint64_t known = b->separators | b->points | b->signs | b->digits;
    c->digit = signs >> 63;
    c->point = firsts >> 63;
    return (b->signs ^ signs) | (b->points ^ points) | ~known;
}

/* Adds the places of the bits of mask, which come after `base`, to ends. Mostly there are no more
 * than USUAL, and to write so many in any case is cheaper than to ask after each. */
static inline void add_ends(struct queue *q, uint32_t base, uint64_t mask)
{
    uint32_t *ends = q->ends + 1 + q->n;
    size_t n = (size_t)_mm_popcnt_u64(mask);
    q->n += n;
    for (size_t i = 0; i < USUAL; i++, mask = _blsr_u64(mask))
        ends[i] = base + (uint32_t)_tzcnt_u64(mask);
    for (size_t i = USUAL; i < n; i++, mask = _blsr_u64(mask))
        ends[i] = base + (uint32_t)_tzcnt_u64(mask);
}

static inline void add_signs(struct queue *q, uint64_t bits, size_t n)
{
    uint64_t *word = &q->negative[q->begun / 64];
    size_t shift = q->begun % 64;
    word[0] |= bits << shift;
    word[1] |= bits >> 1 >> (63 - shift); /* not by 64, which is not defined */
    q->begun += n;
}

/* Takes the fields that end in the block at s + base. False: what follows them is none, or of
 * another line. */
static inline bool find(struct queue *q, struct carry *c, const char *s, size_t base)
{
    const struct bytes b = look_at(s + base);
    uint64_t starts = b.separators << 1 | c->start;
    uint64_t bad = misfits(&b, starts, c);
    c->start = b.separators >> 63;
    /* Up to the first misfit, and to the first line end with it. */
    uint64_t good = _blsmsk_u64(b.ends) & (bad ? _blsmsk_u64(bad) >> 1 : UINT64_MAX);
    starts &= good;
    add_signs(q, _pext_u64(b.signs, starts), (size_t)_mm_popcnt_u64(starts));
    add_ends(q, (uint32_t)base, b.separators & good);
    return good == UINT64_MAX && !b.ends;
}

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

/* What ends with four of the fields. */
static inline __m512i gather(const char *s, const uint32_t *ends)
{
    const char *before = s - LANE_BYTES;
    __m512i lanes = _mm512_castsi128_si512(_mm_loadu_si128((const __m128i *)(before + ends[0])));
    lanes = _mm512_inserti32x4(lanes, _mm_loadu_si128((const __m128i *)(before + ends[2])), 1);
    lanes = _mm512_inserti32x4(lanes, _mm_loadu_si128((const __m128i *)(before + ends[4])), 2);
    return _mm512_inserti32x4(lanes, _mm_loadu_si128((const __m128i *)(before + ends[6])), 3);
}

/* Four numbers of 4 times 4 digits, out of 16 bytes each that end with a field; each byte of
 * `behind` says how many digits that field has behind its point. */
static inline __m512i fours(__m512i v, __m512i behind)
{
    const __m512i places =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15));
    __m512i from_point = _mm512_add_epi8(places, behind); /* 15: the point; above: behind it */
    __mmask64 fraction = _mm512_cmpgt_epu8_mask(from_point, _mm512_set1_epi8(LANE_BYTES - 1));
    __mmask64 number = _mm512_cmpge_epu8_mask(from_point, _mm512_set1_epi8(LANE_BYTES - 1));
    /* the digit before the point moves to its place */
    v = _mm512_mask_mov_epi8(_mm512_bslli_epi128(v, 1), fraction, v);
    v = _mm512_maskz_sub_epi8(number, v, _mm512_set1_epi8('0'));
    v = _mm512_maddubs_epi16(v, _mm512_set1_epi16(1 << 8 | 10));
    return _mm512_madd_epi16(v, _mm512_set1_epi32(1 << 16 | 100));
}

/* The numbers of eight fields without sign and point, divided. */
static inline __m512d eight(const char *s, const uint32_t *ends, __m256i behind)
{
    const __m512d low = _mm512_setr_pd(1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7);
    const __m512d high = _mm512_setr_pd(1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15);
    __m512i count = _mm512_cvtepu32_epi64(behind);
    __m512i even = fours(gather(s, ends), _mm512_shuffle_epi8(count, _mm512_set1_epi8(0)));
    __m512i odd = fours(gather(s, ends + 1), _mm512_shuffle_epi8(count, _mm512_set1_epi8(8)));
    __m512i halves = _mm512_packus_epi32(even, odd);
    halves = _mm512_madd_epi16(halves, _mm512_set1_epi32(1 << 16 | 10000));
    __m512i whole = _mm512_mul_epu32(halves, _mm512_set1_epi64(100000000));
    whole = _mm512_add_epi64(whole, _mm512_srli_epi64(halves, 32));
    return _mm512_div_pd(_mm512_cvtepi64_pd(whole), _mm512_permutex2var_pd(low, count, high));
}

/* Which of the eight are the middle between two f32. */
static inline __mmask8 middles(__m512d x)
{
    const __m512i beyond = _mm512_set1_epi64(0x1FFFFFFF); /* the 29 bits that f32 has not */
    __m512i rest = _mm512_and_si512(_mm512_castpd_si512(x), beyond);
    return _mm512_cmpeq_epi64_mask(rest, _mm512_set1_epi64(0x10000000));
}

static inline void store(float *out, __mmask8 there, __m512d x, __mmask8 negative)
{
    __m256i bits = _mm256_castps_si256(_mm512_cvtpd_ps(x));
    bits = _mm256_mask_or_epi32(bits, negative, bits, _mm256_set1_epi32(INT32_MIN));
    _mm256_mask_storeu_epi32(out, there, bits);
}

/* n fields of the queue from `first` on, n <= BATCH; false: one of them is for others to read. */
static inline bool read_batch(struct queue *q, const char *s, size_t first, size_t n, float *out)
{
    uint32_t *ends = q->ends + 1 + first;
    const __mmask16 there = (__mmask16)((1u << n) - 1);
    const __mmask16 negative = (__mmask16)(q->negative[first / 64] >> first % 64);
    for (size_t i = n; i < BATCH; i++)
        ends[i] = ends[n - 1];
    __m512i bytes = _mm512_sub_epi32(_mm512_loadu_si512(ends), _mm512_loadu_si512(ends - 1));
    __m512i behind = _mm512_sub_epi32(bytes, _mm512_set1_epi32(3)); /* separator, digit, point */
    behind = _mm512_mask_sub_epi32(behind, negative, behind, _mm512_set1_epi32(1));
    if (_mm512_mask_cmpgt_epu32_mask(there, behind, _mm512_set1_epi32(BEHIND_MAX)))
        return false;
    __m512d low = eight(s, ends, _mm512_castsi512_si256(behind));
    __m512d high = eight(s, ends + 8, _mm512_extracti64x4_epi64(behind, 1));
    if ((middles(low) | (unsigned)middles(high) << 8) & there)
        return false;
    store(out, (__mmask8)there, low, (__mmask8)negative);
    store(out + 8, (__mmask8)(there >> 8), high, (__mmask8)(negative >> 8));
    return true;
}

/* The first n fields of the queue, or, before one that is for others, some of those before it: how
 * many were read. */
static inline size_t read_fields(struct queue *q, const char *s, size_t n, float *out)
{
    size_t done = 0;
    while (done < n) {
        size_t batch = embi_min(n - done, BATCH);
        if (!read_batch(q, s, done, batch, out + done))
            break;
        done += batch;
    }
    return done;
}

/* An empty queue behind field n; where the next one has begun its sign is known. */
static inline void restart(struct queue *q, size_t n)
{
    uint64_t negative = q->begun > n ? q->negative[n / 64] >> n % 64 & 1 : 0;
    q->ends[0] = q->ends[n];
    q->begun -= n;
    q->n = 0;
    memset(q->negative, 0, sizeof q->negative);
    q->negative[0] = negative;
}

/* All fields are found before the first is read: what was stored byte by byte can be loaded at once
 * only when it has left the store buffer. */
size_t embi_scan_fields_avx512(const char *s, size_t n_bytes, float *out, size_t n, size_t *used)
{
    const size_t most = embi_min(n_bytes, UINT32_MAX);
    struct queue q;
    struct carry c = {.start = 1};
    size_t got = 0, base = 0;
    bool more = n > 0;
    q.ends[0] = UINT32_MAX; /* before the first byte */
    q.n = q.begun = 0;
    memset(q.negative, 0, sizeof q.negative);
    while (more) {
        size_t want = embi_min(n - got, GATHERED);
        while (more && q.n < want) {
            more = base + BLOCK_BYTES <= most && find(&q, &c, s, base);
            base += BLOCK_BYTES;
        }
        size_t fields = embi_min(q.n, n - got), done = read_fields(&q, s, fields, out + got);
        got += done;
        more = more && done == fields && got < n;
        restart(&q, done);
    }
    uint32_t start = q.ends[0] + 1;
    /* the line end behind the last field stays */
    *used = start > 0 && s[start - 1] != ' ' && s[start - 1] != '\t' ? start - 1 : start;
    return got;
}

#endif
