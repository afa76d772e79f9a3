/* main.c - from argv to a command and from its answer to the exit code; no logic of its own.
 *
 * The only file that reads the environment, and sets what OpenBLAS reads of it. Standard output is
 * closed here at the end, since that, too, can fail.
 */
#include "main.h"
#include "places.h"
#include "progress.h"
#include "quantity.h"
#include "report.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MAX_THREADS = 1024 };

/* Descriptors 0 to 2 that the caller closed are opened so that using them fails, and no file of
 * ours can take their place. */
static void fill_streams(void)
{
    for (int fd = 0; fd < 3; fd++) {
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", fd ? O_RDONLY : O_WRONLY) < 0)
            _exit(EXIT_FILE);
    }
}

static const char *variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

static const char *either(const char *name, const char *other)
{
    const char *value = variable(name);
    return value ? value : variable(other);
}

/* As the hub's clients read it. */
static bool is_true(const char *value)
{
    static const char *const words[] = {"1", "on", "yes", "true"};
    size_t i = 0;
    while (value && i < 4 && strcasecmp(value, words[i]) != 0)
        i++;
    return value && i < 4;
}

static void read_hub_env(struct run_env *env)
{
    env->hf_hub_cache = either("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE");
    env->hf_home = variable("HF_HOME");
    env->xdg_cache_home = variable("XDG_CACHE_HOME");
    env->home = variable("HOME");
    env->hf_endpoint = variable("HF_ENDPOINT");
    env->hf_token = either("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN");
    env->hf_token_path = variable("HF_TOKEN_PATH");
    env->hf_no_token = is_true(variable("HF_HUB_DISABLE_IMPLICIT_TOKEN"));
    env->hf_offline = is_true(either("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"));
}

/* Most people have none of these, and are spared looking for each. */
static bool is_any_set(const char *prefix)
{
    char **at = environ;
    while (*at && strncmp(*at, prefix, strlen(prefix)) != 0)
        at++;
    return *at != NULL;
}

static void read_s3_env(struct run_env *env)
{
    env->s3_access_key = variable("AWS_ACCESS_KEY_ID");
    env->s3_secret_key = variable("AWS_SECRET_ACCESS_KEY");
    env->s3_token = variable("AWS_SESSION_TOKEN");
    env->s3_region = either("AWS_REGION", "AWS_DEFAULT_REGION");
    env->s3_endpoint = either("AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT_URL");
    env->s3_profile = either("AWS_PROFILE", "AWS_DEFAULT_PROFILE");
    env->s3_config_file = variable("AWS_CONFIG_FILE");
    env->s3_credentials_file = variable("AWS_SHARED_CREDENTIALS_FILE");
}

static void read_env(struct run_env *env)
{
    const char *term = variable("TERM"), *columns = variable("COLUMNS");
    uint64_t n = 0;
    env->table = variable("EMBTOOL_TABLE");
    env->threads = variable("EMBTOOL_THREADS");
    env->disable_cpu = variable("EMB_DISABLE_CPU");
    env->plugin_path = variable("EMB_PLUGIN_PATH");
    env->temp_dir = variable("TMPDIR");
    env->ca_file = either("CURL_CA_BUNDLE", "SSL_CERT_FILE");
    env->netrc = variable("NETRC");
    if (is_any_set("AWS_"))
        read_s3_env(env);
    env->cache = variable("EMBTOOL_CACHE");
    env->cache_bytes = variable("EMBTOOL_CACHE_BYTES");
    read_hub_env(env);
    env->plain = variable("NO_COLOR") || (term && strcmp(term, "dumb") == 0);
    if (columns && opt_u64(columns, &n))
        env->columns = (size_t)embi_min(n, 1000);
}

static void look_at_streams(struct run *run)
{
    struct winsize size;
    run->in_tty = isatty(STDIN_FILENO);
    run->out_tty = isatty(STDOUT_FILENO);
    run->err_tty = isatty(STDERR_FILENO);
    run->columns = 80;
    if (run->env.columns)
        run->columns = run->env.columns;
    else if (run->out_tty && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col)
        run->columns = size.ws_col;
    run->columns = embi_max(run->columns, 40);
}

/* Text that belongs to no command's answer, to standard output or error. */
static int print_text(struct run *run, int fd, struct embi_buf *text)
{
    int code = text->failed ? fail_with(run, EXIT_MEMORY, NULL, "out of memory") : EXIT_DONE;
    int sys = code ? 0 : write_bytes(fd, text->s, text->n);
    if (sys)
        code = fail_with(run, EXIT_FILE, "standard output", "%s", strerror(sys));
    embi_buf_free(text);
    return code;
}

static int print_help(struct run *run, const struct cmd *cmd)
{
    struct embi_buf text = {0};
    size_t columns = run->out_tty ? (size_t)embi_min(run->columns, 100) : 80;
    if (cmd)
        help_command(&text, cmd, columns);
    else
        help_list(&text);
    return print_text(run, STDOUT_FILENO, &text);
}

/* -j, else $EMBTOOL_THREADS, else 0. */
static int choose_threads(struct run *run, int *threads)
{
    uint64_t n = run->common->threads;
    const char *text = run->env.threads;
    if (!run->common->has_threads && text && !opt_u64(text, &n))
        return usage_error(run, "EMBTOOL_THREADS=%s: expected a whole number", text);
    if (n > MAX_THREADS)
        return usage_error(run, "%" PRIu64 " threads: expected at most %d", n, MAX_THREADS);
    *threads = (int)n;
    return EXIT_DONE;
}

static int choose_cache_bytes(struct run *run, uint64_t *bytes)
{
    const char *text = run->env.cache_bytes;
    if (text && (!quantity_parse(text, bytes) || *bytes == 0))
        return usage_error(run, "EMBTOOL_CACHE_BYTES=%s: expected a number such as 500M or 8Gi",
                           text);
    return EXIT_DONE;
}

/* What the hub's clients keep under that name; NULL: nothing says where. */
static const char *hub_file(const struct run_env *env, const char *name, struct embi_buf *path)
{
    if (env->hf_home)
        embi_buf_print(path, "%s/%s", env->hf_home, name);
    else if (env->xdg_cache_home)
        embi_buf_print(path, "%s/huggingface/%s", env->xdg_cache_home, name);
    else if (env->home)
        embi_buf_print(path, "%s/.cache/huggingface/%s", env->home, name);
    else
        return NULL;
    return embi_buf_cstr(path);
}

static void set_hub(struct run *run, emb_ctx_opts *opts, struct embi_buf *cache,
                    struct embi_buf *token)
{
    const struct run_env *env = &run->env;
    opts->hub_cache = env->hf_hub_cache ? env->hf_hub_cache : hub_file(env, "hub", cache);
    opts->hub_endpoint = env->hf_endpoint;
    opts->hub_offline = env->hf_offline;
    opts->download = progress_download;
    opts->download_arg = run;
    if (env->hf_no_token)
        return;
    opts->hub_token = env->hf_token;
    opts->hub_token_file = env->hf_token_path ? env->hf_token_path : hub_file(env, "token", token);
}

static const char *netrc_file(const struct run_env *env, struct embi_buf *path)
{
    if (env->netrc || !env->home)
        return env->netrc;
    embi_buf_print(path, "%s/.netrc", env->home);
    return embi_buf_cstr(path);
}

static void set_servers(const struct run *run, emb_ctx_opts *opts, emb_s3_opts *s3,
                        struct embi_buf *cache, struct embi_buf *netrc)
{
    const struct run_env *env = &run->env;
    opts->ca_file = run->common->ca_file ? run->common->ca_file : env->ca_file;
    opts->cache_dir = cache_folder(run, cache);
    opts->netrc = netrc_file(env, netrc);
    *s3 = (emb_s3_opts){.size = sizeof *s3,
                        .access_key = env->s3_access_key,
                        .secret_key = env->s3_secret_key,
                        .session_token = env->s3_token,
                        .region = env->s3_region,
                        .endpoint = env->s3_endpoint,
                        .profile = env->s3_profile,
                        .config_file = env->s3_config_file,
                        .credentials_file = env->s3_credentials_file,
                        .home = env->home};
    opts->s3 = s3;
}

/* What OpenBLAS reads while it is loaded, which is later and perhaps never: see emb_ctx_blas_core.
 * An OpenBLAS that knows this CPU gets it as well. A core type that the user chose stays; how many
 * threads there are is said by -j. */
static void set_blas_env(const emb_ctx *ctx)
{
    const char *core = emb_ctx_blas_core(ctx);
    setenv("OPENBLAS_NUM_THREADS", "1", 1);
    if (core && !variable("OPENBLAS_CORETYPE"))
        setenv("OPENBLAS_CORETYPE", core, 1);
}

static int make_context(struct run *run)
{
    emb_ctx_opts opts = {.size = sizeof opts, .log = say_log, .log_arg = run, .temp = note_temp};
    emb_err err;
    struct embi_buf hub = {0}, token = {0}, cache = {0}, netrc = {0}, plugins = {0};
    const struct run_env *env = &run->env;
    emb_s3_opts s3;
    int code = choose_threads(run, &opts.threads);
    if (!code)
        code = choose_cache_bytes(run, &opts.cache_bytes);
    if (code)
        return code;
    opts.disable_cpu = run->env.disable_cpu;
    opts.temp_dir = env->temp_dir ? env->temp_dir : "/var/tmp"; /* which is on a disk */
    set_servers(run, &opts, &s3, &cache, &netrc);
    set_hub(run, &opts, &hub, &token);
    place_plugins(env->plugin_path, &plugins);
    opts.plugin_path = embi_buf_cstr(&plugins);
    if (hub.failed || token.failed || cache.failed || netrc.failed || plugins.failed)
        code = fail_with(run, EXIT_MEMORY, NULL, "out of memory");
    else if (emb_ctx_new(&opts, &run->ctx, &err) != EMB_OK)
        code = fail(run, NULL, &err);
    else
        set_blas_env(run->ctx);
    embi_buf_free(&plugins);
    embi_buf_free(&cache);
    embi_buf_free(&token);
    embi_buf_free(&hub);
    embi_buf_free(&netrc);
    return code;
}

static int print_version(struct run *run)
{
    struct embi_buf text = {0};
    int code = make_context(run);
    if (code)
        return code;
    embi_buf_print(&text, "embtool %s\nhttp %s  blas %s  cuda %s  kernels %s  threads %d\n",
                   emb_version(), emb_ctx_plugin(run->ctx, "http") ? "libcurl" : "no",
                   emb_ctx_plugin(run->ctx, "blas") ? "openblas" : "no",
                   emb_ctx_plugin(run->ctx, "cuda") ? "driver" : "no", emb_ctx_kernels(run->ctx),
                   emb_ctx_threads(run->ctx));
    return print_text(run, STDOUT_FILENO, &text);
}

static int unknown_command(struct run *run, const char *name)
{
    const struct cmd *best = NULL;
    unsigned distance = 99;
    if (strcmp(name, "version") == 0)
        return usage_error(run, "unknown command %s; did you mean --version?", name);
    if (name[0] == '-')
        return usage_error(run, "unknown option %s; options follow the command", name);
    for (size_t i = 0; commands[i]; i++) {
        if (opt_closer(name, commands[i]->name, &distance))
            best = commands[i];
    }
    if (best)
        return usage_error(run, "unknown command %s; did you mean %s?", name, best->name);
    return usage_error(run, "unknown command %s; embtool --help lists them", name);
}

/* Options are parsed and the context is made; then the command has the word. */
static int run_parsed(struct run *run, void *opts)
{
    int code = make_context(run);
    if (code)
        return code;
    catch_sigbus(run);
    return run->common->report ? report_run(run, opts) : run->cmd->run(run, opts);
}

static int run_command(struct run *run, int argc, char **argv)
{
    struct embi_buf why = {0};
    int code = EXIT_DONE;
    void *opts = calloc(1, run->cmd->opts_bytes);
    if (!opts)
        return fail_with(run, EXIT_MEMORY, NULL, "out of memory");
    if (run->cmd->defaults)
        memcpy(opts, run->cmd->defaults, run->cmd->opts_bytes);
    run->common = opts;
    run->argc = argc;
    run->argv = argv;
    switch (opt_parse(run->cmd->options, opts, &run->items, argc, argv, &why)) {
    case OPT_OK: code = run_parsed(run, opts); break;
    case OPT_HELP: code = print_help(run, run->cmd); break;
    case OPT_NO_MEMORY: code = fail_with(run, EXIT_MEMORY, NULL, "out of memory"); break;
    case OPT_BAD: code = usage_error(run, "%s", embi_buf_cstr(&why)); break;
    }
    embi_buf_free(&why);
    opt_free(run->cmd->options, opts, &run->items);
    free(opts);
    return code;
}

/* `embtool help [COMMAND]` */
static int help_about(struct run *run, const char *name)
{
    const struct cmd *cmd = name ? find_command(name) : NULL;
    if (name && !cmd)
        return unknown_command(run, name);
    return print_help(run, cmd);
}

/* `embtool` alone: an error for a script, the list of commands for people. */
static int no_command(struct run *run)
{
    struct embi_buf text = {0};
    usage_error(run, "a command is missing");
    help_list(&text);
    print_text(run, STDERR_FILENO, &text);
    return EXIT_USAGE;
}

static int dispatch(struct run *run, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    if (!word)
        return no_command(run);
    if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0)
        return help_about(run, argc > 2 ? argv[2] : NULL);
    if (strcmp(word, "--version") == 0 || strcmp(word, "-V") == 0)
        return print_version(run);
    run->cmd = find_command(word);
    if (!run->cmd)
        return unknown_command(run, word);
    return run_command(run, argc - 2, argv + 2);
}

/* Some file systems report a failed write only here. */
static int close_stdout(struct run *run, int code)
{
    if (close(STDOUT_FILENO) == 0 || errno == EBADF || code > EXIT_NO)
        return code;
    return fail_with(run, EXIT_FILE, "standard output", "%s", strerror(errno));
}

int main(int argc, char **argv)
{
    struct common none = {0}; /* until a command brings its own */
    struct run run = {.common = &none};
    fill_streams();
    signal(SIGXFSZ, SIG_IGN); /* a file beyond the limit is a failed write like any other */
    catch_ends();
    read_env(&run.env);
    look_at_streams(&run);
    int code = dispatch(&run, argc, argv);
    emb_ctx_free(run.ctx);
    embi_buf_free(&run.warnings);
    embi_buf_free(&run.inputs);
    embi_buf_free(&run.outputs);
    return close_stdout(&run, code);
}
