/* tokenizer_json_decoder.c - "decoder" of a tokenizer.json: how pieces become text.
 *
 * Of the steps of a Sequence those count that speak of single pieces: ByteLevel, Metaspace,
 * WordPiece, BPEDecoder, ByteFallback, and Replace with a space. Strip and Fuse work on whole
 * texts.
 */
#include "model/tokenizer_read.h"

#include "util/err.h"

/* One decoder object, whose keys come in any order. kind 0: not given. */
struct step {
    struct embi_json_value type, replacement, prefix, suffix, content, pattern;
};

static struct embi_json_value *member_of(struct step *s, const struct embi_json_value *key)
{
    return embi_json_is(key, "type")          ? &s->type
           : embi_json_is(key, "replacement") ? &s->replacement
           : embi_json_is(key, "prefix")      ? &s->prefix
           : embi_json_is(key, "suffix")      ? &s->suffix
           : embi_json_is(key, "content")     ? &s->content
                                              : NULL;
}

/* {"String": "x"}; {"Regex": ...} leaves *pattern as it is. */
static void read_pattern(struct embi_json *j, struct embi_json_value *pattern)
{
    struct embi_json_value key;
    embi_json_enter(j, EMBI_JSON_OBJECT);
    while (embi_json_member(j, &key))
        if (embi_json_is(&key, "String"))
            embi_json_next(j, pattern);
}

static emb_status take(struct embi_token_source *src, const struct embi_json_value *v,
                       const char *otherwise, emb_str *out, emb_err *err)
{
    *out = (emb_str){otherwise, strlen(otherwise)};
    return v->kind == EMBI_JSON_STRING ? embi_token_source_string(src, v, out, err) : EMB_OK;
}

static emb_status apply(struct embi_token_source *src, const struct step *s, emb_err *err)
{
    struct embi_pieces *p = &src->t->pieces;
    if (embi_json_is(&s->type, "ByteLevel"))
        p->byte_level = true;
    else if (embi_json_is(&s->type, "ByteFallback"))
        p->byte_fallback = true;
    else if (embi_json_is(&s->type, "Metaspace"))
        return take(src, &s->replacement, "\xE2\x96\x81", &p->space, err);
    else if (embi_json_is(&s->type, "WordPiece"))
        return take(src, &s->prefix, "##", &p->prefix, err);
    else if (embi_json_is(&s->type, "BPEDecoder"))
        return take(src, &s->suffix, "</w>", &p->suffix, err);
    else if (embi_json_is(&s->type, "Replace") && embi_json_is(&s->content, " "))
        return take(src, &s->pattern, "", &p->space, err);
    return EMB_OK;
}

static emb_status read_step(struct embi_token_source *src, struct embi_json *j, emb_err *err);

static emb_status read_steps(struct embi_token_source *src, struct embi_json *j, emb_err *err)
{
    emb_status status = EMB_OK;
    embi_json_enter(j, EMBI_JSON_ARRAY);
    while (!status && embi_json_item(j)) {
        embi_json_enter(j, EMBI_JSON_OBJECT);
        status = read_step(src, j, err);
    }
    return status;
}

/* The members of an object whose bracket has been read. Recursion ends with the reader's limit on
 * open brackets. */
static emb_status read_step(struct embi_token_source *src, struct embi_json *j, emb_err *err)
{
    struct step s = {0};
    struct embi_json_value key, *v;
    emb_status status = EMB_OK;
    while (!status && embi_json_member(j, &key)) {
        if (embi_json_is(&key, "decoders"))
            status = read_steps(src, j, err);
        else if (embi_json_is(&key, "pattern"))
            read_pattern(j, &s.pattern);
        else if ((v = member_of(&s, &key)) != NULL)
            embi_json_skip(j, v);
    }
    return status ? status : apply(src, &s, err);
}

emb_status embi_read_json_decoder(struct embi_token_source *src, struct embi_json *j, bool *said,
                                  emb_err *err)
{
    struct embi_json_value v;
    *said = embi_json_next(j, &v) == EMBI_JSON_OBJECT;
    if (*said)
        return read_step(src, j, err);
    if (v.kind != EMBI_JSON_NULL)
        embi_json_reject(j, &v, "a decoder or null");
    return EMB_OK;
}
