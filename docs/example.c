/* example.c - the three rows nearest to a word, by libemb alone. It is C11 and C++17.
 *
 *     cc example.c $(pkg-config --cflags --libs emb) -o example && ./example TABLE WORD
 */
#include <emb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static emb_err err;

static void need(emb_status status)
{
    if (status != EMB_OK) {
        fprintf(stderr, "example: %s\n", err.msg);
        exit(1);
    }
}

int main(int argc, char **argv)
{
    emb_ctx *ctx;
    emb_table *table;
    emb_table_info info;
    emb_search_opts opts;
    emb_hit hits[3];
    uint64_t row;
    size_t found, one = 1;
    if (argc != 3)
        return fprintf(stderr, "usage: example TABLE WORD\n"), 2;
    emb_str word = {argv[2], strlen(argv[2])}, token;

    need(emb_ctx_new(NULL, &ctx, &err));
    need(emb_table_open(ctx, argv[1], NULL, &table, &err));
    need(emb_table_describe(table, &info, &err));
    need(emb_table_find(table, word, &row, &err));

    float *vector = (float *)calloc(info.dims, sizeof *vector); /* [1, d] */
    if (!vector)
        return perror("example"), 1;
    emb_block query = {vector, 1, info.dims, EMB_F32, 0};
    need(emb_table_gather(table, &row, 1, &query, &err));

    memset(&opts, 0, sizeof opts); /* zero is the default of every option */
    opts.size = sizeof opts;
    opts.k = 3;
    opts.exclude = &row; /* the word's own row may not answer */
    opts.exclude_ends = &one;
    need(emb_search(table, &query, &opts, hits, &found, NULL, &err));
    for (size_t i = 0; i < found; i++) {
        need(emb_table_token(table, hits[i].row, &token, &err));
        printf("%.*s %.6f\n", (int)token.n, token.s, hits[i].score);
    }
    free(vector);
    emb_table_close(table);
    emb_ctx_free(ctx);
    return 0;
}
