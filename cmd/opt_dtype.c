/* opt_dtype.c - element types as values of options, and what other programs call them.
 */
#include "opt.h"

#include <string.h>
#include <strings.h>

bool opt_takes_dtype(enum opt_kind kind, emb_dtype dtype)
{
    return kind == OPT_TARGET ? emb_dtype_writable(dtype) : emb_dtype_bytes(dtype) > 0;
}

/* Names that are not accepted, so that each type has one name in scripts, but understood. */
static const struct {
    const char *name;
    emb_dtype dtype;
} others[] = {
    {"double", EMB_F64},
    {"float", EMB_F32},
    {"single", EMB_F32},
    {"half", EMB_F16},
    {"float8_e4m3fn", EMB_F8_E4M3},
    {"float8_e8m0fnu", EMB_F8_E8M0},
};

/* The long forms that stand for the first letters of our names: bfloat16 is bf16. */
static const struct {
    const char *word, *letters;
} forms[] = {
    {"bfloat", "bf"}, {"float", "f"}, {"fp", "f"}, {"uint", "u"}, {"int", "i"},
};

static const char *after(const char *text, const char *word)
{
    size_t n = strlen(word);
    return strncasecmp(text, word, n) == 0 ? text + n : NULL;
}

/* Is `text` made of these letters and what follows them in the name? */
static bool is_name(emb_dtype dtype, const char *letters, const char *rest)
{
    const char *tail = after(emb_dtype_name(dtype), letters);
    return tail && strcasecmp(tail, rest) == 0;
}

/* The type whose name is `text` but for its form or case; EMB_DTYPE_NONE if there is none. */
static emb_dtype meant(enum opt_kind kind, const char *text)
{
    const char *plain = after(text, "torch.");
    text = plain ? plain : text;
    for (size_t i = 0; i < EMBI_LEN(others); i++)
        if (strcasecmp(others[i].name, text) == 0)
            return others[i].dtype;
    for (int i = 1; i < EMB_DTYPE_COUNT; i++) {
        if (!opt_takes_dtype(kind, (emb_dtype)i))
            continue;
        if (is_name((emb_dtype)i, "", text))
            return (emb_dtype)i;
        for (size_t f = 0; f < EMBI_LEN(forms); f++) {
            const char *rest = after(text, forms[f].word);
            if (rest && is_name((emb_dtype)i, forms[f].letters, rest))
                return (emb_dtype)i;
        }
    }
    return EMB_DTYPE_NONE;
}

void opt_expect_dtype(struct embi_buf *out, enum opt_kind kind, const char *value)
{
    emb_dtype dtype = meant(kind, value);
    for (int i = 1; i < EMB_DTYPE_COUNT; i++)
        if (opt_takes_dtype(kind, (emb_dtype)i))
            embi_buf_print(out, "%s%s", i > 1 ? " " : "", emb_dtype_name((emb_dtype)i));
    if (dtype != EMB_DTYPE_NONE)
        embi_buf_print(out, "; did you mean %s?", emb_dtype_name(dtype));
}
