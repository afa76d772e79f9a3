/* sizes.h - how much the plugin takes at a time. Tests compile it with sizes of their own
 * (tests/gpu/small), in which small tables are cut into many parts.
 */
#ifndef EMBI_CUDA_SIZES_H
#define EMBI_CUDA_SIZES_H

#include <stdint.h>

#define EMBI_RING_BYTES  (UINT64_C(8) << 20)   /* of a pinned buffer: a row is half of it at most */
#define EMBI_SLOT_BYTES  (UINT64_C(64) << 20)  /* of rows of a table that is not resident         */
#define EMBI_OUT_BYTES   (UINT64_C(64) << 20)  /* of rows that are made at a time                 */
#define EMBI_GROUP_BYTES (UINT64_C(256) << 20) /* of segments that are summed at a time           */
#define EMBI_DOTS_MOST   (UINT64_C(8) << 20)   /* products of a window: they stay in a large L2   */
#define EMBI_ROWS_LEAST  4096                  /* of a window, for however many queries           */
#define EMBI_SPREAD_ROWS 1024                  /* that are worth one more block of a query        */

#endif
