/* row_hash.c - see row_hash.h. */
#include "num/row_hash.h"

uint64_t embi_row_hash(const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    uint64_t key[8], product[8] = {0}, plain[8] = {0};
    memcpy(key, embi_stripe_keys, sizeof key);
    for (size_t i = 0; i < n; i += EMBI_STRIPE) {
        unsigned char stripe[EMBI_STRIPE] = {0};
        memcpy(stripe, p + i, embi_min(EMBI_STRIPE, n - i));
        for (size_t l = 0; l < 8; l++) {
            uint64_t x = embi_le64(stripe + 8 * l), v = x ^ key[l];
            product[l] += (v & 0xFFFFFFFF) * (v >> 32);
            plain[l] += x;
            key[l] += EMBI_STRIPE_STEP;
        }
    }
    return embi_stripes_join(product, plain);
}
