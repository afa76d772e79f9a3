/* kern_fixture.h - what the tests of kernels share: random numbers, elements of each type, the sets
 * of this CPU, and buffers that lie between two pages that may not be touched.
 */
#ifndef KERN_FIXTURE_H
#define KERN_FIXTURE_H

#include "check.h"
#include "num/cpu.h"
#include "num/kern.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* splitmix64 (Steele, Lea, Flood 2014) */
static uint64_t state = 1;
static inline uint64_t random_bits(void)
{
    uint64_t z = state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

static inline double random_unit(void)
{
    return (double)(random_bits() >> 11) * 0x1p-52 - 1;
}

/* ------------------------------------------------------------------------------------------------
 * Buffers that begin and end at pages that may not be touched
 */
#define ROOM (1u << 18)

static unsigned char *guarded[8];

static inline void make_guarded(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (size_t i = 0; i < 8; i++) {
        unsigned char *p =
            mmap(NULL, ROOM + 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED || mprotect(p + page, ROOM, PROT_READ | PROT_WRITE) != 0) {
            perror("mmap");
            exit(2);
        }
        guarded[i] = p + page + ROOM;
    }
}

/* `bytes` bytes that end `before` bytes before the forbidden page. */
static inline unsigned char *place(int buffer, size_t bytes, size_t before)
{
    return guarded[buffer] - bytes - before;
}

/* What begins `after` bytes after the forbidden page in front of the buffer. */
static inline unsigned char *place_first(int buffer, size_t after)
{
    return guarded[buffer] - ROOM + after;
}

/* Room that the caller frees. */
static inline unsigned char *take(size_t bytes)
{
    unsigned char *p = calloc(1, bytes + 1);
    if (!p) {
        perror("calloc");
        exit(2);
    }
    return p;
}

/* ------------------------------------------------------------------------------------------------
 * Reference values
 */
static inline double decode(emb_dtype dtype, const unsigned char *p)
{
    if (dtype == EMB_F32) {
        float x;
        memcpy(&x, p, 4);
        return (double)x;
    }
    unsigned code = p[0] | (unsigned)p[1] << 8;
    int m = dtype == EMB_F16 ? 10 : 7, bias = dtype == EMB_F16 ? 15 : 127;
    int field = (int)((code & 0x7FFF) >> m), top = dtype == EMB_F16 ? 31 : 255;
    unsigned mantissa = code & ((1u << m) - 1);
    double sign = code & 0x8000 ? -1 : 1;
    if (field == top)
        return mantissa ? (double)NAN : sign * (double)INFINITY;
    if (field == 0)
        return sign * ldexp(mantissa, 1 - bias - m);
    return sign * ldexp(mantissa + ldexp(1, m), field - bias - m);
}

/* Writes about x as an element: rounding does not matter, what is stored is read back by decode. */
static inline void encode(emb_dtype dtype, double x, unsigned char *p)
{
    float y = (float)x;
    uint32_t bits;
    memcpy(&bits, &y, 4);
    if (dtype == EMB_F32) {
        memcpy(p, &bits, 4);
        return;
    }
    uint16_t code = (uint16_t)(bits >> 16);
    if (dtype == EMB_F16) {
        int e = 0;
        double fraction = frexp(fabs(x), &e); /* within [0.5, 1) */
        code = (uint16_t)((x < 0) << 15);
        if (!isfinite(x))
            code = (uint16_t)(code | (isnan(x) ? 0x7E00 : 0x7C00));
        else if (x != 0 && e > -14)
            code = (uint16_t)(code | (unsigned)(e + 14) << 10 | (unsigned)(fraction * 2048 - 1024));
    }
    memcpy(p, &code, 2);
}

/* Every set that this CPU can run, the scalar one first. */
#if defined(__x86_64__)
extern const struct embi_kern embi_kern_emulated; /* emulated/immintrin.h */
#endif

static inline int sets_here(const struct embi_kern *sets[4])
{
    static const char *const disabled[3] = {"avx2", "avx512", NULL};
    int n = 0;
    for (int i = 0; i < 3; i++) {
        const struct embi_kern *set = embi_kern_choose(embi_cpu_features(disabled[i]));
        if (n == 0 || sets[n - 1] != set)
            sets[n++] = set;
    }
#if defined(__x86_64__)
    if (embi_cpu_features(NULL) & EMBI_CPU_AVX2)
        sets[n++] = &embi_kern_emulated;
#endif
    return n;
}

#endif
