/* cpus.h - how many CPUs the control group of this process grants. For pool.h's embi_cpus_allowed
 * and its test.
 */
#ifndef EMBI_UTIL_CPUS_H
#define EMBI_UTIL_CPUS_H

/* The lowest CPU limit on the way from the process's group to the root, rounded up; 0: no limit, or
 * none that could be read. membership: /proc/self/cgroup, mount: /sys/fs/cgroup. */
int embi_cpus_quota(const char *membership, const char *mount);

#endif
