/* draw.h - random elements of a table, each a function of its place alone.
 *
 * Block b of a row is one call of Philox4x32-10 (util/rng.h):
 *
 *     key     = { seed low, seed high }
 *     counter = { b, row low, row high | attempt << 16, stream }        row < 2^48, attempt < 2^16
 *
 * and its four words w0..w3 make the elements of f32 (and of the smaller types, which are rounded
 * from it) at columns 4b .. 4b+3, or of f64 at columns 2b, 2b+1:
 *
 *     uniform    f32  (w - 2^31 + 1/2) * 2^-31, one word each
 *                f64  (floor((x - 2^63) / 2^11) + 1/2) * 2^-52, x = w0 + w1 * 2^32, w2 + w3 * 2^32
 *     normal     f32  the pairs (w0, w1) and (w2, w3), f64 the pair of both x (num/normal.h)
 *     truncated  the normal one of the first attempt 0, 1, 2 ... that lies within [-2, 2]
 *
 * Then comes one multiplication by `scale`. An element does not depend on d, nor on its neighbours.
 */
#ifndef EMBI_OPS_DRAW_H
#define EMBI_OPS_DRAW_H

#include "util/base.h"

#define EMBI_DRAW_MAX_ROWS (1ull << 48)
#define EMBI_DRAW_TILE     1024 /* columns that one call fills at most */

struct embi_kern;

struct embi_draw {
    const struct embi_kern *kern; /* gives words and normal deviates; which set, does not show */
    uint32_t key[2];
    uint32_t stream;
    emb_dist dist; /* EMB_UNIFORM, EMB_NORMAL or EMB_TRUNCATED */
    double scale;  /* rounded to f32 for f32 */
};

/* out[i] = element (row, column + i) for n <= EMBI_DRAW_TILE elements; column is a multiple of 4.
 * out has room for n rounded up to a multiple of 4: what lies behind n is scratch. */
void embi_draw_f32(const struct embi_draw *draw, uint64_t row, uint32_t column, size_t n,
                   float *out);
void embi_draw_f64(const struct embi_draw *draw, uint64_t row, uint32_t column, size_t n,
                   double *out);

#endif
