/* model_memory.h - a model of a file that is made in memory, opened with a config, for the tests of
 * what is found in one.
 */
#ifndef TESTS_MODEL_MEMORY_H
#define TESTS_MODEL_MEMORY_H

#include "memory_file.h"
#include "model_fixture.h"

#include "model/model.h"

static struct log lines;
static struct embi_env env = {.log = collect, .log_arg = &lines};

static inline struct embi_model *open_model(const struct fixture_tensor *t, size_t n,
                                            const char *config)
{
    struct embi_buf b = fixture_file(t, n);
    struct embi_reader *r;
    struct embi_model *m;
    emb_err err;
    lines = (struct log){0};
    cr_assert_eq(open_bytes(&env, b.s, b.n, "-", NULL, NULL, &r, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(embi_model_open_file(r, &m, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(embi_config_parse(config, strlen(config), &m->config, &err), EMB_OK, "%s",
                 err.msg);
    embi_buf_free(&b);
    return m;
}

#endif
