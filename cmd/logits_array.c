/* logits_array.c - all logits as an array [..., V], tile by tile: many hidden states with all rows
 * at once, or, of a vocabulary that is larger than a tile, one with a part of them after another.
 */
#include "logits.h"
#include "report.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { TILE_BYTES = 128 << 20, MOST_STATES = 512, VECTOR_BYTES = 16 << 20, AXES_MAX = 4 };

struct tiles {
    struct logits_run *l;
    emb_writer *writer;
    emb_dtype dtype;
    size_t states;    /* hidden states of a tile */
    uint64_t columns; /* rows of the table in it */
    double *vectors;  /* [states, d] */
    float *x;         /* [states, columns] */
    void *made;       /* the same in another type, or NULL */
    uint64_t overflows;
};

static int no_memory(struct tiles *t)
{
    return fail_with(t->l->run, EXIT_MEMORY, NULL, "out of memory for logits");
}

static int make_room(struct tiles *t)
{
    struct logits_run *l = t->l;
    uint64_t most = TILE_BYTES / sizeof *t->x, vectors;
    t->columns = embi_max(embi_min(l->info.rows, most), 1);
    if (!embi_mul(embi_max(l->info.dims, 1), sizeof *t->vectors, &vectors))
        return no_memory(t);
    uint64_t fit = embi_min(most / t->columns, VECTOR_BYTES / vectors);
    fit = embi_min(embi_min(fit, MOST_STATES), l->hidden_info.rows);
    t->states = t->columns < l->info.rows ? 1 : (size_t)embi_max(fit, 1);
    size_t n = t->states * t->columns;
    t->vectors = malloc(t->states * vectors);
    t->x = malloc(n * sizeof *t->x);
    t->made = t->dtype == EMB_F32 ? NULL : malloc(n * emb_dtype_bytes(t->dtype));
    return t->vectors && t->x && (t->made || t->dtype == EMB_F32) ? EXIT_DONE : no_memory(t);
}

/* ------------------------------------------------------------------------------------------------
 * The output
 */

/* The shape of the hidden states, with V in the place of d. */
static int open_writer(struct tiles *t)
{
    struct logits_run *l = t->l;
    const char *path = l->run->common->output;
    emb_array array = {.name = l->opts->name ? l->opts->name : "logits",
                       .dtype = t->dtype,
                       .ndim = l->hidden_info.ndim};
    emb_write_opts opts;
    emb_err err;
    if (array.ndim > AXES_MAX)
        return fail_with(l->run, EXIT_DATA, l->hidden_path,
                         "%d axes: an array that is written has 1 to %d", array.ndim, AXES_MAX);
    memcpy(array.shape, l->hidden_info.shape, (size_t)array.ndim * sizeof array.shape[0]);
    array.shape[array.ndim - 1] = l->info.rows;
    write_opts(l->run, l->format, &opts);
    if (emb_writer_open(l->run->ctx, path ? path : "-", &array, 1, &opts, &t->writer, &err) !=
        EMB_OK)
        return fail(l->run, path, &err);
    return EXIT_DONE;
}

static int put(struct tiles *t, size_t n, uint64_t columns)
{
    struct run *run = t->l->run;
    emb_block block = {t->x, n, (uint32_t)columns, t->dtype, 0};
    emb_err err;
    if (t->made) {
        block.data = t->made;
        if (emb_convert(t->made, t->dtype, t->x, EMB_F32, n * columns, &t->overflows, &err) !=
            EMB_OK)
            return fail(run, NULL, &err);
    }
    return emb_writer_put(t->writer, &block, NULL, &err) == EMB_OK
               ? EXIT_DONE
               : fail(run, run->common->output, &err);
}

/* ------------------------------------------------------------------------------------------------
 * Tiles
 */

/* Hidden states first .. first+n-1 with all rows. */
static int whole_rows(struct tiles *t, uint64_t first, size_t n)
{
    struct logits_run *l = t->l;
    emb_block h = {t->vectors, n, l->info.dims, EMB_F64, 0};
    emb_block rows = {t->x, n, (uint32_t)t->columns, EMB_F32, 0};
    emb_err err;
    emb_status status =
        emb_logits_rows(l->logits, &h, 0, l->info.rows, NULL, t->x, t->columns, &err);
    if (!status && l->opts->softmax)
        status = emb_logits_softmax(l->logits, &rows, &err);
    return status ? logits_failed(l, first, &err) : put(t, n, l->info.rows);
}

/* One hidden state with one part of the rows after another. */
static int row_in_parts(struct tiles *t, uint64_t first)
{
    struct logits_run *l = t->l;
    emb_block h = {t->vectors, 1, l->info.dims, EMB_F64, 0};
    double log_sum = 0;
    emb_err err;
    int code = EXIT_DONE;
    if (l->opts->softmax && emb_logits_log_sums(l->logits, &h, &log_sum, &err) != EMB_OK)
        return logits_failed(l, first, &err);
    for (uint64_t at = 0; !code && at < l->info.rows; at += t->columns) {
        uint64_t n = embi_min(t->columns, l->info.rows - at);
        if (emb_logits_rows(l->logits, &h, at, n, l->opts->softmax ? &log_sum : NULL, t->x, n,
                            &err) != EMB_OK)
            code = logits_failed(l, first, &err);
        if (!code)
            code = put(t, 1, n);
    }
    return code;
}

static int write_all(struct tiles *t)
{
    struct logits_run *l = t->l;
    uint64_t rows = l->hidden_info.rows;
    int code = EXIT_DONE;
    for (uint64_t first = 0; !code && first < rows; first += t->states) {
        size_t n = (size_t)embi_min(t->states, rows - first);
        code = logits_hidden(l, first, n, t->vectors);
        if (!code)
            code = t->columns < l->info.rows ? row_in_parts(t, first) : whole_rows(t, first, n);
        progress_add(&l->progress, n);
    }
    return code;
}

int logits_array(struct logits_run *l)
{
    struct tiles t = {.l = l, .dtype = l->run->common->dtype};
    const char *path = l->run->common->output;
    emb_err err;
    t.dtype = t.dtype ? t.dtype : EMB_F32;
    int code = open_writer(&t);
    if (!code)
        code = make_room(&t);
    progress_begin(&l->progress, l->run, l->hidden_info.rows, l->info.rows * sizeof *t.x);
    if (!code)
        code = write_all(&t);
    progress_end(&l->progress);
    if (!code && emb_writer_commit(t.writer, &err) != EMB_OK)
        code = fail(l->run, path, &err);
    emb_writer_close(t.writer);
    if (!code)
        report_output(l->run, path);
    if (!code && t.overflows)
        warn(l->run, NULL, "%" PRIu64 " numbers do not fit %s", t.overflows,
             emb_dtype_name(t.dtype));
    free(t.vectors);
    free(t.x);
    free(t.made);
    return code;
}
