/* preflight.c - see preflight.h. A reader that is thrown away opens the beginning alone; what it
 * has to say for people is said when the file is opened in earnest.
 */
#include "fmt/preflight.h"

#include "fmt/probe.h"
#include "io/peek.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

/* Bytes behind the last table are passed over by most formats: not many are unpacked for that. */
enum { REST_MAX_BYTES = 1 << 20 };

/* Where the tables end by their header; 0: it does not say. */
static uint64_t end_of_tables(const struct embi_reader *trial)
{
    uint64_t end = 0, tensor;
    if (trial->format->most)
        return trial->format->most(trial);
    for (size_t i = 0; i < trial->n_tensors; i++) {
        const struct embi_tensor *t = &trial->tensors[i];
        if (!embi_add(t->offset, t->bytes, &tensor))
            tensor = UINT64_MAX;
        end = embi_max(end, tensor);
    }
    return end;
}

static emb_status judge_size(const struct embi_reader *trial, struct embi_packed *packed,
                             uint64_t size, emb_err *err)
{
    uint64_t end = end_of_tables(trial), most;
    if (end == 0 || !embi_add(end, REST_MAX_BYTES, &most))
        return EMB_OK;
    if (!trial->format->most && !embi_inflate_can(packed->n, end))
        return embi_fail(err, EMB_BAD_DATA, -1,
                         "says to hold %" PRIu64 " bytes, more than deflate makes of %" PRIu64, end,
                         packed->n);
    if (size > most)
        return embi_fail(err, EMB_BAD_DATA, (int64_t)end,
                         "%" PRIu64 " bytes follow the tables, which end at byte %" PRIu64
                         "; more than %d are not unpacked",
                         size - end, end, REST_MAX_BYTES);
    packed->most = most;
    return EMB_OK;
}

static emb_status try_to_open(struct embi_reader *trial, struct embi_packed *packed, uint64_t size,
                              emb_err *err)
{
    struct embi_head head;
    head.size = trial->io->size;
    head.n = sizeof head.s;
    emb_status status = embi_io_pread(trial->io, head.s, head.n, 0, err);
    if (!status && !trial->format)
        status = embi_head_check(&head, trial->path, &trial->format, err);
    if (status || !trial->format->open || trial->format == &embi_format_raw)
        return status;
    status = trial->format->open(trial, err);
    return status ? status : judge_size(trial, packed, size, err);
}

emb_status embi_preflight(const struct embi_reader *r, const struct embi_format *format,
                          struct embi_packed *packed, uint64_t size, emb_err *err)
{
    const struct embi_env quiet = {.pool = r->env->pool, .kern = r->env->kern};
    struct embi_io *io;
    bool whole;
    emb_status status = embi_peek_open(packed, size, &io, &whole, err);
    if (status)
        return status;
    struct embi_reader *trial = whole ? NULL : calloc(1, sizeof *trial);
    if (whole || !trial) {
        embi_io_close(io);
        return whole ? EMB_OK : embi_fail_memory(err, sizeof *trial, "a reader");
    }
    trial->env = &quiet;
    trial->io = io;
    trial->format = format;
    trial->opts = r->opts;
    trial->path = embi_reader_name(r);
    status = try_to_open(trial, packed, size, err);
    if (status && embi_peek_fell_short(io))
        status = EMB_OK;
    embi_reader_close(trial);
    return status;
}
