/* values.c - what a completion script needs to know of an option: what may follow it, and what it
 * does in a few words. All of it is read off the table of options.
 */
#include "gen.h"

#include <string.h>

const struct opt *option_at(const struct cmd *cmd, size_t i)
{
    for (const struct opt *o = cmd->options; o->name; o++) {
        if (o->kind != OPT_TITLE && i-- == 0)
            return o;
    }
    return i == 0 ? &opt_help_flag : NULL;
}

/* What a value is called says what it is. */
static enum value value_called(const char *arg)
{
    if (strcmp(arg, "FILE") == 0 || strcmp(arg, "TABLE") == 0)
        return VALUE_FILE;
    return strcmp(arg, "DIR") == 0 ? VALUE_FOLDER : VALUE_FREE;
}

enum value value_of(const struct opt *o)
{
    switch (o->kind) {
    case OPT_FLAG:
    case OPT_SWITCH: return VALUE_NONE;
    case OPT_CHOICE:
    case OPT_WORD:
    case OPT_DTYPE:
    case OPT_TARGET: return VALUE_WORDS;
    default: return value_called(o->arg);
    }
}

void add_words(struct embi_buf *out, const struct opt *o)
{
    if (o->kind == OPT_DTYPE || o->kind == OPT_TARGET) {
        for (int i = EMB_DTYPE_NONE + 1; i < EMB_DTYPE_COUNT; i++)
            if (opt_takes_dtype(o->kind, (emb_dtype)i))
                embi_buf_print(out, "%s%s", i > 1 ? " " : "", emb_dtype_name((emb_dtype)i));
        return;
    }
    for (const char *c = o->arg; *c; c++)
        embi_buf_byte(out, *c == '|' ? ' ' : *c);
}

bool takes_table(const struct cmd *cmd)
{
    return strncmp(cmd->usage, "TABLE", 5) == 0 || strncmp(cmd->usage, "[TABLE]", 7) == 0;
}

size_t brief_length(const char *about)
{
    static const char *const details[] = {"; ", ": ", " ("};
    size_t n = strlen(about);
    for (size_t i = 0; i < EMBI_LEN(details); i++) {
        const char *at = strstr(about, details[i]);
        n = at ? embi_min(n, (size_t)(at - about)) : n;
    }
    return n;
}

void add_escaped(struct embi_buf *out, const char *text, size_t n, const char *special,
                 const char *quote)
{
    for (size_t i = 0; i < n; i++) {
        if (text[i] == '\'') {
            embi_buf_text(out, quote);
            continue;
        }
        if (strchr(special, text[i]))
            embi_buf_byte(out, '\\');
        embi_buf_byte(out, text[i]);
    }
}
