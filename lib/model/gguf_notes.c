/* gguf_notes.c - what a GGUF file says of its tokens beside their names, for a file that they go
 * to.
 *
 * Of the keys "tokenizer.ggml." all are kept: scores and types as numbers, roles as ids, lists of
 * strings (merges) as what holds of all tokens together, others as they are. Templates of chats and
 * the JSON file of another library are not of the vocabulary.
 */
#include "model/gguf_model.h"

#include "fmt/gguf.h"
#include "util/err.h"

#define PREFIX   "tokenizer.ggml."
#define ROLE_END "_token_id"

static bool is_array_of(const struct embi_gguf_value *v, enum embi_gguf_kind element)
{
    return v->kind == EMBI_GGUF_ARRAY && v->element == element;
}

static emb_status add_role(const struct embi_reader *r, const struct embi_gguf_value *v,
                           struct embi_token_notes *notes, emb_err *err)
{
    uint64_t id;
    /* all bits set: there is none, in files of old */
    if (!embi_gguf_number(r, v, &id) || id == UINT32_MAX)
        return EMB_OK;
    return embi_notes_add_id(notes, v->key, id, err);
}

static emb_status add_other(const struct embi_reader *r, const struct embi_gguf_value *v,
                            struct embi_token_notes *notes, emb_err *err)
{
    struct embi_noted_keys *keys = is_array_of(v, EMBI_GGUF_STRING) ? &notes->whole : &notes->any;
    embi_gguf_copy(r, v, &keys->bytes);
    keys->n++;
    return keys->bytes.failed ? embi_fail_memory(err, keys->bytes.n, "keys of a GGUF file")
                              : EMB_OK;
}

/* Scores and types have an entry for each token: embi_gguf_tokens saw to that. */
static emb_status add(const struct embi_reader *r, const struct embi_gguf_value *v,
                      struct embi_token_notes *notes, emb_err *err)
{
    const size_t prefix = strlen(PREFIX);
    emb_str name = {v->key.s + prefix, v->key.n - prefix};
    emb_status status = EMB_OK;
    if (embi_str_is(name, "tokens"))
        return EMB_OK;
    if (embi_str_is(name, "model")) {
        notes->model = embi_gguf_string(r, v);
    } else if (embi_str_is(name, "scores")) {
        status = embi_notes_make_scores(notes, err);
        if (!status)
            embi_gguf_f32s(r, v, notes->scores);
    } else if (embi_str_is(name, "token_type")) {
        status = embi_notes_make_types(notes, err);
        if (!status)
            embi_gguf_i32s(r, v, notes->types);
    } else if (embi_str_ends_in(name, ROLE_END)) {
        status = add_role(r, v, notes, err);
    } else {
        status = add_other(r, v, notes, err);
    }
    return status;
}

static emb_status notes_of(const struct embi_reader *r, struct embi_token_notes *notes,
                           emb_err *err)
{
    size_t n_values;
    const struct embi_gguf_value *list = embi_gguf_list(r, &n_values);
    emb_status status = EMB_OK;
    *notes = (struct embi_token_notes){.n = embi_gguf_find(r, PREFIX "tokens")->n};
    for (size_t i = 0; !status && i < n_values; i++)
        if (list[i].key.n > strlen(PREFIX) && memcmp(list[i].key.s, PREFIX, strlen(PREFIX)) == 0)
            status = add(r, &list[i], notes, err);
    if (status)
        embi_notes_free(notes);
    return status;
}

emb_status embi_gguf_notes(const struct embi_weights *w, struct embi_token_notes *notes,
                           emb_err *err)
{
    *notes = (struct embi_token_notes){0};
    for (size_t i = 0; i < w->n_files; i++)
        if (embi_gguf_find(w->files[i].reader, PREFIX "tokens"))
            return notes_of(w->files[i].reader, notes, err);
    return EMB_OK;
}

/* The reader is closed again: keys lie in the bytes, which are the file's. */
emb_status embi_gguf_notes_in(struct embi_io *file, struct embi_token_notes *notes, emb_err *err)
{
    const void *data;
    struct embi_io *io;
    struct embi_reader *r;
    emb_status status = embi_io_map(file, &data, err);
    if (!status)
        status = embi_io_memory(file->env, data, file->size, NULL, &io, err);
    if (!status)
        status = embi_reader_open(file->env, io, "", &embi_format_gguf, NULL, &r, err);
    if (status)
        return status;
    status = notes_of(r, notes, err);
    embi_reader_close(r);
    return status;
}
