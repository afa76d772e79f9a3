/* cuda.c - see device.h: the plugin is loaded and checked, and gives the device. */
#include "dev/device.h"

#include "dev/load.h"
#include "util/err.h"

#include <stdlib.h>

static const char missing[] = "the CUDA plugin is not there: make builds it where nvcc (the CUDA "
                              "toolkit) is installed";

enum { MOST_ORDINAL = 4095 };

/* The N of "cuda:N": decimal digits alone. */
static bool read_ordinal(const char *s, int *ordinal)
{
    *ordinal = 0;
    for (const char *at = s; *at; at++) {
        if (*at < '0' || *at > '9')
            return false;
        *ordinal = *ordinal * 10 + (*at - '0');
        if (*ordinal > MOST_ORDINAL)
            return false;
    }
    return *s != 0;
}

emb_status embi_device_parse(const char *name, bool *some, int *ordinal, bool *optional,
                             emb_err *err)
{
    *ordinal = 0;
    *optional = strcmp(name, "auto") == 0;
    *some = strcmp(name, "cpu") != 0;
    if (!*some || *optional || strcmp(name, "cuda") == 0)
        return EMB_OK;
    if (strncmp(name, "cuda:", 5) == 0 && read_ordinal(name + 5, ordinal))
        return EMB_OK;
    return embi_fail(err, EMB_BAD_ARG, -1,
                     "unknown device %.40s: expected cpu, cuda, cuda:N or auto", name);
}

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

static emb_status try_open(emb_device *d, emb_err *err)
{
    struct embi_cuda_fault fault;
    emb_status status = load(d->env->plugins, &d->cuda, err);
    if (!status)
        status = embi_device_status(d->cuda->open(d->ordinal, &d->handle, &fault), &fault, err);
    embi_log(d->env, EMB_LOG_DEBUG, NULL, "%s", status ? err->msg : d->cuda->about(d->handle));
    return status;
}

emb_status embi_device_ready(emb_device *device, emb_err *err)
{
    if (!device->tried)
        try_open(device, &device->err);
    device->tried = true;
    if (device->handle)
        return EMB_OK;
    *err = device->err;
    return device->err.status;
}

void embi_device_free(emb_device *device)
{
    if (!device)
        return;
    if (device->handle)
        device->cuda->close(device->handle);
    free(device);
}
