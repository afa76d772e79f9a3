/* resize_say.c - the plan of `embtool resize` as people and scripts read it. */
#include "out.h"
#include "resize.h"

#include <inttypes.h>

static void text_u64(struct out *out, const char *key, uint64_t x)
{
    out_text(out, key);
    out_byte(out, '\t');
    out_u64(out, x);
    out_byte(out, '\n');
}

/* Counts that are 0 in most runs are left out of the text. */
static void text_if_any(struct out *out, const char *key, uint64_t x)
{
    if (x)
        text_u64(out, key, x);
}

/* Bytes of the rows; of a text table they cannot be told before it is written. */
static bool row_bytes(const struct resize *rz, uint64_t *before, uint64_t *after)
{
    uint64_t row = emb_dtype_row_bytes(rz->info.dtype, rz->info.dims);
    *before = rz->plan.old_rows * row;
    *after = rz->plan.rows * row;
    return !rz->info.text;
}

static const char *init_of(const struct resize *rz)
{
    return rz->opts->init ? rz->opts->init : "mean";
}

static void text_pair(struct out *out, const char *key, uint64_t before, uint64_t after)
{
    out_text(out, key);
    out_byte(out, '\t');
    out_u64(out, before);
    out_byte(out, '\t');
    out_u64(out, after);
    out_byte(out, '\n');
}

/* What the text of token i was split into; n 0 where it was not. */
static emb_token_pieces pieces_of(const struct resize *rz, size_t i)
{
    const emb_token_pieces *pieces = rz->model_plan ? rz->model_plan->pieces : NULL;
    return pieces ? pieces[i] : (emb_token_pieces){NULL, 0};
}

static emb_str token_of(const struct resize *rz, uint64_t row)
{
    emb_str token = {"", 0};
    emb_err err;
    return emb_table_token(rz->table, row, &token, &err) == EMB_OK ? token : (emb_str){"", 0};
}

static void text_pieces(const struct resize *rz, struct out *out, size_t i)
{
    emb_token_pieces pieces = pieces_of(rz, i);
    if (pieces.n == 0)
        return;
    out_text(out, "pieces\t");
    out_token(out, rz->plan.added[i].token, '\t');
    for (size_t k = 0; k < pieces.n; k++) {
        out_byte(out, '\t');
        out_token(out, token_of(rz, pieces.rows[k]), '\t');
    }
    out_byte(out, '\n');
}

static void say_text(const struct resize *rz, struct out *out)
{
    const emb_resize *plan = &rz->plan;
    uint64_t before, after;
    for (size_t i = 0; i < plan->n_added; i++) {
        const emb_resize_token *t = &plan->added[i];
        out_text(out, t->present ? "present\t" : "add\t");
        out_token(out, t->token, '\t');
        out_byte(out, '\t');
        out_u64(out, t->row);
        if (rz->model_plan && !t->present)
            out_text(out, rz->model_plan->special[i] ? "\tspecial" : "\tplain");
        out_byte(out, '\n');
        text_pieces(rz, out, i);
    }
    text_pair(out, "rows", plan->old_rows, plan->rows);
    text_u64(out, "dims", rz->info.dims);
    out_print(out, "dtype\t%s\nformat\t%s\n", emb_dtype_name(rz->info.dtype), rz->info.format);
    text_if_any(out, "removed_rows", plan->removed_rows);
    text_if_any(out, "spare_rows_used", plan->spare_rows);
    text_if_any(out, "padding_rows", plan->padding_rows);
    text_if_any(out, "new_rows", plan->new_rows);
    if (plan->new_rows) {
        out_text(out, "init\t");
        out_token(out, (emb_str){init_of(rz), strlen(init_of(rz))}, '\t');
        out_byte(out, '\n');
    }
    if (row_bytes(rz, &before, &after))
        text_pair(out, "bytes", before, after);
    if (rz->beside) {
        out_text(out, "tokens\t");
        out_token(out, (emb_str){rz->beside, strlen(rz->beside)}, '\t');
        out_byte(out, '\n');
    }
    if (rz->model_plan)
        resize_say_model_text(rz, out);
}

static void json_u64(struct out *out, const char *key, uint64_t x)
{
    out_print(out, "\"%s\":", key);
    out_u64(out, x);
    out_byte(out, ',');
}

/* ,"pieces":[{"token":"a","id":0},...] */
static void json_pieces(const struct resize *rz, struct out *out, size_t i)
{
    emb_token_pieces pieces = pieces_of(rz, i);
    if (pieces.n == 0)
        return;
    out_text(out, ",\"pieces\":[");
    for (size_t k = 0; k < pieces.n; k++) {
        out_text(out, k ? ",{" : "{");
        out_json_token(out, "token", token_of(rz, pieces.rows[k]));
        out_text(out, "\"id\":");
        out_u64(out, pieces.rows[k]);
        out_byte(out, '}');
    }
    out_byte(out, ']');
}

static void json_tokens(const struct resize *rz, struct out *out, const char *key, bool present)
{
    bool any = false;
    out_print(out, "\"%s\":[", key);
    for (size_t i = 0; i < rz->plan.n_added; i++) {
        const emb_resize_token *t = &rz->plan.added[i];
        if (t->present != present)
            continue;
        out_text(out, any ? ",{" : "{");
        out_json_token(out, "token", t->token);
        out_text(out, "\"id\":");
        out_u64(out, t->row);
        if (rz->model_plan && !present)
            out_text(out, rz->model_plan->special[i] ? ",\"special\":true" : ",\"special\":false");
        json_pieces(rz, out, i);
        out_byte(out, '}');
        any = true;
    }
    out_text(out, "],");
}

static void json_text(struct out *out, const char *key, const char *text)
{
    out_print(out, "\"%s\":", key);
    if (text)
        out_json_string(out, (emb_str){text, strlen(text)});
    else
        out_text(out, "null");
}

static void say_json(const struct resize *rz, struct out *out)
{
    const emb_resize *plan = &rz->plan;
    uint64_t before, after;
    out_byte(out, '{');
    json_text(out, "format", rz->info.format);
    out_byte(out, ',');
    json_text(out, "tensor", rz->info.tensor);
    out_print(out, ",\"dtype\":\"%s\",", emb_dtype_name(rz->info.dtype));
    json_u64(out, "dims", rz->info.dims);
    json_u64(out, "old_rows", plan->old_rows);
    json_u64(out, "rows", plan->rows);
    json_u64(out, "removed_rows", plan->removed_rows);
    json_u64(out, "spare_rows_used", plan->spare_rows);
    json_u64(out, "padding_rows", plan->padding_rows);
    json_u64(out, "new_rows", plan->new_rows);
    json_tokens(rz, out, "added", false);
    json_tokens(rz, out, "present", true);
    if (row_bytes(rz, &before, &after)) {
        json_u64(out, "old_bytes", before);
        json_u64(out, "bytes", after);
    }
    if (rz->model_plan)
        resize_say_model_json(rz, out);
    json_text(out, "init", init_of(rz));
    out_byte(out, ',');
    json_text(out, "output", rz->target);
    if (rz->beside) {
        out_byte(out, ',');
        json_text(out, "tokens_file", rz->beside);
    }
    out_text(out, rz->opts->dry_run ? ",\"dry_run\":true}\n" : ",\"dry_run\":false}\n");
}

/* What a user may not expect of the result. */
static void say_notes(const struct resize *rz)
{
    const emb_resize *plan = &rz->plan;
    emb_fill fill = rz->how.fill;
    bool equal = fill == EMB_FILL_MEAN || fill == EMB_FILL_ZEROS || fill == EMB_FILL_ROWS;
    bool changed = plan->new_rows > plan->padding_rows || plan->removed_rows || rz->opts->reorder;
    if (equal && plan->new_rows - plan->padding_rows > 1)
        note(rz->run, NULL,
             "the rows of the %" PRIu64 " new tokens are equal until they are trained (--init "
             "normal and covariance draw different ones)",
             plan->new_rows - plan->padding_rows);
    if (plan->tokens && !rz->info.word_rows && !rz->beside && changed && !rz->opts->save_tokens)
        note(rz->run, NULL, "%s holds no tokens: --save-tokens FILE writes the new list",
             rz->info.format);
}

int resize_say(const struct resize *rz)
{
    struct out out;
    if (!rz->model_plan) /* which has warnings of its own */
        say_notes(rz);
    if (rz->to_stdout)
        return EXIT_DONE;
    int code = out_open(rz->run, NULL, &out);
    if (!code && rz->opts->common.json)
        say_json(rz, &out);
    else if (!code)
        say_text(rz, &out);
    return out_close(&out, code);
}
