/* open.c - a TABLE of any kind: from what the user typed to an open table.
 *
 * path, path#tensor (a path that exists with the # in its name wins), hf:// names, "-" for standard
 * input. A directory is a model, a file of named tensors a part of one; every other file is a
 * table.
 */
#include "model/hub.h"
#include "model/model.h"
#include "util/err.h"

#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the user typed, taken apart. */
struct target {
    char *memory;         /* a copy of the URL, cut at the # */
    char *path;           /* the same, or malloc'd */
    const char *tensor;   /* from the options, or NULL */
    const char *fragment; /* what stands behind the #, inside memory; or NULL */
};

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

static emb_status split_url(const char *url, const char *tensor, struct target *target,
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

/* The tensor that the user named. Of a zip the # names a member, and a second # or an option the
 * tensor in it. */
static const char *tensor_of(const struct target *target, const struct embi_reader *reader)
{
    bool both = target->tensor && target->fragment;
    if (reader && !both)
        return reader->fragment;
    return target->tensor ? target->tensor : target->fragment;
}

static emb_status open_reader(const emb_ctx *ctx, const struct target *target,
                              const emb_open_opts *opts, struct embi_reader **reader, emb_err *err)
{
    const struct embi_format *format;
    struct embi_read_opts r;
    struct embi_io *io;
    emb_status status = named_format(opts, &format, err);
    if (!status)
        status = embi_io_open(&ctx->env, target->path, EMBI_IO_READ, &io, err);
    if (status)
        return status;
    read_opts(opts, &r);
    r.fragment = target->fragment ? target->fragment : target->tensor;
    return embi_reader_open(&ctx->env, io, target->path, format, &r, reader, err);
}

/* Which tensor of the model is meant. */
static emb_status choose(struct embi_model *m, const char *name, bool head, emb_err *err)
{
    size_t input, found;
    int tied;
    if (name)
        return embi_choose_named(m, name, &m->table, err);
    emb_status status = embi_choose_input(m, &input, err);
    m->table = input;
    if (status || !head)
        return status;
    status = embi_choose_head(m, input, &found, err);
    if (!status && found != EMBI_NO_TENSOR)
        m->table = found;
    else if (!status && (status = embi_model_tied(m, input, found, &tied, err)) == EMB_OK &&
             tied != 1)
        status = embi_fail(err, EMB_UNSUPPORTED, -1, "--head: no output table is stored");
    return status;
}

/* Takes the model over. */
static emb_status open_model(const emb_ctx *ctx, struct embi_model *m, const char *name,
                             const emb_open_opts *opts, emb_table **table, emb_err *err)
{
    emb_status status = choose(m, name, EMBI_HAS(opts, head) && opts->head, err);
    if (status) {
        embi_model_free(m);
        return status;
    }
    status =
        embi_model_table(ctx, m, EMBI_HAS(opts, limit_rows) ? opts->limit_rows : 0, table, err);
    if (status)
        return status;
    if (!name)
        status = embi_model_map_rows(m, *table, err);
    if (!status)
        status = embi_model_give_tokens(m, *table, err);
    if (!status)
        status = embi_give_beside(*table, err);
    if (status)
        emb_table_close(*table);
    return status;
}

static emb_status open_dir(const emb_ctx *ctx, const struct target *target,
                           const emb_open_opts *opts, emb_table **table, emb_err *err)
{
    struct embi_model *m;
    struct embi_read_opts r;
    const char *format = EMBI_HAS(opts, format) ? opts->format : NULL;
    if (format && strcmp(format, "safetensors") != 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "is a directory: not read as %s", format);
    read_opts(opts, &r);
    emb_status status = embi_model_open_dir(&ctx->env, target->path, &r, &m, err);
    return status ? status : open_model(ctx, m, tensor_of(target, NULL), opts, table, err);
}

/* The formats that hold one table, without a name. */
static emb_status open_single(const emb_ctx *ctx, const char *tensor, struct embi_reader *reader,
                              const emb_open_opts *opts, emb_table **table, emb_err *err)
{
    if (tensor)
        embi_fail(err, EMB_BAD_ARG, -1, "%s files hold one table without a name: no #%s",
                  reader->format->name, tensor);
    else if (EMBI_HAS(opts, head) && opts->head)
        embi_fail(err, EMB_BAD_ARG, -1, "--head: %s files hold one table", reader->format->name);
    else
        return embi_table_new(ctx, reader, 0, EMBI_HAS(opts, limit_rows) ? opts->limit_rows : 0,
                              table, err);
    embi_reader_close(reader);
    return err->status;
}

static emb_status open_file(const emb_ctx *ctx, const struct target *target,
                            const emb_open_opts *opts, emb_table **table, emb_err *err)
{
    struct embi_reader *reader;
    struct embi_model *m;
    emb_status status = open_reader(ctx, target, opts, &reader, err);
    if (status)
        return status;
    const char *tensor = tensor_of(target, reader);
    if (!(reader->format->caps & EMBI_FMT_NAMES))
        return open_single(ctx, tensor, reader, opts, table, err);
    status = embi_model_open_file(reader, &m, err);
    return status ? status : open_model(ctx, m, tensor, opts, table, err);
}

static emb_status open_target(const emb_ctx *ctx, const struct target *target,
                              const emb_open_opts *opts, emb_table **table, emb_err *err)
{
    struct stat st;
    bool dir =
        strcmp(target->path, "-") != 0 && stat(target->path, &st) == 0 && S_ISDIR(st.st_mode);
    const char *named = tensor_of(target, NULL);
    if (named && EMBI_HAS(opts, head) && opts->head)
        return embi_fail(err, EMB_BAD_ARG, -1, "--head and the tensor %s: which one?", named);
    emb_status status =
        dir ? open_dir(ctx, target, opts, table, err) : open_file(ctx, target, opts, table, err);
    if (!status && EMBI_HAS(opts, vocab) && opts->vocab) {
        status = embi_give_vocab(*table, opts->vocab, err);
        if (status)
            emb_table_close(*table);
    }
    return status;
}

/* hf:// stands for a path in the cache. */
static emb_status find_in_cache(const emb_ctx *ctx, struct target *target, emb_err *err)
{
    char *path;
    if (!embi_hub_is_name(target->path))
        return EMB_OK;
    emb_status status = embi_hub_path(ctx->hub_cache, target->path, &path, err);
    if (status)
        return status;
    target->path = path; /* the tensor's name stays in memory */
    return EMB_OK;
}

emb_status emb_table_open(emb_ctx *ctx, const char *url, const emb_open_opts *opts,
                          emb_table **table, emb_err *err)
{
    struct target target = {0};
    emb_status status = split_url(url, EMBI_HAS(opts, tensor) ? opts->tensor : NULL, &target, err);
    if (!status)
        status = find_in_cache(ctx, &target, err);
    if (!status)
        status = open_target(ctx, &target, opts, table, err);
    if (status)
        *table = NULL; /* also where it was open for a while */
    if (target.path != target.memory)
        free(target.path);
    free(target.memory);
    return status;
}
