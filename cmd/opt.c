/* opt.c - parses a command line by a table of options.
 *
 * Prints nothing: what is wrong goes to `why`. The only state is a struct parser on the stack. What
 * the options are called in messages is what the user typed: `-k x: expected a whole number`.
 */
#include "opt.h"

#include <stdlib.h>
#include <string.h>

struct parser {
    const struct opt *table;
    char *opts; /* the options struct */
    struct opt_items *items;
    char **argv; /* [argc] */
    int argc, next;
    int arguments; /* plain ones so far */
    struct embi_buf *why;
};

/* An option as it stands on the command line. */
struct typed {
    const struct opt *opt;
    char name[48];     /* "--top-k" or "-k"                                                       */
    bool negated;      /* --no-name                                                               */
    const char *value; /* what is glued to it (after `=`, or after the letter), or NULL           */
};

static bool is_option(const struct opt *o)
{
    return o->kind != OPT_TITLE;
}

bool opt_u64(const char *s, uint64_t *value)
{
    uint64_t x = 0;
    if (*s == 0)
        return false;
    for (; *s; s++) {
        if (*s < '0' || *s > '9' || __builtin_mul_overflow(x, 10u, &x) ||
            __builtin_add_overflow(x, (uint64_t)(*s - '0'), &x))
            return false;
    }
    *value = x;
    return true;
}

/* Place of `word` in "a|b|c", or -1. */
static int choice_of(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (int i = 0;; i++) {
        size_t length = strcspn(list, "|");
        if (length == n && memcmp(list, word, n) == 0)
            return i;
        if (list[length] == 0)
            return -1;
        list += length + 1;
    }
}

/* "a, b or c" of "a|b|c". */
static void add_choices(struct embi_buf *out, const char *list)
{
    for (const char *bar; (bar = strchr(list, '|')); list = bar + 1) {
        embi_buf_add(out, list, (size_t)(bar - list));
        embi_buf_text(out, strchr(bar + 1, '|') ? ", " : " or ");
    }
    embi_buf_text(out, list);
}

/* `-k x: expected `: the caller adds what was expected. */
static struct embi_buf *expected(struct parser *p, const struct typed *t, const char *value)
{
    embi_buf_print(p->why, "%s %s: expected ", t->name, *value ? value : "''");
    return p->why;
}

static void *place(struct parser *p, size_t at)
{
    return p->opts + at;
}

static enum opt_result add_item(struct parser *p, const char *s, int tag)
{
    struct opt_item *item = &p->items->v[p->items->n++];
    *item = (struct opt_item){s, tag, tag ? 0 : ++p->arguments};
    return OPT_OK;
}

static enum opt_result add_to_list(struct parser *p, const struct opt *o, const char *value)
{
    struct opt_list *list = place(p, o->at);
    const char **grown = realloc(list->v, (list->n + 1) * sizeof *grown);
    if (!grown) {
        return OPT_NO_MEMORY;
    }
    list->v = grown;
    list->v[list->n++] = value;
    return OPT_OK;
}

static enum opt_result set_count(struct parser *p, const struct typed *t, const char *value)
{
    if (opt_u64(value, place(p, t->opt->at)))
        return OPT_OK;
    bool digits = *value && value[strspn(value, "0123456789")] == 0;
    embi_buf_text(expected(p, t, value),
                  digits ? "at most 18446744073709551615" : "a whole number, 0 or more");
    return OPT_BAD;
}

static enum opt_result set_number(struct parser *p, const struct typed *t, const char *value)
{
    double x;
    if (!emb_number_parse((emb_str){value, strlen(value)}, EMB_F64, &x) || !__builtin_isfinite(x)) {
        embi_buf_text(expected(p, t, value), "a number");
        return OPT_BAD;
    }
    memcpy(place(p, t->opt->at), &x, sizeof x);
    return OPT_OK;
}

static enum opt_result set_choice(struct parser *p, const struct typed *t, const char *value)
{
    int i = choice_of(t->opt->arg, value);
    if (i < 0) {
        add_choices(expected(p, t, value), t->opt->arg);
        return OPT_BAD;
    }
    if (t->opt->kind == OPT_CHOICE)
        *(int *)place(p, t->opt->at) = i;
    else
        *(const char **)place(p, t->opt->at) = value;
    return OPT_OK;
}

static enum opt_result set_dtype(struct parser *p, const struct typed *t, const char *value)
{
    emb_dtype dtype = emb_dtype_parse(value);
    if (!opt_takes_dtype(t->opt->kind, dtype)) {
        opt_expect_dtype(expected(p, t, value), t->opt->kind, value);
        return OPT_BAD;
    }
    *(emb_dtype *)place(p, t->opt->at) = dtype;
    return OPT_OK;
}

/* Stores one value. */
static enum opt_result set_value(struct parser *p, const struct typed *t, const char *value)
{
    switch (t->opt->kind) {
    case OPT_LIST: return add_to_list(p, t->opt, value);
    case OPT_COUNT: return set_count(p, t, value);
    case OPT_NUMBER: return set_number(p, t, value);
    case OPT_CHOICE:
    case OPT_WORD: return set_choice(p, t, value);
    case OPT_DTYPE:
    case OPT_TARGET: return set_dtype(p, t, value);
    case OPT_ITEM: return add_item(p, value, t->opt->tag);
    default: *(const char **)place(p, t->opt->at) = value; return OPT_OK;
    }
}

static enum opt_result set_flag(struct parser *p, const struct typed *t)
{
    if (t->value) {
        embi_buf_print(p->why, "%s takes no value", t->name);
        return OPT_BAD;
    }
    if (t->opt->kind == OPT_FLAG)
        *(bool *)place(p, t->opt->at) = true;
    else
        *(int *)place(p, t->opt->at) = t->negated ? -1 : 1;
    return OPT_OK;
}

static const struct opt *by_name(const struct opt *table, const char *name)
{
    for (const struct opt *o = table; o->name; o++) {
        if (is_option(o) && strcmp(o->name, name) == 0)
            return o;
    }
    return NULL;
}

static const struct opt *by_key(const struct opt *table, char key)
{
    for (const struct opt *o = table; o->name; o++) {
        if (is_option(o) && o->key == key)
            return o;
    }
    return NULL;
}

/* Is the word an option of this table? Where one takes several values, a missing one would swallow
 * it. */
static bool names_option(const struct parser *p, const char *word)
{
    if (word[0] != '-' || word[1] == 0)
        return false;
    return word[1] == '-' ? by_name(p->table, word + 2) != NULL
                          : word[2] == 0 && by_key(p->table, word[1]) != NULL;
}

static enum opt_result apply(struct parser *p, const struct typed *t)
{
    int values = t->opt->values ? t->opt->values : 1;
    if (t->opt->given)
        *(bool *)place(p, t->opt->given) = true;
    if (t->opt->kind == OPT_FLAG || t->opt->kind == OPT_SWITCH)
        return set_flag(p, t);
    const char *glued = t->value;
    for (int i = 0; i < values; i++) {
        if (!glued && (p->next == p->argc || (values > 1 && names_option(p, p->argv[p->next])))) {
            embi_buf_print(p->why, "%s: a value is missing (%s %s)", t->name, t->name, t->opt->arg);
            return OPT_BAD;
        }
        enum opt_result result = set_value(p, t, glued ? glued : p->argv[p->next++]);
        if (result != OPT_OK)
            return result;
        glued = NULL;
    }
    return OPT_OK;
}

/* ------------------------------------------------------------------------------------------------
 * Which option is it?
 */

static bool has_alias(const struct opt *o, const char *name)
{
    size_t n = strlen(name);
    for (const char *at = o->aliases; n && at && (at = strstr(at, name)); at++) {
        if (at > o->aliases && at[-1] == ' ' && at[n] == ' ')
            return true;
    }
    return false;
}

static const struct opt *nearest(const struct opt *table, const char *name)
{
    const struct opt *best = NULL;
    unsigned distance = 99;
    for (const struct opt *o = table; o->name; o++) {
        if (!is_option(o))
            continue;
        if (has_alias(o, name))
            return o;
        if (opt_closer(name, o->name, &distance))
            best = o;
    }
    return best;
}

static enum opt_result unknown(struct parser *p, const char *name)
{
    const struct opt *o = nearest(p->table, name);
    embi_buf_print(p->why, "unknown option --%s", name);
    if (o)
        embi_buf_print(p->why, "; did you mean --%s?", o->name);
    return OPT_BAD;
}

/* `--name`, `--name=value` or `--no-name`; text is what follows the dashes. */
static enum opt_result parse_long(struct parser *p, const char *text)
{
    char name[40];
    size_t n = strcspn(text, "=");
    struct typed t = {.value = text[n] == '=' ? text + n + 1 : NULL};
    if (n >= sizeof name) {
        embi_buf_print(p->why, "unknown option --%.*s", (int)embi_min(n, 200), text);
        return OPT_BAD;
    }
    memcpy(name, text, n);
    name[n] = 0;
    if (strcmp(name, "help") == 0)
        return OPT_HELP;
    t.opt = by_name(p->table, name);
    if (!t.opt && strncmp(name, "no-", 3) == 0) {
        t.opt = by_name(p->table, name + 3);
        t.negated = true;
    }
    if (!t.opt || (t.negated && t.opt->kind != OPT_SWITCH))
        return unknown(p, name);
    memcpy(t.name, "--", 2);
    memcpy(t.name + 2, name, n + 1);
    return apply(p, &t);
}

static enum opt_result unknown_key(struct parser *p, const char *word, char key)
{
    embi_buf_print(p->why, "unknown option -%c", key);
    if (word[1] >= '0' && word[1] <= '9')
        embi_buf_text(p->why, "; put -- before arguments that begin with a dash");
    return OPT_BAD;
}

/* `-k5`, `-k 5`, `-qv`: letters until one takes a value. */
static enum opt_result parse_short(struct parser *p, const char *word)
{
    for (const char *c = word + 1; *c; c++) {
        struct typed t = {.opt = by_key(p->table, *c), .name = {'-', *c, 0}};
        if (!t.opt)
            return *c == 'h' ? OPT_HELP : unknown_key(p, word, *c);
        bool takes_value = t.opt->kind != OPT_FLAG && t.opt->kind != OPT_SWITCH;
        if (takes_value && c[1])
            t.value = c + 1;
        enum opt_result result = apply(p, &t);
        if (result != OPT_OK || takes_value)
            return result;
    }
    return OPT_OK;
}

enum opt_result opt_parse(const struct opt *table, void *opts, struct opt_items *items, int argc,
                          char **argv, struct embi_buf *why)
{
    struct parser p = {table, opts, items, argv, argc, 0, 0, why};
    enum opt_result result = OPT_OK;
    bool ended = false; /* by -- */
    items->n = 0;
    items->v = calloc((size_t)argc + 1, sizeof *items->v);
    if (!items->v)
        return OPT_NO_MEMORY;
    while (result == OPT_OK && p.next < argc) {
        const char *word = argv[p.next++];
        if (ended || word[0] != '-' || word[1] == 0)
            result = add_item(&p, word, 0);
        else if (strcmp(word, "--") == 0)
            ended = true;
        else if (word[1] == '-')
            result = parse_long(&p, word + 2);
        else
            result = parse_short(&p, word);
    }
    return why->failed ? OPT_NO_MEMORY : result;
}

void opt_free(const struct opt *table, void *opts, struct opt_items *items)
{
    for (const struct opt *o = table; o->name; o++) {
        if (o->kind == OPT_LIST) {
            struct opt_list *list = (void *)((char *)opts + o->at);
            free(list->v);
            *list = (struct opt_list){NULL, 0};
        }
    }
    free(items->v);
    *items = (struct opt_items){NULL, 0};
}
