/* cuda.c - see device.h: the plugin is loaded and checked, and gives the devices. */
#include "dev/gpus.h"
#include "dev/load.h"
#include "util/err.h"

#include <stdio.h>
#include <stdlib.h>

static const char missing[] = "the CUDA plugin is not there: make builds it where nvcc (the CUDA "
                              "toolkit) is installed";

emb_status embi_device_status(int result, const struct embi_cuda_fault *fault, emb_err *err)
{
    if (result == EMBI_CUDA_DONE)
        return EMB_OK;
    return embi_fail(err, result == EMBI_CUDA_HOST_MEMORY ? EMB_NO_MEMORY : EMB_DEVICE, -1,
                     "cuda: %s", fault->msg);
}

static emb_status load(const struct embi_plugins *p, const struct embi_cuda **cuda, emb_err *err)
{
    void *address;
    embi_cuda_plugin_fn *plugin;
    emb_status status = embi_plugin_load(p, "cuda", missing, EMBI_CUDA_SYMBOL, &address, err);
    if (status)
        return status;
    memcpy(&plugin, &address, sizeof plugin);
    *cuda = plugin();
    return embi_plugin_check("cuda", (*cuda)->abi, (*cuda)->size, EMBI_CUDA_ABI, sizeof **cuda,
                             err);
}

/* ------------------------------------------------------------------------------------------------
 * Names
 */

/* "cuda:" and what the device is known by: the numbers of its GPUs, once they are known. */
static void name_it(emb_device *d)
{
    size_t at = (size_t)snprintf(d->name, sizeof d->name, "cuda:");
    const bool open = d->n > 0;
    if (d->named.all && !open)
        snprintf(d->name + at, sizeof d->name - at, "all");
    for (int i = 0; i < (open ? d->n : d->named.all ? 0 : d->named.n); i++)
        at += (size_t)snprintf(d->name + at, sizeof d->name - at, "%s%d", i ? "," : "",
                               open ? d->gpus[i].ordinal : d->named.ordinals[i]);
}

emb_device *embi_device_new(const struct embi_env *env, const struct embi_gpus_named *named)
{
    emb_device *d = calloc(1, sizeof *d);
    if (!d)
        return NULL;
    d->env = env;
    d->named = *named;
    pthread_mutex_init(&d->turn, NULL); /* with default attributes it cannot fail */
    name_it(d);
    return d;
}

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

static void close_all(emb_device *d)
{
    for (int i = 0; i < d->n; i++)
        if (d->gpus[i].handle)
            d->cuda->close(d->gpus[i].handle);
    d->n = 0;
}

/* Which they are to be. Of `all` the driver says how many there are. */
static int list(emb_device *d, struct embi_cuda_fault *fault)
{
    int n = d->named.n;
    int result = d->named.all ? d->cuda->count(&n, fault) : EMBI_CUDA_DONE;
    if (result)
        return result;
    d->n = n < EMBI_GPUS_MOST ? n : EMBI_GPUS_MOST;
    for (int i = 0; i < d->n; i++)
        d->gpus[i] = (struct embi_gpu){.ordinal = d->named.all ? i : d->named.ordinals[i]};
    return EMBI_CUDA_DONE;
}

struct opening {
    emb_device *device;
    struct embi_cuda_fault too_old[EMBI_GPUS_MOST]; /* of those that `all` leaves out */
};

static int open_one(void *arg, int which, struct embi_cuda_fault *fault)
{
    struct opening *o = arg;
    struct embi_gpu *gpu = &o->device->gpus[which];
    int result = o->device->cuda->open(gpu->ordinal, &gpu->handle, fault);
    if (result != EMBI_CUDA_OLD || !o->device->named.all)
        return result;
    o->too_old[which] = *fault;
    return EMBI_CUDA_DONE;
}

/* Those that are open move up. */
static int leave_out_old(struct opening *o, struct embi_cuda_fault *fault)
{
    emb_device *d = o->device;
    const int found = d->n;
    d->n = 0;
    for (int i = 0; i < found; i++)
        if (d->gpus[i].handle)
            d->gpus[d->n++] = d->gpus[i];
        else
            embi_log(d->env, EMB_LOG_DEBUG, NULL, "cuda:%d is left out: %s", i, o->too_old[i].msg);
    if (d->n > 0)
        return EMBI_CUDA_DONE;
    snprintf(fault->msg, sizeof fault->msg, "none of %d devices will do: %.120s", found,
             found ? o->too_old[0].msg : "there is none");
    return EMBI_CUDA_MISSING;
}

static emb_status open_all(emb_device *d, emb_err *err)
{
    struct opening o = {.device = d};
    struct embi_cuda_fault fault;
    int result = list(d, &fault);
    if (!result)
        result = embi_gpus_run(d, open_one, &o, &fault);
    if (!result)
        result = leave_out_old(&o, &fault);
    if (result)
        close_all(d);
    else
        name_it(d);
    return embi_device_status(result, &fault, err);
}

static void say_opened(const emb_device *d)
{
    for (int i = 0; i < d->n; i++)
        embi_log(d->env, EMB_LOG_DEBUG, NULL, "cuda:%d is %s", d->gpus[i].ordinal,
                 d->cuda->about(d->gpus[i].handle));
}

static emb_status try_open(emb_device *d, emb_err *err)
{
    emb_status status = load(d->env->plugins, &d->cuda, err);
    if (!status)
        status = open_all(d, err);
    if (status)
        embi_log(d->env, EMB_LOG_DEBUG, NULL, "%s", err->msg);
    say_opened(d);
    return status;
}

emb_status embi_device_ready(emb_device *device, emb_err *err)
{
    if (!device->tried)
        try_open(device, &device->err);
    device->tried = true;
    if (device->n > 0)
        return EMB_OK;
    *err = device->err;
    return device->err.status;
}

void embi_device_free(emb_device *device)
{
    if (!device)
        return;
    close_all(device);
    pthread_mutex_destroy(&device->turn);
    free(device);
}
