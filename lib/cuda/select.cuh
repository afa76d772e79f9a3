/* select.cuh - which rows may be among the k best of a query, from their products and norms.
 *
 * A row's score is known to lie in an interval (ops/interval.h, whose keys and errors are computed
 * here in f32, with room for that). The k-th highest lower end of any rows is a floor: a row whose
 * upper end is below has k better ones. A block finds the k-th highest lower end of the window
 * digit by digit, from the top, by counting (radix select: Alabi et al., "Fast k-selection
 * algorithms for graphics processing units", ACM JEA 2012); the floor only rises from window to
 * window. Which rows are listed depends on nothing but the numbers; their order does not matter,
 * and is left to chance.
 *
 * With many queries one block takes each. With few, which would leave most of the device idle, many
 * blocks share a query, and a kernel ends where all must have counted before any goes on.
 */
#ifndef EMBI_CUDA_SELECT_CUH
#define EMBI_CUDA_SELECT_CUH

#include "cuda/native.cuh"

/* Floats as integers of the same order; 0 is below all of them. */
EMBI_BOTH static inline uint32_t embi_ordered(float x)
{
    uint32_t bits = embi_f32_bits(x);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

EMBI_BOTH static inline bool embi_norm2_in_range(float norm2)
{
    return norm2 >= 0x1p-60f && norm2 <= 0x1p100f;
}

struct embi_key {
    float key, error;
};

/* ROUNDING is more than the few roundings of f32 here can do to terms of that size. */
EMBI_BOTH static inline struct embi_key embi_key_in_f32(const struct embi_select_args *a, float dot,
                                                        float norm2, float length, float bias)
{
    const float rounding = 0x1p-20f, g = 1.11f * a->bound, n = sqrtf(norm2);
    struct embi_key k = {dot / n, 2 * a->bound + rounding};
    if (a->metric == EMBI_CUDA_DOT) {
        float more = (a->farthest ? -bias : bias) / length;
        k.key = dot + more;
        k.error = g * n + rounding * (fabsf(dot) + fabsf(more));
    } else if (a->metric == EMBI_CUDA_EUCLIDEAN) {
        float product = 2 * length * dot;
        k.key = a->farthest ? product + norm2 : product - norm2;
        k.error =
            g * (2 * length * n + norm2) + rounding * (fabsf(product) + norm2 + length * length);
    }
    return k;
}

__device__ inline bool row_allowed(uint64_t allowed, uint64_t row)
{
    return !allowed || (device<uint8_t>(allowed)[row / 8] >> row % 8 & 1);
}

/* The interval of row r of the window; false: it does not take part. */
__device__ inline bool interval_of(const embi_select_args &a, unsigned query, uint64_t r,
                                   embi_key &k)
{
    const float norm2 = device<float>(a.norm2)[r];
    if (!embi_norm2_in_range(norm2) || !row_allowed(a.allowed, a.first + r))
        return false;
    const float bias = a.bias ? device<float>(a.bias)[a.first + r] : 0;
    k = embi_key_in_f32(&a, device<float>(a.dots)[query * a.ld + r], norm2,
                        device<float>(a.lengths)[query], bias);
    return true;
}

__device__ inline uint32_t lower_end(const embi_select_args &a, unsigned query, uint64_t r)
{
    embi_key k;
    return interval_of(a, query, r, k) ? embi_ordered(k.key - k.error) : 0;
}

enum { PLACES = 16 };
static_assert(PLACES * PLACES == (int)EMBI_SELECT_VALUES, "a digit is two hexadecimal ones");

/* What the block knows of the k-th highest lower end, and what of its rows are counted. */
struct selection {
    unsigned counts[EMBI_SELECT_VALUES]; /* of rows by their next digit */
    unsigned sums[PLACES];
    embi_select_known known;
    uint32_t floor;
};

/* A thread has one value of a digit. */
static_assert((int)EMBI_BLOCK_THREADS == (int)EMBI_SELECT_VALUES, "a thread a value");

/* Rows of a thread: every step-th. */
struct rows_of_thread {
    uint64_t first, step;
};

__device__ inline int shift_of(unsigned pass)
{
    return 24 - 8 * (int)pass;
}

__device__ inline void count_digits(const embi_select_args &a, unsigned query, selection &s,
                                    unsigned pass, rows_of_thread rows)
{
    const int shift = shift_of(pass);
    const uint32_t known = pass == 0 ? 0 : ~0u << (shift + 8);
    s.counts[threadIdx.x] = 0;
    __syncthreads();
    for (uint64_t r = rows.first; r < a.rows; r += rows.step) {
        uint32_t end = lower_end(a, query, r);
        if ((end & known) == s.known.prefix)
            atomicAdd(&s.counts[end >> shift & 255], 1u);
    }
    __syncthreads();
}

/* The highest of PLACES counts which, with all above, has so many as are wanted, 0 where there are
 * fewer; `wanted` loses those above. */
__device__ inline unsigned highest_place(const unsigned counts[PLACES], unsigned &wanted)
{
    unsigned at = PLACES - 1;
    while (at > 0 && counts[at] < wanted)
        wanted -= counts[at--];
    return at;
}

/* The next digit, from the counts: among sums of PLACES of them first, since one thread walks. All
 * threads call it. */
__device__ inline void choose_digit(selection &s, unsigned pass)
{
    if (threadIdx.x < PLACES) {
        unsigned sum = 0;
        for (unsigned i = 0; i < PLACES; i++)
            sum += s.counts[threadIdx.x * PLACES + i];
        s.sums[threadIdx.x] = sum;
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        unsigned wanted = s.known.wanted;
        const unsigned group = highest_place(s.sums, wanted) * PLACES;
        const unsigned value = group + highest_place(s.counts + group, wanted);
        s.known = {s.known.prefix | value << shift_of(pass), wanted};
    }
    __syncthreads();
}

/* The k-th highest lower end of the window, 0 where it has fewer rows. */
__device__ inline uint32_t kth_lower_end(const embi_select_args &a, unsigned query, selection &s)
{
    if (threadIdx.x == 0)
        s.known = {0, device<uint32_t>(a.k)[query]};
    for (unsigned pass = 0; pass < EMBI_SELECT_PASSES; pass++) {
        count_digits(a, query, s, pass, {threadIdx.x, blockDim.x});
        choose_digit(s, pass);
    }
    return s.known.prefix;
}

__device__ inline void list_rows(const embi_select_args &a, unsigned query, uint32_t floor,
                                 rows_of_thread rows)
{
    embi_cuda_hit *hits = device<embi_cuda_hit>(a.hits) + (uint64_t)query * a.cap;
    for (uint64_t r = rows.first; r < a.rows; r += rows.step) {
        embi_key k;
        if (!interval_of(a, query, r, k) || embi_ordered(k.key + k.error) < floor)
            continue;
        unsigned at = atomicAdd(device<uint32_t>(a.counts) + query, 1u);
        if (at < a.cap)
            hits[at] = {a.first + r, device<float>(a.dots)[query * a.ld + r],
                        device<float>(a.norm2)[r]};
    }
}

/* grid: [queries] */
extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_select(const embi_select_args a)
{
    __shared__ selection s;
    for (unsigned query = blockIdx.x; query < a.n; query += gridDim.x) {
        uint32_t *floors = device<uint32_t>(a.floors);
        uint32_t kth = kth_lower_end(a, query, s), floor = max(kth, floors[query]);
        list_rows(a, query, floor, {threadIdx.x, blockDim.x});
        __syncthreads();
        if (threadIdx.x == 0)
            floors[query] = floor;
    }
}

/* -------------------------------------------------------------------------------------------------
 * Several blocks a query
 */

__device__ inline rows_of_thread rows_of_grid()
{
    return {(uint64_t)blockIdx.x * blockDim.x + threadIdx.x, (uint64_t)gridDim.x * blockDim.x};
}

__device__ inline uint32_t *counts_of(const embi_spread_args &a, unsigned query, unsigned pass)
{
    return device<uint32_t>(a.counts) +
           ((uint64_t)query * EMBI_SELECT_PASSES + pass) * EMBI_SELECT_VALUES;
}

/* What is known before a.pass: every block works it out from what the one before counted, and the
 * first keeps it for the next. */
__device__ inline void recall(const embi_spread_args &a, unsigned query, selection &s)
{
    embi_select_known *known =
        device<embi_select_known>(a.known) + (uint64_t)query * EMBI_SELECT_PASSES;
    if (threadIdx.x == 0)
        s.known = a.pass == 0 ? embi_select_known{0, device<uint32_t>(a.select.k)[query]}
                              : known[a.pass - 1];
    if (a.pass > 0)
        s.counts[threadIdx.x] = counts_of(a, query, a.pass - 1)[threadIdx.x];
    __syncthreads();
    if (a.pass > 0)
        choose_digit(s, a.pass - 1);
    if (a.pass < EMBI_SELECT_PASSES && blockIdx.x == 0 && threadIdx.x == 0)
        known[a.pass] = s.known;
}

/* grid: [blocks of a query, queries] */
extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_spread_count(const embi_spread_args a)
{
    __shared__ selection s;
    const unsigned query = blockIdx.y;
    recall(a, query, s);
    count_digits(a.select, query, s, a.pass, rows_of_grid());
    if (s.counts[threadIdx.x] > 0)
        atomicAdd(counts_of(a, query, a.pass) + threadIdx.x, s.counts[threadIdx.x]);
}

/* grid: [blocks of a query, queries]. Each block raises the floor, all to the same. */
extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_spread_list(const embi_spread_args a)
{
    __shared__ selection s;
    const unsigned query = blockIdx.y;
    recall(a, query, s);
    if (threadIdx.x == 0) {
        const uint32_t kth = s.known.prefix;
        s.floor = max(kth, atomicMax(device<uint32_t>(a.select.floors) + query, kth));
    }
    __syncthreads();
    list_rows(a.select, query, s.floor, rows_of_grid());
}

extern "C" __global__ void __launch_bounds__(EMBI_BLOCK_THREADS)
    embi_odd_rows(const embi_odd_args a)
{
    const uint64_t step = (uint64_t)gridDim.x * blockDim.x;
    for (uint64_t r = (uint64_t)blockIdx.x * blockDim.x + threadIdx.x; r < a.rows; r += step)
        if (!embi_norm2_in_range(device<float>(a.norm2)[r]) && row_allowed(a.allowed, a.first + r))
            device<uint64_t>(a.list)[atomicAdd(device<uint32_t>(a.count), 1u)] = a.first + r;
}

#endif
