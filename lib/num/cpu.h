/* cpu.h - which instruction sets this CPU and this system offer, and which the user turned off. */
#ifndef EMBI_NUM_CPU_H
#define EMBI_NUM_CPU_H

#include "util/base.h"

/* With the registers of each, which the system saves. */
enum {
    EMBI_CPU_AVX2 = 1,   /* AVX2 with FMA and F16C */
    EMBI_CPU_AVX512 = 2, /* AVX-512 F, BW, DQ and VL, BMI1 and BMI2, and AVX2 */
    EMBI_CPU_BF16 = 4,   /* AVX-512 BF16, and those */
    EMBI_CPU_AMX = 8     /* AMX with bf16 tiles, which this process may use, and all of these */
};

/* `disabled`: names separated by commas or blanks ("avx2", "avx512",
 * "bf16", "amx"), each of which takes away what builds on it; or NULL. Unknown names are
 * ignored, so that a list made for a newer version does no harm. */
unsigned embi_cpu_features(const char *disabled);

#endif
