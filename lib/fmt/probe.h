/* probe.h - the beginning of a file, and what it looks like. Only for probe.c and unwrap.c. */
#ifndef EMBI_FMT_PROBE_H
#define EMBI_FMT_PROBE_H

#include "fmt/fmt.h"

struct embi_head {
    unsigned char s[EMBI_PROBE_BYTES]; /* [n] */
    size_t n;
    uint64_t size; /* of the file */
};

emb_status embi_head_read(struct embi_io *io, struct embi_head *head, emb_err *err);

/* The format that bids most, and its bid. NULL: none does, or a kind that is not read bids more. */
const struct embi_format *embi_head_format(const struct embi_head *head, const char *path,
                                           int *bid);

/* The same; says what it is where it is nothing that is read. */
emb_status embi_head_check(const struct embi_head *head, const char *path,
                           const struct embi_format **format, emb_err *err);

#endif
