/* foreign.h - files that are known but not read: what to tell the person who opened one.
 * Only for fmt.c.
 */
#ifndef EMBI_FMT_FOREIGN_H
#define EMBI_FMT_FOREIGN_H

#include "fmt/fmt.h"

/* One kind of file: how sure these bytes are of that kind (as embi_format.probe), and what to say.
 */
struct embi_foreign {
    int (*probe)(const unsigned char *head, size_t n, const char *ext);
    const char *magic; /* instead of probe: bytes at offset 0, `magic_bytes` of them */
    size_t magic_bytes;
    const char *words; /* EMB_UNSUPPORTED: "WORDS" */
};

/* The surest kind, and its bid in *bid; NULL and 0 if it is none. */
const struct embi_foreign *embi_foreign_find(const unsigned char *head, size_t n, const char *ext,
                                             int *bid);

/* Fails with the words for that kind. */
emb_status embi_foreign_fail(const struct embi_foreign *kind, const unsigned char *head, size_t n,
                             emb_err *err);

#endif
