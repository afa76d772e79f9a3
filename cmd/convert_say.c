/* convert_say.c - what `embtool convert` makes, as people and scripts read it, and what it cannot
 * keep. */
#include "convert.h"
#include "out.h"

#include <inttypes.h>
#include <string.h>

/* Text is read as f32: numbers that need more are rounded then. */
static bool is_read_narrower(const emb_save_plan *plan)
{
    size_t bytes = emb_dtype_bytes(plan->dtype);
    return plan->text &&
           (bytes > sizeof(float) || (bytes == sizeof(float) && !emb_dtype_is_float(plan->dtype)));
}

void convert_warn(const struct convert *cv)
{
    const emb_save_plan *plan = emb_save_plan_of(cv->save);
    for (size_t i = 0; i < plan->n_losses; i++)
        warn(cv->run, cv->target, "%s", plan->losses[i]);
    if (plan->widened)
        note(cv->run, cv->target, "%s cannot hold %s: written as %s, which holds the same numbers",
             plan->format, emb_dtype_name(cv->info.dtype), emb_dtype_name(plan->dtype));
    if (is_read_narrower(plan))
        note(cv->run, cv->target, "the %s numbers are written whole; embtool reads text as f32",
             emb_dtype_name(plan->dtype));
}

void convert_warn_after(const struct convert *cv)
{
    const emb_save_plan *plan = emb_save_plan_of(cv->save);
    const char *dtype = emb_dtype_name(plan->dtype);
    if (plan->overflows)
        warn(cv->run, cv->target, "%" PRIu64 " %s of %s, and became infinite or NaN",
             plan->overflows,
             plan->overflows == 1 ? "number is outside the range" : "numbers are outside the range",
             dtype);
    if (plan->zero_rows)
        note(cv->run, cv->target, "%" PRIu64 " rows are zero, and stay so", plan->zero_rows);
    if (plan->nonfinite_rows)
        warn(cv->run, cv->target, "%" PRIu64 " rows hold NaN or an infinity, and stay as they are",
             plan->nonfinite_rows);
}

static const char *place_of_tokens(const emb_save_plan *plan)
{
    return !plan->tokens ? "none" : plan->beside ? plan->beside : "inside";
}

static void say_text(const struct convert *cv, const emb_save_plan *plan, struct out *out)
{
    const char *tokens = place_of_tokens(plan);
    out_print(out, "rows\t%" PRIu64 "\ndims\t%" PRIu32 "\ndtype\t%s\nformat\t%s\ntokens\t",
              plan->rows, plan->dims, emb_dtype_name(plan->dtype), plan->format);
    out_token(out, (emb_str){tokens, strlen(tokens)}, '\t');
    out_byte(out, '\n');
    if (plan->overflows)
        out_print(out, "overflows\t%" PRIu64 "\n", plan->overflows);
    if (cv->opts->normalize && plan->zero_rows)
        out_print(out, "zero_rows\t%" PRIu64 "\n", plan->zero_rows);
}

static void json_string(struct out *out, const char *text)
{
    if (text)
        out_json_string(out, (emb_str){text, strlen(text)});
    else
        out_text(out, "null");
}

static void say_json(const struct convert *cv, const emb_save_plan *plan, struct out *out)
{
    out_print(out,
              "{\"format\":\"%s\",\"dtype\":\"%s\",\"rows\":%" PRIu64 ",\"dims\":%" PRIu32
              ",\"tokens\":%s,\"tokens_file\":",
              plan->format, emb_dtype_name(plan->dtype), plan->rows, plan->dims,
              plan->tokens ? "true" : "false");
    json_string(out, plan->beside);
    out_text(out, ",\"losses\":[");
    for (size_t i = 0; i < plan->n_losses; i++) {
        out_text(out, i ? "," : "");
        json_string(out, plan->losses[i]);
    }
    out_print(out,
              "],\"overflows\":%" PRIu64 ",\"zero_rows\":%" PRIu64 ",\"nonfinite_rows\":%" PRIu64
              ",\"output\":",
              plan->overflows, plan->zero_rows, plan->nonfinite_rows);
    json_string(out, cv->target);
    out_print(out, ",\"dry_run\":%s}\n", cv->opts->dry_run ? "true" : "false");
}

int convert_say(const struct convert *cv)
{
    struct out out;
    const emb_save_plan *plan = emb_save_plan_of(cv->save);
    if (is_stream(cv->target) || strcmp(cv->target, "/dev/stdout") == 0)
        return EXIT_DONE;
    int code = out_open(cv->run, NULL, &out);
    if (!code && cv->opts->common.json)
        say_json(cv, plan, &out);
    else if (!code)
        say_text(cv, plan, &out);
    return out_close(&out, code);
}
