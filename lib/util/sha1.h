/* util/sha1.h - the SHA-1 hash, fed in pieces of any size: git names contents by it.
 *
 * Implements FIPS 180-4, sections 4.1.1, 4.2.1, 5.1.1, 5.3.1 and 6.1, for messages of whole bytes.
 * It finds what came wrong over a network; whoever wants to can make two contents of one hash.
 */
#ifndef EMBI_SHA1_H
#define EMBI_SHA1_H

#include <stddef.h>
#include <stdint.h>

#define EMBI_SHA1_BYTES       20
#define EMBI_SHA1_BLOCK_BYTES 64

struct embi_sha1 {
    uint32_t state[5];
    uint64_t total_bytes;                         /* fed so far */
    unsigned char pending[EMBI_SHA1_BLOCK_BYTES]; /* first total_bytes % 64 bytes are in use */
};

void embi_sha1_init(struct embi_sha1 *h);
void embi_sha1_update(struct embi_sha1 *h, const void *data, size_t n);
/* Ends it: h must be initialised again before its next use. */
void embi_sha1_final(struct embi_sha1 *h, unsigned char digest[EMBI_SHA1_BYTES]);

#endif
