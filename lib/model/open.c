/* open.c - a TABLE of any kind: from what the user typed to an open table.
 *
 * path, path#tensor (a path that exists with the # in its name wins), "-" for standard input.
 */
#include "model/model.h"
#include "table/table.h"
#include "util/err.h"

#include <stdlib.h>
#include <unistd.h>

/* What the user typed, taken apart. */
struct target {
    char *path;
    const char *tensor; /* inside path's memory, or from the options, or NULL */
};

static emb_status split_url(const char *url, const char *tensor, struct target *target,
                            emb_err *err)
{
    target->path = strdup(url);
    if (!target->path)
        return embi_fail_memory(err, strlen(url), "a path");
    target->tensor = tensor;
    char *hash = strrchr(target->path, '#');
    if (!hash || access(url, F_OK) == 0)
        return EMB_OK;
    *hash = 0;
    if (!tensor)
        target->tensor = hash + 1;
    return EMB_OK;
}

static void read_opts(const emb_open_opts *o, struct embi_read_opts *r)
{
    *r = (struct embi_read_opts){
        .input_dtype = EMBI_HAS(o, input_dtype) ? o->input_dtype : EMB_DTYPE_NONE,
        .raw_rows = EMBI_HAS(o, raw_rows) ? o->raw_rows : 0,
        .raw_dims = EMBI_HAS(o, raw_dims) ? o->raw_dims : 0,
        .raw_offset = EMBI_HAS(o, raw_offset) ? o->raw_offset : 0,
        .limit_rows = EMBI_HAS(o, limit_rows) ? o->limit_rows : 0,
        .strict = EMBI_HAS(o, strict) && o->strict,
    };
}

/* The format that the user named; NULL where none was. */
static emb_status named_format(const emb_open_opts *opts, const struct embi_format **format,
                               emb_err *err)
{
    const char *name = EMBI_HAS(opts, format) ? opts->format : NULL;
    *format = name ? embi_format_by_name(name) : NULL;
    if (name && (!*format || !((*format)->caps & EMBI_FMT_READ)))
        return embi_fail(err, EMB_BAD_ARG, -1, "there is no format '%s' to read", name);
    return EMB_OK;
}

static emb_status open_reader(const emb_ctx *ctx, const char *path, const emb_open_opts *opts,
                              struct embi_reader **reader, emb_err *err)
{
    const struct embi_format *format;
    struct embi_read_opts r;
    struct embi_io *io;
    emb_status status = named_format(opts, &format, err);
    if (!status)
        status = embi_io_open(&ctx->env, path, EMBI_IO_READ, &io, err);
    if (status)
        return status;
    read_opts(opts, &r);
    return embi_reader_open(&ctx->env, io, path, format, &r, reader, err);
}

static emb_status choose(const struct embi_reader *r, const char *name, size_t *tensor,
                         emb_err *err)
{
    *tensor = 0;
    if (name && !(r->format->caps & EMBI_FMT_NAMES))
        return embi_fail(err, EMB_BAD_ARG, -1, "%s files hold one table without a name: no #%s",
                         r->format->name, name);
    if (r->format->walk)
        return EMB_OK;
    emb_status status = embi_choose_tensor(r, name, tensor, err);
    return status ? status : embi_refuse_quantised(r, *tensor, err);
}

static emb_status open_target(const emb_ctx *ctx, const struct target *target,
                              const emb_open_opts *opts, emb_table **table, emb_err *err)
{
    struct embi_reader *reader;
    size_t tensor;
    emb_status status = open_reader(ctx, target->path, opts, &reader, err);
    if (status)
        return status;
    status = choose(reader, target->tensor, &tensor, err);
    if (status) {
        embi_reader_close(reader);
        return status;
    }
    status = embi_table_new(ctx, reader, tensor, EMBI_HAS(opts, limit_rows) ? opts->limit_rows : 0,
                            table, err);
    if (!status && EMBI_HAS(opts, vocab) && opts->vocab) {
        status = embi_table_use_vocab_file(*table, opts->vocab, err);
        if (status) {
            emb_table_close(*table);
            *table = NULL;
        }
    }
    return status;
}

emb_status emb_table_open(emb_ctx *ctx, const char *url, const emb_open_opts *opts,
                          emb_table **table, emb_err *err)
{
    struct target target = {0};
    emb_status status = split_url(url, EMBI_HAS(opts, tensor) ? opts->tensor : NULL, &target, err);
    if (!status)
        status = open_target(ctx, &target, opts, table, err);
    free(target.path);
    return status;
}
