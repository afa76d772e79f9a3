/* util/sha1.c - see sha1.h. The names a..e, W and T are those of the standard. */
#include "util/sha1.h"
#include "util/base.h"

#include <string.h>

#define LENGTH_BYTES 8 /* the message length in bits, big-endian, closes the last block */

static uint32_t rotl(uint32_t x, int n)
{
    return x << n | x >> (32 - n);
}

/* Section 4.1.1 and 4.2.1: the function and the constant of round t. */
static uint32_t mix(int t, uint32_t b, uint32_t c, uint32_t d)
{
    if (t < 20)
        return ((b & c) ^ (~b & d)) + 0x5a827999;
    if (t < 40)
        return (b ^ c ^ d) + 0x6ed9eba1;
    if (t < 60)
        return ((b & c) ^ (b & d) ^ (c & d)) + 0x8f1bbcdc;
    return (b ^ c ^ d) + 0xca62c1d6;
}

/* Section 6.1.2: folds one block of 64 bytes into the state. */
static void compress(uint32_t state[5], const unsigned char *block)
{
    uint32_t W[80], a = state[0], b = state[1], c = state[2], d = state[3], e = state[4];
    for (int t = 0; t < 16; t++)
        W[t] = embi_be32(block + 4 * t);
    for (int t = 16; t < 80; t++)
        W[t] = rotl(W[t - 3] ^ W[t - 8] ^ W[t - 14] ^ W[t - 16], 1);
    for (int t = 0; t < 80; t++) {
        uint32_t T = rotl(a, 5) + mix(t, b, c, d) + e + W[t];
        e = d;
        d = c;
        c = rotl(b, 30);
        b = a;
        a = T;
    }
    const uint32_t out[5] = {a, b, c, d, e};
    for (int i = 0; i < 5; i++)
        state[i] += out[i];
}

void embi_sha1_init(struct embi_sha1 *h)
{
    static const uint32_t initial_state[5] = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476,
                                              0xc3d2e1f0};
    memset(h, 0, sizeof *h);
    memcpy(h->state, initial_state, sizeof h->state);
}

void embi_sha1_update(struct embi_sha1 *h, const void *data, size_t n)
{
    const unsigned char *p = data;
    while (n > 0) {
        size_t used = h->total_bytes % sizeof h->pending, room = sizeof h->pending - used;
        size_t take = n < room ? n : room;
        memcpy(h->pending + used, p, take);
        h->total_bytes += take;
        p += take;
        n -= take;
        if (take == room)
            compress(h->state, h->pending);
    }
}

void embi_sha1_final(struct embi_sha1 *h, unsigned char digest[EMBI_SHA1_BYTES])
{
    static const unsigned char padding[EMBI_SHA1_BLOCK_BYTES] = {0x80};
    unsigned char length[LENGTH_BYTES];
    uint64_t bits = h->total_bytes * 8;
    size_t used = h->total_bytes % sizeof h->pending;
    embi_put_be32(length, (uint32_t)(bits >> 32));
    embi_put_be32(length + 4, (uint32_t)bits);
    size_t end = sizeof h->pending - LENGTH_BYTES;
    embi_sha1_update(h, padding, used < end ? end - used : end + sizeof h->pending - used);
    embi_sha1_update(h, length, sizeof length);
    for (int i = 0; i < 5; i++)
        embi_put_be32(digest + 4 * i, h->state[i]);
}
