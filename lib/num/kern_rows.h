/* kern_rows.h - sums, extremes and, where it is wanted, a hash of one row, in one pass over it; a
 * kern_<set>.c includes it once.
 *
 * The includer defines VL (8 or 16), vec, load_f16(p) and load_bf16(p), which widen VL elements,
 * FAR_AHEAD_BYTES, how far before its use a row is asked for that others follow, HASH_STRIPES, how
 * many stripes are hashed before they are summed: 1 where registers hold what both need, and
 *     struct sums         the 8 virtual lanes of num/kern.h and the extremes of VL columns
 *     sums_start()        of nothing
 *     sums_add(&s, x)     adds VL values; zeros that stand for none change nothing: no lane is -0
 *     sums_see(&s, x, n)  the first n lanes count for the extremes, NaN among them does not
 *     sums_end(&s, out)
 *     struct stripes      the hash of num/row_hash.h in the making: stripes_start(),
 *                         stripes_add(&h, p) of EMBI_STRIPE bytes, stripes_end(&h)
 */

typedef vec load_row_fn(const void *p);

static inline vec load_row_f32(const void *p)
{
    return VLOADQ(p);
}

/* The elements of one stripe, `there` of them; what is behind these is zero. */
static inline __attribute__((always_inline)) void sum_stripe(struct sums *s, const char *p,
                                                             size_t bytes, load_row_fn *load,
                                                             size_t there)
{
    for (size_t v = 0; v < EMBI_STRIPE / bytes; v += VL) {
        vec x = load(p + v * bytes);
        sums_add(s, x);
        sums_see(s, x, there > v ? embi_min(VL, there - v) : 0);
    }
}

/* n whole stripes. Read twice from the nearest cache costs less than sums that leave registers. */
static inline __attribute__((always_inline)) void take_stripes(struct sums *s, struct stripes *h,
                                                               const char *p, size_t n,
                                                               size_t bytes, load_row_fn *load,
                                                               bool hashed)
{
    for (size_t i = 0; hashed && i < n; i++) {
        __builtin_prefetch(p + i * EMBI_STRIPE + FAR_AHEAD_BYTES, 0, 2);
        stripes_add(h, p + i * EMBI_STRIPE);
    }
    for (size_t i = 0; i < n; i++) {
        if (!hashed)
            __builtin_prefetch(p + i * EMBI_STRIPE + FAR_AHEAD_BYTES, 0, 2);
        sum_stripe(s, p + i * EMBI_STRIPE, bytes, load, EMBI_STRIPE / bytes);
    }
}

static inline __attribute__((always_inline)) void row_pass(const void *row, uint32_t d,
                                                           size_t bytes, load_row_fn *load,
                                                           bool hashed, struct embi_row_sums *out)
{
    const char *p = row;
    struct sums s = sums_start();
    struct stripes h = stripes_start();
    size_t rest = d % (EMBI_STRIPE / bytes);
    for (size_t left = d / (EMBI_STRIPE / bytes), n; left; left -= n, p += n * EMBI_STRIPE) {
        n = HASH_STRIPES > 1 ? embi_min(left, HASH_STRIPES) : 1;
        take_stripes(&s, &h, p, n, bytes, load, hashed);
    }
    if (rest) {
        char last[EMBI_STRIPE] = {0};
        memcpy(last, p, rest * bytes);
        if (hashed)
            stripes_add(&h, last);
        sum_stripe(&s, last, bytes, load, rest);
    }
    sums_end(&s, out);
    out->hash = hashed ? stripes_end(&h) : 0;
}

static void row_sums(const float *row, uint32_t d, struct embi_row_sums *out)
{
    row_pass(row, d, sizeof(float), load_row_f32, false, out);
}

static void figures_f32(const void *row, uint32_t d, struct embi_row_sums *out)
{
    row_pass(row, d, sizeof(float), load_row_f32, true, out);
}

static void figures_f16(const void *row, uint32_t d, struct embi_row_sums *out)
{
    row_pass(row, d, sizeof(uint16_t), load_f16, true, out);
}

static void figures_bf16(const void *row, uint32_t d, struct embi_row_sums *out)
{
    row_pass(row, d, sizeof(uint16_t), load_bf16, true, out);
}
