/* safetensors_type.c - the element types of safetensors, in the order of the reference
 * implementation. Names are case-sensitive.
 */
#include "fmt/safetensors.h"

static const struct embi_st_type types[] = {
    {"BOOL", EMB_BOOL, 8},
    {"F4", EMB_DTYPE_NONE, 4},
    {"F6_E2M3", EMB_DTYPE_NONE, 6},
    {"F6_E3M2", EMB_DTYPE_NONE, 6},
    {"U8", EMB_U8, 8},
    {"I8", EMB_I8, 8},
    {"F8_E5M2", EMB_F8_E5M2, 8},
    {"F8_E4M3", EMB_F8_E4M3, 8},
    {"F8_E8M0", EMB_F8_E8M0, 8},
    {"F8_E4M3FNUZ", EMB_F8_E4M3FNUZ, 8},
    {"F8_E5M2FNUZ", EMB_F8_E5M2FNUZ, 8},
    {"I16", EMB_I16, 16},
    {"U16", EMB_U16, 16},
    {"F16", EMB_F16, 16},
    {"BF16", EMB_BF16, 16},
    {"I32", EMB_I32, 32},
    {"U32", EMB_U32, 32},
    {"F32", EMB_F32, 32},
    {"C64", EMB_DTYPE_NONE, 64},
    {"F64", EMB_F64, 64},
    {"I64", EMB_I64, 64},
    {"U64", EMB_U64, 64},
};

const struct embi_st_type *embi_st_type_named(const struct embi_json_value *name)
{
    for (size_t i = 0; i < EMBI_LEN(types); i++)
        if (embi_json_is(name, types[i].name))
            return &types[i];
    return NULL;
}

const struct embi_st_type *embi_st_type_of(emb_dtype dtype)
{
    for (size_t i = 0; i < EMBI_LEN(types); i++)
        if (types[i].dtype == dtype && dtype != EMB_DTYPE_NONE)
            return &types[i];
    return NULL;
}
