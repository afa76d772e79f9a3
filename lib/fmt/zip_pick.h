/* zip_pick.h - which member of a zip archive is meant. Only for unwrap.c. */
#ifndef EMBI_FMT_ZIP_PICK_H
#define EMBI_FMT_ZIP_PICK_H

#include "fmt/fmt.h"
#include "io/zip_read.h"

/* The member that r->fragment names, which then loses that name; without one the only member that
 * looks like a table. *m is NULL for an archive that is an .npz as a whole. */
emb_status embi_zip_pick(struct embi_reader *r, const struct embi_zip_list *zip,
                         const struct embi_zip_member **m, emb_err *err);

/* Does a file begin as gzip does? */
static inline bool embi_is_gzip(const unsigned char *head, size_t n)
{
    return n >= 3 && memcmp(head, "\x1F\x8B\x08", 3) == 0;
}

#endif
