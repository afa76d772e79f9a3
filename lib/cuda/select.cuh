/* select.cuh - which rows may be among the k best of a query, from their products and norms.
 *
 * A row's score is known to lie in an interval (ops/interval.h, whose keys and errors are computed
 * here in f32, with room for that). The k-th highest lower end of any rows is a floor: a row whose
 * upper end is below has k better ones. One block takes a query and finds the k-th highest lower
 * end of the window digit by digit, from the top, by counting (radix select: Alabi et al., "Fast
 * k-selection algorithms for graphics processing units", ACM JEA 2012); the floor only rises from
 * window to window. Which rows are listed depends on nothing but the numbers; their order does not
 * matter, and is left to chance.
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

/* What the block has found out of the k-th highest lower end. */
struct selection {
    unsigned counts[256]; /* of rows by their next digit                       */
    uint32_t prefix;      /* its digits so far                                 */
    unsigned wanted;      /* the how many-th it is among rows of these digits  */
};

__device__ inline void count_digits(const embi_select_args &a, unsigned query, selection &s,
                                    int shift)
{
    const uint32_t known = shift == 24 ? 0 : ~0u << (shift + 8);
    for (uint64_t r = threadIdx.x; r < a.rows; r += blockDim.x) {
        uint32_t end = lower_end(a, query, r);
        if ((end & known) == s.prefix)
            atomicAdd(&s.counts[end >> shift & 255], 1u);
    }
}

/* One thread: 256 steps, beside a pass over the window. */
__device__ inline void choose_digit(selection &s, int shift)
{
    unsigned digit = 255;
    while (digit > 0 && s.counts[digit] < s.wanted)
        s.wanted -= s.counts[digit--];
    s.prefix |= digit << shift;
}

/* The k-th highest lower end of the window, 0 where it has fewer rows. */
__device__ inline uint32_t kth_lower_end(const embi_select_args &a, unsigned query, selection &s)
{
    if (threadIdx.x == 0) {
        s.prefix = 0;
        s.wanted = device<uint32_t>(a.k)[query];
    }
    for (int shift = 24; shift >= 0; shift -= 8) {
        s.counts[threadIdx.x] = 0;
        __syncthreads();
        count_digits(a, query, s, shift);
        __syncthreads();
        if (threadIdx.x == 0)
            choose_digit(s, shift);
        __syncthreads();
    }
    return s.prefix;
}

__device__ inline void list_rows(const embi_select_args &a, unsigned query, uint32_t floor)
{
    embi_cuda_hit *hits = device<embi_cuda_hit>(a.hits) + (uint64_t)query * a.cap;
    for (uint64_t r = threadIdx.x; r < a.rows; r += blockDim.x) {
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
        list_rows(a, query, floor);
        __syncthreads();
        if (threadIdx.x == 0)
            floors[query] = floor;
    }
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
