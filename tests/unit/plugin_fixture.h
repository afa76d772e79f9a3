/* plugin_fixture.h - contexts of tests that look for plugins in the build folder. */
#ifndef EMBTOOL_TESTS_PLUGIN_FIXTURE_H
#define EMBTOOL_TESTS_PLUGIN_FIXTURE_H

#include <criterion/criterion.h>

#include "emb.h"

#include <string.h>
#include <unistd.h>

/* The build folder, from where this program lies: BUILD/tests/unit. */
static const char *build(const char *below)
{
    static char path[4][4096];
    static int turn;
    char *p = path[turn++ % 4];
    ssize_t n = readlink("/proc/self/exe", p, 3000);
    cr_assert(n > 0);
    p[n] = 0;
    for (int up = 0; up < 3; up++)
        *strrchr(p, '/') = 0;
    strcat(strcat(p, "/"), below);
    return p;
}

/* A context that looks for plugins in these directories. */
static emb_ctx *context_of(const char *dirs, int threads)
{
    emb_ctx *ctx;
    emb_err err;
    emb_ctx_opts opts = {.size = sizeof opts, .plugin_path = dirs, .threads = threads};
    cr_assert_eq(emb_ctx_new(&opts, &ctx, &err), EMB_OK);
    return ctx;
}

#endif
