/* io/digest.c - the SHA-256 of a file, for those who name files by their content.
 *
 * Reads the descriptor from its start to its end and maps nothing, so a file that becomes shorter
 * meanwhile does no harm. Regular files only: what can be read once has gone when it is hashed.
 */
#include "util/err.h"
#include "util/sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

enum { CHUNK_BYTES = 1 << 18 };

static void print_hex(const unsigned char digest[EMBI_SHA256_BYTES], char hex[EMB_SHA256_HEX])
{
    static const char digits[] = "0123456789abcdef";
    for (size_t i = 0; i < EMBI_SHA256_BYTES; i++) {
        hex[2 * i] = digits[digest[i] >> 4];
        hex[2 * i + 1] = digits[digest[i] & 15];
    }
    hex[2 * EMBI_SHA256_BYTES] = 0;
}

static emb_status check_regular(int fd, emb_err *err)
{
    struct stat st;
    if (fstat(fd, &st) != 0)
        return embi_fail_errno(err, errno, NULL);
    if (!S_ISREG(st.st_mode))
        return embi_fail(err, EMB_UNSUPPORTED, -1, "is no regular file");
    return EMB_OK;
}

static emb_status hash_all(int fd, unsigned char *chunk /* [CHUNK_BYTES] */, struct embi_sha256 *h,
                           emb_err *err)
{
    for (;;) {
        ssize_t n = read(fd, chunk, CHUNK_BYTES);
        if (n == 0)
            return EMB_OK;
        if (n > 0)
            embi_sha256_update(h, chunk, (size_t)n);
        else if (errno != EINTR)
            return embi_fail_errno(err, errno, NULL);
    }
}

emb_status emb_sha256_file(const char *path, uint64_t *bytes, char hex[EMB_SHA256_HEX],
                           emb_err *err)
{
    struct embi_sha256 h;
    unsigned char digest[EMBI_SHA256_BYTES];
    /* O_NONBLOCK: a FIFO is refused, not waited for. It means nothing to a regular file. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return embi_fail_errno(err, errno, NULL);
    unsigned char *chunk = NULL;
    emb_status status = check_regular(fd, err);
    if (!status && !(chunk = malloc(CHUNK_BYTES)))
        status = embi_fail_memory(err, CHUNK_BYTES, "a piece of a file");
    embi_sha256_init(&h);
    if (!status)
        status = hash_all(fd, chunk, &h, err);
    if (!status) {
        *bytes = h.total_bytes;
        embi_sha256_final(&h, digest);
        print_hex(digest, hex);
    }
    free(chunk);
    close(fd);
    return status;
}
