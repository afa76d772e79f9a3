/* cgroup.c - see cgroup.h. */
#include "util/cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <unistd.h>

bool embi_cgroup_text(const char *dir, const char *name, char text[EMBI_CGROUP_TEXT])
{
    char path[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s%s%s", dir ? dir : "", dir ? "/" : "", name);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return false;
    size_t n = 0;
    ssize_t got = 1;
    while (got != 0 && n < EMBI_CGROUP_TEXT - 1) {
        got = read(fd, text + n, EMBI_CGROUP_TEXT - 1 - n);
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

bool embi_cgroup_number(const char **text, uint64_t *number)
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

/* The group mount/controllers/group and all above it. */
static void walk_up(const char *mount, const char *controllers, const char *group,
                    embi_cgroup_fn *fn, void *arg)
{
    char dir[PATH_MAX];
    int root = snprintf(dir, sizeof dir, "%s%s%s", mount, *controllers ? "/" : "", controllers);
    if (root < 0 || root >= PATH_MAX)
        return;
    int n = snprintf(dir + root, sizeof dir - (size_t)root, "%s", group);
    if (n < 0 || n >= PATH_MAX - root)
        return;
    for (size_t end = (size_t)root + (size_t)n;; end--) {
        if (end > (size_t)root && dir[end] != '/' && dir[end] != '\0')
            continue;
        dir[end] = '\0';
        if (end == (size_t)root || dir[end - 1] != '/')
            fn(arg, dir);
        if (end == (size_t)root)
            return;
    }
}

/* Is the name in a list like "cpu,cpuacct"? */
static bool lists(const char *controllers, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = controllers; p; p = strchr(p, ',')) {
        p += *p == ',';
        if (strncmp(p, name, n) == 0 && (p[n] == ',' || p[n] == '\0'))
            return true;
    }
    return false;
}

void embi_cgroup_walk(const char *membership, const char *mount, const char *controller,
                      embi_cgroup_fn *fn, void *arg)
{
    char text[EMBI_CGROUP_TEXT];
    if (!embi_cgroup_text(NULL, membership, text))
        return;
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
        if (strcmp(line, "0") != 0 ? lists(controllers, controller) : *controllers == '\0')
            walk_up(mount, controllers, group, fn, arg);
    }
}
