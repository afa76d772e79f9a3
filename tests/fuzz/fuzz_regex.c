/* fuzz_regex.c - patterns of tokenizers: translated, compiled, and searched for in the rest of the
 * input. The first byte is how long the pattern is. */
#include "fuzz.h"

#include "util/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct embi_regex *regex;
    emb_err err;
    size_t n = size ? embi_min(data[0], size - 1) : 0, start, end;
    if (size == 0 || !embi_utf8_valid((const char *)data + 1, n))
        return 0;
    char *pattern = fuzz_copy(data + 1, n), *text = fuzz_copy(data + 1 + n, size - 1 - n);
    size_t m = embi_utf8_check(text, size - 1 - n);
    bool found = false;
    if (fuzz_went_well(embi_regex_compile((emb_str){pattern, n}, &regex, &err), &err)) {
        emb_status status = embi_regex_search(regex, text, m, 0, &found, &start, &end, &err);
        if (fuzz_went_well(status, &err) && found)
            CHECK(start <= end && end <= m);
        embi_regex_free(regex);
    }
    free(pattern);
    free(text);
    return 0;
}
