/* row_hash.h - a hash of the bytes of a row, made of stripes of 64 bytes so that a vector can take
 * one at a time, while the sums of the row are made.
 *
 * A stripe is 8 words x[l], the last one filled up with zeros. Words h[l] begin as below. For each
 * stripe, h[0] and h[1] together, h[2] and h[3] ... are rotated by one byte (what leaves the upper
 * end of the second comes back below in the first), and then h[l] += x[l]. So what a number adds
 * depends on the stripe that it is in, but for numbers that are as many bytes apart as stripes; to
 * keep these few, after each 8 stripes, and after the last whole one, with low = h[l] mod 2^32 and
 * high = h[l] div 2^32,
 *     h[l] = (low xor high) * FACTOR + high
 * a step of G. Marsaglia's multiply-with-carry, but for the xor. At the end the 64 bytes of h are
 * hashed by embi_hash (util/map.h). All words modulo 2^64. Rows of one table are equally long: the
 * length does not go in. It has no secret: who may choose the rows can make them collide, and up
 * to four rows of a single 1 share a hash; that costs time, never a wrong answer.
 */
#ifndef EMBI_NUM_ROW_HASH_H
#define EMBI_NUM_ROW_HASH_H

#include "util/base.h"
#include "util/map.h"

/* The first 64 bits of the fractions of the square roots of 11, 13, 17, 19, 23, 29, 31 and 37, the
 * last bit set. */
static const uint64_t embi_stripe_begin[8] = {
    UINT64_C(0x510E527FADE682D1), UINT64_C(0x9B05688C2B3E6C1F), UINT64_C(0x1F83D9ABFB41BD6B),
    UINT64_C(0x5BE0CD19137E2179), UINT64_C(0xCBBB9D5DC1059ED9), UINT64_C(0x629A292A367CD507),
    UINT64_C(0x9159015A3070DD17), UINT64_C(0x152FECD8F70E5939)};
#define EMBI_STRIPE_FACTOR UINT64_C(0xFFFEB81B) /* FACTOR * 2^32 - 1 is a prime */

enum { EMBI_STRIPE = 64, EMBI_STRIPES_MIXED = 8 };

/* The definition, for n bytes of any kind. */
uint64_t embi_row_hash(const void *bytes, size_t n);

#endif
