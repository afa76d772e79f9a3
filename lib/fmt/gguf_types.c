/* gguf_types.c - the element types of ggml, by number: how many elements a block has, and in how
 * many bytes. Specification: ggml.h and ggml-common.h of ggml.
 *
 * The numbers that are missing were types once and are no more: files with them are refused.
 */
#include "fmt/gguf_read.h"

static const struct embi_gguf_type types[] = {
    [0] = {"f32", EMB_F32, 1, 4},
    [1] = {"f16", EMB_F16, 1, 2},
    [2] = {"q4_0", EMB_Q4_0, 32, 18},
    [3] = {"q4_1", EMB_Q4_1, 32, 20},
    [6] = {"q5_0", EMB_Q5_0, 32, 22},
    [7] = {"q5_1", EMB_Q5_1, 32, 24},
    [8] = {"q8_0", EMB_Q8_0, 32, 34},
    [9] = {"q8_1", EMB_DTYPE_NONE, 32, 36},
    [10] = {"q2_k", EMB_Q2_K, 256, 84},
    [11] = {"q3_k", EMB_Q3_K, 256, 110},
    [12] = {"q4_k", EMB_Q4_K, 256, 144},
    [13] = {"q5_k", EMB_Q5_K, 256, 176},
    [14] = {"q6_k", EMB_Q6_K, 256, 210},
    [15] = {"q8_k", EMB_DTYPE_NONE, 256, 292},
    [16] = {"iq2_xxs", EMB_DTYPE_NONE, 256, 66},
    [17] = {"iq2_xs", EMB_DTYPE_NONE, 256, 74},
    [18] = {"iq3_xxs", EMB_DTYPE_NONE, 256, 98},
    [19] = {"iq1_s", EMB_DTYPE_NONE, 256, 50},
    [20] = {"iq4_nl", EMB_IQ4_NL, 32, 18},
    [21] = {"iq3_s", EMB_DTYPE_NONE, 256, 110},
    [22] = {"iq2_s", EMB_DTYPE_NONE, 256, 82},
    [23] = {"iq4_xs", EMB_IQ4_XS, 256, 136},
    [24] = {"i8", EMB_I8, 1, 1},
    [25] = {"i16", EMB_I16, 1, 2},
    [26] = {"i32", EMB_I32, 1, 4},
    [27] = {"i64", EMB_I64, 1, 8},
    [28] = {"f64", EMB_F64, 1, 8},
    [29] = {"iq1_m", EMB_DTYPE_NONE, 256, 56},
    [30] = {"bf16", EMB_BF16, 1, 2},
    [34] = {"tq1_0", EMB_TQ1_0, 256, 54},
    [35] = {"tq2_0", EMB_TQ2_0, 256, 66},
    [39] = {"mxfp4", EMB_MXFP4, 32, 17},
    [40] = {"nvfp4", EMB_NVFP4, 64, 36},
    [41] = {"q1_0", EMB_Q1_0, 128, 18},
    [42] = {"q2_0", EMB_Q2_0, 64, 18},
};

const struct embi_gguf_type *embi_gguf_type(uint32_t number)
{
    return number < EMBI_LEN(types) && types[number].name ? &types[number] : NULL;
}

bool embi_gguf_type_number(emb_dtype dtype, uint32_t *number)
{
    for (size_t i = 0; i < EMBI_LEN(types); i++)
        if (types[i].name && types[i].dtype == dtype) {
            *number = (uint32_t)i;
            return dtype != EMB_DTYPE_NONE;
        }
    return false;
}
