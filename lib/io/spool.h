/* spool.h - bytes that are made here, and nobody knows yet how many: kept in memory while they are
 * few against what is free, else in a temporary file without a name.
 *
 * The file lies in the directory that the program names (emb_ctx_opts.temp_dir); where it named
 * none, all is kept in memory. Only files of io/ include this.
 */
#ifndef EMBI_IO_SPOOL_H
#define EMBI_IO_SPOOL_H

#include "io/io.h"

struct embi_spool {
    const struct embi_env *env;
    char *s; /* [cap] in memory all bytes; else those that are not in the file yet */
    size_t n, cap;
    uint64_t written; /* bytes in the file */
    uint64_t most;    /* bytes of memory it may take; 0: not asked yet */
    int fd;           /* of the file, or -1 */
};

/* Begins one of about `expected` bytes: a guess, but memory for so many is taken at once. Freed by
 * embi_spool_free. */
void embi_spool_begin(const struct embi_env *env, uint64_t expected, struct embi_spool *spool);

/* *room [*n], n > 0: where the next bytes go. */
emb_status embi_spool_room(struct embi_spool *spool, char **room, size_t *n, emb_err *err);
/* n bytes were put there. */
void embi_spool_added(struct embi_spool *spool, size_t n);

/* Makes all bytes a file to read, which is all that is left of the spool. */
emb_status embi_spool_end(struct embi_spool *spool, struct embi_io **io, emb_err *err);

void embi_spool_free(struct embi_spool *spool);

/* A file without a name in a directory, to read and write; -1 and errno. */
int embi_spool_file(const char *dir);

#endif
