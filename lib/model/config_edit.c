/* config_edit.c - see config_edit.h.
 */
#include "model/config_edit.h"

#include "model/config_objects.h"
#include "model/text_edit.h"
#include "util/err.h"

#include <inttypes.h>

/* ------------------------------------------------------------------------------------------------
 * config.json
 */

/* Keys that count rows of the embedding. The first is the one that loaders compare with it. */
static const char *const row_keys[] = {"vocab_size", "padded_vocab_size", "n_token",
                                       "decoder_vocab_size"};

struct config_edit {
    struct embi_text_edit text;
    struct embi_config_objects objects;
    const struct embi_config_rows *rows;
    bool said; /* some key says the number of rows */
};

static bool has_old_rows(const struct config_edit *c, const struct embi_json_value *v)
{
    uint64_t x;
    return embi_json_u64(v, &x) && x == c->rows->old_rows;
}

static void set_rows(struct config_edit *c, const struct embi_json_value *v)
{
    c->said = true;
    if (c->rows->rows != c->rows->old_rows)
        embi_json_edit_u64(&c->text.json, v, c->rows->rows);
}

/* A decoder of its own vocabulary may be as large by chance; its table is another one then. */
static emb_status is_shared(const struct embi_json_value *object, bool *shared, emb_err *err)
{
    struct embi_json_value v;
    emb_status status =
        embi_json_member_of(object->s, object->n, "share_encoder_decoder_embeddings", &v, err);
    *shared = v.kind != EMBI_JSON_FALSE;
    return status;
}

static emb_status edit_object(struct config_edit *c, int at, emb_err *err)
{
    const struct embi_json_value *object = &c->objects.list[at];
    struct embi_json_value v;
    bool shared;
    emb_status status = is_shared(object, &shared, err);
    for (size_t i = 0; !status && i < EMBI_LEN(row_keys) - !shared; i++) {
        status = embi_json_member_of(object->s, object->n, row_keys[i], &v, err);
        if (!status && has_old_rows(c, &v))
            set_rows(c, &v);
    }
    if (!status && c->rows->per_layer)
        status = embi_json_member_of(object->s, object->n, "vocab_size_per_layer_input", &v, err);
    uint64_t x;
    if (!status && c->rows->per_layer && embi_json_u64(&v, &x) && x != c->rows->per_layer)
        embi_json_edit_u64(&c->text.json, &v, c->rows->per_layer);
    return status;
}

/* vocab_size of an object is put right, if it has one. */
static emb_status mend_object(struct config_edit *c, int at, emb_err *err)
{
    const struct embi_json_value *object = &c->objects.list[at];
    struct embi_json_value v;
    uint64_t x;
    emb_status status = embi_json_member_of(object->s, object->n, row_keys[0], &v, err);
    if (status || v.kind != EMBI_JSON_NUMBER)
        return status;
    c->said = true;
    if (!embi_json_u64(&v, &x) || x != c->rows->rows)
        embi_json_edit_u64(&c->text.json, &v, c->rows->rows);
    return EMB_OK;
}

/* Where no key had the number of rows that there were, the text model's is wrong, or that at the
 * top. Where that number stays, both can be told to be right or wrong. */
static emb_status mend_config(struct config_edit *c, emb_err *err)
{
    bool stays = c->rows->rows == c->rows->old_rows;
    emb_status status = EMB_OK;
    if (stays || !c->said)
        status = mend_object(c, c->objects.text, err);
    if (!status && c->objects.text > 0 && (stays || !c->said))
        status = mend_object(c, 0, err);
    return status;
}

static emb_status edit_config(struct config_edit *c, emb_err *err)
{
    emb_status status = embi_config_objects_find(c->text.json.s, c->text.json.n, &c->objects, err);
    for (int i = 0; !status && i < c->objects.n; i++)
        status = edit_object(c, i, err);
    if (!status)
        status = mend_config(c, err);
    return status ? embi_fail_in(err, "config.json") : EMB_OK;
}

emb_status embi_config_edit_rows(const struct embi_env *env, const char *dir,
                                 const struct embi_config_rows *rows, struct embi_file_edits *edits,
                                 emb_err *err)
{
    struct config_edit c = {.rows = rows};
    emb_status status = embi_text_edit_open(&c.text, env, dir, "config.json", edits, err);
    if (!status && c.text.json.s)
        status = edit_config(&c, err);
    if (!status)
        status = embi_text_edit_keep(&c.text, edits, err);
    if (!status && c.text.json.s && !c.said && rows->old_rows != rows->rows)
        embi_log(env, EMB_LOG_WARNING, dir,
                 "config.json does not say how many rows the embedding has: expected vocab_size");
    embi_text_edit_close(&c.text);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The index of shards
 */

/* The number as the file spells it: digits, digits and ".0", or either in quotes. */
static bool read_total(const struct embi_json_value *v, struct embi_json_value *digits)
{
    uint64_t x;
    *digits = (struct embi_json_value){EMBI_JSON_NUMBER, false, v->s, v->n};
    if (v->kind == EMBI_JSON_STRING) {
        digits->s++;
        digits->n -= 2;
    }
    if (digits->n > 2 && memcmp(digits->s + digits->n - 2, ".0", 2) == 0)
        digits->n -= 2;
    return (v->kind == EMBI_JSON_NUMBER || v->kind == EMBI_JSON_STRING) &&
           embi_json_u64(digits, &x);
}

/* The number becomes `sum`, or where that is 0 grows by `more`. */
static void edit_total(const struct embi_env *env, struct embi_text_edit *text, const char *key,
                       const struct embi_json_value *v, uint64_t sum, int64_t more)
{
    struct embi_json_value digits;
    uint64_t x = 0, y = sum;
    bool known = read_total(v, &digits) && embi_json_u64(&digits, &x) &&
                 (sum || !__builtin_add_overflow(x, more, &y));
    if (known && y != x)
        embi_json_edit_u64(&text->json, &digits, y);
    else if (!known && more)
        embi_log(env, EMB_LOG_WARNING, text->name, "metadata: %s is no whole number: it stays",
                 key);
}

static emb_status edit_metadata(const struct embi_env *env, struct embi_text_edit *text,
                                const struct embi_index_totals *t, emb_err *err)
{
    struct {
        const char *key;
        uint64_t sum;
        int64_t more;
    } totals[] = {{"total_size", t->bytes, t->more_bytes},
                  {"total_parameters", t->more_params ? t->params : 0, t->more_params}};
    struct embi_json_value metadata, v;
    emb_status status = embi_json_member_of(text->json.s, text->json.n, "metadata", &metadata, err);
    if (!status && metadata.kind != EMBI_JSON_OBJECT) {
        embi_log(env, EMB_LOG_WARNING, text->name,
                 "there are no metadata, without which loaders fail");
        return EMB_OK;
    }
    for (size_t i = 0; !status && i < EMBI_LEN(totals); i++) {
        status = embi_json_member_of(metadata.s, metadata.n, totals[i].key, &v, err);
        if (!status && v.kind != 0)
            edit_total(env, text, totals[i].key, &v, totals[i].sum, totals[i].more);
    }
    return status;
}

emb_status embi_index_edit_totals(const struct embi_env *env, const char *dir, const char *name,
                                  const struct embi_index_totals *totals,
                                  struct embi_file_edits *edits, emb_err *err)
{
    struct embi_text_edit text;
    emb_status status = embi_text_edit_open(&text, env, dir, name, edits, err);
    if (!status && text.json.s) {
        status = edit_metadata(env, &text, totals, err);
        status = status ? embi_fail_in(err, "%s", name) : embi_text_edit_keep(&text, edits, err);
    }
    embi_text_edit_close(&text);
    return status;
}
