/* checksum.c - see checksum.h. */
#include "io/checksum.h"

#include "io/fd.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { CHUNK_BYTES = 1 << 18 };

static const char digits[] = "0123456789abcdef";

bool embi_checksum_is(const char *hex)
{
    size_t n = strlen(hex);
    return (n == EMBI_GIT_HEX || n == EMBI_SHA256_HEX) && strspn(hex, digits) == n;
}

void embi_checksum_begin(struct embi_checksum *c, bool git, uint64_t bytes)
{
    char head[32];
    c->git = git;
    embi_sha1_init(&c->sha1);
    embi_sha256_init(&c->sha256);
    int n = snprintf(head, sizeof head, "blob %" PRIu64, bytes);
    if (git)
        embi_sha1_update(&c->sha1, head, (size_t)n + 1);
}

void embi_checksum_add(struct embi_checksum *c, const void *data, size_t n)
{
    if (c->git)
        embi_sha1_update(&c->sha1, data, n);
    else
        embi_sha256_update(&c->sha256, data, n);
}

void embi_checksum_end(struct embi_checksum *c, char hex[EMBI_CHECKSUM_MAX])
{
    unsigned char digest[EMBI_SHA256_BYTES];
    size_t n = c->git ? EMBI_SHA1_BYTES : EMBI_SHA256_BYTES;
    if (c->git)
        embi_sha1_final(&c->sha1, digest);
    else
        embi_sha256_final(&c->sha256, digest);
    for (size_t i = 0; i < n; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[2 * n] = '\0';
}

emb_status embi_checksum_file(int fd, bool git, uint64_t bytes, char hex[EMBI_CHECKSUM_MAX],
                              emb_err *err)
{
    struct embi_checksum c;
    emb_status status = EMB_OK;
    unsigned char *chunk = malloc(CHUNK_BYTES);
    if (!chunk)
        return embi_fail_memory(err, CHUNK_BYTES, "a piece of a file");
    embi_checksum_begin(&c, git, bytes);
    for (uint64_t at = 0; !status && at < bytes; at += CHUNK_BYTES) {
        size_t n = (size_t)embi_min(bytes - at, CHUNK_BYTES);
        status = embi_fd_pread(fd, chunk, n, at, err);
        if (!status)
            embi_checksum_add(&c, chunk, n);
    }
    if (!status)
        embi_checksum_end(&c, hex);
    free(chunk);
    return status;
}
