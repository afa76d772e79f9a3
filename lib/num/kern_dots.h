/* kern_dots.h - products of rows with a few queries, for one element type; kern_tmpl.h includes it.
 *
 * A tile of 4 rows and up to DOT_QUERIES queries stays in registers (DOT_TILES(tile): tile(1) ...
 * tile(DOT_QUERIES), both set by the includer): what is
 * loaded of a row serves all queries of the tile. Long rows go by in blocks of dimensions: of so
 * many, the queries stay in a small L1 cache, and the rows of a tile too while its queries take
 * turns. The next rows of the table are asked for while these are multiplied. `queries` of the tile
 * functions is a constant where they are inlined.
 */

/* acc[r][q] += the VL products at `at` of each row and query, of the last `left` lanes alone; with
 * norms, acc[r][queries] += the squares. */
static inline __attribute__((always_inline)) void DOT(step)(vec acc[4][DOT_QUERIES],
                                                            const void *const rows[4],
                                                            const float *q, size_t d,
                                                            size_t queries, bool norms, size_t at,
                                                            size_t left)
{
    vec piece[DOT_QUERIES];
    UNROLL
    for (size_t j = 0; j < queries; j++)
        piece[j] = VLOADQ(q + j * d + at);
    UNROLL
    for (size_t r = 0; r < 4; r++) {
        vec x = LOAD(AT((const unsigned char *)rows[r], at));
        if (left < VL)
            x = VKEEP(x, left);
        UNROLL
        for (size_t j = 0; j < queries; j++)
            acc[r][j] = VFMA(x, piece[j], acc[r][j]);
        if (norms)
            acc[r][queries] = VFMA(x, x, acc[r][queries]);
    }
}

/* out [n] = the sums of the lanes of acc[r][j], or += after the first block. */
static inline __attribute__((always_inline)) void DOT(give)(vec acc[4][DOT_QUERIES], size_t j,
                                                            size_t n, bool add, float *out)
{
    float sums[4];
    vsum4(acc[0][j], acc[1][j], acc[2][j], acc[3][j], sums);
    for (size_t r = 0; r < n; r++)
        out[r] = add ? out[r] + sums[r] : sums[r];
}

/* Dimensions first .. end - 1 of four rows, of which n count: out[j * ld + r] and, with norms,
 * norm2[r], or += after the first block. What is left over after whole vectors is the end of the
 * row, d >= VL. */
static inline __attribute__((always_inline)) void DOT(tile)(const void *const rows[4], size_t n,
                                                            uint32_t d, size_t first, size_t end,
                                                            const float *q, size_t queries,
                                                            bool norms, const char *ahead,
                                                            float *out, size_t ld, float *norm2)
{
    vec acc[4][DOT_QUERIES];
    size_t i = first;
    UNROLL
    for (size_t r = 0; r < 4; r++)
        UNROLL
    for (size_t j = 0; j < queries + norms; j++)
        acc[r][j] = VZERO;
    for (; i + VL <= end; i += VL) {
        if (ahead)
            UNROLL
        for (size_t r = 0; r < 4; r++)
            __builtin_prefetch(ahead + (i + r * d) * ELEMENT_BYTES, 0, 2);
        DOT(step)(acc, rows, q, d, queries, norms, i, VL);
    }
    if (i < end)
        DOT(step)(acc, rows, q, d, queries, norms, d - VL, d - i);
    UNROLL
    for (size_t j = 0; j < queries; j++)
        DOT(give)(acc, j, n, first > 0, out + j * ld);
    if (norms)
        DOT(give)(acc, queries, n, first > 0, norm2);
}

/* norm2 may be NULL: then there is room for one query more. */
static void DOT(any_tile)(const void *const rows[4], size_t n, uint32_t d, size_t first, size_t end,
                          const float *q, size_t queries, const char *ahead, float *out, size_t ld,
                          float *norm2)
{
#define TILE(count)                                                               \
    if (queries == (count) && !norm2)                                             \
        DOT(tile)(rows, n, d, first, end, q, count, false, ahead, out, ld, NULL); \
    else if (queries == (count)-1 && norm2)                                       \
        DOT(tile)(rows, n, d, first, end, q, (count)-1, true, ahead, out, ld, norm2);
    DOT_TILES(TILE)
#undef TILE
}

/* One block of dimensions of all rows, in tiles of nearly equal size of the norms, which count as a
 * query before the first, and the queries. Where there are fewer than four rows one is multiplied
 * several times. */
static void DOT(block)(const void *const *rows, size_t n, uint32_t d, size_t first, size_t end,
                       const float *q, size_t queries, const char *next, float *out, size_t ld,
                       float *norm2)
{
    size_t norms = norm2 ? 1 : 0, all = queries + norms,
           tiles = (all + DOT_QUERIES - 1) / DOT_QUERIES;
    for (size_t r = 0; r < n; r += 4) {
        size_t some = embi_min(n - r, 4), last = r + some - 1;
        const void *const four[4] = {rows[r], rows[embi_min(r + 1, last)],
                                     rows[embi_min(r + 2, last)], rows[last]};
        const char *ahead = next ? next + r * d * ELEMENT_BYTES : NULL;
        for (size_t t = 0, j = 0; t < tiles; t++) {
            size_t after = all * (t + 1) / tiles - norms;
            DOT(any_tile)
            (four, some, d, first, end, q + j * d, after - j, t == 0 ? ahead : NULL,
             out + j * ld + r, ld, t == 0 && norm2 ? norm2 + r : NULL);
            j = after;
        }
    }
}

static void DOT(products)(const void *const *rows, size_t n, uint32_t d, const float *q,
                          size_t queries, const void *next, float *out, size_t ld, float *norm2)
{
    if (d < VL) {
        SHORT(products)(rows, n, d, q, queries, next, out, ld, norm2);
        return;
    }
    size_t block = embi_dots_block(d, queries);
    for (size_t first = 0; first < d; first += block)
        DOT(block)(rows, n, d, first, embi_min(first + block, d), q, queries, next, out, ld, norm2);
}
