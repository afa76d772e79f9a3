/* util/cpus.c - see cpus.h, and embi_cpus_allowed of pool.h.
 *
 * Sources: sched_getaffinity(2); cgroups(7) for /proc/PID/cgroup ("0::PATH" is version 2, any other
 * line "N:CONTROLLERS:PATH" version 1); the kernel's cgroup-v2.rst for cpu.max ("QUOTA PERIOD", or
 * "max PERIOD") and sched-bwc.rst for cpu.cfs_quota_us (-1: none) and cpu.cfs_period_us.
 * Nothing here fails: what cannot be read is no limit.
 */
#include "util/cpus.h"

#include "util/pool.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <unistd.h>

enum { TEXT_MAX = 8192, CPUS_MAX = 1 << 16 };

/* The file's text, NUL-terminated, at most TEXT_MAX - 1 bytes of it; false if there is none. */
static bool read_text(const char *path, char text[TEXT_MAX])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t n = 0;
    ssize_t got = 1;
    while (got != 0 && n < TEXT_MAX - 1) {
        got = read(fd, text + n, TEXT_MAX - 1 - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            break;
        n += (size_t)got;
    }
    close(fd);
    text[n] = '\0';
    return got >= 0;
}

/* The whole number at *text, and *text moves past it and the blanks behind; false if there is none
 * (so also for "max" and "-1"). */
static bool read_number(const char **text, uint64_t *number)
{
    const char *p = *text;
    *number = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        if (!embi_mul(*number, 10, number) || !embi_add(*number, (uint64_t)(*p - '0'), number))
            return false;
    bool some = p > *text;
    while (*p == ' ' || *p == '\n')
        p++;
    *text = p;
    return some;
}

/* The lower of limit and quota / period rounded up, where 0 means no limit. */
static int lower(int limit, uint64_t quota, uint64_t period)
{
    if (period == 0)
        return limit;
    uint64_t cpus = quota / period + (quota % period != 0);
    cpus = embi_max(1, embi_min(cpus, CPUS_MAX));
    return limit == 0 || (int)cpus < limit ? (int)cpus : limit;
}

/* limit, cut by what stands in the directory of one group. */
static int group_limit(const char *dir, int limit)
{
    char path[PATH_MAX + 32], text[TEXT_MAX];
    const char *at = text;
    uint64_t quota, period;
    snprintf(path, sizeof path, "%s/cpu.max", dir);
    if (read_text(path, text))
        return read_number(&at, &quota) && read_number(&at, &period) ? lower(limit, quota, period)
                                                                     : limit;
    snprintf(path, sizeof path, "%s/cpu.cfs_quota_us", dir);
    if (!read_text(path, text) || !read_number(&at, &quota))
        return limit;
    snprintf(path, sizeof path, "%s/cpu.cfs_period_us", dir);
    at = text;
    return read_text(path, text) && read_number(&at, &period) ? lower(limit, quota, period) : limit;
}

/* limit, cut by the group mount/controllers/group and by all above it: limits are hierarchical. The
 * path may name groups that are not visible here (a container); those are passed over. */
static int walk_up(const char *mount, const char *controllers, const char *group, int limit)
{
    char dir[PATH_MAX];
    int root = snprintf(dir, sizeof dir, "%s%s%s", mount, *controllers ? "/" : "", controllers);
    if (root < 0 || root >= PATH_MAX)
        return limit;
    int n = snprintf(dir + root, sizeof dir - (size_t)root, "%s", group);
    if (n < 0 || n >= PATH_MAX - root)
        return limit;
    for (size_t end = (size_t)root + (size_t)n;; end--) {
        if (end > (size_t)root && dir[end] != '/' && dir[end] != '\0')
            continue;
        dir[end] = '\0';
        if (end == (size_t)root || dir[end - 1] != '/')
            limit = group_limit(dir, limit);
        if (end == (size_t)root)
            return limit;
    }
}

/* Is "cpu" one of the names in a list like "cpu,cpuacct"? */
static bool lists_cpu(const char *controllers)
{
    for (const char *p = controllers; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, "cpu", 3) == 0 && (p[3] == ',' || p[3] == '\0'))
            return true;
    }
    return false;
}

int embi_cpus_quota(const char *membership, const char *mount)
{
    char text[TEXT_MAX];
    int limit = 0;
    if (!read_text(membership, text))
        return 0;
    for (char *line = text, *next; line && *line; line = next) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *controllers++ = '\0';
        *group++ = '\0';
        if (strcmp(line, "0") != 0 ? lists_cpu(controllers) : *controllers == '\0')
            limit = walk_up(mount, controllers, group, limit);
    }
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
