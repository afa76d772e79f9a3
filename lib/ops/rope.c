/* rope.c - emb_rope_open: from options and a model's config.json to frequencies.
 */
#include "ops/rope.h"

#include "model/model_dir.h"
#include "table/table.h"
#include "util/err.h"

#include <math.h>
#include <stdlib.h>

static emb_status read_model(const emb_ctx *ctx, const char *url, struct embi_rope_config *config,
                             emb_err *err)
{
    char *dir = NULL;
    emb_status status = embi_model_dir(&ctx->env, url, &dir, err);
    if (!status)
        status = embi_rope_config_open(&ctx->env, dir, config, err);
    free(dir);
    return status;
}

/* What the options say, in place of what the model says. */
static emb_status take_options(const emb_rope_opts *o, struct embi_rope_config *c, emb_err *err)
{
    if (o->scaling) {
        embi_rope_scaling_free(&c->scaling);
        emb_status status = embi_rope_scaling_parse(o->scaling, &c->scaling, err);
        if (status)
            return status;
    }
    if (c->scaling.max_positions > 0)
        c->max_positions = c->scaling.max_positions;
    c->head_dims = o->dims ? o->dims : c->head_dims;
    c->rotary_dims = o->rotary_dims ? o->rotary_dims : c->rotary_dims;
    c->base = o->base != 0 ? o->base : c->base != 0 ? c->base : 10000;
    c->style = o->style ? o->style : c->style ? c->style : EMB_ROPE_NEOX;
    return EMB_OK;
}

static emb_status settle_dims(const struct embi_rope_config *c, emb_rope_info *info, emb_err *err)
{
    double part = c->partial > 0 ? c->partial : 1, dims = c->head_dims;
    double rotary = c->rotary_dims > 0 ? c->rotary_dims : floor(dims * part);
    if (dims == 0)
        return embi_fail(err, EMB_BAD_ARG, -1, "how many channels does a head have?");
    if (!(dims <= UINT32_MAX) || dims != floor(dims))
        return embi_fail(err, EMB_BAD_ARG, -1, "a head of %g channels makes no sense", dims);
    if (!(rotary >= 2) || rotary > dims || fmod(rotary, 2) != 0)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "%g of %g channels turn: expected an even number from 2 to all of them",
                         rotary, dims);
    info->dims = (uint32_t)dims;
    info->rotary_dims = (uint32_t)rotary;
    return EMB_OK;
}

static emb_status settle(emb_rope *rope, const struct embi_rope_config *c, emb_err *err)
{
    emb_rope_info *info = &rope->info;
    emb_status status = settle_dims(c, info, err);
    if (status)
        return status;
    if (!isfinite(c->base) || !(c->base > 0))
        return embi_fail(err, EMB_BAD_ARG, -1, "base %g: expected a number above 0", c->base);
    size_t bytes = embi_max(info->rotary_dims / 2, 1) * sizeof(double);
    rope->frequencies = malloc(bytes);
    if (!rope->frequencies)
        return embi_fail_memory(err, bytes, "frequencies");
    info->style = c->style;
    info->type = embi_rope_type_name(c->scaling.type);
    info->base = c->base;
    info->frequencies = rope->frequencies;
    return EMB_OK;
}

static emb_status scale(emb_rope *rope, const struct embi_rope_config *c, uint64_t positions,
                        emb_err *err)
{
    const struct embi_rope_scaled what = {&c->scaling, rope->info.rotary_dims, c->base,
                                          c->max_positions, (double)positions};
    return embi_rope_scale(&what, rope->frequencies, &rope->info.scale, err);
}

/* The scaling of a model's own config is data, not an argument. */
static emb_status open_rope(emb_ctx *ctx, const emb_rope_opts *o, struct embi_rope_config *config,
                            emb_rope *rope, emb_err *err)
{
    emb_status status = o->model ? read_model(ctx, o->model, config, err) : EMB_OK;
    if (!status)
        status = take_options(o, config, err);
    if (!status)
        status = settle(rope, config, err);
    if (status)
        return status;
    status = scale(rope, config, o->positions, err);
    if (status != EMB_BAD_ARG || !o->model || o->scaling)
        return status;
    err->status = EMB_BAD_DATA;
    return embi_fail_in(err, "config.json");
}

emb_status emb_rope_open(emb_ctx *ctx, const emb_rope_opts *opts, emb_rope **out, emb_err *err)
{
    struct embi_rope_config config = {0};
    emb_rope_opts o = {0};
    emb_rope *rope = calloc(1, sizeof *rope);
    *out = NULL;
    if (!rope)
        return embi_fail_memory(err, sizeof *rope, "rotary positions");
    memcpy(&o, opts, embi_min(opts->size, sizeof o));
    rope->env = &ctx->env;
    emb_status status = open_rope(ctx, &o, &config, rope, err);
    embi_rope_scaling_free(&config.scaling);
    if (status)
        emb_rope_close(rope);
    else
        *out = rope;
    return status;
}

void emb_rope_close(emb_rope *rope)
{
    if (rope)
        free(rope->frequencies);
    free(rope);
}

const emb_rope_info *emb_rope_describe(const emb_rope *rope)
{
    return &rope->info;
}
