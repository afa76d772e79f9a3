/* device.c - a device opened and closed, its memory, and launches: see device.h. */
#include "cuda/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_MAJOR = 8, WAVES = 8 };

static const struct kernel {
    const char *name;
    unsigned threads;
} kernels[EMBI_CUDA_KERNEL_COUNT] = {
#define KERNEL(name, args, threads) {#name, threads},
    EMBI_CUDA_KERNELS(KERNEL)
#undef KERNEL
};

/* ------------------------------------------------------------------------------------------------
 * Opening
 */

/* The driver stays loaded if that went well: it would take as long to load it again. */
int embi_cuda_device_count(int *n, struct embi_cuda_fault *fault)
{
    struct embi_cuda_device d = {0};
    int result = embi_driver_open(&d.driver, fault);
    if (result)
        return result;
    result = EMBI_CALL(&d, fault, cuDeviceGetCount, n);
    if (result)
        embi_driver_close(&d.driver);
    return result;
}

static int choose(struct embi_cuda_device *d, int ordinal, struct embi_cuda_fault *fault)
{
    int n = 0;
    int result = EMBI_CALL(d, fault, cuDeviceGetCount, &n);
    if (result)
        return result;
    if (n == 0)
        return embi_cuda_fail(fault, EMBI_CUDA_MISSING, "the NVIDIA driver finds no device");
    if (ordinal >= n)
        return embi_cuda_fail(fault, EMBI_CUDA_MISSING, "there is no device %d: expected 0..%d",
                              ordinal, n - 1);
    return EMBI_CALL(d, fault, cuDeviceGet, &d->number, ordinal);
}

/* What the device is, and whether the kernels run on it. */
static int describe(struct embi_cuda_device *d, struct embi_cuda_fault *fault)
{
    char name[96] = "";
    int major = 0, minor = 0, sms = 0, version = 0;
    size_t bytes = 0;
    int result = EMBI_CALL(d, fault, cuDeviceGetName, name, sizeof name - 1, d->number);
    if (!result)
        result = EMBI_CALL(d, fault, cuDeviceGetAttribute, &major, EMBI_DRIVER_MAJOR, d->number);
    if (!result)
        result = EMBI_CALL(d, fault, cuDeviceGetAttribute, &minor, EMBI_DRIVER_MINOR, d->number);
    if (!result)
        result = EMBI_CALL(d, fault, cuDeviceGetAttribute, &sms, EMBI_DRIVER_SMS, d->number);
    if (!result)
        result = EMBI_CALL(d, fault, cuDeviceTotalMem, &bytes, d->number);
    if (!result)
        result = EMBI_CALL(d, fault, cuDriverGetVersion, &version);
    if (result)
        return result;
    d->sms = sms > 0 ? (unsigned)sms : 1;
    snprintf(d->about, sizeof d->about, "%s, compute capability %d.%d, %zu MiB, driver %d.%d", name,
             major, minor, bytes >> 20, version / 1000, version % 1000 / 10);
    if (major < LEAST_MAJOR)
        return embi_cuda_fail(fault, EMBI_CUDA_OLD,
                              "%s is of compute capability %d.%d: expected %d.0 or newer", name,
                              major, minor, LEAST_MAJOR);
    return EMBI_CUDA_DONE;
}

static int make_streams(struct embi_cuda_device *d, struct embi_cuda_fault *fault)
{
    int result = EMBI_CALL(d, fault, cuStreamCreate, &d->copy, EMBI_DRIVER_NON_BLOCKING);
    if (!result)
        result = EMBI_CALL(d, fault, cuStreamCreate, &d->compute, EMBI_DRIVER_NON_BLOCKING);
    for (int i = 0; !result && i < EMBI_RING; i++) {
        void *memory = NULL;
        result = EMBI_CALL(d, fault, cuEventCreate, &d->copied[i], EMBI_DRIVER_NO_TIMING);
        if (!result)
            result = EMBI_CALL(d, fault, cuMemAllocHost, &memory, EMBI_RING_BYTES);
        d->ring[i] = memory;
    }
    for (int i = 0; !result && i < EMBI_SLOTS; i++) {
        result = EMBI_CALL(d, fault, cuEventCreate, &d->uploaded[i], EMBI_DRIVER_NO_TIMING);
        if (!result)
            result = EMBI_CALL(d, fault, cuEventCreate, &d->computed[i], EMBI_DRIVER_NO_TIMING);
    }
    return result;
}

static int load_kernels(struct embi_cuda_device *d, struct embi_cuda_fault *fault)
{
    int result = EMBI_CALL(d, fault, cuModuleLoadData, &d->module, embi_cuda_image);
    for (int i = 0; !result && i < EMBI_CUDA_KERNEL_COUNT; i++)
        result =
            EMBI_CALL(d, fault, cuModuleGetFunction, &d->functions[i], d->module, kernels[i].name);
    return result;
}

static int prepare(struct embi_cuda_device *d, int ordinal, struct embi_cuda_fault *fault)
{
    int result = choose(d, ordinal, fault);
    if (!result)
        result = describe(d, fault);
    if (!result)
        result = EMBI_CALL(d, fault, cuDevicePrimaryCtxRetain, &d->context, d->number);
    if (result)
        return result;
    d->retained = true;
    result = embi_cuda_device_enter(d, fault);
    if (result)
        return result;
    result = load_kernels(d, fault);
    if (!result)
        result = make_streams(d, fault);
    return embi_cuda_device_leave(d, result, fault);
}

int embi_cuda_device_open(int ordinal, struct embi_cuda_device **device,
                          struct embi_cuda_fault *fault)
{
    struct embi_cuda_device *d = calloc(1, sizeof *d);
    if (!d)
        return embi_cuda_fail(fault, EMBI_CUDA_HOST_MEMORY, "out of memory for a device");
    int result = embi_driver_open(&d->driver, fault);
    if (!result)
        result = prepare(d, ordinal, fault);
    if (result)
        embi_cuda_device_close(d);
    else
        *device = d;
    return result;
}

/* What was made of it, in any order: the driver's words do not matter any more. */
static void free_all(struct embi_cuda_device *d)
{
    const struct embi_driver *driver = &d->driver;
    for (int i = 0; i < EMBI_BUFFER_COUNT; i++)
        if (d->buffers[i].at)
            driver->cuMemFree(d->buffers[i].at);
    for (int i = 0; i < EMBI_RING; i++) {
        if (d->ring[i])
            driver->cuMemFreeHost(d->ring[i]);
        if (d->copied[i])
            driver->cuEventDestroy(d->copied[i]);
    }
    for (int i = 0; i < EMBI_SLOTS; i++) {
        if (d->uploaded[i])
            driver->cuEventDestroy(d->uploaded[i]);
        if (d->computed[i])
            driver->cuEventDestroy(d->computed[i]);
    }
    if (d->copy)
        driver->cuStreamDestroy(d->copy);
    if (d->compute)
        driver->cuStreamDestroy(d->compute);
    d->copy = d->compute = NULL;
    if (d->module)
        driver->cuModuleUnload(d->module);
}

void embi_cuda_device_close(struct embi_cuda_device *d)
{
    struct embi_cuda_fault ignored;
    if (d->retained) {
        if (embi_cuda_device_enter(d, &ignored) == EMBI_CUDA_DONE) {
            free_all(d);
            embi_cuda_device_leave(d, EMBI_CUDA_DONE, &ignored);
        }
        d->driver.cuDevicePrimaryCtxRelease(d->number);
    }
    if (d->driver.object)
        embi_driver_close(&d->driver);
    free(d);
}

/* ------------------------------------------------------------------------------------------------
 * Around every call
 */

int embi_cuda_device_enter(struct embi_cuda_device *d, struct embi_cuda_fault *fault)
{
    return EMBI_CALL(d, fault, cuCtxPushCurrent, d->context);
}

/* After a failure what is pending still reads and writes memory that is the caller's: it is waited
 * for, and its own failure is no news. */
int embi_cuda_device_leave(struct embi_cuda_device *d, int result, struct embi_cuda_fault *fault)
{
    struct embi_cuda_fault ignored;
    void *context;
    void *streams[] = {d->copy, d->compute};
    for (int i = 0; i < 2; i++) {
        if (!streams[i])
            continue;
        int waited = EMBI_CALL(d, result ? &ignored : fault, cuStreamSynchronize, streams[i]);
        result = result ? result : waited;
    }
    d->driver.cuCtxPopCurrent(&context);
    return result;
}

/* ------------------------------------------------------------------------------------------------
 * Memory and launches
 */

/* What is left is not needed by anybody: calls end with nothing pending. */
int embi_cuda_device_reserve(struct embi_cuda_device *d, enum embi_buffer buffer, uint64_t bytes,
                             embi_address *at, struct embi_cuda_fault *fault)
{
    int result = EMBI_CUDA_DONE;
    bytes = bytes ? bytes : 1;
    if (d->buffers[buffer].bytes < bytes) {
        if (d->buffers[buffer].at)
            d->driver.cuMemFree(d->buffers[buffer].at);
        d->buffers[buffer].at = 0;
        d->buffers[buffer].bytes = 0;
        result = EMBI_CALL(d, fault, cuMemAlloc, &d->buffers[buffer].at, bytes);
        if (!result)
            d->buffers[buffer].bytes = bytes;
        else if (result == EMBI_CUDA_FULL)
            embi_cuda_say(fault, "the device has no memory for %llu bytes",
                          (unsigned long long)bytes);
    }
    *at = d->buffers[buffer].at;
    return result;
}

int embi_cuda_device_send(struct embi_cuda_device *d, enum embi_buffer buffer, const void *array,
                          uint64_t bytes, embi_address *at, struct embi_cuda_fault *fault)
{
    int result = embi_cuda_device_reserve(d, buffer, bytes, at, fault);
    if (result || bytes == 0)
        return result;
    return EMBI_CALL(d, fault, cuMemcpyHtoDAsync, *at, array, bytes, d->compute);
}

uint64_t embi_cuda_device_blocks(const struct embi_cuda_device *d, uint64_t items,
                                 uint64_t per_block)
{
    uint64_t blocks = items / per_block + (items % per_block != 0), most = (uint64_t)d->sms * WAVES;
    return blocks < most ? blocks : most;
}

int embi_cuda_device_launch(struct embi_cuda_device *d, enum embi_cuda_kernel kernel,
                            const void *args, uint64_t blocks_x, uint64_t blocks_y,
                            struct embi_cuda_fault *fault)
{
    void *params[] = {(void *)(uintptr_t)args};
    if (blocks_x == 0 || blocks_y == 0)
        return EMBI_CUDA_DONE;
    int code =
        d->driver.cuLaunchKernel(d->functions[kernel], (unsigned)blocks_x, (unsigned)blocks_y, 1,
                                 kernels[kernel].threads, 1, 1, 0, d->compute, params, NULL);
    return embi_driver_result(&d->driver, code, kernels[kernel].name, fault);
}
