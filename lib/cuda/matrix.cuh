/* matrix.cuh - products of rows and many queries by tensor cores, for f16, bf16 and Q8_0.
 *
 * A query is the sum of two numbers of the table's type, high and low, so that it keeps 16 bits (22
 * of f16) and both products are exact; four warps of a block have 16 rows each of a tile of 64, and
 * all 64 queries. The order in which a tensor core adds is not documented, nor is each sum rounded
 * as IEEE 754 says (Fasi et al., "Numerical behavior of NVIDIA tensor cores", PeerJ CS 2021), so
 * after EMBI_MATRIX_BLOCK numbers the sums go to f32 sums of their own: the host's bound is for
 * that. Where a lane has its part of a fragment: "Matrix fragments for mma.m16n8k16" of the PTX
 * manual.
 *
 * Codes of Q8_0 are exact in f16, and go to the tensor cores as such; a slab has the codes of one
 * scale, which their sums are multiplied by as they are carried over.
 */
#ifndef EMBI_CUDA_MATRIX_CUH
#define EMBI_CUDA_MATRIX_CUH

#include "cuda/native.cuh"

enum {
    SLAB_DEPTH = 32,              /* numbers of a row that lie in shared memory        */
    SLAB_STRIDE = SLAB_DEPTH + 8, /* so that the eight rows of a fragment share no bank */
    FRAGMENT_QUERIES = 8,
    FRAGMENTS = EMBI_MATRIX_QUERIES / FRAGMENT_QUERIES
};

static_assert((int)SLAB_DEPTH == (int)EMBI_CUDA_Q8_NUMBERS, "a slab of codes has one scale a row");

struct slab {
    uint16_t x[64][SLAB_STRIDE];
};

/* Those of the rows of a tile around one column. */
struct scales {
    float of[EMBI_MATRIX_ROWS];
};

/* Thread t brings 16 numbers of line t / 2; lines past the last one are zero. */
__device__ inline void load_slab(slab &s, uint64_t base, uint64_t pitch, uint64_t first,
                                 uint64_t lines, uint64_t column)
{
    const unsigned line = threadIdx.x / 2, at = threadIdx.x % 2 * 16;
    const bool there = first + line < lines;
    const uint4 *from = reinterpret_cast<const uint4 *>(
        device_row<uint16_t>(base, pitch, there ? first + line : 0) + column + at);
    uint4 *to = reinterpret_cast<uint4 *>(&s.x[line][at]);
    to[0] = there ? from[0] : make_uint4(0, 0, 0, 0);
    to[1] = there ? from[1] : make_uint4(0, 0, 0, 0);
}

/* The same of codes, which become f16, with the scale of each line. */
__device__ inline void load_codes(slab &s, scales &by, const embi_matrix_args &a, uint64_t first,
                                  uint64_t column)
{
    const unsigned line = threadIdx.x / 2, at = threadIdx.x % 2 * 16;
    const bool there = first + line < a.rows;
    const char *row = device_row<char>(a.table, a.pitch, there ? first + line : 0);
    uint4 *to = reinterpret_cast<uint4 *>(&s.x[line][at]);
    float x[16];
    unit<EMBI_CUDA_Q8_0>::read(*reinterpret_cast<const uint4 *>(row + column + at), x);
    to[0] = there ? unit<EMBI_CUDA_F16>::write(x) : make_uint4(0, 0, 0, 0);
    to[1] = there ? unit<EMBI_CUDA_F16>::write(x + 8) : make_uint4(0, 0, 0, 0);
    if (at == 0)
        by.of[line] = there ? scale_of<EMBI_CUDA_Q8_0>(row, a.numbers, column) : 0;
}

__device__ inline uint32_t two_of(const slab &s, unsigned line, unsigned column)
{
    return *reinterpret_cast<const uint32_t *>(&s.x[line][column]);
}

template <int TYPE>
__device__ inline void multiply_fragments(const uint32_t rows[4], const slab &queries,
                                          unsigned column, float sum[FRAGMENTS][4])
{
    const unsigned group = lane_of_thread() / 4, pair = lane_of_thread() % 4 * 2;
#pragma unroll
    for (unsigned f = 0; f < FRAGMENTS; f++) {
        const unsigned query = f * FRAGMENT_QUERIES + group;
        const uint32_t b[2] = {two_of(queries, query, column + pair),
                               two_of(queries, query, column + pair + 8)};
        if constexpr (TYPE == EMBI_CUDA_BF16)
            native_mma_bf16(sum[f], rows, b);
        else
            native_mma_f16(sum[f], rows, b);
    }
}

/* The 16 rows of a warp, all queries, SLAB_DEPTH numbers. */
template <int TYPE>
__device__ inline void multiply_slabs(const slab &rows, const slab &high, const slab &low,
                                      float sum[FRAGMENTS][4])
{
    const unsigned group = lane_of_thread() / 4, pair = lane_of_thread() % 4 * 2;
    const unsigned row = threadIdx.x / EMBI_WARP * 16 + group;
#pragma unroll
    for (unsigned column = 0; column < SLAB_DEPTH; column += 16) {
        const uint32_t a[4] = {
            two_of(rows, row, column + pair), two_of(rows, row + 8, column + pair),
            two_of(rows, row, column + pair + 8), two_of(rows, row + 8, column + pair + 8)};
        multiply_fragments<TYPE>(a, high, column, sum);
        multiply_fragments<TYPE>(a, low, column, sum);
    }
}

/* total += scale * sum; sum = 0. The scales are those of the two rows that a lane has sums of. */
__device__ inline void carry_over(float total[FRAGMENTS][4], float sum[FRAGMENTS][4],
                                  const float scale[2])
{
#pragma unroll
    for (unsigned f = 0; f < FRAGMENTS; f++)
#pragma unroll
        for (unsigned i = 0; i < 4; i++) {
            total[f][i] = fmaf(scale[i / 2], sum[f][i], total[f][i]);
            sum[f][i] = 0;
        }
}

__device__ inline void store_fragments(const embi_matrix_args &a, uint64_t first_row,
                                       uint64_t first_query, const float sum[FRAGMENTS][4])
{
    const unsigned group = lane_of_thread() / 4, pair = lane_of_thread() % 4 * 2;
    const uint64_t row = first_row + threadIdx.x / EMBI_WARP * 16 + group;
    for (unsigned f = 0; f < FRAGMENTS; f++)
        for (unsigned i = 0; i < 4; i++) {
            const uint64_t r = row + i / 2 * 8;
            const uint64_t q = first_query + f * FRAGMENT_QUERIES + pair + i % 2;
            if (r < a.rows && q < a.n)
                device<float>(a.out)[q * a.ld + r] = sum[f][i];
        }
}

/* Of codes the sums of each slab are carried over. */
template <int TYPE>
__device__ inline void matrix_of_tile(const embi_matrix_args &a, slab &rows, slab &high, slab &low,
                                      [[maybe_unused]] scales &by)
{
    constexpr bool codes = TYPE == EMBI_CUDA_Q8_0;
    const uint64_t row = (uint64_t)blockIdx.x * EMBI_MATRIX_ROWS;
    const uint64_t query = (uint64_t)blockIdx.y * EMBI_MATRIX_QUERIES;
    [[maybe_unused]] const unsigned mine = threadIdx.x / EMBI_WARP * 16 + lane_of_thread() / 4;
    float total[FRAGMENTS][4] = {{0}}, sum[FRAGMENTS][4] = {{0}}, scale[2] = {1, 1};
    for (uint64_t c = 0; c < a.numbers; c += SLAB_DEPTH) {
        if constexpr (codes)
            load_codes(rows, by, a, row, c);
        else
            load_slab(rows, a.table, a.pitch, row, a.rows, c);
        load_slab(high, a.high, a.queries_pitch, query, a.n, c);
        load_slab(low, a.low, a.queries_pitch, query, a.n, c);
        __syncthreads();
        multiply_slabs<TYPE>(rows, high, low, sum);
        if constexpr (codes) {
            scale[0] = by.of[mine];
            scale[1] = by.of[mine + 8];
        }
        __syncthreads();
        if (codes || (c + SLAB_DEPTH) % EMBI_MATRIX_BLOCK == 0)
            carry_over(total, sum, scale);
    }
    carry_over(total, sum, scale);
    store_fragments(a, row, query, total);
}

/* grid: [rows / 64, queries / 64], both rounded up. */
extern "C" __global__ void __launch_bounds__(EMBI_MATRIX_THREADS)
    embi_products_matrix(const embi_matrix_args a)
{
    __shared__ __align__(16) slab rows, high, low;
    __shared__ scales by;
    if (a.type == EMBI_CUDA_F16)
        matrix_of_tile<EMBI_CUDA_F16>(a, rows, high, low, by);
    else if (a.type == EMBI_CUDA_Q8_0)
        matrix_of_tile<EMBI_CUDA_Q8_0>(a, rows, high, low, by);
    else
        matrix_of_tile<EMBI_CUDA_BF16>(a, rows, high, low, by);
}

#endif
