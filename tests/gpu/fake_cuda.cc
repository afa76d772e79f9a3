/* fake_cuda.cc - a libcuda.so.1 without a device: its memory is this machine's, its kernels run on
 * the shim, and it is as unhelpful as the driver's manual allows.
 *
 * Work in streams is put off until somebody waits for it, so what is overwritten or freed too early
 * is seen. New memory holds noise. Calls without a current context are refused. What it is like, and
 * which call is to fail, is said in the environment variable FAKE_CUDA, words separated by commas:
 *
 *     devices=N       (1)        major=N      (9) compute capability
 *     memory=BYTES    (2^30)     fail=N       the N-th call fails with
 *     code=N          (999)      free=BYTES   what it says is free; by itself the truth
 *     report=FILE     what is left at the end, and how many calls there were
 */
#include "kernels.h"

#include <deque>
#include <functional>
#include <map>
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <string>

#define API(name) extern "C" __attribute__((visibility("default"))) int name

namespace
{

enum {
    OK = 0,
    INVALID_VALUE = 1,
    OUT_OF_MEMORY = 2,
    NO_DEVICE = 100,
    INVALID_DEVICE = 101,
    INVALID_IMAGE = 200,
    INVALID_CONTEXT = 201,
    INVALID_HANDLE = 400,
    NOT_FOUND = 500,
    UNKNOWN = 999
};

struct stream {
    std::deque<std::function<void()>> work;
    uint64_t begun = 0, done = 0; /* how many pieces of work there were, and are over */
};

struct event {
    stream *of = nullptr;
    uint64_t ticket = 0;
};

struct driver {
    std::map<std::string, std::string> words;
    uint64_t calls = 0;
    std::map<uint64_t, size_t> memory; /* of the device */
    std::set<void *> pinned;
    std::set<stream *> streams;
    std::set<event *> events;
    size_t taken = 0, abandoned = 0; /* bytes; things that were there when the context went */
    int modules = 0, retained = 0, current = 0;

    driver()
    {
        const char *text = getenv("FAKE_CUDA");
        std::string rest = text ? text : "";
        while (!rest.empty()) {
            const size_t comma = rest.find(','), equals = rest.find('=');
            words[rest.substr(0, equals)] = rest.substr(equals + 1, comma - equals - 1);
            rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
        }
    }

    ~driver()
    {
        FILE *f = words.count("report") ? fopen(words["report"].c_str(), "w") : nullptr;
        if (!f)
            return;
        fprintf(f, "calls %llu\nleft %zu\n", (unsigned long long)calls,
                things() + abandoned + (size_t)(modules + retained + current));
        fclose(f);
    }

    size_t things() const
    {
        return memory.size() + pinned.size() + streams.size() + events.size();
    }

    /* With the context goes all that is left of it. */
    void abandon()
    {
        abandoned += things();
        for (const auto &piece : memory)
            free(reinterpret_cast<void *>(piece.first));
        for (void *p : pinned)
            free(p);
        for (stream *s : streams)
            delete s;
        for (event *e : events)
            delete e;
        memory.clear();
        pinned.clear();
        streams.clear();
        events.clear();
    }

    uint64_t word(const char *name, uint64_t otherwise)
    {
        return words.count(name) ? strtoull(words[name].c_str(), nullptr, 10) : otherwise;
    }
};

driver &the()
{
    static driver d;
    return d;
}

/* Counts a call: what it returns before it does anything. After an error of a device nothing that
 * was put off is done any more. */
int begin(bool needs_context = true)
{
    driver &d = the();
    if (++d.calls == d.word("fail", 0)) {
        for (stream *s : d.streams) {
            s->work.clear();
            s->done = s->begun;
        }
        return (int)d.word("code", UNKNOWN);
    }
    return needs_context && !d.current ? INVALID_CONTEXT : OK;
}

#define BEGIN(...)                     \
    do {                               \
        int code = begin(__VA_ARGS__); \
        if (code)                      \
            return code;               \
    } while (0)

void catch_up(stream *s, uint64_t ticket)
{
    while (s->done < ticket && !s->work.empty()) {
        std::function<void()> next = s->work.front();
        s->work.pop_front();
        next();
        s->done++;
    }
}

void catch_up_all()
{
    for (stream *s : the().streams)
        catch_up(s, s->begun);
}

int put_off(void *of, std::function<void()> work)
{
    stream *s = static_cast<stream *>(of);
    if (!the().streams.count(s))
        return INVALID_HANDLE;
    s->work.push_back(work);
    s->begun++;
    return OK;
}

/* Is [p, p + n) in one piece of device memory? */
bool on_device(uint64_t p, size_t n)
{
    auto next = the().memory.upper_bound(p);
    if (next == the().memory.begin())
        return false;
    auto piece = std::prev(next);
    return p - piece->first <= piece->second && n <= piece->second - (p - piece->first);
}

void *pointer(uint64_t address)
{
    return reinterpret_cast<void *>(address);
}

} // namespace

API(cuInit)(unsigned)
{
    BEGIN(false);
    return the().word("devices", 1) ? OK : NO_DEVICE;
}

API(cuDriverGetVersion)(int *version)
{
    BEGIN(false);
    *version = 12080;
    return OK;
}

API(cuGetErrorName)(int code, const char **name)
{
    *name = code == OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY"
            : code == NO_DEVICE   ? "CUDA_ERROR_NO_DEVICE"
            : code == UNKNOWN     ? "CUDA_ERROR_UNKNOWN"
                                  : nullptr;
    return *name ? OK : INVALID_VALUE;
}

API(cuGetErrorString)(int code, const char **text)
{
    *text = code == OUT_OF_MEMORY ? "out of memory"
            : code == NO_DEVICE   ? "no CUDA-capable device is detected"
            : code == UNKNOWN     ? "unknown error"
                                  : nullptr;
    return *text ? OK : INVALID_VALUE;
}

API(cuDeviceGetCount)(int *n)
{
    BEGIN(false);
    *n = (int)the().word("devices", 1);
    return OK;
}

API(cuDeviceGet)(int *device, int ordinal)
{
    BEGIN(false);
    *device = ordinal;
    return ordinal < 0 || ordinal >= (int)the().word("devices", 1) ? INVALID_DEVICE : OK;
}

API(cuDeviceGetName)(char *name, int bytes, int device)
{
    BEGIN(false);
    snprintf(name, (size_t)bytes, "Fake %d", device);
    return OK;
}

API(cuDeviceGetAttribute)(int *value, int attribute, int)
{
    BEGIN(false);
    *value = attribute == 16 ? 4 : attribute == 75 ? (int)the().word("major", 9) : 0;
    return OK;
}

API(cuDeviceTotalMem_v2)(size_t *bytes, int)
{
    BEGIN(false);
    *bytes = the().word("memory", 1u << 30);
    return OK;
}

API(cuDevicePrimaryCtxRetain)(void **context, int)
{
    BEGIN(false);
    the().retained++;
    *context = &the();
    return OK;
}

API(cuDevicePrimaryCtxRelease_v2)(int)
{
    if (--the().retained == 0)
        the().abandon();
    return OK;
}

API(cuCtxPushCurrent_v2)(void *context)
{
    BEGIN(false);
    the().current++;
    return context == &the() ? OK : INVALID_CONTEXT;
}

API(cuCtxPopCurrent_v2)(void **context)
{
    *context = &the();
    return the().current-- > 0 ? OK : INVALID_CONTEXT;
}

API(cuModuleLoadData)(void **module, const void *image)
{
    BEGIN();
    if (strcmp(static_cast<const char *>(image), "kernels of the shim") != 0)
        return INVALID_IMAGE;
    the().modules++;
    *module = &the();
    return OK;
}

API(cuModuleUnload)(void *)
{
    the().modules--;
    return OK;
}

API(cuModuleGetFunction)(void **function, void *, const char *name)
{
    BEGIN();
    for (const struct shim_kernel &k : shim_kernels)
        if (strcmp(k.name, name) == 0) {
            *function = const_cast<struct shim_kernel *>(&k);
            return OK;
        }
    return NOT_FOUND;
}

API(cuMemGetInfo_v2)(size_t *unused, size_t *total)
{
    BEGIN();
    *total = the().word("memory", 1u << 30);
    *unused = the().word("free", *total - the().taken);
    return OK;
}

API(cuMemAlloc_v2)(uint64_t *p, size_t bytes)
{
    BEGIN();
    driver &d = the();
    if (bytes == 0)
        return INVALID_VALUE;
    if (bytes > d.word("memory", 1u << 30) - d.taken)
        return OUT_OF_MEMORY;
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!memory)
        return OUT_OF_MEMORY;
    memset(memory, 0xA5, bytes);
    *p = reinterpret_cast<uint64_t>(memory);
    d.memory[*p] = bytes;
    d.taken += bytes;
    return OK;
}

/* The real one waits as well. */
API(cuMemFree_v2)(uint64_t p)
{
    driver &d = the();
    catch_up_all();
    if (!d.memory.count(p))
        return INVALID_VALUE;
    d.taken -= d.memory[p];
    d.memory.erase(p);
    free(pointer(p));
    return OK;
}

API(cuMemAllocHost_v2)(void **p, size_t bytes)
{
    BEGIN();
    *p = malloc(bytes);
    if (!*p)
        return OUT_OF_MEMORY;
    memset(*p, 0x5A, bytes);
    the().pinned.insert(*p);
    return OK;
}

API(cuMemFreeHost)(void *p)
{
    if (!the().pinned.erase(p))
        return INVALID_VALUE;
    free(p);
    return OK;
}

API(cuMemcpyHtoDAsync_v2)(uint64_t to, const void *from, size_t n, void *stream)
{
    BEGIN();
    if (!on_device(to, n))
        return INVALID_VALUE;
    return put_off(stream, [=] { memcpy(pointer(to), from, n); });
}

API(cuMemcpyDtoHAsync_v2)(void *to, uint64_t from, size_t n, void *stream)
{
    BEGIN();
    if (!on_device(from, n))
        return INVALID_VALUE;
    return put_off(stream, [=] { memcpy(to, pointer(from), n); });
}

API(cuMemcpyDtoDAsync_v2)(uint64_t to, uint64_t from, size_t n, void *stream)
{
    BEGIN();
    if (!on_device(to, n) || !on_device(from, n))
        return INVALID_VALUE;
    return put_off(stream, [=] { memcpy(pointer(to), pointer(from), n); });
}

API(cuMemsetD8Async)(uint64_t to, unsigned char value, size_t n, void *stream)
{
    BEGIN();
    if (!on_device(to, n))
        return INVALID_VALUE;
    return put_off(stream, [=] { memset(pointer(to), value, n); });
}

API(cuStreamCreate)(void **of, unsigned)
{
    BEGIN();
    stream *s = new stream;
    the().streams.insert(s);
    *of = s;
    return OK;
}

API(cuStreamDestroy_v2)(void *of)
{
    stream *s = static_cast<stream *>(of);
    if (!the().streams.count(s))
        return INVALID_HANDLE;
    catch_up(s, s->begun);
    the().streams.erase(s);
    delete s;
    return OK;
}

API(cuStreamSynchronize)(void *of)
{
    BEGIN();
    stream *s = static_cast<stream *>(of);
    if (!the().streams.count(s))
        return INVALID_HANDLE;
    catch_up(s, s->begun);
    return OK;
}

API(cuStreamWaitEvent)(void *of, void *what, unsigned)
{
    BEGIN();
    const event e = *static_cast<event *>(what);
    return e.of ? put_off(of, [=] { catch_up(e.of, e.ticket); }) : OK;
}

API(cuEventCreate)(void **what, unsigned)
{
    BEGIN();
    event *e = new event;
    the().events.insert(e);
    *what = e;
    return OK;
}

API(cuEventDestroy_v2)(void *what)
{
    event *e = static_cast<event *>(what);
    if (!the().events.erase(e))
        return INVALID_HANDLE;
    delete e;
    return OK;
}

API(cuEventRecord)(void *what, void *of)
{
    BEGIN();
    stream *s = static_cast<stream *>(of);
    if (!the().streams.count(s))
        return INVALID_HANDLE;
    *static_cast<event *>(what) = {s, s->begun};
    return OK;
}

API(cuEventSynchronize)(void *what)
{
    BEGIN();
    const event e = *static_cast<event *>(what);
    if (e.of)
        catch_up(e.of, e.ticket);
    return OK;
}

API(cuLaunchKernel)
(void *function, unsigned x, unsigned y, unsigned z, unsigned threads_x, unsigned threads_y,
 unsigned threads_z, unsigned, void *stream, void **params, void **)
{
    BEGIN();
    const struct shim_kernel *k = static_cast<const struct shim_kernel *>(function);
    if (x == 0 || x > 0x7fffffff || y == 0 || y > 65535 || z == 0 || z > 65535 ||
        threads_x != k->threads || threads_y != 1 || threads_z != 1)
        return INVALID_VALUE;
    std::string args(static_cast<const char *>(params[0]), k->args_bytes);
    return put_off(stream, [=] { shim_launch(k->run, args.data(), {x, y, z}, threads_x); });
}
