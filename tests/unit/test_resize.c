/* tests/unit/test_resize.c - plans of a resize (rowplan.c), the values of new rows (fill.c), and the
 * header of a rewritten safetensors file.
 *
 * Plans were worked out by hand from the rules in emb.h; the table of each is raw bytes of one
 * dimension, row r holding r + 10. tests/peers/check_resize.py compares many more with a model.
 */
#include <criterion/criterion.h>

#include "emb.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIST_MAX = 16, TEXT_MAX = 200 };

static char folder[] = "/tmp/embtool-resize-XXXXXX";
static emb_ctx *ctx;
static emb_table *table;
static emb_err err;

static void enter(void)
{
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(chdir(folder), 0);
    cr_assert_eq(emb_ctx_new(NULL, &ctx, &err), EMB_OK);
}

static void leave(void)
{
    char command[64];
    emb_table_close(table);
    emb_ctx_free(ctx);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    cr_assert_eq(chdir("/"), 0);
    cr_assert_eq(system(command), 0);
}

static void put(const char *path, const void *bytes, size_t n)
{
    FILE *f = fopen(path, "wb");
    cr_assert_not_null(f);
    cr_assert_eq(fwrite(bytes, 1, n, f), n);
    cr_assert_eq(fclose(f), 0);
}

static size_t get(const char *path, unsigned char bytes[TEXT_MAX])
{
    FILE *f = fopen(path, "rb");
    cr_assert_not_null(f, "%s", path);
    size_t n = fread(bytes, 1, TEXT_MAX, f);
    fclose(f);
    return n;
}

/* A raw table of one dimension; words: tokens of its rows, parted by newlines, or NULL. */
static void open_raw(emb_dtype dtype, const void *bytes, size_t n, const char *words)
{
    emb_open_opts opts = {
        .size = sizeof opts, .format = "raw", .input_dtype = dtype, .raw_dims = 1};
    put("t.raw", bytes, n);
    if (words) {
        put("words", words, strlen(words));
        opts.vocab = "words";
    }
    emb_table_close(table);
    table = NULL;
    cr_assert_eq(emb_table_open(ctx, "t.raw", &opts, &table, &err), EMB_OK, "%s", err.msg);
}

static void open_rows(uint64_t v, const char *words)
{
    unsigned char bytes[LIST_MAX];
    for (uint64_t r = 0; r < v; r++)
        bytes[r] = (unsigned char)(r + 10);
    open_raw(EMB_U8, bytes, v, words);
}

/* "a b" as a list; returns how many. */
static size_t split(const char *text, emb_str list[LIST_MAX])
{
    size_t n = 0;
    for (const char *s = text ? text : ""; *s; s += *s == ' ') {
        list[n++] = (emb_str){s, strcspn(s, " ")};
        s += list[n - 1].n;
    }
    return n;
}

struct plan_case {
    uint64_t v;
    const char *words;                       /* of the table */
    const char *add, *remove, *keep, *first; /* blanks between */
    uint64_t rows, multiple;
    bool shrink;
    const char *source; /* "0 1 +": + is a new row */
    const char *tokens; /* "a - x": - is none; NULL: the table has none */
    uint64_t removed, spare, padding;
};

struct lists {
    emb_str add[LIST_MAX], remove[LIST_MAX], keep[LIST_MAX], first[LIST_MAX];
};

static emb_resize_opts opts_of(const struct plan_case *c, struct lists *l)
{
    emb_resize_opts o = {.size = sizeof o, .rows = c->rows, .multiple = c->multiple};
    o.shrink = c->shrink;
    o.add = l->add;
    o.n_add = split(c->add, l->add);
    o.remove = l->remove;
    o.n_remove = split(c->remove, l->remove);
    o.keep = c->keep ? l->keep : NULL;
    o.n_keep = split(c->keep, l->keep);
    o.first = l->first;
    o.n_first = split(c->first, l->first);
    return o;
}

static const struct plan_case good[] = {
    /* nothing asked */
    {3, NULL, NULL, NULL, NULL, NULL, 0, 0, false, "0 1 2", NULL, 0, 0, 0},
    {4, "a\n\nc\n", NULL, NULL, NULL, NULL, 0, 0, false, "0 1 2 3", "a - c -", 0, 0, 0},
    /* rows of a table without tokens */
    {3, NULL, NULL, NULL, NULL, NULL, 5, 0, false, "0 1 2 + +", NULL, 0, 0, 2},
    {3, NULL, NULL, NULL, NULL, NULL, 0, 4, false, "0 1 2 +", NULL, 0, 0, 1},
    {4, NULL, NULL, NULL, NULL, NULL, 0, 4, false, "0 1 2 3", NULL, 0, 0, 0},
    {3, NULL, NULL, NULL, NULL, NULL, 5, 4, false, "0 1 2 + + + + +", NULL, 0, 0, 5},
    {4, NULL, NULL, NULL, NULL, NULL, 2, 0, true, "0 1", NULL, 2, 0, 0},
    {4, NULL, NULL, NULL, NULL, NULL, 0, 0, true, "0 1 2 3", NULL, 0, 0, 0},
    {4, NULL, NULL, "#1 #2", NULL, "#3", 0, 0, false, "3 0", NULL, 2, 0, 0},
    {4, NULL, NULL, NULL, "#3 #0 #3", NULL, 0, 0, false, "0 3", NULL, 2, 0, 0},
    /* spare rows first, then the end; holes are not spare */
    {5, "a\n\nc\n", "x", NULL, NULL, NULL, 0, 0, false, "0 1 2 + 4", "a - c x -", 0, 1, 0},
    {4, "a\n\nc\n", "x y", NULL, NULL, NULL, 0, 0, false, "0 1 2 + +", "a - c x y", 0, 1, 0},
    {4, "a\nb\n", "x", NULL, NULL, NULL, 0, 8, false, "0 1 + 3 + + + +", "a b x - - - - -", 0, 1,
     4},
    {5, "a\nb\n", NULL, NULL, NULL, NULL, 0, 0, true, "0 1", "a b", 3, 0, 0},
    {5, "a\nb\n", "x", NULL, NULL, NULL, 0, 0, true, "0 1 +", "a b x", 2, 1, 0},
    {5, "a\nb\n", "x", NULL, NULL, NULL, 4, 0, true, "0 1 + 3", "a b x -", 1, 1, 0},
    {3, "a\nb\nc\n", NULL, NULL, NULL, NULL, 2, 0, true, "0 1", "a b", 1, 0, 0},
    /* repeats and known tokens */
    {2, "a\nb\n", "y a x y b", NULL, NULL, NULL, 0, 0, false, "0 1 + +", "a b y x", 0, 0, 0},
    {2, "a\nb\n", "a", "a", NULL, NULL, 0, 0, false, "1 +", "b a", 1, 0, 0},
    /* all rows of a token go or stay; the first one is meant by its name */
    {4, "a\nb\na\nc\n", NULL, "a", NULL, NULL, 0, 0, false, "1 3", "b c", 2, 0, 0},
    {4, "a\nb\na\nc\n", NULL, NULL, "c a", NULL, 0, 0, false, "0 2 3", "a a c", 1, 0, 0},
    {4, "a\nb\na\nc\n", NULL, NULL, NULL, "c a", 0, 0, false, "3 0 1 2", "c a b a", 0, 0, 0},
    {4, "a\nb\nc\n", NULL, "b", "a b", NULL, 0, 0, false, "0", "a", 3, 0, 0},
    {4, "a\nb\nc\n", "x", NULL, NULL, "c", 0, 0, false, "2 0 1 +", "c a b x", 0, 1, 0},
    /* a token that looks like an id is a token */
    {3, "a\n#0\nc\n", NULL, "#0 #2", NULL, NULL, 0, 0, false, "0", "a", 2, 0, 0},
    {2, "a\nb\n", NULL, NULL, "", NULL, 0, 0, false, "", "", 2, 0, 0},
};

static void check_source(const struct plan_case *c, const emb_resize *plan, size_t i)
{
    emb_str want[LIST_MAX];
    size_t n = split(c->source, want);
    cr_assert_eq(plan->rows, n, "case %zu: %llu rows", i, (unsigned long long)plan->rows);
    size_t r = 0;
    for (size_t k = 0; k < plan->n_runs; k++)
        for (uint64_t j = 0; j < plan->runs[k].rows; j++, r++) {
            uint64_t from = plan->runs[k].source;
            from += from == EMB_ROW_NEW ? 0 : j;
            cr_assert(r < n, "case %zu: too many rows", i);
            cr_assert_eq(from, want[r].s[0] == '+' ? EMB_ROW_NEW : strtoull(want[r].s, NULL, 10),
                         "case %zu: row %zu", i, r);
        }
    cr_assert_eq(r, n, "case %zu: rows of all runs", i);
    for (size_t k = 1; k < plan->n_runs; k++) { /* no two that could be one */
        const emb_row_run *a = &plan->runs[k - 1], *b = &plan->runs[k];
        cr_assert(a->source == EMB_ROW_NEW ? b->source != EMB_ROW_NEW
                                           : b->source != a->source + a->rows,
                  "case %zu: run %zu", i, k);
    }
}

static void check_tokens(const struct plan_case *c, const emb_resize *plan, size_t i)
{
    emb_str want[LIST_MAX];
    size_t n = split(c->tokens, want);
    cr_assert_eq(plan->tokens != NULL, c->tokens != NULL, "case %zu", i);
    for (size_t r = 0; c->tokens && r < n; r++) {
        emb_str t = r < plan->n_tokens ? plan->tokens[r] : (emb_str){NULL, 0};
        bool same = want[r].s[0] == '-' ? t.s == NULL
                                        : t.s && t.n == want[r].n && !memcmp(t.s, want[r].s, t.n);
        cr_assert(same, "case %zu: token %zu", i, r);
    }
}

Test(resize, plans, .init = enter, .fini = leave)
{
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        const struct plan_case *c = &good[i];
        struct lists lists;
        emb_resize_opts o = opts_of(c, &lists);
        emb_resize plan;
        open_rows(c->v, c->words);
        cr_assert_eq(emb_resize_plan(table, &o, &plan, &err), EMB_OK, "case %zu: %s", i, err.msg);
        check_source(c, &plan, i);
        check_tokens(c, &plan, i);
        cr_assert_eq(plan.old_rows, c->v);
        cr_assert_eq(plan.removed_rows, c->removed, "case %zu: removed", i);
        cr_assert_eq(plan.spare_rows, c->spare, "case %zu: spare", i);
        cr_assert_eq(plan.padding_rows, c->padding, "case %zu: padding", i);
        emb_resize_free(&plan);
    }
}

Test(resize, what_was_added, .init = enter, .fini = leave)
{
    const struct plan_case c = {.add = "y b x y a", .remove = "a"};
    const struct {
        const char *token;
        uint64_t row;
        bool present;
    } want[] = {{"y", 1, false}, {"b", 0, true}, {"x", 2, false}, {"a", 3, false}};
    struct lists lists;
    emb_resize_opts o = opts_of(&c, &lists);
    emb_resize plan;
    open_rows(2, "a\nb\n");
    cr_assert_eq(emb_resize_plan(table, &o, &plan, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(plan.n_added, 4);
    for (size_t i = 0; i < 4; i++) {
        cr_assert_eq(plan.added[i].token.s[0], want[i].token[0], "%zu", i);
        cr_assert_eq(plan.added[i].row, want[i].row, "%zu", i);
        cr_assert_eq(plan.added[i].present, want[i].present, "%zu", i);
    }
    emb_resize_free(&plan);
}

Test(resize, refused_plans, .init = enter, .fini = leave)
{
    static const struct {
        struct plan_case c;
        emb_status status;
        int64_t at;
        const char *words;
    } bad[] = {
        {{.v = 3, .rows = 2}, EMB_BAD_ARG, -1, "--shrink"},
        {{.v = 3, .words = "a\n", .rows = 2}, EMB_BAD_ARG, -1, "--shrink"},
        {{.v = 2, .words = "a\nb\n", .add = "x", .rows = 2, .shrink = true}, EMB_BAD_ARG, -1, "3"},
        {{.v = 3, .add = "x"}, EMB_BAD_ARG, 0, "no tokens"},
        {{.v = 3, .words = "a\n", .remove = "a b"}, EMB_NOT_FOUND, 1, "b"},
        {{.v = 3, .words = "a\n", .keep = "#"}, EMB_NOT_FOUND, 0, "#"},
        {{.v = 3, .words = "a\n", .keep = "#0x"}, EMB_NOT_FOUND, 0, "#0x"},
        {{.v = 3, .words = "a\n", .first = "a #3"}, EMB_RANGE, 1, "3 rows"},
        {{.v = 3, .words = "a\n", .first = "a #0"}, EMB_BAD_ARG, 1, "twice"},
        {{.v = 3, .words = "a\nb\n", .first = "b", .remove = "b"}, EMB_BAD_ARG, 0, "removed"},
        {{.v = 3, .rows = UINT64_MAX}, EMB_BAD_ARG, -1, "size"},
        {{.v = 3, .rows = UINT64_MAX, .multiple = 2}, EMB_BAD_ARG, -1, "size"},
        {{.v = 3, .multiple = UINT64_MAX}, EMB_BAD_ARG, -1, "size"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct lists lists;
        emb_resize_opts o = opts_of(&bad[i].c, &lists);
        emb_resize plan;
        open_rows(bad[i].c.v, bad[i].c.words);
        cr_assert_eq(emb_resize_plan(table, &o, &plan, &err), bad[i].status, "case %zu", i);
        cr_assert_eq(err.at, bad[i].at, "case %zu: at %lld", i, (long long)err.at);
        cr_assert(strstr(err.msg, bad[i].words), "case %zu: %s", i, err.msg);
        cr_assert(!plan.runs && !plan.tokens && !plan.added);
    }
}

/* A caller built against an older header has a shorter struct: what it lacks is zero. */
Test(resize, short_options, .init = enter, .fini = leave)
{
    emb_resize_opts o = {.rows = 4, .multiple = 8, .shrink = true, .fill = (emb_fill)77};
    emb_resize plan;
    o.size = offsetof(emb_resize_opts, multiple);
    open_rows(3, NULL);
    cr_assert_eq(emb_resize_plan(table, &o, &plan, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(plan.rows, 4);
    emb_resize_free(&plan);
    cr_assert_eq(emb_resize_plan(table, NULL, &plan, &err), EMB_OK, "%s", err.msg);
    cr_assert_eq(plan.rows, 3);
    emb_resize_free(&plan);
}

/* Writes the open table with rows `rows` as `how` fills them. */
static emb_status write_rows(uint64_t rows, emb_resize_opts *how)
{
    emb_write_opts w = {.size = sizeof w, .force = true};
    emb_resize plan;
    how->size = sizeof *how;
    how->rows = rows;
    emb_status status = emb_resize_plan(table, how, &plan, &err);
    if (status)
        return status;
    status = emb_resize_write(ctx, table, &plan, how, "out.raw", &w, &err);
    emb_resize_free(&plan);
    return status;
}

/* New rows are rounded once, ties to even, integers too. */
Test(resize, rounding, .init = enter, .fini = leave)
{
    const signed char i8[] = {-3, 0, 1, 4, -1}, up[] = {-2, -1}, even[] = {1, 2};
    const unsigned char e8m0[] = {127, 127}; /* powers of two: there is no zero */
    const uint16_t f16[] = {0x3c01, 0x3c02}; /* 1 + 2^-10, 1 + 2^-9: the mean is half way */
    const double big[] = {1.7e308, 1.7e308};
    unsigned char got[TEXT_MAX];
    emb_resize_opts o = {.fill = EMB_FILL_MEAN};
    open_raw(EMB_I8, i8, 5, NULL);
    cr_assert_eq(write_rows(6, &o), EMB_OK, "%s", err.msg);
    cr_assert_eq(get("out.raw", got), 6);
    cr_assert(memcmp(got, i8, 5) == 0 && got[5] == 0); /* 1 / 5 */
    open_raw(EMB_I8, up, 2, NULL);
    cr_assert_eq(write_rows(3, &o), EMB_OK);
    cr_assert(get("out.raw", got) == 3 && (signed char)got[2] == -2); /* -1.5 */
    open_raw(EMB_I8, even, 2, NULL);
    cr_assert_eq(write_rows(3, &o), EMB_OK);
    cr_assert(get("out.raw", got) == 3 && got[2] == 2); /* 1.5 */
    open_raw(EMB_F16, f16, 4, NULL);
    cr_assert_eq(write_rows(3, &o), EMB_OK);
    cr_assert(get("out.raw", got) == 6 && got[4] == 0x02 && got[5] == 0x3c);
    open_raw(EMB_F8_E8M0, e8m0, 2, NULL);
    o.fill = EMB_FILL_ZEROS;
    cr_assert_eq(write_rows(3, &o), EMB_BAD_DATA);
    open_raw(EMB_F64, big, sizeof big, NULL);
    o.fill = EMB_FILL_MEAN;
    cr_assert_eq(write_rows(3, &o), EMB_BAD_DATA);
    cr_assert(strstr(err.msg, "too large"), "%s", err.msg);
}

Test(resize, fills_that_make_no_sense, .init = enter, .fini = leave)
{
    const uint64_t outside = 3;
    emb_resize_opts o = {.fill = EMB_FILL_NORMAL};
    open_rows(3, NULL);
    cr_assert_eq(write_rows(4, &o), EMB_BAD_ARG, "normal u8");
    o = (emb_resize_opts){.fill = (emb_fill)6};
    cr_assert_eq(write_rows(4, &o), EMB_BAD_ARG);
    o = (emb_resize_opts){.fill = EMB_FILL_COVARIANCE, .scale = -1};
    cr_assert_eq(write_rows(4, &o), EMB_BAD_ARG);
    o = (emb_resize_opts){.fill = EMB_FILL_ROWS};
    cr_assert_eq(write_rows(4, &o), EMB_BAD_ARG);
    o = (emb_resize_opts){.fill = EMB_FILL_ROWS, .fill_rows = &outside, .n_fill_rows = 1};
    cr_assert_eq(write_rows(4, &o), EMB_RANGE);
    o = (emb_resize_opts){.fill = EMB_FILL_TABLE};
    cr_assert_eq(write_rows(4, &o), EMB_BAD_ARG);
    cr_assert_neq(access("out.raw", F_OK), 0, "a refused resize left a file");
}

/* The table's own name may be written with escapes; offsets before it and other numbers stay. */
Test(resize, header_is_spliced, .init = enter, .fini = leave)
{
    static const char head[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[3,4]},"
                               "\"w\\u0074e.weight\":{\"data_offsets\":[1,3],\"shape\":[2,1],"
                               "\"dtype\":\"U8\"},\"b\":{\"shape\":[1],\"dtype\":\"U8\","
                               "\"data_offsets\":[0,1]}}";
    static const char want[] = "{\"a\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[12,13]},"
                               "\"w\\u0074e.weight\":{\"data_offsets\":[1,12],\"shape\":[11,1],"
                               "\"dtype\":\"U8\"},\"b\":{\"shape\":[1],\"dtype\":\"U8\","
                               "\"data_offsets\":[0,1]}}";
    static const char data[] = "B\4\6A", grown[] = "B\4\6\5\5\5\5\5\5\5\5\5A"; /* the mean is 5 */
    char file[8 + 512] = {(char)(sizeof head - 1)};
    unsigned char got[8 + 512];
    memcpy(file + 8, head, sizeof head - 1);
    memcpy(file + 8 + sizeof head - 1, data, 4);
    put("t.safetensors", file, 8 + sizeof head - 1 + 4);
    cr_assert_eq(emb_table_open(ctx, "t.safetensors", NULL, &table, &err), EMB_OK, "%s", err.msg);
    emb_resize_opts o = {.fill = EMB_FILL_MEAN};
    cr_assert_eq(write_rows(11, &o), EMB_OK, "%s", err.msg);
    FILE *f = fopen("out.raw", "rb");
    size_t n = fread(got, 1, sizeof got, f), padded = (sizeof want - 1 + 7) / 8 * 8;
    fclose(f);
    cr_assert_eq(n, 8 + padded + 13, "%zu bytes", n);
    cr_assert_eq(got[0], padded);
    cr_assert_eq(memcmp(got + 8, want, sizeof want - 1), 0);
    for (size_t i = 8 + sizeof want - 1; i < 8 + padded; i++)
        cr_assert_eq(got[i], ' ');
    cr_assert_eq(memcmp(got + 8 + padded, grown, 13), 0);
}
