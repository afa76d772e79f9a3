/* util/sha256_blocks.h - the ways to fold blocks of 64 bytes into the state of a SHA-256. Only
 * sha256*.c include this.
 */
#ifndef EMBI_SHA256_BLOCKS_H
#define EMBI_SHA256_BLOCKS_H

#include "util/sha256.h"

#include <stdbool.h>

extern const uint32_t embi_sha256_k[64]; /* the K of the standard */

void embi_sha256_plain(uint32_t state[8], const unsigned char *blocks, size_t n);

#if defined(__x86_64__)
/* Has this CPU what embi_sha256_x86 takes? */
bool embi_sha256_x86_runs(void);
void embi_sha256_x86(uint32_t state[8], const unsigned char *blocks, size_t n);
#endif

#endif
