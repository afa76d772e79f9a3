/* table_again.h - for the fuzz targets of formats: a table that is written again, whole or with fewer
 * rows in the file that it came from, and in the other formats that hold it, reads back the same.
 */
#ifndef FUZZ_TABLE_AGAIN_H
#define FUZZ_TABLE_AGAIN_H

#include "table_open.h"

#include "../unit/memory_target.h"
#include "fmt/rewrite.h"

#include <math.h>

/* Has the table these rows and tokens? A NaN that went through text is any NaN. */
static inline void fuzz_same(const emb_table *table, const struct fuzz_rows *rows, bool text)
{
    const struct embi_vocab *vocab;
    emb_err err;
    bool good;
    emb_dtype as = text ? EMB_F64 : rows->dtype;
    fuzz_must(embi_table_ready(table, &err), &err);
    fuzz_must(embi_table_vocab(table, &vocab, &err), &err);
    CHECK(table->layout.rows == rows->n && table->layout.dims == rows->dims);
    char *found = fuzz_scan(table, rows->n, rows->dims, as, &good);
    CHECK(good);
    if (!text)
        CHECK(memcmp(found, rows->stored, rows->n * emb_dtype_row_bytes(as, rows->dims)) == 0);
    for (size_t i = 0; text && i < rows->n * rows->dims; i++) {
        double x;
        memcpy(&x, found + i * sizeof x, sizeof x);
        CHECK(memcmp(&x, &rows->wide[i], sizeof x) == 0 || (isnan(x) && isnan(rows->wide[i])));
    }
    free(found);
    CHECK(vocab->n == rows->vocab->n);
    for (uint64_t r = 0; r < vocab->n; r++)
        CHECK(embi_str_equal(vocab->tokens[r], rows->vocab->tokens[r]));
}

static inline struct target fuzz_target(void)
{
    return (struct target){
        .io = {.scheme = &target_scheme, .env = fuzz_env(), .caps = EMBI_IO_CAN_PATCH}};
}

static inline void fuzz_read_back(const struct fuzz_file *f, size_t tensor,
                                  const struct fuzz_rows *rows, bool text)
{
    emb_table *table = fuzz_open(f, tensor);
    CHECK(table != NULL);
    fuzz_same(table, rows, text);
    emb_table_close(table);
}

static inline emb_status fuzz_write_kept(struct embi_rewrite *w, const struct fuzz_rows *rows,
                                         emb_err *err)
{
    emb_status status = embi_rewrite_begin(w, err);
    if (status == EMB_OK && rows->n)
        status = w->how->kept ? w->how->kept(w, 0, rows->n, err)
                              : embi_rewrite_put(w, rows->stored, rows->n, NULL, err);
    return status == EMB_OK ? embi_rewrite_end(w, err) : status;
}

/* What is not the table is as it was. */
static inline void fuzz_same_others(const struct fuzz_file *f, const struct fuzz_file *again,
                                    size_t tensor)
{
    struct embi_reader *old = fuzz_reader(f), *new = fuzz_reader(again);
    CHECK(new != NULL &&new->n_tensors == old->n_tensors);
    for (size_t i = 0; i < old->n_tensors; i++) {
        const struct embi_tensor *a = &old->tensors[i], *b = &new->tensors[i];
        CHECK(embi_str_equal(a->name, b->name) && a->dtype == b->dtype && a->ndim == b->ndim);
        if (i == tensor)
            continue;
        CHECK(memcmp(a->shape, b->shape, (size_t)a->ndim * sizeof *a->shape) == 0);
        CHECK(a->bytes == b->bytes && embi_inside(b->offset, b->bytes, again->size));
        CHECK(a->bytes == 0 || memcmp((const char *)f->data + a->offset,
                                      (const char *)again->data + b->offset, a->bytes) == 0);
    }
    embi_reader_close(old);
    embi_reader_close(new);
}

/* The first n rows kept, in the file that they came from. */
static inline void fuzz_rewrite(const struct fuzz_file *f, const emb_table *table, size_t tensor,
                                const struct fuzz_rows *rows)
{
    struct target target = fuzz_target();
    struct embi_rewrite w;
    emb_err err;
    emb_status status = embi_rewrite_init(&w, table->reader, tensor, &table->layout, rows->n, &err);
    w.sink.io = &target.io;
    if (status == EMB_OK)
        status = fuzz_write_kept(&w, rows, &err);
    embi_rewrite_free(&w);
    if (fuzz_went_well(status, &err)) {
        struct fuzz_file again = *f;
        again.data = target.content.s;
        again.size = target.content.n;
        again.format = table->reader->format; /* bytes that are gone may have told it */
        again.opts.raw_rows = rows->n;
        fuzz_read_back(&again, tensor, rows, false);
        if (again.format->caps & EMBI_FMT_NAMES)
            fuzz_same_others(f, &again, tensor);
    }
    embi_buf_free(&target.content);
}

/* Without the rows from n on. (Raw rows that are none are said in the same way as all.) */
static inline void fuzz_rewrite_less(const struct fuzz_file *f, const emb_table *table,
                                     size_t tensor, const struct fuzz_rows *rows, uint64_t n)
{
    struct embi_vocab vocab = *rows->vocab;
    struct fuzz_rows less = *rows;
    if (n == 0)
        return;
    vocab.n = vocab.total = embi_min(vocab.n, n);
    less.vocab = &vocab;
    less.n = n;
    fuzz_rewrite(f, table, tensor, &less);
}

static inline emb_status fuzz_put(struct embi_sink *s, const struct fuzz_rows *rows, emb_err *err)
{
    uint64_t bytes = rows->n * emb_dtype_row_bytes(rows->dtype, rows->dims);
    emb_status status = s->format->check(s, err);
    if (!status)
        status = s->format->begin ? s->format->begin(s, err) : EMB_OK;
    if (!status)
        status = s->format->put(s, rows->stored, bytes, rows->vocab->tokens, err);
    if (!status && s->format->finish)
        status = s->format->finish(s, err);
    return !status && s->format->end ? s->format->end(s, err) : status;
}

/* Rows with tokens in another format: refused, or the same when they are read back. */
static inline void fuzz_write(const struct embi_format *writer, const struct embi_format *reader,
                              const struct fuzz_rows *rows)
{
    struct target target = fuzz_target();
    emb_err err;
    emb_array array = {
        .name = "t", .dtype = rows->dtype, .ndim = 2, .shape = {rows->n, rows->dims}};
    struct embi_sink s = {.env = fuzz_env(),
                          .io = &target.io,
                          .format = writer,
                          .arrays = &array,
                          .n = 1,
                          .tokens = true};
    emb_status status = fuzz_put(&s, rows, &err);
    if (s.state)
        writer->free(s.state);
    embi_buf_free(&s.buf);
    struct fuzz_file f = {.format = reader, .data = target.content.s, .size = target.content.n};
    if (fuzz_went_well(status, &err))
        fuzz_read_back(&f, 0, rows, true);
    embi_buf_free(&target.content);
}

static inline void fuzz_write_words(const struct fuzz_rows *rows)
{
    bool exact = rows->dtype == EMB_F32 || rows->dtype == EMB_F16 || rows->dtype == EMB_BF16;
    if (!exact || !rows->n || rows->vocab->n != rows->n)
        return;
    fuzz_write(&embi_format_word2vec, &embi_format_word2vec, rows);
    fuzz_write(&embi_format_word2vec_text, &embi_format_text, rows);
    fuzz_write(&embi_format_text, &embi_format_text, rows);
}

#endif
