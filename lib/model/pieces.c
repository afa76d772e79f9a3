/* pieces.c - see pieces.h.
 *
 * Holds no state and allocates nothing but what the caller's buffer needs. A piece that its
 * alphabet does not explain is its own text, as in the tokenizers library: added tokens are stored
 * as they are read.
 */
#include "model/pieces.h"

#include "util/utf8.h"

#define METASPACE  "\xE2\x96\x81" /* U+2581 */
#define BYTE_SPACE "\xC4\xA0"     /* U+0120, the byte-level space */

static bool begins(emb_str s, emb_str with)
{
    return with.n > 0 && s.n >= with.n && memcmp(s.s, with.s, with.n) == 0;
}

static bool ends(emb_str s, emb_str with)
{
    return with.n > 0 && s.n >= with.n && memcmp(s.s + s.n - with.n, with.s, with.n) == 0;
}

/* ------------------------------------------------------------------------------------------------
 * Bytes
 */

/* The byte that a character of the byte-level alphabet stands for, or -1. Printable Latin-1 stands
 * for itself; U+0100 .. U+0143 are the other 68 bytes in increasing order. */
static int byte_of(uint32_t cp)
{
    if ((cp >= 0x21 && cp <= 0x7E) || (cp >= 0xA1 && cp <= 0xFF && cp != 0xAD))
        return (int)cp;
    if (cp >= 0x100 && cp <= 0x120)
        return (int)(cp - 0x100);
    if (cp >= 0x121 && cp <= 0x142)
        return (int)(cp - 0x121 + 0x7F);
    return cp == 0x143 ? 0xAD : -1;
}

static void add_byte_level(struct embi_buf *out, emb_str piece)
{
    size_t before = out->n;
    for (size_t at = 0; at < piece.n;) {
        uint32_t cp;
        int length = embi_utf8_decode(piece.s + at, piece.n - at, &cp);
        int byte = length > 0 ? byte_of(cp) : -1;
        if (byte < 0) {
            out->n = before;
            embi_buf_add(out, piece.s, piece.n);
            return;
        }
        embi_buf_byte(out, (char)byte);
        at += (size_t)length;
    }
}

static int hex_digit(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    c = (char)(c | 0x20);
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* The byte of a piece spelled <0xHH>, or -1. */
static int fallback_byte(emb_str piece)
{
    if (piece.n != 6 || memcmp(piece.s, "<0x", 3) != 0 || piece.s[5] != '>')
        return -1;
    int high = hex_digit(piece.s[3]), low = hex_digit(piece.s[4]);
    return high < 0 || low < 0 ? -1 : 16 * high + low;
}

/* ------------------------------------------------------------------------------------------------
 * Text
 */

static void add_spaced(struct embi_buf *out, emb_str piece, emb_str space)
{
    size_t from = 0, at = 0;
    while (at < piece.n) {
        if (!begins((emb_str){piece.s + at, piece.n - at}, space)) {
            at++;
            continue;
        }
        embi_buf_add(out, piece.s + from, at - from);
        embi_buf_byte(out, ' ');
        from = at += space.n;
    }
    embi_buf_add(out, piece.s + from, at - from);
}

void embi_piece_text(const struct embi_pieces *pieces, emb_str piece, struct embi_buf *out)
{
    int byte = pieces->byte_fallback ? fallback_byte(piece) : -1;
    if (byte >= 0) {
        embi_buf_byte(out, (char)byte);
        return;
    }
    if (begins(piece, pieces->prefix)) {
        piece.s += pieces->prefix.n;
        piece.n -= pieces->prefix.n;
    }
    bool word_ends = ends(piece, pieces->suffix);
    if (word_ends)
        piece.n -= pieces->suffix.n;
    if (pieces->byte_level)
        add_byte_level(out, piece);
    else
        add_spaced(out, piece, pieces->space);
    if (word_ends)
        embi_buf_byte(out, ' ');
}

/* ------------------------------------------------------------------------------------------------
 * Guessing
 */

static const emb_str byte_space = {BYTE_SPACE, 2}, metaspace = {METASPACE, 3};
static const emb_str continues = {"##", 2}, end_of_word = {"</w>", 4};

struct embi_pieces embi_pieces_guess(const emb_str *tokens, uint64_t n)
{
    uint64_t count = 0, byte_level = 0, spaces = 0, prefixes = 0, suffixes = 0;
    for (uint64_t i = 0; i < n; i++) {
        if (!tokens[i].s)
            continue;
        count++;
        byte_level += begins(tokens[i], byte_space);
        spaces += begins(tokens[i], metaspace);
        prefixes += begins(tokens[i], continues);
        suffixes += ends(tokens[i], end_of_word);
    }
    const emb_str none = {0};
    return (struct embi_pieces){
        .byte_level = byte_level > count / 64,
        .space = spaces > count / 64 ? metaspace : none,
        .prefix = prefixes > count / 64 ? continues : none,
        .suffix = suffixes > count / 64 ? end_of_word : none,
    };
}
