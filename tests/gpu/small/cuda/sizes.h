/* sizes.h - in place of lib/cuda/sizes.h, for tests: tables of some hundred rows take many parts. */
#ifndef EMBI_CUDA_SIZES_H
#define EMBI_CUDA_SIZES_H

#include <stdint.h>

#define EMBI_RING_BYTES  (UINT64_C(4) << 10)
#define EMBI_SLOT_BYTES  (UINT64_C(32) << 10)
#define EMBI_OUT_BYTES   (UINT64_C(16) << 10)
#define EMBI_GROUP_BYTES (UINT64_C(16) << 10)
#define EMBI_DOTS_MOST   UINT64_C(4096)
#define EMBI_ROWS_LEAST  128
#define EMBI_SPREAD_ROWS 100

#endif
