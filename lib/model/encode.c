/* encode.c - see encode.h: the life of an encoder, and the way of a text through it. */
#include "model/encode_added.h"
#include "model/encode_model.h"
#include "model/encode_split.h"

#include "util/err.h"
#include "util/utf8.h"

#include <stdlib.h>

struct embi_encoder {
    struct embi_sidecar file; /* tokenizer.json */
    struct embi_normals normals;
    struct embi_added_pieces added;
    struct embi_splits splits;
    struct embi_piece_model model;
};

void embi_ids_add(struct embi_ids *ids, uint32_t id)
{
    if (ids->n == ids->cap) {
        size_t cap = ids->cap ? 2 * ids->cap : 64;
        uint32_t *grown = ids->failed ? NULL : realloc(ids->v, cap * sizeof *grown);
        if (!grown) {
            ids->failed = true;
            return;
        }
        ids->v = grown;
        ids->cap = cap;
    }
    ids->v[ids->n++] = id;
}

void embi_ids_free(struct embi_ids *ids)
{
    free(ids->v);
    *ids = (struct embi_ids){0};
}

/* ------------------------------------------------------------------------------------------------
 * Life
 */

/* What tokenizer.json says, but for the added tokens. */
static emb_status read_file(struct embi_encoder *e, emb_err *err)
{
    struct embi_json_value all = {EMBI_JSON_OBJECT, false, e->file.s, e->file.n};
    struct embi_json_value normalizer = embi_member(&all, "normalizer");
    struct embi_json_value splits = embi_member(&all, "pre_tokenizer");
    struct embi_json_value model = embi_member(&all, "model");
    emb_status status = embi_normals_read(&normalizer, &e->normals, err);
    if (!status)
        status = embi_splits_read(&splits, &e->splits, err);
    if (!status)
        status = embi_piece_model_read(&model, &e->model, err);
    return status ? embi_fail_in(err, "tokenizer.json") : EMB_OK;
}

static emb_status open_all(struct embi_encoder *e, const struct embi_env *env, const char *dir,
                           const struct embi_tokenizer *t, uint64_t rows, emb_err *err)
{
    emb_status status = embi_sidecar_open(env, dir, "tokenizer.json", &e->file, err);
    if (!status && !e->file.io)
        status = embi_fail(err, EMB_UNSUPPORTED, -1,
                           "there is no tokenizer.json: save the tokenizer with the library "
                           "tokenizers or with transformers' save_pretrained, which writes one");
    if (!status)
        status = read_file(e, err);
    return status ? status : embi_added_pieces_open(env, dir, t, rows, &e->normals, &e->added, err);
}

emb_status embi_encoder_open(const struct embi_env *env, const char *dir,
                             const struct embi_tokenizer *t, uint64_t rows,
                             struct embi_encoder **encoder, emb_err *err)
{
    struct embi_encoder *e = calloc(1, sizeof *e);
    if (!e)
        return embi_fail_memory(err, sizeof *e, "a tokenizer");
    emb_status status = open_all(e, env, dir, t, rows, err);
    if (status)
        embi_encoder_free(e);
    else
        *encoder = e;
    return status;
}

void embi_encoder_free(struct embi_encoder *encoder)
{
    if (!encoder)
        return;
    embi_added_pieces_free(&encoder->added);
    embi_normals_free(&encoder->normals);
    embi_splits_free(&encoder->splits);
    embi_piece_model_free(&encoder->model);
    embi_sidecar_close(&encoder->file);
    free(encoder);
}

bool embi_encoder_unknown(const struct embi_encoder *encoder, uint32_t *id)
{
    *id = encoder->model.unknown;
    return encoder->model.has_unknown;
}

/* ------------------------------------------------------------------------------------------------
 * Splitting
 */

/* One part is normalised, and cut at the added tokens that are looked for after that. */
static emb_status normalize(const void *encoder, const char *s, size_t n, bool first,
                            struct embi_parts *out, emb_err *err)
{
    const struct embi_encoder *e = encoder;
    struct embi_buf text = {0};
    embi_buf_add(&text, s, n);
    emb_status status = text.failed ? embi_fail_memory(err, n, "a text")
                                    : embi_normals_apply(&e->normals, &text, &first, err);
    if (!status)
        status = embi_added_cut(&e->added, true, text.s, text.n, first, out, err);
    embi_buf_free(&text);
    return status;
}

static emb_status split_all(const struct embi_encoder *e, const struct embi_parts *parts,
                            struct embi_ids *ids, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < parts->n; i++) {
        const struct embi_part *part = &parts->v[i];
        if (part->id != EMBI_NO_PIECE)
            embi_ids_add(ids, part->id);
        else
            status = embi_piece_split(&e->model, parts->text.s + part->at, part->n, ids, err);
    }
    return !status && ids->failed ? embi_fail_memory(err, parts->n, "pieces") : status;
}

emb_status embi_encode(const struct embi_encoder *encoder, emb_str text, struct embi_ids *ids,
                       emb_err *err)
{
    struct embi_parts cut = {0}, parts = {0};
    if (text.n > EMBI_ENCODE_MOST)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "a text of %zu bytes: at most %u are split into pieces", text.n,
                         EMBI_ENCODE_MOST);
    if (!embi_utf8_valid(text.s, text.n))
        return embi_fail(err, EMB_BAD_ARG, (int64_t)embi_utf8_check(text.s, text.n),
                         "a text that is not UTF-8 is not split into pieces");
    emb_status status = embi_added_cut(&encoder->added, false, text.s, text.n, true, &cut, err);
    if (!status)
        status = embi_parts_each(&cut, normalize, encoder, &parts, err);
    if (!status)
        status = embi_splits_apply(&encoder->splits, &parts, err);
    if (!status)
        status = split_all(encoder, &parts, ids, err);
    embi_parts_free(&cut);
    embi_parts_free(&parts);
    return status;
}
