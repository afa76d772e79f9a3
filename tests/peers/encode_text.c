/* encode_text.c - splits texts with the tokenizer of a model directory, for the peer tests:
 *
 *     encode_text DIR < texts
 *
 * Each text on standard input has its length before it, 4 bytes, little-endian. A line for each:
 * the ids, or `E` and why it cannot be split. Exit 3: there is no such tokenizer.
 */
#include "model/encode.h"
#include "util/base.h"

#include <stdio.h>
#include <stdlib.h>

static void print(const struct embi_encoder *e, emb_str text)
{
    struct embi_ids ids = {0};
    emb_err err = {0};
    if (embi_encode(e, text, &ids, &err))
        printf("E %s", err.msg);
    else
        for (size_t i = 0; i < ids.n; i++)
            printf("%s%u", i ? " " : "", ids.v[i]);
    putchar('\n');
    embi_ids_free(&ids);
}

static int print_all(const struct embi_encoder *e)
{
    char length[4];
    int code = 0;
    while (!code && fread(length, 1, sizeof length, stdin) == sizeof length) {
        size_t n = embi_le32(length);
        char *text = malloc(n + 1);
        if (text && fread(text, 1, n, stdin) == n)
            print(e, (emb_str){text, n});
        else
            code = 4;
        free(text);
    }
    return code;
}

int main(int argc, char **argv)
{
    static const struct embi_env env;
    struct embi_tokenizer t = {0};
    struct embi_encoder *e = NULL;
    emb_err err = {0};
    bool found = false;
    if (argc != 2)
        return 2;
    emb_status status = embi_tokenizer_open_dir(&env, argv[1], &t, &found, &err);
    if (!status)
        status = embi_encoder_open(&env, argv[1], &t, t.n, &e, &err);
    if (status)
        (void)fprintf(stderr, "%s\n", err.msg);
    int code = status ? 3 : print_all(e);
    embi_encoder_free(e);
    embi_tokenizer_free(&t);
    return code;
}
