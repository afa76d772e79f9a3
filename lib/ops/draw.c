/* draw.c - random elements of a table; see draw.h, which is the specification.
 *
 * Work goes in tiles, word by word, through kernels and through loops that are simple enough to
 * become vector code. An element has the same bits from these and where it is drawn anew by itself:
 * those of the functions of num/deviates.h.
 */
#include "ops/draw.h"

#include "num/deviates.h"
#include "num/kern.h"

#include <math.h>

#define TILE_BLOCKS \
    (EMBI_DRAW_TILE / 4) /* Philox blocks of a tile of f32; f64 has two tiles of it */

struct words {
    uint32_t w[4][TILE_BLOCKS];
};

static void counter_of(const struct embi_draw *d, uint64_t row, uint32_t block, uint32_t counter[4])
{
    counter[0] = block;
    counter[1] = (uint32_t)row;
    counter[2] = (uint32_t)(row >> 32);
    counter[3] = d->stream;
}

/* Blocks first .. first+n-1 of a row. */
static void fill(const struct embi_draw *d, uint64_t row, uint32_t first, size_t n,
                 struct words *out)
{
    uint32_t counter[4];
    counter_of(d, row, first, counter);
    d->kern->random_words(out->w[0], TILE_BLOCKS, counter, d->key, n);
}

static void uniforms_f32(const struct words *w, size_t blocks, float scale, float *out)
{
    for (size_t i = 0; i < blocks; i++)
        for (size_t k = 0; k < 4; k++)
            out[4 * i + k] = embi_uniform_f32(w->w[k][i]) * scale;
}

static bool is_outside(float x)
{
    return !(fabsf(x) <= 2.0f);
}

/* Those of out [n] outside of [-2, 2] become the first of their place that is not; all are scaled.
 * The first attempt for all of them comes before the second for any, with no jump that depends on a
 * number: so a CPU draws several at once, and guesses nothing wrong. */
static void truncate_f32(const struct embi_draw *d, uint64_t row, uint32_t column, size_t n,
                         float scale, float *out)
{
    uint16_t outside[EMBI_DRAW_TILE] = {0};
    size_t left = 0, still = 0;
    for (size_t i = 0; i < n; i++) {
        outside[left] = (uint16_t)i;
        left += is_outside(out[i]);
    }
    for (size_t k = 0; k < left; k++) {
        uint16_t i = outside[k];
        out[i] = embi_draw_attempt_f32(row, column + i, 1, d->stream, d->key);
        outside[still] = i;
        still += is_outside(out[i]);
    }
    for (size_t k = 0; k < still; k++)
        out[outside[k]] = embi_draw_again_f32(row, column + outside[k], d->stream, d->key);
    for (size_t i = 0; i < n; i++)
        out[i] *= scale;
}

void embi_draw_f32(const struct embi_draw *d, uint64_t row, uint32_t column, size_t n, float *out)
{
    struct words words;
    size_t blocks = (n + 3) / 4;
    float scale = (float)d->scale;
    fill(d, row, column / 4, blocks, &words);
    if (d->dist == EMB_UNIFORM)
        uniforms_f32(&words, blocks, scale, out);
    else
        d->kern->normals_f32(words.w[0], TILE_BLOCKS, blocks, d->dist == EMB_NORMAL ? scale : 1,
                             out);
    if (d->dist == EMB_TRUNCATED)
        truncate_f32(d, row, column, n, scale, out);
}

static void pairs_f64(const struct embi_draw *d, const struct words *w, size_t blocks, double *out)
{
    for (size_t i = 0; i < blocks; i++) {
        uint64_t x0 = embi_draw_join(w->w[0][i], w->w[1][i]),
                 x1 = embi_draw_join(w->w[2][i], w->w[3][i]);
        if (d->dist == EMB_UNIFORM) {
            out[2 * i] = embi_uniform_f64(x0);
            out[2 * i + 1] = embi_uniform_f64(x1);
        } else {
            embi_normal_f64(x0, x1, &out[2 * i], &out[2 * i + 1]);
        }
    }
}

void embi_draw_f64(const struct embi_draw *d, uint64_t row, uint32_t column, size_t n, double *out)
{
    size_t all = (n + 1) / 2; /* blocks, at most two of `words` */
    for (size_t done = 0; done < all; done += TILE_BLOCKS) {
        struct words words;
        size_t blocks = embi_min(all - done, TILE_BLOCKS);
        fill(d, row, column / 2 + (uint32_t)done, blocks, &words);
        pairs_f64(d, &words, blocks, out + 2 * done);
    }
    if (d->dist == EMB_TRUNCATED)
        for (size_t i = 0; i < n; i++)
            if (!(fabs(out[i]) <= 2.0))
                out[i] = embi_draw_again_f64(row, column + (uint32_t)i, d->stream, d->key);
    for (size_t i = 0; i < n; i++)
        out[i] *= d->scale;
}
