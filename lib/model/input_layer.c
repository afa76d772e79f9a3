/* input_layer.c - see input_layer.h. The model type selects a rule (input_rules.c), config.json
 * fills in its numbers, and tensors are found by their names, as the input embedding is.
 *
 * Without a rule nothing is guessed but the table of positions of a file that has just one.
 */
#include "model/input_layer.h"

#include "model/architectures.h"
#include "model/input_config.h"
#include "model/positions.h"
#include "util/err.h"

#include <math.h>
#include <stdio.h>

struct search {
    struct embi_model *m; /* NULL: the table is part of none */
    const emb_table *table;
    const struct embi_input_wants *wants;
    const struct embi_input_rule *rule; /* NULL: none is known */
    struct embi_input_config config;
    struct embi_input_layer *layer;
};

static const char *type_of(const struct embi_model *m)
{
    if (!m || !m->config.type[0])
        return NULL;
    return m->config.type;
}

/* Does what is wanted ask for positions by the model's own rule? */
static bool asks_rule(const struct embi_input_wants *w)
{
    return w->whole || w->positions == EMB_POSITIONS_AUTO || w->positions == EMB_POSITIONS_LEARNED;
}

/* ------------------------------------------------------------------------------------------------
 * Tensors
 */

/* The tensor that has the name for sure, or the only one that has it inside another model. */
static size_t find(const struct embi_weights *w, const char *name)
{
    size_t inside = EMBI_NO_TENSOR;
    bool several = false;
    for (size_t i = 0; i < w->n_tensors; i++) {
        enum embi_name_match how = embi_name_match(w->tensors[i].name, name);
        if (how == EMBI_NAME_SURE)
            return i;
        if (how == EMBI_NAME_OTHER)
            continue;
        several = several || inside != EMBI_NO_TENSOR;
        inside = i;
    }
    return several ? EMBI_NO_TENSOR : inside;
}

/* `name` and one of two endings: LayerNorms of older files have gamma and beta. */
static size_t find_part(const struct embi_weights *w, const char *name, const char *end,
                        const char *older)
{
    char whole[128];
    snprintf(whole, sizeof whole, "%s.%s", name, end);
    size_t i = find(w, whole);
    if (i != EMBI_NO_TENSOR || !older)
        return i;
    snprintf(whole, sizeof whole, "%s.%s", name, older);
    return find(w, whole);
}

/* Tensor i, of one axis or of two. */
static emb_status open_side(struct embi_model *m, size_t i, int ndim, struct embi_side *side,
                            emb_err *err)
{
    const struct embi_tensor *t;
    const void *data;
    char name[EMBI_SHOW_MAX];
    emb_status status = embi_weights_read(&m->weights, i, &t, err);
    if (status)
        return status;
    side->name = m->weights.tensors[i].name;
    embi_show(name, side->name);
    if (t->ndim != ndim || t->shape[ndim - 1] == 0 || t->shape[ndim - 1] > UINT32_MAX)
        return embi_fail(err, EMB_BAD_DATA, -1, "%s: expected %s, found %d axes", name,
                         ndim == 2 ? "rows of numbers" : "a vector", t->ndim);
    if (!emb_dtype_is_float(t->dtype) || t->swap || t->strided || t->fortran)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s: expected floats, row after row, found %s%s",
                         name, t->type_name,
                         emb_dtype_is_float(t->dtype) ? " in another order" : "");
    status = embi_io_map(t->io, &data, err);
    if (status)
        return embi_fail_in(err, "%s", name);
    side->data = (const char *)data + t->offset;
    side->dtype = t->dtype;
    side->rows = ndim == 2 ? t->shape[0] : 1;
    side->dims = (uint32_t)t->shape[ndim - 1];
    return EMB_OK;
}

static emb_status missing(const struct search *s, const char *name, const char *end, emb_err *err)
{
    emb_status status = embi_weights_whole(&s->m->weights, err);
    return status ? status
                  : embi_fail(err, EMB_UNSUPPORTED, -1, "%s: expected a tensor %s%s, found none",
                              s->layer->type, name, end);
}

/* Is the side as wide as what it meets? */
static emb_status check_width(const struct search *s, const struct embi_side *side, emb_err *err)
{
    char name[EMBI_SHOW_MAX];
    if (side->dims == s->layer->dims)
        return EMB_OK;
    return embi_fail(err, EMB_BAD_DATA, -1, "%s is %u wide, what it meets %u",
                     embi_show(name, side->name), side->dims, s->layer->dims);
}

/* ------------------------------------------------------------------------------------------------
 * The steps
 */

/* Marian's loaders make as many rows as the config says; M2M-100's as many as are needed. */
static uint64_t computed_positions(const struct search *s)
{
    bool ends = s->rule->kind == EMBI_POS_HALVES && s->config.max_positions >= 1;
    return ends ? (uint64_t)fmin(s->config.max_positions, 0x1p52)
                : EMB_POSITION_MAX - s->layer->offset;
}

static emb_status take_positions(struct search *s, emb_err *err)
{
    struct embi_input_layer *l = s->layer;
    if (l->kind != EMBI_POS_LEARNED) {
        l->n_positions = computed_positions(s);
        return EMB_OK;
    }
    size_t i = find(&s->m->weights, s->rule->positions);
    if (i == EMBI_NO_TENSOR)
        return missing(s, s->rule->positions, "", err);
    emb_status status = open_side(s->m, i, 2, &l->positions, err);
    if (!status)
        status = check_width(s, &l->positions, err);
    l->n_positions = l->positions.rows > l->offset ? l->positions.rows - l->offset : 0;
    return status;
}

static emb_status take_types(struct search *s, bool *taken, emb_err *err)
{
    size_t i = find(&s->m->weights, s->rule->token_types);
    *taken = i != EMBI_NO_TENSOR;
    if (!*taken && (s->config.types >= 1 || s->wants->types))
        return missing(s, s->rule->token_types, "", err);
    emb_status status = *taken ? open_side(s->m, i, 2, &s->layer->types, err) : EMB_OK;
    return status || !*taken ? status : check_width(s, &s->layer->types, err);
}

static emb_status take_norm(struct search *s, emb_err *err)
{
    const struct embi_weights *w = &s->m->weights;
    struct embi_input_layer *l = s->layer;
    size_t weight = find_part(w, s->rule->norm, "weight", "gamma");
    size_t bias = find_part(w, s->rule->norm, "bias", "beta");
    if (weight == EMBI_NO_TENSOR)
        return missing(s, s->rule->norm, ".weight", err);
    l->eps = s->config.eps > 0 ? s->config.eps : s->rule->eps;
    emb_status status = open_side(s->m, weight, 1, &l->norm, err);
    if (!status)
        status = check_width(s, &l->norm, err);
    if (!status && bias != EMBI_NO_TENSOR)
        status = open_side(s->m, bias, 1, &l->norm_bias, err);
    if (!status && l->norm_bias.data)
        status = check_width(s, &l->norm_bias, err);
    return status;
}

/* A matrix [D, d] that is stored; where none is, the model must not be wider than its table. */
static emb_status take_project(struct search *s, bool *taken, emb_err *err)
{
    struct embi_input_layer *l = s->layer;
    size_t weight = find_part(&s->m->weights, s->rule->project, "weight", NULL);
    size_t bias = find_part(&s->m->weights, s->rule->project, "bias", NULL);
    *taken = weight != EMBI_NO_TENSOR;
    if (!*taken)
        return s->config.hidden_size > 0 && s->config.hidden_size != l->dims
                   ? missing(s, s->rule->project, ".weight", err)
                   : EMB_OK;
    emb_status status = open_side(s->m, weight, 2, &l->project, err);
    if (!status)
        status = check_width(s, &l->project, err);
    if (!status && (l->project.rows == 0 || l->project.rows > UINT32_MAX))
        status = embi_fail(err, EMB_BAD_DATA, -1, "a projection to %llu dimensions makes no sense",
                           (unsigned long long)l->project.rows);
    if (status)
        return status;
    l->dims = (uint32_t)l->project.rows;
    if (bias != EMBI_NO_TENSOR)
        status = open_side(s->m, bias, 1, &l->project_bias, err);
    return status || bias == EMBI_NO_TENSOR ? status : check_width(s, &l->project_bias, err);
}

/* Is the step wanted, and is it there? */
static emb_status take_step(struct search *s, enum embi_input_step step, bool *taken, emb_err *err)
{
    const struct embi_input_wants *w = s->wants;
    struct embi_input_layer *l = s->layer;
    *taken = false;
    switch (step) {
    case EMBI_STEP_END: break;
    case EMBI_STEP_TYPE: return w->whole || w->types ? take_types(s, taken, err) : EMB_OK;
    case EMBI_STEP_POSITION:
        *taken = l->sinusoidal || (asks_rule(w) && l->kind >= EMBI_POS_LEARNED);
        return *taken && !l->sinusoidal ? take_positions(s, err) : EMB_OK;
    case EMBI_STEP_NORM: *taken = w->whole || w->norm; return *taken ? take_norm(s, err) : EMB_OK;
    case EMBI_STEP_PROJECT: return w->whole ? take_project(s, taken, err) : EMB_OK;
    }
    return EMB_OK;
}

static void add_step(struct embi_input_layer *l, enum embi_input_step step)
{
    size_t n = 0;
    while (l->steps[n] != EMBI_STEP_END)
        n++;
    l->steps[n] = step;
}

static bool has_step(const struct embi_input_layer *l, enum embi_input_step step)
{
    size_t i = 0;
    while (i < EMBI_INPUT_STEPS && l->steps[i] != EMBI_STEP_END && l->steps[i] != step)
        i++;
    return i < EMBI_INPUT_STEPS && l->steps[i] == step;
}

static emb_status take_steps(struct search *s, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < EMBI_INPUT_STEPS; i++) {
        bool taken;
        status = take_step(s, s->rule->steps[i], &taken, err);
        if (!status && taken)
            add_step(s->layer, s->rule->steps[i]);
    }
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * What the rule and the config say
 */

static void take_scale(struct search *s)
{
    struct embi_input_layer *l = s->layer;
    enum embi_said said = s->config.scale_embedding;
    double root = sqrt((double)s->table->layout.dims);
    switch (s->rule->scale) {
    case EMBI_SCALE_NONE: break;
    case EMBI_SCALE_ROOT_ROUNDED:
        l->scale = root;
        l->scale_rounded = true;
        break;
    case EMBI_SCALE_ROOT_ON: l->scale = said != EMBI_NO ? root : 0; break;
    case EMBI_SCALE_ROOT_OFF: l->scale = said == EMBI_YES ? root : 0; break;
    case EMBI_SCALE_MULTIPLIER: l->scale = s->config.embedding_multiplier; break;
    }
}

static void take_kind(struct search *s)
{
    struct embi_input_layer *l = s->layer;
    l->kind = s->rule->kind;
    l->padding = s->rule->padding;
    l->offset = s->rule->offset;
    if (l->kind == EMBI_POS_ROTARY && s->config.alibi == EMBI_YES)
        l->kind = EMBI_POS_RELATIVE;
    if (l->kind == EMBI_POS_LEARNED && s->config.position_biased_input == EMBI_NO)
        l->kind = EMBI_POS_RELATIVE;
    if (l->padding == EMBI_PAD_ID) {
        l->pad = embi_positions_pad(&s->m->config);
        l->offset = embi_min(l->pad, EMB_POSITION_MAX / 2) + 1; /* no id is as large */
    }
}

static emb_status lacks(const struct search *s, const char *what, emb_err *err)
{
    const char *type = s->layer->type;
    return type ? embi_fail(err, EMB_UNSUPPORTED, -1,
                            "%s: a model of type %s has none that is known", what, type)
                : embi_fail(err, EMB_UNSUPPORTED, -1,
                            "%s: the table is part of no model with a config.json", what);
}

/* Everything that was asked for is there. */
static emb_status check_taken(struct search *s, emb_err *err)
{
    const struct embi_input_wants *w = s->wants;
    struct embi_input_layer *l = s->layer;
    if (w->types && !has_step(l, EMBI_STEP_TYPE))
        return lacks(s, "a table of token types", err);
    if (w->norm && !has_step(l, EMBI_STEP_NORM))
        return lacks(s, "a LayerNorm of the input", err);
    if (w->positions == EMB_POSITIONS_LEARNED && l->kind != EMBI_POS_LEARNED)
        return lacks(s, "a table of learned positions", err);
    l->not_added = asks_rule(w) && l->kind < EMBI_POS_LEARNED;
    return EMB_OK;
}

static emb_status use_rule(struct search *s, emb_err *err)
{
    if (s->config.other_positions && asks_rule(s->wants))
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "config.json: position_embedding_type is another than absolute");
    take_kind(s);
    if (s->wants->whole)
        take_scale(s);
    emb_status status = take_steps(s, err);
    return status ? status : check_taken(s, err);
}

/* ------------------------------------------------------------------------------------------------
 * Without a rule
 */

/* The only tensor that is called as tables of positions are, and is as wide as the rows. */
static emb_status find_positions(struct search *s, emb_err *err)
{
    struct embi_input_layer *l = s->layer;
    struct embi_weights *w = &s->m->weights;
    size_t found = EMBI_NO_TENSOR;
    for (size_t i = 0; i < w->n_tensors; i++) {
        if (!embi_names_positions(w->tensors[i].name))
            continue;
        if (found != EMBI_NO_TENSOR)
            return lacks(s, "a single table of learned positions", err);
        found = i;
    }
    if (found == EMBI_NO_TENSOR)
        return lacks(s, "a table of learned positions", err);
    l->kind = EMBI_POS_LEARNED;
    emb_status status = open_side(s->m, found, 2, &l->positions, err);
    l->n_positions = l->positions.rows;
    add_step(l, EMBI_STEP_POSITION);
    return status ? status : check_width(s, &l->positions, err);
}

static emb_status use_no_rule(struct search *s, emb_err *err)
{
    const struct embi_input_wants *w = s->wants;
    if (w->whole && s->m && s->m->config.gguf)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "the input of a model is not made out of GGUF files");
    if (w->whole && s->layer->type)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "what a model of type %s does before its first block is not known here",
                         s->layer->type);
    if (w->whole || w->positions == EMB_POSITIONS_AUTO)
        return lacks(s, w->whole ? "the input of a model" : "positions", err);
    if (w->types)
        return lacks(s, "a table of token types", err);
    if (w->norm)
        return lacks(s, "a LayerNorm of the input", err);
    if (w->positions != EMB_POSITIONS_LEARNED)
        return EMB_OK;
    return s->m ? find_positions(s, err) : lacks(s, "a table of learned positions", err);
}

/* ------------------------------------------------------------------------------------------------
 */

/* All of the input is that of the input embedding: another table, a head say, has none. */
static emb_status check_table(const struct search *s, emb_err *err)
{
    size_t input;
    bool same = true;
    if (!s->wants->whole || !s->rule)
        return EMB_OK;
    emb_status status = embi_choose_input(s->m, &input, err);
    if (!status && input != s->m->table)
        status = embi_weights_same(&s->m->weights, input, s->m->table, &same, err);
    return status || same ? status
                          : embi_fail(err, EMB_UNSUPPORTED, -1,
                                      "the input of a model is made of its input embedding, which "
                                      "this table is not");
}

/* Whatever positions the model has, these are counted from 0; rows get them where the model adds
 * its own, else first. */
static void use_sinusoids(struct embi_input_layer *l)
{
    if (!has_step(l, EMBI_STEP_POSITION)) {
        memmove(l->steps + 1, l->steps, (EMBI_INPUT_STEPS - 1) * sizeof l->steps[0]);
        l->steps[0] = EMBI_STEP_POSITION;
    }
    l->n_positions = EMB_POSITION_MAX;
    l->padding = EMBI_PAD_NONE;
    l->offset = 0;
}

emb_status embi_input_layer_open(const emb_table *table, const struct embi_input_wants *wants,
                                 struct embi_input_layer *layer, emb_err *err)
{
    struct search s = {.m = table->model.state, .table = table, .wants = wants, .layer = layer};
    emb_status status = EMB_OK;
    *layer = (struct embi_input_layer){.dims = table->layout.dims};
    layer->type = type_of(s.m);
    layer->sinusoidal = !wants->whole && wants->positions == EMB_POSITIONS_SINUSOIDAL;
    s.rule = s.m ? embi_input_rule_of(&s.m->config) : NULL;
    if (s.rule)
        status = embi_input_config_open(s.m->env, s.m->dir, &s.config, err);
    if (!status)
        status = check_table(&s, err);
    if (!status)
        status = s.rule ? use_rule(&s, err) : use_no_rule(&s, err);
    if (!status && layer->sinusoidal)
        use_sinusoids(layer);
    return status;
}
