/* folders.h - folders and all that is in them, by descriptor, seen to be on the disk. Symbolic
 * links are never followed. Only files of io/ include this.
 */
#ifndef EMBI_IO_FOLDERS_H
#define EMBI_IO_FOLDERS_H

#include <stdbool.h>

bool embi_is_dots(const char *name); /* "." or ".." */

/* fsync of one folder; of it and all folders in it. 0 or errno. */
int embi_sync_dir(int parent, const char *name);
int embi_sync_tree(int parent, const char *name);

#endif
