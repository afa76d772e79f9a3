/* env.h - what the layers below the context need of it: the log, temporary names, the
 * threads, the kernels, the plugins.
 *
 * One embi_env lives in each emb_ctx; everything that hangs off the context borrows it. There is no
 * other way to the log or to threads: the library has no globals.
 */
#ifndef EMBI_UTIL_ENV_H
#define EMBI_UTIL_ENV_H

#include "util/base.h"

struct embi_pool;
struct embi_kern;
struct embi_plugins;
struct embi_transport;
struct embi_places;

/* What is known of the Hugging Face hub; strings may be NULL. */
struct embi_hub_env {
    const char *cache, *endpoint, *token, *token_file;
    bool offline;
};

/* What S3 is asked with; each may be NULL. */
struct embi_s3 {
    char *access_key, *secret_key; /* both, or requests are not signed */
    char *session_token;
    char *region;   /* NULL: us-east-1 */
    char *endpoint; /* http://host..., without a slash at its end; NULL: Amazon's */
    /* What is not said above is looked up (io/profile.h): under which name (NULL: the default), in
     * which files (NULL: where they are in `home`, which NULL is nowhere). */
    char *profile, *config_file, *credentials_file, *home;
};

struct embi_env {
    emb_log_fn *log; /* may be NULL */
    void *log_arg;
    emb_temp_fn *temp; /* may be NULL */
    void *temp_arg;
    const char *temp_dir; /* for files that nobody sees; NULL: there is no such place */
    struct embi_pool *pool;
    unsigned cpu; /* what it can do, but for what was turned off (num/cpu.h) */
    const struct embi_kern *kern;
    struct embi_plugins *plugins;
    /* What gets files from servers (dev/transport.c); NULL: there is no way to one. */
    emb_status (*transport)(const struct embi_env *env, const struct embi_transport **transport,
                            emb_err *err);
    const char *ca_file;      /* certificates to believe in place of the system's; or NULL */
    const char *netrc;        /* names and passwords for servers; or NULL */
    const struct embi_s3 *s3; /* or NULL */
    const char *cache_dir;    /* where ranges are kept for the next run; NULL: nowhere */
    uint64_t cache_bytes;     /* that it may take */
    struct embi_hub_env hub;
    struct embi_places *places; /* directories of which files are elsewhere (io/place.h); or NULL */
    emb_download_fn *download;  /* hears of downloads; may be NULL */
    void *download_arg;
};

/* One line to the log; level EMB_LOG_WARNING, _NOTE or _DEBUG; path may be NULL. */
void embi_log(const struct embi_env *env, int level, const char *path, const char *format, ...)
    EMBI_PRINTF(4, 5);

/* Says that `path` is a temporary name from now on, or no longer. Signals must be blocked from the
 * moment that it appears until this was said. */
void embi_temp(const struct embi_env *env, const char *path, bool there);

#endif
