/* rowplan.c - emb_resize_plan: which row goes where when a table is resized.
 *
 * Works on tokens and row numbers alone: no value is read and no file written. The rules are those
 * of emb.h (Resizing) and of docs/design.md, decisions D1, D2 and D4: spare rows come first, ids go
 * on behind the largest in use, all rows of a token go or stay together.
 */
#include "fmt/rewrite.h"
#include "ops/resize.h"
#include "ops/rowruns.h"
#include "util/err.h"

#include <inttypes.h>
#include <stdlib.h>

/* A plan while it is made. */
struct draft {
    const emb_table *table;
    const emb_resize_opts *o;
    const struct embi_vocab *vocab;
    uint64_t v;                  /* V of the table */
    uint64_t ids;                /* V, or more: ids past the end of the table get rows, from V on */
    uint8_t *kept;               /* [ids] */
    struct embi_row_runs order;  /* the rows that stay, in their new order */
    uint64_t used;               /* 1 + the last place in `order` whose row a token owns */
    uint64_t n_new;              /* tokens that get a row */
    uint64_t n_past;             /* tokens past the end of the table that get one */
    struct embi_row_runs result; /* plan->runs */
};

emb_resize_opts embi_resize_opts(const emb_resize_opts *opts)
{
    emb_resize_opts whole = {0};
    if (opts)
        memcpy(&whole, opts, embi_min(opts->size, sizeof whole));
    whole.size = sizeof whole;
    return whole;
}

static bool has_tokens(const struct draft *d)
{
    return d->vocab->total > 0;
}

static emb_str token_of(const struct draft *d, uint64_t row)
{
    return row < embi_min(d->vocab->total, d->ids) ? d->vocab->tokens[row] : (emb_str){NULL, 0};
}

/* ------------------------------------------------------------------------------------------------
 * Names
 */

/* "#12" */
static bool is_id(emb_str name, uint64_t *id)
{
    if (name.n < 2 || name.s[0] != '#')
        return false;
    *id = 0;
    for (size_t i = 1; i < name.n; i++)
        if (name.s[i] < '0' || name.s[i] > '9' || !embi_mul(*id, 10, id) ||
            !embi_add(*id, (uint64_t)(name.s[i] - '0'), id))
            return false;
    return true;
}

static emb_status name_by_id(const struct draft *d, emb_str name, size_t at, uint64_t *row,
                             emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    if (!is_id(name, row))
        return embi_fail(err, EMB_NOT_FOUND, (int64_t)at, "%s: not in the vocabulary",
                         embi_show(shown, name));
    if (*row >= d->v)
        return embi_fail(err, EMB_RANGE, (int64_t)at, "%s: the table has %" PRIu64 " rows",
                         embi_show(shown, name), d->v);
    return EMB_OK;
}

/* rows[i] = the first row that names[i] means; hit[r] = 1 for every row of every name (hit [ids]
 * may be NULL). One look at each token, so that tokens that are there twice cost nothing. */
static emb_status find_rows(const struct draft *d, const emb_str *names, size_t n, uint64_t *rows,
                            uint8_t *hit, emb_err *err)
{
    struct embi_map map = {0};
    emb_status status = embi_map_build(&map, names, n, err);
    for (size_t i = 0; i < n; i++)
        rows[i] = EMB_ROW_NEW;
    for (uint64_t r = 0; !status && n && r < d->ids; r++) {
        emb_str token = token_of(d, r);
        uint64_t i = token.s ? embi_map_find(&map, token) : EMBI_MAP_NONE;
        if (i == EMBI_MAP_NONE)
            continue;
        if (rows[i] == EMB_ROW_NEW)
            rows[i] = r;
        if (hit)
            hit[r] = 1;
    }
    for (size_t i = 0; !status && i < n; i++) {
        uint64_t same = embi_map_find(&map, names[i]);
        if (rows[same] == EMB_ROW_NEW)
            status = name_by_id(d, names[i], i, &rows[same], err);
        rows[i] = rows[same];
        if (!status && hit)
            hit[rows[i]] = 1;
    }
    embi_map_free(&map);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Rows that stay
 */

/* kept[r] = 0 for the rows of `remove`. rows: scratch [n_remove]. */
static emb_status drop_rows(struct draft *d, uint64_t *rows, emb_err *err)
{
    uint8_t *gone = calloc(d->ids + 1, 1); /* [ids] */
    if (!gone)
        return embi_fail_memory(err, d->ids, "a plan");
    emb_status status = find_rows(d, d->o->remove, d->o->n_remove, rows, gone, err);
    for (uint64_t r = 0; !status && r < d->ids; r++)
        d->kept[r] &= !gone[r];
    free(gone);
    return status;
}

static emb_status choose_rows(struct draft *d, emb_err *err)
{
    const emb_resize_opts *o = d->o;
    size_t most = (size_t)embi_max(o->n_keep, o->n_remove);
    uint64_t *rows = calloc(most + 1, sizeof *rows);
    emb_status status = EMB_OK;
    if (!rows)
        return embi_fail_memory(err, most * sizeof *rows, "a plan");
    if (o->keep)
        status = find_rows(d, o->keep, o->n_keep, rows, d->kept, err);
    else
        memset(d->kept, 1, d->ids);
    if (!status)
        status = drop_rows(d, rows, err);
    free(rows);
    return status;
}

static emb_status twice(const struct draft *d, size_t at, bool removed, emb_err *err)
{
    char shown[EMBI_SHOW_MAX];
    return embi_fail(err, EMB_BAD_ARG, (int64_t)at, "%s: %s", embi_show(shown, d->o->first[at]),
                     removed ? "is to be removed, and has no place in the new order"
                             : "is listed twice in the new order");
}

/* The rows that `first` lists begin the order; they are marked in `placed` [ids]. */
static emb_status place_first(struct draft *d, uint8_t *placed, emb_err *err)
{
    const emb_resize_opts *o = d->o;
    uint64_t *rows = calloc(o->n_first + 1, sizeof *rows);
    if (!rows)
        return embi_fail_memory(err, o->n_first * sizeof *rows, "a plan");
    emb_status status = find_rows(d, o->first, o->n_first, rows, NULL, err);
    for (size_t i = 0; !status && i < o->n_first; i++) {
        if (!d->kept[rows[i]] || placed[rows[i]])
            status = twice(d, i, !d->kept[rows[i]], err);
        else
            status = embi_row_runs_add(&d->order, rows[i], 1, err);
        placed[rows[i]] = 1;
    }
    free(rows);
    return status;
}

/* Rows behind the last token are spare, but for those of ids that are in use elsewhere. */
static void count_used(struct draft *d)
{
    uint64_t left = has_tokens(d) ? 0 : d->order.rows, place = d->order.rows;
    for (size_t i = d->order.n; left == 0 && i-- > 0; place -= d->order.list[i].rows) {
        const emb_row_run *run = &d->order.list[i];
        uint64_t n = run->rows;
        while (n && !token_of(d, run->source + n - 1).s)
            n--;
        left = n ? place - run->rows + n : 0;
    }
    d->used = embi_max(left, embi_min(d->o->next_id, d->order.rows));
}

static emb_status order_rows(struct draft *d, emb_err *err)
{
    uint8_t *placed = calloc(d->ids + 1, 1);
    if (!placed)
        return embi_fail_memory(err, d->ids, "a plan");
    emb_status status = place_first(d, placed, err);
    for (uint64_t r = 0; !status && r < d->ids; r++)
        if (d->kept[r] && !placed[r])
            status = embi_row_runs_add(&d->order, r, 1, err);
    count_used(d);
    free(placed);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * Tokens that are added
 */

static emb_status check_token(const struct draft *d, size_t i, emb_err *err)
{
    if (!has_tokens(d))
        return embi_fail(err, EMB_BAD_ARG, (int64_t)i,
                         "the table has no tokens, so none can be added: give it some (--vocab "
                         "FILE), or add rows (--rows N)");
    if (d->o->add[i].n == 0)
        return embi_fail(err, EMB_BAD_ARG, (int64_t)i, "token %zu to add is empty", i + 1);
    return EMB_OK;
}

/* Adds token i to the plan: where it is, or where it will be. */
static emb_status add_token(struct draft *d, emb_resize *plan, size_t i, emb_err *err)
{
    emb_resize_token *t = &plan->added[plan->n_added];
    uint64_t row = 0;
    emb_status status = emb_table_find(d->table, d->o->add[i], &row, err);
    if (status && status != EMB_NOT_FOUND)
        return status;
    if (status) /* where it is past the end of the table, else UINT64_MAX */
        row = (uint64_t)err->at;
    t->token = d->o->add[i];
    t->present = row < d->ids && d->kept[row];
    t->row = t->present ? embi_row_runs_place(&d->order, row) : d->used + d->n_new++;
    plan->n_added++;
    return EMB_OK;
}

static emb_status add_tokens(struct draft *d, emb_resize *plan, emb_err *err)
{
    const emb_resize_opts *o = d->o;
    struct embi_map map = {0};
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < o->n_add; i++)
        status = check_token(d, i, err);
    if (status || !o->n_add)
        return status;
    plan->added = calloc(o->n_add, sizeof *plan->added);
    if (!plan->added)
        return embi_fail_memory(err, o->n_add * sizeof *plan->added, "a plan");
    status = embi_row_runs_index(&d->order, err);
    if (!status)
        status = embi_map_build(&map, o->add, o->n_add, err);
    for (size_t i = 0; !status && i < o->n_add; i++)
        if (embi_map_find(&map, o->add[i]) == i)
            status = add_token(d, plan, i, err);
    embi_map_free(&map);
    return status;
}

/* ------------------------------------------------------------------------------------------------
 * The number of rows
 */

static emb_status too_few(const struct draft *d, uint64_t have, emb_err *err)
{
    if (d->o->shrink)
        return embi_fail(err, EMB_BAD_ARG, -1,
                         "%" PRIu64 " rows are too few: with the new tokens %" PRIu64 " are in use",
                         d->o->rows, have);
    return embi_fail(err, EMB_BAD_ARG, -1,
                     "%" PRIu64 " rows are fewer than the %" PRIu64
                     " there would be: --shrink cuts rows off the end",
                     d->o->rows, have);
}

static emb_status count_rows(const struct draft *d, uint64_t *rows, emb_err *err)
{
    const emb_resize_opts *o = d->o;
    uint64_t least = d->used + d->n_new; /* both are below the number of strings in memory */
    uint64_t have = embi_max(o->shrink && !o->rows ? d->used : d->order.rows, least), over, bytes;
    *rows = o->rows ? o->rows : have;
    if (*rows < have && !o->shrink)
        return too_few(d, have, err);
    if (*rows < least && d->n_new)
        return too_few(d, least, err);
    over = o->multiple ? *rows % o->multiple : 0;
    if ((over && !embi_add(*rows, o->multiple - over, rows)) ||
        !embi_mul(*rows, embi_max(sizeof(emb_str), d->table->layout.dims * sizeof(double)),
                  &bytes) ||
        bytes > INT64_MAX)
        return embi_fail(err, EMB_BAD_ARG, -1, "a table of so many rows has no size");
    return EMB_OK;
}

/* ------------------------------------------------------------------------------------------------
 * The plan
 */

/* The tokens of ids from `first` on, of which the table has no rows. */
static uint64_t count_tokens(const struct draft *d, uint64_t first, uint64_t n)
{
    uint64_t found = 0;
    for (uint64_t i = 0; first != EMB_ROW_NEW && i < n; i++)
        found += token_of(d, first + i).s != NULL;
    return found;
}

/* n rows from place `at` on: old ones of the table, ids past its end, or new ones; all of them
 * taken by new tokens or none. */
static emb_status put_rows(struct draft *d, emb_resize *plan, uint64_t at, uint64_t source,
                           uint64_t n, emb_err *err)
{
    bool taken = at >= d->used && at - d->used < d->n_new, old = source < d->v;
    if (taken && old)
        plan->spare_rows += n;
    if (old && !taken)
        return embi_row_runs_add(&d->result, source, n, err);
    uint64_t named = taken ? 0 : count_tokens(d, source, n);
    plan->new_rows += n;
    plan->padding_rows += taken ? 0 : n - named;
    d->n_past += named;
    return embi_row_runs_add(&d->result, EMB_ROW_NEW, n, err);
}

/* How many of n rows from place `at` on put_rows can have at once. */
static uint64_t part_of(const struct draft *d, uint64_t at, uint64_t source, uint64_t n)
{
    uint64_t end = d->used + d->n_new;
    if (at < end)
        n = embi_min(n, (at < d->used ? d->used : end) - at);
    return source < d->v ? embi_min(n, d->v - source) : n;
}

/* A run of the order, or new rows at the end, as far as the plan has room. */
static emb_status put_run(struct draft *d, emb_resize *plan, const emb_row_run *run, emb_err *err)
{
    uint64_t source = run->source, n = embi_min(run->rows, plan->rows - d->result.rows);
    emb_status status = EMB_OK;
    for (uint64_t part; !status && n; n -= part) {
        part = part_of(d, d->result.rows, source, n);
        status = put_rows(d, plan, d->result.rows, source, part, err);
        source += source == EMB_ROW_NEW ? 0 : part;
    }
    return status;
}

static emb_status fill_tokens(const struct draft *d, emb_resize *plan, emb_err *err)
{
    uint64_t at = 0, end;
    if (!has_tokens(d))
        return EMB_OK;
    plan->n_tokens = embi_min(plan->rows, d->used + d->n_new);
    plan->tokens = calloc(plan->n_tokens + 1, sizeof *plan->tokens);
    if (!plan->tokens)
        return embi_fail_memory(err, plan->n_tokens * sizeof *plan->tokens, "a plan");
    end = embi_min(plan->n_tokens, d->used);
    for (size_t i = 0; i < d->order.n && at < end; i++)
        for (uint64_t k = 0; k < d->order.list[i].rows && at < end; k++)
            plan->tokens[at++] = token_of(d, d->order.list[i].source + k);
    for (size_t i = 0; i < plan->n_added; i++)
        if (!plan->added[i].present)
            plan->tokens[plan->added[i].row] = plan->added[i].token;
    return EMB_OK;
}

static emb_status fill(struct draft *d, emb_resize *plan, emb_err *err)
{
    const emb_row_run rest = {plan->rows, EMB_ROW_NEW};
    emb_status status = EMB_OK;
    plan->old_rows = d->v;
    for (size_t i = 0; !status && i < d->order.n; i++)
        status = put_run(d, plan, &d->order.list[i], err);
    if (!status)
        status = put_run(d, plan, &rest, err);
    if (status)
        return status;
    plan->runs = d->result.list;
    plan->n_runs = d->result.n;
    d->result.list = NULL;
    plan->removed_rows = d->v - (plan->rows - plan->new_rows) - plan->spare_rows;
    return fill_tokens(d, plan, err);
}

static emb_status check(const struct draft *d, const emb_resize *plan, emb_err *err)
{
    const struct embi_format *format = d->table->reader->format;
    if ((format->caps & (EMBI_FMT_TOKENS | EMBI_FMT_TOKENS_FIRST)) != EMBI_FMT_TOKENS)
        return EMB_OK;          /* no token stands in a row */
    if (d->vocab->source.owned) /* --vocab */
        return embi_fail(err, EMB_BAD_ARG, -1, "%s holds tokens of its own: no --vocab",
                         format->name);
    if (plan->padding_rows)
        return embi_fail(err, EMB_UNSUPPORTED, -1,
                         "%s needs a token for every row and %" PRIu64
                         " would have none: name them with --add-tokens",
                         format->name, plan->padding_rows);
    if (plan->rows == 0)
        return embi_fail(err, EMB_UNSUPPORTED, -1, "%s cannot hold a table of 0 rows",
                         format->name);
    return EMB_OK;
}

static emb_status make(struct draft *d, emb_resize *plan, emb_err *err)
{
    d->kept = calloc(d->ids + 1, 1);
    if (!d->kept)
        return embi_fail_memory(err, d->ids, "a plan");
    emb_status status = choose_rows(d, err);
    if (!status)
        status = order_rows(d, err);
    if (!status)
        status = add_tokens(d, plan, err);
    if (!status)
        status = count_rows(d, &plan->rows, err);
    if (!status)
        status = fill(d, plan, err);
    return status ? status : check(d, plan, err);
}

emb_status emb_resize_plan(const emb_table *table, const emb_resize_opts *opts, emb_resize *plan,
                           emb_err *err)
{
    emb_resize_opts o = embi_resize_opts(opts);
    struct draft d = {.table = table, .o = &o};
    *plan = (emb_resize){0};
    emb_status status = embi_rewrite_allowed(table->reader->format, table->layout.dtype, err);
    if (!status && table->reader->shards)
        status = embi_fail(err, EMB_UNSUPPORTED, -1,
                           "a table of %u shards: join them first (embtool shard --join)",
                           (unsigned)table->reader->shards);
    if (!status)
        status = embi_table_vocab(table, &d.vocab, err);
    if (status)
        return status;
    d.v = table->layout.rows;
    d.ids = table->limit_rows ? d.v : embi_max(d.v, embi_max(d.vocab->total, o.next_id));
    status = make(&d, plan, err);
    if (!status)
        status = embi_fill_check(table, plan, &o, err);
    free(d.kept);
    embi_row_runs_free(&d.order);
    embi_row_runs_free(&d.result);
    if (status)
        emb_resize_free(plan);
    else if (d.n_past)
        embi_log(table->env, EMB_LOG_NOTE, table->path,
                 "%" PRIu64 " tokens past the end of the table get rows", d.n_past);
    return status;
}

void emb_resize_free(emb_resize *plan)
{
    free(plan->runs);
    free(plan->tokens);
    free(plan->added);
    *plan = (emb_resize){0};
}
