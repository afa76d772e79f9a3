/* tokenizer_notes.c - what vocabulary files say of their tokens beside their names, in the words of
 * GGUF: for a file of that kind which the tokens go to.
 *
 * The kind of tokenizer is the alphabet of the pieces, so that they mean the same there.
 * WordPiece's is another one in GGUF files, and none is named for it.
 */
#include "model/gguf_model.h"
#include "model/tokenizer.h"

#include "util/err.h"

#define KEY(role)                                                                         \
    {                                                                                     \
        "tokenizer.ggml." role "_token_id", sizeof "tokenizer.ggml." role "_token_id" - 1 \
    }

static const emb_str role_keys[EMBI_NOTED_ROLES] = {
    [EMBI_NOTED_BOS] = KEY("bos"),       [EMBI_NOTED_EOS] = KEY("eos"),
    [EMBI_NOTED_UNK] = KEY("unknown"),   [EMBI_NOTED_PAD] = KEY("padding"),
    [EMBI_NOTED_SEP] = KEY("seperator"), /* so they write it */
    [EMBI_NOTED_CLS] = KEY("cls"),       [EMBI_NOTED_MASK] = KEY("mask"),
};

static emb_str model_of(const struct embi_pieces *p)
{
    if (p->byte_level)
        return (emb_str){"gpt2", 4};
    if (p->space.n == 0 || p->prefix.n || p->suffix.n)
        return (emb_str){NULL, 0};
    return p->byte_fallback ? (emb_str){"llama", 5} : (emb_str){"t5", 2};
}

static unsigned type_of(const struct embi_tokenizer *t, uint64_t id)
{
    return id < t->n_notes ? t->notes[id].type : EMBI_TOKEN_UNSAID;
}

/* A piece that is as others are has no role, whatever it is spelled like. */
static bool may_have_role(unsigned type)
{
    return type != EMBI_TOKEN_NORMAL && type != EMBI_TOKEN_UNUSED && type != EMBI_TOKEN_BYTE;
}

static emb_status add_role(const struct embi_tokenizer *t, enum embi_noted_role role,
                           struct embi_token_notes *notes, emb_err *err)
{
    const emb_str token = t->roles[role];
    uint64_t id = 0;
    if (token.n == 0)
        return EMB_OK;
    while (id < t->n && !(t->tokens[id].s && embi_str_equal(t->tokens[id], token)))
        id++;
    if (id == t->n || !may_have_role(type_of(t, id)))
        return EMB_OK;
    return embi_notes_add_id(notes, role_keys[role], id, err);
}

static emb_status take(const struct embi_tokenizer *t, struct embi_token_notes *notes, emb_err *err)
{
    emb_status status = t->scored ? embi_notes_make_scores(notes, err) : EMB_OK;
    if (!status)
        status = embi_notes_make_types(notes, err);
    for (uint64_t id = 0; !status && id < embi_min(t->n, t->n_notes); id++) {
        if (notes->scores)
            notes->scores[id] = t->notes[id].score;
        notes->types[id] = t->notes[id].type;
    }
    for (int role = 0; !status && role < EMBI_NOTED_ROLES; role++)
        status = add_role(t, (enum embi_noted_role)role, notes, err);
    return status;
}

emb_status embi_tokenizer_notes(const struct embi_tokenizer *t, struct embi_token_notes *notes,
                                emb_err *err)
{
    if (t->gguf)
        return embi_gguf_notes_in(t->parts[0].file, notes, err);
    *notes = (struct embi_token_notes){.model = model_of(&t->pieces), .n = t->n};
    emb_status status = take(t, notes, err);
    if (status)
        embi_notes_free(notes);
    return status;
}
