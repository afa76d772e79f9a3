/* report.c - writes the report of a run: version, command, arguments, seed, and the sizes and
 * SHA-256 of the files that were read and written. No time and no host: the same run gives the same
 * report.
 */
#include "report.h"
#include "out.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* `list`: paths, each ended by a NUL. */
static void add_path(struct embi_buf *list, const char *path)
{
    for (size_t at = 0; at < list->n; at += strlen(list->s + at) + 1) {
        if (strcmp(list->s + at, path) == 0)
            return;
    }
    embi_buf_add(list, path, strlen(path) + 1);
}

void report_input(struct run *run, const char *path)
{
    add_path(&run->inputs, is_stream(path) ? "-" : path);
}

void report_output(struct run *run, const char *path)
{
    if (!is_stream(path))
        add_path(&run->outputs, path);
}

static void put_string(struct out *out, const char *s)
{
    out_json_string(out, (emb_str){s, strlen(s)});
}

/* `{"path":P,"bytes":N,"sha256":"..."}`; both null for what cannot be read again, such as a
 * pipe. */
static int put_file(struct run *run, struct out *out, const char *path)
{
    char hex[EMB_SHA256_HEX];
    uint64_t bytes = 0;
    emb_err err;
    emb_status status = EMB_UNSUPPORTED;
    if (!is_stream(path))
        status = emb_sha256_file(path, &bytes, hex, &err);
    if (status && status != EMB_UNSUPPORTED)
        return fail_with(run, exit_code(status), path, "cannot be read for the report: %s",
                         err.msg);
    out_text(out, "{\"path\":");
    put_string(out, path);
    out_text(out, ",\"bytes\":");
    if (status) {
        out_text(out, "null,\"sha256\":null}");
        return EXIT_DONE;
    }
    out_u64(out, bytes);
    out_print(out, ",\"sha256\":\"%s\"}", hex);
    return EXIT_DONE;
}

static int put_files(struct run *run, struct out *out, const char *key, const struct embi_buf *list)
{
    int code = EXIT_DONE;
    if (list->failed)
        return fail_with(run, EXIT_MEMORY, NULL, "out of memory for the report");
    out_print(out, ",\"%s\":[", key);
    for (size_t at = 0; !code && at < list->n; at += strlen(list->s + at) + 1) {
        if (at)
            out_byte(out, ',');
        code = put_file(run, out, list->s + at);
    }
    out_byte(out, ']');
    return code;
}

static bool has_seed(const struct cmd *cmd)
{
    for (const struct opt *o = cmd->options; o->name; o++) {
        if (strcmp(o->name, "seed") == 0)
            return true;
    }
    return false;
}

static int put_report(struct run *run, struct out *out)
{
    out_print(out, "{\"version\":\"%s\",\"command\":\"%s\",\"arguments\":[", emb_version(),
              run->cmd->name);
    for (int i = 0; i < run->argc; i++) {
        if (i)
            out_byte(out, ',');
        put_string(out, run->argv[i]);
    }
    out_byte(out, ']');
    if (has_seed(run->cmd)) {
        out_text(out, ",\"seed\":");
        out_u64(out, run->common->seed);
    }
    int code = put_files(run, out, "inputs", &run->inputs);
    if (!code)
        code = put_files(run, out, "outputs", &run->outputs);
    out_text(out, "}\n");
    return code;
}

/* Is the file `path`, which need not be there, in the directory `dir` or a folder of it? */
static bool lies_in(const char *path, const char *dir)
{
    char folder[PATH_MAX], outer[PATH_MAX], parent[PATH_MAX];
    const char *slash = strrchr(path, '/');
    size_t n = slash ? (size_t)(slash - path) + 1 : 0;
    if (n >= sizeof parent || !realpath(dir, outer))
        return false;
    memcpy(parent, n ? path : ".", n ? n : 1);
    parent[n ? n : 1] = 0;
    if (!realpath(parent, folder))
        return false;
    n = strlen(outer);
    return strncmp(folder, outer, n) == 0 && (folder[n] == 0 || folder[n] == '/');
}

/* Would the report take the place of this file, or of one in this directory? */
static bool would_replace(const char *report, const char *path)
{
    struct stat a, b;
    if (stat(report, &a) || !S_ISREG(a.st_mode) || stat(path, &b))
        return false;
    return S_ISDIR(b.st_mode) ? lies_in(report, path) : is_same_file(report, path);
}

/* With --force the report would be what is left of a file that was read. */
static int check_inputs(struct run *run)
{
    const struct embi_buf *list = &run->inputs;
    const char *report = run->common->report;
    bool replaced = run->table_name && would_replace(report, run->table_name); /* a directory */
    for (size_t at = 0; !replaced && !list->failed && at < list->n; at += strlen(list->s + at) + 1)
        replaced = would_replace(report, list->s + at);
    return replaced ? usage_error(run, "--report %s would replace what was read: name another file",
                                  report)
                    : EXIT_DONE;
}

static int check_output(struct run *run, const struct common *c)
{
    struct stat st;
    if (!c->output)
        return EXIT_DONE;
    if (strcmp(c->output, c->report) == 0)
        return usage_error(run, "--report and -o name the same file");
    if (stat(c->output, &st) == 0 && S_ISDIR(st.st_mode) && lies_in(c->report, c->output))
        return usage_error(run, "--report %s lies in the directory that -o makes", c->report);
    return EXIT_DONE;
}

int report_run(struct run *run, void *opts)
{
    const struct common *c = run->common;
    struct out out = {0};
    int code = check_output(run, c);
    if (code)
        return code;
    code = out_open(run, c->report, &out);
    if (!code)
        code = run->cmd->run(run, opts);
    if (code <= EXIT_NO)
        code = worse(code, check_inputs(run));
    if (code <= EXIT_NO)
        code = worse(code, put_report(run, &out));
    return out_close(&out, code);
}
