/* init_say.c - what `embtool init` made, as lines of key and value or as a JSON object. */
#include "init.h"

#include <string.h>

enum { SHARE_DIGITS = 6 };

/* Members of one object, or lines. */
struct say {
    struct out out;
    bool json, begun;
};

static void key(struct say *s, const char *name)
{
    if (s->json)
        out_print(&s->out, "%s\"%s\":", s->begun ? "," : "{", name);
    else
        out_print(&s->out, "%s%s\t", s->begun ? "\n" : "", name);
    s->begun = true;
}

static void count(struct say *s, const char *name, uint64_t x)
{
    key(s, name);
    out_u64(&s->out, x);
}

static void text(struct say *s, const char *name, const char *value)
{
    emb_str v = {value, strlen(value)};
    key(s, name);
    if (s->json)
        out_json_string(&s->out, v);
    else
        out_token(&s->out, v, '\t');
}

static uint64_t params_of(const emb_array *a)
{
    return a->ndim ? a->shape[0] * a->shape[1] : 0;
}

static uint64_t all_params(const struct plan *plan, uint64_t *bytes)
{
    uint64_t params = 0;
    *bytes = 0;
    for (int t = 0; t < EMB_NEW_TENSORS; t++) {
        params += params_of(&plan->arrays[t]);
        *bytes += params_of(&plan->arrays[t]) * emb_dtype_bytes(plan->arrays[t].dtype);
    }
    return params;
}

static void say_model(struct say *s, const struct plan *plan)
{
    const emb_array *positions = &plan->arrays[EMB_NEW_POSITIONS];
    const char *arch = emb_new_model_arch(plan->model);
    bool tied = !plan->arrays[EMB_NEW_HEAD].ndim;
    if (arch)
        text(s, "arch", arch);
    if (positions->ndim)
        count(s, "positions", positions->shape[0]);
    if (!arch)
        return;
    key(s, "tied");
    if (s->json)
        out_text(&s->out, tied ? "true" : "false");
    else
        out_text(&s->out, tied ? "yes" : "no");
}

static void say_params(struct say *s, const struct plan *plan, uint64_t params)
{
    static const char *const names[EMB_NEW_TENSORS] = {"embedding_params", "position_params",
                                                       "head_params"};
    uint64_t all = emb_new_model_params(plan->model);
    for (int t = 0; t < EMB_NEW_TENSORS; t++)
        if (plan->arrays[t].ndim)
            count(s, names[t], params_of(&plan->arrays[t]));
    if (!all)
        return;
    count(s, "model_params", all);
    key(s, "share");
    out_score(&s->out, (double)params / (double)all, SHARE_DIGITS);
}

static void say_all(struct say *s, const struct plan *plan)
{
    const emb_array *a = &plan->arrays[EMB_NEW_EMBEDDING];
    uint64_t bytes, params = all_params(plan, &bytes);
    count(s, "rows", a->shape[0]);
    count(s, "dims", a->shape[1]);
    if (plan->model)
        say_model(s, plan);
    text(s, "dtype", emb_dtype_name(a->dtype));
    count(s, "bytes", bytes);
    count(s, "params", params);
    if (plan->model)
        say_params(s, plan, params);
    count(s, "seed", plan->run->common->seed);
    out_text(&s->out, s->json ? "}\n" : "\n");
}

int init_say(const struct plan *plan)
{
    struct say s = {.json = plan->run->common->json};
    if (is_stream(plan->run->common->output))
        return EXIT_DONE;
    int code = out_open(plan->run, NULL, &s.out);
    say_all(&s, plan);
    return out_close(&s.out, code);
}
