/* tests/unit/test_number.c - elements as text and back, by the public functions: emb_number_print
 * and emb_number_parse. The readers and printers themselves have test_decimal*.c.
 *
 * Bits are those of IEEE 754 and, for bf16, the upper half of f32's.
 */
#include <criterion/criterion.h>

#include "emb.h"

#include <string.h>

static emb_str str(const char *s)
{
    return (emb_str){s, strlen(s)};
}

Test(number, parse)
{
    static const struct {
        const char *text;
        emb_dtype dtype;
        uint64_t bits;
    } cases[] = {
        {"0.1", EMB_F64, 0x3FB999999999999A},
        {"0.1", EMB_F32, 0x3DCCCCCD},
        {"0.1", EMB_F16, 0x2E66},
        {"0.1", EMB_BF16, 0x3DCD},
        {"-1.5", EMB_F16, 0xBE00},
        {"-1.5", EMB_BF16, 0xBFC0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t bits = 0; /* its low bytes are the element */
        cr_assert(emb_number_parse(str(cases[i].text), cases[i].dtype, &bits));
        cr_expect_eq(bits, cases[i].bits, "%s as %s: %llx", cases[i].text,
                     emb_dtype_name(cases[i].dtype), (unsigned long long)bits);
    }
}

Test(number, parse_refuses)
{
    static const emb_dtype floats[] = {EMB_F64, EMB_F32, EMB_F16, EMB_BF16};
    static const char *const bad[] = {"", "1x", "1,5", " 1", "--1"};
    uint64_t bits;
    for (size_t t = 0; t < 4; t++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            cr_expect_not(emb_number_parse(str(bad[i]), floats[t], &bits), "'%s' as %s", bad[i],
                          emb_dtype_name(floats[t]));
    cr_expect_not(emb_number_parse(str("1"), EMB_I32, &bits), "integers are not read here");
}

static void expect_text(emb_dtype dtype, const void *value, const char *text)
{
    char out[EMB_NUMBER_MAX];
    size_t n = emb_number_print(out, dtype, value);
    cr_expect(n == strlen(text) && memcmp(out, text, n) == 0, "%s: %.*s, expected %s",
              emb_dtype_name(dtype), (int)n, out, text);
}

/* The ends of the integer types, and 0.1 in each float. */
Test(number, print)
{
    expect_text(EMB_I8, &(int8_t){INT8_MIN}, "-128");
    expect_text(EMB_U8, &(uint8_t){UINT8_MAX}, "255");
    expect_text(EMB_I32, &(int32_t){INT32_MIN}, "-2147483648");
    expect_text(EMB_U32, &(uint32_t){UINT32_MAX}, "4294967295");
    expect_text(EMB_I64, &(int64_t){INT64_MIN}, "-9223372036854775808");
    expect_text(EMB_U64, &(uint64_t){UINT64_MAX}, "18446744073709551615");
    expect_text(EMB_F64, &(uint64_t){0x3FB999999999999A}, "0.1");
    expect_text(EMB_F32, &(uint32_t){0x3DCCCCCD}, "0.1");
    expect_text(EMB_F16, &(uint16_t){0x2E66}, "0.1");
    expect_text(EMB_BF16, &(uint16_t){0x3DCD}, "0.1");
    expect_text(EMB_F8_E4M3, &(uint8_t){0x7E}, "448");
}
