/* fuzz_config.c - config.json of a model: its tables, its input, and what it does with logits. */
#include "fuzz.h"

#include "model/config.h"
#include "model/head_scale.h"
#include "model/input_config.h"

#include <math.h>

/* Factors are finite and above 0, a cap 0 or above. */
static void check_scale(const char *text, size_t size, const struct embi_config *config)
{
    struct embi_head_scale scale;
    emb_err err;
    if (fuzz_went_well(embi_head_scale_parse(text, size, config, 64, &scale, &err), &err)) {
        CHECK(isfinite(scale.hidden) && scale.hidden > 0);
        CHECK(isfinite(scale.scale) && scale.scale > 0);
        CHECK(isfinite(scale.cap) && scale.cap >= 0);
    }
}

/* Numbers are finite and not below 0. */
static void check_input(const char *text, size_t size)
{
    struct embi_input_config c;
    emb_err err;
    if (!fuzz_went_well(embi_input_config_parse(text, size, &c, &err), &err))
        return;
    const double numbers[] = {c.embedding_multiplier, c.eps, c.max_positions, c.hidden_size,
                              c.types};
    for (size_t i = 0; i < EMBI_LEN(numbers); i++)
        CHECK(isfinite(numbers[i]) && numbers[i] >= 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct embi_config config = {0};
    emb_err err;
    char *text = fuzz_copy(data, size);
    if (fuzz_went_well(embi_config_parse(text, size, &config, &err), &err)) {
        CHECK(memchr(config.type, 0, sizeof config.type));
        CHECK(memchr(config.text_type, 0, sizeof config.text_type));
        CHECK(config.n_widths >= 0 && config.n_widths <= EMBI_CONFIG_WIDTHS);
        CHECK(config.tied >= -1 && config.tied <= 1);
        for (int i = 0; i < config.n_widths; i++)
            CHECK(embi_config_has_width(&config, config.widths[i]));
        check_scale(text, size, &config);
    }
    check_input(text, size);
    free(text);
    return 0;
}
