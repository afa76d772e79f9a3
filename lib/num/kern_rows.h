/* kern_rows.h - sums, extremes and, where it is wanted, a hash of one row, in one pass over it; a
 * kern_<set>.c includes it once.
 *
 * The includer defines VL (8 or 16), vec, load_f16(p) and load_bf16(p), which widen VL elements,
 * FAR_AHEAD_BYTES, how far before its use a row is asked for that others follow, SUM_PAIRS, whether
 * bf16 is widened in pairs (kern_queries.h), and
 *     struct sums         the 8 virtual lanes of num/kern.h and the extremes of VL columns
 *     sums_start()        of nothing
 *     sums_add_f32(&s, p)             adds the VL values at p; zeros that stand for none change
 *                                     nothing: no lane is -0
 *     sums_add(&s, x)                 the same of values that were widened
 *     sums_add_pairs(&s, even, odd)   the same of 2 VL values that were widened in pairs
 *     sums_see(&s, x)     they count for the extremes, NaN among them does not
 *     sums_end(&s, paired, out)       paired: they were added so
 *     struct stripes      the hash of num/row_hash.h in the making: stripes_start(),
 *                         stripes_add(&h, p) of EMBI_STRIPE bytes, stripes_mix(&h),
 *                         stripes_end(&h)
 */

/* One stripe more: its sums are those of `add`, its extremes those of `see`. */
typedef void take_fn(struct sums *s, const char *add, const char *see);

static inline void take_f32(struct sums *s, const char *add, const char *see)
{
    UNROLL
    for (size_t v = 0; v < EMBI_STRIPE; v += VL * sizeof(float)) {
        sums_add_f32(s, add + v);
        sums_see(s, load_f32(see + v));
    }
}

static inline __attribute__((always_inline)) void take_widened(struct sums *s, const char *add,
                                                               const char *see, load_fn *load)
{
    UNROLL
    for (size_t v = 0; v < EMBI_STRIPE; v += VL * sizeof(uint16_t)) {
        sums_add(s, load(add + v));
        sums_see(s, load(see + v));
    }
}

static inline void take_f16(struct sums *s, const char *add, const char *see)
{
    take_widened(s, add, see, load_f16);
}

static inline void take_bf16(struct sums *s, const char *add, const char *see)
{
#if SUM_PAIRS
    UNROLL
    for (size_t v = 0; v < EMBI_STRIPE; v += sizeof(pairs)) {
        sums_add_pairs(s, load_even(add + v), load_odd(add + v));
        sums_see(s, load_even(see + v));
        sums_see(s, load_odd(see + v));
    }
#else
    take_widened(s, add, see, load_bf16);
#endif
}

/* What is left of a row after whole stripes: zeros add nothing, and no extreme is a NaN. */
static inline __attribute__((always_inline)) void take_rest(struct sums *s, struct stripes *h,
                                                            const char *rest, size_t n,
                                                            take_fn *take, bool hashed)
{
    char add[EMBI_STRIPE] = {0}, see[EMBI_STRIPE];
    memset(see, 0xFF, sizeof see);
    memcpy(add, rest, n);
    memcpy(see, rest, n);
    if (hashed)
        stripes_add(h, add);
    take(s, add, see);
}

static inline __attribute__((always_inline)) void row_pass(const void *row, size_t bytes,
                                                           take_fn *take, bool paired, bool hashed,
                                                           struct embi_row_sums *out)
{
    const char *p = row, *end = p + bytes / EMBI_STRIPE * EMBI_STRIPE;
    struct sums s = sums_start();
    struct stripes h = stripes_start();
    while (p < end) {
        const char *stop = p + embi_min((size_t)(end - p), EMBI_STRIPES_MIXED * EMBI_STRIPE);
        for (; p < stop; p += EMBI_STRIPE) {
            __builtin_prefetch(p + FAR_AHEAD_BYTES, 0, 2);
            if (hashed)
                stripes_add(&h, p);
            take(&s, p, p);
        }
        if (hashed)
            stripes_mix(&h);
    }
    if (bytes % EMBI_STRIPE)
        take_rest(&s, &h, p, bytes % EMBI_STRIPE, take, hashed);
    sums_end(&s, paired, out);
    out->hash = hashed ? stripes_end(&h) : 0;
}

static void row_sums(const float *row, uint32_t d, struct embi_row_sums *out)
{
    row_pass(row, d * sizeof(float), take_f32, false, false, out);
}

static void figures_f32(const void *row, uint32_t d, struct embi_row_sums *out)
{
    row_pass(row, d * sizeof(float), take_f32, false, true, out);
}

static void figures_f16(const void *row, uint32_t d, struct embi_row_sums *out)
{
    row_pass(row, d * sizeof(uint16_t), take_f16, false, true, out);
}

static void figures_bf16(const void *row, uint32_t d, struct embi_row_sums *out)
{
    row_pass(row, d * sizeof(uint16_t), take_bf16, SUM_PAIRS, true, out);
}
