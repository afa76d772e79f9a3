/* download.h - a whole file from a server onto the disk: in pieces, several at a time, gone on with
 * where an earlier run ended, and checked.
 */
#ifndef EMBI_IO_DOWNLOAD_H
#define EMBI_IO_DOWNLOAD_H

#include "io/checksum.h"
#include "io/remote.h"

struct embi_download {
    const struct embi_env *env;
    struct embi_address address;
    const char *name; /* for who hears of downloads */
    const char *path; /* of the file until it is whole. It stays where the download fails */
    uint64_t bytes;   /* how many it must be; EMBI_TRANSPORT_UNKNOWN */
    const char
        *hash; /* what it must have (checksum.h), or NULL: what the server says, if anything */
    char found[EMBI_CHECKSUM_MAX]; /* out: the hash that it has, of `hash`'s kind; of none: git's */
};

/* Afterwards f->path is the whole file, and nothing else. One process at a time may download to it.
 * EMB_IO: it does not come, or is not what it must be, and then it is gone. */
emb_status embi_download(struct embi_download *f, emb_err *err);

#endif
