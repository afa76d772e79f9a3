/* cmd.h - what a command is, and the state of one run of one.
 *
 * A command is a const struct in a file of its own and one line in commands.c. It sees the library
 * only through emb.h (and borrows util/buf.h and util/json.h), prints through out.h and the
 * functions below, and returns an exit code; it never exits. Only main.c reads the environment.
 *
 * Exit codes: 0 done; 1 ran, and the answer is no; 2 usage; 3 bad or unsupported data; 4 file or
 * network; 5 memory or device; 70 a bug of ours.
 */
#ifndef EMBTOOL_CMD_H
#define EMBTOOL_CMD_H

#include "common.h"
#include "emb.h"
#include "opt.h"

#include <limits.h>
#include <stdio.h>

enum {
    EXIT_DONE = 0,
    EXIT_NO = 1,
    EXIT_USAGE = 2,
    EXIT_DATA = 3,
    EXIT_FILE = 4,
    EXIT_MEMORY = 5,
    EXIT_BUG = 70
};

struct run;

/* What was last heard of a file that comes from a server. */
struct download_seen {
    const char *name; /* whose address alone is looked at */
    uint64_t first;   /* bytes that were there when it began */
    int64_t started_ms, next_ms;
};

struct cmd {
    const char *name;
    const char *group;         /* heading in `embtool --help`: "Look", "Make", "Change", "Learn" */
    const char *summary;       /* one line, no full stop */
    const char *usage;         /* one form a line, without "embtool NAME" */
    const char *about;         /* paragraphs for -h, one a line: they are wrapped there */
    const char *examples;      /* one a line, whole command lines */
    const struct opt *options; /* ended by {0} */
    const void *defaults;      /* of the options struct, which begins with struct common */
    size_t opts_bytes;         /* its size */
    int (*run)(struct run *run, void *opts);
};

/* What the environment said, read once by main.c. NULL or 0: not set. */
struct run_env {
    const char *table;               /* EMBTOOL_TABLE */
    const char *threads;             /* EMBTOOL_THREADS */
    const char *disable_cpu;         /* EMB_DISABLE_CPU */
    const char *plugin_path;         /* EMB_PLUGIN_PATH */
    const char *temp_dir;            /* TMPDIR */
    const char *ca_file;             /* CURL_CA_BUNDLE, SSL_CERT_FILE */
    const char *cache, *cache_bytes; /* EMBTOOL_CACHE, EMBTOOL_CACHE_BYTES */
    const char *netrc;               /* NETRC */
    const char *s3_access_key, *s3_secret_key, *s3_token, *s3_region, *s3_endpoint; /* AWS_... */
    const char *s3_profile, *s3_config_file, *s3_credentials_file;
    const char *hf_hub_cache, *hf_home, *xdg_cache_home, *home; /* of the hub's clients */
    const char *hf_endpoint, *hf_token, *hf_token_path;
    bool hf_offline, hf_no_token;
    size_t columns; /* COLUMNS */
    bool plain;     /* NO_COLOR, or TERM=dumb */
};

struct run {
    const struct cmd *cmd;
    struct common *common; /* shared options: the first member of the command's options */
    char **argv;           /* [argc] what followed the command's name, as it was typed */
    int argc;
    struct opt_items items; /* arguments in order */
    struct run_env env;
    emb_ctx *ctx;
    emb_device *device;            /* of --device, once it was looked for; NULL: the CPU */
    bool in_tty, out_tty, err_tty; /* which streams are terminals */
    size_t columns;                /* width of the terminal on stdout; 80 where there is none */
    const char *table_name;        /* of the table that open_table opened, for messages */
    char builtin[PATH_MAX + 64];   /* path of the built-in table, once it was looked for */
    struct embi_buf warnings;      /* what the library warned of: lines, each ended by a NUL */
    struct embi_buf inputs;        /* files that were read, likewise (report.h) */
    struct embi_buf outputs;       /* files that were written, likewise */
    bool progress;                 /* a progress line stands on stderr (progress.h) */
    struct download_seen download; /* the file that comes from a server, likewise */
    uint64_t compared;             /* tokens that unknown words were compared with (miss.h) */
};

/* ------------------------------------------------------------------------------------------------
 * Messages, all on stderr and one line each: `embtool: COMMAND: [PATH: ]message`. path may be NULL.
 * The return value of the first three is the exit code, so that a failure is one statement:
 *
 *     if (emb_table_gather(...) != EMB_OK)
 *         return fail(run, run->table_name, &err);
 */

/* A call of the library failed. */
int fail(struct run *run, const char *path, const emb_err *err);

/* Something else went wrong, with this exit code. */
int fail_with(struct run *run, int code, const char *path, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* The command line makes no sense: exit 2. */
int usage_error(struct run *run, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* `embtool: warning: [PATH: ]message`: always said. */
void warn(struct run *run, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* `embtool: note: [PATH: ]message`: not with -q. */
void note(struct run *run, const char *path, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The exit code that a status stands for; EMB_OK and EMB_STOPPED are 0. */
int exit_code(emb_status status);

/* The worse of two exit codes, for a run that goes on after a miss. */
static inline int worse(int a, int b)
{
    return a > b ? a : b;
}

/* Names the file whose pages are being read, so that the SIGBUS handler can say which one became
 * shorter. open_table does it for tables. */
void watch_file(struct run *run, const char *path);

/* ------------------------------------------------------------------------------------------------
 * The commands
 */
extern const struct cmd cmd_cache, cmd_check, cmd_convert, cmd_init, cmd_logits, cmd_lookup, cmd_ls,
    cmd_plan, cmd_position, cmd_resize, cmd_shard, cmd_similar, cmd_stats;

#endif
