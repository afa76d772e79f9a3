/* row_hash.c - see row_hash.h. */
#include "num/row_hash.h"

static void add_stripe(uint64_t h[8], const unsigned char *x)
{
    for (size_t l = 0; l < 8; l += 2) {
        uint64_t low = h[l], high = h[l + 1];
        h[l] = (low << 8 | high >> 56) + embi_le64(x + 8 * l);
        h[l + 1] = (high << 8 | low >> 56) + embi_le64(x + 8 * l + 8);
    }
}

static void mix(uint64_t h[8])
{
    for (size_t l = 0; l < 8; l++)
        h[l] = ((h[l] ^ h[l] >> 32) & 0xFFFFFFFF) * EMBI_STRIPE_FACTOR + (h[l] >> 32);
}

uint64_t embi_row_hash(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    size_t whole = n / EMBI_STRIPE, rest = n % EMBI_STRIPE;
    uint64_t h[8];
    memcpy(h, embi_stripe_begin, sizeof h);
    for (size_t i = 1; i <= whole; i++, p += EMBI_STRIPE) {
        add_stripe(h, p);
        if (i % EMBI_STRIPES_MIXED == 0 || i == whole)
            mix(h);
    }
    if (rest) {
        unsigned char last[EMBI_STRIPE] = {0};
        memcpy(last, p, rest);
        add_stripe(h, last);
    }
    return embi_hash(h, sizeof h);
}
