/* places.c - see places.h. */
#include "places.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

/* The way from the folder of the program to its plugins, where it was installed; the Makefile says
 * it. */
#ifndef EMBTOOL_PLUGINS
#define EMBTOOL_PLUGINS "../lib/embtool"
#endif

/* The directory that the program lies in, without a slash at its end; false where the system does
 * not say. */
static bool find_program(char dir[PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", dir, PATH_MAX - 1);
    if (n <= 0)
        return false;
    dir[n] = 0;
    char *slash = strrchr(dir, '/');
    if (slash)
        *slash = 0;
    return slash != NULL;
}

bool place_find(const char *const *places, size_t n, char *path, size_t size)
{
    char program[PATH_MAX];
    if (!find_program(program))
        return false;
    for (size_t i = 0; i < n; i++) {
        if (strlen(program) + 1 + strlen(places[i]) >= size)
            continue;
        stpcpy(stpcpy(stpcpy(path, program), "/"), places[i]);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

void place_plugins(const char *first, struct embi_buf *path)
{
    static const char *const places[] = {"lib/embtool", EMBTOOL_PLUGINS};
    char program[PATH_MAX];
    if (first)
        embi_buf_text(path, first);
    for (size_t i = 0; i < EMBI_LEN(places) && find_program(program); i++)
        embi_buf_print(path, "%s%s/%s", path->n ? ":" : "", program, places[i]);
}
