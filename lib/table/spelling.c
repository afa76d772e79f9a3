/* spelling.c - which stored token a typed word means (design.md 2.2). */
#include "table/spelling.h"
#include "util/buf.h"
#include "util/err.h"

/* Appends one byte as the character that stands for it in a byte-level vocabulary (GPT-2's table:
 * printable Latin-1 stands for itself, the other 68 bytes are U+0100, U+0101 ... in order). */
static void add_byte_level(struct embi_buf *out, unsigned char byte)
{
    unsigned code = byte;
    if (byte <= 0x20)
        code = 0x100 + byte;
    else if (byte >= 0x7f && byte <= 0xa0)
        code = 0x121 + (byte - 0x7fu);
    else if (byte == 0xad)
        code = 0x143;
    if (code < 0x80) {
        embi_buf_byte(out, (char)code);
    } else {
        embi_buf_byte(out, (char)(0xc0 | code >> 6));
        embi_buf_byte(out, (char)(0x80 | (code & 0x3f)));
    }
}

enum form { PLAIN, BYTE_LEVEL, BYTE_LEVEL_SPACE, METASPACE, END_OF_WORD };

static const enum form forms[] = {PLAIN, BYTE_LEVEL, BYTE_LEVEL_SPACE, METASPACE, END_OF_WORD};

/* As SentencePiece has it: every blank is U+2581, and one stands in front. */
static void add_metaspace(struct embi_buf *out, emb_str word)
{
    static const char mark[] = "\u2581";
    if (word.n == 0 || word.s[0] != ' ')
        embi_buf_text(out, mark);
    for (size_t i = 0; i < word.n; i++)
        if (word.s[i] == ' ')
            embi_buf_text(out, mark);
        else
            embi_buf_byte(out, word.s[i]);
}

static void spell(struct embi_buf *out, enum form form, emb_str word)
{
    out->n = 0;
    switch (form) {
    case METASPACE: add_metaspace(out, word); return;
    case BYTE_LEVEL_SPACE: add_byte_level(out, ' '); /* fall through */
    case BYTE_LEVEL:
        for (size_t i = 0; i < word.n; i++)
            add_byte_level(out, (unsigned char)word.s[i]);
        return;
    case PLAIN:
    case END_OF_WORD: embi_buf_add(out, word.s, word.n); break;
    }
    if (form == END_OF_WORD)
        embi_buf_text(out, "</w>");
}

static uint64_t find_forms(const struct embi_map *map, emb_str word, struct embi_buf *scratch)
{
    uint64_t position = EMBI_MAP_NONE;
    for (size_t i = 0; i < EMBI_LEN(forms) && position == EMBI_MAP_NONE; i++) {
        spell(scratch, forms[i], word);
        position = embi_map_find(map, (emb_str){scratch->s, scratch->n});
    }
    return position;
}

static bool is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

enum letter_case { LOWER, CAPITAL, UPPER };

static void change_case(struct embi_buf *out, enum letter_case to, emb_str word)
{
    out->n = 0;
    embi_buf_add(out, word.s, word.n);
    bool first = true;
    for (size_t i = 0; i < out->n; i++) {
        bool upper = to == UPPER || (to == CAPITAL && first);
        if (upper && is_lower(out->s[i]))
            out->s[i] = (char)(out->s[i] - 'a' + 'A');
        else if (!upper && is_upper(out->s[i]))
            out->s[i] = (char)(out->s[i] - 'A' + 'a');
        first = first && !is_lower(out->s[i]) && !is_upper(out->s[i]);
    }
}

emb_status embi_spelling_resolve(const struct embi_map *map, emb_str word, uint64_t *position,
                                 emb_err *err)
{
    struct embi_buf spelled = {0}, recased = {0};
    *position = find_forms(map, word, &spelled);
    for (int to = LOWER; to <= UPPER && *position == EMBI_MAP_NONE; to++) {
        change_case(&recased, (enum letter_case)to, word);
        if (!recased.failed)
            *position = find_forms(map, (emb_str){recased.s, recased.n}, &spelled);
    }
    bool failed = spelled.failed || recased.failed;
    embi_buf_free(&spelled);
    embi_buf_free(&recased);
    if (failed)
        return embi_fail_memory(err, word.n * 2, "a token");
    return *position == EMBI_MAP_NONE ? EMB_NOT_FOUND : EMB_OK;
}
