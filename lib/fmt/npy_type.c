/* npy_type.c - the element types of .npy files: "<f4" and the like, both ways.
 *
 * What is no number that we compute with is refused by name. Opaque bytes (ml_dtypes saves bfloat16
 * and its 8-bit floats as void) are read only as what the user says they are.
 * Specification: numpy.lib.format and the type strings of numpy's array interface.
 */
#include "fmt/npy.h"

#include "util/err.h"

#include <stdio.h>

static const struct {
    const char *name; /* after the sign of the byte order */
    emb_dtype dtype;
    bool written;
} types[] = {
    {"f8", EMB_F64, true},         {"f4", EMB_F32, true},   {"f2", EMB_F16, true},
    {"i1", EMB_I8, true},          {"u1", EMB_U8, true},    {"i2", EMB_I16, true},
    {"u2", EMB_U16, true},         {"i4", EMB_I32, true},   {"u4", EMB_U32, true},
    {"i8", EMB_I64, true},         {"u8", EMB_U64, true},   {"b1", EMB_BOOL, true},
    {"bfloat16", EMB_BF16, false}, {"g2", EMB_BF16, false}, /* from writers other than numpy */
    {"f1", EMB_F8_E5M2, false},                             /* from ml_dtypes */
};

/* What a descr means that is refused, by what it begins with. */
static const struct {
    const char *begins, *words;
} refused[] = {
    {"O", "pickled Python objects are never read"},
    {"c", "complex numbers are not read"},
    {"f16", "128-bit long doubles (16 bytes, not bits) are not read; save as f8 or f4"},
    {"g", "long doubles are not read; save as f8 or f4"},
    {"M", "dates are not read"},
    {"m", "time spans are not read"},
    {"U", "text is not a table of numbers"},
    {"S", "text is not a table of numbers"},
    {"a", "text is not a table of numbers"},
    {"V", "opaque bytes are read only if there are 1 or 2"},
};

static bool is_order(char c)
{
    return c == '<' || c == '>' || c == '=' || c == '|';
}

static bool is_byte_type(emb_dtype dtype)
{
    return emb_dtype_bytes(dtype) == 1 && dtype != EMB_BOOL;
}

/* "V2" and "V1": *dtype is what the user said, if that can be. */
static emb_status opaque(emb_str name, emb_dtype input_dtype, int64_t at, emb_dtype *dtype,
                         emb_err *err)
{
    bool two = embi_str_is(name, "V2");
    bool fits = two ? input_dtype == EMB_BF16 || input_dtype == EMB_F16 : is_byte_type(input_dtype);
    *dtype = input_dtype;
    if (fits)
        return EMB_OK;
    if (two)
        return embi_fail(err, EMB_UNSUPPORTED, at,
                         "elements of two opaque bytes: say --input-dtype bf16 or f16");
    return embi_fail(err, EMB_UNSUPPORTED, at,
                     "elements of one opaque byte: say --input-dtype f8_e4m3, f8_e5m2, another f8 "
                     "type, i8 or u8");
}

static emb_dtype find(emb_str name)
{
    for (size_t i = 0; i < EMBI_LEN(types); i++)
        if (embi_str_is(name, types[i].name))
            return types[i].dtype;
    return EMB_DTYPE_NONE;
}

static emb_status refuse(emb_str descr, emb_str name, int64_t at, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    embi_show(show, descr);
    for (size_t i = 0; i < EMBI_LEN(refused); i++) {
        size_t n = strlen(refused[i].begins);
        if (name.n >= n && memcmp(name.s, refused[i].begins, n) == 0)
            return embi_fail(err, EMB_UNSUPPORTED, at, "descr '%s': %s", show, refused[i].words);
    }
    return embi_fail(err, EMB_BAD_DATA, at, "descr '%s' is not a type of numpy", show);
}

emb_status embi_npy_type(emb_str descr, emb_dtype input_dtype, int64_t at, struct embi_tensor *t,
                         uint64_t *bytes, emb_err *err)
{
    char show[EMBI_SHOW_MAX];
    bool signed_order = descr.n > 0 && is_order(descr.s[0]);
    emb_str name = signed_order ? (emb_str){descr.s + 1, descr.n - 1} : descr;
    (void)snprintf(t->type_name, sizeof t->type_name, "%.20s", embi_show(show, descr));
    t->dtype = find(name);
    if (embi_str_is(name, "V2") || embi_str_is(name, "V1")) {
        emb_status status = opaque(name, input_dtype, at, &t->dtype, err);
        if (status != EMB_OK)
            return status;
    }
    if (t->dtype == EMB_DTYPE_NONE)
        return refuse(descr, name, at, err);
    *bytes = emb_dtype_bytes(t->dtype);
    t->swap = signed_order && descr.s[0] == '>' && *bytes > 1;
    return EMB_OK;
}

emb_status embi_npy_check_type(const struct embi_sink *s, emb_err *err)
{
    for (size_t i = 0; i < s->n; i++) {
        bool written = false;
        for (size_t k = 0; k < EMBI_LEN(types); k++)
            written |= types[k].written && types[k].dtype == s->arrays[i].dtype;
        if (!written)
            return embi_fail(err, EMB_UNSUPPORTED, -1, "%s cannot hold %s; use --dtype f32",
                             s->format->name, emb_dtype_name(s->arrays[i].dtype));
    }
    return EMB_OK;
}

const char *embi_npy_type_name(emb_dtype dtype)
{
    for (size_t i = 0; i < EMBI_LEN(types); i++)
        if (types[i].dtype == dtype)
            return types[i].name;
    return ""; /* not reached: embi_npy_check_type came before */
}
