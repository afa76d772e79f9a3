/* kern_dots.h - products of rows with a few queries, for one element type; kern_tmpl.h includes it.
 *
 * A tile of 4 rows and up to DOT_QUERIES queries stays in registers (DOT_TILES(tile): tile(1) ...
 * tile(DOT_QUERIES), both set by the includer): what is
 * loaded of a row serves all queries of the tile. Long rows go by in blocks of dimensions: of so
 * many, the queries stay in a small L1 cache, and the rows of a tile too while its queries take
 * turns. The next rows of the table are asked for while these are multiplied, by all tiles alike:
 * memory has only so many requests under way. `queries` of the tile functions is a constant where
 * they are inlined.
 */

/* acc[r][j] += VL products of what `load` has of each row at `at` with q[j * ld], of the last
 * `left` lanes alone; with norms, acc[r][queries] += the squares. */
static inline __attribute__((always_inline)) void DOT(step)(vec acc[4][DOT_QUERIES],
                                                            const void *const rows[4], size_t at,
                                                            load_fn *load, const float *q,
                                                            size_t ld, size_t queries, bool norms,
                                                            size_t left)
{
    vec piece[DOT_QUERIES];
    UNROLL
    for (size_t j = 0; j < queries; j++)
        piece[j] = VLOADQ(q + j * ld);
    UNROLL
    for (size_t r = 0; r < 4; r++) {
        vec x = load(AT((const unsigned char *)rows[r], at));
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

static inline __attribute__((always_inline)) void DOT(ask)(const struct dots *b,
                                                           const struct asked *asked, size_t at)
{
    for (size_t r = 0; r < asked->rows; r++)
        __builtin_prefetch(asked->at + (at + r * b->d) * ELEMENT_BYTES, 0, 2);
}

/* The whole steps of a block; returns where the next one would begin. */
static inline __attribute__((always_inline)) size_t DOT(steps)(vec acc[4][DOT_QUERIES],
                                                               const void *const rows[4],
                                                               const struct dots *b,
                                                               const struct asked *asked,
                                                               size_t queries, bool norms)
{
    size_t i = b->first;
#if DOT_PAIRS
    size_t ld = b->end - b->first;
    for (; i + 2 * VL <= b->end; i += 2 * VL) {
        const float *q = b->placed + (i - b->first);
        DOT(ask)(b, asked, i);
        DOT(step)(acc, rows, i, load_even, q, ld, queries, norms, VL);
        DOT(step)(acc, rows, i, load_odd, q + VL, ld, queries, norms, VL);
    }
#endif
    for (; i + VL <= b->end; i += VL) {
        DOT(ask)(b, asked, i);
        DOT(step)(acc, rows, i, LOAD, b->q + i, b->d, queries, norms, VL);
    }
    return i;
}

/* A block of four rows, of which n count, from row r on: its products with the queries of b, and
 * with norms norm2 [n], or += after the first block. What is left over after whole vectors is the
 * end of the row, d >= VL. */
static inline __attribute__((always_inline)) void DOT(tile)(const void *const rows[4], size_t n,
                                                            size_t r, const struct dots *b,
                                                            const struct asked *asked,
                                                            size_t queries, bool norms,
                                                            float *norm2)
{
    vec acc[4][DOT_QUERIES];
    UNROLL
    for (size_t k = 0; k < 4; k++)
        UNROLL
    for (size_t j = 0; j < queries + norms; j++)
        acc[k][j] = VZERO;
    size_t i = DOT(steps)(acc, rows, b, asked, queries, norms), last = b->d - VL;
    if (i < b->end)
        DOT(step)(acc, rows, last, LOAD, b->q + last, b->d, queries, norms, b->d - i);
    UNROLL
    for (size_t j = 0; j < queries; j++)
        DOT(give)(acc, j, n, b->first > 0, b->out + j * b->ld + r);
    if (norms)
        DOT(give)(acc, queries, n, b->first > 0, norm2);
}

/* norm2 may be NULL: then there is room for one query more. */
static void DOT(any_tile)(const void *const rows[4], size_t n, size_t r, const struct dots *b,
                          const struct asked *asked, size_t queries, float *norm2)
{
#define TILE(count)                                          \
    if (queries == (count) && !norm2)                        \
        DOT(tile)(rows, n, r, b, asked, count, false, NULL); \
    else if (queries == (count)-1 && norm2)                  \
        DOT(tile)(rows, n, r, b, asked, (count)-1, true, norm2);
    DOT_TILES(TILE)
#undef TILE
}

/* A block of the queries of b from `first` on. */
static inline struct dots DOT(from)(const struct dots *b, size_t first)
{
    struct dots from = *b;
    from.q += first * b->d;
    from.placed += DOT_PAIRS ? first * (b->end - b->first) : 0;
    from.out += first * b->ld;
    return from;
}

/* A block of all rows, in tiles of nearly equal size of the norms, which count as a query before
 * the first, and the queries. Where there are fewer than four rows one is multiplied several
 * times. */
static void DOT(block)(const void *const *rows, size_t n, const struct dots *b, size_t queries,
                       const char *next, float *norm2)
{
    size_t norms = norm2 ? 1 : 0, all = queries + norms,
           tiles = (all + DOT_QUERIES - 1) / DOT_QUERIES;
    for (size_t r = 0; r < n; r += 4) {
        size_t some = embi_min(n - r, 4), last = r + some - 1;
        const void *const four[4] = {rows[r], rows[embi_min(r + 1, last)],
                                     rows[embi_min(r + 2, last)], rows[last]};
        for (size_t t = 0, j = 0; t < tiles; t++) {
            size_t after = all * (t + 1) / tiles - norms, ask = 4 * t / tiles;
            struct dots turn = DOT(from)(b, j);
            struct asked asked = {NULL, 0};
            if (next)
                asked = (struct asked){next + (r + ask) * b->d * ELEMENT_BYTES,
                                       4 * (t + 1) / tiles - ask};
            DOT(any_tile)
            (four, some, r, &turn, &asked, after - j, t == 0 && norm2 ? norm2 + r : NULL);
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
    float placed[DOT_PAIRS ? EMBI_DOTS_NUMBERS : 1];
    struct dots b = {.d = d, .q = q, .placed = placed, .out = out, .ld = ld};
    size_t block = embi_dots_block(d, queries);
    for (; b.first < d; b.first = b.end) {
        b.end = embi_min(b.first + block, d);
        size_t all = b.end - b.first;
        for (size_t j = 0; DOT_PAIRS && j < queries; j++)
            place(placed + j * all, q + j * d + b.first, all / (2 * VL) * 2 * VL);
        DOT(block)(rows, n, &b, queries, next, norm2);
    }
}
