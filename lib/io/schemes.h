/* schemes.h - the const structs that embi_io_open chooses from. Only files of io/ include this. */
#ifndef EMBI_IO_SCHEMES_H
#define EMBI_IO_SCHEMES_H

#include "io/io.h"

extern const struct embi_scheme embi_scheme_file;  /* a path */
extern const struct embi_scheme embi_scheme_stdio; /* "-": fd 0 or 1 */
extern const struct embi_scheme embi_scheme_http;  /* http:// and https:// */
extern const struct embi_scheme embi_scheme_s3;    /* s3://bucket/key */

/* Makes fd, which this takes over even where it fails, a file to read: mapped if it is a regular
 * file at its beginning, else read to its end into memory. A directory is EMB_UNSUPPORTED. */
emb_status embi_file_adopt(const struct embi_env *env, int fd, struct embi_io **io, emb_err *err);

#endif
