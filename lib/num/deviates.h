/* deviates.h - the elements that the words of one Philox block make, and the block's counter; what
 * they are is specified in ops/draw.h. The GPU draws with the same functions.
 */
#ifndef EMBI_NUM_DEVIATES_H
#define EMBI_NUM_DEVIATES_H

#include "num/normal.h"
#include "util/rng.h"

/* Draws of a truncated deviate, the first one included. */
#define EMBI_DRAW_ATTEMPTS (1u << 16)

EMBI_BOTH static inline void embi_draw_words(uint64_t row, uint32_t block, uint32_t attempt,
                                             uint32_t stream, const uint32_t key[2],
                                             uint32_t words[4])
{
    words[0] = block;
    words[1] = (uint32_t)row;
    words[2] = (uint32_t)(row >> 32) | attempt << 16;
    words[3] = stream;
    embi_philox(words, key, words);
}

EMBI_BOTH static inline float embi_uniform_f32(uint32_t w)
{
    return ((float)(int32_t)(w ^ 1u << 31) + 0.5f) * 0x1p-31f;
}

EMBI_BOTH static inline double embi_uniform_f64(uint64_t x)
{
    return ((double)((int64_t)(x ^ 1ull << 63) >> 11) + 0.5) * 0x1p-52;
}

EMBI_BOTH static inline uint64_t embi_draw_join(uint32_t low, uint32_t high)
{
    return low | (uint64_t)high << 32;
}

/* The normal deviates of a block: four of f32, or two of f64. */
EMBI_BOTH static inline void embi_draw_normals_f32(const uint32_t w[4], float z[4])
{
    embi_normal_f32(w[0], w[1], &z[0], &z[1]);
    embi_normal_f32(w[2], w[3], &z[2], &z[3]);
}

EMBI_BOTH static inline void embi_draw_normals_f64(const uint32_t w[4], double z[2])
{
    embi_normal_f64(embi_draw_join(w[0], w[1]), embi_draw_join(w[2], w[3]), &z[0], &z[1]);
}

/* The element at a column, of that attempt. */
EMBI_BOTH static inline float embi_draw_attempt_f32(uint64_t row, uint32_t column, uint32_t attempt,
                                                    uint32_t stream, const uint32_t key[2])
{
    uint32_t w[4];
    float z[2];
    embi_draw_words(row, column / 4, attempt, stream, key, w);
    embi_normal_f32(column & 2 ? w[2] : w[0], column & 2 ? w[3] : w[1], &z[0], &z[1]);
    return column & 1 ? z[1] : z[0];
}

/* The element at a column, of attempt 1, 2 ... (attempt 0 was outside of [-2, 2]). That all others
 * fail has a probability of 10^-87000; the loop must end all the same. */
EMBI_BOTH static inline float embi_draw_again_f32(uint64_t row, uint32_t column, uint32_t stream,
                                                  const uint32_t key[2])
{
    for (uint32_t attempt = 1; attempt < EMBI_DRAW_ATTEMPTS; attempt++) {
        float x = embi_draw_attempt_f32(row, column, attempt, stream, key);
        if (fabsf(x) <= 2.0f)
            return x;
    }
    return 0;
}

EMBI_BOTH static inline double embi_draw_again_f64(uint64_t row, uint32_t column, uint32_t stream,
                                                   const uint32_t key[2])
{
    for (uint32_t attempt = 1; attempt < EMBI_DRAW_ATTEMPTS; attempt++) {
        uint32_t w[4];
        double z[2];
        embi_draw_words(row, column / 2, attempt, stream, key, w);
        embi_draw_normals_f64(w, z);
        if (fabs(z[column % 2]) <= 2.0)
            return z[column % 2];
    }
    return 0;
}

#endif
