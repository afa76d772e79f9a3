/* check_vocabularies.c - tokenizer files that hold the same tokens twice: tokenizer.json with
 * vocab.json or vocab.txt beside it. Fast tokenizers of libraries read the one, slow ones the other
 * (docs/formats/model.md, "what has to agree").
 */
#include "ops/check_model.h"

#include "util/err.h"
#include "util/map.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

/* A vocabulary file beside the tokenizer of the directory. */
struct beside {
    const char *file;
    struct embi_tokenizer t;
    const struct embi_map *json; /* of the tokens of the directory's tokenizer */
};

/* The first token that differs. */
struct difference {
    uint64_t n, id;
    uint64_t other; /* the id that tokenizer.json gives the token; EMBI_MAP_NONE: it gives the id to
                       another token */
};

/* Does tokenizer.json have that token elsewhere, or another one there? A token that it does not
 * have at all is no contradiction, and one that stands at two lines has two ids. */
static bool differs(const struct embi_checking *c, const struct beside *b, uint64_t id,
                    uint64_t *other)
{
    emb_str token = b->t.tokens[id];
    emb_str there = id < c->tokenizer.n ? c->tokenizer.tokens[id] : (emb_str){0};
    if (token.n == 0 || (there.s && embi_str_equal(there, token)))
        return false;
    *other = embi_map_find(b->json, token);
    if (*other == EMBI_MAP_NONE)
        return there.n > 0;
    return *other >= b->t.n || !b->t.tokens[*other].s ||
           !embi_str_equal(b->t.tokens[*other], token);
}

static void say(struct embi_checking *c, const struct beside *b, const struct difference *d)
{
    char token[EMBI_SHOW_MAX], there[EMBI_SHOW_MAX], more[48] = "";
    embi_show(token, b->t.tokens[d->id]);
    if (d->n > 1)
        (void)snprintf(more, sizeof more, ", and %" PRIu64 " more differ", d->n - 1);
    if (d->other == EMBI_MAP_NONE)
        embi_check_say(c, "tokenizer", NULL,
                       "id %" PRIu64 " is '%s' in %s and '%s' in tokenizer.json%s", d->id, token,
                       b->file, embi_show(there, c->tokenizer.tokens[d->id]), more);
    else
        embi_check_say(c, "tokenizer", NULL,
                       "'%s' has the id %" PRIu64 " in %s and %" PRIu64 " in tokenizer.json%s",
                       token, d->id, b->file, d->other, more);
}

static void compare(struct embi_checking *c, const struct beside *b)
{
    struct difference first = {0};
    uint64_t other;
    for (uint64_t id = 0; id < b->t.n; id++)
        if (b->t.tokens[id].s && differs(c, b, id, &other) && first.n++ == 0) {
            first.id = id;
            first.other = other;
        }
    if (first.n)
        say(c, b, &first);
}

static emb_status check_file(struct embi_checking *c, const char *file,
                             enum embi_tokenizer_kind kind, const struct embi_map *json,
                             emb_err *err)
{
    struct beside b = {.file = file, .json = json};
    char *path;
    emb_status status = embi_path_join(c->model->dir, file, &path, err);
    if (status)
        return status;
    status = embi_refuse_fifo(path, err);
    if (!status)
        status = embi_tokenizer_open_kind(c->env, path, kind, &b.t, err);
    if (!status)
        compare(c, &b);
    embi_tokenizer_free(&b.t);
    free(path);
    if (status != EMB_BAD_DATA && status != EMB_UNSUPPORTED)
        return status ? embi_fail_in(err, "%s", file) : EMB_OK;
    embi_check_say(c, "tokenizer", NULL, "%s: %s", file, err->msg);
    return EMB_OK;
}

emb_status embi_check_vocabularies(struct embi_checking *c, emb_err *err)
{
    static const struct {
        const char *file;
        enum embi_tokenizer_kind kind;
    } files[] = {{"vocab.json", EMBI_TOKENIZER_VOCAB_JSON}, {"vocab.txt", EMBI_TOKENIZER_LINES}};
    struct embi_map json = {0};
    emb_status status = EMB_OK;
    bool built = false;
    if (!embi_sidecar_exists(c->env, c->model->dir, "tokenizer.json"))
        return EMB_OK;
    for (size_t i = 0; !status && i < EMBI_LEN(files); i++) {
        if (!embi_sidecar_exists(c->env, c->model->dir, files[i].file))
            continue;
        if (!built)
            status = embi_map_build(&json, c->tokenizer.tokens, c->tokenizer.n, err);
        built = true;
        if (!status)
            status = check_file(c, files[i].file, files[i].kind, &json, err);
    }
    embi_map_free(&json);
    return status;
}
