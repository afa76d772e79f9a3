/* fake_cuda.cc - a libcuda.so.1 without a device: its memory is this machine's, its kernels run on
 * the shim, and it is as unhelpful as the driver's manual allows.
 *
 * Work in streams is put off until somebody waits for it, so what is overwritten or freed too early
 * is seen. New memory holds noise. Calls without a current context are refused, and those with
 * memory, streams, events or kernels of another device than the context's. What it is like, and
 * which call is to fail, is said in the environment variable FAKE_CUDA, words separated by commas:
 *
 *     devices=N       (1)        major=N      (9) compute capability
 *     memory=BYTES    (2^30)     fail=N       the N-th call fails with
 *     code=N          (999)      free=BYTES   what it says is free; by itself the truth
 *     every=N         every N-th call fails
 *     meet=N          the first kernel of each device waits for those of N devices
 *     report=FILE     what is left at the end, how many calls there were, of all and of each device,
 *                     how many failed, and kernels by device, and how many of these waited in vain
 *
 * major, memory, free, fail and every followed by @D are those of device D alone; fail@D and every@D
 * count the calls in its context.
 */
#include "kernels.h"

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stdio.h>
#include <stdlib.h>
#include <string>
#include <vector>

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

/* A device, its context, and what belongs to it. */
struct device {
    int number = 0, modules = 0, retained = 0;
    uint64_t calls = 0, kernels = 0;
    std::map<uint64_t, size_t> memory;
    std::set<void *> pinned;
    std::set<stream *> streams;
    std::set<event *> events;
    size_t taken = 0, abandoned = 0; /* bytes; things that were there when the context went */

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
};

struct driver {
    std::map<std::string, std::string> words;
    uint64_t calls = 0, failed = 0;
    std::vector<device> devices;
    std::recursive_mutex lock; /* every call holds it */
    std::condition_variable_any met;
    unsigned launched = 0, alone = 0; /* devices that ran a kernel; those that met nobody */
    int pushed = 0;

    driver()
    {
        const char *text = getenv("FAKE_CUDA");
        std::string rest = text ? text : "";
        while (!rest.empty()) {
            const size_t comma = rest.find(','), equals = rest.find('=');
            words[rest.substr(0, equals)] = rest.substr(equals + 1, comma - equals - 1);
            rest = comma == std::string::npos ? "" : rest.substr(comma + 1);
        }
        devices.resize(word("devices", 1));
        for (size_t i = 0; i < devices.size(); i++)
            devices[i].number = (int)i;
    }

    ~driver()
    {
        FILE *f = words.count("report") ? fopen(words["report"].c_str(), "w") : nullptr;
        if (!f)
            return;
        size_t left = (size_t)pushed;
        for (const device &d : devices)
            left += d.things() + d.abandoned + (size_t)(d.modules + d.retained);
        fprintf(f, "calls %llu\nfailed %llu\nleft %zu\nalone %u\n", (unsigned long long)calls,
                (unsigned long long)failed, left, alone);
        for (const device &d : devices)
            fprintf(f, "calls@%d %llu\nkernels@%d %llu\n", d.number, (unsigned long long)d.calls,
                    d.number, (unsigned long long)d.kernels);
        fclose(f);
    }

    uint64_t word(const char *name, uint64_t otherwise)
    {
        return words.count(name) ? strtoull(words[name].c_str(), nullptr, 10) : otherwise;
    }

    /* Is the call of that number to fail? of: "", or "@D" for those of a device. */
    bool is_due(uint64_t call, const std::string &of)
    {
        const uint64_t every = word(("every" + of).c_str(), 0);
        return call == word(("fail" + of).c_str(), 0) || (every && call % every == 0);
    }

    /* Of one device, if something is said of it, and else of all. */
    uint64_t word(const char *name, const device &d, uint64_t otherwise)
    {
        const std::string own = std::string(name) + "@" + std::to_string(d.number);
        return word(own.c_str(), word(name, otherwise));
    }
};

driver &the()
{
    static driver d;
    return d;
}

/* The contexts of this thread; the last one is current. */
thread_local std::vector<device *> contexts;

device *current()
{
    return contexts.empty() ? nullptr : contexts.back();
}

device *device_of(int number)
{
    const bool there = number >= 0 && (size_t)number < the().devices.size();
    return there ? &the().devices[(size_t)number] : nullptr;
}

void drop_work(device *d)
{
    for (stream *s : d->streams) {
        s->work.clear();
        s->done = s->begun;
    }
}

/* Counts a call, which is in the current context or about device d: what it returns before it does
 * anything. After an error of a device nothing that was put off is done any more. */
int begin(device *d)
{
    driver &all = the();
    const std::string of = d ? "@" + std::to_string(d->number) : "";
    const bool fails = d && all.is_due(++d->calls, of);
    if (!all.is_due(++all.calls, "") && !fails)
        return OK;
    all.failed++;
    for (device &other : all.devices)
        if (!fails || &other == d)
            drop_work(&other);
    return (int)all.word("code", UNKNOWN);
}

#define LOCK() const std::lock_guard<std::recursive_mutex> held(the().lock)

#define BEGIN_WITH(device)        \
    LOCK();                       \
    do {                          \
        int code = begin(device); \
        if (code)                 \
            return code;          \
    } while (0)

/* In a context, which is `d` from here on. */
#define BEGIN()                  \
    BEGIN_WITH(current());       \
    device *const d = current(); \
    if (!d)                      \
    return INVALID_CONTEXT

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
    for (device &d : the().devices)
        for (stream *s : d.streams)
            catch_up(s, s->begun);
}

int put_off(device *d, void *of, std::function<void()> work)
{
    stream *s = static_cast<stream *>(of);
    if (!d->streams.count(s))
        return INVALID_HANDLE;
    s->work.push_back(work);
    s->begun++;
    return OK;
}

/* Is [p, p + n) in one piece of the device's memory? */
bool on_device(const device *d, uint64_t p, size_t n)
{
    auto next = d->memory.upper_bound(p);
    if (next == d->memory.begin())
        return false;
    auto piece = std::prev(next);
    return p - piece->first <= piece->second && n <= piece->second - (p - piece->first);
}

void *pointer(uint64_t address)
{
    return reinterpret_cast<void *>(address);
}

/* The first kernel of a device waits until as many devices have come to theirs, if that is asked
 * for; not for ever, as they may be driven one after another. */
void meet(device *d)
{
    driver &all = the();
    const uint64_t wanted = all.word("meet", 0);
    if (d->kernels++ > 0)
        return;
    all.launched++;
    all.met.notify_all();
    std::unique_lock<std::recursive_mutex> held(all.lock, std::adopt_lock); /* of the call */
    if (!all.met.wait_for(held, std::chrono::seconds(10), [&] { return all.launched >= wanted; }))
        all.alone++;
    held.release();
}

} // namespace

API(cuInit)(unsigned)
{
    BEGIN_WITH(nullptr);
    return the().devices.empty() ? NO_DEVICE : OK;
}

API(cuDriverGetVersion)(int *version)
{
    BEGIN_WITH(nullptr);
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
    BEGIN_WITH(nullptr);
    *n = (int)the().devices.size();
    return OK;
}

API(cuDeviceGet)(int *number, int ordinal)
{
    BEGIN_WITH(nullptr);
    *number = ordinal;
    return device_of(ordinal) ? OK : INVALID_DEVICE;
}

API(cuDeviceGetName)(char *name, int bytes, int number)
{
    BEGIN_WITH(device_of(number));
    snprintf(name, (size_t)bytes, "Fake %d", number);
    return OK;
}

API(cuDeviceGetAttribute)(int *value, int attribute, int number)
{
    device *d = device_of(number);
    BEGIN_WITH(d);
    if (!d)
        return INVALID_DEVICE;
    *value = attribute == 16   ? 4
             : attribute == 13 ? 1500000
             : attribute == 75 ? (int)the().word("major", *d, 9)
                               : 0;
    return OK;
}

API(cuDeviceTotalMem_v2)(size_t *bytes, int number)
{
    device *d = device_of(number);
    BEGIN_WITH(d);
    if (!d)
        return INVALID_DEVICE;
    *bytes = the().word("memory", *d, 1u << 30);
    return OK;
}

API(cuDevicePrimaryCtxRetain)(void **context, int number)
{
    device *d = device_of(number);
    BEGIN_WITH(d);
    if (!d)
        return INVALID_DEVICE;
    d->retained++;
    *context = d;
    return OK;
}

API(cuDevicePrimaryCtxRelease_v2)(int number)
{
    LOCK();
    device *d = device_of(number);
    if (!d)
        return INVALID_DEVICE;
    if (--d->retained == 0)
        d->abandon();
    return OK;
}

API(cuCtxPushCurrent_v2)(void *context)
{
    device *d = static_cast<device *>(context);
    BEGIN_WITH(d);
    if (d->retained == 0)
        return INVALID_CONTEXT;
    contexts.push_back(d);
    the().pushed++;
    return OK;
}

API(cuCtxPopCurrent_v2)(void **context)
{
    LOCK();
    *context = current();
    if (!*context)
        return INVALID_CONTEXT;
    contexts.pop_back();
    the().pushed--;
    return OK;
}

API(cuModuleLoadData)(void **module, const void *image)
{
    BEGIN();
    if (strcmp(static_cast<const char *>(image), "kernels of the shim") != 0)
        return INVALID_IMAGE;
    d->modules++;
    *module = d;
    return OK;
}

API(cuModuleUnload)(void *module)
{
    LOCK();
    static_cast<device *>(module)->modules--;
    return OK;
}

API(cuModuleGetFunction)(void **function, void *module, const char *name)
{
    BEGIN();
    if (module != d)
        return INVALID_HANDLE;
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
    *total = the().word("memory", *d, 1u << 30);
    *unused = the().word("free", *d, *total - d->taken);
    return OK;
}

API(cuMemAlloc_v2)(uint64_t *p, size_t bytes)
{
    BEGIN();
    if (bytes == 0)
        return INVALID_VALUE;
    if (bytes > the().word("memory", *d, 1u << 30) - d->taken)
        return OUT_OF_MEMORY;
    void *memory = aligned_alloc(256, (bytes + 255) / 256 * 256);
    if (!memory)
        return OUT_OF_MEMORY;
    memset(memory, 0xA5, bytes);
    *p = reinterpret_cast<uint64_t>(memory);
    d->memory[*p] = bytes;
    d->taken += bytes;
    return OK;
}

/* The real one waits as well. */
API(cuMemFree_v2)(uint64_t p)
{
    LOCK();
    device *d = current();
    catch_up_all();
    if (!d || !d->memory.count(p))
        return INVALID_VALUE;
    d->taken -= d->memory[p];
    d->memory.erase(p);
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
    d->pinned.insert(*p);
    return OK;
}

API(cuMemFreeHost)(void *p)
{
    LOCK();
    if (!current() || !current()->pinned.erase(p))
        return INVALID_VALUE;
    free(p);
    return OK;
}

API(cuMemcpyHtoDAsync_v2)(uint64_t to, const void *from, size_t n, void *stream)
{
    BEGIN();
    if (!on_device(d, to, n))
        return INVALID_VALUE;
    return put_off(d, stream, [=] { memcpy(pointer(to), from, n); });
}

API(cuMemcpyDtoHAsync_v2)(void *to, uint64_t from, size_t n, void *stream)
{
    BEGIN();
    if (!on_device(d, from, n))
        return INVALID_VALUE;
    return put_off(d, stream, [=] { memcpy(to, pointer(from), n); });
}

API(cuMemcpyDtoDAsync_v2)(uint64_t to, uint64_t from, size_t n, void *stream)
{
    BEGIN();
    if (!on_device(d, to, n) || !on_device(d, from, n))
        return INVALID_VALUE;
    return put_off(d, stream, [=] { memcpy(pointer(to), pointer(from), n); });
}

API(cuMemsetD8Async)(uint64_t to, unsigned char value, size_t n, void *stream)
{
    BEGIN();
    if (!on_device(d, to, n))
        return INVALID_VALUE;
    return put_off(d, stream, [=] { memset(pointer(to), value, n); });
}

API(cuStreamCreate)(void **of, unsigned)
{
    BEGIN();
    stream *s = new stream;
    d->streams.insert(s);
    *of = s;
    return OK;
}

API(cuStreamDestroy_v2)(void *of)
{
    LOCK();
    stream *s = static_cast<stream *>(of);
    if (!current() || !current()->streams.count(s))
        return INVALID_HANDLE;
    catch_up(s, s->begun);
    current()->streams.erase(s);
    delete s;
    return OK;
}

API(cuStreamSynchronize)(void *of)
{
    BEGIN();
    stream *s = static_cast<stream *>(of);
    if (!d->streams.count(s))
        return INVALID_HANDLE;
    catch_up(s, s->begun);
    return OK;
}

API(cuStreamWaitEvent)(void *of, void *what, unsigned)
{
    BEGIN();
    if (!d->events.count(static_cast<event *>(what)))
        return INVALID_HANDLE;
    const event e = *static_cast<event *>(what);
    return e.of ? put_off(d, of, [=] { catch_up(e.of, e.ticket); }) : OK;
}

API(cuEventCreate)(void **what, unsigned)
{
    BEGIN();
    event *e = new event;
    d->events.insert(e);
    *what = e;
    return OK;
}

API(cuEventDestroy_v2)(void *what)
{
    event *e = static_cast<event *>(what);
    LOCK();
    if (!current() || !current()->events.erase(e))
        return INVALID_HANDLE;
    delete e;
    return OK;
}

API(cuEventRecord)(void *what, void *of)
{
    BEGIN();
    stream *s = static_cast<stream *>(of);
    if (!d->streams.count(s) || !d->events.count(static_cast<event *>(what)))
        return INVALID_HANDLE;
    *static_cast<event *>(what) = {s, s->begun};
    return OK;
}

API(cuEventSynchronize)(void *what)
{
    BEGIN();
    if (!d->events.count(static_cast<event *>(what)))
        return INVALID_HANDLE;
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
    meet(d);
    std::string args(static_cast<const char *>(params[0]), k->args_bytes);
    return put_off(d, stream, [=] { shim_launch(k->run, args.data(), {x, y, z}, threads_x); });
}
