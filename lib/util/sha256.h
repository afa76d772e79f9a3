/* util/sha256.h - the SHA-256 hash, fed in pieces of any size.
 *
 * Implements FIPS 180-4, sections 4.1.2, 5.1.1, 5.3.3 and 6.2, for messages of whole bytes.
 *
 *     struct embi_sha256 h;
 *     embi_sha256_init(&h);
 *     embi_sha256_update(&h, bytes, n);      any number of times
 *     embi_sha256_final(&h, digest);         h must be initialised again before its next use
 *
 * It names contents (files, cache entries, reports). It makes no claim to constant time and is not
 * meant for secrets.
 */
#ifndef EMBI_SHA256_H
#define EMBI_SHA256_H

#include <stddef.h>
#include <stdint.h>

#define EMBI_SHA256_BYTES       32
#define EMBI_SHA256_BLOCK_BYTES 64

struct embi_sha256 {
    /* Folds n blocks into the state, by the best that the CPU has. */
    void (*fold)(uint32_t state[8], const unsigned char *blocks, size_t n);
    uint32_t state[8];
    uint64_t total_bytes;                           /* fed so far; the standard's limit is 2^61 */
    unsigned char pending[EMBI_SHA256_BLOCK_BYTES]; /* first total_bytes % 64 bytes are in use */
};

void embi_sha256_init(struct embi_sha256 *h);
void embi_sha256_update(struct embi_sha256 *h, const void *data, size_t n);
void embi_sha256_final(struct embi_sha256 *h, unsigned char digest[EMBI_SHA256_BYTES]);

#endif
