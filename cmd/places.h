/* places.h - what lies beside the program: found from its own place, in the folder it was built in and
 * where it was installed alike, never in the current directory.
 */
#ifndef EMBTOOL_PLACES_H
#define EMBTOOL_PLACES_H

#include "util/buf.h"

#include <limits.h>

#define PLACE_PATH_MAX (PATH_MAX + 64) /* of a path, with its NUL */

/* The first of n places, seen from the directory that the program lies in, that can be read; false
 * where there is none. */
bool place_find(const char *const *places, size_t n, char path[PLACE_PATH_MAX]);

/* Adds the directories of plugins, separated by ':': those of `first` (may be NULL), lib/embtool of a
 * build folder, ../lib/embtool where the program was installed. */
void place_plugins(const char *first, struct embi_buf *path);

#endif
