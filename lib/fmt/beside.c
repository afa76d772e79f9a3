/* beside.c - see beside.h. What a file of lines cannot hold so that it is read back the same goes
 * into the JSON object, whose strings have escapes (RFC 8259).
 */
#include "fmt/beside.h"
#include "fmt/sink.h"

#include "util/err.h"
#include "util/json.h"
#include "util/utf8.h"

#include <inttypes.h>
#include <stdlib.h>

/* ------------------------------------------------------------------------------------------------
 * One token a line
 */

static const char *line_refuses(emb_str token)
{
    if (!token.s)
        return NULL;
    if (token.n == 0)
        return "an empty line stands for no token";
    if (memchr(token.s, '\n', token.n))
        return "a newline ends a line";
    if (memchr(token.s, 0, token.n))
        return "a NUL is not text";
    return token.s[token.n - 1] == '\r' ? "a carriage return at its end is a part of the line's end"
                                        : NULL;
}

static void add_line(struct embi_buf *out, emb_str token, uint64_t row, uint64_t before)
{
    (void)row; /* it is the number of the line */
    (void)before;
    embi_buf_add(out, token.s, token.n);
    embi_buf_byte(out, '\n');
}

/* ------------------------------------------------------------------------------------------------
 * An object from token to row
 */

static const char *json_refuses(emb_str token)
{
    return embi_utf8_valid(token.s, token.n) ? NULL : "it is not UTF-8";
}

static void add_member(struct embi_buf *out, emb_str token, uint64_t row, uint64_t before)
{
    if (!token.s)
        return;
    embi_buf_text(out, before ? ",\n" : "");
    embi_json_quote(out, token.s, token.n, NULL);
    embi_buf_print(out, ":%" PRIu64, row);
}

const struct embi_beside embi_beside_vocab[] = {
    {.ending = "vocab.txt",
     .refuses = line_refuses,
     .breaks = {"\n\r\0", 3},
     .add = add_line,
     .begin = "",
     .end = ""},
    {.ending = "vocab.json",
     .unique = true,
     .refuses = json_refuses,
     .add = add_member,
     .begin = "{",
     .end = "}\n"},
    {0},
};

/* ------------------------------------------------------------------------------------------------
 * Labels
 */

static const char *label_refuses(emb_str token)
{
    if (!token.s)
        return "this one has none";
    if (token.n == 0)
        return "this one is empty";
    for (size_t i = 0; i < token.n; i++)
        if (token.s[i] == '\t' || token.s[i] == '\n' || token.s[i] == '\r')
            return "tabs and ends of lines part the labels";
    return NULL;
}

const struct embi_beside embi_beside_labels[] = {
    {.ending = "metadata.tsv",
     .refuses = label_refuses,
     .breaks = {"\t\n\r", 3},
     .add = add_line,
     .begin = "",
     .end = ""},
    {0},
};

/* ------------------------------------------------------------------------------------------------
 * The file
 */

emb_status embi_beside_path(const char *path, const char *ending, char **beside, emb_err *err)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    size_t stem = dot && dot > (slash ? slash + 1 : path) ? (size_t)(dot - path) : strlen(path);
    size_t n = strlen(ending);
    *beside = malloc(stem + n + 2);
    if (!*beside)
        return embi_fail_memory(err, stem + n + 2, "a path");
    memcpy(*beside, path, stem);
    (*beside)[stem] = '.';
    memcpy(*beside + stem + 1, ending, n + 1);
    return EMB_OK;
}

emb_status embi_beside_write(const struct embi_beside *kind, struct embi_io *io,
                             const emb_str *tokens, uint64_t n, emb_err *err)
{
    struct embi_buf text = {0};
    emb_status status = EMB_OK;
    while (n > 0 && !tokens[n - 1].s)
        n--;
    embi_buf_text(&text, kind->begin);
    for (uint64_t row = 0, before = 0; !status && row < n; row++) {
        kind->add(&text, tokens[row], row, before);
        before += tokens[row].s != NULL;
        if (text.n >= EMBI_FLUSH_BYTES)
            status = embi_flush(&text, io, "tokens to write", err);
    }
    embi_buf_text(&text, kind->end);
    if (!status)
        status = embi_flush(&text, io, "tokens to write", err);
    embi_buf_free(&text);
    return status;
}

const struct embi_beside *embi_beside_of(const struct embi_reader *r)
{
    struct embi_json j;
    struct embi_json_value key, value;
    const struct embi_beside *found = NULL;
    if (!r->format->beside || r->metadata.n == 0)
        return NULL;
    embi_json_init(&j, r->metadata.s, r->metadata.n, 0);
    embi_json_enter(&j, EMBI_JSON_OBJECT);
    while (embi_json_member(&j, &key)) {
        if (!embi_json_is(&key, EMBI_BESIDE_KEY))
            continue;
        embi_json_next(&j, &value);
        for (const struct embi_beside *b = r->format->beside; b->ending; b++)
            if (embi_json_is(&value, b->ending))
                found = b;
    }
    return found;
}
