/* newdir.h - a directory that appears whole, or not at all.
 *
 * It is built under a temporary name beside the target, and takes the target's name in one step:
 * by a rename that replaces nothing, or, where something is to be replaced, by an exchange of the
 * two names, after which the old directory is removed. At every moment the name stands for the
 * whole old directory or the whole new one. What runs that were killed have left beside the target
 * (temporary directories that no process has locked) is removed first. Implements docs/design.md,
 * "Output".
 */
#ifndef EMBI_IO_NEWDIR_H
#define EMBI_IO_NEWDIR_H

#include "io/tree.h"

struct embi_newdir;

/* Makes the temporary directory. The target is `path`, without slashes at its end, and behind
 * symbolic links. mode: EMBI_IO_WRITE with FORCE, SYNC, NO_SYNC as for files, and EXCHANGE: a file
 * system that cannot exchange two names is an error then (else the old directory is moved aside
 * first, and for a moment there is none of the name). EMB_EXISTS: the
 * target is there and not FORCE, unless it is an empty directory; or it is no directory at all.
 * EMB_UNSUPPORTED: a file system is mounted there.
 * Under FORCE the target is locked until the close, under EXCHANGE by the caller, before; EMB_IO
 * with EWOULDBLOCK: another run has it.
 * What may be replaced under FORCE is the caller's to judge. */
emb_status embi_newdir_open(const struct embi_env *env, const char *path, unsigned mode,
                            struct embi_newdir **dir, emb_err *err);

const struct embi_env *embi_newdir_env(const struct embi_newdir *dir);

/* Where files of the new directory are to be made until the commit. */
const char *embi_newdir_path(const struct embi_newdir *dir);

/* How those files are to be opened: with the same ideas of syncing. */
unsigned embi_newdir_mode(const struct embi_newdir *dir);

/* Writes a file of n bytes into it. Messages begin with the name. */
emb_status embi_newdir_add(struct embi_newdir *dir, const char *name, const void *bytes, size_t n,
                           emb_err *err);

/* Makes what the entry of another directory's list is: a folder, a link, a file with the same bytes
 * and permissions. link: a file becomes another name of the same one, where that can be; never of a
 * symbolic link. Folders come before what is in them. Messages begin with the name. */
emb_status embi_newdir_take(struct embi_newdir *dir, const char *from,
                            const struct embi_tree_entry *entry, bool link, emb_err *err);

/* Gives the folders of that list, which were taken, the permissions they have there: until now they
 * are writable for their owner. */
emb_status embi_newdir_close_folders(struct embi_newdir *dir, const struct embi_tree *tree,
                                     emb_err *err);

/* Gives the directory its name, and the permissions of what it replaces. It still has to be closed.
 * EMB_EXISTS: something of that name appeared meanwhile. EMB_IO: the name stands for something else
 * than what was to be replaced. EMB_UNSUPPORTED: a file system is mounted there. */
emb_status embi_newdir_commit(struct embi_newdir *dir, emb_err *err);

/* Removes what runs that were killed have left beside the directory `path`, as the next one that
 * builds it would. */
void embi_newdir_clear(const struct embi_env *env, const char *path);

/* Without a commit before it, nothing of the directory is left. NULL is allowed. */
void embi_newdir_close(struct embi_newdir *dir);

/* What the directory `path` holds, as bits: nothing where there is no such directory. */
enum { EMBI_DIR_FILES = 1, EMBI_DIR_FOLDERS = 2 };
emb_status embi_dir_look(const char *path, unsigned *seen, emb_err *err);

#endif
