/* shard_join.c - `embtool shard --join`: the table that a directory of shards opens as, saved in a
 * file, and said as `convert` says it.
 */
#include "convert.h"
#include "progress.h"
#include "report.h"
#include "shard.h"

#include <string.h>

static void add_done(void *arg, uint64_t rows)
{
    progress_add(arg, rows);
}

/* A file of one table has no place for the other tensors of a model. */
static int note_others(struct run *run, const emb_table_info *info)
{
    emb_tensors all;
    emb_open_opts opts = {.size = sizeof opts};
    emb_err err;
    if (run->common->tensor || run->common->head || strchr(run->common->table, '#'))
        return EXIT_DONE;
    if (emb_tensors_list(run->ctx, run->common->table, &opts, &all, &err) != EMB_OK)
        return fail(run, run->table_name, &err);
    if (all.n > 1)
        note(run, run->common->output, "holds %s alone: --tensor names one of the other %zu",
             info->tensor, all.n - 1);
    emb_tensors_free(&all);
    return EXIT_DONE;
}

static int write_joined(struct convert *cv, struct progress *progress)
{
    struct run *run = cv->run;
    const emb_save_plan *plan = emb_save_plan_of(cv->save);
    emb_write_opts opts;
    emb_err err;
    write_opts(run, NULL, &opts);
    progress_begin(progress, run, plan->rows, emb_dtype_row_bytes(cv->info.dtype, plan->dims));
    emb_status status = emb_save_write(cv->save, &opts, &err);
    progress_end(progress);
    if (status == EMB_BAD_DATA)
        return fail(run, run->table_name, &err);
    if (status)
        return fail(run, plan->failed ? plan->failed : cv->target, &err);
    report_output(run, cv->target);
    if (plan->beside)
        report_output(run, plan->beside);
    return EXIT_DONE;
}

int shard_join(struct run *run, const struct shard_opts *o, emb_table *table,
               const emb_table_info *info)
{
    struct progress progress;
    emb_err err;
    struct convert_opts as = {.common = o->common, .lossy = o->lossy, .dry_run = o->dry_run};
    struct convert cv = {
        .run = run, .opts = &as, .target = o->common.output, .table = table, .info = *info};
    emb_save_opts opts = {.size = sizeof opts,
                          .lossy = o->lossy,
                          .strict = o->common.strict,
                          .done = add_done,
                          .done_arg = &progress};
    if (!info->shards)
        return fail_with(run, EXIT_DATA, run->table_name, "is no directory of shards");
    if (emb_save_open(run->ctx, table, cv.target, &opts, &cv.save, &err) != EMB_OK)
        return fail(run, cv.target, &err);
    convert_warn(&cv);
    int code = o->dry_run ? EXIT_DONE : write_joined(&cv, &progress);
    if (!code)
        code = note_others(run, info);
    if (!code)
        code = convert_say(&cv);
    emb_save_close(cv.save);
    return code;
}
