/* io/mem.c - a block of memory as a file to read: embi_io_memory of io.h.
 *
 * It copies nothing: map hands out the block itself.
 */
#include "io/io.h"

#include "util/err.h"

#include <stdlib.h>

struct memory {
    struct embi_io io;
    const char *data; /* [io.size] */
    void *owned;      /* or NULL   */
};

static emb_status memory_pread(struct embi_io *io, void *dst, size_t n, uint64_t off, emb_err *err)
{
    (void)err;
    memcpy(dst, ((struct memory *)io)->data + off, n);
    return EMB_OK;
}

static emb_status memory_map(struct embi_io *io, const void **data, emb_err *err)
{
    (void)err;
    *data = ((struct memory *)io)->data;
    return EMB_OK;
}

static void memory_close(struct embi_io *io)
{
    free(((struct memory *)io)->owned);
    free(io);
}

static const struct embi_scheme scheme_memory = {
    .name = "memory",
    .pread = memory_pread,
    .map = memory_map,
    .close = memory_close,
};

emb_status embi_io_memory(const struct embi_env *env, const void *data, size_t n, void *owned,
                          struct embi_io **io, emb_err *err)
{
    *io = NULL;
    struct memory *memory = calloc(1, sizeof *memory);
    if (!memory)
        return embi_fail_memory(err, sizeof *memory, "an open file");
    memory->io.scheme = &scheme_memory;
    memory->io.env = env;
    memory->io.caps = EMBI_IO_CAN_MAP;
    memory->io.size = n;
    memory->data = data ? data : "";
    memory->owned = owned;
    *io = &memory->io;
    return EMB_OK;
}
