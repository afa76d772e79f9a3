/* tokenizer_rename.c - a token gets a new text in every file where it stands; its id stays.
 *
 * Meant for tokens that are there to be given a meaning, <|reserved_special_token_0|> or [unused0].
 * A piece that text is split into cannot be renamed: the merges and scores speak of its characters.
 */
#include "model/tokenizer_change.h"

#include "util/err.h"

/* ------------------------------------------------------------------------------------------------
 * Strings of a JSON text
 */

/* Of templates: these members are words of their own, which may look like a token. */
static bool is_own_word(const struct embi_json_value *key)
{
    return embi_json_is(key, "type") || embi_json_is(key, "Sequence");
}

/* Every key and string inside v (or v itself) that is the old text. */
static void rename_inside(struct embi_json_edits *e, const struct embi_json_value *v,
                          const struct embi_token_rename *r)
{
    struct embi_json j;
    struct embi_json_value event;
    embi_json_init(&j, v->s, v->n, EMBI_JSON_NAN);
    while (embi_json_next(&j, &event) != EMBI_JSON_END && event.kind != EMBI_JSON_ERROR) {
        if (embi_json_equals(&event, r->from))
            embi_json_edit_string(e, &event, r->to);
        else if (event.kind == EMBI_JSON_KEY && is_own_word(&event))
            embi_json_skip(&j, NULL);
    }
}

/* The members of the root whose keys `wanted` says. */
typedef bool wanted_fn(const struct embi_json_value *key);

static emb_status rename_members(const struct embi_tokenizer_change *c, const char *name,
                                 wanted_fn *wanted, const struct embi_token_rename *r, emb_err *err)
{
    struct embi_text_edit text;
    struct embi_json j;
    struct embi_json_value key, v;
    emb_status status = embi_change_open(c, name, &text, err);
    if (!status && text.json.s) {
        embi_json_init(&j, text.json.s, text.json.n, EMBI_JSON_NAN);
        embi_json_enter(&j, EMBI_JSON_OBJECT);
        while (embi_json_member(&j, &key))
            if (wanted(&key) && embi_json_skip(&j, &v))
                rename_inside(&text.json, &v, r);
        status = embi_json_finish(&j, 0, err);
        status = status ? embi_fail_in(err, "%s", name) : embi_text_edit_keep(&text, c->edits, err);
    }
    embi_text_edit_close(&text);
    return status;
}

static bool holds_tokens(const struct embi_json_value *key)
{
    return embi_json_key_ends_in(key, "_token") || embi_json_key_ends_in(key, "_tokens") ||
           embi_json_is(key, "added_tokens_decoder");
}

static bool any(const struct embi_json_value *key)
{
    return key->n > 0;
}

/* ------------------------------------------------------------------------------------------------
 * Vocabularies
 */

/* The keys of an object token -> id, or the pieces of an array [piece, score]. */
static void rename_in_vocab(struct embi_json_edits *e, const struct embi_json_value *vocab,
                            const struct embi_token_rename *r)
{
    struct embi_json j;
    struct embi_json_value key;
    embi_json_init(&j, vocab->s, vocab->n, EMBI_JSON_NAN);
    if (vocab->kind == EMBI_JSON_ARRAY) {
        rename_inside(e, vocab, r);
        return;
    }
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (embi_json_member(&j, &key))
        if (embi_json_equals(&key, r->from))
            embi_json_edit_string(e, &key, r->to);
}

/* A file that is an object token -> id. */
static emb_status rename_key(const struct embi_tokenizer_change *c, const char *name,
                             const struct embi_token_rename *r, emb_err *err)
{
    struct embi_text_edit text;
    struct embi_json_value root;
    emb_status status = embi_change_open(c, name, &text, err);
    if (!status && text.json.s) {
        status = embi_text_edit_root(&text, &root, err);
        if (!status) {
            rename_in_vocab(&text.json, &root, r);
            status = embi_text_edit_keep(&text, c->edits, err);
        }
    }
    embi_text_edit_close(&text);
    return status;
}

/* vocab.txt: one token a line, blanks at its end not counted. */
static emb_status rename_in_lines(const struct embi_tokenizer_change *c,
                                  const struct embi_token_rename *r, emb_err *err)
{
    struct embi_text_edit text;
    emb_status status = embi_change_open(c, "vocab.txt", &text, err);
    const char *line = text.json.s, *end = line ? line + text.json.n : NULL;
    while (!status && line && line < end) {
        const char *stop = memchr(line, '\n', (size_t)(end - line));
        stop = stop ? stop : end;
        size_t n = (size_t)(stop - line);
        while (n > 0 && strchr(" \t\r", line[n - 1]))
            n--;
        if (embi_str_equal((emb_str){line, n}, r->from))
            embi_json_edit_splice(&text.json, (size_t)(line - text.json.s), n, r->to.s, r->to.n);
        line = stop + 1;
    }
    if (!status)
        status = embi_text_edit_keep(&text, c->edits, err);
    embi_text_edit_close(&text);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * tokenizer.json
 */

/* Is the text a part of a merge, or what one makes? "left right", or ["left", "right"]. */
static bool merge_has(const struct embi_json_value *left, const struct embi_json_value *right,
                      emb_str text, struct embi_buf *joined)
{
    joined->n = 0;
    embi_json_string(left, joined);
    size_t cut = joined->n;
    if (right) {
        embi_json_string(right, joined);
    } else {
        const char *blank = memchr(joined->s, ' ', joined->n);
        if (!blank)
            return false;
        cut = (size_t)(blank - joined->s);
        memmove(joined->s + cut, blank + 1, joined->n - cut - 1);
        joined->n--;
    }
    return embi_str_equal((emb_str){joined->s, joined->n}, text) ||
           embi_str_equal((emb_str){joined->s, cut}, text) ||
           embi_str_equal((emb_str){joined->s + cut, joined->n - cut}, text);
}

static bool merges_use(const struct embi_json_value *merges, emb_str text)
{
    struct embi_json j;
    struct embi_json_value left, right;
    struct embi_buf joined = {0};
    bool used = false;
    embi_json_init(&j, merges->s, merges->n, EMBI_JSON_NAN);
    embi_json_enter(&j, EMBI_JSON_ARRAY);
    while (!used && embi_json_item(&j)) {
        if (embi_json_next(&j, &left) == EMBI_JSON_ARRAY) {
            bool pair = embi_json_item(&j) && embi_json_next(&j, &left) == EMBI_JSON_STRING &&
                        embi_json_item(&j) && embi_json_next(&j, &right) == EMBI_JSON_STRING;
            used = pair && merge_has(&left, &right, text, &joined);
            embi_json_leave(&j);
        } else if (left.kind == EMBI_JSON_STRING) {
            used = merge_has(&left, NULL, text, &joined);
        } else {
            break;
        }
    }
    embi_buf_free(&joined);
    return used;
}

static emb_status refuse_piece(emb_err *err, emb_str text)
{
    char shown[EMBI_SHOW_MAX];
    return embi_fail(err, EMB_UNSUPPORTED, -1,
                     "'%s' is an ordinary piece that text is split into; only added tokens and "
                     "pieces that are reserved can be renamed",
                     embi_show(shown, text));
}

static emb_status rename_in_model(struct embi_json_edits *e, const struct embi_json_value *model,
                                  const struct embi_token_rename *r, emb_err *err)
{
    struct embi_json_value v;
    emb_status status = embi_json_member_of(model->s, model->n, "merges", &v, err);
    if (!status && v.kind == EMBI_JSON_ARRAY && merges_use(&v, r->from))
        return refuse_piece(err, r->from);
    if (!status)
        status = embi_json_member_of(model->s, model->n, "vocab", &v, err);
    if (!status)
        rename_in_vocab(e, &v, r);
    if (!status)
        status = embi_json_member_of(model->s, model->n, "unk_token", &v, err);
    if (!status && embi_json_equals(&v, r->from))
        embi_json_edit_string(e, &v, r->to);
    return status;
}

static emb_status rename_in_json(const struct embi_tokenizer_change *c,
                                 const struct embi_token_rename *r, emb_err *err)
{
    struct embi_text_edit text;
    struct embi_json j;
    struct embi_json_value key, v;
    emb_status status = embi_change_open(c, "tokenizer.json", &text, err);
    embi_json_init(&j, text.json.s, text.json.n, 0);
    if (!status && text.json.s)
        embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (!status && text.json.s && embi_json_member(&j, &key)) {
        if (!embi_json_skip(&j, &v))
            break;
        if (embi_json_is(&key, "model"))
            status = rename_in_model(&text.json, &v, r, err);
        else if (embi_json_is(&key, "added_tokens") || embi_json_is(&key, "post_processor") ||
                 embi_json_is(&key, "padding"))
            rename_inside(&text.json, &v, r);
    }
    if (!status && text.json.s)
        status = embi_json_finish(&j, 0, err);
    if (!status)
        status = embi_text_edit_keep(&text, c->edits, err);
    embi_text_edit_close(&text);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * All of it
 */

static bool is_listed(const struct embi_tokenizer_change *c, emb_str text)
{
    for (size_t f = 0; f < EMBI_TOKEN_FILES; f++)
        if (embi_token_list_find(&c->sources.lists[f], text))
            return true;
    return false;
}

static bool contains(emb_str text, const char *word)
{
    return memmem(text.s, text.n, word, strlen(word)) != NULL;
}

/* [unused0], <unused12>, <reserved_3>: a piece that was put into a vocabulary for later. */
static bool is_reserved(emb_str text)
{
    return contains(text, "unused") || contains(text, "reserved");
}

static const char *const sentencepieces[] = {"tokenizer.model", "spiece.model",
                                             "sentencepiece.bpe.model"};

/* Does the file hold these bytes? */
static emb_status file_has(const struct embi_tokenizer_change *c, const char *name, emb_str bytes,
                           bool *has, emb_err *err)
{
    struct embi_sidecar file;
    emb_status status = embi_sidecar_open(c->env, c->dir, name, &file, err);
    *has = !status && file.n > 0 && memmem(file.s, file.n, bytes.s, bytes.n) != NULL;
    if (!status)
        embi_sidecar_close(&file);
    return status;
}

/* A SentencePiece model is not edited. That does no harm where tokenizer.json counts; without one,
 * loaders would find the new name nowhere and give it an id behind all pieces. */
static emb_status refuse_in_model(const struct embi_tokenizer_change *c, emb_str text, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    bool has;
    for (size_t i = 0; !c->sources.json && i < EMBI_LEN(sentencepieces); i++) {
        emb_status status = file_has(c, sentencepieces[i], text, &has, err);
        if (status)
            return status;
        if (has)
            return embi_fail(err, EMB_UNSUPPORTED, -1,
                             "'%s' is a piece of %s, which is not edited: expected a "
                             "tokenizer.json beside it",
                             embi_show(shown, text), sentencepieces[i]);
    }
    return EMB_OK;
}

/* T5 has as many of these as its config says, by these very names. */
static bool is_counted(emb_str text)
{
    static const char prefix[] = "<extra_id_";
    return text.n >= sizeof prefix - 1 && memcmp(text.s, prefix, sizeof prefix - 1) == 0;
}

/* What has to hold before a token can be renamed. */
static emb_status check_piece(const struct embi_tokenizer_change *c, emb_str text, bool listed,
                              emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    if (embi_token_sources_find(&c->sources, text) == EMBI_MAP_NONE)
        return embi_fail(err, EMB_NOT_FOUND, -1, "'%s' is not in the vocabulary",
                         embi_show(shown, text));
    if (is_counted(text))
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "'%s' is one of the tokens that extra_ids counts: loaders expect them all",
                         embi_show(shown, text));
    if (!listed && !is_reserved(text))
        return refuse_piece(err, text);
    return refuse_in_model(c, text, err);
}

/* A template of chats may still speak of the old name. */
static emb_status warn_of_template(const struct embi_tokenizer_change *c, emb_str text,
                                   emb_err *err)
{
    static const char name[] = "chat_template.jinja";
    char shown[EMBI_SHOW_MAX];
    bool has;
    emb_status status = file_has(c, name, text, &has, err);
    if (!status && has)
        embi_log(c->env, EMB_LOG_WARNING, c->dir, "%s speaks of '%s': it is not changed", name,
                 embi_show(shown, text));
    return status;
}

/* A piece of the vocabulary alone becomes an added token, so that text is not split inside it. */
static emb_status add_piece(struct embi_tokenizer_change *c, const struct embi_token_rename *r,
                            uint64_t id, emb_err *err)
{
    struct embi_token_fill token = {
        .id = id, .text = r->to, .flags = r->special ? EMBI_TOKEN_SPECIAL : 0};
    struct embi_tokenizer_change one = *c;
    struct embi_tokenizer_changes none = {0};
    for (size_t f = 0; f < EMBI_TOKEN_FILES; f++)
        if (c->sources.lists[f].found || (f == EMBI_TOKENS_OF_JSON && c->sources.json))
            token.files |= EMBI_TOKENS_BIT(f);
    one.add = &token;
    one.n_add = 1;
    one.changes = &none;
    bool listed = c->sources.json || c->sources.lists[EMBI_TOKENS_OF_CONFIG].found;
    return listed ? embi_tokenizer_add(&one, err) : embi_tokenizer_add_old(&one, err);
}

emb_status embi_tokenizer_rename(struct embi_tokenizer_change *c, const struct embi_token_rename *r,
                                 emb_err *err)
{
    bool listed = is_listed(c, r->from);
    emb_status status = check_piece(c, r->from, listed, err);
    if (!status)
        status = rename_in_json(c, r, err);
    if (!status)
        status = rename_members(c, "tokenizer_config.json", holds_tokens, r, err);
    if (!status)
        status = rename_members(c, "special_tokens_map.json", any, r, err);
    if (!status)
        status = rename_key(c, "added_tokens.json", r, err);
    if (!status)
        status = rename_key(c, "vocab.json", r, err);
    if (!status)
        status = rename_in_lines(c, r, err);
    if (!status && !listed)
        status = add_piece(c, r, embi_token_sources_find(&c->sources, r->from), err);
    return status ? status : warn_of_template(c, r->from, err);
}
