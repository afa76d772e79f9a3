/* philox_start.h - of Philox4x32-10 (util/rng.h), what the first two rounds are for blocks whose
 * counters differ in word 0 alone: two of their four products are the same for all, and half of the
 * state that they leave.
 */
#ifndef EMBI_NUM_PHILOX_START_H
#define EMBI_NUM_PHILOX_START_H

#include "util/rng.h"

/* With p = M0 * word 0 and q = M1 * (high(p) ^ first), the state after two rounds is
 * { high(q) ^ x0, low(q), low(p) ^ x2, x3 }. */
struct embi_philox_start {
    uint32_t first, x0, x2, x3;
    uint32_t key[2]; /* of the third round */
};

static inline struct embi_philox_start embi_philox_start(const uint32_t counter[4],
                                                         const uint32_t key[2])
{
    uint64_t q = (uint64_t)EMBI_PHILOX_M1 * counter[2];
    uint64_t p = (uint64_t)EMBI_PHILOX_M0 * ((uint32_t)(q >> 32) ^ counter[1] ^ key[0]);
    uint32_t k0 = key[0] + EMBI_PHILOX_W0, k1 = key[1] + EMBI_PHILOX_W1;
    return (struct embi_philox_start){
        .first = counter[3] ^ key[1],
        .x0 = (uint32_t)q ^ k0,
        .x2 = (uint32_t)(p >> 32) ^ k1,
        .x3 = (uint32_t)p,
        .key = {k0 + EMBI_PHILOX_W0, k1 + EMBI_PHILOX_W1},
    };
}

#endif
