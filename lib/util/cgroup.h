/* cgroup.h - the control groups of this process: what the limits of cpus.h and memory.h read.
 *
 * Sources: cgroups(7) for /proc/PID/cgroup ("0::PATH" is version 2, any other line
 * "N:CONTROLLERS:PATH" version 1). Nothing here fails: what cannot be read is not there.
 */
#ifndef EMBI_UTIL_CGROUP_H
#define EMBI_UTIL_CGROUP_H

#include "util/base.h"

#define EMBI_CGROUP_TEXT 8192

/* Gets the directory of one group. */
typedef void embi_cgroup_fn(void *arg, const char *dir);

/* Calls fn for the group of the process and for all above it, since limits are hierarchical: in the
 * one hierarchy of version 2, and in that of `controller` ("cpu") of version 1. membership:
 * /proc/self/cgroup, mount: /sys/fs/cgroup. The path may name groups that are not visible here (a
 * container); fn finds no files there. */
void embi_cgroup_walk(const char *membership, const char *mount, const char *controller,
                      embi_cgroup_fn *fn, void *arg);

/* The text of a file, NUL-terminated, at most EMBI_CGROUP_TEXT - 1 bytes of it; false if there is
 * none. dir may be NULL: name is the whole path. */
bool embi_cgroup_text(const char *dir, const char *name, char text[EMBI_CGROUP_TEXT]);

/* The whole number at *text, and *text moves past it and the blanks behind; false if there is none
 * (so also for "max" and "-1"). */
bool embi_cgroup_number(const char **text, uint64_t *number);

#endif
