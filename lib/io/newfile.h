/* newfile.h - a regular file that appears whole, or not at all. Only files of io/ include this. */
#ifndef EMBI_IO_NEWFILE_H
#define EMBI_IO_NEWFILE_H

#include "io/io.h"

/* Begins the file at path; symbolic links are followed to their end, which is what is made or
 * replaced. mode: EMBI_IO_WRITE with FORCE, SYNC, NO_SYNC. What path names is a regular file or
 * nothing. */
emb_status embi_newfile_open(const struct embi_env *env, const char *path, unsigned mode,
                             struct embi_io **io, emb_err *err);

#endif
