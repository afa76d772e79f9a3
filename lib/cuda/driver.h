/* driver.h - the CUDA driver, as much of it as the plugin calls, found at run time.
 *
 * Written from NVIDIA's "CUDA Driver API" manual rather than taken from its cuda.h, so that the
 * plugin's host side is built, and tested, where there is no toolkit. Every call returns 0 or a
 * number that cuGetErrorName knows.
 */
#ifndef EMBI_CUDA_DRIVER_H
#define EMBI_CUDA_DRIVER_H

#include "dev/cuda.h"

typedef uint64_t embi_address; /* CUdeviceptr */

/* name, the symbol's version, arguments. */
#define EMBI_DRIVER_CALLS(C)                                                                       \
    C(cuInit, "", (unsigned flags))                                                                \
    C(cuDriverGetVersion, "", (int *version))                                                      \
    C(cuGetErrorName, "", (int code, const char **name))                                           \
    C(cuGetErrorString, "", (int code, const char **text))                                         \
    C(cuDeviceGetCount, "", (int *n))                                                              \
    C(cuDeviceGet, "", (int *device, int ordinal))                                                 \
    C(cuDeviceGetName, "", (char *name, int bytes, int device))                                    \
    C(cuDeviceGetAttribute, "", (int *value, int attribute, int device))                           \
    C(cuDeviceTotalMem, "_v2", (size_t * bytes, int device))                                       \
    C(cuDevicePrimaryCtxRetain, "", (void **context, int device))                                  \
    C(cuDevicePrimaryCtxRelease, "_v2", (int device))                                              \
    C(cuCtxPushCurrent, "_v2", (void *context))                                                    \
    C(cuCtxPopCurrent, "_v2", (void **context))                                                    \
    C(cuModuleLoadData, "", (void **module, const void *image))                                    \
    C(cuModuleUnload, "", (void *module))                                                          \
    C(cuModuleGetFunction, "", (void **function, void *module, const char *name))                  \
    C(cuMemGetInfo, "_v2", (size_t * unused, size_t * total))                                      \
    C(cuMemAlloc, "_v2", (embi_address * p, size_t bytes))                                         \
    C(cuMemFree, "_v2", (embi_address p))                                                          \
    C(cuMemAllocHost, "_v2", (void **p, size_t bytes))                                             \
    C(cuMemFreeHost, "", (void *p))                                                                \
    C(cuMemcpyHtoDAsync, "_v2", (embi_address to, const void *from, size_t n, void *stream))       \
    C(cuMemcpyDtoHAsync, "_v2", (void *to, embi_address from, size_t n, void *stream))             \
    C(cuMemsetD8Async, "", (embi_address to, unsigned char value, size_t n, void *stream))         \
    C(cuStreamCreate, "", (void **stream, unsigned flags))                                         \
    C(cuStreamDestroy, "_v2", (void *stream))                                                      \
    C(cuStreamSynchronize, "", (void *stream))                                                     \
    C(cuStreamWaitEvent, "", (void *stream, void *event, unsigned flags))                          \
    C(cuEventCreate, "", (void **event, unsigned flags))                                           \
    C(cuEventDestroy, "_v2", (void *event))                                                        \
    C(cuEventRecord, "", (void *event, void *stream))                                              \
    C(cuEventSynchronize, "", (void *event))                                                       \
    C(cuLaunchKernel, "",                                                                          \
      (void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y, \
       unsigned threads_z, unsigned shared_bytes, void *stream, void **params, void **extra))

struct embi_driver {
    void *object; /* of dlopen */
#define EMBI_DRIVER_MEMBER(name, version, args) int(*name) args;
    EMBI_DRIVER_CALLS(EMBI_DRIVER_MEMBER)
#undef EMBI_DRIVER_MEMBER
};

enum {
    EMBI_DRIVER_OUT_OF_MEMORY = 2, /* CUDA_ERROR_OUT_OF_MEMORY                               */
    EMBI_DRIVER_SMS = 16,          /* CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT               */
    EMBI_DRIVER_MAJOR = 75,        /* CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR           */
    EMBI_DRIVER_MINOR = 76,
    EMBI_DRIVER_NON_BLOCKING = 1, /* CU_STREAM_NON_BLOCKING: the default stream is not ours  */
    EMBI_DRIVER_NO_TIMING = 2     /* CU_EVENT_DISABLE_TIMING                                 */
};

/* Loads libcuda.so.1 and makes it ready. EMBI_CUDA_MISSING; then there is nothing to close. */
int embi_driver_open(struct embi_driver *driver, struct embi_cuda_fault *fault);
void embi_driver_close(struct embi_driver *driver);

/* What a call returned, as a result: 0 is EMBI_CUDA_DONE. */
int embi_driver_result(const struct embi_driver *driver, int code, const char *call,
                       struct embi_cuda_fault *fault);

/* Fills *fault; gives `result`, so that a failure is one statement, and analyzers see which. */
#define embi_cuda_fail(fault, result, ...) (embi_cuda_say(fault, __VA_ARGS__), (result))
void embi_cuda_say(struct embi_cuda_fault *fault, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

#endif
