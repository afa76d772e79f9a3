/* common.c - finds and opens the table of a run, and decides how its output is written.
 */
#include "cmd.h"
#include "main.h"
#include "places.h"
#include "report.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void take_table_argument(struct run *run)
{
    struct opt_items *items = &run->items;
    if (run->common->table)
        return;
    for (size_t i = 0; i < items->n; i++) {
        if (items->v[i].tag)
            continue;
        run->common->table = items->v[i].s;
        memmove(items->v + i, items->v + i + 1, (items->n - i - 1) * sizeof *items->v);
        items->n--;
        return;
    }
}

/* --shape "V,D" or ",D". */
static int parse_shape(struct run *run, emb_open_opts *opts)
{
    char rows[24];
    uint64_t dims;
    const char *text = run->common->shape;
    if (!text)
        return EXIT_DONE;
    size_t n = strcspn(text, ",");
    if (text[n] != ',' || n >= sizeof rows || !opt_u64(text + n + 1, &dims) || dims == 0 ||
        dims > UINT32_MAX)
        return usage_error(run, "--shape %s: expected V,D", text);
    memcpy(rows, text, n);
    rows[n] = 0;
    if (n && (!opt_u64(rows, &opts->raw_rows) || opts->raw_rows == 0))
        return usage_error(run, "--shape %s: expected V,D", text);
    opts->raw_dims = (uint32_t)dims;
    return EXIT_DONE;
}

static int open_opts(struct run *run, emb_open_opts *opts)
{
    const struct common *c = run->common;
    *opts = (emb_open_opts){.size = sizeof *opts,
                            .format = c->format,
                            .tensor = c->tensor,
                            .vocab = c->vocab,
                            .head = c->head,
                            .output = c->output_table,
                            .input_dtype = c->input_dtype,
                            .raw_offset = c->offset,
                            .limit_rows = c->limit,
                            .strict = c->strict};
    if (c->vocab && is_stream(c->vocab) && c->table && is_stream(c->table))
        return usage_error(run, "the table and its tokens cannot both come from standard input");
    if (c->has_limit && c->limit == 0)
        return usage_error(run, "--limit 0: expected 1 or more");
    return parse_shape(run, opts);
}

static int open_url(struct run *run, const char *url, const emb_open_opts *opts, emb_table **table,
                    emb_table_info *info)
{
    emb_err err;
    watch_file(run, url);
    if (emb_table_open(run->ctx, url, opts, table, &err) != EMB_OK)
        return fail(run, url, &err);
    if (info && emb_table_describe(*table, info, &err) != EMB_OK) {
        emb_table_close(*table);
        *table = NULL;
        return fail(run, url, &err);
    }
    if (info)
        report_input(run, info->path);
    if (opts->vocab)
        report_input(run, opts->vocab);
    return EXIT_DONE;
}

/* The way from the folder of the program to its data, where it was installed; the Makefile says it.
 */
#ifndef EMBTOOL_DATA
#define EMBTOOL_DATA "../share/embtool"
#endif

/* The English table lies beside the program: in ../lib/english of a build tree, or where it was
 * installed. NULL where it is not. */
static const char *find_builtin(struct run *run)
{
    static const char *const places[] = {"../lib/english/english.bin", EMBTOOL_DATA "/english.bin"};
    return place_find(places, EMBI_LEN(places), run->builtin, sizeof run->builtin) ? run->builtin
                                                                                   : NULL;
}

/* Is the current directory that of a model? */
static bool in_model(void)
{
    static const char *const weights[] = {"model.safetensors", "model.safetensors.index.json",
                                          "pytorch_model.bin", "pytorch_model.bin.index.json"};
    for (size_t i = 0; access("config.json", F_OK) == 0 && i < EMBI_LEN(weights); i++)
        if (access(weights[i], F_OK) == 0)
            return true;
    return false;
}

int choose_model(struct run *run)
{
    const struct common *c = run->common;
    run->table_name = c->table         ? c->table
                      : run->env.table ? run->env.table
                      : in_model()     ? "."
                                       : NULL;
    return run->table_name
               ? EXIT_DONE
               : usage_error(run, "no model: say which directory to %s", run->cmd->name);
}

/* No TABLE was named: the variable, the current directory, or what comes with embtool. */
static int choose_default(struct run *run, bool *here)
{
    *here = !run->env.table && in_model();
    run->table_name = run->env.table ? run->env.table : *here ? "." : find_builtin(run);
    return run->table_name ? EXIT_DONE
                           : usage_error(run, "no table: say -t TABLE, or set EMBTOOL_TABLE");
}

/* Which table answers where none was named. info NULL: it was not opened. */
static void note_default(struct run *run, bool here, const emb_table_info *info)
{
    if (run->env.table)
        note_table(run, "%s (EMBTOOL_TABLE)", run->table_name);
    else if (here)
        note_table(run, "%s (the current directory)", info ? info->path : run->table_name);
    else if (info)
        note_table(run, "GloVe 6B, %u dimensions (built in)", info->dims);
    else
        note_table(run, "GloVe 6B (built in)");
}

static int open_default(struct run *run, const emb_open_opts *opts, emb_table **table,
                        emb_table_info *info)
{
    bool here;
    int code = choose_default(run, &here);
    if (!code)
        code = open_url(run, run->table_name, opts, table, info);
    if (!code)
        note_default(run, here, info);
    return code;
}

int choose_table(struct run *run, emb_open_opts *opts)
{
    bool here = false;
    int code = open_opts(run, opts);
    run->table_name = run->common->table;
    if (code || run->table_name)
        return code;
    code = choose_default(run, &here);
    if (!code)
        note_default(run, here, NULL);
    return code;
}

int open_table(struct run *run, emb_table **table, emb_table_info *info)
{
    emb_table_info own = {0};
    emb_open_opts opts;
    *table = NULL;
    int code = open_opts(run, &opts);
    if (code)
        return code;
    if (!run->common->table)
        return open_default(run, &opts, table, info ? info : &own);
    run->table_name = run->common->table;
    return open_url(run, run->table_name, &opts, table, info);
}

int open_other_table(struct run *run, const char *url, emb_table **table, emb_table_info *info)
{
    emb_open_opts opts = {.size = sizeof opts,
                          .input_dtype = run->common->input_dtype,
                          .strict = run->common->strict};
    *table = NULL;
    return open_url(run, url, &opts, table, info);
}

int load_blas(struct run *run, const char *option)
{
    const char *about;
    emb_err err;
    return emb_ctx_blas(run->ctx, &about, &err) == EMB_OK ? EXIT_DONE : fail(run, option, &err);
}

int load_device(struct run *run, bool searches)
{
    const char *name = run->common->device;
    char option[64];
    emb_err err;
    if (!name || (!searches && strcmp(name, "auto") == 0) ||
        emb_ctx_device(run->ctx, name, &run->device, &err) == EMB_OK)
        return EXIT_DONE;
    snprintf(option, sizeof option, "--device %.40s", name);
    return err.status == EMB_BAD_ARG ? usage_error(run, "--device: %s", err.msg)
                                     : fail(run, option, &err);
}

int refuse_device(struct run *run, const char *what)
{
    const char *name = run->common->device;
    if (!name || strcmp(name, "cpu") == 0 || strcmp(name, "auto") == 0)
        return EXIT_DONE;
    return usage_error(run, "%s is the CPU's: --device %s has no part in it", what, name);
}

/* ------------------------------------------------------------------------------------------------
 * What is kept of servers
 */

const char *cache_folder(const struct run *run, struct embi_buf *path)
{
    const struct run_env *env = &run->env;
    const char *said = run->common->cache ? run->common->cache : env->cache;
    if (said)
        return strcmp(said, "none") == 0 ? NULL : said;
    if (env->xdg_cache_home)
        embi_buf_print(path, "%s/embtool", env->xdg_cache_home);
    else if (env->home)
        embi_buf_print(path, "%s/.cache/embtool", env->home);
    else
        return NULL;
    return embi_buf_cstr(path);
}

/* ------------------------------------------------------------------------------------------------
 * Files
 */

bool is_stream(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

bool is_same_file(const char *a, const char *b)
{
    struct stat x, y;
    return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino;
}

/* What a descriptor is open on does not matter: the library writes through such names. */
static bool names_descriptor(const char *path)
{
    static const char *const folders[] = {"/dev/fd/", "/proc/self/fd/"};
    for (size_t i = 0; i < EMBI_LEN(folders); i++) {
        if (strncmp(path, folders[i], strlen(folders[i])) == 0)
            return true;
    }
    return strcmp(path, "/dev/stdout") == 0 || strcmp(path, "/dev/stderr") == 0;
}

bool is_completed_late(const char *path)
{
    struct stat info;
    if (is_stream(path) || names_descriptor(path))
        return false;
    return stat(path, &info) != 0 || S_ISREG(info.st_mode);
}

/* ------------------------------------------------------------------------------------------------
 * Output
 */

static bool in_list(const char *list, const char *word)
{
    size_t n = strlen(word);
    for (const char *at = list; (at = strstr(at, word)); at++) {
        if ((at == list || at[-1] == '|') && (at[n] == '|' || at[n] == 0))
            return true;
    }
    return false;
}

/* Is there no dot in the last part of the path, or one of a kind that says nothing more than
 * text? */
static bool is_plain(const char *path)
{
    const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
    return !dot || dot == (slash ? slash + 1 : path) || embi_ends_in(path, ".tsv") ||
           embi_ends_in(path, ".out") || embi_ends_in(path, ".log");
}

/* What the extension stands for; NULL where it stands for nothing. */
static const char *format_of_path(const char *path)
{
    if (embi_ends_in(path, ".json") || embi_ends_in(path, ".jsonl") ||
        embi_ends_in(path, ".ndjson"))
        return "json";
    const char *format = emb_format_of(path);
    return format || !is_plain(path) ? format : "text";
}

int output_format(struct run *run, const char *words, const char **format)
{
    const struct common *c = run->common;
    const char *named = is_stream(c->output) ? NULL : format_of_path(c->output);
    bool json = c->json && in_list(words, "json"); /* else it is about what the command says */
    if (json && c->output_format && strcmp(c->output_format, "json") != 0)
        return usage_error(run, "--json and -O %s: which one?", c->output_format);
    if (json && !c->output_format && named && strcmp(named, "json") != 0 &&
        strcmp(named, "text") != 0)
        return usage_error(run, "--json and -o %s: which one?", c->output);
    if (!json && !c->output_format && !named && !is_stream(c->output))
        return usage_error(run, "%s: no format goes by that extension: say -O %s", c->output,
                           words);
    *format = c->output_format ? c->output_format : json ? "json" : named ? named : "text";
    if (!in_list(words, *format))
        return usage_error(run, "%s would be %s, which %s does not write: say -O %s", c->output,
                           *format, run->cmd->name, words);
    bool binary = strcmp(*format, "text") != 0 && strcmp(*format, "json") != 0;
    if (binary && is_stream(c->output) && run->out_tty)
        return usage_error(run, "%s is binary and this is a terminal: say -o FILE, or use a pipe",
                           *format);
    return EXIT_DONE;
}

void write_opts(const struct run *run, const char *format, emb_write_opts *opts)
{
    *opts = (emb_write_opts){.size = sizeof *opts,
                             .format = format,
                             .force = run->common->force,
                             .sync = run->common->sync};
}
