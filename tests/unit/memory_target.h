/* memory_target.h - a growing block of memory that a format is written to, for the tests of formats and
 * the fuzz targets.
 */
#ifndef TESTS_MEMORY_TARGET_H
#define TESTS_MEMORY_TARGET_H

#include "fmt/fmt.h"
#include "util/err.h"

struct target {
    struct embi_io io;
    struct embi_buf content;
};

static inline emb_status target_append(struct embi_io *io, const void *data, size_t n, emb_err *err)
{
    struct target *t = (struct target *)io;
    (void)err;
    embi_buf_add(&t->content, data, n);
    io->size = t->content.n;
    return EMB_OK;
}

static inline emb_status target_patch(struct embi_io *io, const void *data, size_t n, uint64_t off,
                                      emb_err *err)
{
    struct target *t = (struct target *)io;
    if (!embi_inside(off, n, t->content.n))
        return embi_fail(err, EMB_BUG, -1, "patch of bytes that were not appended");
    memcpy(t->content.s + off, data, n);
    return EMB_OK;
}

static const struct embi_scheme target_scheme = {
    .name = "target", .append = target_append, .patch = target_patch};

#endif
