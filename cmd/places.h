/* places.h - what lies beside the program: found from its own place, in the folder it was built in
 * and where it was installed alike, never in the current directory.
 */
#ifndef EMBTOOL_PLACES_H
#define EMBTOOL_PLACES_H

#include "util/buf.h"

/* Puts the first of n places, seen from the program's directory, that can be read into path [size];
 * false where there is none. */
bool place_find(const char *const *places, size_t n, char *path, size_t size);

/* Adds the directories of plugins, separated by ':': those of `first` (may be NULL), lib/embtool of
 * a build folder, and where plugins were installed. */
void place_plugins(const char *first, struct embi_buf *path);

#endif
