/* vocab_tensors.c - see vocab_tensors.h: names first, then shapes, then bytes.
 *
 * With an architecture its own names decide what is an output table; elsewhere, names that many
 * use. Names alone never do: a table has two axes, and what is taken by a name of any model's has
 * the embedding's number of rows.
 */
#include "model/vocab_tensors.h"

#include "model/architectures.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

/* Names of output biases, by their end at a dot. */
static const char *const bias_names[] = {
    "cls.predictions.bias", "cls.predictions.decoder.bias",
    "predictions.bias",     "predictions.decoder.bias",
    "lm_head.bias",         "lm_head.decoder.bias",
    "vocab_projector.bias", "generator_lm_head.bias",
    "lm_loss.bias",         "embed_out.bias",
    "proj_out.bias",        "output_projection.bias",
    "final_logits_bias",
};

static bool ends_in(emb_str name, const char *end)
{
    size_t n = strlen(end);
    return name.n >= n && memcmp(name.s + name.n - n, end, n) == 0 &&
           (name.n == n || name.s[name.n - n - 1] == '.');
}

#define GGUF_BIAS "output.bias"
#define PER_LAYER "embed_tokens_per_layer.weight"

static bool is_bias_name(emb_str name)
{
    for (size_t i = 0; i < EMBI_LEN(bias_names); i++)
        if (ends_in(name, bias_names[i]))
            return true;
    return false;
}

struct finding {
    struct embi_model *m;
    const struct embi_architecture *arch;
    struct embi_vocab_tensors *v;
    const struct embi_tensor *embedding;
    size_t head; /* the tensor, or EMBI_NO_TENSOR */
};

static emb_status add(struct finding *f, size_t tensor, enum embi_vocab_role role, int axis,
                      emb_err *err)
{
    const struct embi_tensor *t;
    struct embi_vocab_tensors *v = f->v;
    emb_status status = embi_weights_read(&f->m->weights, tensor, &t, err);
    if (status)
        return status;
    size_t bytes = (v->n + 1) * sizeof *v->list;
    struct embi_vocab_tensor *list = realloc(v->list, bytes);
    if (!list)
        return embi_fail_memory(err, bytes, "the list of vocabulary tensors");
    v->list = list;
    list[v->n] = (struct embi_vocab_tensor){tensor, role, axis, t->shape[axis], v->n};
    v->n++;
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * What a tensor is
 */

/* One of the architecture's names? Copies may have them inside another model. */
static bool has_name(emb_str tensor, const char *const *names, size_t n)
{
    for (size_t k = 0; k < n && names[k]; k++)
        if (embi_name_match(tensor, names[k]) != EMBI_NAME_OTHER)
            return true;
    return false;
}

/* [V], or [1, V]; *axis is V's. */
static bool is_bias_shape(const struct embi_tensor *t, int *axis)
{
    *axis = t->ndim - 1;
    return t->ndim == 1 || (t->ndim == 2 && t->shape[0] == 1);
}

/* Is it an output bias? Names that other layers may have too need the length, `rows`. */
static bool is_bias(uint64_t rows, emb_str name, const struct embi_tensor *t, int *axis)
{
    if (!is_bias_shape(t, axis))
        return false;
    if (is_bias_name(name))
        return true;
    return ends_in(name, "decoder.bias") && t->shape[*axis] == rows &&
           embi_name_match(name, "decoder.bias") == EMBI_NAME_SURE;
}

/* A table with a name that is no proof: it belongs here only if its bytes are the embedding's. */
static emb_status look_at_name(struct finding *f, size_t i, enum embi_role role, emb_err *err)
{
    bool same = false;
    char shown[EMBI_SHOW_MAX], type[EMBI_SHOW_MAX];
    struct embi_weights *w = &f->m->weights;
    if (role == EMBI_ROLE_INPUT || !f->arch)
        return add(f, i, role == EMBI_ROLE_INPUT ? EMBI_VOCAB_EMBEDDING : EMBI_VOCAB_HEAD, 0, err);
    emb_status status = embi_weights_same(w, f->v->list[0].tensor, i, &same, err);
    if (status || same)
        return status ? status : add(f, i, EMBI_VOCAB_HEAD, 0, err);
    embi_log(f->m->env, EMB_LOG_WARNING, w->files[w->tensors[i].file].path,
             "%s has %" PRIu64 " rows too, and is no output table of a %s model: it stays as it is",
             embi_show(shown, w->tensors[i].name), f->embedding->shape[0],
             embi_show(type, (emb_str){f->m->config.type, strlen(f->m->config.type)}));
    return EMB_OK;
}

/* Names, as far as they go without a header. */
static bool may_belong(emb_str name, enum embi_role *role)
{
    int rank;
    *role = embi_role_of(name, &rank);
    return *role == EMBI_ROLE_INPUT || *role == EMBI_ROLE_HEAD || is_bias_name(name) ||
           ends_in(name, "decoder.bias") || ends_in(name, PER_LAYER);
}

/* A table, or none. Those with the architecture's own names count whatever their length. */
static emb_status look_at_table(struct finding *f, size_t i, const struct embi_tensor *t,
                                enum embi_role role, emb_err *err)
{
    const struct embi_architecture *arch = f->arch;
    emb_str name = f->m->weights.tensors[i].name;
    bool input = role == EMBI_ROLE_INPUT, head = role == EMBI_ROLE_HEAD;
    if (ends_in(name, PER_LAYER))
        return add(f, i, EMBI_VOCAB_PER_LAYER, 0, err);
    if (i == f->head)
        return add(f, i, EMBI_VOCAB_HEAD, 0, err);
    if (t->shape[1] != f->embedding->shape[1] || (!input && !head))
        return EMB_OK;
    if (head && arch && has_name(name, arch->head, EMBI_ARCH_HEADS))
        return add(f, i, EMBI_VOCAB_HEAD, 0, err);
    if (input && arch && has_name(name, arch->input, EMBI_ARCH_INPUTS))
        return add(f, i, EMBI_VOCAB_EMBEDDING, 0, err);
    return t->shape[0] == f->embedding->shape[0] ? look_at_name(f, i, role, err) : EMB_OK;
}

static emb_status look_at(struct finding *f, size_t i, emb_err *err)
{
    const struct embi_tensor *t;
    enum embi_role role;
    int axis;
    emb_str name = f->m->weights.tensors[i].name;
    if (!name.s || i == f->v->list[0].tensor || !may_belong(name, &role))
        return EMB_OK;
    emb_status status = embi_weights_read(&f->m->weights, i, &t, err);
    if (status)
        return status;
    if (is_bias(f->embedding->shape[0], name, t, &axis))
        return add(f, i, EMBI_VOCAB_BIAS, axis, err);
    return t->ndim == 2 ? look_at_table(f, i, t, role, err) : EMB_OK;
}

emb_status embi_output_bias_find(struct embi_model *m, uint64_t rows, size_t *tensor, emb_err *err)
{
    struct embi_weights *w = &m->weights;
    *tensor = EMBI_NO_TENSOR;
    for (size_t i = 0; i < w->n_tensors && *tensor == EMBI_NO_TENSOR; i++) {
        const struct embi_tensor *t;
        emb_str name = w->tensors[i].name;
        int axis;
        bool gguf = m->config.gguf && embi_str_is(name, GGUF_BIAS);
        if (!name.s || (!gguf && !is_bias_name(name) && !ends_in(name, "decoder.bias")))
            continue;
        emb_status status = embi_weights_read(w, i, &t, err);
        if (status)
            return status;
        if (gguf || is_bias(rows, name, t, &axis))
            *tensor = i;
    }
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Copies
 */

static bool same_kind(const struct embi_vocab_tensor *a, const struct embi_vocab_tensor *b)
{
    bool tables = a->role <= EMBI_VOCAB_HEAD && b->role <= EMBI_VOCAB_HEAD;
    return tables || (a->role == b->role && a->axis == b->axis);
}

/* list[i] is a copy of the first before it that has its bytes. */
static emb_status find_leader(struct finding *f, size_t i, emb_err *err)
{
    struct embi_vocab_tensor *list = f->v->list;
    for (size_t k = 0; k < i; k++) {
        bool same = false;
        emb_status status = EMB_OK;
        if (list[k].leader == k && same_kind(&list[k], &list[i]))
            status = embi_weights_same(&f->m->weights, list[k].tensor, list[i].tensor, &same, err);
        if (status)
            return status;
        if (!same)
            continue;
        list[i].leader = k;
        list[i].role = list[k].role;
        return EMB_OK;
    }
    return EMB_OK;
}

static emb_status find_all(struct finding *f, emb_err *err)
{
    size_t input = f->m->table; /* chosen before: warnings are said once */
    emb_status status = EMB_OK;
    if (input == EMBI_NO_TENSOR)
        status = embi_choose_input(f->m, &input, err);
    if (!status)
        status = embi_weights_read(&f->m->weights, input, &f->embedding, err);
    if (!status && f->embedding->ndim != 2)
        status = embi_fail(err, EMB_UNSUPPORTED, -1, "the embedding has %d axes, expected [V, d]",
                           f->embedding->ndim);
    if (!status)
        status = add(f, input, EMBI_VOCAB_EMBEDDING, 0, err);
    if (!status)
        status = embi_choose_head(f->m, input, &f->head, err);
    for (size_t i = 0; !status && i < f->m->weights.n_tensors; i++)
        status = look_at(f, i, err);
    for (size_t i = 1; !status && i < f->v->n; i++)
        status = find_leader(f, i, err);
    return status;
}

emb_status embi_vocab_tensors_find(struct embi_model *m, struct embi_vocab_tensors *v, emb_err *err)
{
    struct finding f = {.m = m, .arch = embi_architecture_of(&m->config), .v = v};
    *v = (struct embi_vocab_tensors){.head = EMBI_NO_TENSOR};
    f.head = EMBI_NO_TENSOR;
    emb_status status = find_all(&f, err);
    for (size_t i = 0; !status && i < v->n; i++)
        if (v->list[i].tensor == f.head)
            v->head = i;
    if (status)
        embi_vocab_tensors_free(v);
    return status;
}

void embi_vocab_tensors_free(struct embi_vocab_tensors *v)
{
    free(v->list);
    *v = (struct embi_vocab_tensors){.head = EMBI_NO_TENSOR};
}

const char *embi_vocab_role_name(const struct embi_vocab_tensors *v, size_t i)
{
    static const char *const names[][2] = {
        {"embedding", "copy of embedding"},
        {"head", "copy of head"},
        {"bias", "copy of bias"},
        {"per-layer table", "copy of per-layer table"},
    };
    return names[v->list[i].role][v->list[i].leader != i];
}
