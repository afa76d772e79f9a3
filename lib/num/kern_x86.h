/* kern_x86.h - what the kernel sets for x86 share: one stored element as f32, for what whole
 * vectors leave over, and unrolled loops. F16C is needed.
 */
#ifndef EMBI_NUM_KERN_X86_H
#define EMBI_NUM_KERN_X86_H

#include "num/half.h"

#include <immintrin.h>

/* Before a loop whose count is a small constant: arrays of vectors become registers only once it is
 * unrolled. */
#if defined(__clang__)
#define UNROLL _Pragma("clang loop unroll(full)")
#else
#define UNROLL _Pragma("GCC unroll 16")
#endif

static inline float embi_one_f32(const void *p)
{
    float x;
    memcpy(&x, p, sizeof x);
    return x;
}

static inline float embi_one_f16(const void *p)
{
    return _cvtsh_ss(embi_le16(p));
}

static inline float embi_one_bf16(const void *p)
{
    uint32_t bits = (uint32_t)embi_le16(p) << 16;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#endif
