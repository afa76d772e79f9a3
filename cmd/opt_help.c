/* opt_help.c - the options as people read them: the -h text, wrapping, and "did you mean".
 *
 * Prints nothing itself: text goes to a buffer. Only ASCII is counted into columns here, which is
 * what option tables are made of.
 */
#include "opt.h"

#include <string.h>

enum { LABEL_COLUMNS = 26, WORD_MAX = 40 };

void opt_wrap(struct embi_buf *out, const char *text, size_t at, size_t indent, size_t columns)
{
    bool first = true;
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t n = strcspn(text, " ");
        if (!first && at + 1 + n > columns) {
            embi_buf_byte(out, '\n');
            embi_buf_fill(out, ' ', indent);
            at = indent;
        } else if (!first) {
            embi_buf_byte(out, ' ');
            at++;
        }
        embi_buf_add(out, text, n);
        at += n;
        text += n;
        first = false;
    }
}

/* `  -k, --top-k N` */
static void add_label(struct embi_buf *out, const struct opt *o)
{
    if (o->key)
        embi_buf_print(out, "  -%c, ", o->key);
    else
        embi_buf_text(out, "      ");
    embi_buf_print(out, "--%s", o->name);
    if (o->kind == OPT_SWITCH)
        embi_buf_print(out, ", --no-%s", o->name);
    if (o->arg)
        embi_buf_print(out, " %s", o->arg);
}

static void add_option(struct embi_buf *out, const struct opt *o, size_t columns)
{
    size_t start = out->n;
    add_label(out, o);
    size_t width = out->n - start;
    if (width + 2 > LABEL_COLUMNS) {
        embi_buf_byte(out, '\n');
        width = 0;
    }
    embi_buf_fill(out, ' ', LABEL_COLUMNS - width);
    opt_wrap(out, o->about, LABEL_COLUMNS, LABEL_COLUMNS, columns);
    embi_buf_byte(out, '\n');
}

const struct opt opt_help_flag = {
    .name = "help", .key = 'h', .kind = OPT_FLAG, .about = "this text"};

void opt_help(const struct opt *table, struct embi_buf *out, size_t columns)
{
    for (const struct opt *o = table; o->name; o++) {
        if (o->kind == OPT_TITLE)
            embi_buf_print(out, "\n%s\n", o->name);
        else
            add_option(out, o, columns);
    }
    add_option(out, &opt_help_flag, columns);
}

/* Optimal string alignment (Damerau 1964, without editing a piece twice), three rows of its matrix.
 */
unsigned opt_distance(const char *a, const char *b)
{
    unsigned rows[3][WORD_MAX + 1];
    unsigned *before = rows[0], *last = rows[1], *row = rows[2];
    size_t n = strlen(a), m = strlen(b);
    if (n > WORD_MAX || m > WORD_MAX)
        return 99;
    for (unsigned j = 0; j <= m; j++)
        last[j] = before[j] = j;
    for (size_t i = 1; i <= n; i++) {
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned change = last[j - 1] + (a[i - 1] != b[j - 1]);
            unsigned drop = last[j] + 1, insert = row[j - 1] + 1;
            unsigned best = drop < insert ? drop : insert;
            best = change < best ? change : best;
            bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
            row[j] = swapped && before[j - 2] + 1 < best ? before[j - 2] + 1 : best;
        }
        unsigned *spare = before;
        before = last;
        last = row;
        row = spare;
    }
    return last[m];
}

/* Of names that are equally unlike, one with the same first letter is closer. */
bool opt_closer(const char *word, const char *name, unsigned *best)
{
    size_t n = strlen(word);
    bool begins = n >= 2 && strncmp(name, word, n) == 0;
    unsigned edits = begins ? 1 : opt_distance(word, name);
    unsigned distance = 2 * edits + (word[0] != name[0]);
    if (edits > (n + 2) / 3 || distance >= *best)
        return false;
    *best = distance;
    return true;
}
