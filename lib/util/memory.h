/* memory.h - how much memory there is to be had, before much of it is asked for.
 *
 * The system promises memory that it does not have, and ends a process that uses it: who wants
 * gigabytes asks here first. It is a guess: other processes want memory too.
 */
#ifndef EMBI_UTIL_MEMORY_H
#define EMBI_UTIL_MEMORY_H

#include "util/base.h"

/* Bytes that can be used now: those the system has, and within the limits of the process's control
 * groups; UINT64_MAX where neither says. */
uint64_t embi_memory_available(void);

/* The same by these files: /proc/meminfo, /proc/self/cgroup, /sys/fs/cgroup. */
uint64_t embi_memory_by(const char *meminfo, const char *membership, const char *mount);

#endif
