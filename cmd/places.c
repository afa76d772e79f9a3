/* places.c - see places.h. */
#include "places.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The way from the folder of the program to its plugins, where it was installed; the Makefile says
 * it. */
#ifndef EMBTOOL_PLUGINS
#define EMBTOOL_PLUGINS "../lib/embtool"
#endif

/* The directory that the program lies in, without a slash at its end; false where the system does not
 * say. */
static bool place_of_program(char path[PLACE_PATH_MAX])
{
    ssize_t n = readlink("/proc/self/exe", path, PATH_MAX);
    char *slash = n > 0 ? memrchr(path, '/', (size_t)n) : NULL;
    if (!slash)
        return false;
    *slash = 0;
    return true;
}

bool place_find(const char *const *places, size_t n, char path[PLACE_PATH_MAX])
{
    if (!place_of_program(path))
        return false;
    char *end = path + strlen(path);
    for (size_t i = 0; i < n; i++) {
        (void)snprintf(end, (size_t)(path + PLACE_PATH_MAX - end), "/%s", places[i]);
        if (access(path, R_OK) == 0)
            return true;
    }
    return false;
}

void place_plugins(const char *first, struct embi_buf *path)
{
    static const char *const places[] = {"lib/embtool", EMBTOOL_PLUGINS};
    char program[PLACE_PATH_MAX];
    if (first)
        embi_buf_text(path, first);
    for (size_t i = 0; i < EMBI_LEN(places) && place_of_program(program); i++)
        embi_buf_print(path, "%s%s/%s", path->n ? ":" : "", program, places[i]);
}
