/* fuzz_rope.c - what a config.json and a command line say of rotary positions. The first line is a
 * scaling, the rest a config.json.
 */
#include "fuzz.h"

#include "ops/rope.h"

#include <math.h>

static void check_list(const struct embi_rope_list *list)
{
    for (size_t i = 0; i < list->n; i++)
        CHECK(isfinite(list->v[i]) && list->v[i] >= 0);
}

/* Whatever was said, frequencies are finite or refused. */
static void check_scaling(const struct embi_rope_scaling *s, double base)
{
    double frequencies[8], scale;
    emb_err err;
    check_list(&s->short_factor);
    check_list(&s->long_factor);
    const struct embi_rope_scaled what = {s, 16, base > 0 ? base : 10000, s->max_positions, 5000};
    if (fuzz_went_well(embi_rope_scale(&what, frequencies, &scale, &err), &err)) {
        CHECK(isfinite(scale));
        for (size_t i = 0; i < EMBI_LEN(frequencies); i++)
            CHECK(isfinite(frequencies[i]));
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct embi_rope_config config;
    struct embi_rope_scaling scaling;
    emb_err err;
    char *text = fuzz_copy(data, size);
    const char *end = size ? memchr(text, '\n', size) : NULL;
    size_t line = end ? (size_t)(end - text) : size, rest = end ? line + 1 : size;
    char *typed = strndup(text, line);
    CHECK(typed);
    if (fuzz_went_well(embi_rope_scaling_parse(typed, &scaling, &err), &err))
        check_scaling(&scaling, 0);
    embi_rope_scaling_free(&scaling);
    if (fuzz_went_well(embi_rope_config_parse(text + rest, size - rest, &config, &err), &err)) {
        CHECK(config.base >= 0 && config.head_dims >= 0);
        check_scaling(&config.scaling, config.base);
    }
    embi_rope_scaling_free(&config.scaling);
    free(typed);
    free(text);
    return 0;
}
