/* table.h - for the fuzz targets of formats: a table used in every way there is.
 *
 * What must hold: rows by scan, by id and through the map are the same bits; what has a token is found
 * by it; what is written again reads back the same (table_again.h).
 */
#ifndef FUZZ_TABLE_H
#define FUZZ_TABLE_H

#include "table_again.h"
#include "table_numbers.h"

enum {
    FUZZ_ELEMENTS = 1 << 16, /* of a table that are looked at: rows from the first on */
    FUZZ_TOKENS = 256,       /* rows whose tokens are looked up                       */
    FUZZ_TENSORS = 3         /* tensors of a file that are opened as tables           */
};

/* Gathers all rows from the last to the first and compares them with those of a scan. */
static inline void fuzz_gather(const emb_table *table, uint64_t n, uint32_t dims, emb_dtype as,
                               const char *scanned, bool good)
{
    emb_err err;
    size_t row_bytes = emb_dtype_row_bytes(as, dims);
    uint64_t *ids = malloc((n + 1) * sizeof *ids);
    char *rows = malloc(n * row_bytes + 1);
    CHECK(ids != NULL && rows != NULL);
    for (uint64_t i = 0; i < n; i++)
        ids[i] = n - 1 - i;
    emb_block dst = {.data = rows, .rows = n, .dims = dims, .dtype = as};
    CHECK(fuzz_went_well(emb_table_gather(table, ids, n, &dst, &err), &err) == good);
    for (uint64_t i = 0; good && i < n; i++)
        CHECK(memcmp(rows + i * row_bytes, scanned + ids[i] * row_bytes, row_bytes) == 0);
    free(rows);
    free(ids);
}

static inline void fuzz_map(const emb_table *table, const struct fuzz_rows *rows)
{
    emb_block view;
    size_t row_bytes = emb_dtype_row_bytes(rows->dtype, rows->dims);
    if (!emb_table_map(table, &view))
        return;
    CHECK(view.dims == rows->dims && view.dtype == rows->dtype && view.rows >= rows->n);
    for (uint64_t r = 0; r < rows->n; r++)
        CHECK(memcmp((const char *)view.data + r * view.stride_bytes, rows->stored + r * row_bytes,
                     row_bytes) == 0);
}

/* The ends of the table, and one row past it. Where a row is bad, that may be what is said. */
static inline void fuzz_ends(const emb_table *table, uint64_t rows, uint32_t dims, bool good)
{
    emb_err err;
    uint64_t ids[2] = {0, rows - 1};
    double *dst = malloc(2 * (size_t)dims * sizeof *dst);
    CHECK(dst != NULL);
    emb_block block = {.data = dst, .rows = 2, .dims = dims, .dtype = EMB_F64};
    if (rows)
        fuzz_went_well(emb_table_gather(table, ids, 2, &block, &err), &err);
    ids[0] = rows;
    CHECK(emb_table_gather(table, ids, 1, &block, &err) == EMB_RANGE && err.at == 0);
    emb_status status = emb_table_scan(table, rows, 1, EMB_F64, fuzz_block, NULL, &err);
    CHECK(status == EMB_RANGE || (!good && !fuzz_went_well(status, &err)));
    free(dst);
}

static inline void fuzz_token(const emb_table *table, uint64_t row)
{
    emb_err err;
    emb_str token, text, other;
    uint64_t found;
    if (!fuzz_went_well(emb_table_token(table, row, &token, &err), &err))
        return;
    CHECK(emb_table_find(table, token, &found, &err) == EMB_OK && found <= row);
    CHECK(emb_table_token(table, found, &other, &err) == EMB_OK && embi_str_equal(token, other));
    CHECK(emb_table_resolve(table, token, &found, &err) == EMB_OK);
    CHECK(emb_table_token(table, found, &other, &err) == EMB_OK && embi_str_equal(token, other));
    fuzz_went_well(emb_table_text(table, row, &text, &err), &err);
}

/* False where the tokens are bad. */
static inline bool fuzz_tokens(const emb_table *table, uint64_t rows,
                               const struct embi_vocab **vocab)
{
    emb_err err;
    uint64_t close[16];
    size_t n;
    emb_str word = {" The", 4};
    if (!fuzz_went_well(embi_table_vocab(table, vocab, &err), &err))
        return false;
    CHECK((*vocab)->n <= rows);
    for (uint64_t row = 0; row < embi_min(rows, FUZZ_TOKENS); row++)
        fuzz_token(table, row);
    if (rows)
        fuzz_token(table, rows - 1);
    CHECK(fuzz_went_well(emb_table_suggest(table, word, close, 16, &n, &err), &err));
    for (size_t i = 0; i < n; i++)
        CHECK(close[i] < rows);
    fuzz_went_well(emb_table_resolve(table, word, close, &err), &err);
    return true;
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */

/* Reads the first rows; false where one of them is bad. */
static inline bool fuzz_rows(const emb_table *table, const emb_table_info *info,
                             struct fuzz_rows *rows)
{
    bool good, wide_good;
    *rows = (struct fuzz_rows){.dims = info->dims, .dtype = info->dtype};
    rows->n = embi_min(info->rows, FUZZ_ELEMENTS / info->dims);
    rows->stored = fuzz_scan(table, rows->n, info->dims, info->dtype, &good);
    rows->wide = (void *)fuzz_scan(table, rows->n, info->dims, EMB_F64, &wide_good);
    CHECK(good == wide_good);
    fuzz_gather(table, rows->n, info->dims, info->dtype, rows->stored, good);
    fuzz_gather(table, rows->n, info->dims, EMB_F64, (const char *)rows->wide, good);
    if (good)
        fuzz_map(table, rows);
    return good;
}

/* Uses a table; of a part of a file also writes it again. Closes it. */
static inline void fuzz_use(const struct fuzz_file *f, emb_table *table, size_t tensor, bool write)
{
    emb_table_info info;
    emb_err err;
    if (!table)
        return;
    if (fuzz_went_well(emb_table_describe(table, &info, &err), &err)) {
        struct fuzz_rows rows;
        CHECK(emb_dtype_row_bytes(info.dtype, info.dims) > 0);
        write = write && emb_dtype_block(info.dtype) == 1; /* others are not rewritten */
        bool good = fuzz_rows(table, &info, &rows);
        fuzz_ends(table, info.rows, info.dims, good);
        if (rows.n == info.rows) {
            fuzz_stats(table, info.rows, good);
            fuzz_search(table, info.rows, info.dims);
        }
        if (fuzz_tokens(table, info.rows, &rows.vocab) && good && write && rows.n == info.rows) {
            fuzz_rewrite(f, table, tensor, &rows);
            fuzz_rewrite_less(f, table, tensor, &rows, rows.n / 2);
            fuzz_write_words(&rows);
        }
        free(rows.stored);
        free(rows.wide);
    }
    emb_table_close(table);
}

static inline int fuzz_table(const struct fuzz_file *f)
{
    struct embi_reader *reader = fuzz_reader(f);
    if (!reader)
        return 0;
    bool names = reader->format->caps & EMBI_FMT_NAMES;
    size_t n = names ? embi_min(reader->n_tensors, FUZZ_TENSORS) : 1;
    embi_reader_close(reader);
    for (size_t i = 0; i < n; i++)
        fuzz_use(f, fuzz_open(f, i), i, true);
    if (names)
        fuzz_use(f, fuzz_open_model(f), 0, false);
    return 0;
}

#endif
