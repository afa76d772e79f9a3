/* ctx.c - the context: what hangs off it, and what of it can be asked. */
#include "dev/device.h"
#include "dev/load.h"
#include "num/cpu.h"
#include "table/table.h"
#include "util/err.h"
#include "util/pool.h"

#include <stdlib.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__,
               "files are mapped and used in place: the machine must be little-endian");

const char *emb_version(void)
{
    return EMB_VERSION;
}

static emb_status copy_text(const char *text, char **copy, emb_err *err)
{
    if (!text)
        return EMB_OK;
    *copy = strdup(text);
    return *copy ? EMB_OK : embi_fail_memory(err, strlen(text), "an option");
}

static void take_callbacks(emb_ctx *c, const emb_ctx_opts *opts)
{
    c->env.log = EMBI_HAS(opts, log) ? opts->log : NULL;
    c->env.log_arg = EMBI_HAS(opts, log_arg) ? opts->log_arg : NULL;
    c->env.temp = EMBI_HAS(opts, temp) ? opts->temp : NULL;
    c->env.temp_arg = EMBI_HAS(opts, temp_arg) ? opts->temp_arg : NULL;
    c->env.download = EMBI_HAS(opts, download) ? opts->download : NULL;
    c->env.download_arg = EMBI_HAS(opts, download_arg) ? opts->download_arg : NULL;
}

static emb_status copy_s3(const emb_s3_opts *opts, struct embi_s3 *s3, emb_err *err)
{
    const struct {
        const char *from;
        char **to;
    } texts[] = {
        {EMBI_HAS(opts, access_key) ? opts->access_key : NULL, &s3->access_key},
        {EMBI_HAS(opts, secret_key) ? opts->secret_key : NULL, &s3->secret_key},
        {EMBI_HAS(opts, session_token) ? opts->session_token : NULL, &s3->session_token},
        {EMBI_HAS(opts, region) ? opts->region : NULL, &s3->region},
        {EMBI_HAS(opts, endpoint) ? opts->endpoint : NULL, &s3->endpoint},
        {EMBI_HAS(opts, profile) ? opts->profile : NULL, &s3->profile},
        {EMBI_HAS(opts, config_file) ? opts->config_file : NULL, &s3->config_file},
        {EMBI_HAS(opts, credentials_file) ? opts->credentials_file : NULL, &s3->credentials_file},
        {EMBI_HAS(opts, home) ? opts->home : NULL, &s3->home},
    };
    for (size_t i = 0; i < EMBI_LEN(texts); i++)
        if (copy_text(texts[i].from, texts[i].to, err))
            return err->status;
    for (size_t n = s3->endpoint ? strlen(s3->endpoint) : 0; n && s3->endpoint[n - 1] == '/'; n--)
        s3->endpoint[n - 1] = 0;
    return EMB_OK;
}

static void free_secret(char *s)
{
    if (s)
        explicit_bzero(s, strlen(s));
    free(s);
}

static emb_status take_texts(emb_ctx *c, const emb_ctx_opts *opts, emb_err *err)
{
    const struct {
        const char *from;
        char **to;
    } texts[] = {
        {EMBI_HAS(opts, temp_dir) ? opts->temp_dir : NULL, &c->temp_dir},
        {EMBI_HAS(opts, ca_file) ? opts->ca_file : NULL, &c->ca_file},
        {EMBI_HAS(opts, cache_dir) ? opts->cache_dir : NULL, &c->cache_dir},
        {EMBI_HAS(opts, netrc) ? opts->netrc : NULL, &c->netrc},
        {EMBI_HAS(opts, hub_cache) ? opts->hub_cache : NULL, &c->hub_cache},
        {EMBI_HAS(opts, hub_endpoint) ? opts->hub_endpoint : NULL, &c->hub_endpoint},
        {EMBI_HAS(opts, hub_token) ? opts->hub_token : NULL, &c->hub_token},
        {EMBI_HAS(opts, hub_token_file) ? opts->hub_token_file : NULL, &c->hub_token_file},
    };
    emb_status status = EMB_OK;
    for (size_t i = 0; !status && i < EMBI_LEN(texts); i++)
        status = copy_text(texts[i].from, texts[i].to, err);
    c->env.temp_dir = c->temp_dir;
    if (!status && EMBI_HAS(opts, s3))
        status = copy_s3(opts->s3, &c->s3, err);
    c->env.ca_file = c->ca_file;
    c->env.netrc = c->netrc;
    c->env.s3 = &c->s3;
    c->env.cache_dir = c->cache_dir;
    c->env.cache_bytes =
        EMBI_HAS(opts, cache_bytes) && opts->cache_bytes ? opts->cache_bytes : EMB_CACHE_BYTES;
    c->env.hub = (struct embi_hub_env){.cache = c->hub_cache,
                                       .endpoint = c->hub_endpoint,
                                       .token = c->hub_token,
                                       .token_file = c->hub_token_file,
                                       .offline = EMBI_HAS(opts, hub_offline) && opts->hub_offline};
    return status;
}

emb_status emb_ctx_new(const emb_ctx_opts *opts, emb_ctx **ctx, emb_err *err)
{
    emb_ctx *c = calloc(1, sizeof *c);
    if (!c)
        return embi_fail_memory(err, sizeof *c, "a context");
    take_callbacks(c, opts);
    c->env.cpu = embi_cpu_features(EMBI_HAS(opts, disable_cpu) ? opts->disable_cpu : NULL);
    c->env.kern = embi_kern_choose(c->env.cpu);
    c->env.places = &c->places;
    c->env.transport = embi_transport_get;
    emb_status status =
        embi_pool_new(EMBI_HAS(opts, threads) ? opts->threads : 0, &c->env.pool, err);
    if (!status)
        status = take_texts(c, opts, err);
    if (!status)
        status = embi_plugins_new(EMBI_HAS(opts, plugin_path) ? opts->plugin_path : NULL,
                                  &c->env.plugins, err);
    if (status)
        emb_ctx_free(c);
    else
        *ctx = c;
    return status;
}

void emb_ctx_free(emb_ctx *ctx)
{
    if (!ctx)
        return;
    embi_device_free(ctx->device);
    embi_places_free(&ctx->places); /* which may have connections */
    embi_plugins_free(ctx->env.plugins);
    embi_pool_free(ctx->env.pool);
    free(ctx->hub_cache);
    free(ctx->hub_endpoint);
    free_secret(ctx->hub_token);
    free(ctx->hub_token_file);
    free(ctx->temp_dir);
    free(ctx->ca_file);
    free(ctx->cache_dir);
    free(ctx->netrc);
    free(ctx->s3.access_key);
    free_secret(ctx->s3.secret_key);
    free_secret(ctx->s3.session_token);
    free(ctx->s3.region);
    free(ctx->s3.endpoint);
    free(ctx->s3.profile);
    free(ctx->s3.config_file);
    free(ctx->s3.credentials_file);
    free(ctx->s3.home);
    free(ctx);
}

int emb_ctx_threads(const emb_ctx *ctx)
{
    return embi_pool_threads(ctx->env.pool);
}

const char *emb_ctx_kernels(const emb_ctx *ctx)
{
    return ctx->env.kern->name;
}

bool emb_ctx_plugin(const emb_ctx *ctx, const char *name)
{
    return embi_plugin_there(ctx->env.plugins, name);
}

emb_status emb_ctx_blas(emb_ctx *ctx, const char **about, emb_err *err)
{
    const struct embi_blas *blas;
    emb_status status = embi_blas_get(&ctx->env, &blas, err);
    if (!status)
        *about = blas->config();
    return status;
}

/* The device is made, not yet opened. */
static emb_status make_device(emb_ctx *ctx, const struct embi_gpus_named *named, emb_err *err)
{
    if (ctx->device && embi_device_same(&ctx->device->named, named))
        return EMB_OK;
    if (ctx->device)
        return embi_fail(err, EMB_BAD_ARG, -1, "the context has another device: %.200s",
                         ctx->device->name);
    ctx->device = embi_device_new(&ctx->env, named);
    return ctx->device ? EMB_OK : embi_fail_memory(err, sizeof *ctx->device, "a device");
}

emb_status emb_ctx_device(emb_ctx *ctx, const char *name, emb_device **device, emb_err *err)
{
    bool some;
    struct embi_gpus_named named;
    emb_status status = embi_device_parse(name, &some, &named, err);
    *device = NULL;
    if (status || !some || (named.optional && !emb_ctx_plugin(ctx, "cuda")))
        return status;
    status = make_device(ctx, &named, err);
    if (!status && !named.optional)
        status = embi_device_ready(ctx->device, err);
    if (!status)
        *device = ctx->device;
    return status;
}

const char *emb_ctx_blas_core(const emb_ctx *ctx)
{
    if (ctx->env.cpu & EMBI_CPU_AVX512)
        return "SKYLAKEX";
    return ctx->env.cpu & EMBI_CPU_AVX2 ? "HASWELL" : NULL;
}
