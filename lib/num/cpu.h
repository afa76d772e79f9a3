/* cpu.h - which instruction sets this CPU and this system offer, and which the user turned off. */
#ifndef EMBI_NUM_CPU_H
#define EMBI_NUM_CPU_H

#include "util/base.h"

enum { EMBI_CPU_AVX2 = 1 }; /* AVX2 with FMA and F16C, and the system saves their registers */

/* `disabled`: names separated by commas or blanks ("avx2", "avx512"), or NULL. Unknown names are
 * ignored, so that a list made for a newer version does no harm. */
unsigned embi_cpu_features(const char *disabled);

#endif
