/* table_open.h - for the fuzz targets of formats: bytes opened as a table, and its first rows. */
#ifndef FUZZ_TABLE_OPEN_H
#define FUZZ_TABLE_OPEN_H

#include "fuzz.h"

#include "model/model.h"

struct fuzz_file {
    const void *data; /* [size] */
    size_t size;
    const struct embi_format *format; /* NULL: what the bytes say */
    const char *path;                 /* NULL: FUZZ_PATH */
    struct embi_read_opts opts;
};

static inline struct embi_reader *fuzz_reader(const struct fuzz_file *f)
{
    struct embi_reader *reader;
    emb_err err;
    const char *path = f->path ? f->path : FUZZ_PATH;
    emb_status status = embi_reader_open(fuzz_env(), fuzz_io(f->data, f->size), path, f->format,
                                         &f->opts, &reader, &err);
    return fuzz_went_well(status, &err) ? reader : NULL;
}

/* Tensor i of the file as a table, or NULL. */
static inline emb_table *fuzz_open(const struct fuzz_file *f, size_t i)
{
    emb_table *table;
    emb_err err;
    struct embi_reader *reader = fuzz_reader(f);
    emb_status status = reader ? embi_table_new(fuzz_ctx(), reader, i, 0, &table, &err) : EMB_OK;
    return reader && fuzz_went_well(status, &err) ? table : NULL;
}

/* The table that the model in the file has, or NULL. */
static inline emb_table *fuzz_open_model(const struct fuzz_file *f)
{
    struct embi_model *m;
    emb_table *table;
    emb_err err;
    struct embi_reader *reader = fuzz_reader(f);
    if (!reader || !fuzz_went_well(embi_model_open_file(reader, &m, &err), &err))
        return NULL;
    if (!fuzz_went_well(embi_choose_input(m, &m->table, &err), &err)) {
        embi_model_free(m);
        return NULL;
    }
    if (!fuzz_went_well(embi_model_table(fuzz_ctx(), m, 0, &table, &err), &err))
        return NULL;
    if (fuzz_went_well(embi_model_map_rows(m, table, &err), &err) &&
        fuzz_went_well(embi_model_give_tokens(m, table, &err), &err))
        return table;
    emb_table_close(table);
    return NULL;
}

/* ------------------------------------------------------------------------------------------------
 * Rows
 */

/* The first n rows of a table [n, dims], as they are stored and as f64, and the tokens of all rows. */
struct fuzz_rows {
    uint64_t n;
    uint32_t dims;
    emb_dtype dtype;
    char *stored;
    double *wide;
    const struct embi_vocab *vocab;
};

struct fuzz_scan {
    char *at;
    uint64_t next;
    size_t row_bytes;
};

static inline emb_status fuzz_block(void *arg, const emb_block *block, uint64_t first, emb_err *err)
{
    struct fuzz_scan *s = arg;
    (void)err;
    CHECK(first == s->next && block->rows > 0);
    for (uint64_t r = 0; r < block->rows; r++) {
        size_t stride = block->stride_bytes ? block->stride_bytes : s->row_bytes;
        memcpy(s->at, (const char *)block->data + r * stride, s->row_bytes);
        s->at += s->row_bytes;
    }
    s->next += block->rows;
    return EMB_OK;
}

/* Rows 0 .. n-1 as `as`; NULL where a row is bad. The caller frees it. */
static inline char *fuzz_scan(const emb_table *table, uint64_t n, uint32_t dims, emb_dtype as,
                              bool *good)
{
    emb_err err;
    size_t row_bytes = emb_dtype_row_bytes(as, dims);
    char *rows = malloc(n * row_bytes + 1);
    CHECK(rows != NULL);
    struct fuzz_scan scan = {rows, 0, row_bytes};
    *good = fuzz_went_well(emb_table_scan(table, 0, n, as, fuzz_block, &scan, &err), &err);
    CHECK(!*good || scan.next == n);
    return rows;
}

#endif
