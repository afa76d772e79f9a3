/* row_hash.h - a hash of the bytes of a row, made of stripes of 64 bytes so that a vector can take
 * one at a time, while the sums of the row are made.
 *
 * A stripe is 8 words x[l], the last one filled up with zeros. In each step, with keys k[l] that
 * begin as below:
 *     v = x[l] ^ k[l],  product[l] += (v mod 2^32) * (v div 2^32),  plain[l] += x[l],  k[l] += STEP
 * so that what a word adds depends on its place. At the end word l is product[l] + plain[l ^ 1],
 * and the 64 bytes of these are hashed by embi_hash (util/map.h). All words modulo 2^64. Rows of
 * one table are equally long: the length does not go in. It has no secret: who may choose the rows
 * can make them collide; that costs time, never a wrong answer.
 */
#ifndef EMBI_NUM_ROW_HASH_H
#define EMBI_NUM_ROW_HASH_H

#include "util/base.h"
#include "util/map.h"

/* The first 64 bits of the fractions of the square roots of 11, 13, 17, 19, 23, 29, 31, 37 and, for
 * the step, 41, the last bit set. */
static const uint64_t embi_stripe_keys[8] = {
    UINT64_C(0x510E527FADE682D1), UINT64_C(0x9B05688C2B3E6C1F), UINT64_C(0x1F83D9ABFB41BD6B),
    UINT64_C(0x5BE0CD19137E2179), UINT64_C(0xCBBB9D5DC1059ED9), UINT64_C(0x629A292A367CD507),
    UINT64_C(0x9159015A3070DD17), UINT64_C(0x152FECD8F70E5939)};
#define EMBI_STRIPE_STEP UINT64_C(0x67332667FFC00B31)

enum { EMBI_STRIPE = 64 };

static inline uint64_t embi_stripes_join(const uint64_t product[8], const uint64_t plain[8])
{
    uint64_t words[8];
    for (size_t l = 0; l < 8; l++)
        words[l] = product[l] + plain[l ^ 1];
    return embi_hash(words, sizeof words);
}

/* The definition, for n bytes of any kind. */
uint64_t embi_row_hash(const void *bytes, size_t n);

#endif
