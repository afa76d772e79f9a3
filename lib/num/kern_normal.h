/* kern_normal.h - normal deviates of many blocks of words; a kern_<set>.c includes it once.
 *
 * The same C in each set, for compilers to make vector code of: normal.h has no operation that is
 * rounded otherwise by any of them. Not fused, by the flags of the build.
 */
#include "num/normal.h"

static void normals_f32(const uint32_t *words, size_t ld, size_t n, float *out)
{
    const uint32_t *w0 = words, *w1 = w0 + ld, *w2 = w1 + ld, *w3 = w2 + ld;
    for (size_t i = 0; i < n; i++) {
        embi_normal_f32(w0[i], w1[i], &out[4 * i], &out[4 * i + 1]);
        embi_normal_f32(w2[i], w3[i], &out[4 * i + 2], &out[4 * i + 3]);
    }
}
