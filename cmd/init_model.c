/* init_model.c - from options and arguments to the tables of a new model.
 *
 * What goes together and what a model is made of is the library's to say; here it is named in the
 * words of the command line.
 */
#include "init.h"

#include <string.h>

bool init_is_model(const struct plan *plan)
{
    const struct init_opts *o = plan->opts;
    return plan->dir || o->preset || o->like || o->arch || o->tokenizer || o->has_positions ||
           o->untied;
}

/* Both say the same thing, or the second needs what the output is not. */
static int check_options(const struct plan *plan)
{
    const struct init_opts *o = plan->opts;
    struct run *run = plan->run;
    const char *whole = o->like ? "--like" : o->preset ? "--preset" : NULL;
    if (o->like && o->preset)
        return usage_error(run, "--like and --preset: which one?");
    if (whole && run->items.n)
        return usage_error(run, "%s says V and D: %s is one argument too many", whole,
                           run->items.v[0].s);
    if (o->like && (o->arch || o->has_positions || o->untied || o->has_multiple))
        return usage_error(run, "--like takes shape, tables and names from the model: "
                                "no --arch, --positions, --untied or --pad-to-multiple-of");
    if (o->has_positions && o->positions == 0)
        return usage_error(run, "--positions 0: expected 1 or more");
    if (o->has_multiple && o->multiple == 0)
        return usage_error(run, "--pad-to-multiple-of 0: expected 1 or more");
    if (o->tokenizer && !plan->dir)
        return usage_error(run, "--tokenizer copies files into a model directory, and %s is none",
                           o->common.output);
    return EXIT_DONE;
}

static int find_preset(struct plan *plan, const emb_preset **preset)
{
    const char *name = plan->opts->preset;
    struct embi_buf list = {0};
    *preset = name ? emb_preset_by_name(name) : NULL;
    if (!name || *preset)
        return EXIT_DONE;
    for (size_t i = 0; emb_preset_at(i); i++)
        embi_buf_print(&list, "%s%s", i ? ", " : "", emb_preset_at(i)->name);
    int code =
        usage_error(plan->run, "--preset %s: expected one of %s", name, embi_buf_cstr(&list));
    embi_buf_free(&list);
    return code;
}

static int model_opts(struct plan *plan, emb_new_model_opts *opts)
{
    const struct init_opts *o = plan->opts;
    uint64_t rows = plan->tokens.n, dims = 0;
    const emb_preset *preset = NULL;
    int code = find_preset(plan, &preset);
    if (!code)
        code = check_options(plan);
    if (!code && !o->like && !o->preset)
        code = init_shape(plan, o->tokens ? o->tokens : o->tokenizer, &rows, &dims);
    *opts = (emb_new_model_opts){.size = sizeof *opts,
                                 .preset = preset,
                                 .like = o->like,
                                 .arch = o->arch,
                                 .tokenizer = o->tokenizer,
                                 .rows = o->like || o->preset ? 0 : rows,
                                 .dims = (uint32_t)dims,
                                 .positions = o->positions,
                                 .untied = o->untied,
                                 .row_multiple = o->multiple,
                                 .dtype = o->common.dtype};
    return code;
}

/* The architecture has names of its own. */
static int take_arrays(struct plan *plan)
{
    const char *name = plan->opts->name;
    for (int t = 0; t < EMB_NEW_TENSORS; t++) {
        const emb_array *a = emb_new_model_array(plan->model, t);
        if (a)
            plan->arrays[t] = *a;
    }
    emb_array *first = &plan->arrays[EMB_NEW_EMBEDDING];
    if (name && first->name)
        return usage_error(plan->run, "--name %s: in a model the tensor is %s", name, first->name);
    if (name)
        first->name = name;
    return EXIT_DONE;
}

int init_plan_model(struct plan *plan)
{
    emb_new_model_opts opts;
    emb_err err;
    int code = model_opts(plan, &opts);
    if (code)
        return code;
    if (emb_new_model_open(plan->run->ctx, &opts, &plan->model, &err) != EMB_OK)
        return fail(plan->run, NULL, &err);
    if (plan->dir && !emb_new_model_arch(plan->model))
        return usage_error(plan->run,
                           "%s is a directory, and %s no model: say --arch NAME or -o FILE",
                           plan->opts->common.output, plan->opts->preset);
    if (opts.preset && !plan->opts->has_std)
        plan->how.std = opts.preset->std;
    return take_arrays(plan);
}
