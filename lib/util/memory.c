/* memory.c - see memory.h.
 *
 * Sources: proc(5) for MemAvailable; the kernel's cgroup-v2.rst (memory.max, memory.current,
 * memory.stat) and cgroup-v1/memory.rst (memory.limit_in_bytes, memory.usage_in_bytes, total_ keys
 * of memory.stat). A group's use counts the files it has read, which are dropped when memory is
 * wanted.
 */
#include "util/memory.h"

#include "util/cgroup.h"

#include <stdio.h>

/* The number behind `key` at the beginning of a line; 0 if there is none. */
static uint64_t value_of(const char *text, const char *key)
{
    size_t n = strlen(key);
    for (const char *line = text; line; line = strchr(line, '\n')) {
        line += *line == '\n';
        const char *at = line + n;
        uint64_t value;
        if (strncmp(line, key, n) != 0)
            continue;
        at += strspn(at, " ");
        return embi_cgroup_number(&at, &value) ? value : 0;
    }
    return 0;
}

static bool number_in(const char *dir, const char *name, uint64_t *number)
{
    char text[EMBI_CGROUP_TEXT];
    const char *at = text;
    return embi_cgroup_text(dir, name, text) && embi_cgroup_number(&at, number);
}

static void cut(void *bytes, const char *dir)
{
    uint64_t *least = bytes, limit, used;
    char text[EMBI_CGROUP_TEXT] = "";
    if (number_in(dir, "memory.max", &limit)) {
        if (!number_in(dir, "memory.current", &used))
            return;
    } else if (!number_in(dir, "memory.limit_in_bytes", &limit) ||
               !number_in(dir, "memory.usage_in_bytes", &used)) {
        return;
    }
    embi_cgroup_text(dir, "memory.stat", text);
    uint64_t files =
        embi_max(value_of(text, "inactive_file "), value_of(text, "total_inactive_file ")) +
        embi_max(value_of(text, "active_file "), value_of(text, "total_active_file "));
    used -= embi_min(used, files);
    *least = embi_min(*least, limit - embi_min(limit, used));
}

uint64_t embi_memory_by(const char *meminfo, const char *membership, const char *mount)
{
    char text[EMBI_CGROUP_TEXT];
    uint64_t bytes = UINT64_MAX;
    if (embi_cgroup_text(NULL, meminfo, text) && strstr(text, "MemAvailable:"))
        bytes = value_of(text, "MemAvailable:") * 1024;
    embi_cgroup_walk(membership, mount, "memory", cut, &bytes);
    return bytes;
}

uint64_t embi_memory_available(void)
{
    return embi_memory_by("/proc/meminfo", "/proc/self/cgroup", "/sys/fs/cgroup");
}
