/* tokenizer_edit.c - see tokenizer_edit.h: what is checked before anything is edited, and the order
 * of the edits: tokens are added, then renamed, then given roles.
 */
#include "model/tokenizer_change.h"

#include "util/err.h"
#include "util/utf8.h"

#include <inttypes.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------
 * Helpers of the parts
 */

emb_status embi_change_open(const struct embi_tokenizer_change *c, const char *name,
                            struct embi_text_edit *text, emb_err *err)
{
    return embi_text_edit_open(text, c->env, c->dir, name, c->edits, err);
}

emb_status embi_change_container(const struct embi_tokenizer_change *c, struct embi_text_edit *text,
                                 const char *key, const char *json, struct embi_json_value *v,
                                 emb_err *err)
{
    struct embi_json_append a;
    struct embi_json_value root;
    emb_status status = embi_json_member_of(text->json.s, text->json.n, key, v, err);
    if (status)
        return embi_fail_in(err, "%s", text->name);
    if (v->kind != 0 && v->kind != EMBI_JSON_NULL)
        return EMB_OK;
    if (v->kind == EMBI_JSON_NULL) {
        embi_json_edit_replace(&text->json, v, json, strlen(json));
    } else {
        status = embi_text_edit_root(text, &root, err);
        if (status)
            return status;
        embi_json_append_begin(&a, &text->json, &root);
        embi_json_append_key(&a, (emb_str){key, strlen(key)});
        embi_buf_text(a.out, json);
        embi_json_append_end(&a);
    }
    status = embi_text_edit_keep(text, c->edits, err);
    return status ? status : embi_json_member_of(text->json.s, text->json.n, key, v, err);
}

/* ------------------------------------------------------------------------------------------------
 * Checks
 */

static bool is_utf8(emb_str s)
{
    uint32_t cp;
    while (s.n > 0) {
        int n = embi_utf8_decode(s.s, s.n, &cp);
        if (n <= 0)
            return false;
        s.s += n;
        s.n -= (size_t)n;
    }
    return true;
}

/* Can a token have this text? */
static emb_status check_text(const struct embi_tokenizer_change *c, emb_str text, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    if (text.n == 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "a token needs a text: found an empty one");
    if (!is_utf8(text))
        return embi_fail(err, EMB_BAD_ARG, -1, "'%s' is not UTF-8: no tokenizer file can hold it",
                         embi_show(shown, text));
    uint64_t id = embi_token_sources_find(&c->sources, text);
    if (id != EMBI_MAP_NONE)
        return embi_fail(err, EMB_BAD_ARG, -1, "'%s' is there already, with the id %" PRIu64,
                         embi_show(shown, text), id);
    return EMB_OK;
}

static emb_status check_add(const struct embi_tokenizer_change *c, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < c->changes->n_add; i++) {
        const struct embi_new_token *token = &c->changes->add[i];
        status = check_text(c, token->text, err);
        if (!status && token->id != c->sources.next_id + i)
            status = embi_fail(err, EMB_BUG, (int64_t)i,
                               "'%s' was to have the id %" PRIu64 ", the next one is %" PRIu64,
                               embi_show(shown, token->text), token->id, c->sources.next_id + i);
    }
    return status;
}

/* New tokens can only be appended where loaders and files agree on the ids of the old ones. */
static emb_status check_gap(const struct embi_tokenizer_change *c, emb_err *err)
{
    const struct embi_token_sources *s = &c->sources;
    if (!s->gap[0])
        return EMB_OK;
    if (s->unfillable)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s; that cannot be filled", s->gap);
    if (!c->changes->fill_gaps)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s; --force fills that", s->gap);
    return EMB_OK;
}

/* Without new tokens a gap is filled where it can be, and nothing else is asked of the files. */
static bool adds_nothing(const struct embi_tokenizer_change *c)
{
    const struct embi_token_sources *s = &c->sources;
    return c->changes->n_add == 0 && (!c->changes->fill_gaps || !s->gap[0] || s->unfillable);
}

static emb_status check_kind(const struct embi_tokenizer_change *c, const struct embi_tokenizer *t,
                             emb_err *err)
{
    bool ranks = t->kind == EMBI_TOKENIZER_TIKTOKEN || t->kind == EMBI_TOKENIZER_TEKKEN;
    if (t->kind == EMBI_TOKENIZER_NONE)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "there is no tokenizer file");
    if (!ranks || c->sources.lists[EMBI_TOKENS_OF_CONFIG].found)
        return EMB_OK;
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "the tokenizer is %s alone, whose tokens are fixed: expected a tokenizer.json",
                     t->kind == EMBI_TOKENIZER_TEKKEN ? "tekken.json" : "a tiktoken file");
}

/* ------------------------------------------------------------------------------------------------
 * What is to be added
 */

static emb_status name_filler(struct embi_tokenizer_change *c, struct embi_token_fill *fill,
                              emb_err *err)
{
    size_t before = c->names.n;
    embi_buf_print(&c->names, "<|filler_%" PRIu64 "|>", fill->id); /* there is room: see below */
    fill->text = (emb_str){c->names.s + before, c->names.n - before};
    fill->flags = EMBI_TOKEN_SPECIAL;
    return check_text(c, fill->text, err);
}

enum { FILLER_MAX = sizeof "<|filler_18446744073709551615|>" };

/* Gaps that were found, with texts, then the new tokens. */
static emb_status list_additions(struct embi_tokenizer_change *c, emb_err *err)
{
    const struct embi_token_sources *s = &c->sources;
    size_t n_fills = s->gap[0] && c->changes->fill_gaps ? s->n_fills : 0;
    emb_status status = EMB_OK;
    unsigned files = 0;
    c->add = calloc(n_fills + c->changes->n_add + 1, sizeof *c->add);
    if (!c->add || !embi_buf_room(&c->names, (n_fills + 1) * FILLER_MAX))
        return embi_fail_memory(err, n_fills * sizeof *c->add, "new tokens");
    for (size_t f = 0; f < EMBI_TOKEN_FILES; f++)
        if (s->lists[f].found || (f == EMBI_TOKENS_OF_JSON && s->json))
            files |= EMBI_TOKENS_BIT(f);
    for (size_t i = 0; !status && i < n_fills; i++) {
        c->add[c->n_add] = s->fills[i];
        if (!s->fills[i].text.s)
            status = name_filler(c, &c->add[c->n_add], err);
        c->n_add++;
    }
    if (!status && n_fills)
        embi_log(c->env, EMB_LOG_WARNING, c->dir,
                 "%s: that is filled, and tokens may move for those who loaded them otherwise",
                 s->gap);
    for (size_t i = 0; i < c->changes->n_add; i++) {
        const struct embi_new_token *token = &c->changes->add[i];
        c->add[c->n_add++] = (struct embi_token_fill){
            .id = token->id,
            .text = token->text,
            .flags = token->special ? EMBI_TOKEN_SPECIAL : 0,
            .files = files,
        };
    }
    return status;
}

static emb_status add_tokens(struct embi_tokenizer_change *c, const struct embi_tokenizer *t,
                             emb_err *err)
{
    if (adds_nothing(c))
        return EMB_OK;
    emb_status status = check_kind(c, t, err);
    if (!status)
        status = check_gap(c, err);
    if (!status)
        status = check_add(c, err);
    if (!status)
        status = list_additions(c, err);
    if (status || c->n_add == 0)
        return status;
    bool listed = c->sources.json || c->sources.lists[EMBI_TOKENS_OF_CONFIG].found;
    return listed ? embi_tokenizer_add(c, err) : embi_tokenizer_add_old(c, err);
}

/* The new name of rename i: free in the files, and given to nothing else. */
static emb_status check_rename(const struct embi_tokenizer_change *c, size_t i, emb_err *err)
{
    const struct embi_tokenizer_changes *changes = c->changes;
    const struct embi_token_rename *r = &changes->renames[i];
    char shown[EMBI_SHOW_MAX];
    bool taken = false, again = false;
    for (size_t k = 0; k < changes->n_add; k++)
        taken = taken || embi_str_equal(changes->add[k].text, r->to);
    for (size_t k = 0; k < i; k++) {
        taken = taken || embi_str_equal(changes->renames[k].to, r->to);
        again = again || embi_str_equal(changes->renames[k].from, r->from);
    }
    if (taken)
        return embi_fail(err, EMB_BAD_ARG, -1, "two tokens would be called '%s'",
                         embi_show(shown, r->to));
    if (again)
        return embi_fail(err, EMB_BAD_ARG, -1, "'%s' is to be renamed twice",
                         embi_show(shown, r->from));
    return check_text(c, r->to, err);
}

static emb_status edit_all(struct embi_tokenizer_change *c, const struct embi_tokenizer *t,
                           emb_err *err)
{
    const struct embi_tokenizer_changes *changes = c->changes;
    emb_status status = add_tokens(c, t, err);
    for (size_t i = 0; !status && i < changes->n_renames; i++) {
        status = check_rename(c, i, err);
        if (!status)
            status = embi_tokenizer_rename(c, &changes->renames[i], err);
    }
    for (size_t i = 0; !status && i < changes->n_roles; i++)
        status = embi_tokenizer_role(c, &changes->roles[i], err);
    return status;
}

void embi_token_fills_free(struct embi_token_fills *fills)
{
    free(fills->list);
    embi_buf_free(&fills->texts);
    *fills = (struct embi_token_fills){0};
}

/* The additions before the new tokens, which outlive the files. */
static emb_status list_fills(const struct embi_tokenizer_change *c, struct embi_token_fills *fills,
                             emb_err *err)
{
    size_t bytes = 1, n = c->n_add ? c->n_add - c->changes->n_add : 0;
    for (size_t i = 0; i < n; i++)
        bytes += c->add[i].text.n;
    fills->list = calloc(n + 1, sizeof *fills->list);
    if (!fills->list || !embi_buf_room(&fills->texts, bytes)) /* so that texts never move */
        return embi_fail_memory(err, n * sizeof *fills->list + bytes, "new tokens");
    for (size_t i = 0; i < n; i++) {
        const struct embi_token_fill *f = &c->add[i];
        const char *text = fills->texts.s + fills->texts.n;
        embi_buf_add(&fills->texts, f->text.s, f->text.n);
        bool present = embi_token_sources_find(&c->sources, f->text) != EMBI_MAP_NONE;
        fills->list[fills->n++] = (emb_resize_token){{text, f->text.n}, f->id, present};
    }
    return EMB_OK;
}

emb_status embi_tokenizer_edit(const struct embi_env *env, const char *dir,
                               const struct embi_tokenizer *t,
                               const struct embi_tokenizer_changes *changes,
                               struct embi_file_edits *edits, struct embi_token_fills *fills,
                               emb_err *err)
{
    struct embi_tokenizer_change c = {.env = env, .dir = dir, .changes = changes, .edits = edits};
    emb_status status = embi_token_sources_open(env, dir, t, &c.sources, err);
    if (status)
        return status;
    status = edit_all(&c, t, err);
    if (!status)
        status = list_fills(&c, fills, err);
    free(c.add);
    embi_buf_free(&c.names);
    embi_token_sources_free(&c.sources);
    return status;
}

emb_status embi_tokenizer_next_id(const struct embi_env *env, const char *dir,
                                  const struct embi_tokenizer *t,
                                  const struct embi_tokenizer_changes *changes, uint64_t *next_id,
                                  emb_err *err)
{
    struct embi_tokenizer_change c = {.env = env, .dir = dir, .changes = changes};
    emb_status status = embi_token_sources_open(env, dir, t, &c.sources, err);
    if (status)
        return status;
    if (!adds_nothing(&c)) {
        *next_id = c.sources.next_id;
        status = check_kind(&c, t, err);
        if (!status)
            status = check_gap(&c, err);
    }
    embi_token_sources_free(&c.sources);
    return status;
}
