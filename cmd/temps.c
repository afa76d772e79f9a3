/* temps.c - a run that is ended by a signal leaves nothing under a temporary name.
 *
 * The library says which names there are. The handler removes them and lets the signal do what it
 * does to a program without a handler, so that whoever waits sees by what it was ended. SIGKILL
 * leaves no chance.
 */
#include "main.h"

#include <signal.h>

enum { TEMPS_MAX = 16 }; /* a run writes at most a table, two lists beside it and a report */

/* Borrowed from the library; a handler can reach nothing but what is static. */
static const char *volatile temps[TEMPS_MAX];

void note_temp(void *arg, const char *path, bool there)
{
    (void)arg;
    for (size_t i = 0; i < TEMPS_MAX; i++) {
        if (temps[i] != (there ? NULL : path))
            continue;
        temps[i] = there ? path : NULL;
        return;
    }
}

void remove_temps(void)
{
    for (size_t i = 0; i < TEMPS_MAX; i++) {
        const char *path = temps[i];
        temps[i] = NULL;
        if (path)
            emb_temp_remove(path);
    }
}

/* The default action is back when this begins (SA_RESETHAND), and is taken when it is over. */
static void on_end(int signal_number)
{
    remove_temps();
    raise(signal_number);
}

void catch_ends(void)
{
    static const int ends[] = {SIGHUP, SIGINT, SIGQUIT, SIGPIPE, SIGTERM, SIGXCPU};
    struct sigaction action = {.sa_handler = on_end, .sa_flags = (int)SA_RESETHAND}, old;
    sigfillset(&action.sa_mask);
    for (size_t i = 0; i < EMBI_LEN(ends); i++) {
        if (sigaction(ends[i], NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(ends[i], &action, NULL);
    }
}
