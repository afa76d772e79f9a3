/* kern_sums.h - sums and multiples of one row of f32, f16 or bf16, the small ones widened, computed
 * and rounded without a detour over memory; a kern_<set>.c includes it once.
 *
 * The includer defines VL, vec, load_f16(p), which widens VL elements, and
 *     store_f16(p, v)     the same back, rounded
 *     pairs               2 VL codes of bf16, in order; pairs_load(p), pairs_store(p, v)
 *     pairs_even(v)       those with an even number as f32, and
 *     pairs_odd(v)        those with an odd one: no lane moves, as it would where the first VL of
 *                         them are widened together
 *     pairs_join(e, o)    both rounded, and in order again
 *
 * The row that is asked for meanwhile is so line by line: all its lines at once would wait for each
 * other, and the row at hand for them.
 */

enum { LINE_BYTES = 64 };

/* One line of a row: x + y, or x * by. */
typedef void line_fn(char *out, const char *x, const char *y, vec by);

static inline void sum_line_f32(char *out, const char *x, const char *y, vec by)
{
    (void)by;
    for (size_t i = 0; i < LINE_BYTES; i += VL * sizeof(float))
        VSTORE((void *)(out + i), VADD(load_f32(x + i), load_f32(y + i)));
}

static inline void sum_line_f16(char *out, const char *x, const char *y, vec by)
{
    (void)by;
    for (size_t i = 0; i < LINE_BYTES; i += VL * sizeof(uint16_t))
        store_f16(out + i, VADD(load_f16(x + i), load_f16(y + i)));
}

static inline void sum_line_bf16(char *out, const char *x, const char *y, vec by)
{
    (void)by;
    for (size_t i = 0; i < LINE_BYTES; i += sizeof(pairs)) {
        pairs v = pairs_load(x + i), w = pairs_load(y + i);
        vec even = VADD(pairs_even(v), pairs_even(w)), odd = VADD(pairs_odd(v), pairs_odd(w));
        pairs_store(out + i, pairs_join(even, odd));
    }
}

static inline void times_line_f32(char *out, const char *x, const char *y, vec by)
{
    (void)y;
    for (size_t i = 0; i < LINE_BYTES; i += VL * sizeof(float))
        VSTORE((void *)(out + i), VMUL(load_f32(x + i), by));
}

static inline void times_line_f16(char *out, const char *x, const char *y, vec by)
{
    (void)y;
    for (size_t i = 0; i < LINE_BYTES; i += VL * sizeof(uint16_t))
        store_f16(out + i, VMUL(load_f16(x + i), by));
}

static inline void times_line_bf16(char *out, const char *x, const char *y, vec by)
{
    (void)y;
    for (size_t i = 0; i < LINE_BYTES; i += sizeof(pairs)) {
        pairs v = pairs_load(x + i);
        pairs_store(out + i, pairs_join(VMUL(pairs_even(v), by), VMUL(pairs_odd(v), by)));
    }
}

/* The whole lines of a row of so many bytes: how many bytes are done. */
static inline __attribute__((always_inline)) size_t row_lines(line_fn *line, void *out,
                                                              const void *x, const void *y, vec by,
                                                              size_t bytes, const void *next)
{
    const char *a = x, *b = y, *ahead = next ? next : x;
    char *to = out;
    size_t i = 0;
    for (; i + LINE_BYTES <= bytes; i += LINE_BYTES) {
        __builtin_prefetch(ahead + i, 0, 2);
        line(to + i, a + i, b + i, by);
    }
    return i;
}

static void sum_f32(float *out, const float *x, const float *y, size_t n, const void *next)
{
    size_t i = row_lines(sum_line_f32, out, x, y, VZERO, n * sizeof *x, next) / sizeof *x;
    embi_kern_scalar.sum_f32(out + i, x + i, y + i, n - i, NULL);
}

static void sum_f16(void *out, const void *x, const void *y, size_t n, const void *next)
{
    size_t i = row_lines(sum_line_f16, out, x, y, VZERO, n * 2, next);
    embi_kern_scalar.sum_f16((char *)out + i, (const char *)x + i, (const char *)y + i, n - i / 2,
                             NULL);
}

static void sum_bf16(void *out, const void *x, const void *y, size_t n, const void *next)
{
    size_t i = row_lines(sum_line_bf16, out, x, y, VZERO, n * 2, next);
    embi_kern_scalar.sum_bf16((char *)out + i, (const char *)x + i, (const char *)y + i, n - i / 2,
                              NULL);
}

static void times_f32(float *out, const float *x, float factor, size_t n, const void *next)
{
    size_t i = row_lines(times_line_f32, out, x, x, VSPREAD(factor), n * sizeof *x, next);
    i /= sizeof *x;
    embi_kern_scalar.times_f32(out + i, x + i, factor, n - i, NULL);
}

static void times_f16(void *out, const void *x, float factor, size_t n, const void *next)
{
    size_t i = row_lines(times_line_f16, out, x, x, VSPREAD(factor), n * 2, next);
    embi_kern_scalar.times_f16((char *)out + i, (const char *)x + i, factor, n - i / 2, NULL);
}

static void times_bf16(void *out, const void *x, float factor, size_t n, const void *next)
{
    size_t i = row_lines(times_line_bf16, out, x, x, VSPREAD(factor), n * 2, next);
    embi_kern_scalar.times_bf16((char *)out + i, (const char *)x + i, factor, n - i / 2, NULL);
}
