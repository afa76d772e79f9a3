/* kern_panels.h - products of rows with many queries; a kern_<set>.c includes it once.
 *
 * Lanes are queries, in panels (num/kern.h). A tile of rows and up to PANEL_VECTORS vectors of
 * queries stays in registers while a block of dimensions goes by: each element of a row is spread
 * over a vector and multiplied with all of them, so no sum crosses lanes. Queries and rows of a
 * block of dimensions stay in the caches nearest to the CPU.
 *
 * What the includer defines is as for kern_tmpl.h, with VSTORE(p, v), VSPREAD(x): all lanes x, and
 * PANEL_TILES(tile): the tiles there are, as tile(rows, panels); tile_rows(panels) says how many
 * rows the tile of so many panels has, at most MOST_ROWS, and one row is always possible.
 */

#include "num/kern_ahead.h"

enum { OF_PANEL = EMBI_PANEL / VL, MOST_PANELS = PANEL_VECTORS / OF_PANEL };

/* A block of dimensions first .. end-1: out[r * ld + lane] = its products, or += after the first.
 * `queries` are panels [vectors / OF_PANEL][d][EMBI_PANEL]; rows and vectors are constants where
 * this is inlined. */
static inline __attribute__((always_inline)) void panel_tile(const void *const *row, size_t rows,
                                                             const float *queries, size_t vectors,
                                                             uint32_t d, size_t first, size_t end,
                                                             struct ahead *ahead, float *out,
                                                             size_t ld)
{
    vec acc[MOST_ROWS][PANEL_VECTORS], q[PANEL_VECTORS];
    UNROLL
    for (size_t r = 0; r < rows; r++)
        UNROLL
    for (size_t v = 0; v < vectors; v++)
        acc[r][v] = VZERO;
    for (size_t k = first; k < end;) {
        size_t stop = embi_min(k + 16, end);
        ask_ahead(ahead); /* for each 16 dimensions */
        for (; k < stop; k++) {
            UNROLL
            for (size_t v = 0; v < vectors; v++)
                q[v] = VLOADQ(queries + (v / OF_PANEL * d + k) * EMBI_PANEL + v % OF_PANEL * VL);
            UNROLL
            for (size_t r = 0; r < rows; r++) {
                vec x = VSPREAD(embi_one_f32((const char *)row[r] + k * sizeof(float)));
                UNROLL
                for (size_t v = 0; v < vectors; v++)
                    acc[r][v] = VFMA(x, q[v], acc[r][v]);
            }
        }
    }
    UNROLL
    for (size_t r = 0; r < rows; r++)
        UNROLL
    for (size_t v = 0; v < vectors; v++) {
        float *to = out + r * ld + v * VL;
        VSTORE(to, first == 0 ? acc[r][v] : VADD(VLOADQ(to), acc[r][v]));
    }
}

static void any_panel_tile(const void *const *row, size_t rows, const float *queries, size_t panels,
                           uint32_t d, size_t first, size_t end, struct ahead *ahead, float *out,
                           size_t ld)
{
#define TILE(r, p)                    \
    if (rows == (r) && panels == (p)) \
        panel_tile(row, r, queries, (p)*OF_PANEL, d, first, end, ahead, out, ld);
    PANEL_TILES(TILE)
#undef TILE
}

static size_t tile_rows(size_t panels);

/* All rows with a few panels. */
static void panel_strip(const void *const *row, size_t n, const float *queries, size_t panels,
                        uint32_t d, size_t first, size_t end, struct ahead *ahead, float *out,
                        size_t ld)
{
    size_t lines = ahead->lines, whole = tile_rows(panels);
    for (size_t r = 0, rows; r < n; r += rows) {
        rows = n - r >= whole ? whole : 1;
        ahead->lines = (lines * rows + n - 1) / n;
        any_panel_tile(row + r, rows, queries, panels, d, first, end, ahead, out + r * ld, ld);
    }
    ahead->lines = lines;
}

static void panels(const void *const *rows, size_t n, uint32_t d, const float *packed, size_t count,
                   const void *next, size_t next_bytes, float *out)
{
    size_t strips = (count + MOST_PANELS - 1) / MOST_PANELS, block = embi_panel_block(d);
    struct ahead ahead = {next, next ? next_bytes / 64 * 16 / d + 1 : 0}, none = {NULL, 0};
    for (size_t first = 0; first < d; first += block)
        for (size_t s = 0; s < strips; s++) { /* of nearly equal size */
            size_t p = count * s / strips, end = count * (s + 1) / strips;
            panel_strip(rows, n, packed + p * EMBI_PANEL * d, end - p, d, first,
                        embi_min(first + block, d), s == 0 ? &ahead : &none, out + p * EMBI_PANEL,
                        count * EMBI_PANEL);
        }
}
