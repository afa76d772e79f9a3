/* open.c - a TABLE of any kind: from what the user typed to an open table.
 *
 * A directory is a model, a file of named tensors a part of one; every other file is a table.
 */
#include "model/target.h"
#include "util/err.h"

/* The output table, where it is not the tensor m->table already. */
static emb_status choose_output(struct embi_model *m, emb_err *err)
{
    size_t found;
    int tied;
    emb_status status = embi_choose_head(m, m->table, &found, err);
    if (status || found != EMBI_NO_TENSOR) {
        m->table = found;
        return status;
    }
    status = embi_model_tied(m, m->table, found, &tied, err);
    if (status || tied == 1 || (tied < 0 && m->output))
        return status;
    return embi_fail(err, EMB_UNSUPPORTED, -1, "%sno output table is stored",
                     m->output ? "" : "--head: ");
}

/* Which tensor of the model is meant. */
static emb_status choose(struct embi_model *m, const char *name, const emb_open_opts *opts,
                         emb_err *err)
{
    bool head = EMBI_HAS(opts, head) && opts->head;
    if (name)
        return embi_choose_named(m, name, &m->table, err);
    m->output = EMBI_HAS(opts, output) && opts->output;
    emb_status status = embi_choose_input(m, &m->table, err);
    return status || (!head && !m->output) ? status : choose_output(m, err);
}

static bool is_named(const emb_open_opts *opts)
{
    return EMBI_HAS(opts, format) && opts->format;
}

/* Takes the model over. */
static emb_status open_model(const emb_ctx *ctx, struct embi_model *m, const char *name,
                             const emb_open_opts *opts, emb_table **table, emb_err *err)
{
    emb_status status = choose(m, name, opts, err);
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
        status = embi_give_beside(*table, is_named(opts), err);
    if (status)
        emb_table_close(*table);
    return status;
}

static emb_status open_dir(const emb_ctx *ctx, const struct embi_target *target,
                           const emb_open_opts *opts, emb_table **table, emb_err *err)
{
    struct embi_model *m;
    emb_status status = embi_target_model(ctx, target, opts, &m, err);
    return status ? status : open_model(ctx, m, embi_target_tensor(target, NULL), opts, table, err);
}

static emb_status new_single(const emb_ctx *ctx, struct embi_reader *reader,
                             const emb_open_opts *opts, emb_table **table, emb_err *err)
{
    emb_status status = embi_table_new(
        ctx, reader, 0, EMBI_HAS(opts, limit_rows) ? opts->limit_rows : 0, table, err);
    if (status)
        return status;
    status = embi_give_beside(*table, is_named(opts), err);
    if (status)
        emb_table_close(*table);
    return status;
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
        return new_single(ctx, reader, opts, table, err);
    embi_reader_close(reader);
    return err->status;
}

static emb_status open_file(const emb_ctx *ctx, const struct embi_target *target,
                            const emb_open_opts *opts, emb_table **table, emb_err *err)
{
    struct embi_reader *reader;
    struct embi_model *m;
    emb_status status = embi_target_reader(ctx, target, target->path, opts, &reader, err);
    if (status)
        return status;
    const char *tensor = embi_target_tensor(target, reader);
    if (!(reader->format->caps & EMBI_FMT_NAMES))
        return open_single(ctx, tensor, reader, opts, table, err);
    status = embi_model_open_file(reader, &m, err);
    return status ? status : open_model(ctx, m, tensor, opts, table, err);
}

static emb_status open_target(const emb_ctx *ctx, const struct embi_target *target,
                              const emb_open_opts *opts, emb_table **table, emb_err *err)
{
    const char *named = embi_target_tensor(target, NULL);
    if (named && EMBI_HAS(opts, head) && opts->head)
        return embi_fail(err, EMB_BAD_ARG, -1, "--head and the tensor %s: which one?", named);
    emb_status status = embi_target_is_dir(ctx, target) ? open_dir(ctx, target, opts, table, err)
                                                        : open_file(ctx, target, opts, table, err);
    if (!status && EMBI_HAS(opts, vocab) && opts->vocab) {
        status = embi_give_vocab(*table, opts->vocab, err);
        if (status)
            emb_table_close(*table);
    }
    return status;
}

emb_status emb_table_open(emb_ctx *ctx, const char *url, const emb_open_opts *opts,
                          emb_table **table, emb_err *err)
{
    struct embi_target target;
    emb_status status = embi_target_open(ctx, url, opts, &target, err);
    if (!status)
        status = open_target(ctx, &target, opts, table, err);
    if (status)
        *table = NULL; /* also where it was open for a while */
    embi_target_free(&target);
    return status;
}
