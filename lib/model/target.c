/* target.c - see target.h. */
#include "model/target.h"

#include "io/place.h"
#include "model/hub.h"
#include "model/web_dir.h"
#include "util/err.h"

#include <stdlib.h>
#include <unistd.h>

/* ------------------------------------------------------------------------------------------------
 * What was typed
 */

/* The # that parts a path from what stands behind it: the last one with a file before it, else the
 * last. */
static char *find_hash(char *url)
{
    char *last = strrchr(url, '#'), *found = NULL;
    for (char *hash = last; hash && !found; hash = memrchr(url, '#', (size_t)(hash - url))) {
        *hash = 0;
        if (access(url, F_OK) == 0)
            found = hash;
        *hash = '#';
    }
    return found ? found : last;
}

static emb_status split_url(const char *url, const char *tensor, struct embi_target *target,
                            emb_err *err)
{
    target->path = target->memory = strdup(url);
    if (!target->memory)
        return embi_fail_memory(err, strlen(url), "a path");
    target->tensor = tensor;
    char *hash = access(url, F_OK) == 0 ? NULL : find_hash(target->path);
    if (!hash)
        return EMB_OK;
    *hash = 0;
    target->fragment = hash + 1;
    return EMB_OK;
}

/* hf:// stands for a path in the cache, an address with a slash at its end for a directory. */
static emb_status find_place(const emb_ctx *ctx, struct embi_target *target, emb_err *err)
{
    char *path;
    if (!emb_is_hub_name(target->path))
        return embi_web_dir_open(&ctx->env, target->path, err);
    emb_status status = embi_hub_open(&ctx->env, target->path, &path, err);
    if (status)
        return status;
    target->path = path; /* the tensor's name stays in memory */
    return EMB_OK;
}

emb_status embi_target_open(const emb_ctx *ctx, const char *url, const emb_open_opts *opts,
                            struct embi_target *target, emb_err *err)
{
    *target = (struct embi_target){0};
    emb_status status = split_url(url, EMBI_HAS(opts, tensor) ? opts->tensor : NULL, target, err);
    return status ? status : find_place(ctx, target, err);
}

void embi_target_free(struct embi_target *target)
{
    if (target->path != target->memory)
        free(target->path);
    free(target->memory);
}

bool embi_target_is_dir(const emb_ctx *ctx, const struct embi_target *target)
{
    return strcmp(target->path, "-") != 0 && embi_path_is_dir(&ctx->env, target->path);
}

/* ------------------------------------------------------------------------------------------------
 * What is there
 */

static void read_opts(const struct embi_target *target, const emb_open_opts *o,
                      struct embi_read_opts *r)
{
    *r = (struct embi_read_opts){
        .input_dtype = EMBI_HAS(o, input_dtype) ? o->input_dtype : EMB_DTYPE_NONE,
        .raw_rows = EMBI_HAS(o, raw_rows) ? o->raw_rows : 0,
        .raw_dims = EMBI_HAS(o, raw_dims) ? o->raw_dims : 0,
        .raw_offset = EMBI_HAS(o, raw_offset) ? o->raw_offset : 0,
        .limit_rows = EMBI_HAS(o, limit_rows) ? o->limit_rows : 0,
        .strict = EMBI_HAS(o, strict) && o->strict,
        .listing = target->listing,
        .flat = EMBI_HAS(o, flat) && o->flat,
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

emb_status embi_target_model(const emb_ctx *ctx, const struct embi_target *target,
                             const emb_open_opts *opts, struct embi_model **model, emb_err *err)
{
    struct embi_read_opts r;
    const char *format = EMBI_HAS(opts, format) ? opts->format : NULL;
    if (format && strcmp(format, "safetensors") != 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "is a directory: not read as %s", format);
    read_opts(target, opts, &r);
    return embi_model_open_dir(&ctx->env, target->path, &r, model, err);
}

const char *embi_target_tensor(const struct embi_target *target, const struct embi_reader *reader)
{
    bool both = target->tensor && target->fragment;
    if (reader && !both)
        return reader->fragment;
    return target->tensor ? target->tensor : target->fragment;
}

emb_status embi_target_reader(const emb_ctx *ctx, const struct embi_target *target,
                              const char *path, const emb_open_opts *opts,
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
    read_opts(target, opts, &r);
    if (path == target->path)
        r.fragment = target->fragment ? target->fragment : target->tensor;
    return embi_reader_open(&ctx->env, io, path, format, &r, reader, err);
}
