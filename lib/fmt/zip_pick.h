/* zip_pick.h - which member of a zip archive is meant, and which may be tables. */
#ifndef EMBI_FMT_ZIP_PICK_H
#define EMBI_FMT_ZIP_PICK_H

#include "fmt/fmt.h"
#include "io/dir_names.h"
#include "io/zip_read.h"

/* For unwrap.c alone: the member that r->fragment names, which then loses that name; without one
 * the only member that looks like a table. *m is NULL for an archive that is an .npz as a whole. */
emb_status embi_zip_pick(struct embi_reader *r, const struct embi_zip_list *zip,
                         const struct embi_zip_member **m, emb_err *err);

/* The members of the zip archive `path` whose extension is that of a format with a header, in the
 * order of their bytes. None of what is no zip, or has more of them than are looked at. Free with
 * embi_names_free, after failure too. */
emb_status embi_zip_tables(const struct embi_env *env, const char *path, struct embi_names *names,
                           emb_err *err);

#endif
