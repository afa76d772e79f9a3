/* resize_model.c - `embtool resize` of a model directory: all tables in step with the tokenizer,
 * the config and the index.
 *
 * The directory is locked and planned by the library; here the plan is said, its warnings too, the
 * result is written, and what does not agree in it is said.
 */
#include "report.h"
#include "resize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* ------------------------------------------------------------------------------------------------
 * What is asked
 */

/* What is there to be said about a single table only. */
static const char *option_of_tables(const struct resize_opts *o)
{
    return o->row_map              ? "--row-map"
           : o->save_tokens        ? "--save-tokens"
           : o->common.format      ? "--format"
           : o->common.tensor      ? "--tensor"
           : o->common.vocab       ? "--vocab"
           : o->common.shape       ? "--shape"
           : o->common.offset      ? "--offset"
           : o->common.input_dtype ? "--input-dtype"
                                   : NULL;
}

static const char *option_of_order(const struct resize_opts *o)
{
    return o->remove.n  ? "--remove-tokens"
           : o->keep    ? "--keep-tokens"
           : o->reorder ? "--reorder"
                        : NULL;
}

static int check_target(struct resize *rz)
{
    const struct resize_opts *o = rz->opts;
    struct run *run = rz->run;
    if (o->in_place && o->common.report)
        return usage_error(run, "--report tells the hash of the input, which --in-place replaces");
    if (o->in_place && emb_is_hub_name(o->common.table))
        return usage_error(run,
                           "--in-place: models in the hub's cache are not replaced: say -o DIR");
    if (o->common.output && is_stream(o->common.output))
        return usage_error(run, "-o -: a model is a directory, which no stream can hold");
    rz->target = o->common.output;
    return EXIT_DONE;
}

int resize_check_model_opts(struct resize *rz)
{
    const struct resize_opts *o = rz->opts;
    const char *option = option_of_tables(o), *order = option_of_order(o);
    if (option)
        return usage_error(rz->run, "%s is for single table files: %s is a model", option,
                           o->common.table);
    if (order)
        return fail_with(rz->run, EXIT_DATA, o->common.table,
                         "%s: tokens of a model cannot be removed or change places, as its "
                         "tokenizer would have to follow: this version does that to single table "
                         "files",
                         order);
    if (o->no_tokenizer && (o->renames.n || o->roles.n))
        return usage_error(rz->run, "--no-tokenizer, and a name or a role: which one?");
    return check_target(rz);
}

int resize_bring_model(struct resize *rz, const char *url)
{
    emb_err err;
    return emb_hub_bring(rz->run->ctx, url, &err) == EMB_OK ? EXIT_DONE : fail(rz->run, url, &err);
}

int resize_open_model_of(struct resize *rz)
{
    struct run *run = rz->run;
    const char *path = rz->info.path, *slash = strrchr(path, '/');
    if (strchr(run->table_name, '#'))
        return usage_error(run, "%s: all tables of a model change together: leave out #NAME",
                           run->table_name);
    rz->dir = slash ? strndup(path, (size_t)(slash - path) + (slash == path)) : strdup(".");
    rz->file = strdup(slash ? slash + 1 : path);
    if (!rz->dir || !rz->file)
        return fail_with(run, EXIT_MEMORY, NULL, "out of memory");
    emb_table_close(rz->table);
    rz->table = NULL;
    run->common->table = rz->dir;
    int code = resize_bring_model(rz, rz->dir);
    return code ? code : open_table(run, &rz->table, &rz->info);
}

/* ------------------------------------------------------------------------------------------------
 * The plan
 */

/* The file that was named must be one of those that change. */
static int check_file(const struct resize *rz)
{
    const emb_model_plan *plan = rz->model_plan;
    bool found = !rz->file || plan->n_tensors == 0;
    for (size_t i = 0; i < plan->n_tensors; i++)
        found = found || strcmp(plan->tensors[i].file, rz->file) == 0;
    if (found)
        return EXIT_DONE;
    return fail_with(rz->run, EXIT_DATA, rz->file,
                     "is not where the model in %s has its tables: name the directory, or %s",
                     rz->dir, plan->tensors[0].file);
}

static int say_plan(struct resize *rz)
{
    const emb_model_plan *plan = rz->model_plan;
    int code = check_file(rz);
    for (size_t i = 0; !code && i < plan->n_warnings; i++)
        warn(rz->run, rz->run->table_name, "%s", plan->warnings[i]);
    return code ? code : resize_say(rz);
}

/* ------------------------------------------------------------------------------------------------
 * The result
 */

static int report_file(struct resize *rz, const char *dir, const char *name, bool output)
{
    char *path;
    if (asprintf(&path, "%s/%s", dir, name) < 0)
        return fail_with(rz->run, EXIT_MEMORY, NULL, "out of memory");
    if (output)
        report_output(rz->run, path);
    else
        report_input(rz->run, path);
    free(path);
    return EXIT_DONE;
}

/* Files that changed, as they were and as they are; a file that is new was not. */
static int report_files(struct resize *rz)
{
    const emb_model_plan *plan = rz->model_plan;
    int code = EXIT_DONE;
    for (size_t i = 0; !code && rz->opts->common.report && i < plan->n_files; i++) {
        const emb_model_file *f = &plan->files[i];
        if (f->fate != EMB_FILE_EDITED && f->fate != EMB_FILE_REWRITTEN)
            continue;
        if (!f->is_new)
            code = report_file(rz, rz->run->common->table, f->name, false);
        if (!code)
            code = report_file(rz, rz->target, f->name, true);
    }
    return code;
}

/* What the new directory's parts do not agree in: the old one's did not, or what was asked for made
 * it so. */
static int check_result(struct resize *rz)
{
    const char *dir = rz->target ? rz->target : rz->model_plan->dir;
    emb_check check;
    emb_err err;
    if (emb_check_model(rz->run->ctx, dir, &check, &err) != EMB_OK)
        return fail_with(rz->run, exit_code(err.status), dir,
                         "is written, but cannot be read back: %s", err.msg);
    for (size_t i = 0; i < check.n_faults; i++)
        warn(rz->run, dir, "%s", check.faults[i].message);
    emb_check_free(&check);
    return EXIT_DONE;
}

/* After an exchange of names a shell that stood in the directory stands in the old one, which is
 * gone. */
static void say_moved(struct resize *rz)
{
    struct stat st;
    if (rz->opts->in_place && stat(".", &st) == 0 && st.st_nlink == 0)
        note(rz->run, NULL, "the current directory was replaced: cd \"$PWD\" leads to the new one");
}

static int write_model(struct resize *rz, emb_model_resize *resize)
{
    emb_write_opts opts;
    emb_err err;
    write_opts(rz->run, NULL, &opts);
    if (emb_model_resize_write(resize, rz->target, &opts, &err) != EMB_OK)
        return fail(rz->run, rz->target ? rz->target : rz->run->table_name, &err);
    if (rz->opts->in_place && !rz->model_plan->changes) {
        note(rz->run, rz->run->table_name, "nothing changes, so nothing is written");
        return EXIT_DONE;
    }
    say_moved(rz);
    int code = report_files(rz);
    return code ? code : check_result(rz);
}

int resize_model(struct resize *rz)
{
    const struct resize_opts *o = rz->opts;
    emb_model_resize *resize;
    emb_err err;
    rz->model_how = (emb_model_resize_opts){.size = sizeof rz->model_how,
                                            .in_place = o->in_place,
                                            .link = o->link,
                                            .no_tokenizer = o->no_tokenizer,
                                            .fill_gaps = o->common.force,
                                            .special = o->special,
                                            .renames = rz->renames,
                                            .n_renames = o->renames.n,
                                            .roles = rz->roles,
                                            .n_roles = o->roles.n};
    if (emb_model_resize_open(rz->run->ctx, rz->table, &rz->how, &rz->model_how, &resize, &err))
        return fail(rz->run, rz->run->table_name, &err);
    rz->model_plan = emb_model_resize_plan(resize);
    rz->plan = *rz->model_plan->rows;
    int code = say_plan(rz);
    if (!code && !o->dry_run)
        code = write_model(rz, resize);
    emb_model_resize_close(resize);
    return code;
}
