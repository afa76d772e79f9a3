/* util/hash.c - the hash of a byte string that map.h declares.
 *
 * Design: fold(a, b) is the 128-bit product of two words, its halves xored: one multiplication
 * mixes every bit of both. The string is taken 16 bytes at a time, the last 1 to 16 bytes by loads
 * that may overlap, and the length goes into the last fold, so that equal bytes of different
 * lengths differ. 64 bits of result: 10^9 keys are expected to hold 0.03 colliding pairs. It has no
 * secret, so who may choose the keys can make them collide; that costs time, never a wrong answer.
 *
 *     h = K0
 *     while more than 16 bytes remain:   h = fold(le64(p) ^ K1, le64(p + 8) ^ h),  p += 16
 *     the last n' bytes (0..16) become words a, b:
 *         n' >= 8:  a = le64(p),               b = le64(p + n' - 8)
 *         n' >= 4:  a = le32(p),               b = le32(p + n' - 4)
 *         n' >= 1:  a = p[0] + 256 p[n'/2] + 65536 p[n'-1],   b = 0
 *         n' == 0:  a = b = 0
 *     result = fold(fold(a ^ K2, b ^ h) ^ K3, n ^ K1)
 *
 * K0..K3: the first 64 bits of the fractions of sqrt(2), sqrt(3), sqrt(5), sqrt(7), the last bit
 * set.
 */
#include "util/map.h"

#define K0 UINT64_C(0x6A09E667F3BCC909)
#define K1 UINT64_C(0xBB67AE8584CAA73B)
#define K2 UINT64_C(0x3C6EF372FE94F82B)
#define K3 UINT64_C(0xA54FF53A5F1D36F1)

static inline uint64_t fold(uint64_t a, uint64_t b)
{
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

uint64_t embi_hash(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    size_t rest = n;
    uint64_t h = K0, a = 0, b = 0;
    for (; rest > 16; rest -= 16, p += 16)
        h = fold(embi_le64(p) ^ K1, embi_le64(p + 8) ^ h);
    if (rest >= 8) {
        a = embi_le64(p);
        b = embi_le64(p + rest - 8);
    } else if (rest >= 4) {
        a = embi_le32(p);
        b = embi_le32(p + rest - 4);
    } else if (rest >= 1) {
        a = p[0] | (uint64_t)p[rest / 2] << 8 | (uint64_t)p[rest - 1] << 16;
    }
    return fold(fold(a ^ K2, b ^ h) ^ K3, n ^ K1);
}
