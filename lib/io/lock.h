/* lock.h - locks on directories and files, held by an open descriptor: they end with the process,
 * however it ends (flock(2)). Where a file system knows no locks nothing is locked, and nothing
 * fails.
 */
#ifndef EMBI_IO_LOCK_H
#define EMBI_IO_LOCK_H

#include "util/env.h"

enum { EMBI_NO_LOCK = -1 };

/* Locks the directory `name` in the directory `parent` (a descriptor, or AT_FDCWD), shared with
 * others that share it or alone; the name stands for the locked directory then. *fd is closed to
 * unlock; EMBI_NO_LOCK where there are no locks. EMB_IO with EWOULDBLOCK: another process has
 * it. */
emb_status embi_lock_dir(int parent, const char *name, bool alone, int *fd, emb_err *err);

/* Locks the file at the path, which is made where it is not there, alone; waits for other
 * processes, and says so in the log. *fd as above. */
emb_status embi_lock_file(const struct embi_env *env, const char *path, int *fd, emb_err *err);

void embi_unlock(int fd);

#endif
