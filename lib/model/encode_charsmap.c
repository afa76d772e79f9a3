/* encode_charsmap.c - the replacements of SentencePiece's normaliser, from the table that a model
 * brings ("precompiled_charsmap").
 *
 * The table: u32 bytes of the trie; the trie, an array of u32 units (Darts-clone): bit 31 and bits
 * 0..7 are a label, bit 8 says that a value hangs below, bits 10..30 (with bit 9: 256 times as far)
 * are the distance to the children; then texts with a NUL behind each, at whose places the values
 * point. A unit that would lie outside the array ends a search.
 *
 * The reference library (tokenizers) asks for a grapheme cluster of at most 5 bytes as a whole
 * first, and takes what the shortest of its beginnings becomes for all of it; then for characters.
 */
#include "model/encode_normal.h"

#include "model/encode_text.h"
#include "util/base64.h"
#include "util/err.h"
#include "util/unicode.h"
#include "util/utf8.h"

#include <stdlib.h>

enum { HEAD = 4, UNIT = 4, MOST_WHOLE = 5 };

static uint32_t unit_at(const struct embi_charsmap *map, size_t i)
{
    return i < map->units ? embi_le32(map->blob.s + HEAD + i * UNIT) : 0;
}

static uint32_t offset_of(uint32_t unit)
{
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

static bool has_value(uint32_t unit)
{
    return unit >> 8 & 1;
}

static bool is_inside_char(char byte)
{
    return (byte & 0xC0) == 0x80;
}

/* Of the beginnings of s [n] that have a replacement, what the shortest becomes. */
static bool lookup(const struct embi_charsmap *map, const char *s, size_t n, emb_str *to)
{
    size_t at = offset_of(unit_at(map, 0));
    for (size_t i = 0; i < n && s[i]; i++) {
        at ^= (unsigned char)s[i];
        uint32_t unit = unit_at(map, at);
        if ((unit & (1u << 31 | 0xFF)) != (unsigned char)s[i])
            return false;
        at ^= offset_of(unit);
        if (!has_value(unit))
            continue;
        size_t place = unit_at(map, at) & ~(1u << 31);
        if (place >= map->to_bytes || is_inside_char(map->to[place]))
            return false;
        *to = (emb_str){map->to + place, strnlen(map->to + place, map->to_bytes - place)};
        return true;
    }
    return false;
}

static void put_chars(const struct embi_charsmap *map, const char *s, size_t n,
                      struct embi_buf *out)
{
    for (size_t at = 0, bytes; at < n; at += bytes) {
        uint32_t c;
        bytes = (size_t)abs(embi_utf8_decode(s + at, n - at, &c));
        emb_str to = {s + at, bytes};
        lookup(map, s + at, bytes, &to);
        embi_buf_add(out, to.s, to.n);
    }
}

void embi_charsmap_apply(const struct embi_charsmap *map, const char *s, size_t n,
                         struct embi_buf *out)
{
    for (size_t at = 0, bytes; at < n && out->n <= EMBI_TEXT_MOST; at += bytes) {
        emb_str to;
        bytes = embi_grapheme_bytes(s + at, n - at);
        if (bytes <= MOST_WHOLE && lookup(map, s + at, bytes, &to))
            embi_buf_add(out, to.s, to.n);
        else
            put_chars(map, s + at, bytes, out);
    }
}

emb_status embi_charsmap_read(const struct embi_json_value *value, struct embi_charsmap *map,
                              emb_err *err)
{
    struct embi_buf text = {0};
    size_t bytes = 0;
    if (value->kind != EMBI_JSON_STRING)
        return embi_fail(err, EMB_BAD_DATA, -1, "\"precompiled_charsmap\": expected a string");
    embi_json_string(value, &text);
    char *room = embi_buf_room(&map->blob, embi_base64_room(text.n) + 1);
    bool good = room && embi_base64_decode(text.n ? text.s : "", text.n, room, &bytes);
    bool failed = text.failed || !room;
    embi_buf_free(&text);
    if (failed)
        return embi_fail_memory(err, value->n, "precompiled_charsmap");
    uint32_t trie = good && bytes >= HEAD ? embi_le32(room) : 0;
    if (!good || bytes < HEAD || trie % UNIT != 0 || trie > bytes - HEAD)
        return embi_fail(err, EMB_BAD_DATA, -1,
                         "precompiled_charsmap: %s, expected base64 of a trie and its texts",
                         good ? "the trie is longer than the table" : "no base64");
    map->blob.n = bytes;
    map->units = trie / UNIT;
    map->to = map->blob.s + HEAD + trie;
    map->to_bytes = bytes - HEAD - trie;
    if (!embi_utf8_valid(map->to, map->to_bytes))
        return embi_fail(err, EMB_BAD_DATA, -1, "precompiled_charsmap: texts that are not UTF-8");
    return EMB_OK;
}
