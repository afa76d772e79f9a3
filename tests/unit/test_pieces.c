/* test_pieces.c - the text of a piece, and base64.
 *
 * The byte-level table is built here by its rule: printable Latin-1 characters stand for
 * themselves, the other bytes are U+0100 and up in order.
 */
#include "tokenizer_fixture.h"

#include "util/base64.h"
#include "util/utf8.h"

Test(pieces, byte_level_has_all_256_bytes)
{
    uint32_t others = 0;
    tok.pieces = (struct embi_pieces){.byte_level = true};
    for (unsigned byte = 0; byte < 256; byte++) {
        bool itself = (byte > 0x20 && byte < 0x7F) || (byte > 0xA0 && byte != 0xAD);
        char piece[EMBI_UTF8_MAX_BYTES], text = (char)byte;
        size_t n = embi_utf8_encode(itself ? byte : 0x100 + others++, piece);
        cr_expect(text_is((emb_str){piece, n}, (emb_str){&text, 1}), "%u", byte);
    }
    cr_expect_eq(others, 68);
}

Test(pieces, what_no_byte_explains_is_its_own_text)
{
    tok.pieces = (struct embi_pieces){.byte_level = true};
    cr_expect(text_is(STR("<｜User｜>"), STR("<｜User｜>")));
    cr_expect(text_is(STR("Ġ cat"), STR("Ġ cat")), "a space is no character of the alphabet");
    cr_expect(text_is(STR("Ġ\xFF"), STR("Ġ\xFF")));
    cr_expect(text_is(STR("\u0144"), STR("\u0144")));
    cr_expect(text_is(STR(""), STR("")));
}

Test(pieces, marks_together)
{
    tok.pieces = (struct embi_pieces){.byte_level = true, .suffix = STR("</w>")};
    cr_expect(text_is(STR("caf\u00C3\u00A9</w>"), STR("caf\u00E9 ")));
    cr_expect(text_is(STR("</w>"), STR(" ")));
    tok.pieces = (struct embi_pieces){.prefix = STR("##")};
    cr_expect(text_is(STR("####"), STR("##")));
    cr_expect(text_is(STR("#"), STR("#")));
    tok.pieces = (struct embi_pieces){.space = STR("▁"), .byte_fallback = true};
    cr_expect(text_is(STR("▁▁"), STR("  ")));
    cr_expect(text_is(STR("\xE2\x96"), STR("\xE2\x96")));
    cr_expect(text_is(STR("<0x0g>"), STR("<0x0g>")));
    cr_expect(text_is(STR("<0x00>"), STR("\0")));
    tok.pieces = (struct embi_pieces){0};
    cr_expect(text_is(STR("▁Ġ##</w>"), STR("▁Ġ##</w>")));
}

Test(pieces, a_mark_counts_if_it_is_not_rare)
{
    emb_str tokens[200] = {[3] = STR("Ġa")};
    for (int i = 100; i < 200; i++)
        tokens[i] = STR("cat");
    cr_expect(!embi_pieces_guess(tokens, 200).byte_level, "1 of 101 tokens");
    tokens[4] = STR("Ġb");
    cr_expect(embi_pieces_guess(tokens, 200).byte_level, "2 of 102 tokens");
    cr_expect_eq(embi_pieces_guess(tokens, 200).suffix.n, 0);
    cr_expect(!embi_pieces_guess(NULL, 0).byte_level);
}

/* RFC 4648 section 10, and what is none. */
Test(base64, vectors)
{
    static const struct {
        const char *text, *bytes;
    } cases[] = {{"", ""},
                 {"Zg==", "f"},
                 {"Zm8=", "fo"},
                 {"Zm9v", "foo"},
                 {"Zm9vYg==", "foob"},
                 {"Zm9vYmE=", "fooba"},
                 {"Zm9vYmFy", "foobar"}};
    static const char *const bad[] = {"Z",    "Zg",       "Zg=",  "=",    "====", "Z===", "Zh==",
                                      "Zm9=", "Zg==Zg==", "Zm 8", "Zm-8", "Zm_8", "Z=8=", "Zm8\n"};
    char out[16];
    size_t n;
    for (size_t i = 0; i < EMBI_LEN(cases); i++) {
        cr_assert(embi_base64_decode(cases[i].text, strlen(cases[i].text), out, &n));
        cr_expect(embi_str_is((emb_str){out, n}, cases[i].bytes), "%s", cases[i].text);
    }
    for (size_t i = 0; i < EMBI_LEN(bad); i++)
        cr_expect(!embi_base64_decode(bad[i], strlen(bad[i]), out, &n), "%s", bad[i]);
}
