/* lookup_array.c - rows as one array: npy, npz, safetensors, raw.
 *
 * The header of an array comes first, so its shape must be known: [n, D], or [B, L, D] for lists.
 * Ids are kept (8 bytes each) until it is. For a .npy list of ids that is at once; for text that
 * goes to a file, whose header can be completed later, when the second line has begun; for anything
 * that goes to a pipe, at the end of the ids. From then on rows leave as ids arrive.
 */
#include "lookup.h"
#include "report.h"

#include <inttypes.h>
#include <string.h>

struct target {
    struct lookup *l;
    const char *path; /* NULL: standard output */
    emb_writer *writer;
    struct embi_buf kept;       /* u64 [count]: rows that were read before the shape was known */
    struct embi_buf kept_lines; /* u64 [count], where sequences count */
};

static const char *name_of(const struct target *t)
{
    return t->path ? t->path : "standard output";
}

static size_t kept_count(const struct target *t)
{
    return t->kept.n / sizeof(uint64_t);
}

static bool is_raw(const struct lookup *l)
{
    return strcmp(l->format, "raw") == 0;
}

static bool is_pooled(const struct target *t)
{
    return t->l->opts->pool >= 0;
}

/* Are rows of a shape that is not wholly known yet welcome? */
static bool may_stream(const struct target *t)
{
    const struct lookup *l = t->l;
    if (l->rows.kind != ROWS_IDS || l->opts->ragged || l->opts->has_pad_id)
        return false;
    return l->rows.ids.kind == IDS_NPY || is_raw(l) || is_completed_late(t->path);
}

/* Is the shape known, but for its first number? */
static bool is_decided(const struct target *t)
{
    const struct ids *ids = &t->l->rows.ids;
    if (t->l->rows.ended)
        return true;
    if (!may_stream(t))
        return false;
    if (ids->kind != IDS_TEXT || is_raw(t->l) || is_pooled(t))
        return true;
    return ids->sequences.n > 0 && ids->sequences.first > 0 && kept_count(t) > ids->sequences.first;
}

/* Lines of several lengths make no array. */
static int check_even(const struct target *t)
{
    const struct lookup *l = t->l;
    const struct sequences *s = &l->rows.ids.sequences;
    if (l->rows.kind != ROWS_IDS || s->odd == 0 || l->opts->ragged || l->opts->has_pad_id ||
        is_pooled(t))
        return EXIT_DONE;
    return fail_with(l->run, EXIT_DATA, l->rows.ids.in.path,
                     "ids: sequence %" PRIu64 " has %" PRIu64 " ids, the first one %" PRIu64
                     ": say --pad-id N or --ragged",
                     s->odd + 1, s->odd_length, s->first);
}

/* Reads one chunk into l->ids. */
static int read_chunk(struct target *t, size_t *n)
{
    int code = rows_read(&t->l->rows, t->l->ids, t->l->lines, LOOKUP_IDS, n);
    return code ? code : check_even(t);
}

static int keep_ids(struct target *t)
{
    int code = EXIT_DONE;
    while (!code && !is_decided(t)) {
        size_t n;
        code = read_chunk(t, &n);
        if (!code)
            embi_buf_add(&t->kept, t->l->ids, n * sizeof *t->l->ids);
        if (!code && t->l->lines)
            embi_buf_add(&t->kept_lines, t->l->lines, n * sizeof *t->l->lines);
        if (t->kept.failed || t->kept_lines.failed)
            code = fail_with(t->l->run, EXIT_MEMORY, NULL, "out of memory for the ids");
    }
    return code;
}

/* ------------------------------------------------------------------------------------------------
 * Shapes
 */

static int check_pad_id(const struct target *t)
{
    const struct lookup *l = t->l;
    if (!l->opts->has_pad_id || l->opts->pad_id < l->info.rows)
        return EXIT_DONE;
    return fail_with(l->run, EXIT_DATA, NULL,
                     "--pad-id %" PRIu64 ": outside a table of %" PRIu64 " rows", l->opts->pad_id,
                     l->info.rows);
}

/* Are there short sequences, which pad_id makes as long as the longest? */
static bool is_padded(const struct target *t)
{
    return t->l->opts->has_pad_id && t->l->rows.ids.sequences.odd;
}

/* Rows of the array once all ids are known. */
static uint64_t final_count(const struct target *t)
{
    const struct sequences *s = &t->l->rows.ids.sequences;
    if (is_pooled(t))
        return t->l->rows.kind == ROWS_IDS ? s->n : kept_count(t) > 0;
    return is_padded(t) ? s->n * s->longest : kept_count(t);
}

/* One vector a sequence: a .npy list loses its last axis. */
static void set_pooled_shape(const struct target *t, emb_array *array)
{
    const struct lookup *l = t->l;
    const struct ids *ids = &l->rows.ids;
    array->ndim = 1;
    array->shape[0] = l->rows.ended ? final_count(t) : EMB_ROWS_UNKNOWN;
    if (l->rows.kind == ROWS_IDS && ids->kind == IDS_NPY) {
        array->shape[0] = 1;
        array->ndim = (int)embi_max(1, (uint64_t)ids->ndim - 1);
        if (ids->ndim > 1)
            memcpy(array->shape, ids->shape, (size_t)array->ndim * sizeof ids->shape[0]);
    }
    array->shape[array->ndim++] = l->dims;
}

/* [n, D], [B, L, D], or for a .npy list its own shape and D. */
static void set_shape(const struct target *t, emb_array *array)
{
    const struct lookup *l = t->l;
    const struct ids *ids = &l->rows.ids;
    const struct sequences *s = &ids->sequences;
    bool lists = l->rows.kind == ROWS_IDS && !l->opts->ragged && s->longest != 1 &&
                 (s->n > 1 || (s->n == 1 && !l->rows.ended));
    if (l->rows.kind == ROWS_IDS && ids->kind == IDS_NPY && !l->opts->ragged) {
        array->ndim = ids->ndim;
        memcpy(array->shape, ids->shape, (size_t)ids->ndim * sizeof ids->shape[0]);
    } else if (lists && !is_raw(l)) {
        array->ndim = 2;
        array->shape[0] = l->rows.ended ? s->n : EMB_ROWS_UNKNOWN;
        array->shape[1] = s->longest;
    } else {
        array->ndim = 1;
        array->shape[0] = l->rows.ended ? final_count(t) : EMB_ROWS_UNKNOWN;
    }
    array->shape[array->ndim++] = l->dims;
}

static int open_target(struct target *t)
{
    struct lookup *l = t->l;
    bool ragged = l->opts->ragged;
    emb_array arrays[2] = {{.name = ragged ? "values" : NULL, .dtype = l->dtype},
                           {.name = "offsets", .dtype = EMB_I64, .ndim = 1}};
    emb_write_opts opts;
    emb_err err;
    if (is_pooled(t))
        set_pooled_shape(t, &arrays[0]);
    else
        set_shape(t, &arrays[0]);
    arrays[1].shape[0] = l->rows.ids.sequences.n + 1;
    write_opts(l->run, l->format, &opts);
    if (emb_writer_open(l->run->ctx, t->path ? t->path : "-", arrays, ragged ? 2 : 1, &opts,
                        &t->writer, &err) != EMB_OK)
        return fail(l->run, name_of(t), &err);
    return EXIT_DONE;
}

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

static int put_block(struct target *t, void *data, uint64_t rows, uint32_t dims, emb_dtype dtype)
{
    emb_block block = {.data = data, .rows = rows, .dims = dims, .dtype = dtype};
    emb_err err;
    if (emb_writer_put(t->writer, &block, NULL, &err) != EMB_OK)
        return fail(t->l->run, name_of(t), &err);
    return EXIT_DONE;
}

static int put_pooled(void *arg, uint64_t line, uint64_t count, const char *vector)
{
    struct target *t = arg;
    (void)line;
    (void)count;
    return put_block(t, (char *)(uintptr_t)vector, 1, t->l->dims, t->l->dtype);
}

/* Rows as they are in the table, or converted: all threads fetch and write them. */
static int put_plain(struct target *t, const uint64_t *rows, size_t n)
{
    struct lookup *l = t->l;
    bool reading;
    emb_err err;
    if (emb_writer_put_rows(t->writer, l->table, rows, n, l->dtype, &reading, &err) != EMB_OK)
        return fail(l->run, reading ? l->run->table_name : name_of(t), &err);
    progress_add(&l->progress, n);
    return EXIT_DONE;
}

/* The same of what a model makes of them. */
static int put_input(struct target *t, const uint64_t *rows, const uint64_t *lines, size_t n)
{
    int code = EXIT_DONE;
    for (size_t at = 0; !code && at < n; at += LOOKUP_IDS) {
        size_t step = (size_t)embi_min(n - at, LOOKUP_IDS);
        code = lookup_put_input(t->l, rows + at, lines + at, step, t->writer, name_of(t));
        progress_add(&t->l->progress, step);
    }
    return code;
}

static int put_rows(struct target *t, const uint64_t *rows, const uint64_t *lines, size_t n)
{
    struct lookup *l = t->l;
    int code = EXIT_DONE;
    if (is_pooled(t))
        return lookup_pool(l, rows, lines, n, put_pooled, t);
    if (lookup_is_plain(l))
        return put_plain(t, rows, n);
    if (lookup_is_direct(l))
        return put_input(t, rows, lines, n);
    for (size_t at = 0; !code && at < n; at += l->block_rows) {
        size_t step = (size_t)embi_min(n - at, l->block_rows);
        code = lookup_ahead(l, rows, at, n);
        if (!code)
            code = lookup_fetch(l, rows + at, lines ? lines + at : NULL, step);
        if (!code)
            code = put_block(t, l->block, step, l->dims, l->dtype);
        progress_add(&l->progress, step);
    }
    return code;
}

static const uint64_t *kept_ids(const struct target *t)
{
    return (const uint64_t *)(const void *)t->kept.s;
}

static const uint64_t *kept_lines(const struct target *t)
{
    return (const uint64_t *)(const void *)t->kept_lines.s; /* NULL where nothing was kept */
}

/* What was kept as [B, longest], with pad_id behind short sequences, a chunk at a time: the padding
 * may be far more than the ids. */
static int put_padded(struct target *t)
{
    struct lookup *l = t->l;
    const struct ids *ids = &l->rows.ids;
    const uint64_t *kept = kept_ids(t);
    size_t n = 0;
    int code = EXIT_DONE;
    for (uint64_t i = 0; i < ids->sequences.n; i++) {
        uint64_t length = ids_length(ids, i);
        for (uint64_t at = 0; at < ids->sequences.longest; at++) {
            if (l->lines)
                l->lines[n] = at < length ? i : i | LINE_PADDING;
            l->ids[n++] = at < length ? *kept++ : l->opts->pad_id;
            if (n < LOOKUP_IDS)
                continue;
            code = put_rows(t, l->ids, l->lines, n);
            if (code)
                return code;
            n = 0;
        }
    }
    return put_rows(t, l->ids, l->lines, n);
}

/* The rows that were kept, then those that still come. */
static int put_all(struct target *t)
{
    emb_err err;
    size_t n;
    t->l->progress.total_rows = !t->l->rows.ended ? 0
                                : is_pooled(t)    ? kept_count(t)
                                                  : final_count(t);
    int code =
        is_padded(t) ? put_padded(t) : put_rows(t, kept_ids(t), kept_lines(t), kept_count(t));
    embi_buf_free(&t->kept);
    embi_buf_free(&t->kept_lines);
    while (!code && !t->l->rows.ended) {
        code = read_chunk(t, &n);
        if (!code)
            code = put_rows(t, t->l->ids, t->l->lines, n);
        if (!code && t->l->rows.paused && emb_writer_flush(t->writer, &err) != EMB_OK)
            code = fail(t->l->run, name_of(t), &err);
    }
    return code;
}

/* offsets [B + 1]: sequence i is values[offsets[i] .. offsets[i + 1] - 1]. */
static int put_offsets(struct target *t)
{
    const struct ids *ids = &t->l->rows.ids;
    uint64_t offset = 0;
    emb_err err;
    if (emb_writer_next(t->writer, &err) != EMB_OK)
        return fail(t->l->run, name_of(t), &err);
    int code = put_block(t, &offset, 1, 1, EMB_I64);
    for (uint64_t i = 0; !code && i < ids->sequences.n; i++) {
        offset += ids_length(ids, i);
        code = put_block(t, &offset, 1, 1, EMB_I64);
    }
    return code;
}

static int write_array(struct target *t)
{
    emb_err err;
    int code = open_target(t);
    if (!code)
        code = put_all(t);
    if (!code)
        code = lookup_end_input(t->l);
    if (!code && t->l->opts->ragged)
        code = put_offsets(t);
    if (!code && emb_writer_commit(t->writer, &err) != EMB_OK)
        code = fail(t->l->run, name_of(t), &err);
    if (!code)
        report_output(t->l->run, t->path);
    emb_writer_close(t->writer);
    return code;
}

int lookup_array(struct lookup *l)
{
    struct target t = {.l = l};
    const char *path = l->opts->common.output;
    t.path = is_stream(path) ? NULL : path;
    int code = keep_ids(&t);
    if (!code)
        code = check_pad_id(&t);
    if (!code && l->rows.code) /* nothing in an array would tell which row is missing */
        code = fail_with(l->run, l->rows.code, t.path, "not written, since rows are missing");
    if (!code)
        code = write_array(&t);
    embi_buf_free(&t.kept);
    embi_buf_free(&t.kept_lines);
    return code;
}
