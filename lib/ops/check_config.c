/* check_config.c - sizes in config.json beside the tables. */
#include "ops/check_model.h"

#include "model/architectures.h"
#include "model/text_edit.h"
#include "util/err.h"

#include <inttypes.h>

static void check_size(struct embi_checking *c, const char *key, const struct embi_json_value *v,
                       uint64_t rows, const char *table)
{
    uint64_t x;
    if (embi_json_u64(v, &x) && x != rows)
        embi_check_say(c, "config", EMBI_MEND,
                       "config.json: %s is %" PRIu64 ", %s has %" PRIu64 " rows", key, x, table,
                       rows);
}

/* vocab_size counts what is put out, where that is less than what is taken in. */
static void check_vocab_size(struct embi_checking *c, const struct embi_json_value *v)
{
    size_t head = c->vocab.head;
    uint64_t x;
    bool of_head = head != EMBI_NO_TENSOR && embi_json_u64(v, &x) &&
                   x == c->vocab.list[head].rows &&
                   strncmp(c->model->config.type, "mllama", 6) == 0;
    if (!of_head)
        check_size(c, "vocab_size", v, c->rows, c->name);
}

static void check_per_layer(struct embi_checking *c, const struct embi_json_value *v)
{
    char shown[EMBI_SHOW_MAX];
    for (size_t i = 0; i < c->vocab.n; i++) {
        const struct embi_vocab_tensor *t = &c->vocab.list[i];
        if (t->role == EMBI_VOCAB_PER_LAYER)
            check_size(c, "vocab_size_per_layer_input", v, t->rows,
                       embi_show(shown, c->model->weights.tensors[t->tensor].name));
    }
}

static emb_status check_object(struct embi_checking *c, const struct embi_json_value *object,
                               emb_err *err)
{
    struct embi_json_value v;
    emb_status status = embi_json_member_of(object->s, object->n, "vocab_size", &v, err);
    if (!status)
        check_vocab_size(c, &v);
    if (!status)
        status = embi_json_member_of(object->s, object->n, "vocab_size_per_layer_input", &v, err);
    if (!status)
        check_per_layer(c, &v);
    return status;
}

/* Loaders take the default of the model's class then. Inside another model libraries leave out what
 * is the default; at the top they always write the key. */
static void check_missing(struct embi_checking *c)
{
    char type[EMBI_SHOW_MAX];
    if (c->model->config.vocab_size || c->text_inside || !embi_architecture_of(&c->model->config))
        return;
    embi_check_say(c, "config", NULL,
                   "config.json: there is no vocab_size, so loaders take the default of %s; %s has "
                   "%" PRIu64 " rows",
                   embi_show(type, (emb_str){c->model->config.type, strlen(c->model->config.type)}),
                   c->name, c->rows);
}

/* *key: the first key of the objects that holds a width; NULL: none does. */
static emb_status find_width(const struct embi_checking *c, const char **key, uint64_t *width,
                             emb_err *err)
{
    emb_status status = EMB_OK;
    *key = NULL;
    for (int i = 0; !status && !*key && i < c->n_objects; i++)
        for (size_t k = 0; !status && !*key && k < EMBI_CONFIG_WIDTH_NAMES; k++) {
            struct embi_json_value v;
            const char *name = embi_config_width_names[k];
            status = embi_json_member_of(c->objects[i].s, c->objects[i].n, name, &v, err);
            if (!status && embi_json_u64(&v, width) && *width)
                *key = name;
        }
    return status;
}

/* Models may have several widths, and any of them be the embedding's. What a packed table's shape
 * says is not its width. */
static emb_status check_width(struct embi_checking *c, emb_err *err)
{
    const struct embi_config *config = &c->model->config;
    const struct embi_tensor *t;
    const char *key;
    uint64_t width;
    emb_err packed;
    size_t table = c->vocab.list[0].tensor;
    emb_status status = embi_weights_read(&c->model->weights, table, &t, err);
    if (status || t->ndim != 2 || !embi_architecture_of(config) ||
        embi_config_has_width(config, t->shape[1]) ||
        embi_refuse_quantised(&c->model->weights, table, &packed))
        return status;
    status = find_width(c, &key, &width, err);
    if (!status && key)
        embi_check_say(c, "config", NULL,
                       "config.json: %s is %" PRIu64 ", rows of %s have %" PRIu64 " numbers", key,
                       width, c->name, t->shape[1]);
    return status;
}

/* sentence-transformers has tables that are whole models, and says elsewhere what they are. */
static void say_no_config(struct embi_checking *c)
{
    if (!embi_str_is(c->model->weights.tensors[c->vocab.list[0].tensor].name, "embedding.weight"))
        embi_check_say(c, "config", NULL, "there is no config.json, without which loaders fail");
}

emb_status embi_check_config(struct embi_checking *c, emb_err *err)
{
    emb_status status = EMB_OK;
    if (!c->config.io) {
        say_no_config(c);
        return EMB_OK;
    }
    for (int i = 0; !status && i < c->n_objects; i++)
        status = check_object(c, &c->objects[i], err);
    if (!status)
        status = check_width(c, err);
    if (!status)
        check_missing(c);
    return status ? embi_fail_in(err, "config.json") : EMB_OK;
}
