/* kernels_main.cc - every kernel of lib/cuda on the shim, against plain loops: no rows, one, odd
 * widths, rows that are not aligned, tables of more than 2^31 numbers; and with each order of
 * threads, since what differs between these is a race.
 *
 * Numbers of types are made and read by num/half.h, which has its own tests.
 */
#include "../kern/check.h"
#include "kernels.h"
#include "num/deviates.h"
#include "num/half.h"

#include <algorithm>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace
{

/* splitmix64 (Steele, Lea, Flood 2014) */
uint64_t state = 11;
uint64_t random_bits()
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

float random_number()
{
    return (float)((double)(random_bits() >> 11) * 0x1p-52 - 1);
}

template <typename T> uint64_t address(const T *p)
{
    return reinterpret_cast<uint64_t>(p);
}

/* Rows lie 2 GiB apart, and results 2^31 numbers, in mappings of which only what is touched is
 * there: from the third row on whatever counts bytes in 32 bits is elsewhere, and so are results. */
bool far_apart;
const uint64_t FAR_PITCH = 1ull << 31, FAR_NUMBERS = 1ull << 31;

/* Memory of the device: aligned, of exactly so many bytes, full of noise; far apart, of zeros. */
struct memory {
    unsigned char *at;
    size_t bytes;
    bool sparse = far_apart;
    explicit memory(size_t n) : bytes(n)
    {
        if (sparse) {
            void *p = mmap(nullptr, n, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
            at = p == MAP_FAILED ? nullptr : static_cast<unsigned char *>(p);
        } else {
            at = static_cast<unsigned char *>(aligned_alloc(16, (n + 15) / 16 * 16 + 16));
            memset(at, 0xA5, n);
        }
    }
    memory(const memory &) = delete;
    memory &operator=(const memory &) = delete;
    ~memory()
    {
        if (sparse)
            munmap(at, bytes);
        else
            free(at);
    }
};

uint16_t code_of(enum embi_cuda_type type, float x)
{
    return type == EMBI_CUDA_F16 ? embi_f16_from_f32(x) : embi_bf16_from_f32(x);
}

double value_of(enum embi_cuda_type type, const unsigned char *p)
{
    double d;
    float f;
    uint16_t h;
    if (type == EMBI_CUDA_F64)
        return memcpy(&d, p, sizeof d), d;
    if (type == EMBI_CUDA_F32)
        return (double)(memcpy(&f, p, sizeof f), f);
    memcpy(&h, p, sizeof h);
    return (double)(type == EMBI_CUDA_F16 ? embi_f32_from_f16(h) : embi_f32_from_bf16(h));
}

void put_value(enum embi_cuda_type type, unsigned char *p, double x)
{
    const float f = (float)x;
    const uint16_t h = code_of(type, f);
    if (type == EMBI_CUDA_F64)
        memcpy(p, &x, sizeof x);
    else if (type == EMBI_CUDA_F32)
        memcpy(p, &f, sizeof f);
    else
        memcpy(p, &h, sizeof h);
}

uint64_t row_bytes_of(enum embi_cuda_type type, uint64_t dims)
{
    return type == EMBI_CUDA_Q8_0 ? dims / 32 * 34 : dims * embi_cuda_type_bytes(type);
}

uint64_t pitch_of(uint64_t row_bytes)
{
    return far_apart ? FAR_PITCH : embi_pitch_of(row_bytes);
}

/* A table of random numbers as launch.h wants it: of Q8_0 codes, and then scales, of all sizes. */
struct table {
    enum embi_cuda_type type;
    uint64_t rows, dims, bytes, pitch;
    memory m;
    table(enum embi_cuda_type t, uint64_t v, uint64_t d)
        : type(t), rows(v), dims(d), bytes(row_bytes_of(t, d)), pitch(pitch_of(bytes)), m(v * pitch)
    {
        if (!m.sparse)
            memset(m.at, 0, m.bytes);
        for (uint64_t r = 0; r < v; r++)
            for (uint64_t c = 0; c < d; c++)
                if (t == EMBI_CUDA_Q8_0)
                    *at(r, c) = (unsigned char)random_bits();
                else
                    put_value(t, at(r, c), random_number());
        for (uint64_t r = 0; t == EMBI_CUDA_Q8_0 && r < v; r++)
            for (uint64_t c = 0; c < d; c += 32)
                put_value(EMBI_CUDA_F16, scale_at(r, c), ldexp(random_number(), (int)(c % 10) - 7));
    }
    unsigned char *scale_at(uint64_t r, uint64_t c) const
    {
        return m.at + r * pitch + dims + c / 32 * 2;
    }
    /* One number, or of Q8_0 all that it shares its scale with, becomes NaN. */
    void spoil(uint64_t r, uint64_t c) const
    {
        if (type == EMBI_CUDA_Q8_0)
            put_value(EMBI_CUDA_F16, scale_at(r, c), NAN);
        else
            put_value(type, at(r, c), NAN);
    }
    unsigned char *at(uint64_t r, uint64_t c) const
    {
        return m.at + r * pitch + c * embi_cuda_type_bytes(type);
    }
    double value(uint64_t r, uint64_t c) const
    {
        if (type == EMBI_CUDA_Q8_0)
            return value_of(EMBI_CUDA_F16, scale_at(r, c)) * (int8_t)*at(r, c);
        return value_of(type, at(r, c));
    }
    double norm2(uint64_t r) const
    {
        double sum = 0;
        for (uint64_t c = 0; c < dims; c++)
            sum += value(r, c) * value(r, c);
        return sum;
    }
    uint64_t address() const
    {
        return ::address(m.at);
    }

  private:
    static uint64_t address(const unsigned char *p)
    {
        return ::address(p);
    }
};

std::vector<uint64_t> random_ids(size_t n, uint64_t below)
{
    std::vector<uint64_t> ids(n);
    for (uint64_t &id : ids)
        id = random_bits() % below;
    return ids;
}

const enum embi_cuda_type small_types[] = {EMBI_CUDA_F32, EMBI_CUDA_F16, EMBI_CUDA_BF16};
const enum embi_cuda_type all_types[] = {EMBI_CUDA_F64, EMBI_CUDA_F32, EMBI_CUDA_F16,
                                         EMBI_CUDA_BF16};
const enum embi_cuda_type search_types[] = {EMBI_CUDA_F32, EMBI_CUDA_F16, EMBI_CUDA_BF16,
                                            EMBI_CUDA_Q8_0};

/* The next width that the type has. */
uint64_t width_of(enum embi_cuda_type type, uint64_t dims)
{
    return type == EMBI_CUDA_Q8_0 ? (dims + 31) / 32 * 32 : dims;
}

/* -------------------------------------------------------------------------------------------------
 * The shim itself: what must not pass
 */

void half_a_barrier(const void *)
{
    if (threadIdx.x % 2)
        __syncthreads();
}

void a_thread_that_left(const void *)
{
    if (threadIdx.x != 5)
        __shfl_xor_sync(0xffffffffu, 1.0f, 1);
}

void half_a_warp(const void *)
{
    if (threadIdx.x < 16)
        __shfl_xor_sync(0x0000ffffu, 1.0f, 1);
}

/* Ends the program, which is a child's. */
void must_abort(shim_kernel_fn *kernel, const char *name)
{
    fflush(stdout);
    const pid_t child = fork();
    if (child == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        shim_launch(kernel, nullptr, {1, 1, 1}, 64);
        _exit(0);
    }
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child && WIFSIGNALED(status) &&
              WTERMSIG(status) == SIGABRT,
          "%s: status %d", name, status);
}

/* What is in shared memory before anybody wrote it, and after all did. */
struct shared_words {
    uint32_t before[64], after[64];
};

void share(const void *args)
{
    shared_words *out = *static_cast<shared_words *const *>(args);
    __shared__ uint32_t words[64];
    out->before[threadIdx.x] = words[threadIdx.x];
    __syncthreads();
    words[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out->after[threadIdx.x] = words[63 - threadIdx.x];
}

void shim_is_strict()
{
    must_abort(half_a_barrier, "half a barrier");
    must_abort(a_thread_that_left, "a thread that left");
    must_abort(half_a_warp, "half a warp");
    shared_words seen, *p = &seen;
    shim_launch(share, &p, {2, 1, 1}, 64);
    for (unsigned i = 0; i < 64; i++)
        CHECK(seen.before[i] == 0xA9A9A9A9u && seen.after[i] == 63 - i, "word %u", i);
}

/* -------------------------------------------------------------------------------------------------
 * Gather
 */

/* Rows of so many bytes to places `gap` bytes apart more than that, `shift` bytes into the memory.
 */
void gather(enum embi_cuda_kernel kernel, uint64_t bytes, size_t n, uint64_t gap, size_t shift,
            bool scattered)
{
    const uint64_t rows = 37, pitch = embi_pitch_of(bytes);
    memory from(rows * pitch), to(shift + n * (bytes + gap));
    for (size_t i = 0; i < from.bytes; i++)
        from.at[i] = (unsigned char)random_bits();
    const std::vector<uint64_t> ids = random_ids(n, rows);
    std::vector<uint64_t> places(n);
    for (size_t i = 0; i < n; i++)
        places[i] = n - 1 - i;
    const struct embi_gather_args args = {address(from.at),
                                          pitch,
                                          address(ids.data()),
                                          scattered ? address(places.data()) : 0,
                                          address(to.at) + shift,
                                          bytes + gap,
                                          n,
                                          bytes};
    launch(kernel, args, 3);
    for (size_t i = 0; i < n; i++) {
        const unsigned char *row = to.at + shift + (scattered ? places[i] : i) * (bytes + gap);
        CHECK(memcmp(row, from.at + ids[i] * pitch, bytes) == 0, "%s, %llu bytes, row %zu of %zu",
              shim_kernels[kernel].name, (unsigned long long)bytes, i, n);
        for (uint64_t b = 0; b < gap; b++)
            CHECK(row[bytes + b] == 0xA5, "written past row %zu", i);
    }
}

void gathers()
{
    for (size_t n : {0, 1, 3, 100})
        for (bool scattered : {false, true}) {
            for (uint64_t bytes : {16, 48, 512, 528, 1200, 8192}) {
                gather(embi_gather_wide_kernel, bytes, n, 16, 0, scattered);
                gather(embi_gather_narrow_kernel, bytes, n, 0, 16, scattered);
            }
            for (uint64_t bytes : {4, 12, 100, 1204})
                gather(embi_gather_words_kernel, bytes, n, 4, 4, scattered);
            for (uint64_t bytes : {1, 2, 7, 33, 601})
                gather(embi_gather_bytes_kernel, bytes, n, 1, 3, scattered);
        }
}

/* Far apart, from there and to there. */
void gather_far(enum embi_cuda_kernel kernel, uint64_t bytes)
{
    const std::vector<uint64_t> ids = {8, 0, 7}, places = {2, 0, 5};
    memory from(9 * FAR_PITCH), to(6 * FAR_PITCH);
    for (uint64_t row : {0, 7, 8})
        for (uint64_t b = 0; b < bytes; b++)
            from.at[row * FAR_PITCH + b] = (unsigned char)random_bits();
    const struct embi_gather_args args = {address(from.at),
                                          FAR_PITCH,
                                          address(ids.data()),
                                          address(places.data()),
                                          address(to.at),
                                          FAR_PITCH,
                                          3,
                                          bytes};
    launch(kernel, args, 1);
    for (size_t i = 0; i < ids.size(); i++)
        CHECK(memcmp(to.at + places[i] * FAR_PITCH, from.at + ids[i] * FAR_PITCH, bytes) == 0,
              "%s, far row %zu", shim_kernels[kernel].name, i);
}

void gather_sum(enum embi_cuda_type type, uint64_t dims, size_t n)
{
    const table t(type, 29, dims), side(type, 13, dims);
    const std::vector<uint64_t> ids = random_ids(n, t.rows), positions = random_ids(n, side.rows);
    memory out(n * t.pitch);
    struct embi_gather_sum_args args = {t.address(),     t.pitch,       address(ids.data()),
                                        side.address(),  side.pitch,    address(positions.data()),
                                        address(out.at), t.pitch,       n,
                                        t.bytes,         (uint32_t)type};
    launch(embi_gather_sum_kernel, args, 2);
    for (size_t i = 0; i < n; i++)
        for (uint64_t c = 0; c < dims; c++) {
            unsigned char expected[8];
            put_value(type, expected,
                      (double)((float)t.value(ids[i], c) + (float)side.value(positions[i], c)));
            CHECK(memcmp(expected, out.at + i * t.pitch + c * embi_cuda_type_bytes(type),
                         embi_cuda_type_bytes(type)) == 0,
                  "type %d, row %zu, column %llu", type, i, (unsigned long long)c);
        }
}

/* As pooling.c has it: what comes after a NaN passes it by. */
double pooled(enum embi_cuda_pooling how, bool first, double sum, double x, double weight)
{
    if (how == EMBI_CUDA_MAX)
        return first || x > sum || isnan(x) ? x : sum;
    return (first ? 0 : sum) + weight * x;
}

void pool(enum embi_cuda_type type, uint32_t dims, enum embi_cuda_pooling how, bool weighted)
{
    const table t(type, 41, dims);
    const std::vector<uint64_t> ends = {0, 1, 1, 8, 40, 43};
    const size_t n = ends.back(), bags = ends.size();
    const std::vector<uint64_t> ids = random_ids(n, t.rows);
    const std::vector<uint64_t> counts = {0, 0, 3, 0, 5, 0};
    std::vector<double> weights(n), sums(bags * dims, 0.25);
    for (double &w : weights)
        w = random_number();
    if (how == EMBI_CUDA_MAX)
        t.spoil(ids[3], 0);
    struct embi_pool_args args = {t.address(),
                                  t.pitch,
                                  address(ids.data()),
                                  address(ends.data()),
                                  weighted ? address(weights.data()) : 0,
                                  address(counts.data()),
                                  address(sums.data()),
                                  bags,
                                  dims,
                                  (uint32_t)type,
                                  (uint32_t)how};
    launch(embi_pool_kernel, args, 2);
    for (size_t b = 0; b < bags; b++)
        for (uint32_t c = 0; c < dims; c++) {
            const size_t begin = b == 0 ? 0 : ends[b - 1];
            double sum = counts[b] ? 0.25 : 0;
            for (size_t i = begin; i < ends[b]; i++)
                sum = pooled(how, i == begin && !counts[b], sum, t.value(ids[i], c),
                             weighted ? weights[i] : 1);
            CHECK(memcmp(&sum, &sums[b * dims + c], sizeof sum) == 0 ||
                      (isnan(sum) && isnan(sums[b * dims + c])),
                  "bag %zu, column %u: %g, %g", b, c, sum, sums[b * dims + c]);
        }
}

void pools()
{
    for (enum embi_cuda_type type : all_types)
        for (uint32_t dims : {1u, 7u, 300u}) {
            pool(type, dims, EMBI_CUDA_SUM, false);
            pool(type, dims, EMBI_CUDA_SUM, true);
            pool(type, dims, EMBI_CUDA_MAX, false);
        }
    pool(EMBI_CUDA_Q8_0, 32, EMBI_CUDA_SUM, false);
    pool(EMBI_CUDA_Q8_0, 320, EMBI_CUDA_SUM, true);
    pool(EMBI_CUDA_Q8_0, 96, EMBI_CUDA_MAX, false);
}

/* -------------------------------------------------------------------------------------------------
 * Scatter and draw
 */

void scatter(enum embi_cuda_type type, uint32_t dims)
{
    const std::vector<uint64_t> ends = {101, 103, 104, 150}; /* after a base of 100 */
    const uint64_t base = 100, segments = ends.size();
    table t(type, segments, dims);
    const table before(type, segments, dims), grads(type, ends.back() - base, dims);
    for (uint64_t s = 0; s < segments; s++)
        memcpy(t.at(s, 0), before.at(s, 0), t.bytes);
    struct embi_scatter_args args = {t.address(),          t.pitch, grads.address(), grads.pitch,
                                     address(ends.data()), base,    segments,        dims,
                                     (uint32_t)type};
    launch(embi_scatter_kernel, args, 1);
    for (uint64_t s = 0; s < segments; s++)
        for (uint32_t c = 0; c < dims; c++) {
            double wide = before.value(s, c);
            float narrow = (float)wide;
            for (uint64_t i = s ? ends[s - 1] : base; i < ends[s]; i++) {
                wide += grads.value(i - base, c);
                narrow += (float)grads.value(i - base, c);
            }
            unsigned char expected[8];
            put_value(type, expected, type == EMBI_CUDA_F64 ? wide : (double)narrow);
            CHECK(memcmp(expected, t.at(s, c), embi_cuda_type_bytes(type)) == 0,
                  "type %d, segment %llu, column %u", type, (unsigned long long)s, c);
        }
}

/* An element, from the paper's blocks and ops/draw.h alone. */
double drawn(const struct embi_draw_args &a, uint64_t row, uint32_t column)
{
    const bool wide = a.type == EMBI_CUDA_F64;
    for (uint32_t attempt = 0;; attempt++) {
        const uint32_t counter[4] = {column / (wide ? 2 : 4), (uint32_t)row,
                                     (uint32_t)(row >> 32) | attempt << 16, a.stream};
        uint32_t w[4];
        embi_philox(counter, a.key, w);
        const uint64_t x[2] = {w[0] | (uint64_t)w[1] << 32, w[2] | (uint64_t)w[3] << 32};
        float z[4];
        double y[2];
        if (a.dist == EMBI_CUDA_UNIFORM)
            return wide ? ((double)((int64_t)(x[column % 2] ^ 1ull << 63) >> 11) + 0.5) * 0x1p-52
                        : (double)(((float)(int32_t)(w[column % 4] ^ 1u << 31) + 0.5f) * 0x1p-31f);
        embi_normal_f32(w[0], w[1], &z[0], &z[1]);
        embi_normal_f32(w[2], w[3], &z[2], &z[3]);
        embi_normal_f64(x[0], x[1], &y[0], &y[1]);
        const double found = wide ? y[column % 2] : (double)z[column % 4];
        if (a.dist == EMBI_CUDA_NORMAL || fabs(found) <= 2)
            return found;
    }
}

void draw(enum embi_cuda_type type, uint32_t dims, enum embi_cuda_dist dist)
{
    const uint64_t pitch = far_apart ? FAR_PITCH : dims * embi_cuda_type_bytes(type), rows = 23;
    memory out(rows * pitch);
    const struct embi_draw_args args = {
        address(out.at), pitch,         (1ull << 32) - 7, rows, 0.02, {42, 7}, 3, dims,
        (uint32_t)type,  (uint32_t)dist};
    launch(embi_draw_kernel, args, 2);
    for (uint64_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < dims; c++) {
            const double x = drawn(args, args.first + r, c);
            unsigned char expected[8];
            put_value(type, expected,
                      type == EMBI_CUDA_F64 ? x * 0.02 : (double)((float)x * 0.02f));
            CHECK(memcmp(expected, out.at + r * pitch + c * embi_cuda_type_bytes(type),
                         embi_cuda_type_bytes(type)) == 0,
                  "type %d, dist %d, row %llu, column %u", type, dist, (unsigned long long)r, c);
        }
}

void draws()
{
    for (enum embi_cuda_type type : all_types)
        for (uint32_t dims : {1u, 2u, 5u, 300u}) {
            draw(type, dims, EMBI_CUDA_UNIFORM);
            draw(type, dims, EMBI_CUDA_NORMAL);
            draw(type, dims, EMBI_CUDA_TRUNCATED);
        }
}

/* -------------------------------------------------------------------------------------------------
 * Products
 */

struct products {
    table t, queries;
    uint64_t ld;
    memory m;
    float *out;
    products(enum embi_cuda_type type, uint64_t rows, uint64_t dims, uint64_t n)
        : t(type, rows, dims), queries(EMBI_CUDA_F32, n, dims),
          ld(far_apart ? FAR_NUMBERS : rows + 3), m(n * ld * sizeof(float)),
          out(reinterpret_cast<float *>(m.at))
    {
        if (!m.sparse)
            std::fill(out, out + n * ld, NAN);
    }

    double exact(uint64_t q, uint64_t r, double *size) const
    {
        double sum = 0, a = 0, b = 0;
        for (uint64_t c = 0; c < t.dims; c++) {
            sum += t.value(r, c) * queries.value(q, c);
            a += t.value(r, c) * t.value(r, c);
            b += queries.value(q, c) * queries.value(q, c);
        }
        *size = sqrt(a * b);
        return sum;
    }

    /* within `unit` of the lengths */
    void compare(const char *what, double unit) const
    {
        for (uint64_t q = 0; q < queries.rows; q++) {
            for (uint64_t r = 0; r < t.rows; r++) {
                double size, sum = exact(q, r, &size);
                CHECK(fabs((double)out[q * ld + r] - sum) <= unit * size + 1e-30,
                      "%s: type %d, query %llu, row %llu: %g, %g", what, t.type,
                      (unsigned long long)q, (unsigned long long)r, (double)out[q * ld + r], sum);
            }
            for (uint64_t r = t.rows; !m.sparse && r < ld; r++)
                CHECK(isnan(out[q * ld + r]), "%s: written past the rows", what);
        }
    }
};

/* Queries with the padding that rows have, or more. */
struct padded {
    uint64_t numbers, per_lane;
    memory m;
    padded(const products &p, bool tiles)
        : numbers(embi_cuda_numbers(p.t.type, p.t.bytes)),
          per_lane(16 / embi_cuda_type_bytes(p.t.type)),
          m(p.queries.rows * pitch_of(tiles, numbers, per_lane))
    {
        const uint64_t pitch = pitch_of(tiles, numbers, per_lane);
        memset(m.at, 0, m.bytes);
        for (uint64_t i = 0; i < p.queries.rows; i++)
            for (uint64_t c = 0; c < p.t.dims; c++) {
                const uint64_t place = tiles ? c : embi_query_place(c, (uint32_t)per_lane);
                put_value(EMBI_CUDA_F32, m.at + i * pitch + place * 4, p.queries.value(i, c));
            }
    }
    static uint64_t pitch_of(bool tiles, uint64_t numbers, uint64_t per_lane)
    {
        const uint64_t all = 32 * per_lane;
        return 4 * (tiles ? numbers : (numbers + all - 1) / all * all);
    }
    uint64_t pitch(bool tiles) const
    {
        return pitch_of(tiles, numbers, per_lane);
    }
};

/* Some places by hand, and that no two numbers share one. */
void query_places()
{
    const struct {
        uint32_t per_lane;
        uint64_t i, place;
    } known[] = {{4, 5, 5},      {4, 131, 131},  {8, 3, 3},     {8, 4, 128}, {8, 8, 4},
                 {8, 255, 255},  {8, 256, 256},  {16, 4, 128},  {16, 16, 4}, {16, 13, 385},
                 {16, 511, 511}, {16, 520, 768}, {16, 529, 517}};
    for (const auto &k : known)
        CHECK(embi_query_place(k.i, k.per_lane) == k.place, "%u a lane, number %llu", k.per_lane,
              (unsigned long long)k.i);
    for (uint32_t per_lane : {4u, 8u, 16u}) {
        std::vector<bool> taken(64 * per_lane, false);
        for (uint64_t i = 0; i < taken.size(); i++) {
            const uint64_t place = embi_query_place(i, per_lane);
            CHECK(place < taken.size() && !taken[place], "%u a lane, number %llu", per_lane,
                  (unsigned long long)i);
            taken[place % taken.size()] = true;
        }
    }
}

void f32_products(enum embi_cuda_type type, enum embi_cuda_kernel kernel, uint64_t rows,
                  uint64_t dims, uint64_t n)
{
    products p(type, rows, dims, n);
    const bool tiles = kernel == embi_products_tile_kernel;
    const padded queries(p, tiles);
    std::vector<float> norm2(rows + 1, NAN);
    const struct embi_products_args args = {p.t.address(),
                                            p.t.pitch,
                                            rows,
                                            queries.numbers,
                                            address(queries.m.at),
                                            queries.pitch(tiles),
                                            address(p.out),
                                            p.ld,
                                            tiles ? 0 : address(norm2.data()),
                                            (uint32_t)n,
                                            (uint32_t)type};
    if (rows > 0)
        launch(kernel, args, tiles ? (unsigned)(rows + 63) / 64 : 2,
               tiles ? (unsigned)(n + 63) / 64 : 1);
    p.compare(shim_kernels[kernel].name, 4e-7 * sqrt((double)dims + 1));
    for (uint64_t r = 0; !tiles && r < rows; r++)
        CHECK(fabs((double)norm2[r] - p.t.norm2(r)) <= 1e-6 * p.t.norm2(r), "norm of row %llu",
              (unsigned long long)r);
    CHECK(isnan(norm2[rows]), "written past the norms");
}

void matrix_products(enum embi_cuda_type type, uint64_t rows, uint64_t dims, uint64_t n)
{
    const enum embi_cuda_type part = type == EMBI_CUDA_Q8_0 ? EMBI_CUDA_F16 : type;
    products p(type, rows, dims, n);
    table high(part, n, dims), low(part, n, dims);
    for (uint64_t q = 0; q < n; q++)
        for (uint64_t c = 0; c < dims; c++) {
            const double x = p.queries.value(q, c);
            put_value(part, high.at(q, c), x);
            put_value(part, low.at(q, c), x - high.value(q, c));
        }
    const struct embi_matrix_args args = {
        p.t.address(),  p.t.pitch,     rows,          embi_cuda_numbers(type, p.t.bytes),
        high.address(), low.address(), high.pitch,    address(p.out),
        p.ld,           (uint32_t)n,   (uint32_t)type};
    launch(embi_products_matrix_kernel, args, (unsigned)(rows + 63) / 64, (unsigned)(n + 63) / 64);
    p.compare("matrix", (type == EMBI_CUDA_BF16 ? 0x1p-17 : 0x1p-21) + 4e-7 * sqrt((double)dims));
}

void all_products()
{
    query_places();
    for (enum embi_cuda_type type : search_types) {
        for (uint64_t dims : {1, 31, 300, 1200})
            for (uint64_t rows : {0, 1, 33, 70}) {
                f32_products(type, embi_products_one_kernel, rows, width_of(type, dims), 1);
                f32_products(type, embi_products_four_kernel, rows, width_of(type, dims), 4);
            }
        f32_products(type, embi_products_tile_kernel, 1, width_of(type, 1), 1);
        f32_products(type, embi_products_tile_kernel, 65, width_of(type, 100), 67);
        f32_products(type, embi_products_tile_kernel, 130, width_of(type, 33), 5);
    }
    for (enum embi_cuda_type type : {EMBI_CUDA_F16, EMBI_CUDA_BF16, EMBI_CUDA_Q8_0}) {
        matrix_products(type, 1, width_of(type, 1), 1);
        matrix_products(type, 65, width_of(type, 300), 67);
        matrix_products(type, 64, 128, 16);
    }
}

void norms(enum embi_cuda_type type, uint64_t rows, uint64_t dims)
{
    const table t(type, rows, dims);
    std::vector<float> out(rows + 1, NAN);
    const struct embi_norms_args args = {
        t.address(),         t.pitch,       rows, embi_cuda_numbers(type, t.bytes),
        address(out.data()), (uint32_t)type};
    launch(embi_norms_kernel, args, 2);
    for (uint64_t r = 0; r < rows; r++)
        CHECK(fabs((double)out[r] - t.norm2(r)) <= 1e-6 * t.norm2(r), "row %llu",
              (unsigned long long)r);
    CHECK(isnan(out[rows]), "written past the rows");
}

/* Scales that are no numbers, of codes that are zero too; a scale of zero; the largest of all. */
void norms_of_odd_scales()
{
    const float scale[] = {INFINITY, NAN, -INFINITY, 0, 65504};
    const table t(EMBI_CUDA_Q8_0, 6, 32);
    std::vector<float> out(t.rows);
    for (uint64_t r = 0; r < t.rows; r++)
        put_value(EMBI_CUDA_F16, t.scale_at(r, 0), (double)scale[r % 5]);
    memset(t.at(0, 0), 0, t.dims);
    memset(t.at(4, 0), 0x80, t.dims); /* -128 each */
    const struct embi_norms_args args = {t.address(),         t.pitch,       t.rows, t.dims,
                                         address(out.data()), EMBI_CUDA_Q8_0};
    launch(embi_norms_kernel, args, 1);
    CHECK(isnan(out[0]) && isnan(out[1]) && isinf(out[2]) && out[3] == 0 && isinf(out[5]),
          "%g %g %g %g %g", (double)out[0], (double)out[1], (double)out[2], (double)out[3],
          (double)out[5]);
    CHECK(out[4] == 32.0f * 128 * 128 * 65504 * 65504, "%g", (double)out[4]);
}

/* -------------------------------------------------------------------------------------------------
 * Selection
 */

/* A selection of n queries by so many blocks each. */
void launch_spread(const struct embi_select_args &args, uint32_t n, unsigned blocks)
{
    std::vector<uint32_t> digits(n * 1024u, 0);
    std::vector<struct embi_select_known> known(n * 4u, embi_select_known{~0u, ~0u});
    struct embi_spread_args spread = {args, address(digits.data()), address(known.data()), 0};
    for (; spread.pass < 4; spread.pass++)
        launch(embi_spread_count_kernel, spread, blocks, n);
    launch(embi_spread_list_kernel, spread, blocks, n);
}

/* Scores of a window in the worst of orders, and what must come of them: no row that has fewer than
 * k others wholly above it may be missing, and none but those of the windows' floors may be there.
 */
struct selection {
    uint64_t rows, first = 1000;
    uint32_t n, cap;
    std::vector<float> dots, norm2, lengths, bias;
    std::vector<uint32_t> k, floors, counts;
    std::vector<uint8_t> allowed;
    std::vector<struct embi_cuda_hit> hits;
    struct embi_select_args args = {};

    selection(uint64_t v, uint32_t queries, uint32_t most)
        : rows(v), n(queries), cap(most), dots(n * (v + 1)), norm2(v), lengths(n, 1.5f),
          bias(first + v), k(n), floors(n, 0), counts(n, 0), allowed((first + v) / 8 + 1, 0xff),
          hits(n * (size_t)most)
    {
        for (float &x : norm2)
            x = 1 + random_number() / 2;
        for (float &x : bias)
            x = random_number();
        for (uint32_t q = 0; q < n; q++)
            for (uint64_t r = 0; r < v; r++)
                dots[q * (v + 1) + r] = random_number() * sqrtf(norm2[r]);
    }

    void run(enum embi_cuda_metric metric, bool farthest, bool biased, float bound)
    {
        args = {address(dots.data()),
                rows + 1,
                address(norm2.data()),
                rows,
                first,
                address(lengths.data()),
                address(k.data()),
                biased ? address(bias.data()) : 0,
                address(allowed.data()),
                address(floors.data()),
                address(counts.data()),
                address(hits.data()),
                bound,
                n,
                cap,
                (uint32_t)metric,
                farthest};
        launch(embi_select_kernel, args, n);
    }

    /* By so many blocks a query, which must leave what one block leaves: of a query whose list
     * overflowed, how many there were. */
    void run_spread(unsigned blocks)
    {
        launch_spread(args, n, blocks);
    }

    std::vector<uint64_t> rows_found(uint32_t q) const
    {
        std::vector<uint64_t> found;
        for (uint32_t i = 0; counts[q] <= cap && i < counts[q]; i++)
            found.push_back(hits[(size_t)q * cap + i].row);
        std::sort(found.begin(), found.end());
        return found;
    }

    /* Both ways, from what was left before. */
    void run_both(enum embi_cuda_metric metric, bool farthest, bool biased, float bound,
                  unsigned blocks)
    {
        const selection before = *this;
        run(metric, farthest, biased, bound);
        const selection one = *this;
        floors = before.floors;
        counts = before.counts;
        hits = before.hits;
        run_spread(blocks);
        CHECK(floors == one.floors && counts == one.counts, "%u blocks: another floor", blocks);
        for (uint32_t q = 0; q < n; q++)
            CHECK(rows_found(q) == one.rows_found(q), "%u blocks: other rows of query %u", blocks,
                  q);
    }

    /* The key of ops/interval.h in f64, and how far it may be off. */
    bool interval(uint32_t q, uint64_t r, double *key, double *error) const
    {
        const double dot = dots[q * (rows + 1) + r], n2 = norm2[r], g = args.bound;
        const double y = args.bias ? bias[first + r] / lengths[q] * (args.farthest ? -1 : 1) : 0;
        if (!(norm2[r] >= 0x1p-60f && norm2[r] <= 0x1p100f) ||
            !(allowed[(first + r) / 8] >> (first + r) % 8 & 1))
            return false;
        *key = dot / sqrt(n2);
        *error = 2 * g;
        if (args.metric == EMBI_CUDA_DOT) {
            *key = dot + y;
            *error = 1.1 * g * sqrt(n2);
        } else if (args.metric == EMBI_CUDA_EUCLIDEAN) {
            *key = 2 * (double)lengths[q] * dot + (args.farthest ? n2 : -n2);
            *error = 1.1 * g * (2 * (double)lengths[q] * sqrt(n2) + n2);
        }
        return true;
    }

    void check(uint32_t q) const
    {
        std::vector<double> lower;
        std::vector<uint64_t> listed;
        double key, error, floor = -INFINITY;
        for (uint64_t r = 0; r < rows; r++)
            if (interval(q, r, &key, &error))
                lower.push_back(key - error);
        std::sort(lower.rbegin(), lower.rend());
        if (k[q] <= lower.size())
            floor = lower[k[q] - 1];
        for (uint32_t i = 0; i < counts[q] && i < cap; i++) {
            const struct embi_cuda_hit &h = hits[(size_t)q * cap + i];
            const uint64_t r = h.row - first;
            listed.push_back(r);
            CHECK(r < rows && h.dot == dots[q * (rows + 1) + r] && h.norm2 == norm2[r],
                  "hit %u of query %u is no row", i, q);
            CHECK(interval(q, r, &key, &error) && key + error >= floor - 1e-4 - error / 10,
                  "row %llu of query %u should not be there", (unsigned long long)r, q);
        }
        std::sort(listed.begin(), listed.end());
        CHECK(std::adjacent_find(listed.begin(), listed.end()) == listed.end(), "twice");
        if (counts[q] > cap)
            return;
        for (uint64_t r = 0; r < rows; r++)
            if (interval(q, r, &key, &error) && key + error >= floor)
                CHECK(std::binary_search(listed.begin(), listed.end(), r),
                      "row %llu of query %u is missing", (unsigned long long)r, q);
    }
};

void select_of(uint64_t rows, enum embi_cuda_metric metric, bool farthest, bool biased, float bound)
{
    selection s(rows, 5, 400);
    for (uint64_t r = 0; r < rows; r += 17)
        s.norm2[r] = r % 2 ? 0 : NAN;
    for (uint64_t r = 5; r < rows; r += 13)
        s.allowed[(s.first + r) / 8] &= (uint8_t) ~(1u << (s.first + r) % 8);
    s.k = {1, 2, 10, (uint32_t)rows, (uint32_t)rows + 9};
    s.run_both(metric, farthest, biased, bound, 3);
    for (uint32_t q = 0; q < s.n; q++)
        s.check(q);
}

/* More rows that tie than there is room for. */
void select_overflows()
{
    selection s(700, 1, 64);
    std::fill(s.norm2.begin(), s.norm2.end(), 1.0f);
    std::fill(s.dots.begin(), s.dots.end(), 0.25f);
    s.k = {3};
    s.run_both(EMBI_CUDA_COSINE, false, false, 1e-5f, 4);
    CHECK(s.counts[0] == 700, "%u", s.counts[0]);
}

/* Scores in orders that suit no algorithm: all equal, rising, falling, two values, one step of f32
 * apart, some that are no numbers; and of one row, and as many as are asked for. */
void select_from_the_worst(unsigned order, uint64_t rows, unsigned blocks)
{
    selection s(rows, 4, (uint32_t)rows);
    std::fill(s.norm2.begin(), s.norm2.end(), 1.0f);
    float next = 0.5f;
    for (uint64_t r = 0; r < rows; r++, next = nextafterf(next, 1)) {
        const float x[] = {0.25f,
                           (float)r / 4096,
                           -(float)r / 4096,
                           r % 2 ? 1.0f : -1.0f,
                           next,
                           r % 7 ? (float)(r % 5) / 8 : NAN};
        for (uint32_t q = 0; q < s.n; q++)
            s.dots[q * (rows + 1) + r] = x[order];
    }
    s.k = {1, (uint32_t)rows / 2 + 1, (uint32_t)rows, (uint32_t)rows + 1};
    s.run_both(EMBI_CUDA_COSINE, false, false, 1e-7f, blocks);
    for (uint32_t q = 0; order != 5 && q < s.n; q++)
        s.check(q);
}

/* What one window found holds for the next. */
void select_goes_on()
{
    selection s(300, 1, 400);
    std::fill(s.norm2.begin(), s.norm2.end(), 1.0f);
    s.k = {4};
    s.run_both(EMBI_CUDA_COSINE, false, false, 1e-5f, 2);
    const uint32_t before = s.counts[0];
    for (float &x : s.dots)
        x -= 2;
    s.run_both(EMBI_CUDA_COSINE, false, false, 1e-5f, 2);
    CHECK(s.counts[0] == before, "%u more rows below the floor", s.counts[0] - before);
}

/* Where the numbers of a row that is far down a table lie, so that number `first` is the first of
 * so many bytes that are there. */
uint64_t far_down(const memory &m, uint64_t first, uint64_t bytes_of_eight)
{
    return address(m.at) - first / 8 * bytes_of_eight;
}

/* What one block, and several, find among products, places for hits and rows that are far apart is
 * what they find where all lie close. */
void select_far()
{
    const uint64_t first = (1ull << 34) + 1000;
    selection s(300, 3, 64);
    s.k = {2, 5, 9};
    for (uint64_t r = 0; r < s.rows; r += 3)
        s.allowed[(s.first + r) / 8] &= (uint8_t) ~(1u << (s.first + r) % 8);
    s.run(EMBI_CUDA_DOT, false, true, 1e-5f);
    far_apart = true;
    memory dots(3 * FAR_NUMBERS * sizeof(float)),
        hits(3 * FAR_NUMBERS * sizeof(struct embi_cuda_hit)), bias(4 * s.rows), allowed(64);
    far_apart = false;
    for (uint32_t q = 0; q < s.n; q++)
        memcpy(dots.at + q * FAR_NUMBERS * sizeof(float), &s.dots[q * (s.rows + 1)], 4 * s.rows);
    memcpy(bias.at, &s.bias[s.first], 4 * s.rows);
    memcpy(allowed.at, &s.allowed[s.first / 8], s.rows / 8 + 1);
    for (unsigned blocks : {1u, 3u}) {
        std::vector<uint32_t> floors(s.n, 0), counts(s.n, 0);
        struct embi_select_args args = s.args;
        args.dots = address(dots.at);
        args.ld = FAR_NUMBERS;
        args.first = first;
        args.bias = far_down(bias, first, 8 * sizeof(float));
        args.allowed = far_down(allowed, first, 1);
        args.floors = address(floors.data());
        args.counts = address(counts.data());
        args.hits = address(hits.at);
        args.cap = FAR_NUMBERS;
        if (blocks == 1)
            launch(embi_select_kernel, args, s.n);
        else
            launch_spread(args, s.n, blocks);
        CHECK(floors == s.floors && counts == s.counts, "%u blocks: another floor", blocks);
        for (uint32_t q = 0; q < s.n; q++) {
            const auto *list =
                reinterpret_cast<const struct embi_cuda_hit *>(hits.at) + q * FAR_NUMBERS;
            std::vector<uint64_t> found;
            for (uint32_t i = 0; i < counts[q]; i++)
                found.push_back(list[i].row - first + s.first);
            std::sort(found.begin(), found.end());
            CHECK(found == s.rows_found(q) && !found.empty(), "%u blocks: query %u", blocks, q);
        }
    }
}

/* Rows whose norm tells nothing, of those that may answer, from row `first` of a table on. */
void odd_rows(uint64_t first)
{
    const uint64_t rows = 1000;
    std::vector<float> norm2(rows, 1);
    std::vector<uint64_t> list(rows, ~0ull), expected;
    memory allowed(rows / 8 + 1);
    memset(allowed.at, 0xff, allowed.bytes);
    uint32_t count = 0;
    for (uint64_t r = 3; r < rows; r += 31) {
        const float odd[] = {0, NAN, INFINITY, 1e38f, 1e-30f};
        norm2[r] = odd[r % 5];
        if (r % 3 == 0)
            allowed.at[r / 8] &= (uint8_t) ~(1u << r % 8);
        else
            expected.push_back(first + r);
    }
    const struct embi_odd_args args = {
        address(norm2.data()), rows, first, far_down(allowed, first, 1), address(&count),
        address(list.data())};
    launch(embi_odd_rows_kernel, args, 2);
    list.resize(count);
    std::sort(list.begin(), list.end());
    CHECK(list == expected, "%u rows, %zu expected", count, expected.size());
}

void selections()
{
    for (uint64_t rows : {1, 2, 100, 1000})
        for (bool farthest : {false, true})
            for (float bound : {1e-5f, 0.02f}) { /* the latter leaves many rows to be told apart */
                select_of(rows, EMBI_CUDA_COSINE, farthest, false, bound);
                select_of(rows, EMBI_CUDA_DOT, farthest, false, bound);
                select_of(rows, EMBI_CUDA_DOT, farthest, true, bound);
                select_of(rows, EMBI_CUDA_EUCLIDEAN, farthest, false, bound);
            }
    for (unsigned order = 0; order < 6; order++)
        for (uint64_t rows : {1, 2, 257, 700})
            select_from_the_worst(order, rows, 3);
    select_overflows();
    select_goes_on();
    odd_rows(16);
    odd_rows(1ull << 34);
}

/* What no number of 32 bits counts: every kernel, of every type that it knows. */
void far_kernels()
{
    const enum embi_cuda_kernel few[] = {embi_products_one_kernel, embi_products_four_kernel};
    far_apart = true;
    gather_far(embi_gather_wide_kernel, 528);
    gather_far(embi_gather_narrow_kernel, 48);
    gather_far(embi_gather_words_kernel, 36);
    gather_far(embi_gather_bytes_kernel, 33);
    for (enum embi_cuda_type type : small_types)
        gather_sum(type, 40, 9);
    for (enum embi_cuda_type type : all_types) {
        pool(type, 40, EMBI_CUDA_SUM, true);
        scatter(type, 40);
        draw(type, 40, EMBI_CUDA_NORMAL);
    }
    pool(EMBI_CUDA_Q8_0, 64, EMBI_CUDA_SUM, true);
    for (enum embi_cuda_type type : search_types) {
        norms(type, 9, 64);
        f32_products(type, few[0], 9, 64, 1);
        f32_products(type, few[1], 9, 64, 4);
        f32_products(type, embi_products_tile_kernel, 9, 64, 9);
        if (type != EMBI_CUDA_F32)
            matrix_products(type, 9, 64, 9);
    }
    far_apart = false;
    select_far();
}

} // namespace

int main()
{
    for (int order = 0; order < 3; order++) {
        shim_order(order);
        RUN(shim_is_strict());
        RUN(gathers());
        for (enum embi_cuda_type type : small_types)
            for (uint64_t dims : {1, 7, 300})
                for (size_t n : {0, 1, 50})
                    RUN(gather_sum(type, dims, n));
        RUN(pools());
        for (enum embi_cuda_type type : all_types)
            for (uint32_t dims : {1u, 5u, 300u})
                RUN(scatter(type, dims));
        RUN(draws());
        for (enum embi_cuda_type type : search_types)
            for (uint64_t rows : {0, 1, 90})
                for (uint64_t dims : {100, 1100})
                    RUN(norms(type, rows, width_of(type, dims)));
        RUN(norms_of_odd_scales());
        RUN(all_products());
        RUN(selections());
    }
    RUN(far_kernels());
    printf("kernels: %d passed, %d failed\n", passed, failed);
    return failed > 0;
}
