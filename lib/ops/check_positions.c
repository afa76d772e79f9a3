/* check_positions.c - tables of learned positions: as many rows as config.json says, and one for
 * the pad token where positions are counted from it. Both are what loaders make the table by
 * (docs/formats/model.md, "what has to agree").
 */
#include "ops/check_model.h"

#include "model/positions.h"
#include "model/text_edit.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdio.h>

/* What config.json says of the length of texts. */
struct length {
    const char *key; /* NULL: nothing */
    uint64_t positions;
};

static emb_status read_length(const struct embi_checking *c, struct length *length, emb_err *err)
{
    static const char *const keys[] = {"n_positions", "max_position_embeddings"};
    const struct embi_sidecar *config = &c->config;
    emb_status status = EMB_OK;
    *length = (struct length){0};
    for (size_t i = 0; !status && config->io && !length->key && i < EMBI_LEN(keys); i++) {
        struct embi_json_value v;
        status = embi_json_member_of(config->s, config->n, keys[i], &v, err);
        if (!status && embi_json_u64(&v, &length->positions))
            length->key = keys[i];
    }
    return status ? embi_fail_in(err, "config.json") : EMB_OK;
}

static void check_rows(struct embi_checking *c, const struct length *length, uint64_t extra,
                       const struct embi_tensor *t)
{
    char shown[EMBI_SHOW_MAX], more[48] = "";
    uint64_t rows;
    if (!length->key || (embi_add(length->positions, extra, &rows) && rows == t->shape[0]))
        return;
    if (extra)
        (void)snprintf(more, sizeof more, ", %" PRIu64 " of them before position 0", extra);
    embi_check_say(c, "config", NULL,
                   "config.json: %s is %" PRIu64 ", the positions %s have %" PRIu64 " rows%s",
                   length->key, length->positions, embi_show(shown, t->name), t->shape[0], more);
}

static void check_pad(struct embi_checking *c, const struct embi_tensor *t)
{
    char shown[EMBI_SHOW_MAX];
    uint64_t pad = embi_positions_pad(&c->model->config);
    if (t->shape[0] == 0 || pad >= t->shape[0] - 1)
        embi_check_say(c, "special id", NULL,
                       "config.json: pad_token_id is %" PRIu64 ", the positions %s, which are "
                       "counted from it, have %" PRIu64 " rows",
                       pad, embi_show(shown, t->name), t->shape[0]);
}

emb_status embi_check_positions(struct embi_checking *c, emb_err *err)
{
    struct embi_weights *w = &c->model->weights;
    struct length length;
    int extra = embi_positions_extra(&c->model->config);
    if (extra < 0)
        return EMB_OK;
    emb_status status = read_length(c, &length, err);
    for (size_t i = 0; !status && i < w->n_tensors; i++) {
        const struct embi_tensor *t;
        if (!embi_names_positions(w->tensors[i].name))
            continue;
        status = embi_weights_read(w, i, &t, err);
        if (status || t->ndim != 2)
            continue;
        check_rows(c, &length, (uint64_t)extra, t);
        if (embi_positions_follow_pad(&c->model->config))
            check_pad(c, t);
    }
    return status;
}
