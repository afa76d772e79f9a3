/* kern_dots.h - products of rows with a few queries, for one element type; kern_tmpl.h includes it.
 *
 * A tile of 4 rows and up to DOT_QUERIES queries stays in registers (DOT_TILES(tile): tile(1) ...
 * tile(DOT_QUERIES), both set by the includer): what is
 * loaded of a row serves all queries of the tile. The next rows of the table are asked for while
 * these are multiplied. `queries` of the tile functions is a constant where they are inlined.
 */

/* acc[r][q] += the VL products at `at` of each row and query, of the last `left` lanes alone. */
static inline __attribute__((always_inline)) void DOT(step)(vec acc[4][DOT_QUERIES],
                                                            const void *const *rows, size_t n,
                                                            const float *q, size_t d,
                                                            size_t queries, size_t at, size_t left)
{
    vec piece[DOT_QUERIES];
    UNROLL
    for (size_t j = 0; j < queries; j++)
        piece[j] = VLOADQ(q + j * d + at);
    UNROLL
    for (size_t r = 0; r < n; r++) {
        vec x = LOAD(AT((const unsigned char *)rows[r], at));
        if (left < VL)
            x = VKEEP(x, left);
        UNROLL
        for (size_t j = 0; j < queries; j++)
            acc[r][j] = VFMA(x, piece[j], acc[r][j]);
    }
}

/* n rows (1 or 4), d >= VL; out[j * ld + r]. */
static inline __attribute__((always_inline)) void DOT(tile)(const void *const *rows, size_t n,
                                                            uint32_t d, const float *q,
                                                            size_t queries, const char *ahead,
                                                            float *out, size_t ld)
{
    vec acc[4][DOT_QUERIES];
    size_t i = 0;
    UNROLL
    for (size_t r = 0; r < 4; r++)
        UNROLL
    for (size_t j = 0; j < queries; j++)
        acc[r][j] = VZERO;
    for (; i + VL <= d; i += VL) {
        if (ahead)
            UNROLL
        for (size_t r = 0; r < n; r++)
            __builtin_prefetch(ahead + (i + r * d) * ELEMENT_BYTES, 0, 2);
        DOT(step)(acc, rows, n, q, d, queries, i, VL);
    }
    if (i < d)
        DOT(step)(acc, rows, n, q, d, queries, d - VL, d - i);
    UNROLL
    for (size_t j = 0; j < queries; j++) {
        float sums[4];
        vsum4(acc[0][j], acc[1][j], acc[2][j], acc[3][j], sums);
        memcpy(out + j * ld, sums, n * sizeof *sums);
    }
}

static void DOT(any_tile)(const void *const *rows, size_t n, uint32_t d, const float *q,
                          size_t queries, const char *ahead, float *out, size_t ld)
{
#define TILE(count)                                      \
    if (queries == (count) && n == 4)                    \
        DOT(tile)(rows, 4, d, q, count, ahead, out, ld); \
    else if (queries == (count))                         \
        DOT(tile)(rows, 1, d, q, count, ahead, out, ld);
    DOT_TILES(TILE)
#undef TILE
}

static void DOT(products)(const void *const *rows, size_t n, uint32_t d, const float *q,
                          size_t queries, const void *next, float *out, size_t ld)
{
    size_t tiles = (queries + DOT_QUERIES - 1) / DOT_QUERIES;
    if (d < VL) {
        SHORT(products)(rows, n, d, q, queries, next, out, ld);
        return;
    }
    for (size_t r = 0, some; r < n; r += some) {
        some = n - r >= 4 ? 4 : 1;
        const char *ahead = next ? (const char *)next + r * d * ELEMENT_BYTES : NULL;
        for (size_t t = 0; t < tiles; t++) { /* of nearly equal size */
            size_t first = queries * t / tiles, end = queries * (t + 1) / tiles;
            DOT(any_tile)
            (rows + r, some, d, q + first * d, end - first, t == 0 ? ahead : NULL,
             out + first * ld + r, ld);
        }
    }
}
