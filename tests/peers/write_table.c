/* write_table.c - writes a table through the library, for the peer tests:
 *
 *     write_table OUT DTYPE DIMS TOKENS < rows
 *
 * Rows are f32 on standard input, [V, DIMS]; TOKENS is a file with a token a line, or "-": none.
 * The format goes by the extension. Exit 3: refused, with the message on standard error.
 */
#include "emb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_BYTES = 1 << 24, MOST_ROWS = 1 << 16 };

static int refuse(const emb_err *err)
{
    fprintf(stderr, "%s\n", err->msg);
    return 3;
}

/* The lines of a file into tokens; what they lie in is the caller's to free. */
static char *read_tokens(const char *path, emb_str *tokens)
{
    FILE *f = fopen(path, "r");
    char *text = malloc(MOST_BYTES);
    size_t n = f && text ? fread(text, 1, MOST_BYTES, f) : 0;
    if (f)
        fclose(f);
    for (size_t at = 0, i = 0; at < n && i < MOST_ROWS; i++) {
        size_t length = strcspn(text + at, "\n");
        tokens[i] = (emb_str){text + at, length};
        at += length + 1;
    }
    return text;
}

static emb_status write_rows(emb_ctx *ctx, const char *path, const emb_array *array,
                             const emb_str *tokens, void *rows, emb_err *err)
{
    emb_writer *writer = NULL;
    emb_write_opts opts = {.size = sizeof opts, .all_tokens = tokens};
    emb_block block = {rows, array->shape[0], (uint32_t)array->shape[1], array->dtype, 0};
    emb_status status = emb_writer_open(ctx, path, array, 1, &opts, &writer, err);
    if (!status)
        status = emb_writer_put(writer, &block, NULL, err);
    if (!status)
        status = emb_writer_commit(writer, err);
    emb_writer_close(writer);
    return status;
}

int main(int argc, char **argv)
{
    static emb_str tokens[MOST_ROWS];
    emb_ctx *ctx;
    emb_err err;
    if (argc != 5 || emb_ctx_new(NULL, &ctx, &err) != EMB_OK)
        return 2;
    bool named = strcmp(argv[4], "-") != 0;
    char *text = named ? read_tokens(argv[4], tokens) : NULL;
    float *rows = malloc(MOST_BYTES);
    void *converted = malloc(2 * MOST_BYTES);
    uint64_t dims = strtoull(argv[3], NULL, 10);
    emb_array array = {.dtype = emb_dtype_parse(argv[2]), .ndim = 2, .shape = {0, dims}};
    if (!rows || !converted || dims == 0)
        return 2;
    size_t n = fread(rows, sizeof *rows, MOST_BYTES / sizeof *rows, stdin);
    array.shape[0] = n / dims;
    emb_status status = emb_convert(converted, array.dtype, rows, EMB_F32, n, NULL, &err);
    if (!status)
        status = write_rows(ctx, argv[1], &array, named ? tokens : NULL, converted, &err);
    free(text);
    free(rows);
    free(converted);
    emb_ctx_free(ctx);
    return status ? refuse(&err) : 0;
}
