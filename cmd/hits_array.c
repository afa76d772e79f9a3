/* hits_array.c - hits as two arrays: ids [Q, k] i64, and scores [Q, k] f64; -1 and NaN where a
 * query has fewer hits.
 *
 * In a file the arrays lie one after the other: scores wait in memory while ids are written. Ids
 * wait too where Q is not known and the target cannot be completed later (a pipe).
 */
#include "report.h"
#include "similar.h"

#include <math.h>
#include <string.h>

static const char *path_of(const struct hits *h)
{
    const char *path = h->s->opts->common.output;
    return is_stream(path) ? NULL : path;
}

static int failed(struct hits *h, const emb_err *err)
{
    return fail(h->s->run, path_of(h) ? path_of(h) : "standard output", err);
}

static int open_writer(struct hits *h, uint64_t queries)
{
    emb_array arrays[2] = {
        {.name = "ids", .dtype = EMB_I64, .ndim = 2, .shape = {queries, h->k}},
        {.name = "scores", .dtype = EMB_F64, .ndim = 2, .shape = {queries, h->k}}};
    emb_write_opts opts;
    emb_err err;
    write_opts(h->s->run, h->s->format, &opts);
    if (emb_writer_open(h->s->run->ctx, path_of(h) ? path_of(h) : "-", arrays, 2, &opts, &h->writer,
                        &err) != EMB_OK)
        return failed(h, &err);
    return EXIT_DONE;
}

int arrays_open(struct hits *h)
{
    uint64_t total = h->s->queries.total;
    bool known = total != EMB_ROWS_UNKNOWN || is_completed_late(path_of(h));
    return known ? open_writer(h, total) : EXIT_DONE;
}

/* All of `from`, rows of k elements, goes out. */
static int put(struct hits *h, struct embi_buf *from, emb_dtype dtype)
{
    size_t row_bytes = h->k * emb_dtype_bytes(dtype);
    emb_block block = {.data = from->s,
                       .rows = row_bytes ? from->n / row_bytes : h->queries,
                       .dims = (uint32_t)h->k,
                       .dtype = dtype};
    emb_err err;
    if (from->failed)
        return fail_with(h->s->run, EXIT_MEMORY, NULL, "out of memory for the hits");
    if (emb_writer_put(h->writer, &block, NULL, &err) != EMB_OK)
        return failed(h, &err);
    from->n = 0;
    return EXIT_DONE;
}

int arrays_put(struct hits *h, const emb_hit *hits, size_t n)
{
    for (size_t i = 0; i < h->k; i++) {
        int64_t id = i < n ? (int64_t)hits[i].row : -1;
        double score = i < n ? hits[i].score : (double)NAN;
        embi_buf_add(&h->ids, &id, sizeof id);
        embi_buf_add(&h->scores, &score, sizeof score);
    }
    h->queries++;
    return h->writer ? put(h, &h->ids, EMB_I64) : EXIT_DONE;
}

static int complete(struct hits *h)
{
    emb_err err;
    int code = EXIT_DONE;
    if (!h->writer) {
        code = open_writer(h, h->queries);
        if (!code)
            code = put(h, &h->ids, EMB_I64);
    }
    if (!code && emb_writer_next(h->writer, &err) != EMB_OK)
        code = failed(h, &err);
    if (!code)
        code = put(h, &h->scores, EMB_F64);
    if (!code && emb_writer_commit(h->writer, &err) != EMB_OK)
        code = failed(h, &err);
    if (!code)
        report_output(h->s->run, path_of(h));
    return code;
}

int arrays_close(struct hits *h, int code)
{
    if (code <= EXIT_NO)
        code = worse(code, complete(h));
    emb_writer_close(h->writer);
    embi_buf_free(&h->ids);
    embi_buf_free(&h->scores);
    return code;
}
