/* checksum.h - the hash that a content has on the Hugging Face hub: SHA-256 of large files, and of
 * others the name that git has for them, SHA-1 of "blob LENGTH", a NUL, and the content.
 */
#ifndef EMBI_IO_CHECKSUM_H
#define EMBI_IO_CHECKSUM_H

#include "util/base.h"
#include "util/sha1.h"
#include "util/sha256.h"

enum { EMBI_GIT_HEX = 40, EMBI_SHA256_HEX = 64, EMBI_CHECKSUM_MAX = EMBI_SHA256_HEX + 1 };

struct embi_checksum {
    bool git;
    struct embi_sha1 sha1;
    struct embi_sha256 sha256;
};

/* Has the text the form of one of the two? */
bool embi_checksum_is(const char *hex);

/* git: of a content of so many bytes. */
void embi_checksum_begin(struct embi_checksum *c, bool git, uint64_t bytes);
void embi_checksum_add(struct embi_checksum *c, const void *data, size_t n);
void embi_checksum_end(struct embi_checksum *c, char hex[EMBI_CHECKSUM_MAX]);

/* Of the first `bytes` of an open file. */
emb_status embi_checksum_file(int fd, bool git, uint64_t bytes, char hex[EMBI_CHECKSUM_MAX],
                              emb_err *err);

#endif
