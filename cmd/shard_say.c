/* shard_say.c - what `embtool shard` makes, as people and scripts read it. */
#include "out.h"
#include "shard.h"

#include <inttypes.h>
#include <string.h>

static void say_shape(struct out *out, const emb_shards_tensor *t, const uint64_t *shape)
{
    out_print(out, t->ndim == 2 ? "[%" PRIu64 ",%" PRIu64 "]" : "[%" PRIu64 "]", shape[0],
              shape[1]);
}

static void say_text(const emb_shards_plan *plan, struct out *out)
{
    out_print(out, "axis\t%s\nshards\t%" PRIu32 "\n",
              plan->axis == EMB_SHARD_DIMS ? "dims" : "vocab", plan->parts);
    for (size_t i = 0; i < plan->n_tensors; i++) {
        const emb_shards_tensor *t = &plan->tensors[i];
        out_text(out, "tensor\t");
        out_token(out, (emb_str){t->name, strlen(t->name)}, '\t');
        out_print(out, "\t%s\t", emb_dtype_name(t->dtype));
        say_shape(out, t, t->shape);
        out_byte(out, '\t');
        say_shape(out, t, t->shard_shape);
        out_byte(out, '\n');
    }
    out_print(out, "padding\t%" PRIu64 "\ntokens\t%s\n", plan->parts * plan->part - plan->total,
              plan->tokens ? plan->tokens : "none");
}

static void json_text(struct out *out, const char *text)
{
    if (text)
        out_json_string(out, (emb_str){text, strlen(text)});
    else
        out_text(out, "null");
}

static void say_json(const struct shard_opts *o, const emb_shards *shards, struct out *out)
{
    const emb_shards_plan *plan = emb_shards_plan_of(shards);
    out_print(out,
              "{\"axis\":\"%s\",\"shards\":%" PRIu32 ",\"total\":%" PRIu64 ",\"part\":%" PRIu64
              ",\"padding\":%" PRIu64 ",\"tensors\":[",
              plan->axis == EMB_SHARD_DIMS ? "dims" : "vocab", plan->parts, plan->total, plan->part,
              plan->parts * plan->part - plan->total);
    for (size_t i = 0; i < plan->n_tensors; i++) {
        const emb_shards_tensor *t = &plan->tensors[i];
        out_text(out, i ? ",{\"name\":" : "{\"name\":");
        json_text(out, t->name);
        out_print(out, ",\"role\":\"%s\",\"dtype\":\"%s\",\"shape\":", t->role,
                  emb_dtype_name(t->dtype));
        say_shape(out, t, t->shape);
        out_text(out, ",\"shard_shape\":");
        say_shape(out, t, t->shard_shape);
        out_byte(out, '}');
    }
    out_text(out, "],\"parts\":[");
    for (uint32_t k = 0; k < plan->parts; k++) {
        uint64_t first, count;
        emb_shards_part(shards, k, &first, &count);
        out_print(out, "%s{\"rank\":%" PRIu32 ",\"first\":%" PRIu64 ",\"count\":%" PRIu64 "}",
                  k ? "," : "", k, first, count);
    }
    out_text(out, "],\"tokens\":");
    json_text(out, plan->tokens);
    out_text(out, ",\"output\":");
    json_text(out, o->common.output);
    out_print(out, ",\"dry_run\":%s}\n", o->dry_run ? "true" : "false");
}

int shard_say(struct run *run, const struct shard_opts *o, const emb_shards *shards)
{
    struct out out;
    int code = out_open(run, NULL, &out);
    if (!code && o->common.json)
        say_json(o, shards, &out);
    else if (!code)
        say_text(emb_shards_plan_of(shards), &out);
    return out_close(&out, code);
}
