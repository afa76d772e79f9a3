/* fuzz_config.c - config.json of a model. */
#include "fuzz.h"

#include "model/config.h"

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
    }
    free(text);
    return 0;
}
