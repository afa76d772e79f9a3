/* model_dir.h - a model directory for the tests of lib/model and lib/ops that edit or check one:
 * files that a test writes, and a directory that is gone afterwards.
 */
#ifndef TESTS_MODEL_DIR_H
#define TESTS_MODEL_DIR_H

#include "memory_file.h"
#include "model_fixture.h"

#include <sys/stat.h>
#include <unistd.h>

static char dir[] = "/tmp/embtool-model-XXXXXX";

static inline void enter_dir(void)
{
    cr_assert_not_null(mkdtemp(dir));
    cr_assert_eq(chdir(dir), 0);
}

static inline void leave_dir(void)
{
    char command[64];
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(system(command), 0);
}

/* A safetensors file of n tensors; `last` is the value of the last element. */
static inline void put_tensors(const char *name, const struct fixture_tensor *t, size_t n,
                               float last)
{
    struct embi_buf file = fixture_file(t, n);
    memcpy(file.s + file.n - 4, &last, 4);
    fixture_put(name, file.s, file.n);
    embi_buf_free(&file);
}

#endif
