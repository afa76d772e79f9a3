/* kern_sets.h - for the kernel files alone: the names of the sets, and how 8 virtual lanes are
 * joined.
 */
#ifndef EMBI_NUM_KERN_SETS_H
#define EMBI_NUM_KERN_SETS_H

#include "num/kern.h"

#if defined(__x86_64__)
extern const struct embi_kern embi_kern_avx2; /* AVX2, FMA and F16C */
#endif

/* The order is that of halving a vector of 8 again and again. */
static inline double embi_join_lanes(const double lane[8])
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

#endif
