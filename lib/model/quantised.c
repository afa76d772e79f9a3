/* quantised.c - tensors that look like tables and are not.
 *
 * Packed weights keep scales in tensors beside them. Reading the packed codes as numbers would give
 * vectors that mean nothing, so such a tensor is refused by the name of its layout.
 */
#include "model/model.h"
#include "util/err.h"

static bool has_sibling(const struct embi_weights *w, emb_str stem, const char *suffix)
{
    size_t n = strlen(suffix);
    for (size_t i = 0; i < w->n_tensors; i++) {
        emb_str name = w->tensors[i].name;
        if (name.n == stem.n + n && memcmp(name.s, stem.s, stem.n) == 0 &&
            memcmp(name.s + stem.n, suffix, n) == 0)
            return true;
    }
    return false;
}

struct layout {
    const char *suffix;  /* of the tensor itself, after the last dot                              */
    const char *sibling; /* that gives it away                                                    */
    const char *name;
};

static const struct layout layouts[] = {
    {"weight", "scales", "MLX packed weights"},
    {"qweight", "qzeros", "GPTQ or AWQ packed weights"},
    {"qweight", "scales", "GPTQ or AWQ packed weights"},
    {"weight", "weight_scale_inv", "8-bit floats with block scales"},
    {"weight", "weight_scale", "quantised weights with scales"},
    {"weight", "absmax", "bitsandbytes weights"},
    {"weight", "weight.absmax", "bitsandbytes weights"},
    {"weight", "SCB", "bitsandbytes 8-bit weights"},
    {"weight_packed", "weight_scale", "packed weights with scales"},
};

/* Splits "a.b.weight" into the stem "a.b." and the suffix "weight". */
static emb_str stem_of(emb_str name)
{
    const char *dot = memrchr(name.s, '.', name.n);
    return (emb_str){name.s, dot ? (size_t)(dot - name.s) + 1 : 0};
}

emb_status embi_refuse_quantised(const struct embi_weights *w, size_t tensor, emb_err *err)
{
    emb_str name = w->tensors[tensor].name;
    if (!name.s)
        return EMB_OK;
    emb_str stem = stem_of(name), suffix = {name.s + stem.n, name.n - stem.n};
    for (size_t i = 0; i < EMBI_LEN(layouts); i++) {
        const struct layout *l = &layouts[i];
        char shown[EMBI_SHOW_MAX];
        if (embi_str_is(suffix, l->suffix) && has_sibling(w, stem, l->sibling))
            return embi_fail(err, EMB_UNSUPPORTED, -1,
                             "%s holds %s (see %s beside it), which cannot be read as a table",
                             embi_show(shown, name), l->name, l->sibling);
    }
    return EMB_OK;
}
