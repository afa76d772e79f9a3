/* device.h - a GPU of a context: the CUDA plugin and one device of it, opened when it is first
 * needed. Closed with the context.
 */
#ifndef EMBI_DEV_DEVICE_H
#define EMBI_DEV_DEVICE_H

#include "dev/cuda.h"
#include "util/env.h"

struct emb_device {
    const struct embi_env *env;
    int ordinal;
    bool optional;                   /* used where that pays; that there is none is no failure */
    bool tried;                      /* then there is the one or the other: */
    const struct embi_cuda *cuda;    /* with `handle`                       */
    emb_err err;                     /* why there is none                   */
    struct embi_cuda_device *handle; /* NULL until it is open               */
};

/* What a name means: "cpu" is no device (*some false), "cuda" and "cuda:N" are one, "auto" is an
 * optional one. EMB_BAD_ARG: another word. */
emb_status embi_device_parse(const char *name, bool *some, int *ordinal, bool *optional,
                             emb_err *err);

/* Opens it, at the first call. EMB_DEVICE: there is no plugin, no driver, no such device; every
 * time where it failed once. */
emb_status embi_device_ready(emb_device *device, emb_err *err);

void embi_device_free(emb_device *device);

/* What a call of the plugin returned, as a status; not for EMBI_CUDA_STOPPED. */
emb_status embi_device_status(int result, const struct embi_cuda_fault *fault, emb_err *err);

#endif
