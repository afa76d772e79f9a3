/* fuzz_encode.c - normalizers, pre-tokenizers and models of tokenizer.json: read, and used on texts.
 * What comes out are pieces that the vocabulary has. */
#include "fuzz.h"

#include "model/encode_model.h"
#include "model/encode_normal.h"
#include "model/encode_split.h"

struct parts_of {
    struct embi_normals normals;
    struct embi_splits splits;
    struct embi_piece_model model;
};

static bool has_id(const struct embi_piece_model *m, uint32_t id)
{
    for (size_t i = 0; i < m->n; i++)
        if (m->ids[i] == id)
            return true;
    return false;
}

static void split(const struct parts_of *p, const struct embi_parts *parts)
{
    struct embi_ids ids = {0};
    emb_err err;
    for (size_t i = 0; i < parts->n; i++) {
        const char *s = parts->text.s + parts->v[i].at;
        CHECK(parts->v[i].n > 0 && embi_utf8_valid(s, parts->v[i].n));
        if (!fuzz_went_well(embi_piece_split(&p->model, s, parts->v[i].n, &ids, &err), &err))
            break;
    }
    for (size_t i = 0; i < ids.n && i < 64; i++)
        CHECK(has_id(&p->model, ids.v[i]));
    embi_ids_free(&ids);
}

static void use(const struct parts_of *p, const char *s)
{
    struct embi_buf text = {0};
    struct embi_parts parts = {0};
    bool first = true;
    emb_err err;
    embi_buf_text(&text, s);
    if (fuzz_went_well(embi_normals_apply(&p->normals, &text, &first, &err), &err)) {
        CHECK(embi_utf8_valid(text.s, text.n));
        embi_parts_add(&parts, text.s, text.n, first, EMBI_NO_PIECE);
        if (fuzz_went_well(embi_splits_apply(&p->splits, &parts, &err), &err))
            split(p, &parts);
    }
    embi_parts_free(&parts);
    embi_buf_free(&text);
}

static void read_and_use(const struct embi_json_value *all)
{
    static const char *const texts[] = {"", " a b", "ab<|tool|> 12",
                                        "\xC3\xA9"
                                        "e\xCC\x81 \xE4\xB8\xAD\xE2\x96\x81z\n"};
    struct embi_json_value normalizer = embi_member(all, "normalizer");
    struct embi_json_value splits = embi_member(all, "pre_tokenizer");
    struct embi_json_value model = embi_member(all, "model");
    struct parts_of p = {0};
    emb_err err;
    bool good = fuzz_went_well(embi_normals_read(&normalizer, &p.normals, &err), &err) &&
                fuzz_went_well(embi_splits_read(&splits, &p.splits, &err), &err) &&
                fuzz_went_well(embi_piece_model_read(&model, &p.model, &err), &err);
    for (size_t i = 0; good && i < EMBI_LEN(texts); i++)
        use(&p, texts[i]);
    embi_normals_free(&p.normals);
    embi_splits_free(&p.splits);
    embi_piece_model_free(&p.model);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct embi_json j;
    struct embi_json_value all;
    emb_err err;
    char *text = fuzz_copy(data, size);
    embi_json_init(&j, text, size, 0);
    bool object = embi_json_skip(&j, &all) && all.kind == EMBI_JSON_OBJECT;
    if (embi_json_finish(&j, 0, &err) == EMB_OK && object)
        read_and_use(&all);
    free(text);
    return 0;
}
