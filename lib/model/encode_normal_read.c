/* encode_normal_read.c - "normalizer" of a tokenizer.json. */
#include "model/encode_normal.h"

#include "util/err.h"

#include <stdlib.h>

static emb_status read_strip(const struct embi_json_value *value, struct embi_normal *step,
                             emb_err *err)
{
    emb_status status = embi_member_bool(value, "strip_left", true, &step->left, err);
    return status ? status : embi_member_bool(value, "strip_right", true, &step->right, err);
}

static emb_status read_replace(const struct embi_json_value *value, struct embi_normal *step,
                               emb_err *err)
{
    emb_status status = embi_member_pattern(value, &step->pattern, err);
    return status ? status : embi_member_string(value, "content", false, &step->text, err);
}

static emb_status read_bert(const struct embi_json_value *value, struct embi_normal *step,
                            emb_err *err)
{
    emb_status status = embi_member_bool(value, "clean_text", true, &step->clean, err);
    if (!status)
        status = embi_member_bool(value, "handle_chinese_chars", true, &step->chinese, err);
    if (!status)
        status = embi_member_bool(value, "lowercase", true, &step->lower, err);
    if (!status)
        status = embi_member_bool(value, "strip_accents", step->lower, &step->accents, err);
    return status;
}

static const struct {
    const char *type;
    enum embi_normal_kind kind;
    enum embi_normal_form form;
} kinds[] = {
    {"NFC", EMBI_NORMAL_FORM, EMBI_NFC},   {"NFD", EMBI_NORMAL_FORM, EMBI_NFD},
    {"NFKC", EMBI_NORMAL_FORM, EMBI_NFKC}, {"NFKD", EMBI_NORMAL_FORM, EMBI_NFKD},
    {"Lowercase", EMBI_NORMAL_LOWER, 0},   {"StripAccents", EMBI_NORMAL_ACCENTS, 0},
    {"Strip", EMBI_NORMAL_STRIP, 0},       {"Prepend", EMBI_NORMAL_PREPEND, 0},
    {"Replace", EMBI_NORMAL_REPLACE, 0},   {"BertNormalizer", EMBI_NORMAL_BERT, 0},
    {"Nmt", EMBI_NORMAL_NMT, 0},           {"Precompiled", EMBI_NORMAL_PRECOMPILED, 0},
    {"ByteLevel", EMBI_NORMAL_BYTES, 0},
};

static bool find_kind(const struct embi_json_value *value, struct embi_normal *step)
{
    struct embi_json_value type = embi_member(value, "type");
    for (size_t i = 0; type.kind == EMBI_JSON_STRING && i < EMBI_LEN(kinds); i++) {
        step->kind = kinds[i].kind;
        step->form = kinds[i].form;
        if (embi_json_is(&type, kinds[i].type))
            return true;
    }
    return false;
}

static emb_status read_values(const struct embi_json_value *value, struct embi_normal *step,
                              emb_err *err)
{
    struct embi_json_value map;
    switch (step->kind) {
    case EMBI_NORMAL_STRIP: return read_strip(value, step, err);
    case EMBI_NORMAL_PREPEND: return embi_member_string(value, "prepend", false, &step->text, err);
    case EMBI_NORMAL_REPLACE: return read_replace(value, step, err);
    case EMBI_NORMAL_BERT: return read_bert(value, step, err);
    case EMBI_NORMAL_PRECOMPILED:
        map = embi_member(value, "precompiled_charsmap");
        return embi_charsmap_read(&map, &step->map, err);
    default: return EMB_OK;
    }
}

static void free_step(struct embi_normal *step)
{
    embi_buf_free(&step->text);
    embi_regex_free(step->pattern);
    embi_buf_free(&step->map.blob);
}

static emb_status read_step(void *arg, const struct embi_json_value *value, emb_err *err)
{
    struct embi_normals *normals = arg;
    struct embi_normal step = {0};
    if (!find_kind(value, &step))
        return embi_fail_type("normalizer", value, err);
    emb_status status = read_values(value, &step, err);
    if (!status && normals->n == normals->cap) {
        size_t cap = normals->cap ? 2 * normals->cap : 4;
        struct embi_normal *grown = realloc(normals->v, cap * sizeof *grown);
        if (grown) {
            normals->v = grown;
            normals->cap = cap;
        } else {
            status = embi_fail_memory(err, cap * sizeof *grown, "normalizers");
        }
    }
    if (status)
        free_step(&step);
    else
        normals->v[normals->n++] = step;
    return status;
}

emb_status embi_normals_read(const struct embi_json_value *value, struct embi_normals *normals,
                             emb_err *err)
{
    return embi_steps_read(value, "normalizers", read_step, normals, err);
}

void embi_normals_free(struct embi_normals *normals)
{
    for (size_t i = 0; i < normals->n; i++)
        free_step(&normals->v[i]);
    free(normals->v);
    *normals = (struct embi_normals){0};
}
