/* unwrap.h - from a gzip file or a zip archive to the table file inside. Only for fmt.c.
 *
 * Archives that are themselves a format (.npz, PyTorch's zips) stay what they are, and so does
 * every file of which the user said that it is raw rows. Implements docs/formats/archives.md.
 */
#ifndef EMBI_FMT_UNWRAP_H
#define EMBI_FMT_UNWRAP_H

#include "fmt/fmt.h"

/* Puts what is inside in the place of r->io, where that is packed. The member of a zip is the one
 * that r->opts.fragment names, else the only one that looks like a table: EMB_UNSUPPORTED, with a
 * list, where there are several; EMB_BAD_ARG where there is none of that name. */
emb_status embi_unwrap(struct embi_reader *r, emb_err *err);

#endif
