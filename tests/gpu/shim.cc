/* shim.cc - see shim.h. AddressSanitizer is told when the stack changes.
 */
#include "shim.h"

#include "num/half.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <vector>

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

struct shim_index threadIdx, blockIdx, blockDim, gridDim;

namespace
{

enum { STACK_BYTES = 256 << 10, MOST_THREADS = 1024, WARP = 32, ORDERS = 3 };

/* Where a fibre, or the scheduler, goes on: its stack, on top of which lie the registers that a
 * function keeps and the address it returns to. swapcontext does the same and asks the kernel for
 * the signal mask each time, which is most of what a test would take. */
typedef void *place;
extern "C" void shim_switch(place *from, place to);

#if defined(__x86_64__)
enum { KEPT_REGISTERS = 6 };
__asm__(".text\n.globl shim_switch\n.hidden shim_switch\n.type shim_switch, @function\n"
        "shim_switch:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\n"
        "mov %rsp, (%rdi)\nmov %rsi, %rsp\n"
        "pop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".size shim_switch, . - shim_switch\n");
#else
#error "the shim's fibres are written for x86-64: add shim_switch for this machine"
#endif

enum class state { ready, waits_for_block, waits_for_warp, ended };

struct fibre {
    place at;
    state is;
    unsigned long awaited; /* number of the barrier or exchange that must be over */
    void *fake_stack;      /* AddressSanitizer's */
};

struct warp {
    unsigned arrived; /* lanes                                                          */
    unsigned long over;
    struct shim_gift gifts[2][WARP]; /* of exchanges by turns: nobody can be two ahead */
};

struct block {
    std::vector<fibre> fibres;
    std::vector<warp> warps;
    unsigned arrived;
    unsigned long over;
    unsigned running; /* the fibre that has the CPU */
    bool moved;       /* somebody got on since the last look */
    shim_kernel_fn *kernel;
    const void *args;
};

block now;
place scheduler;
void *scheduler_fake_stack;
const void *scheduler_stack;
size_t scheduler_stack_bytes;
char *stacks; /* [MOST_THREADS, STACK_BYTES], kept */
int order;

[[noreturn]] void give_up(const char *why)
{
    fprintf(stderr, "shim: block %u, thread %u: %s\n", blockIdx.x, now.running, why);
    abort();
}

char *stack_of(unsigned fibre)
{
    return stacks + (size_t)fibre * STACK_BYTES;
}

#ifdef __SANITIZE_ADDRESS__
void leave_for(void **save, const void *stack, size_t bytes)
{
    __sanitizer_start_switch_fiber(save, stack, bytes);
}
void arrived_from(void *saved, const void **stack, size_t *bytes)
{
    __sanitizer_finish_switch_fiber(saved, stack, bytes);
}
/* run_fibre never returned, so what guards its frame is there still. */
void forget_frame(char *top)
{
    __asan_unpoison_memory_region(top - 1024, 1024);
}
#else
void leave_for(void **, const void *, size_t) {}
void arrived_from(void *, const void **, size_t *) {}
void forget_frame(char *) {}
#endif

/* The running fibre goes back to the scheduler, and comes on from here when it is chosen again. */
void pause_fibre()
{
    fibre &f = now.fibres[now.running];
    leave_for(&f.fake_stack, scheduler_stack, scheduler_stack_bytes);
    shim_switch(&f.at, scheduler);
    arrived_from(f.fake_stack, &scheduler_stack, &scheduler_stack_bytes);
}

void run_fibre()
{
    arrived_from(nullptr, &scheduler_stack, &scheduler_stack_bytes);
    now.kernel(now.args);
    now.fibres[now.running].is = state::ended;
    leave_for(nullptr, scheduler_stack, scheduler_stack_bytes);
    place nobody_comes_back;
    shim_switch(&nobody_comes_back, scheduler);
}

void choose(unsigned fibre)
{
    now.running = fibre;
    threadIdx = {fibre, 0, 0};
    leave_for(&scheduler_fake_stack, stack_of(fibre), STACK_BYTES);
    shim_switch(&scheduler, now.fibres[fibre].at);
    arrived_from(scheduler_fake_stack, nullptr, nullptr);
}

void start(unsigned fibre)
{
    void **top = reinterpret_cast<void **>(stack_of(fibre) + STACK_BYTES);
    forget_frame(stack_of(fibre) + STACK_BYTES);
    *--top = nullptr; /* run_fibre does not return; functions begin 8 bytes off a multiple of 16 */
    *--top = reinterpret_cast<void *>(run_fibre);
    for (int i = 0; i < KEPT_REGISTERS; i++)
        *--top = nullptr;
    now.fibres[fibre].at = top;
    now.fibres[fibre].is = state::ready;
}

bool can_go_on(unsigned number)
{
    const fibre &f = now.fibres[number];
    switch (f.is) {
    case state::ready: return true;
    case state::waits_for_block: return now.over >= f.awaited;
    case state::waits_for_warp: return now.warps[number / WARP].over >= f.awaited;
    case state::ended: return false;
    }
    return false;
}

unsigned in_order(unsigned i, unsigned n)
{
    return order == 0 ? i : order == 1 ? n - 1 - i : i * 5 % n; /* n is a power of two times 32 */
}

/* Where shared variables lie; the linker names both ends. */
extern "C" {
extern unsigned char __start_shim_shared[] __attribute__((weak, visibility("hidden")));
extern unsigned char __stop_shim_shared[] __attribute__((weak, visibility("hidden")));
}

__attribute__((no_sanitize("address"))) void spoil_shared_memory()
{
    for (unsigned char *p = __start_shim_shared; p != __stop_shim_shared; p++)
        *p = 0xA9;
}

void run_block()
{
    const unsigned n = blockDim.x;
    spoil_shared_memory();
    now.arrived = 0;
    now.over = 0;
    now.warps.assign(n / WARP, warp{});
    for (unsigned i = 0; i < n; i++)
        start(i);
    for (unsigned ended = 0; ended < n;) {
        now.moved = false;
        for (unsigned i = 0; i < n; i++) {
            const unsigned fibre = in_order(i, n);
            if (!can_go_on(fibre))
                continue;
            now.moved = true;
            choose(fibre);
            ended += now.fibres[fibre].is == state::ended;
        }
        if (!now.moved && ended < n)
            give_up("threads wait for others that will not come");
    }
}

} // namespace

void shim_order(int which)
{
    order = which % ORDERS;
}

void shim_launch(shim_kernel_fn *kernel, const void *args, struct shim_index grid, unsigned threads)
{
    if (threads == 0 || threads > MOST_THREADS || threads % WARP != 0)
        give_up("a block of that size is not run here");
    if (!stacks) {
        void *p = mmap(nullptr, (size_t)MOST_THREADS * STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            give_up("no memory for stacks");
        stacks = static_cast<char *>(p);
    }
    now.fibres.resize(MOST_THREADS);
    now.kernel = kernel;
    now.args = args;
    gridDim = grid;
    blockDim = {threads, 1, 1};
    for (unsigned z = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++) {
                blockIdx = {x, y, z};
                run_block();
            }
}

void __syncthreads(void)
{
    fibre &f = now.fibres[now.running];
    f.awaited = now.over + 1;
    if (++now.arrived == blockDim.x) {
        now.arrived = 0;
        now.over++;
        return;
    }
    f.is = state::waits_for_block;
    pause_fibre();
    f.is = state::ready;
}

const struct shim_gift *shim_exchange(unsigned mask, const void *mine, size_t bytes)
{
    const unsigned lane = now.running % WARP;
    fibre &f = now.fibres[now.running];
    warp &w = now.warps[now.running / WARP];
    if (mask != 0xffffffffu)
        give_up("an exchange without some lanes of the warp");
    struct shim_gift *gifts = w.gifts[w.over % 2];
    memcpy(gifts[lane].bytes, mine, bytes);
    f.awaited = w.over + 1;
    w.arrived |= 1u << lane;
    if (w.arrived == mask) {
        w.arrived = 0;
        w.over++;
        return gifts;
    }
    f.is = state::waits_for_warp;
    pause_fibre();
    f.is = state::ready;
    return gifts;
}

/* -------------------------------------------------------------------------------------------------
 * Numbers
 */

float native_f32_from_f16(uint16_t code)
{
    return embi_f32_from_f16(code);
}

uint16_t native_f16_from_f32(float x)
{
    return embi_f16_from_f32(x);
}

namespace
{

/* What a lane gives of both matrices. */
struct fragments {
    uint32_t a[4], b[2];
};

typedef float read_fn(uint16_t code);

float read_half(const struct shim_gift &gift, bool second, unsigned word, unsigned half,
                read_fn *read)
{
    struct fragments f;
    memcpy(&f, gift.bytes, sizeof f);
    return read((uint16_t)((second ? f.b[word] : f.a[word]) >> 16 * half));
}

/* Element (i, k) of a[16, 16]: "Matrix fragments for mma.m16n8k16" has a lane's (groupID,
 * threadID_in_group) = (lane / 4, lane % 4), and a0 a1 at row groupID, a2 a3 eight rows below, a4
 * a5 and a6 a7 the same eight columns further; the column is threadID_in_group * 2 and the next. */
float element_a(const struct shim_gift *all, unsigned i, unsigned k, read_fn *read)
{
    return read_half(all[i % 8 * 4 + k % 8 / 2], false, i / 8 + k / 8 * 2, k % 2, read);
}

/* Element (k, j) of b[16, 8]: b0 b1 at rows threadID_in_group * 2 and the next, b2 b3 eight rows
 * below; the column is groupID. */
float element_b(const struct shim_gift *all, unsigned k, unsigned j, read_fn *read)
{
    return read_half(all[j * 4 + k % 8 / 2], true, k / 8, k % 2, read);
}

/* c[16, 8]: c0 c1 at row groupID, c2 c3 eight rows below, columns threadID_in_group * 2 and the
 * next. */
void multiply(float c[4], const uint32_t a[4], const uint32_t b[2], read_fn *read)
{
    struct fragments f;
    memcpy(f.a, a, sizeof f.a);
    memcpy(f.b, b, sizeof f.b);
    const struct shim_gift *all = shim_exchange(0xffffffffu, &f, sizeof f);
    const unsigned lane = threadIdx.x % WARP;
    for (unsigned part = 0; part < 4; part++) {
        const unsigned i = lane / 4 + part / 2 * 8, j = lane % 4 * 2 + part % 2;
        double sum = c[part];
        for (unsigned k = 0; k < 16; k++)
            sum += (double)element_a(all, i, k, read) * element_b(all, k, j, read);
        c[part] = (float)sum;
    }
}

} // namespace

void native_mma_bf16(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    multiply(c, a, b, embi_f32_from_bf16);
}

void native_mma_f16(float c[4], const uint32_t a[4], const uint32_t b[2])
{
    multiply(c, a, b, embi_f32_from_f16);
}
