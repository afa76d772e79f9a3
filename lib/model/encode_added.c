/* encode_added.c - see encode_added.h.
 *
 * As the reference library does it: at each place the longest added token counts, the first of
 * several that are the same. One that must be a word by itself and is none is passed over as a
 * whole. Tokens that are normalised are looked for in the normalised text, under the text that they
 * are normalised to themselves.
 */
#include "model/encode_added.h"

#include "util/err.h"
#include "util/map.h"
#include "util/unicode.h"
#include "util/utf8.h"

#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------
 * Reading
 */

static const struct {
    const char *file, *key; /* key NULL: the whole file */
    enum embi_token_form form;
} sources[EMBI_ADDED_FILES] = {
    {"tokenizer.json", "added_tokens", EMBI_TOKENS_ARRAY},
    {"tokenizer_config.json", "added_tokens_decoder", EMBI_TOKENS_DECODER},
    {"added_tokens.json", NULL, EMBI_TOKENS_PLAIN},
};

static emb_status read_list(const struct embi_env *env, const char *dir, size_t i,
                            struct embi_added_pieces *added, emb_err *err)
{
    struct embi_sidecar *file = &added->files[i];
    struct embi_json j;
    emb_status status = embi_sidecar_open(env, dir, sources[i].file, file, err);
    if (status || !file->io)
        return status;
    struct embi_json_value v = {EMBI_JSON_OBJECT, false, file->s, file->n};
    if (sources[i].key)
        v = embi_member(&v, sources[i].key);
    if (!embi_is_given(&v))
        return EMB_OK;
    embi_json_init(&j, v.s, v.n, 0);
    status = embi_token_list_read(&added->lists[i], &j, sources[i].form, err);
    if (!status)
        status = embi_json_finish(&j, (uint64_t)(v.s - file->s), err);
    return status ? embi_fail_in(err, "%s", sources[i].file) : EMB_OK;
}

/* Was the text in a list before list i? */
static bool is_known(const struct embi_added_pieces *added, size_t i, emb_str text)
{
    while (i-- > 0)
        if (added->lists[i].found && embi_token_list_find(&added->lists[i], text))
            return true;
    return false;
}

/* Those of list i that have a row, special ones or the others. */
static void push_list(struct embi_added_pieces *added, size_t i, bool special,
                      const struct embi_map *ids, uint64_t rows)
{
    const struct embi_token_list *list = &added->lists[i];
    for (size_t k = 0; k < list->n; k++) {
        const struct embi_token_entry *entry = &list->items[k];
        uint64_t id = embi_map_find(ids, entry->text);
        bool plain = sources[i].form == EMBI_TOKENS_PLAIN;
        unsigned flags = plain ? EMBI_TOKEN_NORMALIZED : entry->flags;
        if ((flags & EMBI_TOKEN_SPECIAL) != (special ? EMBI_TOKEN_SPECIAL : 0) || id >= rows ||
            id >= EMBI_NO_PIECE || is_known(added, i, entry->text))
            continue;
        added->v[added->n++] = (struct embi_added_piece){entry->text, (uint32_t)id, flags};
    }
}

static emb_status push_all(struct embi_added_pieces *added, const struct embi_tokenizer *t,
                           uint64_t rows, emb_err *err)
{
    struct embi_map ids;
    size_t n = 1;
    for (size_t i = 0; i < EMBI_ADDED_FILES; i++)
        n += added->lists[i].n;
    added->v = calloc(n, sizeof *added->v);
    if (!added->v)
        return embi_fail_memory(err, n * sizeof *added->v, "added tokens");
    emb_status status = embi_map_build(&ids, t->tokens, t->n, err);
    if (status)
        return status;
    for (int special = 1; special >= 0; special--)
        for (size_t i = 0; i < EMBI_ADDED_FILES; i++)
            push_list(added, i, special, &ids, rows);
    embi_map_free(&ids);
    return EMB_OK;
}

/* The texts of those that are normalised. They lie in one buffer, so first their places are kept.
 */
static emb_status normalize(struct embi_added_pieces *added, const struct embi_normals *normals,
                            emb_err *err)
{
    size_t *at = calloc(added->n + 1, sizeof *at);
    emb_status status = EMB_OK;
    if (!at)
        return embi_fail_memory(err, added->n * sizeof *at, "added tokens");
    for (size_t i = 0; !status && i < added->n; i++) {
        struct embi_buf text = {0};
        bool first = true;
        at[i] = added->normal.n;
        if (!(added->v[i].flags & EMBI_TOKEN_NORMALIZED))
            continue;
        embi_buf_add(&text, added->v[i].text.s, added->v[i].text.n);
        status = embi_normals_apply(normals, &text, &first, err);
        embi_buf_add(&added->normal, text.s, text.n);
        added->v[i].text.n = text.n;
        if (!status && (text.failed || added->normal.failed))
            status = embi_fail_memory(err, text.n, "added tokens");
        embi_buf_free(&text);
    }
    for (size_t i = 0; !status && i < added->n; i++)
        if (added->v[i].flags & EMBI_TOKEN_NORMALIZED)
            added->v[i].text.s = added->normal.s + at[i];
    free(at);
    return status;
}

static emb_status compile_word(struct embi_added_pieces *added, emb_err *err)
{
    static const char word[] = "[" EMBI_TEXT_WORD "]";
    bool needed = false;
    for (size_t i = 0; i < added->n; i++)
        needed = needed || (added->v[i].flags & EMBI_TOKEN_SINGLE_WORD);
    if (!needed)
        return EMB_OK;
    return embi_regex_compile((emb_str){word, sizeof word - 1}, &added->word, err);
}

emb_status embi_added_pieces_open(const struct embi_env *env, const char *dir,
                                  const struct embi_tokenizer *t, uint64_t rows,
                                  const struct embi_normals *normals,
                                  struct embi_added_pieces *added, emb_err *err)
{
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < EMBI_ADDED_FILES; i++)
        status = read_list(env, dir, i, added, err);
    if (!status)
        status = push_all(added, t, rows, err);
    if (!status)
        status = normalize(added, normals, err);
    return status ? status : compile_word(added, err);
}

void embi_added_pieces_free(struct embi_added_pieces *added)
{
    for (size_t i = 0; i < EMBI_ADDED_FILES; i++) {
        embi_token_list_free(&added->lists[i]);
        embi_sidecar_close(&added->files[i]);
    }
    embi_regex_free(added->word);
    embi_buf_free(&added->normal);
    free(added->v);
    *added = (struct embi_added_pieces){0};
}

/* ------------------------------------------------------------------------------------------------
 * Cutting
 */

/* The longest that stands at s [n]; NULL: none does. */
static const struct embi_added_piece *longest_at(const struct embi_added_pieces *added,
                                                 unsigned normalized, const char *s, size_t n)
{
    const struct embi_added_piece *best = NULL;
    for (size_t i = 0; i < added->n; i++) {
        const struct embi_added_piece *p = &added->v[i];
        if ((p->flags & EMBI_TOKEN_NORMALIZED) == normalized && p->text.n > 0 && p->text.n <= n &&
            p->text.s[0] == s[0] && (!best || p->text.n > best->text.n) &&
            memcmp(p->text.s, s, p->text.n) == 0)
            best = p;
    }
    return best;
}

/* Where the character that ends at `end` begins; end > 0. */
static size_t char_before(const char *s, size_t end)
{
    size_t at = end - 1;
    while (at > 0 && (s[at] & 0xC0) == 0x80)
        at--;
    return at;
}

static size_t char_after(const char *s, size_t n, size_t at, uint32_t *c)
{
    return at + (size_t)abs(embi_utf8_decode(s + at, n - at, c));
}

static emb_status is_word(const struct embi_added_pieces *added, const char *s, size_t start,
                          size_t end, bool *word, emb_err *err)
{
    size_t a, b;
    return embi_regex_search(added->word, s + start, end - start, 0, word, &a, &b, err);
}

/* Is a word character beside s[start .. end)? */
static emb_status touches_word(const struct embi_added_pieces *added, const char *s, size_t n,
                               size_t start, size_t end, bool *touches, emb_err *err)
{
    uint32_t c;
    emb_status status = EMB_OK;
    *touches = false;
    if (start > 0)
        status = is_word(added, s, char_before(s, start), start, touches, err);
    if (!status && !*touches && end < n)
        status = is_word(added, s, end, char_after(s, n, end, &c), touches, err);
    return status;
}

/* start, end = with the blanks that the token takes. */
static void take_blanks(const struct embi_added_piece *p, const char *s, size_t n, size_t done,
                        size_t *start, size_t *end)
{
    uint32_t c;
    while (p->flags & EMBI_TOKEN_LSTRIP && *start > done) {
        size_t before = char_before(s, *start);
        char_after(s, n, before, &c);
        if (!embi_is_space(c))
            break;
        *start = before;
    }
    while (p->flags & EMBI_TOKEN_RSTRIP && *end < n) {
        size_t after = char_after(s, n, *end, &c);
        if (!embi_is_space(c))
            break;
        *end = after;
    }
}

emb_status embi_added_cut(const struct embi_added_pieces *added, bool normalized, const char *s,
                          size_t n, bool first, struct embi_parts *out, emb_err *err)
{
    size_t done = 0;
    uint32_t c;
    for (size_t at = 0; at < n;) {
        const struct embi_added_piece *p =
            longest_at(added, normalized ? EMBI_TOKEN_NORMALIZED : 0, s + at, n - at);
        if (!p) {
            at = char_after(s, n, at, &c);
            continue;
        }
        size_t start = at, end = at + p->text.n;
        bool touches = false;
        at = end;
        if (p->flags & EMBI_TOKEN_SINGLE_WORD) {
            emb_status status = touches_word(added, s, n, start, end, &touches, err);
            if (status)
                return status;
        }
        if (touches)
            continue;
        take_blanks(p, s, n, done, &start, &end);
        if (done < start)
            embi_parts_add(out, s + done, start - done, first && done == 0, EMBI_NO_PIECE);
        embi_parts_add(out, s + start, end - start, first && start == 0, p->id);
        done = end;
    }
    if (done < n)
        embi_parts_add(out, s + done, n - done, first && done == 0, EMBI_NO_PIECE);
    return EMB_OK;
}
