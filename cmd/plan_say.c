/* plan_say.c - the figures of `embtool plan`: TAB-separated lines for a pipe (key, value, the value
 * in words), the same in columns for people, and one JSON object.
 */
#include "plan.h"
#include "quantity.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { KEY_WIDTH = 24, VALUE_WIDTH = 16, DIGITS = 6, PERCENT_DIGITS = 4 };

/* ------------------------------------------------------------------------------------------------
 * Text
 */

struct lines {
    const struct plan_figures *f;
    struct out *out;
    struct embi_buf value, words; /* of the line that is being made */
};

/* Prints what stands in value and words. */
static void line(struct lines *l, const char *key)
{
    bool people = l->f->run->out_tty;
    out_text(l->out, key);
    out_fill(l->out, people ? ' ' : '\t',
             people ? KEY_WIDTH - embi_min(strlen(key), KEY_WIDTH - 1) : 1);
    if (people)
        out_fill(l->out, ' ', VALUE_WIDTH - embi_min(l->value.n, VALUE_WIDTH));
    out_bytes(l->out, l->value.s, l->value.n);
    if (l->words.n) {
        out_text(l->out, people ? "  " : "\t");
        out_bytes(l->out, l->words.s, l->words.n);
    }
    out_byte(l->out, '\n');
    l->value.n = l->words.n = 0;
}

static void put_score(struct embi_buf *buf, double x, int digits)
{
    char text[EMB_NUMBER_MAX];
    embi_buf_add(buf, text, emb_number_digits(text, x, digits));
}

static void count(struct lines *l, const char *key, uint64_t x, const char *unit)
{
    if (x == EMB_COST_UNKNOWN)
        return;
    embi_buf_print(&l->value, "%" PRIu64, x);
    quantity_words(&l->words, x, unit);
    line(l, key);
}

static void params(struct lines *l, const char *key, uint64_t x)
{
    count(l, key, x, "");
}

static void bytes(struct lines *l, const char *key, uint64_t x)
{
    count(l, key, x, "B");
}

static void share(struct lines *l)
{
    const emb_cost *c = &l->f->cost;
    if (isnan(c->share))
        return;
    params(l, "total_params", l->f->asked.total_params);
    put_score(&l->value, c->share, DIGITS);
    put_score(&l->words, 100 * c->share, PERCENT_DIGITS);
    embi_buf_byte(&l->words, '%');
    line(l, "share");
}

static void tables(struct lines *l)
{
    const emb_cost_opts *o = &l->f->asked;
    const emb_cost *c = &l->f->cost;
    params(l, "rows", o->rows);
    params(l, "dims", o->dims);
    embi_buf_text(&l->value, emb_dtype_name(o->dtype));
    line(l, "dtype");
    params(l, "table_params", c->table_params);
    params(l, "position_params", c->position_params);
    params(l, "head_params", c->head_params);
    params(l, "params", c->params);
    share(l);
    bytes(l, "bytes", c->bytes);
    bytes(l, "bytes.f32", c->bytes_f32);
    bytes(l, "bytes.f16", c->bytes_f16);
    bytes(l, "bytes.bf16", c->bytes_bf16);
    bytes(l, "bytes.i8", c->bytes_i8);
    params(l, "tied_params", c->tied_params);
    params(l, "untied_params", c->untied_params);
}

static void use(struct lines *l)
{
    const emb_cost *c = &l->f->cost;
    put_score(&l->value, c->one_hot_ratio, DIGITS);
    embi_buf_print(&l->words, "a one-hot vector has %" PRIu64 " numbers, a row %u",
                   l->f->asked.rows, l->f->asked.dims);
    line(l, "one_hot_ratio");
    bytes(l, "lookup_bytes", c->lookup_bytes);
    bytes(l, "activation_bytes", c->activation_bytes);
    bytes(l, "logits_bytes", c->logits_bytes);
    bytes(l, "optimizer_bytes", c->optimizer_bytes);
}

static void gpus(struct lines *l)
{
    const emb_cost *c = &l->f->cost;
    if (!c->gpu_rows)
        return;
    params(l, "tp.gpus", l->f->asked.gpus);
    params(l, "tp.rows", c->gpu_rows);
    params(l, "tp.padding_rows", c->padding_rows);
    params(l, "tp.params", c->gpu_params);
    bytes(l, "tp.bytes", c->gpu_bytes);
    bytes(l, "tp.allreduce_message_bytes", c->message_bytes);
    bytes(l, "tp.allreduce_ring_bytes", c->ring_bytes);
}

/* The tables with other vocabularies. One that would be too large has no line. */
static void growth(struct lines *l)
{
    static const struct {
        const char *key;
        uint64_t rows;
    } sizes[] = {{"grown.32Ki", 32 << 10}, {"grown.128Ki", 128 << 10}, {"grown.256Ki", 256 << 10}};
    for (size_t i = 0; i < EMBI_LEN(sizes); i++) {
        emb_cost_opts asked = l->f->asked;
        emb_cost cost;
        emb_err err;
        asked.rows = sizes[i].rows;
        asked.total_params = 0;
        if (emb_cost_of(&asked, &cost, &err) != EMB_OK)
            continue;
        embi_buf_print(&l->value, "%" PRIu64, cost.params);
        quantity_words(&l->words, cost.params, "");
        embi_buf_print(&l->words, ", in %s ", emb_dtype_name(asked.dtype));
        quantity_words(&l->words, cost.bytes, "B");
        line(l, sizes[i].key);
    }
}

void plan_text(const struct plan_figures *f, struct out *out)
{
    struct lines l = {.f = f, .out = out};
    tables(&l);
    use(&l);
    gpus(&l);
    growth(&l);
    if ((l.value.failed || l.words.failed) && !out->code)
        out->code = fail_with(f->run, EXIT_MEMORY, NULL, "out of memory");
    embi_buf_free(&l.value);
    embi_buf_free(&l.words);
}

/* ------------------------------------------------------------------------------------------------
 * JSON
 */

struct member {
    const char *key;
    uint64_t x;
};

static void json_counts(struct out *out, const struct member *members, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        out_print(out, "%s\"%s\":", i ? "," : "", members[i].key);
        if (members[i].x == EMB_COST_UNKNOWN)
            out_text(out, "null");
        else
            out_u64(out, members[i].x);
    }
}

static void json_object(struct out *out, const char *key, const struct member *members, size_t n)
{
    out_print(out, ",\"%s\":{", key);
    json_counts(out, members, n);
    out_byte(out, '}');
}

static void json_gpus(const struct plan_figures *f, struct out *out)
{
    const emb_cost *c = &f->cost;
    const struct member members[] = {
        {"gpus", f->asked.gpus},
        {"rows", c->gpu_rows},
        {"padding_rows", c->padding_rows},
        {"params", c->gpu_params},
        {"bytes", c->gpu_bytes},
        {"allreduce_message_bytes", c->message_bytes},
        {"allreduce_ring_bytes", c->ring_bytes},
    };
    if (c->gpu_rows)
        json_object(out, "tp", members, EMBI_LEN(members));
    else
        out_text(out, ",\"tp\":null");
}

void plan_json(const struct plan_figures *f, struct out *out)
{
    const emb_cost_opts *o = &f->asked;
    const emb_cost *c = &f->cost;
    const struct member params[] = {
        {"table_params", c->table_params},
        {"position_params", c->position_params},
        {"head_params", c->head_params},
        {"params", c->params},
        {"total_params", o->total_params ? o->total_params : EMB_COST_UNKNOWN},
    };
    const struct member types[] = {
        {"f32", c->bytes_f32}, {"f16", c->bytes_f16}, {"bf16", c->bytes_bf16}, {"i8", c->bytes_i8}};
    const struct member tying[] = {{"tied_params", c->tied_params},
                                   {"untied_params", c->untied_params}};
    const struct member use[] = {{"lookup_bytes", c->lookup_bytes},
                                 {"activation_bytes", c->activation_bytes},
                                 {"logits_bytes", c->logits_bytes},
                                 {"optimizer_bytes", c->optimizer_bytes}};
    out_print(out, "{\"rows\":%" PRIu64 ",\"dims\":%u,\"dtype\":\"%s\",", o->rows, o->dims,
              emb_dtype_name(o->dtype));
    json_counts(out, params, EMBI_LEN(params));
    out_text(out, ",\"share\":");
    out_json_score(out, c->share, 0);
    json_object(out, "bytes", types, EMBI_LEN(types));
    out_byte(out, ',');
    json_counts(out, tying, EMBI_LEN(tying));
    out_text(out, ",\"one_hot_ratio\":");
    out_json_score(out, c->one_hot_ratio, 0);
    out_byte(out, ',');
    json_counts(out, use, EMBI_LEN(use));
    json_gpus(f, out);
    out_text(out, "}\n");
}

int plan_say(const struct plan_figures *f)
{
    struct out out;
    int code = out_open(f->run, f->run->common->output, &out);
    if (!code && strcmp(f->format, "json") == 0)
        plan_json(f, &out);
    else if (!code)
        plan_text(f, &out);
    return out_close(&out, code);
}
