/* util/sha256.c - see sha256.h.
 *
 * Implements FIPS 180-4; the names a..h, W, K, Ch and Maj are those of the standard. Words are read
 * and written byte by byte, so the byte order of the machine does not matter. CPUs that have
 * instructions for it run sha256_x86.c in place of compress().
 */
#include "util/base.h"
#include "util/sha256_blocks.h"

#include <string.h>

#define LENGTH_BYTES 8 /* the message length in bits, big-endian, closes the last block */

/* Section 4.2.2: the first 32 bits of the fractional parts of the cube roots of the first 64
 * primes. */
const uint32_t embi_sha256_k[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

/* Section 5.3.3: the same of the square roots of the first 8 primes. */
static const uint32_t initial_state[8] = {
    0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
};

static uint32_t rotr(uint32_t x, int n)
{
    return x >> n | x << (32 - n);
}

/* Section 6.2.2 step 1: the message schedule of one block. */
static void schedule(uint32_t W[64], const unsigned char *block)
{
    for (int t = 0; t < 16; t++)
        W[t] = embi_be32(block + 4 * t);
    for (int t = 16; t < 64; t++) {
        uint32_t s0 = rotr(W[t - 15], 7) ^ rotr(W[t - 15], 18) ^ W[t - 15] >> 3;
        uint32_t s1 = rotr(W[t - 2], 17) ^ rotr(W[t - 2], 19) ^ W[t - 2] >> 10;
        W[t] = s1 + W[t - 7] + s0 + W[t - 16];
    }
}

/* Section 6.2.2 steps 2 to 4: folds one block of 64 bytes into the state. */
static void compress(uint32_t state[8], const unsigned char *block)
{
    uint32_t W[64];
    schedule(W, block);
    uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
    uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
    for (int t = 0; t < 64; t++) {
        uint32_t Ch = (e & f) ^ (~e & g);
        uint32_t Maj = (a & b) ^ (a & c) ^ (b & c);
        uint32_t T1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + Ch + embi_sha256_k[t] + W[t];
        uint32_t T2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + Maj;
        h = g;
        g = f;
        f = e;
        e = d + T1;
        d = c;
        c = b;
        b = a;
        a = T1 + T2;
    }
    const uint32_t out[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; i++)
        state[i] += out[i];
}

void embi_sha256_plain(uint32_t state[8], const unsigned char *blocks, size_t n)
{
    for (; n > 0; n--, blocks += EMBI_SHA256_BLOCK_BYTES)
        compress(state, blocks);
}

void embi_sha256_init(struct embi_sha256 *h)
{
    memset(h, 0, sizeof *h);
    h->fold = embi_sha256_plain;
#if defined(__x86_64__)
    if (embi_sha256_x86_runs())
        h->fold = embi_sha256_x86;
#endif
    memcpy(h->state, initial_state, sizeof h->state);
}

void embi_sha256_update(struct embi_sha256 *h, const void *data, size_t n)
{
    if (n == 0) /* data may be NULL then */
        return;
    const unsigned char *p = data;
    size_t used = h->total_bytes % sizeof h->pending;
    h->total_bytes += n;
    if (used != 0) {
        size_t take = sizeof h->pending - used < n ? sizeof h->pending - used : n;
        memcpy(h->pending + used, p, take);
        if (used + take < sizeof h->pending)
            return;
        h->fold(h->state, h->pending, 1);
        p += take;
        n -= take;
    }
    h->fold(h->state, p, n / sizeof h->pending);
    memcpy(h->pending, p + n / sizeof h->pending * sizeof h->pending, n % sizeof h->pending);
}

void embi_sha256_final(struct embi_sha256 *h, unsigned char digest[EMBI_SHA256_BYTES])
{
    uint64_t bits = h->total_bytes * 8;
    size_t used = h->total_bytes % sizeof h->pending;
    h->pending[used++] = 0x80;
    if (used > sizeof h->pending - LENGTH_BYTES) { /* no room for the length: one more block */
        memset(h->pending + used, 0, sizeof h->pending - used);
        h->fold(h->state, h->pending, 1);
        used = 0;
    }
    memset(h->pending + used, 0, sizeof h->pending - LENGTH_BYTES - used);
    embi_put_be32(h->pending + 56, (uint32_t)(bits >> 32));
    embi_put_be32(h->pending + 60, (uint32_t)bits);
    h->fold(h->state, h->pending, 1);
    for (int i = 0; i < 8; i++)
        embi_put_be32(digest + 4 * i, h->state[i]);
}
