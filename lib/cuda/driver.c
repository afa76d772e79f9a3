/* driver.c - see driver.h. */
#include "cuda/driver.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LIBRARY "libcuda.so.1"

void embi_cuda_say(struct embi_cuda_fault *fault, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(fault->msg, sizeof fault->msg, format, args);
    va_end(args);
}

int embi_driver_result(const struct embi_driver *driver, int code, const char *call,
                       struct embi_cuda_fault *fault)
{
    const char *name = NULL, *text = NULL;
    if (code == 0)
        return EMBI_CUDA_DONE;
    if (driver->cuGetErrorName(code, &name) || !name)
        name = "no name";
    if (driver->cuGetErrorString(code, &text) || !text)
        text = "an error that the driver has no words for";
    return embi_cuda_fail(fault,
                          code == EMBI_DRIVER_OUT_OF_MEMORY ? EMBI_CUDA_FULL : EMBI_CUDA_FAILED,
                          "%s: %s (%s, %d)", call, text, name, code);
}

/* A function has another type than the object that dlsym gives. */
static bool find(void *object, const char *symbol, void *function)
{
    void *address = dlsym(object, symbol);
    memcpy(function, &address, sizeof address);
    return address != NULL;
}

/* NULL, or the name of the first function that the library does not have. */
static const char *find_all(struct embi_driver *d)
{
#define FIND(name, version, args)                  \
    if (!find(d->object, #name version, &d->name)) \
        return #name version;
    EMBI_DRIVER_CALLS(FIND)
#undef FIND
    return NULL;
}

/* The words alone: what cannot be opened is said. */
static const char *why_not_opened(void)
{
    const char *text = dlerror();
    size_t n = strlen(LIBRARY ": ");
    if (!text)
        return "it cannot be loaded";
    return strncmp(text, LIBRARY ": ", n) == 0 ? text + n : text;
}

int embi_driver_open(struct embi_driver *driver, struct embi_cuda_fault *fault)
{
    driver->object = dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
    if (!driver->object)
        return embi_cuda_fail(fault, EMBI_CUDA_MISSING, "no NVIDIA driver: " LIBRARY ": %s",
                              why_not_opened());
    const char *missing = find_all(driver);
    int result = EMBI_CUDA_DONE;
    if (missing)
        result = embi_cuda_fail(fault, EMBI_CUDA_MISSING,
                                "the NVIDIA driver is too old: " LIBRARY " has no %s", missing);
    else if (embi_driver_result(driver, driver->cuInit(0), "cuInit", fault))
        result = EMBI_CUDA_MISSING;
    if (result)
        embi_driver_close(driver);
    return result;
}

void embi_driver_close(struct embi_driver *driver)
{
    dlclose(driver->object);
    driver->object = NULL;
}
