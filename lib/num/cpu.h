/* cpu.h - which instruction sets this CPU and this system offer, and which the user turned off. */
#ifndef EMBI_NUM_CPU_H
#define EMBI_NUM_CPU_H

#include "util/base.h"

/* With the registers of each, which the system saves. */
enum {
    EMBI_CPU_AVX2 = 1,  /* AVX2 with FMA and F16C */
    EMBI_CPU_AVX512 = 2 /* AVX-512 F, BW, DQ and VL, and AVX2 */
};

/* `disabled`: names separated by commas or blanks ("avx2", "avx512"), or NULL. Unknown names are
 * ignored, so that a list made for a newer version does no harm. */
unsigned embi_cpu_features(const char *disabled);

#endif
