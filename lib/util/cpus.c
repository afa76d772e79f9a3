/* util/cpus.c - see cpus.h, and embi_cpus_allowed of pool.h.
 *
 * Sources: sched_getaffinity(2); the kernel's cgroup-v2.rst for cpu.max ("QUOTA PERIOD", or
 * "max PERIOD") and sched-bwc.rst for cpu.cfs_quota_us (-1: none) and cpu.cfs_period_us.
 * Nothing here fails: what cannot be read is no limit.
 */
#include "util/cpus.h"

#include "util/cgroup.h"
#include "util/pool.h"

#include <errno.h>
#include <sched.h>

enum { CPUS_MAX = 1 << 16 };

/* The lower of limit and quota / period rounded up, where 0 means no limit. */
static int lower(int limit, uint64_t quota, uint64_t period)
{
    if (period == 0)
        return limit;
    uint64_t cpus = quota / period + (quota % period != 0);
    cpus = embi_max(1, embi_min(cpus, CPUS_MAX));
    return limit == 0 || (int)cpus < limit ? (int)cpus : limit;
}

/* *limit, cut by what stands in the directory of one group. */
static void cut(void *limit, const char *dir)
{
    int *cpus = limit;
    char text[EMBI_CGROUP_TEXT];
    const char *at = text;
    uint64_t quota, period;
    if (embi_cgroup_text(dir, "cpu.max", text)) {
        if (embi_cgroup_number(&at, &quota) && embi_cgroup_number(&at, &period))
            *cpus = lower(*cpus, quota, period);
        return;
    }
    if (!embi_cgroup_text(dir, "cpu.cfs_quota_us", text) || !embi_cgroup_number(&at, &quota))
        return;
    at = text;
    if (embi_cgroup_text(dir, "cpu.cfs_period_us", text) && embi_cgroup_number(&at, &period))
        *cpus = lower(*cpus, quota, period);
}

int embi_cpus_quota(const char *membership, const char *mount)
{
    int limit = 0;
    embi_cgroup_walk(membership, mount, "cpu", cut, &limit);
    return limit;
}

/* CPUs in the affinity mask. The set grows until the kernel's mask fits into it. */
static int affinity(void)
{
    for (int cpus = CPU_SETSIZE; cpus <= CPUS_MAX; cpus *= 2) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (!set)
            return 1;
        size_t bytes = CPU_ALLOC_SIZE((size_t)cpus);
        int n = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : -errno;
        CPU_FREE(set);
        if (n != -EINVAL)
            return n > 0 ? n : 1;
    }
    return 1;
}

int embi_cpus_allowed(void)
{
    int cpus = affinity();
    if (cpus == 1)
        return 1;
    int quota = embi_cpus_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    return quota > 0 && quota < cpus ? quota : cpus;
}
