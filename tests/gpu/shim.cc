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

/* Stacks are no power of two apart: where their tops shared a set of the cache, changing places
 * would be a miss each time. */
enum { STACK_BYTES = (64 << 10) + 320, MOST_THREADS = 1024, WARP = 32, ORDERS = 3 };

/* Where a fibre, or run_block, goes on: its stack, on top of which lie the registers that a
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
    unsigned running; /* the fibre that has the CPU, */
    unsigned turn;    /* by its place in the order   */
    unsigned ended;
    bool first; /* no fibre has run yet */
    shim_kernel_fn *kernel;
    const void *args;
};

block now;
place outside; /* run_block */
void *outside_fake_stack;
const void *outside_stack;
size_t outside_stack_bytes;
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
void arrived_from(void *, const void **stack, size_t *bytes)
{
    if (stack) {
        *stack = nullptr;
        *bytes = 0;
    }
}
void forget_frame(char *) {}
#endif

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
    return order == 0 ? i : order == 1 ? n - 1 - i : i * 5 & (n - 1); /* n is a power of two */
}

/* Whose turn it is after the running fibre's. */
unsigned next_fibre()
{
    const unsigned n = blockDim.x;
    for (unsigned i = 0; i < n; i++) {
        now.turn = (now.turn + 1) & (n - 1);
        const unsigned fibre = in_order(now.turn, n);
        if (can_go_on(fibre))
            return fibre;
    }
    give_up("threads wait for others that will not come");
}

void enter(unsigned fibre, place *from, void **fake_stack)
{
    now.running = fibre;
    threadIdx = {fibre, 0, 0};
    leave_for(fake_stack, stack_of(fibre), STACK_BYTES);
    shim_switch(from, now.fibres[fibre].at);
}

/* The next one runs, and the running fibre comes on from here when it is its turn again. */
void pause_fibre()
{
    fibre &f = now.fibres[now.running];
    enter(next_fibre(), &f.at, &f.fake_stack);
    arrived_from(f.fake_stack, nullptr, nullptr);
}

/* The first one to run comes from run_block, and the last one goes back there. */
void run_fibre()
{
    const void *before;
    size_t before_bytes;
    arrived_from(nullptr, &before, &before_bytes);
    if (now.first) {
        outside_stack = before;
        outside_stack_bytes = before_bytes;
    }
    now.first = false;
    now.kernel(now.args);
    now.fibres[now.running].is = state::ended;
    place nobody_comes_back;
    if (++now.ended < blockDim.x)
        enter(next_fibre(), &nobody_comes_back, nullptr);
    leave_for(nullptr, outside_stack, outside_stack_bytes);
    shim_switch(&nobody_comes_back, outside);
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
    for (unsigned i = 0; i < n; i++)
        start(i);
    for (warp &w : now.warps)
        w.arrived = w.over = 0;
    now.turn = now.ended = 0;
    now.first = true;
    enter(in_order(0, n), &outside, &outside_fake_stack);
    arrived_from(outside_fake_stack, nullptr, nullptr);
}

} // namespace

void shim_order(int which)
{
    order = which % ORDERS;
}

void shim_launch(shim_kernel_fn *kernel, const void *args, struct shim_index grid, unsigned threads)
{
    if (threads < WARP || threads > MOST_THREADS || (threads & (threads - 1)) != 0)
        give_up("a block of that size is not run here");
    if (!stacks) {
        void *p = mmap(nullptr, (size_t)MOST_THREADS * STACK_BYTES, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (p == MAP_FAILED)
            give_up("no memory for stacks");
        stacks = static_cast<char *>(p);
    }
    now.fibres.resize(MOST_THREADS);
    now.warps.resize(MOST_THREADS / WARP);
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
    float a[8], b[4];
};

typedef float read_fn(uint16_t code);

void read_halves(const uint32_t *words, unsigned n, read_fn *read, float *x)
{
    for (unsigned i = 0; i < 2 * n; i++)
        x[i] = read((uint16_t)(words[i / 2] >> 16 * (i % 2)));
}

float given(const struct shim_gift &gift, size_t number)
{
    float x;
    memcpy(&x, gift.bytes + number * sizeof x, sizeof x);
    return x;
}

/* Element (i, k) of a[16, 16]: "Matrix fragments for mma.m16n8k16" has a lane's (groupID,
 * threadID_in_group) = (lane / 4, lane % 4), and a0 a1 at row groupID, a2 a3 eight rows below, a4
 * a5 and a6 a7 the same eight columns further; the column is threadID_in_group * 2 and the next. */
float element_a(const struct shim_gift *all, unsigned i, unsigned k)
{
    return given(all[i % 8 * 4 + k % 8 / 2], i / 8 * 2 + k / 8 * 4 + k % 2);
}

/* Element (k, j) of b[16, 8]: b0 b1 at rows threadID_in_group * 2 and the next, b2 b3 eight rows
 * below; the column is groupID. */
float element_b(const struct shim_gift *all, unsigned k, unsigned j)
{
    return given(all[j * 4 + k % 8 / 2],
                 offsetof(struct fragments, b) / sizeof(float) + k / 8 * 2 + k % 2);
}

/* c[16, 8]: c0 c1 at row groupID, c2 c3 eight rows below, columns threadID_in_group * 2 and the
 * next. */
void multiply(float c[4], const uint32_t a[4], const uint32_t b[2], read_fn *read)
{
    struct fragments f;
    read_halves(a, 4, read, f.a);
    read_halves(b, 2, read, f.b);
    const struct shim_gift *all = shim_exchange(0xffffffffu, &f, sizeof f);
    const unsigned lane = threadIdx.x % WARP;
    for (unsigned part = 0; part < 4; part++) {
        const unsigned i = lane / 4 + part / 2 * 8, j = lane % 4 * 2 + part % 2;
        double sum = c[part];
        for (unsigned k = 0; k < 16; k++)
            sum += (double)element_a(all, i, k) * element_b(all, k, j);
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
