/* rope_scale.c - the frequencies of rotary positions under each kind of scaling.
 *
 * The formulas of docs/commands/position.md, after the papers that emb.h names, in double
 * precision throughout. r channels turn; pair i has f_i = base^(-2i / r).
 */
#include "ops/rope.h"

#include "util/err.h"

#include <math.h>

static const double two_pi = 6.283185307179586476925286766559;

static emb_status missing(emb_err *err, const struct embi_rope_scaled *w, const char *key)
{
    return embi_fail(err, EMB_BAD_ARG, -1, "scaling: %s: %s is missing",
                     embi_rope_type_name(w->scaling->type), key);
}

static emb_status senseless(emb_err *err, const struct embi_rope_scaled *w, const char *what)
{
    return embi_fail(err, EMB_BAD_ARG, -1, "scaling: %s: %s", embi_rope_type_name(w->scaling->type),
                     what);
}

/* Positions that the model was first trained for; 0: not said. */
static double original(const struct embi_rope_scaled *w)
{
    const struct embi_rope_scaling *s = w->scaling;
    return s->original_positions > 0 ? s->original_positions : w->max_positions;
}

/* How many times as many positions there are now; 0: not said. */
static double factor_of(const struct embi_rope_scaled *w)
{
    const struct embi_rope_scaling *s = w->scaling;
    if (s->factor > 0 || s->original_positions == 0)
        return s->factor;
    return w->max_positions / s->original_positions;
}

static void plain(const struct embi_rope_scaled *w, double base, double *f)
{
    for (uint32_t i = 0; i < w->dims / 2; i++)
        f[i] = pow(base, -(2.0 * i / w->dims));
}

static emb_status linear(const struct embi_rope_scaled *w, double *f, emb_err *err)
{
    if (w->scaling->factor == 0)
        return missing(err, w, "factor");
    plain(w, w->base, f);
    for (uint32_t i = 0; i < w->dims / 2; i++)
        f[i] /= w->scaling->factor;
    return EMB_OK;
}

/* base * stretch^(r / (r - 2)): the last pair turns `stretch` times as slowly, the first as
 * before. */
static emb_status ntk(const struct embi_rope_scaled *w, double stretch, double *f, emb_err *err)
{
    if (w->dims == 2)
        return senseless(err, w, "one pair alone cannot be stretched: expected 4 channels or more");
    if (!(stretch > 0))
        return senseless(err, w, "with this factor the base would not be above 0");
    double r = w->dims;
    plain(w, w->base * pow(stretch, r / (r - 2)), f);
    return EMB_OK;
}

static emb_status static_ntk(const struct embi_rope_scaled *w, double *f, emb_err *err)
{
    return w->scaling->factor > 0 ? ntk(w, w->scaling->factor, f, err) : missing(err, w, "factor");
}

/* Nothing happens up to the positions of the model. Some configs say the stretch itself, alpha. */
static emb_status dynamic(const struct embi_rope_scaled *w, double *f, emb_err *err)
{
    const struct embi_rope_scaling *s = w->scaling;
    double most = w->max_positions > 0 ? w->max_positions : s->original_positions;
    if (s->alpha > 0)
        return ntk(w, s->alpha, f, err);
    if (s->factor == 0)
        return missing(err, w, "factor");
    if (most == 0)
        return missing(err, w, "max_position_embeddings");
    return ntk(w, s->factor * fmax(w->positions, most) / most - (s->factor - 1), f, err);
}

/* The pair that makes that many turns in the original positions. */
static double pair_of_turns(const struct embi_rope_scaled *w, double turns)
{
    return w->dims * log(original(w) / (turns * two_pi)) / (2 * log(w->base));
}

static double magnitude(double factor, double m)
{
    return factor <= 1 ? 1 : 0.1 * m * log(factor) + 1;
}

static double yarn_magnitude(const struct embi_rope_scaling *s, double factor)
{
    if (s->attention_factor > 0)
        return s->attention_factor;
    return s->mscale > 0 && s->mscale_all_dim > 0
               ? magnitude(factor, s->mscale) / magnitude(factor, s->mscale_all_dim)
               : magnitude(factor, 1);
}

/* Pairs that turn often keep their frequency, those that turn seldom get it divided. */
static emb_status yarn(const struct embi_rope_scaled *w, double *f, double *scale, emb_err *err)
{
    const struct embi_rope_scaling *s = w->scaling;
    double factor = factor_of(w);
    if (factor == 0)
        return missing(err, w, "factor");
    if (original(w) == 0)
        return missing(err, w, "original_max_position_embeddings");
    if (!(w->base > 1))
        return senseless(err, w, "expected a base above 1");
    double low = pair_of_turns(w, s->beta_fast > 0 ? s->beta_fast : 32);
    double high = pair_of_turns(w, s->beta_slow > 0 ? s->beta_slow : 1);
    low = fmax(s->no_truncate ? low : floor(low), 0);
    high = fmin(s->no_truncate ? high : ceil(high), w->dims - 1.0);
    high += low == high ? 0.001 : 0; /* as the reference does, so that there is a slope */
    plain(w, w->base, f);
    for (uint32_t i = 0; i < w->dims / 2; i++) {
        double ramp = fmin(fmax((i - low) / (high - low), 0), 1);
        f[i] = f[i] * (1 - ramp) + f[i] / factor * ramp;
    }
    *scale = yarn_magnitude(s, factor);
    return EMB_OK;
}

static double longrope_magnitude(const struct embi_rope_scaled *w, bool longer)
{
    const struct embi_rope_scaling *s = w->scaling;
    double said = longer ? s->long_mscale : s->short_mscale, factor = factor_of(w);
    if (said > 0 || s->attention_factor > 0)
        return said > 0 ? said : s->attention_factor;
    return factor > 1 ? sqrt(1 + log(factor) / log(original(w))) : 1;
}

/* A factor for each pair: one list up to the original positions, another beyond. */
static emb_status longrope(const struct embi_rope_scaled *w, double *f, double *scale, emb_err *err)
{
    const struct embi_rope_scaling *s = w->scaling;
    double most = original(w);
    if (most == 0)
        return missing(err, w, "original_max_position_embeddings");
    if (!(most > 1))
        return senseless(err, w, "expected original_max_position_embeddings above 1");
    bool longer = w->positions > most;
    const struct embi_rope_list *list = longer ? &s->long_factor : &s->short_factor;
    if (!list->n)
        return missing(err, w, longer ? "long_factor" : "short_factor");
    if (list->n != w->dims / 2)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "scaling: longrope: %s_factor: expected %u numbers, one a pair, found %zu",
                         longer ? "long" : "short", w->dims / 2, list->n);
    plain(w, w->base, f);
    for (uint32_t i = 0; i < w->dims / 2; i++) {
        if (list->v[i] == 0)
            return senseless(err, w, "a factor is 0");
        f[i] /= list->v[i];
    }
    *scale = longrope_magnitude(w, longer);
    return EMB_OK;
}

/* By the turns that a pair makes in the original positions. */
static emb_status llama3(const struct embi_rope_scaled *w, double *f, emb_err *err)
{
    const struct embi_rope_scaling *s = w->scaling;
    double low = s->low_freq_factor, high = s->high_freq_factor;
    if (s->factor == 0 || low == 0 || high == 0 || original(w) == 0)
        return missing(err, w,
                       s->factor == 0 ? "factor"
                       : low == 0     ? "low_freq_factor"
                       : high == 0    ? "high_freq_factor"
                                      : "original_max_position_embeddings");
    if (!(high > low))
        return senseless(err, w, "expected high_freq_factor above low_freq_factor");
    plain(w, w->base, f);
    for (uint32_t i = 0; i < w->dims / 2; i++) {
        double turns = original(w) * f[i] / two_pi;
        double keep = fmin(fmax((turns - low) / (high - low), 0), 1);
        f[i] = keep * f[i] + (1 - keep) * f[i] / s->factor;
    }
    return EMB_OK;
}

static emb_status by_type(const struct embi_rope_scaled *w, double *f, double *scale, emb_err *err)
{
    switch (w->scaling->type) {
    case EMBI_ROPE_LINEAR: return linear(w, f, err);
    case EMBI_ROPE_DYNAMIC: return dynamic(w, f, err);
    case EMBI_ROPE_NTK: return static_ntk(w, f, err);
    case EMBI_ROPE_YARN: return yarn(w, f, scale, err);
    case EMBI_ROPE_LONGROPE: return longrope(w, f, scale, err);
    case EMBI_ROPE_LLAMA3: return llama3(w, f, err);
    default: plain(w, w->base, f); return EMB_OK;
    }
}

emb_status embi_rope_scale(const struct embi_rope_scaled *what, double *frequencies, double *scale,
                           emb_err *err)
{
    *scale = 1;
    emb_status status = by_type(what, frequencies, scale, err);
    for (uint32_t i = 0; !status && i < what->dims / 2; i++)
        if (!isfinite(frequencies[i]) || !isfinite(*scale))
            status = senseless(err, what, "a frequency is not finite");
    return status;
}
