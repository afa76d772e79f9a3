/* inflate.h - unpacks what deflate packed: a bare stream, as a zip has, or a gzip file.
 *
 * Everything that a stream promises is checked: lengths, checksums, that it ends where it should.
 * Specifications: RFC 1951 (deflate), RFC 1952 (gzip). Messages name bytes of the file.
 */
#ifndef EMBI_IO_INFLATE_H
#define EMBI_IO_INFLATE_H

#include "io/io.h"

/* Does a file begin as gzip does? */
static inline bool embi_is_gzip(const unsigned char *head, size_t n)
{
    return n >= 3 && memcmp(head, "\x1F\x8B\x08", 3) == 0;
}

/* Bytes of an open file, and what they should give. */
struct embi_packed {
    struct embi_io *io; /* borrowed */
    uint64_t at, n;     /* the packed bytes in it */
    bool gzip;          /* members with headers and checksums of their own, one after another */
    uint64_t bytes;     /* of a bare stream: what it unpacks to */
    uint32_t crc;       /* and their checksum */
    uint64_t most;      /* of a gzip file: more bytes are not unpacked; 0: any number */
};

/* Can n packed bytes hold `bytes`? A symbol of 2 bits stands for 258 bytes at most. */
static inline bool embi_inflate_can(uint64_t n, uint64_t bytes)
{
    return bytes / 1032 <= n;
}

/* The first bytes, cap or all that there are: *n. Only these are unpacked, and no sum compared. */
emb_status embi_inflate_head(const struct embi_packed *packed, void *dst, size_t cap, size_t *n,
                             emb_err *err);

/* All of it as a file, which does not need packed->io any more. */
emb_status embi_inflate(const struct embi_packed *packed, struct embi_io **io, emb_err *err);

/* CRC-32 (ISO 3309) of n bytes, by all threads of the pool where there are many. */
uint32_t embi_crc32(const struct embi_env *env, const void *data, uint64_t n);

#endif
