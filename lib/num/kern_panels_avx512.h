/* kern_panels_avx512.h - kern_panels.h with the tiles that 32 vectors of 16 lanes hold: 24 sums, or
 * as many rows as the queries that are left over allow. What else it asks for, the includer has.
 */
enum { PANEL_VECTORS = 4, MOST_ROWS = 12 };

#define PANEL_TILES(tile) \
    tile(6, 4) tile(8, 3) tile(12, 2) tile(12, 1) tile(1, 4) tile(1, 3) tile(1, 2) tile(1, 1)
#include "num/kern_panels.h"

static size_t tile_rows(size_t panels)
{
    return panels == 4 ? 6 : panels == 3 ? 8 : 12;
}
