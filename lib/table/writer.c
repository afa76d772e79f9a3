/* writer.c - arrays on their way into a file: shapes kept, formats called, all or nothing.
 *
 * What may be refused is refused before the file exists. The bytes of the file are the format's
 * business, its appearance under its name that of the io.
 */
#include "table/writer.h"
#include "fmt/sink.h"
#include "num/dtype.h"
#include "table/table.h"
#include "util/err.h"
#include "util/loop.h"

#include <inttypes.h>
#include <stdlib.h>

#define DEFAULT_NAME "embedding.weight"

struct emb_writer {
    struct embi_sink sink;
    emb_array *arrays; /* [n], names owned */
    struct embi_writer_owner owner;
    bool ended; /* all of the file is written */
};

void embi_writer_own(emb_writer *w, const struct embi_writer_owner *owner)
{
    w->owner = *owner;
}

static uint64_t product(const uint64_t *shape, int first, int end)
{
    uint64_t p = 1;
    for (int i = first; i < end; i++)
        p *= shape[i];
    return p;
}

static emb_status check_array(const emb_array *a, emb_err *err)
{
    if (a->ndim < 1 || a->ndim > 4 || emb_dtype_block(a->dtype) == 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "an array needs a type and 1 to 4 dimensions");
    uint32_t block = emb_dtype_block(a->dtype);
    if (block > 1 && (a->ndim == 1 || a->shape[a->ndim - 1] % block))
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "an array of %s needs a last axis that is a multiple of %u",
                         emb_dtype_name(a->dtype), block);
    uint64_t count = embi_dtype_block_bytes(a->dtype);
    for (int i = a->shape[0] == EMB_ROWS_UNKNOWN; i < a->ndim; i++)
        if (a->shape[i] && !embi_mul(count, a->shape[i], &count))
            return embi_fail(err, EMB_BAD_ARG, -1, "an array of that shape has no size");
    return EMB_OK;
}

static emb_status copy_arrays(emb_writer *w, const emb_array *arrays, size_t n, emb_err *err)
{
    if (w->sink.all_tokens && arrays[0].shape[0] == EMB_ROWS_UNKNOWN)
        return embi_fail(err, EMB_BAD_ARG, -1, "tokens of an unknown number of rows");
    w->arrays = calloc(n, sizeof *w->arrays);
    if (!w->arrays)
        return embi_fail_memory(err, n * sizeof *arrays, "arrays");
    for (size_t i = 0; i < n; i++) {
        emb_status status = check_array(&arrays[i], err);
        if (status)
            return status;
        w->arrays[i] = arrays[i];
        const char *unnamed =
            w->sink.format->array_name ? w->sink.format->array_name : DEFAULT_NAME;
        w->arrays[i].name = strdup(arrays[i].name ? arrays[i].name : unnamed);
        if (!w->arrays[i].name)
            return embi_fail_memory(err, sizeof *arrays, "a name");
        w->sink.n = i + 1;
    }
    w->sink.arrays = w->arrays;
    return EMB_OK;
}

static emb_status choose_format(struct embi_sink *s, const char *path, const char *name,
                                emb_err *err)
{
    s->format = name ? embi_format_by_name(name) : embi_format_by_ext(path, false);
    if (!s->format && name)
        return embi_fail(err, EMB_BAD_ARG, -1, "there is no format '%s'", name);
    if (!s->format)
        return embi_format_fail_ext(EMB_UNSUPPORTED, false, err);
    if (!(s->format->caps & EMBI_FMT_WRITE))
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s cannot be written", s->format->name);
    return EMB_OK;
}

/* Can the format hold these arrays, with these tokens? */
static emb_status check_format(const struct embi_sink *s, emb_err *err)
{
    if (s->n > 1 && !(s->format->caps & EMBI_FMT_NAMES))
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s holds one array, not %zu", s->format->name,
                         s->n);
    if ((s->header || s->separator) && !(s->format->caps & EMBI_FMT_LINES))
        return embi_fail(err, EMB_BAD_ARG, -1, "%s has no %s to choose", s->format->name,
                         s->header ? "header line" : "separator");
    return s->format->check ? s->format->check(s, err) : EMB_OK;
}

static emb_status check_counts(const struct embi_sink *s, emb_err *err)
{
    bool streams = (s->format->caps & EMBI_FMT_STREAM) && s->header <= 0;
    if (streams || (s->io->caps & EMBI_IO_CAN_PATCH))
        return EMB_OK;
    for (size_t i = 0; i < s->n; i++)
        if (s->arrays[i].shape[0] == EMB_ROWS_UNKNOWN)
            return embi_fail(err, EMB_UNSUPPORTED, -1, "%s needs the number of rows first",
                             s->format->name);
    return EMB_OK;
}

/* Bytes of the arrays whose shape is known: the least that the file will hold. Text is not
 * known. */
static uint64_t known_bytes(const struct embi_sink *s)
{
    uint64_t bytes = 0;
    for (size_t i = 0; i < s->n && !s->tokens; i++)
        if (s->arrays[i].shape[0] != EMB_ROWS_UNKNOWN)
            bytes += product(s->arrays[i].shape, 0, s->arrays[i].ndim) /
                     emb_dtype_block(s->arrays[i].dtype) *
                     embi_dtype_block_bytes(s->arrays[i].dtype);
    return bytes;
}

unsigned embi_write_mode(const emb_write_opts *opts)
{
    int sync = EMBI_HAS(opts, sync) ? opts->sync : 0;
    return EMBI_IO_WRITE | (EMBI_HAS(opts, force) && opts->force ? EMBI_IO_FORCE : 0u) |
           (sync > 0   ? EMBI_IO_SYNC
            : sync < 0 ? EMBI_IO_NO_SYNC
                       : 0u);
}

emb_status embi_writer_open_noted(emb_ctx *ctx, const char *path, const emb_array *arrays, size_t n,
                                  const emb_write_opts *opts, const struct embi_token_notes *notes,
                                  emb_writer **writer, emb_err *err)
{
    if (n == 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "a file needs an array");
    emb_writer *w = calloc(1, sizeof *w);
    if (!w)
        return embi_fail_memory(err, sizeof *w, "a writer");
    struct embi_sink *s = &w->sink;
    s->env = &ctx->env;
    s->tokens = EMBI_HAS(opts, tokens) && opts->tokens;
    s->header = EMBI_HAS(opts, header) ? opts->header : 0;
    s->separator = EMBI_HAS(opts, separator) ? opts->separator : 0;
    s->tokens_in = EMBI_HAS(opts, tokens_in) ? opts->tokens_in : NULL;
    s->n_metadata = EMBI_HAS(opts, n_metadata) ? opts->n_metadata : 0;
    s->metadata = s->n_metadata ? opts->metadata : NULL;
    s->all_tokens = EMBI_HAS(opts, all_tokens) ? opts->all_tokens : NULL;
    s->notes = s->all_tokens ? notes : NULL;
    s->tokens = s->tokens || s->all_tokens;
    emb_status status = choose_format(s, path, EMBI_HAS(opts, format) ? opts->format : NULL, err);
    if (!status)
        status = copy_arrays(w, arrays, n, err);
    if (!status)
        status = check_format(s, err);
    if (!status)
        status = embi_io_open(s->env, path, embi_write_mode(opts), &s->io, err);
    if (!status)
        status = check_counts(s, err);
    if (!status)
        status = embi_io_reserve(s->io, known_bytes(s), err);
    if (!status && s->format->begin)
        status = s->format->begin(s, err);
    if (status) {
        emb_writer_close(w);
        return status;
    }
    *writer = w;
    return EMB_OK;
}

emb_status emb_writer_open(emb_ctx *ctx, const char *path, const emb_array *arrays, size_t n,
                           const emb_write_opts *opts, emb_writer **writer, emb_err *err)
{
    return embi_writer_open_noted(ctx, path, arrays, n, opts, NULL, writer, err);
}

/* Rows with gaps between them go to the format one by one. */
static emb_status put_rows(struct embi_sink *s, const emb_block *b, const emb_str *tokens,
                           emb_err *err)
{
    size_t row_bytes = (size_t)emb_dtype_row_bytes(b->dtype, b->dims);
    if (!b->stride_bytes || b->stride_bytes == row_bytes)
        return s->format->put(s, b->data, b->rows * row_bytes, tokens, err);
    for (uint64_t r = 0; r < b->rows; r++) {
        const char *row = (const char *)b->data + r * b->stride_bytes;
        emb_status status = s->format->put(s, row, row_bytes, tokens ? tokens + r : NULL, err);
        if (status)
            return status;
    }
    return EMB_OK;
}

/* The tokens of the next rows, out of all of them; false: there are not so many. Arrays after the
 * first have none. */
static bool tokens_of(const struct embi_sink *s, const emb_block *block, const emb_str **tokens)
{
    const emb_array *a = &s->arrays[0];
    uint64_t entry = product(a->shape, 1, a->ndim), n = block->rows * block->dims;
    *tokens = NULL;
    if (s->current > 0 || entry == 0)
        return true;
    *tokens = s->all_tokens + s->elements / entry;
    return embi_inside(s->elements, n, a->shape[0] * entry);
}

/* A part of a row: for what is too large to be held as a whole row. */
static bool is_part(const struct embi_sink *s, const emb_block *block)
{
    return block->rows == 1 && !s->tokens && emb_dtype_block(block->dtype) == 1 &&
           !(s->format->caps & (EMBI_FMT_LINES | EMBI_FMT_DECIMAL));
}

/* May these rows be appended? Then they count, and *tokens are theirs. */
static emb_status take_rows(struct embi_sink *s, const emb_block *block, const emb_str **tokens,
                            emb_err *err)
{
    if (s->current >= s->n)
        return embi_fail(err, EMB_BAD_ARG, -1, "put: every array is complete");
    const emb_array *a = &s->arrays[s->current];
    uint64_t last = a->ndim > 1 ? a->shape[a->ndim - 1] : 1;
    if (block->dtype != a->dtype ||
        (block->dims != last && block->dims != product(a->shape, 1, a->ndim) && !is_part(s, block)))
        return embi_fail(err, EMB_BAD_ARG, -1, "put: expected rows of %llu %s, found %u %s",
                         (unsigned long long)last, emb_dtype_name(a->dtype), block->dims,
                         emb_dtype_name(block->dtype));
    if (s->tokens && !*tokens && !s->all_tokens)
        return embi_fail(err, EMB_BAD_ARG, -1, "put: rows without tokens");
    if (s->all_tokens && !tokens_of(s, block, tokens))
        return embi_fail(err, EMB_BAD_ARG, -1, "put: more than the %llu rows that have tokens",
                         (unsigned long long)s->arrays[0].shape[0]);
    s->elements += block->rows * block->dims;
    *tokens = s->tokens ? *tokens : NULL;
    return EMB_OK;
}

emb_status emb_writer_put(emb_writer *w, const emb_block *block, const emb_str *tokens,
                          emb_err *err)
{
    emb_status status = take_rows(&w->sink, block, &tokens, err);
    return status ? status : put_rows(&w->sink, block, tokens, err);
}

/* ------------------------------------------------------------------------------------------------
 * Rows that are made by all threads
 */

enum {
    MADE_BYTES = 256 << 10, /* of a piece: stays in a core's caches until it is written */
    BLOCK_PIECES = 8        /* that are made at a time where they have to be written in order */
};

/* Rows first .. of those that are appended, made and in one place. */
struct made {
    uint64_t first, n;
    char *rows;
};

struct making {
    struct embi_sink *sink;
    const emb_str *tokens; /* of all rows, or NULL */
    emb_make_fn *make;
    void *arg;
    emb_block rows; /* of all; data: room for what is made */
    size_t row_bytes;
    uint64_t piece;  /* rows */
    uint64_t offset; /* in the file, where rows have places */
    struct made done, next;
};

/* The rows of a piece: at `at`, or where they were found. */
static emb_status make_piece(const struct making *m, uint64_t first, uint64_t n, char *at,
                             const char **rows, emb_err *err)
{
    emb_block piece = {at, n, m->rows.dims, m->rows.dtype, 0};
    emb_status status = m->make(m->arg, first, &piece, err);
    *rows = piece.data;
    return status;
}

/* An item of the loop: a piece, which is written at its place. */
static emb_status place_piece(void *arg, size_t item, int worker, emb_err *err)
{
    const struct making *m = arg;
    uint64_t first = item * m->piece, n = embi_min(m->piece, m->rows.rows - first);
    char *at = (char *)m->rows.data + (uint64_t)worker * m->piece * m->row_bytes;
    const char *rows;
    emb_status status = make_piece(m, first, n, at, &rows, err);
    return status ? status
                  : embi_io_place(m->sink->io, rows, n * m->row_bytes,
                                  m->offset + first * m->row_bytes, err);
}

static emb_status place_all(struct making *m, struct embi_pool *pool, emb_err *err)
{
    struct embi_io *io = m->sink->io;
    m->offset = io->size;
    emb_status status = embi_io_extend(io, m->rows.rows * m->row_bytes, err);
    if (!status)
        status = embi_loop(pool, (m->rows.rows + m->piece - 1) / m->piece, place_piece, m, err);
    if (!status)
        embi_io_filled(io);
    return status;
}

/* Item 0 of the loop writes the block that is made, the others make pieces of the next. */
static emb_status put_or_make(void *arg, size_t item, int worker, emb_err *err)
{
    const struct making *m = arg;
    (void)worker;
    if (item == 0) {
        emb_block block = {m->done.rows, m->done.n, m->rows.dims, m->rows.dtype, 0};
        return block.rows
                   ? put_rows(m->sink, &block, m->tokens ? m->tokens + m->done.first : NULL, err)
                   : EMB_OK;
    }
    uint64_t begin = (item - 1) * m->piece, n = embi_min(m->piece, m->next.n - begin);
    char *at = m->next.rows + begin * m->row_bytes;
    const char *rows;
    emb_status status = make_piece(m, m->next.first + begin, n, at, &rows, err);
    if (!status && rows != at)
        memcpy(at, rows, n * m->row_bytes);
    return status;
}

/* Two blocks change places. */
static emb_status put_blocks(struct making *m, struct embi_pool *pool, emb_err *err)
{
    char *room[2] = {m->rows.data, (char *)m->rows.data + BLOCK_PIECES * m->piece * m->row_bytes};
    emb_status status = EMB_OK;
    int turn = 0;
    do {
        uint64_t first = m->done.first + m->done.n;
        m->next = (struct made){first, embi_min(m->rows.rows - first, BLOCK_PIECES * m->piece),
                                room[turn]};
        status = embi_loop(pool, 1 + (m->next.n + m->piece - 1) / m->piece, put_or_make, m, err);
        m->done = m->next;
        turn = 1 - turn;
    } while (!status && m->done.n > 0);
    return status;
}

emb_status emb_writer_put_made(emb_writer *w, const emb_block *rows, const emb_str *tokens,
                               emb_make_fn *make, void *arg, emb_err *err)
{
    struct embi_sink *s = &w->sink;
    struct making m = {.sink = s, .make = make, .arg = arg, .rows = *rows};
    emb_status status = take_rows(s, rows, &tokens, err);
    if (status)
        return status;
    m.tokens = tokens;
    m.row_bytes = (size_t)emb_dtype_row_bytes(rows->dtype, rows->dims);
    m.piece = embi_max(1, MADE_BYTES / embi_max(m.row_bytes, 1));
    bool places = s->format->put == embi_sink_put && embi_io_can_extend(s->io);
    struct embi_pool *pool = rows->rows > m.piece ? s->env->pool : NULL;
    size_t pieces = !places ? 2 * BLOCK_PIECES : pool ? (size_t)embi_pool_threads(pool) : 1;
    m.rows.data = malloc(pieces * m.piece * m.row_bytes + 1);
    if (!m.rows.data)
        return embi_fail_memory(err, pieces * m.piece * m.row_bytes, "rows");
    status = places ? place_all(&m, pool, err) : put_blocks(&m, pool, err);
    free(m.rows.data);
    return status;
}

/* The first axis of the array that ends is now known. */
static emb_status settle_shape(emb_writer *w, emb_err *err)
{
    struct embi_sink *s = &w->sink;
    emb_array *a = &w->arrays[s->current];
    uint64_t entry = product(a->shape, 1, a->ndim);
    if (a->shape[0] == EMB_ROWS_UNKNOWN && entry)
        a->shape[0] = s->elements / entry;
    uint64_t expected = a->shape[0] * entry;
    if (a->shape[0] == EMB_ROWS_UNKNOWN || s->elements != expected)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "array %s: expected %" PRIu64 " elements, found %" PRIu64, a->name,
                         expected, s->elements);
    s->elements = 0;
    return EMB_OK;
}

emb_status emb_writer_next(emb_writer *w, emb_err *err)
{
    struct embi_sink *s = &w->sink;
    if (s->current >= s->n)
        return embi_fail(err, EMB_BAD_ARG, -1, "next: every array is complete");
    emb_status status = settle_shape(w, err);
    if (!status && s->format->finish)
        status = s->format->finish(s, err);
    s->current++;
    return status;
}

emb_status emb_writer_flush(emb_writer *w, emb_err *err)
{
    return embi_io_flush(w->sink.io, err);
}

static emb_status end_file(emb_writer *w, emb_err *err)
{
    struct embi_sink *s = &w->sink;
    emb_status status = EMB_OK;
    while (!status && s->current < s->n)
        status = emb_writer_next(w, err);
    if (!status && s->format->end && !w->ended)
        status = s->format->end(s, err);
    w->ended = status == EMB_OK;
    return status;
}

emb_status embi_writer_prepare(emb_writer *w, emb_err *err)
{
    emb_status status = end_file(w, err);
    return status ? status : embi_io_prepare(w->sink.io, err);
}

emb_status emb_writer_commit(emb_writer *w, emb_err *err)
{
    emb_status status = end_file(w, err);
    if (!status)
        status = embi_io_commit(w->sink.io, err);
    return status || !w->owner.state ? status : w->owner.commit(w->owner.state, err);
}

void emb_writer_close(emb_writer *w)
{
    if (!w)
        return;
    struct embi_sink *s = &w->sink;
    if (s->state && s->format->free)
        s->format->free(s->state);
    embi_io_close(s->io);
    embi_buf_free(&s->buf);
    for (size_t i = 0; i < s->n; i++)
        free((char *)w->arrays[i].name);
    free(w->arrays);
    if (w->owner.state)
        w->owner.close(w->owner.state);
    free(w);
}

const char *emb_format_of(const char *path)
{
    const struct embi_format *format = embi_format_by_ext(path, false);
    return format ? format->name : NULL;
}
