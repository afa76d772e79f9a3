/* ls.c - `embtool ls`: the tensors of a file or a directory.
 *
 * What there is is the library's to say (emb_tensors_list); here it is printed: aligned columns for
 * people, TAB-separated fields for a pipe, JSON.
 */
#include "out.h"

#include <inttypes.h>
#include <string.h>

struct ls_opts {
    struct common common;
};

static const struct opt options[] = {
    OPT_HEADING("Output"),
    COMMON_JSON,
    COMMON_RAW_TOKENS,
    OPT_HEADING("Table"),
    COMMON_TABLE_NAME,
    COMMON_TABLE_TENSOR,
    COMMON_TABLE_RAW,
    COMMON_STRICT,
    COMMON_SERVERS,
    COMMON_GENERAL,
    {0},
};

/* ------------------------------------------------------------------------------------------------
 * Text
 */

/* What stands for a name where a format has none. */
static emb_str shown_name(const emb_tensor_info *t)
{
    return t->name.s ? t->name : (emb_str){"-", 1};
}

/* [384,32] */
static void put_shape(struct embi_buf *buf, const emb_tensor_info *t)
{
    buf->n = 0;
    embi_buf_byte(buf, '[');
    for (int i = 0; i < t->ndim; i++)
        embi_buf_print(buf, "%s%" PRIu64, i ? "," : "", t->shape[i]);
    embi_buf_byte(buf, ']');
}

static void text_line(struct out *out, const emb_tensor_info *t, struct embi_buf *buf)
{
    out_token(out, shown_name(t), '\t');
    put_shape(buf, t);
    out_print(out, "\t%s\t", t->dtype);
    out_bytes(out, buf->s, buf->n);
    out_print(out, "\t%" PRIu64 "\t", t->bytes);
    out_token(out, (emb_str){t->file, strlen(t->file)}, '\t');
    out_text(out, t->role ? "\t*\n" : "\n");
}

/* Columns that the longest entries take. */
struct widths {
    size_t name, dtype, shape, bytes, file;
};

static void widen(size_t *width, size_t n)
{
    *width = embi_max(*width, n);
}

static size_t digits_of(uint64_t x)
{
    size_t n = 1;
    for (; x >= 10; x /= 10)
        n++;
    return n;
}

static struct widths measure(struct out *out, const emb_tensors *tensors, struct embi_buf *buf)
{
    struct widths w = {0};
    for (size_t i = 0; i < tensors->n; i++) {
        const emb_tensor_info *t = &tensors->list[i];
        put_shape(buf, t);
        widen(&w.name, out_token_width(out, shown_name(t), '\t'));
        widen(&w.dtype, strlen(t->dtype));
        widen(&w.shape, buf->n);
        widen(&w.bytes, digits_of(t->bytes));
        widen(&w.file, out_token_width(out, (emb_str){t->file, strlen(t->file)}, '\t'));
    }
    return w;
}

static void pad_token(struct out *out, emb_str token, size_t width)
{
    out_token(out, token, '\t');
    out_fill(out, ' ', width - out_token_width(out, token, '\t'));
}

static void screen_line(struct out *out, const emb_tensor_info *t, const struct widths *w,
                        struct embi_buf *buf)
{
    emb_str file = {t->file, strlen(t->file)};
    pad_token(out, shown_name(t), w->name + 2);
    out_text(out, t->dtype);
    out_fill(out, ' ', w->dtype - strlen(t->dtype) + 2);
    put_shape(buf, t);
    out_bytes(out, buf->s, buf->n);
    out_fill(out, ' ', w->shape - buf->n + w->bytes - digits_of(t->bytes) + 2);
    out_print(out, "%" PRIu64 "  ", t->bytes);
    if (t->role)
        pad_token(out, file, w->file + 2);
    else
        out_token(out, file, '\t');
    out_text(out, t->role ? "*\n" : "\n");
}

/* ------------------------------------------------------------------------------------------------
 * JSON
 */

static void json_line(struct out *out, const emb_tensor_info *t, struct embi_buf *buf)
{
    out_byte(out, '{');
    if (t->name.s)
        out_json_token(out, "name", t->name);
    else
        out_text(out, "\"name\":null,");
    put_shape(buf, t);
    out_text(out, "\"dtype\":");
    out_json_string(out, (emb_str){t->dtype, strlen(t->dtype)});
    out_text(out, ",\"shape\":");
    out_bytes(out, buf->s, buf->n);
    out_print(out, ",\"bytes\":%" PRIu64 ",", t->bytes);
    out_json_token(out, "file", (emb_str){t->file, strlen(t->file)});
    if (t->role)
        out_print(out, "\"role\":\"%s\"}\n", t->role);
    else
        out_text(out, "\"role\":null}\n");
}

/* ------------------------------------------------------------------------------------------------
 * All
 */

static int say(struct run *run, const emb_tensors *tensors)
{
    struct out out;
    struct embi_buf buf = {0};
    int code = out_open(run, NULL, &out);
    struct widths w = {0};
    if (!code && run->out_tty && !run->common->json)
        w = measure(&out, tensors, &buf);
    for (size_t i = 0; !code && i < tensors->n; i++) {
        if (run->common->json)
            json_line(&out, &tensors->list[i], &buf);
        else if (run->out_tty)
            screen_line(&out, &tensors->list[i], &w, &buf);
        else
            text_line(&out, &tensors->list[i], &buf);
    }
    if (buf.failed && !code)
        code = fail_with(run, EXIT_MEMORY, NULL, "out of memory");
    embi_buf_free(&buf);
    return out_close(&out, code);
}

static int run_ls(struct run *run, void *opts)
{
    emb_tensors tensors;
    emb_open_opts how;
    emb_err err;
    (void)opts;
    take_table_argument(run);
    if (run->items.n)
        return usage_error(run, "one file or directory at a time: what is '%s'?",
                           run->items.v[0].s);
    int code = choose_table(run, &how);
    if (code)
        return code;
    watch_file(run, run->table_name);
    if (emb_tensors_list(run->ctx, run->table_name, &how, &tensors, &err) != EMB_OK)
        return fail(run, run->table_name, &err);
    code = say(run, &tensors);
    emb_tensors_free(&tensors);
    return code;
}

const struct cmd cmd_ls = {
    .name = "ls",
    .group = "Look",
    .summary = "the tensors of a file or model",
    .usage = "[TABLE]",
    .about =
        "A line a tensor: name, type, shape, bytes, file, and a star at the input embedding and "
        "at the output table. Of a model's directory these are the tensors of its weights, in "
        "all shards; of another directory those of every file in it that has a header. Only "
        "headers are read, but for text, whose lines are counted. Types that are not computed with "
        "are listed too, by the names that the file gives them.",
    .examples = "embtool ls model/\nembtool ls model.safetensors --json\nembtool ls hf://org/model",
    .options = options,
    .defaults = NULL,
    .opts_bytes = sizeof(struct ls_opts),
    .run = run_ls,
};
