/* shard_write.c - shards on their way into a directory, which appears with all of them.
 *
 * One file after another, each tensor in blocks of rows: rows that lie in the input as they are
 * written are not copied. By dims every file is a pass over the table.
 */
#include "ops/shard.h"

#include "io/newdir.h"
#include "model/new_model.h"
#include "model/sidecar.h"
#include "table/writer.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 1 << 20, NUMBER_BYTES = 24 };

/* One tensor on its way into one file. */
struct cutting {
    emb_shards *s;
    const struct embi_shard_source *source;
    struct embi_shard shard;
    emb_writer *writer;
    uint64_t block;   /* rows of a block */
    uint64_t part;    /* of the axis that is cut */
    size_t row_bytes; /* of the table, and of a row as it is written */
    size_t file_bytes;
    char *rows, *cut; /* [block] of these */
};

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

static emb_status put(struct cutting *c, const void *data, uint64_t n, emb_err *err)
{
    emb_dtype dtype = c->source->table->layout.dtype;
    emb_block block = {.data = (void *)data,
                       .rows = n,
                       .dims = (uint32_t)(c->file_bytes / emb_dtype_bytes(dtype)),
                       .dtype = dtype};
    return n && c->file_bytes ? emb_writer_put(c->writer, &block, NULL, err) : EMB_OK;
}

/* Do rows lie side by side in the input? */
static bool lies_ready(const emb_table *t, size_t row_bytes)
{
    return embi_table_even(t) && t->layout.row_stride == row_bytes;
}

/* Columns first .. first + count - 1 of each row, and zeros up to a part. */
static void cut_columns(const struct cutting *c, const char *rows, uint64_t n)
{
    size_t element = emb_dtype_bytes(c->source->table->layout.dtype);
    size_t bytes = (size_t)c->shard.count * element;
    for (uint64_t r = 0; r < n; r++) {
        char *to = c->cut + r * c->file_bytes;
        memcpy(to, rows + r * c->row_bytes + c->shard.first * element, bytes);
        memset(to + bytes, 0, c->file_bytes - bytes);
    }
}

/* Rows first .. first + n - 1 of the table. */
static emb_status put_rows(struct cutting *c, uint64_t first, uint64_t n, emb_err *err)
{
    const emb_table *t = c->source->table;
    const bool ready = lies_ready(t, c->row_bytes);
    emb_status status = EMB_OK;
    for (uint64_t at = 0, step; !status && at < n; at += step) {
        const char *rows = ready ? embi_table_row(t, first + at) : c->rows;
        step = embi_min(c->block, n - at);
        if (!ready)
            status = embi_fetch(t, first + at, step, t->layout.dtype, c->rows, err);
        if (!status && c->source->cut == EMBI_CUT_COLUMNS)
            cut_columns(c, rows, step);
        if (!status)
            status = put(c, c->source->cut == EMBI_CUT_COLUMNS ? c->cut : rows, step, err);
        embi_table_forget(t, first + at, step);
        if (!status && c->s->o.done)
            c->s->o.done(c->s->o.done_arg, step);
    }
    return status;
}

static emb_status put_zeros(struct cutting *c, uint64_t n, emb_err *err)
{
    emb_status status = EMB_OK;
    memset(c->rows, 0, c->block * c->row_bytes);
    for (uint64_t at = 0, step; !status && at < n; at += step) {
        step = embi_min(c->block, n - at);
        status = put(c, c->rows, step, err);
    }
    return status;
}

static emb_status put_tensor(struct cutting *c, emb_err *err)
{
    const uint64_t rows = c->source->table->layout.rows;
    emb_status status = EMB_OK;
    if (c->source->cut != EMBI_CUT_ROWS) { /* a pass over all rows for each file */
        status = embi_table_will_scan(c->source->table, err);
        return status ? status : put_rows(c, 0, rows, err);
    }
    status = put_rows(c, c->shard.first, c->shard.count, err);
    return status ? status : put_zeros(c, c->part - c->shard.count, err);
}

static emb_status write_tensor(emb_shards *s, const struct embi_shard *shard, size_t i,
                               emb_writer *writer, emb_err *err)
{
    const struct embi_shard_source *source = &s->sources[i];
    const struct embi_layout *l = &source->table->layout;
    struct cutting c = {.s = s,
                        .source = source,
                        .shard = *shard,
                        .writer = writer,
                        .part = s->plan.part,
                        .row_bytes = embi_layout_row_bytes(l)};
    uint64_t fit = BLOCK_BYTES / embi_max(c.row_bytes, 1);
    c.block = embi_max(1, embi_min(fit, EMBI_BLOCK_ROWS));
    c.file_bytes =
        source->cut == EMBI_CUT_COLUMNS ? c.part * emb_dtype_bytes(l->dtype) : c.row_bytes;
    size_t bytes = c.block * embi_max(c.row_bytes, c.file_bytes) + 1;
    c.rows = malloc(bytes);
    c.cut = malloc(bytes);
    emb_status status =
        c.rows && c.cut ? put_tensor(&c, err) : embi_fail_memory(err, bytes, "rows to write");
    free(c.rows);
    free(c.cut);
    return status ? status : emb_writer_next(writer, err);
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */

static emb_status open_writer(emb_shards *s, const struct embi_shard *shard, const char *path,
                              bool sync, emb_writer **writer, emb_err *err)
{
    const uint64_t numbers[EMBI_SHARD_KEYS] = {
        [EMBI_SHARD_RANK] = shard->rank,   [EMBI_SHARD_SIZE] = shard->size,
        [EMBI_SHARD_FIRST] = shard->first, [EMBI_SHARD_COUNT] = shard->count,
        [EMBI_SHARD_TOTAL] = shard->total,
    };
    char text[EMBI_SHARD_KEYS][NUMBER_BYTES];
    const char *metadata[2 * EMBI_SHARD_KEYS];
    for (int i = 0; i < EMBI_SHARD_KEYS; i++) {
        (void)snprintf(text[i], NUMBER_BYTES, "%" PRIu64, numbers[i]);
        metadata[2 * i] = embi_shard_key(i, shard->dims);
        metadata[2 * i + 1] = i == EMBI_SHARD_AXIS ? embi_shard_axis_name(shard->dims) : text[i];
    }
    size_t n = s->plan.n_tensors;
    emb_array *arrays = calloc(n, sizeof *arrays);
    if (!arrays)
        return embi_fail_memory(err, n * sizeof *arrays, "arrays");
    for (size_t i = 0; i < n; i++) {
        const emb_shards_tensor *t = &s->tensors[i];
        arrays[i] = (emb_array){t->name, t->dtype, t->ndim, {t->shard_shape[0], t->shard_shape[1]}};
    }
    bool tokens = shard->rank == 0 && s->save && s->save->beside.kind;
    emb_write_opts opts = {.size = sizeof opts,
                           .format = "safetensors",
                           .sync = sync ? 1 : -1,
                           .tokens_in = tokens ? s->save->beside.kind->ending : NULL,
                           .metadata = metadata,
                           .n_metadata = EMBI_SHARD_KEYS};
    emb_status status = emb_writer_open(s->ctx, path, arrays, n, &opts, writer, err);
    free(arrays);
    return status;
}

static emb_status write_shard(emb_shards *s, uint64_t rank, const char *path, bool sync,
                              emb_err *err)
{
    struct embi_shard shard = s->kind;
    emb_writer *writer;
    shard.rank = rank;
    embi_shard_place(&shard);
    emb_status status = open_writer(s, &shard, path, sync, &writer, err);
    if (status)
        return status;
    for (size_t i = 0; !status && i < s->plan.n_tensors; i++)
        status = write_tensor(s, &shard, i, writer, err);
    if (!status)
        status = emb_writer_commit(writer, err);
    emb_writer_close(writer);
    return status;
}

/* The tokens, beside the first file. */
static emb_status write_tokens(emb_shards *s, const char *first, unsigned mode, emb_err *err)
{
    char *path;
    struct embi_io *io = NULL;
    const struct embi_beside *kind = s->save ? s->save->beside.kind : NULL;
    if (!kind)
        return EMB_OK;
    emb_status status = embi_beside_path(first, kind->ending, &path, err);
    if (status)
        return status;
    status = embi_io_open(&s->ctx->env, path, mode, &io, err);
    if (!status)
        status = embi_beside_write(kind, io, s->save->tokens, s->table->layout.rows, err);
    if (!status)
        status = embi_io_commit(io, err);
    embi_io_close(io);
    free(path);
    return status ? embi_fail_in(err, "%s", kind->ending) : EMB_OK;
}

static emb_status fill(emb_shards *s, struct embi_newdir *dir, emb_err *err)
{
    char name[EMBI_SHARD_NAME_BYTES], *path;
    const unsigned mode = embi_newdir_mode(dir);
    emb_status status = EMB_OK;
    if (s->model)
        status = embi_take_small_files(&s->ctx->env, s->model->dir, true, dir, err);
    for (uint64_t k = 0; !status && k < s->kind.size; k++) {
        status = embi_path_join(embi_newdir_path(dir), embi_shard_name(name, k, s->kind.size),
                                &path, err);
        if (status)
            break;
        status = write_shard(s, k, path, mode & EMBI_IO_SYNC, err);
        if (status)
            embi_fail_in(err, "%s", name);
        else if (k == 0)
            status = write_tokens(s, path, mode, err);
        free(path);
    }
    return status;
}

/* A slip of the hand must not cost more than shards. */
static emb_status check_replaceable(const struct embi_env *env, const char *path, emb_err *err)
{
    unsigned seen;
    emb_status status = embi_dir_look(path, &seen, err);
    if (status || !seen || (embi_shards_in(env, path) && !(seen & EMBI_DIR_FOLDERS)))
        return status;
    return embi_fail(err, EMB_EXISTS, -1, "exists, and %s: --force does not replace that",
                     seen & EMBI_DIR_FOLDERS ? "there are folders in it"
                                             : "is no directory of shards");
}

emb_status emb_shards_write(emb_shards *s, const emb_write_opts *wopts, emb_err *err)
{
    struct embi_newdir *dir;
    unsigned mode = embi_write_mode(wopts);
    emb_status status =
        mode & EMBI_IO_FORCE ? check_replaceable(&s->ctx->env, s->path, err) : EMB_OK;
    if (!status)
        status = embi_newdir_open(&s->ctx->env, s->path, mode, &dir, err);
    if (status)
        return status;
    status = fill(s, dir, err);
    if (!status)
        status = embi_newdir_commit(dir, err);
    embi_newdir_close(dir);
    return status;
}
