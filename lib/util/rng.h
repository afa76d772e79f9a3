/* util/rng.h - Philox4x32-10, a counter-based random number generator.
 *
 * Implements: J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy
 * as 1, 2, 3", SC11 (2011), the variant with four 32-bit words and ten rounds; the answers are
 * those of its Random123 library, so a GPU kernel can give the same ones.
 *
 * There is no state. A block of four words is a pure function of a counter (which block) and a key
 * (which stream): element i of a table is drawn from (seed, i) alone, whatever thread, block size
 * or order the table is filled in. Under one key, different counters never give the same block.
 *
 * All of it is inline so that a loop over consecutive counters, key held in a local array, is
 * turned into vector code by the compiler; num/philox_*.c have many blocks at a time.
 */
#ifndef EMBI_RNG_H
#define EMBI_RNG_H

#include "util/both.h"

#include <stdint.h>

#define EMBI_PHILOX_ROUNDS 10
#define EMBI_PHILOX_M0     0xD2511F53u /* multipliers of the paper's table 2 */
#define EMBI_PHILOX_M1     0xCD9E8D57u
#define EMBI_PHILOX_W0     0x9E3779B9u /* Weyl constants that advance the key: golden ratio ... */
#define EMBI_PHILOX_W1     0xBB67AE85u /* ... and sqrt(3) - 1, as 32-bit fractions */

/* out[0..3] = the block at counter ctr[0..3] (word 0 is the least significant) of stream key[0..1].
 * out may be the same array as ctr. */
EMBI_BOTH static inline void embi_philox(const uint32_t ctr[4], const uint32_t key[2],
                                         uint32_t out[4])
{
    uint32_t x0 = ctr[0], x1 = ctr[1], x2 = ctr[2], x3 = ctr[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < EMBI_PHILOX_ROUNDS; round++) {
        uint64_t p0 = (uint64_t)EMBI_PHILOX_M0 * x0;
        uint64_t p1 = (uint64_t)EMBI_PHILOX_M1 * x2;
        x0 = (uint32_t)(p1 >> 32) ^ x1 ^ k0;
        x1 = (uint32_t)p1;
        x2 = (uint32_t)(p0 >> 32) ^ x3 ^ k1;
        x3 = (uint32_t)p0;
        k0 += EMBI_PHILOX_W0;
        k1 += EMBI_PHILOX_W1;
    }
    out[0] = x0;
    out[1] = x1;
    out[2] = x2;
    out[3] = x3;
}

#endif
