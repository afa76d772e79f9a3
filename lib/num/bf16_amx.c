/* bf16_amx.c - bf16 panels by TDPBF16PS, which multiplies tiles of 16 rows and 16 queries by 32
 * dimensions.
 *
 * Tiles are loaded from where the rows lie, and from the packed queries, which are laid out as the
 * instruction wants them. Two tiles of rows meet two of queries, and their four sums stay in tile
 * registers over all dimensions: what is loaded is used twice. Rows that are left over, and rows
 * that lie unevenly, go to the vector kernel, which every CPU with these tiles has.
 *
 * Built with the flags of AMX; may be called only where the system lets this process use tiles
 * (num/cpu.c).
 */
#if defined(__x86_64__)

#include "num/bf16.h"
#include "num/kern_ahead.h"

#include <immintrin.h>

enum { TILE = 16, TILE_BYTES = 64 };

/* The memory operand of LDTILECFG: palette 1, all tiles of 16 rows of 64 bytes. */
struct tile_config {
    uint8_t palette, start_row, reserved[14];
    uint16_t row_bytes[16];
    uint8_t rows[16];
};

static void configure(void)
{
    struct tile_config c = {.palette = 1};
    for (int t = 0; t < 8; t++) {
        c.row_bytes[t] = TILE_BYTES;
        c.rows[t] = TILE;
    }
    _tile_loadconfig(&c);
}

/* Tiles 0 to 3: sums; 4 and 5: rows; 6 and 7: queries. ld: numbers in a row of out. */
static void multiply_2x2(const char *rows, size_t stride, uint32_t d, const float *q,
                         struct ahead *ahead, float *out, size_t ld)
{
    const float *q1 = q + (size_t)d / 2 * EMBI_PANEL;
    _tile_zero(0);
    _tile_zero(1);
    _tile_zero(2);
    _tile_zero(3);
    for (size_t k = 0; k < d; k += EMBI_BF16_DIMS) {
        _tile_loadd(4, rows + k * 2, stride);
        _tile_loadd(6, q + k / 2 * EMBI_PANEL, TILE_BYTES);
        _tile_loadd(7, q1 + k / 2 * EMBI_PANEL, TILE_BYTES);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(1, 4, 7);
        _tile_loadd(5, rows + TILE * stride + k * 2, stride);
        _tile_dpbf16ps(2, 5, 6);
        _tile_dpbf16ps(3, 5, 7);
        ask_ahead(ahead);
    }
    _tile_stored(0, out, ld * sizeof *out);
    _tile_stored(1, out + EMBI_PANEL, ld * sizeof *out);
    _tile_stored(2, out + TILE * ld, ld * sizeof *out);
    _tile_stored(3, out + TILE * ld + EMBI_PANEL, ld * sizeof *out);
}

static void multiply_2x1(const char *rows, size_t stride, uint32_t d, const float *q,
                         struct ahead *ahead, float *out, size_t ld)
{
    _tile_zero(0);
    _tile_zero(2);
    for (size_t k = 0; k < d; k += EMBI_BF16_DIMS) {
        _tile_loadd(4, rows + k * 2, stride);
        _tile_loadd(5, rows + TILE * stride + k * 2, stride);
        _tile_loadd(6, q + k / 2 * EMBI_PANEL, TILE_BYTES);
        _tile_dpbf16ps(0, 4, 6);
        _tile_dpbf16ps(2, 5, 6);
        ask_ahead(ahead);
    }
    _tile_stored(0, out, ld * sizeof *out);
    _tile_stored(2, out + TILE * ld, ld * sizeof *out);
}

/* Bytes from each of n rows to the next, where that is always the same; else 0. */
static size_t even_stride(const void *const *rows, size_t n)
{
    size_t stride = n < 2 ? 0 : (size_t)((const char *)rows[1] - (const char *)rows[0]);
    for (size_t r = 2; r < n; r++)
        if ((const char *)rows[r] != (const char *)rows[r - 1] + stride)
            return 0;
    return stride;
}

/* All panels with 32 rows. */
static void multiply_rows(const char *rows, size_t stride, uint32_t d, const float *packed,
                          size_t panels, struct ahead *ahead, float *out)
{
    const size_t ld = panels * EMBI_PANEL, panel = (size_t)d / 2 * EMBI_PANEL;
    struct ahead none = {NULL, 0};
    for (size_t p = 0; p < panels; p += 2) {
        struct ahead *now = p == 0 ? ahead : &none;
        if (panels - p >= 2)
            multiply_2x2(rows, stride, d, packed + p * panel, now, out + p * EMBI_PANEL, ld);
        else
            multiply_2x1(rows, stride, d, packed + p * panel, now, out + p * EMBI_PANEL, ld);
    }
}

static void panels_by_tiles(const void *const *rows, size_t n, uint32_t d, const float *packed,
                            size_t panels, const void *next, size_t next_bytes, float *out)
{
    size_t stride = even_stride(rows, n), whole = stride ? n / (2 * TILE) * (2 * TILE) : 0;
    size_t steps = whole / (2 * TILE) * (d / EMBI_BF16_DIMS);
    struct ahead ahead = {next, next && steps ? (next_bytes / 64 + steps - 1) / steps : 0};
    if (whole > 0) {
        configure();
        for (size_t r = 0; r < whole; r += 2 * TILE)
            multiply_rows(rows[r], stride, d, packed, panels, &ahead,
                          out + r * panels * EMBI_PANEL);
        _tile_release();
    }
    if (whole < n)
        embi_bf16_avx512.panels(rows + whole, n - whole, d, packed, panels, NULL, 0,
                                out + whole * panels * EMBI_PANEL);
}

const struct embi_bf16_kern embi_bf16_amx = {"amx", panels_by_tiles, embi_bf16_norms_avx512};

#endif
