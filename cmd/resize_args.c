/* resize_args.c - from the options of `embtool resize` to those of the library: lists of tokens,
 * and what new rows hold.
 */
#include "resize.h"

#include "names.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int no_memory(struct resize *rz)
{
    return fail_with(rz->run, EXIT_MEMORY, NULL, "out of memory");
}

/* ------------------------------------------------------------------------------------------------
 * Lists of tokens
 */

static int push(struct resize *rz, struct names *list, const char *s, size_t n)
{
    if (list->n == list->cap) {
        size_t cap = list->cap ? 2 * list->cap : 16;
        emb_str *grown = realloc(list->v, cap * sizeof *grown);
        if (!grown)
            return no_memory(rz);
        list->v = grown;
        list->cap = cap;
    }
    list->v[list->n++] = (emb_str){s, n};
    return EXIT_DONE;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t';
}

/* `A, B` is a list for people; here the blank is a part of the token, as it is of many. */
static void warn_of_blanks(struct resize *rz, const char *option, const char *s, size_t n)
{
    char shown[WORD_MAX];
    if (is_blank(s[0]) || is_blank(s[n - 1]))
        warn(rz->run, NULL, "%s: '%s' %s with a blank, which is a part of the token", option,
             word_show(shown, s, n), is_blank(s[0]) ? "begins" : "ends");
}

/* A,B,C */
static int push_parts(struct resize *rz, struct names *list, const char *option, const char *text)
{
    int code = EXIT_DONE;
    size_t bytes = strlen(text); /* of the whole list, which one token alone is not */
    while (!code && text) {
        size_t n = strcspn(text, ",");
        if (n == 0)
            return usage_error(rz->run, "%s: a token is empty", option);
        if (n < bytes)
            warn_of_blanks(rz, option, text, n);
        code = push(rz, list, text, n);
        text = text[n] ? text + n + 1 : NULL;
    }
    return code;
}

static int push_file(struct resize *rz, const char *path)
{
    struct token_list *file = &rz->files[rz->n_files++];
    int code = token_list_read(file, rz->run, path);
    for (size_t i = 0; !code && i < file->n; i++)
        code = push(rz, &rz->add, file->v[i].s, file->v[i].n);
    return code;
}

static int push_item(struct resize *rz, const struct opt_item *item)
{
    switch (item->tag) {
    case RESIZE_ADD_LIST: return push_parts(rz, &rz->add, "--add-tokens", item->s);
    case RESIZE_ADD_FILE: return push_file(rz, item->s);
    case RESIZE_ADD_ONE:
        if (item->s[0])
            return push(rz, &rz->add, item->s, strlen(item->s));
        return usage_error(rz->run, "--add-token: the token is empty");
    default: return usage_error(rz->run, "one table at a time: what is '%s'?", item->s);
    }
}

static int read_lists(struct resize *rz)
{
    const struct opt_items *items = &rz->run->items;
    const struct resize_opts *o = rz->opts;
    int code = EXIT_DONE;
    rz->files = calloc(items->n + 1, sizeof *rz->files);
    if (!rz->files)
        return no_memory(rz);
    for (size_t i = 0; !code && i < items->n; i++)
        code = push_item(rz, &items->v[i]);
    for (size_t i = 0; !code && i < o->remove.n; i++)
        code = push_parts(rz, &rz->remove, "--remove-tokens", o->remove.v[i]);
    if (!code && o->keep)
        code = token_list_read(&rz->keep, rz->run, o->keep);
    if (!code && o->reorder)
        code = token_list_read(&rz->reorder, rz->run, o->reorder);
    return code;
}

/* ------------------------------------------------------------------------------------------------
 * --init
 */

static const struct {
    const char *name;
    emb_fill fill;
    enum { NO_VALUE, SCALE, TOKEN, TOKENS, TABLE } value;
} inits[] = {
    {"mean", EMB_FILL_MEAN, NO_VALUE},  {"zeros", EMB_FILL_ZEROS, NO_VALUE},
    {"normal", EMB_FILL_NORMAL, SCALE}, {"covariance", EMB_FILL_COVARIANCE, SCALE},
    {"copy", EMB_FILL_ROWS, TOKEN},     {"mean-of", EMB_FILL_ROWS, TOKENS},
    {"from", EMB_FILL_TABLE, TABLE},    {"subword", EMB_FILL_PIECES, NO_VALUE},
};

static int unknown_init(struct resize *rz)
{
    return usage_error(rz->run,
                       "--init %s: expected mean, zeros, normal[:STD], covariance[:SCALE], "
                       "copy:TOKEN, mean-of:T1+T2, subword or from:FILE",
                       rz->opts->init);
}

static int parse_scale(struct resize *rz, const char *text)
{
    double x = 0;
    if (text &&
        (!emb_number_parse((emb_str){text, strlen(text)}, EMB_F64, &x) || !isfinite(x) || x <= 0))
        return usage_error(rz->run, "--init %s: expected a number above 0 after the colon",
                           rz->opts->init);
    rz->how.scale = x;
    return EXIT_DONE;
}

/* A token, or #ID where there is no such token. */
static int find_row(struct resize *rz, emb_str word, uint64_t *row)
{
    char range[RANGE_MAX], shown[WORD_MAX];
    emb_err err;
    if (word.n == 0)
        return unknown_init(rz);
    if (word.s[0] != '#' || emb_table_find(rz->table, word, row, &err) == EMB_OK)
        return find_token(rz->run, rz->table, word, row);
    switch (id_read(word.s + 1, word.n - 1, rz->info.rows, row)) {
    case ID_OK: return EXIT_DONE;
    case ID_OUTSIDE:
        return fail_with(rz->run, EXIT_DATA, NULL, "--init: %s is outside %s",
                         word_show(shown, word.s, word.n), id_range(range, rz->info.rows));
    default: return find_token(rz->run, rz->table, word, row);
    }
}

/* T1+T2+..., or with `one` a single token that may hold plus signs. */
static int parse_rows(struct resize *rz, const char *text, bool one)
{
    int code = EXIT_DONE;
    if (!text)
        return unknown_init(rz);
    rz->fill_rows = calloc(strlen(text) + 1, sizeof *rz->fill_rows);
    if (!rz->fill_rows)
        return no_memory(rz);
    while (!code && text) {
        size_t n = one ? strlen(text) : strcspn(text, "+");
        code = find_row(rz, (emb_str){text, n}, &rz->fill_rows[rz->how.n_fill_rows++]);
        text = text[n] ? text + n + 1 : NULL;
    }
    rz->how.fill_rows = rz->fill_rows;
    return code;
}

static int parse_init(struct resize *rz)
{
    const char *text = rz->opts->init ? rz->opts->init : "mean";
    size_t n = strcspn(text, ":"), i = 0;
    while (i < EMBI_LEN(inits) &&
           (strlen(inits[i].name) != n || memcmp(inits[i].name, text, n) != 0))
        i++;
    if (i == EMBI_LEN(inits) || (inits[i].value == NO_VALUE && text[n]))
        return unknown_init(rz);
    const char *value = text[n] ? text + n + 1 : NULL;
    rz->how.fill = inits[i].fill;
    switch (inits[i].value) {
    case SCALE: return parse_scale(rz, value);
    case TOKEN:
    case TOKENS: return parse_rows(rz, value, inits[i].value == TOKEN);
    case TABLE:
        if (!value || !*value)
            return unknown_init(rz);
        return open_other_table(rz->run, value, &rz->from, NULL);
    default: return EXIT_DONE;
    }
}

/* ------------------------------------------------------------------------------------------------
 * Everything
 */

static int check_counts(struct resize *rz)
{
    const struct resize_opts *o = rz->opts;
    if (o->has_multiple && o->multiple == 0)
        return usage_error(rz->run, "--pad-to-multiple-of 0: expected 1 or more");
    if (o->has_rows && o->rows == 0)
        return usage_error(rz->run, "--rows 0: expected 1 or more");
    return EXIT_DONE;
}

int resize_args(struct resize *rz)
{
    const struct resize_opts *o = rz->opts;
    rz->how = (emb_resize_opts){.size = sizeof rz->how,
                                .rows = o->rows,
                                .multiple = o->multiple,
                                .shrink = o->shrink,
                                .seed = o->common.seed};
    int code = check_counts(rz);
    if (!code)
        code = read_lists(rz);
    if (!code)
        code = parse_init(rz);
    rz->how.add = rz->add.v;
    rz->how.n_add = rz->add.n;
    rz->how.remove = rz->remove.v;
    rz->how.n_remove = rz->remove.n;
    rz->how.keep = rz->keep.v;
    rz->how.n_keep = rz->keep.n;
    rz->how.first = rz->reorder.v;
    rz->how.n_first = rz->reorder.n;
    rz->how.fill_table = rz->from;
    return code ? code : resize_names(rz);
}

void resize_args_free(struct resize *rz)
{
    free(rz->add.v);
    free(rz->remove.v);
    free(rz->fill_rows);
    token_list_free(&rz->keep);
    token_list_free(&rz->reorder);
    for (size_t i = 0; i < rz->n_files; i++)
        token_list_free(&rz->files[i]);
    free(rz->files);
    emb_table_close(rz->from);
    resize_names_free(rz);
}
