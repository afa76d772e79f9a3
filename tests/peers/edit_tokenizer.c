/* edit_tokenizer.c - makes changes to the tokenizer files of a model directory, for the peer tests:
 *
 *     edit_tokenizer DIR OUT [--add T] [--special T] [--rename OLD NEW] [--role R T] [--fill]
 *
 * Files that change are written into OUT, their names to standard output. Exit 3: refused.
 */
#include "model/token_sources.h"
#include "model/tokenizer_edit.h"

#include <stdio.h>
#include <string.h>

enum { MOST = 16 };

struct request {
    struct embi_new_token add[MOST];
    struct embi_token_rename renames[MOST];
    struct embi_token_role roles[MOST];
    struct embi_tokenizer_changes changes;
};

static emb_str str(const char *s)
{
    return (emb_str){s, strlen(s)};
}

/* Takes one option from argv; the number of arguments it had. */
static int take(struct request *r, char **argv, uint64_t next_id)
{
    struct embi_tokenizer_changes *c = &r->changes;
    if (strcmp(argv[0], "--fill") == 0) {
        c->fill_gaps = true;
        return 1;
    }
    if (strcmp(argv[0], "--rename") == 0) {
        r->renames[c->n_renames++] = (struct embi_token_rename){str(argv[1]), str(argv[2]), true};
        return 3;
    }
    if (strcmp(argv[0], "--role") == 0) {
        r->roles[c->n_roles++] = (struct embi_token_role){argv[1], str(argv[2])};
        return 3;
    }
    bool special = strcmp(argv[0], "--special") == 0;
    r->add[c->n_add] = (struct embi_new_token){str(argv[1]), next_id + c->n_add, special};
    c->n_add++;
    return 2;
}

static int write_all(const struct embi_file_edits *edits, const char *out)
{
    for (size_t i = 0; i < edits->n; i++) {
        char path[4096];
        (void)snprintf(path, sizeof path, "%s/%s", out, edits->list[i].name);
        FILE *f = fopen(path, "wb");
        if (!f ||
            fwrite(edits->list[i].bytes.s, 1, edits->list[i].bytes.n, f) != edits->list[i].bytes.n)
            return 4;
        if (fclose(f) != 0)
            return 4;
        puts(edits->list[i].name);
    }
    return 0;
}

static emb_status run(const char *dir, char **options, struct embi_tokenizer *t,
                      struct embi_file_edits *edits, emb_err *err)
{
    static const struct embi_env env;
    static struct request r;
    struct embi_token_sources sources;
    bool found;
    emb_status status = embi_tokenizer_open_dir(&env, dir, t, &found, err);
    if (!status)
        status = embi_token_sources_open(&env, dir, t, &sources, err);
    if (status)
        return status;
    r.changes =
        (struct embi_tokenizer_changes){.add = r.add, .renames = r.renames, .roles = r.roles};
    while (*options)
        options += take(&r, options, sources.next_id);
    embi_token_sources_free(&sources);
    struct embi_token_fills fills = {0};
    status = embi_tokenizer_edit(&env, dir, t, &r.changes, edits, &fills, err);
    embi_token_fills_free(&fills);
    return status;
}

int main(int argc, char **argv)
{
    struct embi_tokenizer t = {0};
    struct embi_file_edits edits = {0};
    emb_err err = {0};
    if (argc < 3)
        return 2;
    int code = run(argv[1], argv + 3, &t, &edits, &err) ? 3 : write_all(&edits, argv[2]);
    if (code)
        (void)fprintf(stderr, "%s\n", err.msg);
    embi_file_edits_free(&edits);
    embi_tokenizer_free(&t);
    return code;
}
