/* dir.h - the names in a directory, one after another; the removal of a whole one, and its way to
 * the disk.
 *
 * Needs no memory but the stack, and calls nothing that may not be called in a signal handler: what
 * a run leaves behind can be removed when memory has run out, and when the run is being ended.
 */
#ifndef EMBI_IO_DIR_H
#define EMBI_IO_DIR_H

#include "util/base.h"

struct embi_dir {
    int fd;  /* of the directory, for the ...at calls; -1 where it could not be opened */
    int sys; /* errno of the first failure, 0: none                                     */
    size_t at, n;
    union {
        uint64_t align;
        char bytes[2048];
    } entries; /* [at .. n) are waiting */
};

/* Opens the directory `name` in `parent` (AT_FDCWD: the working directory). `links`: a symbolic
 * link in its place is followed. Must be closed in any case. */
void embi_dir_open(struct embi_dir *dir, int parent, const char *name, bool links);

/* The next name but "." and "..", borrowed until the next call; NULL: that was all, or it
 * failed. */
const char *embi_dir_next(struct embi_dir *dir);

/* Returns dir->sys. */
int embi_dir_close(struct embi_dir *dir);

/* Removes the file, link or directory `name` in `parent` with all that is in it; links are removed,
 * never followed, and directories without write permission are given it. 0 or errno. */
int embi_dir_remove(int parent, const char *name);

/* fsync of the directory `name` in `parent`; of it and all directories in it, links not followed. 0
 * or errno. */
int embi_dir_sync(int parent, const char *name);
int embi_dir_sync_all(int parent, const char *name);

/* Makes the directories above the path's last name that are not there. 0 or errno. */
int embi_dir_make_above(const char *path);

bool embi_is_dots(const char *name); /* "." or ".." */

#endif
