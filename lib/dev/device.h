/* device.h - the GPUs of a context: the CUDA plugin and one device of it or several, which share
 * the rows of tables (shared.h). Opened when they are first needed, closed with the context.
 */
#ifndef EMBI_DEV_DEVICE_H
#define EMBI_DEV_DEVICE_H

#include "dev/cuda.h"
#include "util/env.h"

#include <pthread.h>

enum { EMBI_GPUS_MOST = 64, EMBI_GPUS_NAME = 8 + 5 * EMBI_GPUS_MOST };

/* Which GPUs a name means. */
struct embi_gpus_named {
    bool optional; /* used where that pays; that there is none is no failure */
    bool all;      /* those that the driver has and the kernels run on       */
    int n;         /* without `all`: so many, by their numbers               */
    int ordinals[EMBI_GPUS_MOST];
};

struct embi_gpu {
    int ordinal;
    struct embi_cuda_device *handle;
};

struct emb_device {
    const struct embi_env *env;
    struct embi_gpus_named named;
    bool tried;                   /* then there are the ones or the other:      */
    const struct embi_cuda *cuda; /* with gpus                                  */
    emb_err err;                  /* why there are none                         */
    bool failed;                  /* later, while it was optional: it is done without */
    int n;                        /* 0 until they are open, then all are        */
    struct embi_gpu gpus[EMBI_GPUS_MOST];
    char name[EMBI_GPUS_NAME]; /* "cuda:0,2"                                 */
    pthread_mutex_t turn;      /* of one that hands rows over, or takes them */
};

/* "cpu" is no device (*some false); "cuda", "cuda:N", "cuda:N,M,..." and "cuda:all" are GPUs,
 * "auto" is the first one, if there is one. EMB_BAD_ARG: another word, or a number twice. */
emb_status embi_device_parse(const char *name, bool *some, struct embi_gpus_named *named,
                             emb_err *err);

bool embi_device_same(const struct embi_gpus_named *a, const struct embi_gpus_named *b);

/* Not yet open. NULL: out of memory. */
emb_device *embi_device_new(const struct embi_env *env, const struct embi_gpus_named *named);

/* Opens them, at the first call. EMB_DEVICE: there is no plugin, no driver, no such device; every
 * time where it failed once. */
emb_status embi_device_ready(emb_device *device, emb_err *err);

void embi_device_free(emb_device *device);

/* What a call of the plugin returned, as a status; not for EMBI_CUDA_STOPPED. */
emb_status embi_device_status(int result, const struct embi_cuda_fault *fault, emb_err *err);

#endif
